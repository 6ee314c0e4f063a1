"""The look of every face: the Plotly template, and traces styled by the role they play.

A study says what a trace is (`yours`, `reference`, `null`, `predicted`, …) and not what it looks like. `styled` gives
it the light look and keeps the role in `meta`, so that `figure` can draw the same content under either theme.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "STATIC", "THEMES", "Figure", "Theme", "axis", "drawn", "figure", "handle", "styled", "template",
    "without_template",
]  # fmt: skip

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, Theme] = ("light", "dark")
STATIC = Path(__file__).parent / "static"
MARGIN = {"l": 60, "r": 20, "t": 24, "b": 52}


@functools.cache
def look() -> dict[str, Any]:
    """The templates, the roles and the orders of dashes and symbols, as they lie in the package."""
    return json.loads((STATIC / "plotly-template.json").read_text(encoding="utf-8"))


def template(theme: Theme = "light") -> dict[str, Any]:
    """The Plotly template of a theme, as a dict of its own."""
    return copy.deepcopy(look()[theme])


@functools.cache
def roles(theme: Theme) -> dict[str, dict[str, Any]]:
    """What a trace looks like, by role."""
    styles = {name: style for name, style in look()["styles"][theme].items() if name != "verdict"}
    layout = look()[theme]["layout"]
    mine = styles["yours"]["line"]["color"]
    grey = {"light": "#ccd3d3", "dark": "#39444a"}[theme]
    whisker = styles["reference"]["line"]["color"]
    styles["reference_bars"] = {"marker": {"color": grey, "line": {"width": 0}}, "error_y": {"color": whisker}}
    styles["yours_bars"] = {"marker": {"color": mine, "opacity": 0.8, "line": {"width": 0}}}
    styles["reference"] = styles["reference"] | {"error_x": {"color": whisker}, "error_y": {"color": whisker}}
    styles["yours"] = styles["yours"] | {"error_x": {"color": mine}, "error_y": {"color": mine}}
    for i, colour in enumerate(layout["colorway"]):
        styles[f"series_{i + 1}"] = {
            "line": {"color": colour, "width": 2, "dash": look()["dashes"][i]},
            "marker": {"color": colour, "size": 8, "symbol": look()["symbols"][i]},
            "error_x": {"color": colour},
            "error_y": {"color": colour},
        }
    return styles


SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    # from a shape's name to the role whose line colour it takes, and how the line is drawn
    "yours": ("yours", {"width": 2}),
    "cutoff": ("yours", {"width": 1.5}),
    "dagger": ("predicted", {"width": 1.5, "dash": "dash"}),
    "flat": ("null", {"width": 1.5, "dash": "dot"}),
}
LINES = {"scatter", "scattergl", "scatterpolar", "scatter3d", "scatterternary"}
ERRORS = LINES | {"bar", "histogram"}


def styled(role: str, **trace: Any) -> dict[str, Any]:
    """A trace with the look of its role; what the trace says itself wins.

    Args:
        role: `yours`, `yours_band`, `yours_bars`, `reference`, `reference_bars`, `null`, `predicted`, `printed`,
            `pending`, `stale`, or `series_1` to `series_8`.
        **trace: the rest of the trace, as Plotly names it.

    Raises:
        ValueError: there is no such role.
    """
    known = roles("light")
    if role not in known:
        raise ValueError(f"role: got {role!r}; expected one of {', '.join(known)}.")
    style = copy.deepcopy(known[role])
    kind, mode = trace.get("type", "scatter"), trace.get("mode", "")
    if kind not in LINES or (mode and "lines" not in mode and kind != "bar"):
        style.pop("line", None)
    if kind in LINES and mode and "markers" not in mode:
        style.pop("marker", None)
    if kind in LINES and "text" not in mode:
        style.pop("textfont", None)
    if kind not in LINES and "marker" in style:
        style["marker"] = {part: look for part, look in style["marker"].items() if part not in ("size", "symbol")}
    if "fill" not in trace:
        style.pop("fillcolor", None)
    for name in ("error_x", "error_y"):
        if name not in trace or kind not in ERRORS:
            style.pop(name, None)
    return merged(style, {**trace, "meta": {"role": role}})


Figure = dict[str, Any]


def drawn(traces: list[dict[str, Any]], title: str, subtitle: str, **layout: Any) -> Figure:
    """What a view gives: a figure as a plain dict, with its finding and the line below."""
    return {"data": traces, "layout": {"title": {"text": title, "subtitle": {"text": subtitle}}, **layout}}


def axis(title: str, **traits: Any) -> dict[str, Any]:
    """An axis of a figure, with its title."""
    return {"title": {"text": title}, **traits}


Place = tuple[str] | tuple[str, int, int]


def handle(trace: Mapping[str, Any], *, x: Place | None = None, y: Place | None = None) -> dict[str, Any]:
    """A trace of one point that a person can hold and move on a page; elsewhere the controls themselves move it.

    Args:
        trace: of one point.
        x, y: what the coordinate sets: a number, `("beta",)`, or an entry of a matrix, `("first", row, column)`.
            Its axis keeps its range while the point is held.

    Raises:
        ValueError: the trace has not one point, or nothing would be set.
    """
    if len(trace.get("x", ())) != 1 or len(trace.get("y", ())) != 1 or not (x or y):
        raise ValueError("trace: expected one point, and a control for its x or its y.")
    held = {axis: list(place) for axis, place in (("x", x), ("y", y)) if place}
    return {**trace, "meta": {**trace.get("meta", {}), "held": held}}


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """Two nested mappings as one; where both say something, `high` wins."""
    found = dict(low)
    for name, value in high.items():
        below = found.get(name)
        found[name] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return found


def exchanged(trace: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The trace with every value that it has from one style replaced by that of another."""
    found = dict(trace)
    for name, value in old.items():
        if name not in found or name not in new:
            continue
        if isinstance(value, Mapping) and isinstance(found[name], Mapping):
            found[name] = exchanged(found[name], value, new[name])
        elif not isinstance(value, Mapping) and isinstance(found[name], type(value)) and found[name] == value:
            found[name] = new[name]
    return found


