"""A tensor as its file declares it, and what every kind of weight file offers."""

from __future__ import annotations

import lzma
import math
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import torch

__all__ = ["BROKEN_ARCHIVE", "TORCH_TYPES", "Stored", "WeightFile", "block_rows", "read_bytes", "read_rows"]

TORCH_TYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8, "U16": torch.uint16, "U32": torch.uint32, "U64": torch.uint64,
    "I8": torch.int8, "I16": torch.int16, "I32": torch.int32, "I64": torch.int64,
    "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E4M3FNUZ": torch.float8_e4m3fnuz, "F8_E5M2": torch.float8_e5m2,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz, "F8_E8M0": torch.float8_e8m0fnu,
    "C64": torch.complex64, "C128": torch.complex128,
}  # fmt: skip
"""Stored types that PyTorch holds, by the names that safetensors gives them."""

BROKEN_ARCHIVE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, IndexError, KeyError, NotImplementedError,
    OSError, RuntimeError, ValueError,
)  # fmt: skip
"""How `zipfile` says that an archive is damaged."""

CODES = ("qweight", "qzeros")  # GPTQ and AWQ pack several weights into one integer
PLAIN_FLOATS = ("F16", "BF16", "F32", "F64")


@dataclass(frozen=True)
class Stored:
    """What a file declares of a tensor.

    Attributes:
        name: the key.
        shape: of the weights, rows first; for GGUF in PyTorch's order, the reverse of the file's.
        dtype: stored type in the words of safetensors and GGML: F32, BF16, F8_E4M3, I64, Q8_0.
        nbytes: bytes that it takes in the file.
        file: the file's name.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    file: str

    @property
    def numel(self) -> int:
        """Number of entries."""
        return math.prod(self.shape)

    @property
    def quantised(self) -> bool:
        """The numbers are codes of a coarser grid: GGML blocks, 8 bits or fewer, or integers in place of weights."""
        if self.dtype in TORCH_TYPES and not self.dtype.startswith("F8"):
            last = self.name.rpartition(".")[2]
            integer = self.dtype[0] in "UI"
            return integer and (last in CODES or (last.endswith("weight") and len(self.shape) > 1))
        return True

    @property
    def read_as(self) -> torch.dtype:
        """The type that it is read as when none is asked for: it holds every stored value exactly.

        Floats of at most 32 bits and quantised blocks give float32; float64, integers, booleans and complex numbers
        stay as they are.
        """
        if self.dtype in ("F16", "BF16") or self.dtype.startswith("F8"):
            return torch.float32
        return TORCH_TYPES.get(self.dtype, torch.float32)


class WeightFile(ABC):
    """Tensors of one file; headers are read when it is made, values when they are asked for. No file is held open.

    Attributes:
        path: the file.
        label: its name, for sentences.
        tensors: what the file declares, in its own order.
        damaged: for tensors that cannot be read, one sentence each.
        ties: names of the same weights, each to the name in `tensors` that holds them.
        metadata: what else the header says.
        notes: sentences to show beside any result.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.label = path.name
        self.tensors: dict[str, Stored] = {}
        self.damaged: dict[str, str] = {}
        self.ties: dict[str, str] = {}
        self.metadata: dict[str, Any] = {}
        self.notes: list[str] = []

    @abstractmethod
    def blocks(self, stored: Stored, rows: int) -> Iterator[torch.Tensor]:
        """Successive blocks of the leading dimension, of the stored type, or float32 where that is quantised.

        A tensor without dimensions is one block. The memory is the caller's.

        Raises:
            ValueError: the file ends too early, or its type cannot be decoded.
        """


def block_rows(stored: Stored, nbytes: int) -> int:
    """Rows of the leading dimension that take at most so many bytes, stored and as float32; at least one."""
    if not stored.shape or not stored.numel:
        return 1
    row_bytes = max(stored.nbytes, 4 * stored.numel) // stored.shape[0]
    return max(1, nbytes // max(1, row_bytes))


def read_bytes(stream: IO[bytes], count: int, name: str) -> torch.Tensor:
    """The next bytes of a stream, uint8 of shape (count,).

    Raises:
        ValueError: there are fewer.
    """
    out = torch.empty(count, dtype=torch.uint8)
    view = out.numpy().data
    done = 0
    while done < count:
        got = stream.readinto(view[done:])  # type: ignore[attr-defined]  # every binary stream of ours has it
        if not got:
            raise ValueError(f"{name}: the file ends {count - done:,} bytes too early; expected a whole file.")
        done += got
    return out


def read_rows(stream: IO[bytes], stored: Stored, rows: int) -> Iterator[torch.Tensor]:
    """Blocks of a row-major tensor, from a stream that stands at its first byte.

    Raises:
        ValueError: the stream ends too early.
    """
    dtype = TORCH_TYPES[stored.dtype]
    if not stored.numel:
        yield torch.empty(stored.shape, dtype=dtype)
        return
    total, *inner = stored.shape or (1,)
    row_bytes = stored.nbytes // total
    for first in range(0, total, rows):
        count = min(rows, total - first)
        raw = read_bytes(stream, count * row_bytes, stored.name)
        block = raw != 0 if dtype is torch.bool else raw.view(dtype)  # other bytes than 0 and 1 are no bool to PyTorch
        yield block.reshape((count, *inner) if stored.shape else ())
