"""Operators are called without PyTorch's compiler, and the compiler knows them all the same."""

import subprocess
import sys

import torch

CALLS = """
import sys, torch
from assay.kernels import lif, selective_scan, selective_scan_norms
x = torch.ones(3, 2, requires_grad=True)
lif(x, 0.9)[1].sum().backward()
u = torch.ones(1, 3, 2, requires_grad=True)
A, B = -torch.ones(2, 4), torch.ones(1, 3, 4)
selective_scan(u, u.detach(), A, B, B).sum().backward()
selective_scan_norms(u.detach(), u.detach(), A, B, B)
assert x.grad is not None and u.grad is not None
print("torch._dynamo" in sys.modules)
"""


def test_a_call_does_not_import_the_compiler():
    """It takes two seconds of the first move on a page, and of every worker's first job."""
    done = subprocess.run([sys.executable, "-c", CALLS], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_operators_stand_under_their_names():
    import assay.kernels  # noqa: F401

    schema = torch.ops.assay.lif_backward.default._schema
    assert [one.name for one in schema.arguments][-1] == "of_neuron"
    assert len(schema.returns) == 4