def shaped(shape: Mapping[str, Any], theme: Theme) -> dict[str, Any]:
    """A shape with the look of its name; a shape without a name is a thin grey line."""
    name = str(shape.get("name") or "")
    if name in ("shuffled", "band"):
        fill = roles(theme)["null"]["fillcolor"]
        return merged({"fillcolor": fill, "line": {"width": 0}, "layer": "below"}, shape)
    role, line = SHAPES.get(name, ("reference", {"width": 1}))
    return merged({"line": {"color": roles(theme)[role]["line"]["color"], **line}}, shape)


def figure(
    content: Mapping[str, Any], theme: Theme = "light", *, title: str = "", subtitle: str = ""
) -> dict[str, Any]:
    """A view's figure under a theme, as a plain Plotly dict; what it was made from stays as it is.

    Args:
        content: `Shown.content` of a figure.
        theme: `light` or `dark`.
        title, subtitle: put into the figure, for an export that stands alone; faces show them above the plot.

    Raises:
        ValueError: there is no such theme.
    """
    if theme not in THEMES:
        raise ValueError(f"theme: got {theme!r}; expected light or dark.")
    traces = []
    for trace in content.get("data") or ():
        meta = trace.get("meta")
        role = meta.get("role") if isinstance(meta, Mapping) else None
        known = role in roles("light")
        traces.append(exchanged(trace, roles("light")[role], roles(theme)[role]) if known else dict(trace))
    layout = {k: v for k, v in (content.get("layout") or {}).items() if k not in ("template", "title")}
    margin = dict(MARGIN) | ({"r": 60} if "yaxis2" in layout else {})
    base: dict[str, Any] = {"template": template(theme), "margin": margin}
    if title:
        base["title"] = {"text": title, "subtitle": {"text": subtitle}}
        margin["t"] = 76
    layout = merged(base, layout)
    layout["shapes"] = [shaped(shape, theme) for shape in layout.get("shapes") or ()]
    for name, traits in layout.items():
        if "axis" in name and "overlaying" in traits and "tickvals" not in traits:
            layout[name] = {"tickmode": "auto", **traits}  # Plotly's own choice copies the other axis, to odd numbers
    return {"data": traces, "layout": layout}


def without_template(content: Mapping[str, Any]) -> dict[str, Any]:
    """A figure for a page that has the templates already."""
    return {**content, "layout": {part: value for part, value in content["layout"].items() if part != "template"}}
