"""`torch.compile` takes the LIF scan whole, with sizes that are not known ahead."""

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from assay.kernels import lif


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
