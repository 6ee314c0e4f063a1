"""The same view of several runs in one figure, so that what differs is seen where it differs.

What is alike in all runs is drawn once, as it was. The rest is drawn for every run in its colour, its dash and its
symbol: the first run solid cobalt with discs, the second dashed orange with squares, the third dotted green with
triangles. Figures that would hide one another, or whose axes mean different things, are told apart and not overlaid.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from workbench.theme import Theme, figure, look, roles

__all__ = ["LETTERS", "overlay", "why_apart"]

LETTERS = "ABCDEF"
"""Names of the runs that are beside each other, in the order they were chosen."""

ROLES = ("yours", "series_2", "series_1", "series_3", "series_4", "series_5")
PATTERNS = ("", "/", ".", "x", "-", "|")
SYMBOLS = ("circle", "square", "triangle-up", "diamond", "cross", "x")
BARS = {"bar", "histogram"}
BOXES = {"box", "violin"}
POINTS = {"scatter", "scattergl"}
KINDS = {"scatter": "lines or points", "scattergl": "lines or points", "bar": "bars", "histogram": "bars of counts",
         "box": "boxes", "violin": "violins"}  # fmt: skip
QUIET = {"null", "reference", "reference_bars", "predicted", "printed", "pending"}
"""Roles of what a figure is compared with; they stay in the background for every run."""
AXIS = re.compile(r"[xy]axis\d*")
STEP = 16  # pixels between the notes of two runs at one place

Figure = Mapping[str, Any]
Unit = list[dict[str, Any]]
"""Traces that are drawn as one: a fill belongs to the trace before it."""


def why_apart(figures: Sequence[Figure]) -> str:
    """Why figures cannot be laid over each other, in one sentence; empty where they can.

    Args:
        figures: with `data` and `layout`, one a run, in the order of `LETTERS`; as `kept_figures` keeps them.
    """
    for traces in (one["data"] for one in figures):
        for trace in traces:
            kind = kind_of(trace)
            if kind not in KINDS:
                return f"A {kind} covers what lies below it, so each run has its own."
            if any(holds_many(trace.get(part, {}).get("color")) for part in ("marker", "line")):
                return "Single points have colours of their own here, so each run has its own figure."
    said = [sorted({KINDS[kind_of(trace)] for trace in one["data"]}) for one in figures]
    for letter, words in zip(LETTERS, said, strict=False):
        if words != said[0] and words and said[0]:
            return f"A draws {' and '.join(said[0])} where {letter} draws {' and '.join(words)}."
    named = [{str(t["name"]): kind_of(t) for t in one["data"] if t.get("name")} for one in figures]
    for letter, kinds in zip(LETTERS, named, strict=False):
        for name in named[0]:
            if name in kinds and KINDS[kinds[name]] != KINDS[named[0][name]]:
                return f"“{name}” is drawn as {KINDS[named[0][name]]} in A and as {KINDS[kinds[name]]} in {letter}."
    return why_axes_differ(figures)


def why_axes_differ(figures: Sequence[Figure]) -> str:
    axes = [{n: a for n, a in one["layout"].items() if AXIS.fullmatch(n)} for one in figures]
    for letter, other in zip(LETTERS, axes, strict=False):
        for name in dict.fromkeys((*axes[0], *other)):
            first, second = (side.get(name) or {} for side in (axes[0], other))
            titles = [text_of(axis.get("title")) for axis in (first, second)]
            if titles[0] != titles[1]:
                return f"The {name[0]} axis is “{titles[0]}” in A and “{titles[1]}” in {letter}."
            kinds = [str(axis.get("type") or "") for axis in (first, second)]
            if kinds[0] != kinds[1] and "log" in kinds:
                return f"The {name[0]} axis is {kinds[0] or 'linear'} in A and {kinds[1] or 'linear'} in {letter}."
    for name in "xy":
        words = [{holds_words(t[name]) for t in one["data"] if holds_many(t.get(name))} for one in figures]
        for letter, found in zip(LETTERS, words, strict=False):
            if found and words[0] and found != words[0]:
                return f"The {name} axis has names in one of A and {letter}, and numbers in the other."
    return ""


def overlay(figures: Sequence[Figure], theme: Theme) -> dict[str, Any]:
    """Several figures as one.

    Args:
        figures: as in `why_apart`, which must find nothing; at most six.
        theme: `light` or `dark`.

    Returns:
        a plain Plotly dict under the theme. Traces of one run carry its letter in `meta.run`.

    Raises:
        ValueError: they cannot be laid over each other, or there are too many.
    """
    if not 1 <= len(figures) <= len(LETTERS):
        raise ValueError(f"figures: got {len(figures)}; expected 1 to {len(LETTERS)}.")
    if why := why_apart(figures):
        raise ValueError(f"figures: {why}")
    sides = [units_of(one["data"]) for one in figures]
    shared = [unit for unit in sides[0] if all(unit in side for side in sides[1:])]
    own = [[unit for unit in side if unit not in shared] for side in sides]
    traces = [trace for unit in shared for trace in copy.deepcopy(unit)]
    for i, units in enumerate(own):
        several = max(len(side) for side in own) > 1
        traces += [told(trace, i, theme, several=several) for unit in units for trace in unit]
    layout = laid([one["layout"] for one in figures], theme)
    types = {kind_of(trace) for units in own for unit in units for trace in unit}
    if types & BARS and layout.get("barmode") not in ("stack", "relative"):
        layout["barmode"] = "group"
    for kind in types & BOXES:
        layout[f"{kind}mode"] = "group"
    return figure({"data": traces, "layout": layout}, theme)


def units_of(traces: Sequence[Mapping[str, Any]]) -> list[Unit]:
    found: list[Unit] = []
    for trace in traces:
        if found and str(trace.get("fill") or "").startswith("tonext"):
            found[-1].append(dict(trace))
        else:
            found.append([dict(trace)])
    return found


def told(trace: Mapping[str, Any], i: int, theme: Theme, *, several: bool) -> dict[str, Any]:
    """A trace in the look of the run that it belongs to."""
    colour = roles(theme)[ROLES[i]]["line"]["color"]
    meta = trace.get("meta")
    role = meta.get("role") if isinstance(meta, Mapping) else None
    quiet = role in QUIET
    found = copy.deepcopy(dict(trace))
    name = str(trace.get("name") or "")
    found["name"] = f"{LETTERS[i]}, {name}" if name and several else LETTERS[i]
    found["meta"] = {"run": LETTERS[i]}
    marker = {key: value for key, value in (trace.get("marker") or {}).items() if key not in ("line", "pattern")}
    kind = kind_of(trace)
    if kind in POINTS:
        hidden = (trace.get("line") or {}).get("width") == 0
        width = 0 if hidden else 1.5 if quiet else 2.5
        found["line"] = {**(trace.get("line") or {}), "color": colour, "dash": look()["dashes"][i], "width": width}
        found["marker"] = {
            "size": 10 if SYMBOLS[i] == "triangle-up" else 8,
            **marker,
            "color": colour,
            "symbol": SYMBOLS[i],
        }
        if found.get("fill"):
            found["fillcolor"] = faint(colour, 0.14)
    else:
        found["marker"] = {**marker, "color": colour}
        found["offsetgroup"] = f"{LETTERS[i]} {name}"
        found["alignmentgroup"] = "runs"
        if kind in BARS:
            found["marker"]["pattern"] = {"shape": PATTERNS[i], "fillmode": "replace", "size": 6}
            for part in ("width", "offset", "base"):
                found.pop(part, None)
        else:
            found["line"] = {**(trace.get("line") or {}), "color": colour}
            found["fillcolor"] = faint(colour, 0.2)
    for part in ("error_x", "error_y"):
        if part in found:
            found[part] = {**found[part], "color": colour}
    if quiet:
        found["opacity"] = 0.55
    return found


def laid(layouts: Sequence[Mapping[str, Any]], theme: Theme) -> dict[str, Any]:
    """One layout for all: ranges that hold every run, and what is marked in one run in its colour."""
    found = copy.deepcopy(dict(layouts[0]))
    for part in ("title", "template", "updatemenus", "sliders"):
        found.pop(part, None)
    for name in [n for n in found if AXIS.fullmatch(n)]:
        ranges = [(one.get(name) or {}).get("range") for one in layouts]
        if any(ends != ranges[0] for ends in ranges):
            found[name].pop("range", None)
            spans = [ends for ends in ranges if is_span(ends)]
            if len(spans) == len(ranges):
                falls = spans[0][0] > spans[0][1]
                ends = [value for pair in spans for value in pair]
                found[name]["range"] = [max(ends), min(ends)] if falls else [min(ends), max(ends)]
        for part in ("tickvals", "ticktext"):
            if any((one.get(name) or {}).get(part) != found[name].get(part) for one in layouts):
                for gone in ("tickmode", "tickvals", "ticktext"):
                    found[name].pop(gone, None)
    for part, mark in (("shapes", marked_shape), ("annotations", marked_note)):
        sides = [list(one.get(part) or ()) for one in layouts]
        shared = [one for one in sides[0] if all(one in side for side in sides[1:])]
        own = [mark(one, i, theme) for i, side in enumerate(sides) for one in side if one not in shared]
        found[part] = [*copy.deepcopy(shared), *own]
    return found


def marked_shape(shape: Mapping[str, Any], i: int, theme: Theme) -> dict[str, Any]:
    colour = roles(theme)[ROLES[i]]["line"]["color"]
    found = {name: value for name, value in shape.items() if name != "name"}
    line = shape.get("line") or {}
    found["line"] = {"width": 1.5, **line, "color": colour, "dash": look()["dashes"][i]}
    if shape.get("type") != "line":  # one that is named is filled by its look, which would be opaque
        found |= {"fillcolor": faint(colour, 0.12), "layer": "below"}
    return found


def marked_note(note: Mapping[str, Any], i: int, theme: Theme) -> dict[str, Any]:
    ink = look()[theme]["layout"]["font"]["color"]
    shift = float(note.get("yshift") or 0) - STEP * i
    return {**note, "text": f"{LETTERS[i]}: {note.get('text') or ''}", "font": {"color": ink}, "yshift": shift}


def kind_of(trace: Mapping[str, Any]) -> str:
    return str(trace.get("type") or "scatter")


def holds_many(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, Mapping) and "bdata" in value)


def holds_words(value: Any) -> bool:
    """An axis of names; a packed array is of numbers, and so is what begins like a date."""
    first = next((v for v in value if v is not None), None) if isinstance(value, (list, tuple)) else None
    return isinstance(first, str) and not re.match(r"\d{4}-\d\d", first)


def text_of(title: Any) -> str:
    return str((title.get("text") if isinstance(title, Mapping) else title) or "")


def is_span(ends: Any) -> TypeGuard[list[float]]:
    return isinstance(ends, list) and len(ends) == 2 and all(isinstance(v, (int, float)) for v in ends)


def faint(colour: str, opacity: float) -> str:
    """A colour such as `#2a4bd0`, let through."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity})"
