"""A study whose figures hold what front ends are known to draw differently."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd

from workbench.study import Paper, Study
from workbench.theme import Figure, axis, drawn, styled

study = Study("one-figure", paper=Paper("One figure, four front ends"), question="Do all front ends draw the same?")
study.number("height", 1.0, bounds=(0, 4), doc="Height of everything.")


@study.view("Kinds of numbers")
def numbers(height: float) -> Figure:
    """Typed arrays of small integers, large ones, and floats with gaps."""
    x = np.arange(12, dtype=np.int8) - 6
    gaps = np.linspace(0, height, 12, dtype=np.float32)
    gaps[[3, 7]] = np.nan
    large = np.arange(12, dtype=np.uint32) * 300_000_000
    masked = np.ma.masked_greater(np.linspace(0, 2 * height, 12), 1.5)
    return drawn(
        [
            styled("yours", type="scatter", mode="lines+markers", x=x, y=gaps, name="float32 with gaps"),
            {"type": "scatter", "mode": "lines", "x": x, "y": large / 4e9, "customdata": large, "name": "uint32"},
            {"type": "scatter", "mode": "lines", "x": list(x), "y": masked.filled(np.nan), "name": "masked"},
        ],
        "Three lines", "", xaxis=axis("x"), yaxis=axis("y (V)"),
    )  # fmt: skip


@study.view("Days and kinds")
def days(height: float) -> Figure:
    """Dates on one axis, categories on the other."""
    when = pd.date_range(datetime.date(2026, 1, 30), periods=4, freq="D")
    trace = {"type": "scatter", "mode": "markers", "x": when, "y": pd.Categorical(["b", "a", "c", "b"]).astype(str)}
    return drawn([trace], "Four days", "", xaxis=axis("Day"), yaxis=axis("Kind"))


@study.view("Many lines")
def many(height: float) -> Figure:
    """Thirty traces."""
    x = np.linspace(0, 1, 50)
    traces: list[dict[str, Any]] = [
        {"type": "scatter", "mode": "lines", "x": x, "y": height * x**k, "name": f"power {k}"} for k in range(1, 31)
    ]
    return drawn(traces, "Thirty lines", "", xaxis=axis("x"), yaxis=axis("y"))


@study.view("A map")
def chart(height: float) -> Figure:
    """A heat map of float32 with a hole."""
    z = np.outer(np.arange(6), np.arange(9)).astype(np.float32) * height
    z[2, 4] = np.nan
    return drawn([{"type": "heatmap", "z": z}], "A map with a hole", "", xaxis=axis("column"), yaxis=axis("row"))


@study.view("A million points")
def million(height: float) -> Figure:
    """A line that is thinned."""
    y = height * np.sin(np.arange(1_000_000) / 1e4)
    y[123_456] = 7.0
    return drawn([{"type": "scatter", "mode": "lines", "y": y}], "A long line", "", xaxis=axis("i"), yaxis=axis("y"))
