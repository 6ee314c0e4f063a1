"""Figures travel exactly, and long lines keep their envelope."""

from __future__ import annotations

import base64
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.report.figures import LONG, carried
from workbench.theme import figure, styled


def decoded(value):
    """What plotly.js makes of a typed array or a list."""
    if isinstance(value, dict) and "bdata" in value:
        array = np.frombuffer(base64.b64decode(value["bdata"]), np.dtype(value["dtype"]).newbyteorder("<"))
        return array.reshape([int(n) for n in value["shape"].split(",")]) if "shape" in value else array
    return np.array([np.nan if v is None else v for v in value], float)


@given(
    st.lists(st.floats(allow_infinity=False, width=64), min_size=1, max_size=3 * LONG),
    st.sampled_from([list, np.array, pd.Series]),
)
def test_floats_travel_bit_by_bit(values, form):
    drawn = json.loads(json.dumps(carried({"data": [{"y": form(values)}]}), allow_nan=False))
    np.testing.assert_array_equal(decoded(drawn["data"][0]["y"]), np.array(values))


@given(st.lists(st.integers(-(2**52), 2**52), min_size=LONG, max_size=2 * LONG))
def test_whole_numbers_travel_exactly(values):
    drawn = carried({"data": [{"y": values}]})
    assert decoded(drawn["data"][0]["y"]).tolist() == values


def test_grids_words_and_dates_travel_as_they_are():
    z = np.arange(100.0).reshape(10, 10)
    days = pd.Series(pd.date_range("2026-01-01", periods=80))
    drawn = carried({"data": [{"type": "heatmap", "z": z}, {"x": days, "y": list(range(80)), "text": ["a"] * 80}]})
    np.testing.assert_array_equal(decoded(drawn["data"][0]["z"]), z)
    assert drawn["data"][1]["x"][0].startswith("2026-01-01") and drawn["data"][1]["text"] == ["a"] * 80


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (pd.Categorical(["b", "a", None]), ["b", "a", None]),
        (pd.array(["b", None], dtype="string"), ["b", None]),
        (pd.array([1, None, 3], dtype="Int64"), [1, None, 3]),
        (pd.array([True, None], dtype="boolean"), [True, None]),
        (pd.array([1.5, None], dtype="Float64"), [1.5, None]),
        (pd.period_range("2026-01", periods=2, freq="M").array, ["2026-01", "2026-02"]),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_arrays_of_pandas_travel_as_their_values(values, wanted):
    for array in (values, pd.Series(values), pd.Index(values)):
        assert carried({"data": [{"type": "bar", "x": array, "y": [1] * len(wanted)}]})["data"][0]["x"] == wanted


def merged(low, high):
    return {**low, **{k: merged(low.get(k, {}), v) if isinstance(v, dict) else v for k, v in high.items()}}


@pytest.mark.parametrize("role", ["yours", "reference", "null", "series_1", "yours_bars"])
def test_the_dark_figure_is_the_light_one_with_what_differs(role):
    content = {
        "data": [styled(role, x=[1, 2], y=[3, 4], mode="lines+markers", error_y={"array": [1, 1]})],
        "layout": {"shapes": [{"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1}], "title": {"text": "no"}},
    }  # fmt: skip
    drawn, dark = carried(content), figure(content, "dark")
    assert merged(drawn["data"][0], drawn["dark"]["data"][0]) == dark["data"][0]
    assert merged(drawn["layout"]["shapes"][0], drawn["dark"]["shapes"][0]) == dark["layout"]["shapes"][0]
    assert "template" not in drawn["layout"]
