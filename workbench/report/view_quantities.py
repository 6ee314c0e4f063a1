"""Quantities of what a view shows: the arrays and words of a figure, the columns of a table, numbers, sentences."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workbench.comparison import NUMERIC
from workbench.report.figures import numbers
from workbench.report.quantities import ENTRIES, Quantity, QuantityKind, array_quantities, plain_value, text_quantity
from workbench.snapshot import Shown

__all__ = ["shown_quantities"]

LOOKS = {"template", "hovertemplate", "texttemplate", "colorscale", "colorway", "meta", "uid"}
"""Parts of a figure that say how it looks, not what it shows."""
SHAPE_ENDS = ("x0", "x1", "y0", "y1")


def shown_quantities(name: str, shown: Shown, kind: QuantityKind = "numeric") -> list[Quantity]:
    """The quantities of what a view shows.

    Args:
        name: that they begin with.
        shown: as the view gave it.
        kind: *numeric*, or *statistical* where it rests on random draws whose spread the view does not tell.
    """
    if shown.kind == "figure":
        found = list(figure_quantities(name, shown.content, kind))
    elif shown.kind == "table":
        found = list(frame_quantities(name, shown.content, kind))
    elif shown.kind == "stats":
        found = [stat for s in shown.content for stat in scalar(f"{name}/{s.label}", s.value, s.unit, kind)]
    else:
        return [text_quantity(f"{name}/text", shown.content, kind)]
    words = [text_quantity(f"{name}/{part}", text, kind)
             for part, text in (("title", shown.title), ("subtitle", shown.subtitle)) if text]  # fmt: skip
    return [*words, *found]


def scalar(name: str, value: Any, unit: str, kind: QuantityKind) -> Iterator[Quantity]:
    value = plain_value(value)
    if isinstance(value, str):
        yield replace(text_quantity(name, value, kind), unit=unit)
    else:
        yield Quantity(name, value, unit, kind, NUMERIC if kind == "numeric" else 0.0)


def figure_quantities(name: str, figure: Mapping[str, Any], kind: QuantityKind) -> Iterator[Quantity]:
    """Arrays of every trace, and the marks and words that lie over them."""
    for i, trace in enumerate(figure.get("data") or ()):
        yield from parts(f"{name}/data[{i}]", trace, kind)
    layout = figure.get("layout") or {}
    for i, shape in enumerate(layout.get("shapes") or ()):
        ends = [shape[end] for end in SHAPE_ENDS if isinstance(shape.get(end), (int, float))]
        if ends:
            yield from leaf(f"{name}/shapes[{i}]", ends, kind)
    for i, annotation in enumerate(layout.get("annotations") or ()):
        if annotation.get("text"):
            yield text_quantity(f"{name}/annotations[{i}]", str(annotation["text"]), kind)


def parts(name: str, value: Mapping[str, Any], kind: QuantityKind) -> Iterator[Quantity]:
    """Every array in a part of a figure, and its name in the legend."""
    for key, part in value.items():
        if key in LOOKS:
            continue
        if key == "name" and isinstance(part, str):
            yield text_quantity(f"{name}/name", part, kind)
        elif isinstance(part, Mapping) and "bdata" not in part:
            yield from parts(f"{name}/{key}", part, kind)
        elif isinstance(part, (list, tuple)) and part and all(isinstance(entry, Mapping) for entry in part):
            for i, entry in enumerate(part):
                yield from parts(f"{name}/{key}[{i}]", entry, kind)
        elif isinstance(part, (list, tuple, np.ndarray, pd.Series, pd.Index, Mapping)):
            yield from leaf(f"{name}/{key}", part, kind)


def leaf(name: str, value: Any, kind: QuantityKind) -> Iterator[Quantity]:
    """An array of a figure, or a column of a table that a view shows: of numbers, or of words."""
    array: np.ndarray | None = numbers(value) if isinstance(value, Mapping) else as_numbers(value)
    if array is not None:
        yield from array_quantities(name, array, kind=kind)
        return
    words = [str(entry) for entry in value]
    if len(words) <= ENTRIES:
        yield Quantity(name, words, kind="exact" if kind == "numeric" else kind)
    else:
        digest = hashlib.sha256(repr(words).encode()).hexdigest()
        yield Quantity(f"{name}/digest", digest, kind="exact")


def as_numbers(value: Any) -> np.ndarray | None:
    """Numbers as an array, None as NaN; None for words, dates and ragged lists."""
    try:
        plain = value.tolist() if hasattr(value, "tolist") else value
        flat = np.asarray(plain, dtype=object).reshape(-1)
        if any(isinstance(entry, str) for entry in flat):
            return None
        whole = len(flat) > 0 and all(isinstance(entry, int) for entry in flat)
        return np.asarray(plain, dtype=np.int64 if whole else np.float64)
    except (TypeError, ValueError, OverflowError):
        return None


def frame_quantities(name: str, frame: pd.DataFrame, kind: QuantityKind) -> Iterator[Quantity]:
    yield Quantity(f"{name}/rows", len(frame), kind="exact")
    for column in frame.columns:
        yield from leaf(f"{name}/{column}", frame[column], kind)
