"""Figures as a report carries them: small, exact where it matters, and drawable under both themes.

Numbers travel as typed arrays. A trace with more points than a screen shows is thinned to its envelope, and the report
says so.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workbench.theme import figure

__all__ = ["MOST_POINTS", "carried", "thinned"]

MOST_POINTS = 20_000
LONG = 64  # values from which a list travels as a typed array
SMALLEST = (np.uint8, np.int8, np.uint16, np.int16, np.int32)
NAMES = {
    "float64": "f8", "float32": "f4", "int32": "i4", "int16": "i2", "uint16": "u2", "int8": "i1", "uint8": "u1",
}  # fmt: skip
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


def plain(value: Any) -> Any:
    """Data as JSON holds it: long runs of numbers as typed arrays, what is not finite as null."""
    array = numbers(value)
    if array is not None:
        if array.size >= LONG:
            little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
            found = {"dtype": NAMES[array.dtype.name], "bdata": base64.b64encode(little.tobytes()).decode()}
            return found if array.ndim == 1 else found | {"shape": ", ".join(map(str, array.shape))}
        return plain_list(array.tolist())
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (pd.Series, pd.Index, np.ndarray)):
        return [plain(v) for v in value.tolist()] if value.dtype.kind != "M" else [str(v) for v in value]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def plain_list(values: Any) -> Any:
    if isinstance(values, list):
        return [plain_list(v) for v in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


def thinned(content: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The figure with no line of more than `MOST_POINTS` points: of each stretch, the lowest and the highest stay.

    Returns:
        the figure, and the number of points that the longest line had; 0 when nothing was left out.
    """
    most, traces = 0, []
    for trace in content.get("data") or ():
        y = numbers(trace.get("y")) if trace.get("type", "scatter") in ("scatter", "scattergl") else None
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
            elif isinstance(value, (list, tuple, np.ndarray, pd.Series, pd.Index)) and len(value) == len(y):
                found[name] = np.asarray(value, dtype=object)[keep].tolist()
        traces.append(found)
    return {**content, "data": traces}, most


def envelope(y: np.ndarray) -> np.ndarray:
    """Indices of the lowest and the highest value in each of `MOST_POINTS / 2` stretches, in order."""
    bounds = np.linspace(0, len(y), MOST_POINTS // 2 + 1).astype(int)
    starts, ends = bounds[:-1, None], bounds[1:, None]
    places = starts + np.arange((ends - starts).max())
    values = np.append(y, np.nan)[np.where(places < ends, places, len(y))]
    unknown = np.isnan(values)
    lowest, highest = np.where(unknown, np.inf, values).argmin(1), np.where(unknown, -np.inf, values).argmax(1)
    return np.unique(np.stack([lowest, highest]) + starts.T)


def carried(content: Mapping[str, Any]) -> dict[str, Any]:
    """A figure as plain JSON: `data` and `layout` as they are drawn light, and what is different when they are dark.

    Args:
        content: `data` and `layout`, of which traces may carry roles.
    """
    light, dark = (figure(content, theme) for theme in ("light", "dark"))
    for drawn in (light, dark):
        for part in ("template", "width", "height", "autosize", "paper_bgcolor", "plot_bgcolor"):
            drawn["layout"].pop(part, None)
    other = [difference(a, b) for a, b in zip(light["data"], dark["data"], strict=True)]
    shapes = [difference(a, b) for a, b in zip(light["layout"]["shapes"], dark["layout"]["shapes"], strict=True)]
    found = {"data": plain(light["data"]), "layout": plain(light["layout"])}
    if any(other) or any(shapes):
        found["dark"] = {"data": plain(other), "shapes": plain(shapes)}
    return found


def difference(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """What `high` says otherwise than `low`, nested as they are; runs of data are the same in both."""
    found: dict[str, Any] = {}
    for name, value in high.items():
        before = low.get(name)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            if inner := difference(before, value):
                found[name] = inner
        elif isinstance(value, str) and value != before:
            found[name] = value
    return found
