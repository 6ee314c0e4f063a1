"""Order and grouping of tensors by the numbers in their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Layer", "grouped", "layer_of", "natural"]

NUMBER = re.compile(r"([0-9]+)")
IN_LAYER = re.compile(r"(?:(?P<stack>.*?)\.)?(?P<index>[0-9]{1,6})\.(?P<inner>.+)", re.DOTALL)


@dataclass(frozen=True)
class Layer:
    """Tensors of one layer.

    Attributes:
        stack: what the layers are called, such as `model.layers` or `encoder.block`.
        index: the layer's number.
        names: full names by what follows the number, such as `mixer.A_log`.
    """

    stack: str
    index: int
    names: Mapping[str, str]


def natural(name: str) -> tuple[tuple[Any, ...], str]:
    """A key that sorts `layers.2` before `layers.10`."""
    parts: list[Any] = NUMBER.split(name)  # texts and numbers in turns
    for i in range(1, len(parts), 2):
        digits = parts[i].lstrip("0")
        parts[i] = (len(digits), digits)
    return tuple(parts), name


def layer_of(name: str) -> tuple[str, int, str] | None:
    """Stack, number and the rest, by the first part of the name that is a number; None outside layers."""
    found = IN_LAYER.fullmatch(name)
    return (found["stack"] or "", int(found["index"]), found["inner"]) if found else None


def grouped(names: Iterable[str]) -> tuple[Layer, ...]:
    """Layers in natural order; names outside layers are left out."""
    layers: dict[tuple[str, int], dict[str, str]] = {}
    for name in sorted(names, key=natural):
        if found := layer_of(name):
            stack, index, inner = found
            layers.setdefault((stack, index), {})[inner] = name
    ordered = sorted(layers.items(), key=lambda item: (natural(item[0][0]), item[0][1]))
    return tuple(Layer(stack, index, inner) for (stack, index), inner in ordered)
