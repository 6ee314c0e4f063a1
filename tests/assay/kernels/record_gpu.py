"""Compare the LIF scan on a CUDA card with its reference on the processor, and keep what came out.

    python tests/assay/kernels/record_gpu.py

writes `lib/assay/kernels/gpu_runs.json`, which `assay doctor` reads, once every case agrees: spikes exactly, gradients
to 1e-5 of the largest.
"""

import datetime
import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from assay.kernels import lif
from assay.kernels.gpu_record import source_hash
from assay.kernels.reference import lif_reference
from assay.kernels.surrogates import SURROGATES

PROJECT = Path(__file__).parents[3]
RECORD = PROJECT / "lib" / "assay" / "kernels" / "gpu_runs.json"


SHAPES = ((1, 1), (63, 131), (500, 257), (64, 4099), (17, 33))  # steps, neurons; five, so that none keeps to one kind


def compare(device: str, shapes: Sequence[tuple[int, int]] = SHAPES) -> str:
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


def main() -> int:
    if not torch.cuda.is_available():
        print("device: got no CUDA card; expected one, for the record is of a run on it.", file=sys.stderr)
        return 2
    outcome = compare("cuda")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=False)
    runs = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    runs["lif"] = {
        "card": torch.cuda.get_device_name(), "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "outcome": outcome, "source": source_hash(), "commit": commit.stdout.strip(), "torch": torch.__version__,
    }  # fmt: skip
    RECORD.write_text(json.dumps(runs, indent=2) + "\n", encoding="utf-8")
    print(f"{runs['lif']['card']}: {outcome}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
