"""GGUF: the header read with bounds, the blocks dequantised by the `gguf` library.

The library's own reader trusts lengths in the header and refuses a file that is not whole. Layout: ggml, docs/gguf.md.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.typing import NDArray

from assay.checkpoints.stored import TORCH_TYPES, Stored, WeightFile, read_bytes, read_rows

__all__ = ["GgufFile"]

SCALARS = ("<u1", "<i1", "<u2", "<i2", "<u4", "<i4", "<f4", "?", None, None, "<u8", "<i8", "<f8")
"""Types of metadata by their number; 8 is text, 9 an array."""
TEXT, ARRAY = 8, 9
MAX_ENTRIES = 2**22
MAX_DIMENSIONS = 8


class GgufFile(WeightFile):
    """One `.gguf` file. In `metadata`, numbers, text and arrays of numbers; of an array of texts, its length."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.starts: dict[str, int] = {}
        self.text_places: dict[str, int] = {}  # of arrays of texts, whose entries are left in the file
        with path.open("rb") as file:
            header = Header(file, self.label, path.stat().st_size)
            magic, version = header.bytes(4), header.number("<u4")
            if magic != b"GGUF":
                raise ValueError(f"{self.label}: does not begin with GGUF; expected a .gguf file.")
            if version not in (2, 3):
                big = version & 0xFFFF == 0
                what = "is big-endian" if big else f"is of version {version}"
                raise ValueError(f"{self.label}: {what}; expected a little-endian GGUF file of version 2 or 3.")
            tensors, entries = header.count(), header.count()
            for _ in range(entries):
                key = header.text()
                kind, place = header.number("<u4"), header.file.tell()
                self.metadata[key] = header.value(kind)
                if kind == ARRAY and isinstance(self.metadata[key], int):
                    self.text_places[key] = place
            infos = [header.tensor() for _ in range(tensors)]
            ends = header.file.tell()
        alignment = self.metadata.get("general.alignment", 32)
        if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
            raise ValueError(f"{self.label}: general.alignment is {alignment!r:.20}; expected a power of two.")
        base = -(-ends // alignment) * alignment
        for name, shape, kind, offset in infos:
            self.declare(name, shape, kind, base + offset, header.size)

    def texts(self, key: str) -> list[str]:
        """The entries of an array of texts in the metadata, such as the tokens of a vocabulary.

        Raises:
            ValueError: there is no such array.
        """
        if key not in self.text_places:
            raise ValueError(f"{self.label}: says nothing of {key}; expected a list of texts.")
        with self.path.open("rb") as file:
            header = Header(file, self.label, self.path.stat().st_size)
            file.seek(self.text_places[key])
            inner, count = header.number("<u4"), header.count()
            if inner != TEXT:
                raise ValueError(f"{self.label}: {key} is no list of texts.")
            return [header.text() for _ in range(count)]

    def declare(self, name: str, shape: tuple[int, ...], kind: int, start: int, size: int) -> None:
        """One tensor, checked against the file's size."""
        known = block_sizes().get(kind)
        if name in self.tensors or name in self.damaged:
            self.damaged[name] = f"{name}: stands twice in {self.label}; expected each tensor once."
            return
        if known is None:
            self.damaged[name] = f"{name}: is of GGML type {kind}, which gguf does not know."
            return
        dtype, entries, nbytes = known
        if entries > 1 and (not shape or shape[-1] % entries):
            self.damaged[name] = f"{name}: its rows in {self.label} are no whole {dtype} blocks of {entries}."
            return
        total = math.prod(shape) // entries * nbytes
        self.tensors[name] = Stored(name, shape, dtype, total, self.label)
        self.starts[name] = start
        if start + total > size:
            self.damaged[name] = (
                f"{name}: is cut off in {self.label}; got {min(max(0, size - start), total):,} of {total:,} bytes, "
                "expected a whole file."
            )

    def blocks(self, stored: Stored, rows: int) -> Iterator[torch.Tensor]:
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.starts[stored.name])
            if stored.dtype in TORCH_TYPES:
                yield from read_rows(file, stored, rows)
            elif not stored.numel:
                yield torch.empty(stored.shape)
            else:
                flat = len(stored.shape) == 1  # its blocks run along the only dimension: it is one row
                total = 1 if flat else stored.shape[0]
                for first in range(0, total, rows):
                    count = min(rows, total - first)
                    raw = read_bytes(file, count * (stored.nbytes // total), stored.name)
                    shape = stored.shape if flat else (count, *stored.shape[1:])
                    yield torch.from_numpy(dequantised(raw, stored)).reshape(shape)


def dequantised(raw: torch.Tensor, stored: Stored) -> NDArray[np.float32]:
    """(n,) values of whole blocks.

    Raises:
        ValueError: the library cannot decode the type.
    """
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    try:
        with np.errstate(all="ignore"):  # damaged scales may overflow; the verdict says so
            return dequantize(raw.numpy()[None], GGMLQuantizationType[stored.dtype]).reshape(-1)
    except NotImplementedError:
        raise ValueError(f"{stored.name}: is stored as {stored.dtype}, which gguf does not decode.") from None


@cache
def block_sizes() -> dict[int, tuple[str, int, int]]:
    """Name, entries and bytes of a block, by GGML type."""
    from gguf.constants import GGML_QUANT_SIZES  # takes a tenth of a second

    return {int(kind): (kind.name, *sizes) for kind, sizes in GGML_QUANT_SIZES.items()}


class Header:
    """A cursor over the header that never reads past the file's end."""

    def __init__(self, file: IO[bytes], label: str, size: int) -> None:
        self.file, self.label, self.size = file, label, size

    def bytes(self, count: int) -> bytes:
        if count > self.size - self.file.tell():
            raise ValueError(f"{self.label}: ends within its header; expected a whole .gguf file.")
        return self.file.read(count)

    def number(self, code: str) -> Any:
        return np.frombuffer(self.bytes(np.dtype(code).itemsize), code)[0].item()

    def count(self) -> int:
        count = struct.unpack("<Q", self.bytes(8))[0]
        if count > MAX_ENTRIES:
            raise ValueError(f"{self.label}: its header declares {count:,} entries; expected a whole .gguf file.")
        return count

    def text(self) -> str:
        raw = self.bytes(struct.unpack("<Q", self.bytes(8))[0])
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{self.label}: a name in its header is no UTF-8; expected a whole .gguf file.") from None

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == TEXT:
            return self.text()
        if kind == ARRAY and depth < 2:
            inner, count = self.number("<u4"), self.count()
            if inner < len(SCALARS) and (code := SCALARS[inner]):
                return np.frombuffer(self.bytes(count * np.dtype(code).itemsize), code)
            skip: Callable[[], Any] = self.skip_text if inner == TEXT else lambda: self.value(inner, depth + 1)
            for _ in range(count):
                skip()
            return count
        if kind < len(SCALARS) and (code := SCALARS[kind]):
            return self.number(code)
        raise ValueError(f"{self.label}: its header has a value of type {kind}; expected a whole .gguf file.")

    def skip_text(self) -> None:
        """Past one of the many tokens of a vocabulary."""
        self.bytes(struct.unpack("<Q", self.bytes(8))[0])

    def tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        """Name, shape in PyTorch's order, GGML type, and offset from the first tensor."""
        name, dimensions = self.text(), self.number("<u4")
        if dimensions > MAX_DIMENSIONS:
            raise ValueError(f"{self.label}: {name[:80]} has {dimensions} dimensions; expected a whole .gguf file.")
        sides = struct.unpack(f"<{dimensions}Q", self.bytes(8 * dimensions))
        return name, tuple(reversed(sides)), self.number("<u4"), self.number("<u8")
