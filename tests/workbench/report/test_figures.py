"""Figures travel exactly, and long lines keep their envelope."""

from __future__ import annotations

import base64
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.report.figures import LONG, MOST_POINTS, carried, thinned
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


@given(st.integers(MOST_POINTS + 1, 6 * MOST_POINTS), st.integers(0, 2**32 - 1))
def test_a_long_line_keeps_its_extremes_and_its_order(n, seed):
    y = np.random.default_rng(seed).standard_normal(n)
    content, most = thinned({"data": [{"y": y, "text": [str(i) for i in range(n)]}]})
    trace = content["data"][0]
    assert most == n and MOST_POINTS / 2 <= len(trace["y"]) <= MOST_POINTS
    assert trace["y"].min() == y.min() and trace["y"].max() == y.max()
    assert (np.diff(trace["x"]) > 0).all()
    np.testing.assert_array_equal(trace["y"], y[trace["x"].astype(int)])
    assert [int(t) for t in trace["text"]] == trace["x"].astype(int).tolist()


def test_a_long_line_keeps_where_it_breaks():
    y = np.arange(4.0 * MOST_POINTS)
    y[100:1_000] = np.nan
    x = thinned({"data": [{"y": y}]})[0]["data"][0]["x"]
    between = x[(x >= 100) & (x < 1_000)]
    assert len(between) >= 100 and np.isnan(y[between.astype(int)]).all()


def test_a_short_line_is_left_as_it_is():
    content = {"data": [{"y": np.arange(MOST_POINTS)}]}
    assert thinned(content)[1] == 0 and thinned(content)[0]["data"][0]["y"] is content["data"][0]["y"]


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
