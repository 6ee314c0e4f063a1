"""Arrays from `.npy` and `.npz`, read row by row and never unpickled."""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from assay.checkpoints.stored import BROKEN_ARCHIVE, TORCH_TYPES, Stored, WeightFile, read_bytes, read_rows
from assay.data.archive import array_header

__all__ = ["NumpyFile"]

MAX_UNPACKED = 64 * 1024**3
TYPES = {torch.empty(0, dtype=dtype).numpy().dtype: name for name, dtype in TORCH_TYPES.items() if "F" not in name}
TYPES |= {np.dtype(f"f{size}"): f"F{8 * size}" for size in (2, 4, 8)}


class NumpyFile(WeightFile):
    """Arrays of one `.npz` file by their names, or the one array of an `.npy` file by the file's name."""

    def __init__(self, path: Path, *, archive: bool) -> None:
        super().__init__(path)
        self.headers: dict[str, tuple[str | None, bool, np.dtype[Any]]] = {}  # member, column-major, type
        if not archive:
            with path.open("rb") as stream:
                self.declare(path.stem, None, stream, path.stat().st_size)
            if self.damaged:
                raise ValueError(self.damaged[path.stem])
            return
        try:
            with zipfile.ZipFile(path) as bundle:
                members = [member for member in bundle.infolist() if not member.is_dir()]
                unpacked = sum(member.file_size for member in members)
                if unpacked > MAX_UNPACKED:
                    self.notes.append(
                        f"{self.label}: unpacks to {unpacked:,} bytes; expected at most {MAX_UNPACKED:,}."
                    )
                    return
                for member in members:
                    name = member.filename.removesuffix(".npy")
                    try:
                        with bundle.open(member) as stream:
                            self.declare(name, member.filename, stream, member.file_size)
                    except BROKEN_ARCHIVE:
                        self.damaged[name] = f"{name}: is damaged in {self.label}; expected a whole .npz file."
        except BROKEN_ARCHIVE:
            raise ValueError(f"{self.label}: is not a whole .npz archive; expected one of numpy.savez.") from None

    def declare(self, name: str, member: str | None, stream: IO[bytes], size: int) -> None:
        """An array's header, checked against the bytes that are there."""
        try:
            shape, columns, dtype = read_header(stream)
        except ValueError:
            self.damaged[name] = f"{name}: is not an array in {self.label}; expected arrays saved by NumPy."
            return
        kind = TYPES.get(dtype.newbyteorder("="))
        if kind is None:
            what = "Python objects" if dtype.hasobject else str(dtype)
            self.damaged[name] = f"{name}: holds {what} in {self.label}; expected plain numbers."
            return
        count = math.prod(shape)
        self.tensors[name] = Stored(name, shape, kind, count * dtype.itemsize, self.label)
        self.headers[name] = (member, columns, dtype)
        if count * dtype.itemsize != size - stream.tell():
            self.damaged[name] = (
                f"{name}: has {size - stream.tell():,} bytes in {self.label}; expected {count * dtype.itemsize:,}."
            )

    def blocks(self, stored: Stored, rows: int) -> Iterator[torch.Tensor]:
        member, columns, dtype = self.headers[stored.name]
        try:
            with contextlib.ExitStack() as stack:
                if member is None:
                    stream: IO[bytes] = stack.enter_context(self.path.open("rb"))
                else:
                    bundle = stack.enter_context(zipfile.ZipFile(self.path))
                    stream = stack.enter_context(bundle.open(member))
                read_header(stream)
                if dtype.isnative and not (columns and len(stored.shape) > 1):
                    yield from read_rows(stream, stored, rows)
                    return
                raw = read_bytes(stream, stored.nbytes, stored.name).numpy().view(dtype)
        except BROKEN_ARCHIVE:
            raise ValueError(f"{stored.name}: is damaged in {self.label}; expected a whole file.") from None
        array = raw.reshape(stored.shape, order="F" if columns else "C")
        if not stored.shape or not stored.numel:
            yield torch.from_numpy(array.astype(dtype.newbyteorder("="), order="C"))
            return
        for first in range(0, stored.shape[0], rows):
            yield torch.from_numpy(array[first : first + rows].astype(dtype.newbyteorder("="), order="C"))


def read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and type; the stream then stands at the first entry.

    Raises:
        ValueError: it is no array, or one of Python objects.
    """
    try:
        shape, columns, dtype = array_header(stream)
    except Exception as error:  # or what holds it is damaged
        raise ValueError(str(error)) from None
    if any(side < 0 for side in shape):
        raise ValueError
    return shape, columns, dtype
