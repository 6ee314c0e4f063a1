"""Verdicts on values: whatever the blocks, the same as on the whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from assay import checkpoints
from assay.checkpoints import Health, examine

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple), dtype=st.sampled_from(FLOATS),
    spoilt=st.dictionaries(st.integers(0, 215), st.sampled_from([np.nan, np.inf, -np.inf]), max_size=5),
    rows=st.integers(1, 6),
)  # fmt: skip
def test_nan_and_infinity_are_counted_and_the_first_is_placed(shape, dtype, spoilt, rows):
    values = np.arange(1.0, 1.0 + np.prod(shape))
    spoilt = {place: value for place, value in spoilt.items() if place < values.size}
    for place, value in spoilt.items():
        values[place] = value
    got = examine(torch.from_numpy(values.reshape(shape)).to(dtype).split(rows), shape)
    assert got.nan == sum(np.isnan(list(spoilt.values())))
    assert got.inf == sum(np.isinf(list(spoilt.values())))
    if spoilt:
        wanted = np.argwhere(~np.isfinite(values.reshape(shape)))[0]
        assert got.verdict == "not finite" and got.first == tuple(wanted)
    else:
        assert got == Health("finite") or values.size == 1


@given(
    value=st.sampled_from([0.0, -0.0, 1.0, -2.5]), count=st.integers(1, 9), rows=st.integers(1, 4),
    dtype=st.sampled_from([*FLOATS, torch.float8_e4m3fn, torch.complex64]),
)  # fmt: skip
def test_equal_entries(value, count, rows, dtype):
    """All zero, constant from two entries on; of complex numbers nobody says constant."""
    got = examine(torch.full((count,), value, dtype=torch.float32).to(dtype).split(rows), (count,)).verdict
    if value == 0:
        assert got == "all zero"
    else:
        assert got == ("constant" if count > 1 and not dtype.is_complex else "finite")


def test_equal_within_blocks_is_not_equal():
    assert examine([torch.ones(3), torch.full((3,), 2.0)], (6,)).verdict == "finite"
    assert examine([torch.zeros(3), torch.ones(3)], (6,)).verdict == "finite"


def test_unit_circle_is_not_constant():
    """Complex numbers of one magnitude, such as the poles of a state-space model."""
    poles = torch.polar(torch.ones(4), torch.arange(4.0))
    assert examine([poles], (4,)).verdict == "finite"
    poles[2] = complex(1, float("nan"))
    assert examine([poles], (4,)) == Health("not finite", nan=1, first=(2,))


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.uint16, torch.uint64])
def test_integers(dtype):
    assert examine([torch.tensor([0, 1, 1]).to(dtype)], (3,)).verdict == "finite"
    assert examine([torch.tensor([0, 0]).to(dtype)], (2,)).verdict == "all zero"


def test_nothing_to_look_at():
    assert examine([torch.empty(0, 3)], (0, 3)).verdict == "finite"
    assert examine([torch.tensor(float("nan"))], ()) == Health("not finite", nan=1, first=())


def test_a_report_has_a_row_for_each_tensor(tmp_path):
    hurt = torch.randn(300, 40)
    hurt[17, 3], hurt[200, 1], hurt[17, 39] = float("nan"), float("-inf"), float("inf")
    save_file(
        {"w.10": hurt, "w.2": torch.zeros(2, 2), "gain": torch.ones(4), "ids": torch.arange(4),
         "x.qweight": torch.arange(4, dtype=torch.int32), "x.weight": torch.randn(3, 3).to(torch.float8_e5m2),
         "y": torch.randn(2).bfloat16()},
        tmp_path / "m.safetensors",
    )  # fmt: skip
    seen = []
    rows = checkpoints.open(tmp_path / "m.safetensors").report(progress=lambda names: seen.extend(names) or names)
    assert seen == [row.name for row in rows] == ["gain", "ids", "w.2", "w.10", "x.qweight", "x.weight", "y"]
    verdicts = {row.name: row.verdict for row in rows}
    assert verdicts == {
        "gain": "constant", "ids": "finite", "w.2": "all zero", "w.10": "not finite", "x.qweight": "quantised",
        "x.weight": "quantised", "y": "finite",
    }  # fmt: skip
    (hit,) = [row for row in rows if row.verdict == "not finite"]
    assert (hit.nan, hit.inf, hit.first, hit.dtype, hit.parameters) == (1, 2, (17, 3), "F32", 12_000)
    assert hit.sentence == "w.10: holds 1 NaN and 2 infinite values, first at [17, 3]."
    assert [row.dtype for row in rows] == ["F32", "I64", "F32", "F32", "I32", "F8_E5M2", "BF16"]


def test_a_report_can_be_stopped(tmp_path):
    save_file({"a": torch.ones(2), "b": torch.ones(2)}, tmp_path / "m.safetensors")

    def stop(names):
        yield names[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checkpoints.open(tmp_path / "m.safetensors").report(progress=stop)
