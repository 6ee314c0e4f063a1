"""Opening `.npz` archives that nobody vouches for: no pickles, and nothing is unpacked before its size is known."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from assay.data.sequences import InputError

__all__ = ["MAX_BYTES", "Archive", "array_header", "check_file", "open_archive"]

MAX_BYTES = 2 * 1024**3
MAX_ARRAYS = 64


class Archive:
    """Arrays of an archive, by name; each is read when asked for.

    Attributes:
        label: the file's name, for sentences.
        names: of the arrays.
        shapes, dtypes: of each array, as its header declares.
    """

    def __init__(self, path: Path, shapes: dict[str, tuple[int, ...]], dtypes: dict[str, np.dtype[Any]]) -> None:
        self.path = path
        self.label = path.name
        self.shapes = shapes
        self.dtypes = dtypes
        self.names = tuple(shapes)

    def read(self, *names: str) -> tuple[NDArray[Any], ...]:
        """Arrays by name.

        Raises:
            InputError: one is missing, or damaged.
        """
        for name in names:
            if name not in self.shapes:
                held = ", ".join(self.names) or "nothing"
                raise InputError(f"{self.label}: has no array {name}; got {held}.")
        out = []
        with np.load(self.path, allow_pickle=False) as archive:
            for name in names:
                try:
                    out.append(archive[name])
                except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError):
                    raise InputError(f"{self.label}: array {name} is damaged; expected a whole .npz file.") from None
        return tuple(out)


def check_file(path: Path, max_bytes: int = MAX_BYTES) -> None:
    """See that a file is there, holds something and is not too large.

    Raises:
        InputError: it is not.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path.name}: is a folder; expected a file.")
        size = path.stat().st_size
    except FileNotFoundError:
        raise InputError(f"{path.name}: no such file; expected a file of labelled sequences.") from None
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read ({error.strerror}); expected a readable file.") from None
    if size == 0:
        raise InputError(f"{path.name}: is empty; expected labelled sequences.")
    if size > max_bytes:
        raise InputError(f"{path.name}: has {size:,} bytes; expected at most {max_bytes:,}.")


def open_archive(path: Path, max_bytes: int = MAX_BYTES) -> Archive:
    """Check an `.npz` file's index and headers without unpacking it.

    Args:
        path: the file.
        max_bytes: largest total size of the arrays when unpacked.

    Raises:
        InputError: no archive, too large, arrays of objects, or a header that does not fit what is stored.
    """
    check_file(path, max_bytes)
    shapes: dict[str, tuple[int, ...]] = {}
    dtypes: dict[str, np.dtype[Any]] = {}
    try:
        with zipfile.ZipFile(path) as bundle:
            members = [member for member in bundle.infolist() if not member.is_dir()]
            total = sum(member.file_size for member in members)
            if total > max_bytes:
                raise InputError(f"{path.name}: unpacks to {total:,} bytes; expected at most {max_bytes:,}.")
            if len(members) > MAX_ARRAYS:
                raise InputError(f"{path.name}: holds {len(members)} arrays; expected at most {MAX_ARRAYS}.")
            for member in members:
                name = member.filename.removesuffix(".npy")
                shapes[name], dtypes[name] = declared(path.name, bundle, member)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError):
        raise InputError(f"{path.name}: is not a whole .npz archive; expected one written by numpy.savez.") from None
    return Archive(path, shapes, dtypes)


def array_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """What the header of an `.npy` file declares; the stream stands behind it then.

    Returns:
        shape, whether columns come first, and type.

    Raises:
        ValueError: there is no such header.
        OSError, zlib.error, zipfile.BadZipFile: it cannot be read.
    """
    try:
        read = npy.read_array_header_1_0 if npy.read_magic(stream) == (1, 0) else npy.read_array_header_2_0
        return read(stream)
    except (OSError, zlib.error, zipfile.BadZipFile):
        raise
    except Exception as error:  # a damaged header fails in Python's tokenizer, parser or in dtype, each in its way
        raise ValueError(str(error)) from None


def declared(label: str, bundle: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that a member's header declares, which must be what it stores."""
    name = member.filename.removesuffix(".npy")
    with bundle.open(member) as stream:
        try:
            shape, _, dtype = array_header(stream)
        except ValueError:
            raise InputError(f"{label}: {name} is not an array; expected arrays written by numpy.savez.") from None
        header = stream.tell()
    if dtype.hasobject:
        raise InputError(f"{label}: array {name} holds Python objects; expected numbers or text.")
    count = 1
    for side in shape:
        count *= side
    if count * dtype.itemsize != member.file_size - header:
        raise InputError(f"{label}: array {name} is damaged; expected {count} entries of {dtype}.")
    return shape, dtype
