"""`torch.compile` takes the scans whole, with sizes that are not known ahead."""

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from assay.kernels import lif, selective_scan


@pytest.mark.parametrize("membrane", [False, True])
def test_one_compiled_scan_serves_all_sizes(membrane):
    def scan(x, beta):
        return lif(2 * x, beta, scale_input=True, return_membrane=membrane)

    counter = CompileCounter()
    torch._dynamo.reset()
    compiled = torch.compile(scan, fullgraph=True, dynamic=True, backend=counter)
    for steps, neurons in ((5, 7), (9, 3), (11, 4)):
        x = torch.randn(steps, neurons, generator=torch.Generator().manual_seed(steps))
        found = []
        for run in (scan, compiled):
            leaves = [x.clone().requires_grad_(), torch.tensor(0.7, requires_grad=True)]
            out = run(*leaves)
            out = out if membrane else (out,)
            found.append([*out, *torch.autograd.grad(sum(o.sum() for o in out), leaves)])
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b)
    assert counter.frame_count == 1


@pytest.mark.parametrize("gated", [False, True])
def test_one_compiled_selective_scan_serves_all_sizes(gated):
    def scan(u, delta, A, B, C, D, z):
        return selective_scan(2 * u, delta.exp(), -A.exp(), B, C, D, z if gated else None, return_state=True)

    counter = CompileCounter()
    torch._dynamo.reset()
    compiled = torch.compile(scan, fullgraph=True, dynamic=True, backend=counter)
    aot = torch.compile(scan, fullgraph=True, dynamic=True, backend="aot_eager")
    for batch, length, channels, states in ((2, 5, 7, 3), (3, 9, 3, 2), (4, 70, 4, 5)):
        rng = torch.Generator().manual_seed(length)
        row, column = (batch, length, channels), (batch, length, states)
        shapes = (row, row, (channels, states), column, column, (channels,), row)
        values = [torch.randn(shape, generator=rng) for shape in shapes]
        found = []
        for run in (scan, compiled, aot):
            leaves = [v.clone().requires_grad_() for v in values]
            out = run(*leaves)
            found.append([*out, *torch.autograd.grad(sum(o.sum() for o in out), leaves, materialize_grads=True)])
        for other in found[1:]:
            for a, b in zip(found[0], other, strict=True):
                torch.testing.assert_close(a, b)
    assert counter.frame_count == 1
