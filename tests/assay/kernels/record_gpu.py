"""Compare the kernels on a CUDA card with their references on the processor, and keep what came out.

    python tests/assay/kernels/record_gpu.py

writes `lib/assay/kernels/gpu_runs.json`, which `assay doctor` reads, once every case agrees: spikes exactly, outputs
gradients, scales and products to 1e-5 of the largest, counts exactly.
"""

import datetime
import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn.functional import softplus

from assay.kernels import (
    balance,
    dhs_schedule,
    lif,
    pack_bits,
    packed_product,
    prefix_support,
    selective_scan,
    selective_scan_norms,
    tree_solve,
    tree_solve_rounds,
)
from assay.kernels._balance.reference import balance_reference
from assay.kernels._lif.reference import lif_reference
from assay.kernels._lif.surrogates import SURROGATES
from assay.kernels._packed_product.layout import BITS
from assay.kernels._packed_product.reference import packed_product_reference
from assay.kernels._prefix_support.reference import prefix_support_reference
from assay.kernels._selective_scan.reference import scan_norms_reference, selective_scan_reference
from assay.kernels._tree_solve.reference import tree_solve_reference
from assay.kernels.gpu_record import source_hash

PROJECT = Path(__file__).parents[3]
RECORD = PROJECT / "lib" / "assay" / "kernels" / "gpu_runs.json"


LIF_SHAPES = (
    (1, 1),
    (63, 131),
    (500, 257),
    (64, 4099),
    (17, 33),
)  # steps, neurons; five, so that none keeps to one kind


def compare_lif(device: str, shapes: Sequence[tuple[int, int]] = LIF_SHAPES) -> str:
    """Every reset, timing, detachment and surrogate, over shapes in turn; what was compared, in words."""
    turns = itertools.cycle(shapes)
    kinds = list(itertools.product(("subtract", "zero", "none"), (False, True), (False, True), SURROGATES))
    for number, (reset, delayed, detach, name) in enumerate(kinds):
        steps, neurons = next(turns)
        rng = torch.Generator().manual_seed(number)
        values = [
            1.5 * torch.randn(steps, neurons, generator=rng), torch.rand(neurons, generator=rng),
            0.3 + torch.rand(neurons, generator=rng), torch.randn(neurons, generator=rng),
        ]  # fmt: skip
        weights = [torch.randn(steps, neurons, generator=rng) for _ in range(2)]
        how = {"scale_input": bool(number % 2), "reset": reset, "delayed_reset": delayed, "detach_reset": detach}
        there = [v.to(device).requires_grad_() for v in values]
        here = [v.clone().requires_grad_() for v in values]
        found = lif(there[0], there[1], threshold=there[2], initial=there[3], surrogate=name, **how)
        want = lif_reference(*here, surrogate=SURROGATES[name], alpha=SURROGATES[name].alpha, **how)
        case = (reset, delayed, detach, name, steps, neurons)
        assert torch.equal(found[0].cpu(), want[0]), case
        torch.testing.assert_close(found[1].detach().cpu(), want[1].detach(), rtol=1e-6, atol=1e-6)
        sums = [sum((o * w.to(o.device)).sum() for o, w in zip(outs, weights, strict=True)) for outs in (found, want)]
        mine = torch.autograd.grad(sums[0], there, allow_unused=True)
        theirs = torch.autograd.grad(sums[1], here, allow_unused=True)
        for a, b in zip(mine, theirs, strict=True):
            a = torch.zeros(()) if a is None else a.cpu()
            b = torch.zeros_like(a) if b is None else b
            assert (a - b).abs().max() <= 1e-5 * max(1.0, float(b.abs().max())), case
    return f"{len(kinds)} cases agree with the reference, spikes exactly and gradients to 1e-5"


# batch, length, channels, states; the steps of a segment on a card are 256
SCAN_SHAPES = ((1, 1, 1, 1), (2, 63, 33, 3), (3, 256, 96, 16), (1, 1000, 257, 17), (2, 515, 64, 40))


