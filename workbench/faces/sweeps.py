"""A sweep as faces show it: what is measured against the axis, drawn with its finding in the title."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit

from workbench.faces.markup import number
from workbench.results import Column
from workbench.sweep import Sweep
from workbench.theme import styled

__all__ = ["measure_names", "sweep_figure"]

MOST_LINES = 8
Seen = tuple[Any, float]


def measure_names(sweep: Sweep) -> list[tuple[str, str]]:
    """What can be drawn, as `table.column` and its words; what the experiment measured first, times last."""
    found = sorted(sweep.measures(), key=lambda one: one[2].kind == "timing")
    return [(f"{table}.{name}", f"{words(name, column)} ({table})") for table, name, column in found]


def words(name: str, column: Column) -> str:
    unit = f", {column.unit}" if column.unit else ""
    return f"{name.replace('_', ' ')}{unit}"


def sweep_figure(sweep: Sweep, measure: str = "") -> dict[str, Any]:
    """Means at every point over the first axis, a line for each value of the second; bands over seeds.

    A point's value is the mean of the column over the rows of its run. Where there are several seeds, the line is
    their mean and the band its 95 % interval by Student's t.

    Args:
        sweep: on its way or done; points that are not done are left out.
        measure: `table.column`; the first of `measure_names` when left out.
    """
    names = measure_names(sweep)
    table, _, name = (measure or (names[0][0] if names else ".")).partition(".")
    declared = {(t, n): column for t, n, column in sweep.measures()}
    column = declared.get((table, name))
    axes = [axis for axis in sweep.grid if axis.name != "seed"] or list(sweep.grid)
    control = sweep.study.moving.get(axes[0].name)
    label = axes[0].name if control is None else control.symbol or control.label
    unit = f" ({control.unit})" if control is not None and control.unit else ""
    title = axes[0].name if control is None else f"{control.label} {control.symbol}".strip()
    layout: dict[str, Any] = {"xaxis": {"title": {"text": f"{title}{unit}"}}}
    if column is None:
        return {"data": [], "layout": layout}
    layout["yaxis"] = {"title": {"text": words(name, column).replace(", ", " (") + (")" if column.unit else "")}}
    if control is not None and getattr(control, "log", False):
        layout["xaxis"]["type"] = "log"
    points = values_of(sweep, table, name)
    if not points:
        return {"data": [], "layout": layout}
    axis = axes[0].name
    split = axes[1].name if len(axes) > 1 else ""
    groups: dict[str, list[Seen]] = {}
    for point, value in points:
        groups.setdefault(f"{split} {text(point[split])}" if split else "", []).append((point[axis], value))
    data: list[dict[str, Any]] = []
    for index, (title, seen) in enumerate(list(groups.items())[:MOST_LINES]):
        data += line(seen, title, "yours" if len(groups) == 1 else f"series_{index + 1}")
    title = finding([one for seen in groups.values() for one in seen], label, name, column)
    layout["title"] = {"text": title, "subtitle": {"text": said(sweep, table)}}
    return {"data": data, "layout": layout}


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def text(value: object) -> str:
    return number(float(value)) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def values_of(sweep: Sweep, table: str, name: str) -> list[tuple[dict[str, Any], float]]:
    """For each point that is done: what was set, and the mean of the column."""
    found = []
    for point in sweep.done:
        values = np.array(point.session.held[sweep.experiment].result[table][name], dtype=float)
        values = values[np.isfinite(values)]
        if len(values):
            found.append((point.values, float(values.mean())))
    return found


def by_value(seen: list[Seen]) -> dict[Any, list[float]]:
    """Values at each place of an axis, in order where the places are numbers."""
    found: dict[Any, list[float]] = {}
    for at, value in seen:
        found.setdefault(at, []).append(value)
    return dict(sorted(found.items())) if all(map(is_number, found)) else found


def line(seen: list[Seen], title: str, role: str) -> list[dict[str, Any]]:
    """The mean over seeds at each value of an axis, with its band where there are several."""
    places = by_value(seen)
    x = [at if is_number(at) else str(at) for at in places]
    means = [float(np.mean(values)) for values in places.values()]
    traces = []
    if any(len(values) > 1 for values in places.values()):
        half = [
            float(stdtrit(len(v) - 1, 0.975) * np.std(v, ddof=1) / np.sqrt(len(v))) if len(v) > 1 else 0.0
            for v in places.values()
        ]
        low, high = ([m + side * h for m, h in zip(means, half, strict=True)] for side in (-1, 1))
        alone = role == "yours"
        traces.append(
            styled(
                "yours_band" if alone else role, x=[*x, *reversed(x)], y=[*high, *reversed(low)], fill="toself",
                mode="lines", line={"width": 0}, hoverinfo="skip", name=f"95 % interval {title}".strip(),
                showlegend=alone, opacity=1.0 if alone else 0.25,
            )
        )  # fmt: skip
    traces.append(styled(role, x=x, y=means, mode="lines+markers", name=title or "mean"))
    return traces


def finding(seen: list[Seen], label: str, name: str, column: Column) -> str:
    """What the figure shows, in a sentence."""
    means = {at: float(np.mean(values)) for at, values in by_value(seen).items()}
    unit = f" {column.unit}" if column.unit else ""
    what = name.replace("_", " ").capitalize()
    high, low = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
    if means[high] == means[low]:
        return f"{what} is {number(means[high])}{unit}"
    best, worst = f"{text(high)}: {number(means[high])}{unit}", f"{text(low)}: {number(means[low])}{unit}"
    return f"{what} is highest at {label} {best}; lowest at {worst}"


def said(sweep: Sweep, table: str) -> str:
    """How the figure was made, in a line."""
    seeds = next((len(axis.values) for axis in sweep.grid if axis.name == "seed"), 1)
    over = f", {seeds} seeds a point" if seeds > 1 else ""
    return f"{len(sweep.done)} of {len(sweep.points)} points, mean over the rows of “{table}”{over}"
