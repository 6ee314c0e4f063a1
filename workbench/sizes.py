"""Sizes of files and memory as people type and read them."""

from __future__ import annotations

import re

from workbench.controls import ControlError

__all__ = ["size_limit", "size_text", "size_typed"]

POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def size_typed(name: str, text: str) -> int:
    """Bytes from what a person types, such as `20 GB` or `4 GiB`.

    Raises:
        ControlError: it is no size.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?)(I?)B?\s*", text.upper())
    if found is None or (found[3] and not found[2]):
        raise ControlError(name, f"got {text[:40]!r}; expected a size, such as 20 GB or 500 MB, or 0")
    return round(float(found[1]) * (1024 if found[3] else 1000) ** POWERS[found[2]])


def size_limit(name: str, text: str) -> int:
    """Bytes, at least one, from what a person types.

    Raises:
        ControlError: it is no size above 0.
    """
    try:
        size = size_typed(name, text)
    except ControlError:
        size = 0
    if size < 1:
        raise ControlError(name, f"got {text[:60]!r}; expected a size such as 800 MB or 4 GiB")
    return size


def size_text(size: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(size) < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
