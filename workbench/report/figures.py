"""Figures as a report carries them: small, exact where it matters, and drawable under both themes.

Numbers travel as typed arrays.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.extensions import ExtensionArray

from workbench.long_lines import numbers
from workbench.theme import figure

__all__ = ["carried"]

LONG = 64  # values from which a list travels as a typed array
NAMES = {
    "float64": "f8", "float32": "f4", "int32": "i4", "int16": "i2", "uint16": "u2", "int8": "i1", "uint8": "u1",
}  # fmt: skip


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
    if isinstance(value, (pd.Series, pd.Index, np.ndarray, ExtensionArray)):
        return [plain(v) for v in value.tolist()] if value.dtype.kind != "M" else [str(v) for v in value]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is pd.NA or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def plain_list(values: Any) -> Any:
    if isinstance(values, list):
        return [plain_list(v) for v in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values


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