def compare_selective_scan(device: str, shapes: Sequence[tuple[int, int, int, int]] = SCAN_SHAPES) -> str:
    """Outputs, norms and gradients, with and without a gate; what was compared, in words."""
    cases = list(itertools.product(shapes, (False, True)))
    for number, ((batch, length, channels, states), gated) in enumerate(cases):
        rng = torch.Generator().manual_seed(number)
        row, column = (batch, length, channels), (batch, length, states)
        shape = (row, row, (channels, states), column, column, (channels,), row, (batch, channels, states))
        values: list[torch.Tensor | None] = [torch.randn(s, generator=rng, dtype=torch.float64).float() for s in shape]
        values[1], values[2] = softplus(values[1] - 2), -softplus(values[2])
        values[6] = values[6] if gated else None
        there = [None if v is None else v.to(device).requires_grad_() for v in values]
        here = [None if v is None else v.double().requires_grad_() for v in values]
        found = [*selective_scan(*there, return_state=True)]
        want = [*selective_scan_reference(*here)]
        weights = [torch.randn(o.shape, generator=rng) for o in want]
        sums = [sum((o * w.to(o)).sum() for o, w in zip(outs, weights, strict=True)) for outs in (found, want)]
        found += torch.autograd.grad(sums[0], [v for v in there if v is not None])
        want += torch.autograd.grad(sums[1], [v for v in here if v is not None])
        order = "inf" if gated else "2"
        found += selective_scan_norms(*there, order=order)[2:4]
        want += scan_norms_reference(*here[:4], here[-1], gated)
        for a, b in zip(found, want, strict=True):
            off = (a.detach().cpu() - b.detach()).abs().max()
            assert off <= 1e-5 * max(1.0, float(b.detach().abs().max())), (batch, length, channels, states, gated)
    return f"{len(cases)} cases agree with the reference in float64 to 1e-5, norms and gradients too"


SUPPORT_SHAPES = ((1, 1), (63, 5), (5000, 33), (100_000, 20), (20_000, 200))  # users, models


