"""Long lines keep their envelope, and every face says so."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.long_lines import MOST_POINTS, thinned
from workbench.snapshot import as_shown


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


def test_points_that_are_no_line_are_all_drawn():
    content = {"data": [{"y": np.arange(2.0 * MOST_POINTS), "mode": "markers"}]}
    assert len(thinned(content)[0]["data"][0]["y"]) == 2 * MOST_POINTS


def test_a_view_says_that_its_line_was_thinned():
    layout = {"title": {"text": "A finding", "subtitle": {"text": "Of a signal."}}}
    shown = as_shown("t", {"data": [{"y": np.zeros(10 * MOST_POINTS)}], "layout": layout})
    assert len(shown.content["data"][0]["y"]) <= MOST_POINTS
    many, few = "200\N{NARROW NO-BREAK SPACE}000", "20\N{NARROW NO-BREAK SPACE}000"
    sentence = f"A line of {many} points is drawn by the lowest and highest of each stretch ({few} points)."
    assert shown.subtitle == f"Of a signal. {sentence}"
