"""Safetensors, read from its published layout: eight bytes of length, a JSON header, then the tensors' bytes.

The library itself refuses a file that is not whole; here the tensors that are there are still read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from assay.checkpoints.stored import TORCH_TYPES, Stored, WeightFile, read_rows

__all__ = ["SafetensorsFile"]

MAX_HEADER = 100 * 1024**2  # as in the library
BITS = {name: 8 * torch.empty((), dtype=dtype).element_size() for name, dtype in TORCH_TYPES.items() if name != "C128"}
UNREAD_BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
"""Types of the format that PyTorch does not hold one by one."""


class SafetensorsFile(WeightFile):
    """One `.safetensors` file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.starts: dict[str, int] = {}
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > min(MAX_HEADER, size - 8):
                raise ValueError(
                    f"{self.label}: declares a header of {length:,} bytes and has {size:,}; expected a whole "
                    ".safetensors file."
                )
            header = parsed(file.read(length), self.label)
        base = 8 + length
        about = header.pop("__metadata__", {})
        if isinstance(about, dict):
            self.metadata = {key: value for key, value in about.items() if isinstance(value, str)}
        for name, entry in header.items():
            self.declare(name, entry, base, size)
        self.refuse_overlaps()
        for name, kept in self.metadata.items():  # safetensors' save_model leaves shared tensors out and says so here
            if kept in self.tensors and name not in self.tensors:
                self.ties[name] = kept

    def declare(self, name: str, entry: Any, base: int, size: int) -> None:
        """One entry of the header, checked against the file's size."""
        try:
            dtype, shape, (start, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
            bits = BITS.get(dtype) or UNREAD_BITS[dtype]
            whole = all(type(side) is int and side >= 0 for side in (*shape, start, end))
        except (KeyError, TypeError, ValueError):
            self.damaged[name] = f"{name}: its header in {self.label} is damaged; expected dtype, shape and offsets."
            return
        if not whole or len(shape) > 64 or (end - start) * 8 != math.prod(shape) * bits:
            self.damaged[name] = f"{name}: {self.label} gives it a place that does not fit {dtype} of its shape."
            return
        self.tensors[name] = Stored(name, shape, dtype, end - start, self.label)
        self.starts[name] = base + start
        if base + end > size:
            there = min(max(0, size - base - start), end - start)
            self.damaged[name] = (
                f"{name}: is cut off in {self.label}; got {there:,} of {end - start:,} bytes, expected a whole file."
            )
        elif dtype in UNREAD_BITS:
            self.damaged[name] = f"{name}: is stored as {dtype}; expected a type of 8 bits or more."

    def refuse_overlaps(self) -> None:
        """Tensors that share bytes: the format has none, so one of the two is wrong."""
        last, reach = "", 0
        for name in sorted(self.tensors, key=lambda n: (self.starts[n], self.tensors[n].nbytes)):
            if self.tensors[name].nbytes and self.starts[name] < reach:
                self.damaged.setdefault(name, f"{name}: overlaps {last} in {self.label}; expected bytes of its own.")
            if (end := self.starts[name] + self.tensors[name].nbytes) > reach:
                last, reach = name, end

    def blocks(self, stored: Stored, rows: int) -> Iterator[torch.Tensor]:
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.starts[stored.name])
            yield from read_rows(file, stored, rows)


def parsed(text: bytes, label: str) -> dict[str, Any]:
    """The header as a mapping.

    Raises:
        ValueError: it is no JSON object, or names a tensor twice.
    """

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            raise ValueError
        return out

    try:
        header = json.loads(text, object_pairs_hook=once)
        if isinstance(header, dict):
            return header
    except (ValueError, RecursionError):
        pass
    raise ValueError(f"{label}: its header is no JSON object of tensors; expected a whole .safetensors file.") from None
