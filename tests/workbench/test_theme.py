"""Traces by role, and the same content under either theme."""

import copy

import plotly.graph_objects as go
import pytest

from workbench.theme import THEMES, figure, handle, styled, template

ROLES = ["yours", "yours_band", "yours_bars", "reference", "reference_bars", "null", "predicted", "printed", "pending"]


@pytest.mark.parametrize("role", [*ROLES, *(f"series_{i}" for i in range(1, 9))])
@pytest.mark.parametrize("kind", [{"type": "scatter", "mode": "lines+markers"}, {"type": "bar"}])
def test_every_role_gives_a_trace_that_plotly_takes(role, kind):
    trace = styled(role, x=[1], y=[2], error_y={"array": [1]}, **kind)
    assert trace["meta"] == {"role": role}
    for theme in THEMES:
        go.Figure(figure({"data": [trace]}, theme))  # raises on what Plotly does not know


def test_an_unknown_role_is_refused():
    with pytest.raises(ValueError, match="role: got 'mine'; expected one of yours"):
        styled("mine", x=[1])


def test_a_handle_keeps_its_role_and_says_what_it_sets():
    point = handle(styled("yours", mode="markers", x=[1], y=[2]), x=("first", 0, 1), y=("beta",))
    assert point["meta"] == {"role": "yours", "held": {"x": ["first", 0, 1], "y": ["beta"]}}
    for trace, places in (({"x": [1, 2], "y": [1, 2]}, {"x": ("beta",)}), ({"x": [1], "y": [1]}, {})):
        with pytest.raises(ValueError, match="expected one point"):
            handle(trace, **places)


def test_what_a_trace_says_itself_wins_in_both_themes():
    trace = styled("yours", type="scatter", mode="lines", x=[1], y=[1], line={"color": "#123456"})
    for theme in THEMES:
        assert figure({"data": [trace]}, theme)["data"][0]["line"]["color"] == "#123456"


def test_a_theme_exchanges_colours_and_leaves_the_content_as_it_was():
    content = {"data": [styled("yours", mode="lines", x=[1], y=[1])], "layout": {"shapes": [{"name": "cutoff"}]}}
    before = copy.deepcopy(content)
    light, dark = (figure(content, theme) for theme in THEMES)
    assert content == before
    assert light["data"][0]["line"]["color"] != dark["data"][0]["line"]["color"]
    assert light["layout"]["shapes"][0]["line"]["color"] == light["data"][0]["line"]["color"]
    assert dark["layout"]["shapes"][0]["line"]["color"] == dark["data"][0]["line"]["color"]
    assert light["layout"]["template"] == template("light") != dark["layout"]["template"]


def test_a_title_is_put_in_for_an_export_alone():
    assert "title" not in figure({"data": [], "layout": {"title": {"text": "old"}}})["layout"]
    drawn = figure({"data": []}, title="Found", subtitle="one line")
    assert drawn["layout"]["title"] == {"text": "Found", "subtitle": {"text": "one line"}}
    assert drawn["layout"]["margin"]["t"] == 76


def test_an_unknown_theme_is_refused():
    with pytest.raises(ValueError, match="theme: got 'grey'"):
        figure({"data": []}, "grey")


def test_an_axis_over_another_has_round_numbers_of_its_own():
    content = {"data": [], "layout": {"yaxis2": {"overlaying": "y"}, "yaxis3": {"overlaying": "y", "tickvals": [1]}}}
    layout = figure(content)["layout"]
    assert layout["yaxis2"]["tickmode"] == "auto"
    assert "tickmode" not in layout["yaxis3"]
    assert content["layout"]["yaxis2"] == {"overlaying": "y"}
