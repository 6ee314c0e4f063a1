"""Codes in bytes and quantised weights in files: what is written is what comes back, and damage is told."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay import checkpoints
from assay.checkpoints.safetensors_writing import write_safetensors
from assay.efficient import BITS, Recipe, dequantise, quantise_rtn, quantise_sinq, read_quantised, write_quantised
from assay.efficient.quant_files import HEADER
from assay.kernels import pack_bits, packed_bytes, unpack_bits


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(BITS), st.lists(st.integers(0, 3), max_size=2), st.integers(0, 40), st.integers(0, 10**6))
def test_packing_and_back(bits, shape, length, seed):
    codes = torch.randint(0, 2**bits, (*shape, length), generator=torch.Generator().manual_seed(seed))
    packed = pack_bits(codes, bits)
    assert packed.dtype is torch.uint8 and packed.shape == (*shape, packed_bytes(length, bits))
    assert packed_bytes(length, bits) <= -(-length * bits // 8) + 1
    assert torch.equal(unpack_bits(packed, bits, length), codes.to(torch.uint8))


def test_a_layout_that_stays():
    """Files outlive versions: low parts first, the first code in the lowest bits."""
    assert pack_bits(torch.tensor([1, 2, 15]), 4).tolist() == [0x21, 0x0F]
    assert pack_bits(torch.tensor([1, 2, 3, 4, 5, 6, 7]), 3).tolist() == [0b00111001, 0b00111001, 0b01111000]
    assert pack_bits(torch.tensor([17, 2]), 5).tolist() == [0x21, 0b01]


@pytest.mark.parametrize(
    ("codes", "bits", "sentence"),
    [
        (torch.tensor([4]), 2, "codes: got 4 to 4; expected 0 to 3, of 2 bits"),
        (torch.tensor([-1]), 2, "codes: got -1 to -1"),
        (torch.tensor([0.5]), 2, "codes: got torch.float32"),
        (torch.tensor([1]), 7, "bits: got 7; expected one of 1, 2, 3"),
    ],
)
def test_codes_that_do_not_fit(codes, bits, sentence):
    with pytest.raises(ValueError, match=sentence):
        pack_bits(codes, bits)
    with pytest.raises(ValueError, match=r"packed: got torch.uint8 of shape \(3,\); expected uint8, \(..., 2\)"):
        unpack_bits(torch.zeros(3, dtype=torch.uint8), 4, 3)


RECIPES = [*(Recipe(bits=bits) for bits in BITS), Recipe(levels="symmetric"), Recipe(levels="normal", bits=3),
           Recipe(group=16, tiling="2d"), Recipe(aux=True), Recipe(refine=True)]  # fmt: skip


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_file_and_back(tmp_path, recipe):
    rng = torch.Generator().manual_seed(0)
    weight = 0.02 * torch.randn(32, 48, generator=rng) * (0.5 * torch.randn(48, generator=rng)).exp()
    made = {"a.0.weight": quantise_sinq(weight, recipe), "a.1.weight": quantise_rtn(weight, recipe)}
    others = {"norm": torch.ones(5, dtype=torch.bfloat16), "scalar": torch.tensor(3)}
    size = write_quantised(tmp_path / "m.safetensors", made, others)
    assert size == (tmp_path / "m.safetensors").stat().st_size
    found, rest = read_quantised(tmp_path / "m.safetensors")
    assert set(found) == set(made) and torch.equal(rest["norm"], others["norm"]) and int(rest["scalar"]) == 3
    for name, one in found.items():
        assert torch.equal(one.codes, made[name].codes) and one.group == made[name].group
        assert one.recipe.bits == recipe.bits and one.recipe.levels == recipe.levels
        step = float(made[name].scale.abs().max())
        assert float((dequantise(one) - dequantise(made[name])).abs().max()) <= 2 * step, "half precision scales"
    again = tmp_path / "again.safetensors"
    write_quantised(again, made, others)
    assert again.read_bytes() == (tmp_path / "m.safetensors").read_bytes()
    kinds = {checkpoints.open(again).stored(f"a.0.weight.{part}").dtype for part in ("codes", "scale")}
    assert kinds == {"U8", "F16"}


def test_scales_out_of_half_precision_stay_whole(tmp_path):
    made = quantise_sinq(torch.randn(8, 16, generator=torch.Generator().manual_seed(0)) * 1e6)
    write_quantised(tmp_path / "m.safetensors", {"w": made}, {})
    assert checkpoints.open(tmp_path / "m.safetensors").stored("w.scale").dtype == "F32"
    torch.testing.assert_close(dequantise(read_quantised(tmp_path / "m.safetensors")[0]["w"]), dequantise(made),
                               rtol=3e-3, atol=1e3)  # fmt: skip


def header_of(**changed):
    entry = {"bits": 4, "group": 16, "shape": [2, 16], "levels": "uniform", "tiling": "1d", "aux": False,
             "refine": False, "gated": False} | changed  # fmt: skip
    return {HEADER: json.dumps({"version": 1, "tensors": {"w": entry}})}


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ({}, "has no entry assay.quantised"),
        ({HEADER: "{"}, "has no entry assay.quantised"),
        ({HEADER: '{"version": 9, "tensors": {}}'}, "is of version 9; expected 1"),
        (header_of(bits=7), "says nothing usable of w"),
        (header_of(shape=[3, 16]), "w.codes has shape"),
        (header_of(group=32), "scales of w do not fit"),
        (header_of(levels="normal", shape=[2, 16]), None),
    ],
)
def test_files_that_are_not_ours(tmp_path, metadata, sentence):
    parts = {"w.codes": torch.zeros(2, 8, dtype=torch.uint8), "w.scale": torch.ones(2, 1), "w.zero": torch.zeros(2, 1)}
    write_safetensors(tmp_path / "m.safetensors", parts, metadata=metadata)
    if sentence is None:
        assert read_quantised(tmp_path / "m.safetensors")[0]["w"].recipe.levels == "normal"
        return
    with pytest.raises(ValueError, match=sentence):
        read_quantised(tmp_path / "m.safetensors")


def test_a_part_that_is_missing(tmp_path):
    write_safetensors(tmp_path / "m.safetensors", {"w.codes": torch.zeros(2, 8, dtype=torch.uint8)},
                      metadata=header_of())  # fmt: skip
    with pytest.raises(ValueError, match=r"lacks w\.scale; expected a whole file"):
        read_quantised(tmp_path / "m.safetensors")
