"""Run in a process of its own with TRITON_INTERPRET=1: the selective scan for GPUs, step by step on the processor."""

import itertools

import torch
from torch.nn.functional import softplus

from assay.kernels._selective_scan import gpu
from assay.kernels._selective_scan.reference import scan_norms_reference, selective_scan_reference

NAMES = ("u", "delta", "A", "B", "C", "D", "z", "initial")
# batch, length, channels, states, steps of a segment
SHAPES = ((1, 1, 1, 1, 8), (2, 7, 3, 2, 8), (1, 13, 33, 5, 6), (2, 10, 40, 16, 4), (1, 9, 5, 17, 3))
cases = list(itertools.product(SHAPES, (False, True)))
for number, ((batch, steps, channels, states, every), gated) in enumerate(cases):
    rng = torch.Generator().manual_seed(number)

    def drawn(*shape, rng=rng):
        return torch.randn(shape, generator=rng)

    row, column = (batch, steps, channels), (batch, steps, states)
    values = [
        drawn(*row), softplus(drawn(*row)), -softplus(drawn(channels, states)), drawn(*column), drawn(*column),
        drawn(channels), drawn(*row) if gated else None, drawn(batch, channels, states),
    ]  # fmt: skip
    leaves = [None if v is None else v.clone().requires_grad_() for v in values]
    want = selective_scan_reference(*leaves)
    y, state = torch.full(row, torch.nan), torch.full_like(values[-1], torch.nan)
    kept = torch.full((batch, -(-steps // every), states, channels), torch.nan)
    peak, norm = torch.full_like(state, torch.nan), torch.full_like(y, torch.nan)
    largest = bool(number % 2)
    gpu.forward(*values, y, state, every=every, kept=kept, peak=peak, norm=norm, largest=largest)
    norms = scan_norms_reference(*values[:4], values[-1], largest)
    for name, a, b in zip(("y", "state", "peak", "norm"), (y, state, peak, norm), (*want, *norms), strict=True):
        b = b.detach()
        assert (a - b).abs().max() <= 1e-5 * max(1.0, float(b.abs().max())), (name, number)
    weights = [torch.randn(o.shape, generator=rng) for o in want]
    given = [v for v in leaves if v is not None]
    expected = torch.autograd.grad(sum((o * w).sum() for o, w in zip(want, weights, strict=True)), given)
    found = gpu.backward(*values[:7], kept, every, *weights)
    found = [g for g in found if g is not None]
    for name, a, b in zip(
        [n for n, v in zip(NAMES, leaves, strict=True) if v is not None], found, expected, strict=True
    ):
        assert (a - b).abs().max() <= 1e-5 * max(1.0, float(b.abs().max())), (name, number)
print(f"{len(cases)} cases agree")
