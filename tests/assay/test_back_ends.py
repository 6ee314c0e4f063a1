"""Which form of a kernel served is told to those who listen, and to nobody else."""

import torch

from assay.back_ends import back_ends
from assay.kernels import lif


def test_each_form_is_told_while_somebody_listens():
    x = torch.ones(3, 2, requires_grad=True)
    lif(x, 0.5)
    with back_ends() as found:
        assert found == {}
        spikes, _ = lif(x, 0.5)
        with back_ends() as inner:
            spikes.sum().backward()
            lif(x.detach().half(), 0.5)
        assert inner == {"lif": {"cpu", "reference"}}
    lif(x, 0.5)
    assert found == {"lif": {"cpu", "reference"}}


def test_a_compiled_call_tells_it_too():
    x = torch.ones(3, 2)
    compiled = torch.compile(lambda x: lif(x, 0.5)[0].sum(), backend="eager", fullgraph=True)
    compiled(x)
    with back_ends() as found:
        compiled(x)
    assert found == {"lif": {"cpu"}}
