"""Scales and codes beside those of the packages `sinq` 0.2.0 and `hqq`, kept with `peers/record_sinq.py`.

Where they differ from what is done here, on purpose:
- their symmetric levels use (2^b − 1) // 2 − 1 steps of a side and divide by zero at 2 bits; ours use 2^(b−1) − 1;
- their SINQ + HQQ keeps the zeros of the best step with the codes of the last one; ours rounds with the zeros it keeps;
- their codes are int8 on the way, so that those of 8 bits wrap around; theirs of 8 bits are not compared.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from assay.efficient import (
    NF3,
    NF4,
    Recipe,
    awq_scale,
    dequantise,
    in_eight_bits,
    kurtosis,
    quantise_asinq,
    quantise_rtn,
    quantise_scaled,
    quantise_sinq,
    refined_zeros,
    sinkhorn_scales,
    sinq_linear,
)
from assay.kernels import balance


@pytest.fixture(scope="module")
def kept():
    with np.load(Path(__file__).parent / "peers" / "sinq.npz", allow_pickle=False) as held:
        return {name: torch.from_numpy(held[name]) for name in held.files if name != "versions"}


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("order", [1, 4, 16])
def test_scales(kept, order, stop):
    found = balance(kept["weight"][:, :64].contiguous(), 96, 64, iterations=order, stop=stop)
    torch.testing.assert_close(found.columns[0], kept[f"mu1_{order}_{stop}"].view(-1), rtol=1e-5, atol=0)
    torch.testing.assert_close(found.rows[:, 0], kept[f"mu2_{order}_{stop}"].view(-1), rtol=1e-5, atol=0)


def agree(found, kept, name, rtol=1e-5):
    """Codes are equal but where a weight falls on the middle of two; scales agree."""
    apart = (found.codes.view(-1).float() - kept[f"{name}_q"].reshape(-1)).abs()
    assert int((apart > 0).sum()) <= 1e-3 * len(apart) and float(apart.max()) <= 1, name
    torch.testing.assert_close(found.scale.view(-1), kept[f"{name}_s1"].reshape(-1), rtol=rtol, atol=1e-9)
    torch.testing.assert_close(found.column.view(-1), kept[f"{name}_s2"].reshape(-1), rtol=rtol, atol=0)
    torch.testing.assert_close(found.zero.view(-1), kept[f"{name}_z"].reshape(-1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bits", [2, 3, 4, 5, 6])
def test_codes_and_scales_of_every_number_of_bits(kept, bits):
    agree(quantise_sinq(kept["weight"], Recipe(bits=bits)), kept, f"sinq_{bits}")


def test_round_to_nearest(kept):
    found = quantise_rtn(kept["weight"])
    np.testing.assert_array_equal(found.codes.view(-1, 64), kept["rtn_4_q"])
    torch.testing.assert_close(found.scale.view(-1, 1), kept["rtn_4_s1"], rtol=1e-6, atol=0)


@pytest.mark.parametrize(("name", "bits"), [("nf4", 4), ("nf3", 3)])
def test_normal_levels(kept, name, bits):
    assert tuple(kept[name].tolist()) == pytest.approx(NF4 if bits == 4 else NF3)
    found = quantise_sinq(kept["weight"], Recipe(bits=bits, levels="normal"))
    agree(found, kept, f"sinq_{name}")


def test_nf4_is_torchaos_too(kept):
    assert tuple(kept["torchao_nf4"].tolist()) == pytest.approx(NF4, abs=1e-4)


def test_square_tiles(kept):
    found = quantise_sinq(kept["square"], Recipe(group=32, tiling="2d"))
    column = kept["square_4_s2"].view(2, 4, 32).reshape(2, 128)
    torch.testing.assert_close(found.column, column, rtol=1e-5, atol=0)
    scale = kept["square_4_s1"].view(2, 4, 32).permute(0, 2, 1).reshape(64, 4)
    torch.testing.assert_close(found.scale, scale, rtol=1e-5, atol=0)
    apart = found.codes.view(-1, 32).float() - kept["square_4_q"]
    assert int((apart != 0).sum()) <= 8


def test_calibrated_scales_and_codes(kept):
    inputs = kept["inputs"][0]
    found = awq_scale(kept["weight"], inputs, Recipe(), balanced=True, norm="l1")
    torch.testing.assert_close(found.scale, kept["awq"], rtol=1e-5, atol=0)
    torch.testing.assert_close(awq_scale(kept["weight"], inputs, Recipe()).scale, kept["rtn_awq"], rtol=1e-5, atol=0)
    agree(quantise_asinq(kept["weight"], inputs, Recipe()), kept, "awq_4")


def test_eight_bit_scales(kept):
    torch.testing.assert_close(in_eight_bits(kept["sinq_4_s1"], 32), kept["aux"], rtol=1e-6, atol=0)


def close_but_for_ties(found, wanted):
    """Equal but for few weights that lie between two codes, or whose scale does in its 8 bits."""
    off = (found - wanted).abs() > 1e-3 * float(wanted.abs().max())
    assert float(off.float().mean()) < 2e-2


def test_a_whole_layer_and_the_gate(kept):
    """The layer that transformers' SinqConfig makes: scales in 8 bits, and no columns scaled above a kurtosis of 5."""
    weight = kept["mild"]
    recipe = Recipe(aux=True, gate=5.0)
    found = quantise_sinq(weight, recipe)
    assert not found.gated and kurtosis(weight) < 5
    close_but_for_ties(dequantise(found), kept["layer"])
    torch.testing.assert_close(sinq_linear(kept["inputs"], found), kept["inputs"] @ dequantise(found).T)
    off = (sinq_linear(kept["inputs"], found) - kept["layer_out"]).square().mean() / kept["layer_out"].square().mean()
    assert float(off) < 1e-3
    gated = quantise_sinq(kept["weight"], recipe)
    assert gated.gated and gated.column is None and kurtosis(kept["weight"]) > 5
    close_but_for_ties(dequantise(gated), kept["gated"])


@pytest.mark.parametrize("bits", [3, 4])
def test_hqq(kept, bits):
    found = refined_zeros(kept["weight"].view(-1, 64), bits)
    np.testing.assert_array_equal(found.codes, kept[f"half_{bits}_q"].view(-1, 64))
    torch.testing.assert_close(found.scale, kept[f"half_{bits}_s"], rtol=1e-6, atol=0)
    torch.testing.assert_close(found.zero, kept[f"half_{bits}_z"], rtol=1e-5, atol=1e-5)


def test_sinq_with_hqq_loses_no_more_than_theirs(kept):
    weight, found = kept["weight"], sinkhorn_scales(kept["weight"])
    ours = dequantise(quantise_scaled(weight, found.columns, found.rows, Recipe(refine=True)))
    q, s1, s2, z = (kept[f"sinq_hqq_{part}"] for part in ("q", "s1", "s2", "z"))
    theirs = ((q.view(-1, 64) - z) * s1).view(96, 128) * s2

    def lost(made):
        return float((made - weight).abs().mean())

    assert lost(ours) <= 1.02 * lost(theirs)
