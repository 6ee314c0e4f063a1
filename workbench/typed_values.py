"""What people type: how a value is read, quoted in a sentence, and refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

__all__ = ["ControlError", "finite", "from_json", "numbers", "plain", "plain_exact", "shown"]

MAX_TEXT = 100_000
MAX_ENTRIES = 10_000


class ControlError(ValueError):
    """A value that a control does not take: one sentence with the field, what came and what was expected.

    The field is empty where an input as a whole is at fault and the sentence says which.
    """

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(f"{field}: {sentence}" if field else sentence)
        self.field = field
        self.sentence = sentence


def shown(value: object) -> str:
    """A value as it is quoted in a sentence: short, on one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def plain(number: float) -> str:
    """A number as a person writes it: `0.5`, `3`, `1e-12`."""
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else f"{number:.12g}"


def finite(field: str, value: object, expected: str) -> float:
    """A finite float from a number or its text.

    Raises:
        ControlError: a bool, not a number, NaN or infinite.
    """
    if isinstance(value, str):
        try:
            value = float(value.strip().replace("−", "-"))
        except ValueError:
            raise ControlError(field, f"got {shown(value)}; expected {expected}") from None
    if isinstance(value, bool) or not isinstance(value, Real):
        # numpy's bool is neither a Python bool nor a Real, so it ends here too
        raise ControlError(field, f"got {shown(value)} ({type(value).__name__}); expected {expected}")
    number = float(value)
    if not math.isfinite(number):
        raise ControlError(field, f"got {plain(number)}; expected {expected}, finite")
    return number


def plain_exact(number: float) -> str:
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(float(number))


def from_json(name: str, text: str, expected: str) -> Any:
    if len(text) > MAX_TEXT:
        raise ControlError(name, f"got {len(text)} characters; expected {expected}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ControlError(name, f"got {shown(text)}; expected {expected}") from None


def numbers(name: str, value: object, expected: str) -> tuple[float, ...]:
    """A tuple of finite floats from a sequence or from text such as `0.1, 0.5`."""
    if isinstance(value, str):
        text = value.strip()
        value = from_json(name, text, expected) if text.startswith("[") else [x for x in text.split(",") if x.strip()]
    if hasattr(value, "tolist"):
        value = value.tolist()  # type: ignore[union-attr]
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
        raise ControlError(name, f"got {shown(value)}; expected {expected}")
    entries = list(value)
    if len(entries) > MAX_ENTRIES:
        raise ControlError(name, f"got {len(entries)} entries; expected {expected}")
    return tuple(finite(name, x, expected) + 0.0 for x in entries)
