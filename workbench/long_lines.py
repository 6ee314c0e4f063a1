"""Lines of more points than a screen shows, thinned to their envelope, the same on every face and in reports."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray

__all__ = ["MOST_POINTS", "numbers", "thinned", "thinning_note"]

MOST_POINTS = 20_000
SMALLEST = (np.uint8, np.int8, np.uint16, np.int16, np.int32)
MANY = (list, tuple, np.ndarray, pd.Series, pd.Index, ExtensionArray)
POINTED = ("x", "y", "text", "customdata", "hovertext", "ids")


def numbers(value: Any) -> np.ndarray | None:
    """A long run of numbers as an array of the smallest type that holds them; None for anything else."""
    if isinstance(value, Mapping) and "bdata" in value:
        shape = [int(n) for n in str(value.get("shape") or "").split(",") if n.strip()]
        given = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]).newbyteorder("<"))
        array: np.ndarray = given.reshape(shape) if shape else given
    else:
        if not isinstance(value, (list, tuple, np.ndarray, pd.Series, pd.Index)) or len(value) == 0:
            return None
        if isinstance(value, (list, tuple)) and not all(number(v) for v in value):
            return None
        array = np.asarray(value)
        if array.dtype.kind not in "fiu" or array.ndim > 2:
            return None
    if array.dtype.kind in "iu":
        for small in SMALLEST:
            limits = np.iinfo(small)
            if array.size and limits.min <= array.min() and array.max() <= limits.max:
                return array.astype(small)
        return array.astype(np.float64)
    return array.astype(np.float32 if array.dtype == np.float32 else np.float64)


def number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def thinned(content: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The figure with no line of more than `MOST_POINTS` points: of each stretch, the lowest and the highest stay.

    Returns:
        the figure, and the number of points that the longest line had; 0 when nothing was left out.
    """
    most, traces = 0, []
    for trace in content.get("data") or ():
        y = numbers(trace.get("y")) if may_be_long(trace) else None
        if y is None or y.ndim != 1 or len(y) <= MOST_POINTS:
            traces.append(dict(trace))
            continue
        most = max(most, len(y))
        keep = envelope(y)
        found = dict(trace)
        if "x" not in trace:
            found["x"] = float(trace.get("x0", 0)) + float(trace.get("dx", 1)) * keep
        for name in POINTED:
            value = trace.get(name)
            whole = numbers(value)
            if whole is not None and len(whole) == len(y):
                found[name] = whole[keep]
            elif isinstance(value, MANY) and len(value) == len(y):
                found[name] = np.asarray(value, dtype=object)[keep].tolist()
        traces.append(found)
    return {**content, "data": traces}, most


def may_be_long(trace: Mapping[str, Any]) -> bool:
    """Whether a trace is a line of more points than are drawn, so that its numbers are worth a look."""
    y = trace.get("y")
    return (
        trace.get("type", "scatter") in ("scatter", "scattergl")
        and "lines" in trace.get("mode", "lines")
        and (isinstance(y, Mapping) or (isinstance(y, MANY) and len(y) > MOST_POINTS))
    )


def envelope(y: np.ndarray) -> np.ndarray:
    """Indices of the lowest and the highest value in each of `MOST_POINTS / 2` stretches, in order."""
    bounds = np.linspace(0, len(y), MOST_POINTS // 2 + 1).astype(int)
    starts, ends = bounds[:-1, None], bounds[1:, None]
    places = starts + np.arange((ends - starts).max())
    values = np.append(y, np.nan)[np.where(places < ends, places, len(y))]
    unknown = np.isnan(values)
    lowest, highest = np.where(unknown, np.inf, values).argmin(1), np.where(unknown, -np.inf, values).argmax(1)
    return np.unique(np.stack([lowest, highest]) + starts.T)


def thinning_note(points: int) -> str:
    """What a figure says of a line that was thinned."""
    many, few = (f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") for count in (points, MOST_POINTS))
    return f"A line of {many} points is drawn by the lowest and highest of each stretch ({few} points)."
