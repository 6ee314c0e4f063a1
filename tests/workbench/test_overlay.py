"""The same view of several runs in one figure: what is alike once, what differs in the look of its run."""

import copy

import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.overlay import LETTERS, overlay, why_apart
from workbench.theme import styled


def drawn(*traces, **layout):
    return {"data": list(traces), "layout": layout}


def line(y, name="height", **more):
    return {"type": "scatter", "mode": "lines+markers", "x": [1, 2, 3], "y": y, "name": name, **more}


def runs(figure):
    """The letter that each trace belongs to; empty for what all share."""
    return [(trace.get("meta") or {}).get("run", "") for trace in figure["data"]]


def test_three_runs_differ_in_colour_dash_and_symbol():
    figure = overlay([drawn(line([i, 1, 2])) for i in range(3)], "light")
    assert runs(figure) == ["A", "B", "C"] and [t["name"] for t in figure["data"]] == ["A", "B", "C"]
    looks = [(t["line"]["color"], t["line"]["dash"], t["marker"]["symbol"]) for t in figure["data"]]
    assert looks == [
        ("#2a4bd0", "solid", "circle"), ("#e87011", "dash", "square"), ("#0e8c70", "dot", "triangle-up")
    ]  # fmt: skip
    dark = overlay([drawn(line([i, 1, 2])) for i in range(3)], "dark")
    assert [t["line"]["color"] for t in dark["data"]] == ["#91a7ff", "#f48e2f", "#25a687"]
    go.Figure({"data": dark["data"], "layout": dark["layout"]})


@given(st.integers(1, 6), st.lists(st.booleans(), min_size=1, max_size=6), st.sampled_from(["light", "dark"]))
def test_what_is_alike_is_drawn_once_and_no_number_changes(count, alike, theme):
    """One trace for what all share, one a run for the rest, with the numbers as they were; the figures stay whole."""
    figures = [
        drawn(*(line([k, 0 if same else i, 2], f"trace {k}") for k, same in enumerate(alike))) for i in range(count)
    ]
    before = copy.deepcopy(figures)
    found = overlay(figures, theme)
    assert figures == before
    shared = sum(same or count == 1 for same in alike)
    assert runs(found).count("") == shared
    for i, letter in enumerate(LETTERS[:count]):
        of_run = [t["y"] for t in found["data"] if (t.get("meta") or {}).get("run") == letter]
        assert of_run == ([] if count == 1 else [[k, i, 2] for k, same in enumerate(alike) if not same])
    symbols = {(t["line"]["color"], t["line"]["dash"], t["marker"]["symbol"]) for t in found["data"] if t.get("meta")}
    assert len(symbols) == (0 if count == 1 or all(alike) else count), "no two runs look alike"


def test_a_band_stays_with_the_line_that_it_fills_from():
    def band(top):
        return [line([top] * 3, "band", line={"width": 0}, showlegend=False),
                line([0, 0, 0], "floor", fill="tonexty", line={"width": 0})]  # fmt: skip

    figure = overlay([drawn(*band(1), line([1, 2, 3])), drawn(*band(2), line([1, 2, 3]))], "light")
    assert runs(figure) == ["", "A", "A", "B", "B"], "the floor is alike, its band is not"
    for letter in "AB":
        top, floor = (t for t in figure["data"] if (t.get("meta") or {}).get("run") == letter)
        assert figure["data"].index(floor) == figure["data"].index(top) + 1
        assert floor["fill"] == "tonexty" and floor["fillcolor"].endswith(",0.14)")
        assert top["line"]["width"] == floor["line"]["width"] == 0 and top["showlegend"] is False


def test_what_a_figure_is_compared_with_stays_behind():
    sides = [drawn(styled("null", **line([i, 0, 0], "null")), styled("yours", **line([i, 1, 2], "yours")))
             for i in (1, 2)]  # fmt: skip
    quiet, mine = overlay(sides, "light")["data"][:2]
    assert quiet["name"] == "A, null" and quiet["opacity"] < 1 and quiet["line"]["width"] < mine["line"]["width"]
    assert "opacity" not in mine and mine["line"]["color"] == quiet["line"]["color"] == "#2a4bd0"


def test_a_shared_trace_keeps_its_role_under_both_themes():
    same = styled("reference", **line([0, 0, 0], "reference"))
    for theme, colour in (("light", "#6f7b7f"), ("dark", "#87939a")):
        figure = overlay([drawn(same, line([i, 1, 2])) for i in (1, 2)], theme)
        assert figure["data"][0]["line"]["color"] == colour and runs(figure) == ["", "A", "B"]


