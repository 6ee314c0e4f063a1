"""Run in a process of its own with TRITON_INTERPRET=1: the LIF scan for GPUs, step by step on the processor."""

import itertools

import torch

from assay.kernels._lif import gpu
from assay.kernels._lif.reference import lif_reference
from assay.kernels._lif.surrogates import SURROGATES

names = list(SURROGATES)
cases = list(itertools.product(("subtract", "zero", "none"), (False, True), (False, True)))
for number, (reset, delayed, detach) in enumerate(cases * 2):
    surrogate = SURROGATES[names[number % len(names)]]
    steps, neurons, scale = (1, 9, 10)[number % 3], (3, 131)[number % 2], bool(number % 2)
    rng = torch.Generator().manual_seed(number)
    values = [
        1.5 * torch.randn(steps, neurons, generator=rng), torch.rand(neurons, generator=rng),
        0.3 + torch.rand(neurons, generator=rng), torch.randn(neurons, generator=rng),
    ]  # fmt: skip
    leaves = [v.clone().requires_grad_() for v in values]
    kinds = {"scale_input": scale, "reset": reset, "delayed_reset": delayed}
    want = lif_reference(*leaves, detach_reset=detach, surrogate=surrogate, alpha=surrogate.alpha, **kinds)
    spikes, membrane = torch.empty(steps, neurons), torch.empty(steps, neurons)
    gpu.forward(*values, spikes, membrane, **kinds)
    assert torch.equal(spikes, want[0]), (reset, delayed)
    torch.testing.assert_close(membrane, want[1].detach(), rtol=1e-6, atol=1e-6)
    weights = [torch.randn(steps, neurons, generator=rng) for _ in range(2)]
    grads = torch.autograd.grad((want[0] * weights[0]).sum() + (want[1] * weights[1]).sum(), leaves, allow_unused=True)
    found = gpu.backward(
        *values, *weights, detach_reset=detach, code=surrogate.code, alpha=surrogate.alpha, of_neuron=True, **kinds
    )  # fmt: skip
    for name, a, b in zip(("x", "beta", "threshold", "initial"), found, grads, strict=True):
        b = torch.zeros_like(a) if b is None else b
        assert (a - b).abs().max() <= 1e-5 * max(1.0, float(b.abs().max())), (name, reset, delayed, detach, number)
print(f"{2 * len(cases)} cases agree")