def compare_prefix_support(device: str, shapes: Sequence[tuple[int, int]] = SUPPORT_SHAPES) -> str:
    """Counts with and without weights, of whole and partial orders; what was compared, in words."""
    cases = list(itertools.product(shapes, (False, True), (0, 3)))
    for number, ((users, models), partial, columns) in enumerate(cases):
        rng = torch.Generator().manual_seed(number)
        orders = torch.rand(users, models, generator=rng).argsort(1).to(torch.int16)
        if partial:
            orders[:, (models + 1) // 2 :] = -1
        ranking = torch.randperm(models, generator=rng)
        place = torch.empty(models, dtype=torch.int32)
        place[ranking] = torch.arange(1, models + 1, dtype=torch.int32)
        weights = torch.randint(0, 4, (users, columns), generator=rng, dtype=torch.int32) if columns else None
        there = None if weights is None else weights.to(device)
        found = prefix_support(orders.to(device), ranking.to(device), there).cpu()
        want = prefix_support_reference(orders, place, weights)
        assert torch.equal(found if columns else found[:, :, None], want), (users, models, partial, columns)
    return f"{len(cases)} cases agree with the reference, every count"


BALANCE_SHAPES = ((2, 16, 2, 16), (1000, 192, 1000, 64), (4096, 256, 4096, 128), (512, 512, 64, 64))


def compare_balance(device: str, shapes: Sequence[tuple[int, int, int, int]] = BALANCE_SHAPES) -> str:
    """Scales and imbalances of tiles of several sizes, with and without the stop; what was compared, in words."""
    cases = list(itertools.product(shapes, (False, True), (1, 16)))
    for number, ((height, width, rows, columns), stop, iterations) in enumerate(cases):
        rng = torch.Generator().manual_seed(number)
        weight = 0.02 * torch.randn(height, width, generator=rng) * (0.7 * torch.randn(width, generator=rng)).exp()
        found = balance(weight.to(device), rows, columns, iterations=iterations, stop=stop)
        want = balance_reference(weight.double(), rows, columns, iterations, 0.7, 2.0, stop)
        for mine, other in zip(found, want, strict=True):
            torch.testing.assert_close(mine.cpu().double(), other, rtol=1e-5, atol=1e-6)
    return f"{len(cases)} cases agree with the reference in float64 to 1e-5"


PRODUCT_SHAPES = ((1, 16, 16, 1), (37, 192, 64, 3), (4096, 4096, 64, 1), (1000, 512, 128, 9))


def compare_packed_product(device: str, shapes: Sequence[tuple[int, int, int, int]] = PRODUCT_SHAPES) -> str:
    """Every number of bits, with and without a codebook; what was compared, in words."""
    cases = list(itertools.product(shapes, BITS, (False, True)))
    for number, ((height, width, group, inputs), bits, codebook) in enumerate(cases):
        rng = torch.Generator().manual_seed(number)
        codes = torch.randint(0, 2**bits, (height, width), generator=rng)
        scale, zero = torch.rand(2, height, width // group, generator=rng).unbind()
        levels = torch.randn(2**bits, generator=rng) if codebook else None
        x, packed = torch.randn(inputs, width, generator=rng), pack_bits(codes, bits)
        there = [v if v is None else v.to(device) for v in (x, packed, scale, zero)]
        found = packed_product(*there, bits=bits, levels=None if levels is None else levels.to(device)).cpu()
        want = packed_product_reference(x.double(), packed, scale, zero, levels, bits)
        assert (found - want).abs().max() <= 1e-5 * max(1.0, float(want.abs().max())), (height, width, bits, codebook)
    return f"{len(cases)} cases agree with the reference in float64 to 1e-5"


TREE_SHAPES = ((1, 1), (9, 131), (300, 4099), (5000, 3))  # nodes, cells


def compare_tree_solve(device: str, shapes: Sequence[tuple[int, int]] = TREE_SHAPES) -> str:
    """Lanes that are cells and lanes that are nodes, atomic and gathered; what was compared, in words."""
    cases = list(itertools.product(shapes, (1, 8, 32)))
    for number, ((n, cells), threads) in enumerate(cases):
        rng = torch.Generator().manual_seed(number)
        back = torch.randint(1, 6, (n,), generator=rng)
        parent = (torch.arange(n) - back).clamp(min=0)
        parent[0] = -1
        a, b = (-torch.rand(2, n, cells, generator=rng, dtype=torch.float64)).unbind()
        d = 12 + torch.rand(n, cells, generator=rng, dtype=torch.float64)
        rhs = torch.randn(n, cells, generator=rng, dtype=torch.float64)
        want = tree_solve_reference(a, b, d, rhs, parent)
        there = [v.to(device) for v in (a, b, d, rhs)]
        found = [tree_solve(*there, parent.to(device))]
        schedule = dhs_schedule(parent.numpy(), threads)
        found += [tree_solve_rounds(*there, schedule, deterministic=kind) for kind in (False, True)]
        for x in found:
            torch.testing.assert_close(x.cpu(), want, rtol=1e-11, atol=1e-12)
    return f"{len(cases)} cases agree with the reference in float64 to 1e-11, in lanes of cells and of nodes"


def main() -> int:
    if not torch.cuda.is_available():
        print("device: got no CUDA card; expected one, for the record is of a run on it.", file=sys.stderr)
        return 2
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=False)
    runs = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    comparisons = {
        "balance": compare_balance, "lif": compare_lif, "packed_product": compare_packed_product,
        "prefix_support": compare_prefix_support, "selective_scan": compare_selective_scan,
        "tree_solve": compare_tree_solve,
    }  # fmt: skip
    for kernel, compare in comparisons.items():
        runs[kernel] = {
            "card": torch.cuda.get_device_name(), "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "outcome": compare("cuda"), "source": source_hash(kernel), "commit": commit.stdout.strip(),
            "torch": torch.__version__,
        }  # fmt: skip
        print(f"{kernel} on {runs[kernel]['card']}: {runs[kernel]['outcome']}")
    RECORD.write_text(json.dumps(runs, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