def test_bars_stand_beside_each_other_and_differ_without_colour():
    figure = overlay([drawn({"type": "bar", "x": ["a"], "y": [i], "width": 0.9}, barmode="overlay") for i in (1, 2)],
                     "light")  # fmt: skip
    assert figure["layout"]["barmode"] == "group"
    assert len({t["offsetgroup"] for t in figure["data"]}) == 2 and all("width" not in t for t in figure["data"])
    assert [t["marker"]["pattern"]["shape"] for t in figure["data"]] == ["", "/"]
    stacked = [drawn({"type": "bar", "x": ["a"], "y": [i]}, barmode="stack") for i in (1, 2)]
    assert overlay(stacked, "light")["layout"]["barmode"] == "stack"


def test_lines_and_notes_of_one_run_say_whose_they_are():
    at = {"type": "line", "x0": 0, "x1": 1, "name": "dagger"}
    sides = [
        drawn(line([i, 1, 2]), shapes=[{**at, "y0": 5}, {**at, "y0": i, "line": {"width": 1}}],
              annotations=[{"text": "all"}, {"text": f"peak {i}"}])
        for i in (1, 2)
    ]  # fmt: skip
    layout = overlay(sides, "light")["layout"]
    assert [s["y0"] for s in layout["shapes"]] == [5, 1, 2]
    assert layout["shapes"][0]["name"] == "dagger" and layout["shapes"][1]["line"]["color"] == "#2a4bd0"
    assert layout["shapes"][2]["line"]["dash"] == "dash"
    assert [n["text"] for n in layout["annotations"]] == ["all", "A: peak 1", "B: peak 2"]
    assert layout["annotations"][2]["yshift"] < layout["annotations"][1]["yshift"]


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [([[0, 1], [0, 1]], [0, 1]), ([[0, 1], [-2, 0.5]], [-2, 1]), ([[3, 1], [5, 2]], [5, 1]), ([[0, 1], None], None)],
)
def test_a_range_holds_every_run(ranges, expected):
    sides = [drawn(line([i, 1, 2]), xaxis={"range": ends} if ends else {}) for i, ends in enumerate(ranges)]
    assert overlay(sides, "light")["layout"]["xaxis"].get("range") == expected


@pytest.mark.parametrize(
    ("one", "other", "sentence"),
    [
        (drawn(line([1])), drawn({"type": "bar", "y": [1]}), "A draws lines or points where B draws bars."),
        (drawn({"type": "heatmap", "z": [[1]]}), drawn({"type": "heatmap", "z": [[2]]}), "A heatmap covers"),
        (drawn(line([1]), {"type": "bar", "name": "b"}), drawn({"type": "bar", "name": "height"}, line([1], "b")),
         "“height” is drawn as lines or points in A and as bars in B"),
        (drawn(line([1], marker={"color": [1, 2]})), drawn(line([2])), "colours of their own"),
        (drawn(line([1]), xaxis={"title": {"text": "Time (s)"}}), drawn(line([1]), xaxis={"title": "Time (ms)"}),
         "The x axis is “Time (s)” in A and “Time (ms)” in B."),
        (drawn(line([1]), yaxis={"type": "log"}), drawn(line([1])), "The y axis is log in A and linear in B."),
        (drawn({"type": "bar", "x": ["a"], "y": [1]}), drawn({"type": "bar", "x": [3], "y": [1]}),
         "The x axis has names in one"),
    ],
)  # fmt: skip
def test_what_means_something_else_is_not_overlaid(one, other, sentence):
    assert sentence in why_apart([one, other])
    with pytest.raises(ValueError, match=r"^figures: "):
        overlay([one, other], "light")
    assert why_apart([one, one]) == ("" if "covers" not in sentence and "colours" not in sentence else
                                     why_apart([one, other]))  # fmt: skip


def test_an_empty_figure_beside_a_full_one_is_no_other_kind():
    assert why_apart([drawn(), drawn(line([1]))]) == ""
    assert runs(overlay([drawn(), drawn(line([1]))], "light")) == ["B"]


@pytest.mark.parametrize("count", [0, 7])
def test_no_more_runs_than_there_are_letters(count):
    with pytest.raises(ValueError, match=rf"^figures: got {count}; expected 1 to 6\.$"):
        overlay([drawn(line([1]))] * count, "light")


def test_a_band_of_each_run_lets_the_curves_through():
    bands = [{"type": "rect", "name": "shuffled", "x0": 0, "x1": i, "y0": 0, "y1": 1} for i in (1, 2)]
    shapes = overlay([drawn(line([1, 2, 3]), shapes=[band]) for band in bands], "light")["layout"]["shapes"]
    assert [shape["x1"] for shape in shapes] == [1, 2]
    for shape in shapes:
        assert shape["fillcolor"].endswith(",0.12)") and shape["layer"] == "below"
