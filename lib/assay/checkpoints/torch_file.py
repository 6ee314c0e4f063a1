"""Files of `torch.save`: nothing in them is executed, and only the bytes of the tensor that is asked for are read.

`torch.load(..., map_location="meta", weights_only=True)` gives names, shapes and where each storage begins. Each place
is checked against the archive's own index before it is read.
"""

from __future__ import annotations

import pickle
import re
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from assay.checkpoints.stored import BROKEN_ARCHIVE, TORCH_TYPES, Stored, WeightFile, read_bytes, read_rows

__all__ = ["TorchFile"]

NAMES = {dtype: name for name, dtype in TORCH_TYPES.items()}
WRAPPERS = ("state_dict", "model_state_dict", "model", "module")
"""What training scripts put the weights under, beside the optimiser's state."""
MAX_DEPTH = 8
LOCAL_HEADER = 30  # bytes of a zip member's own header, before name and extra field


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: its storage in the file, and the view of it."""

    start: int
    nbytes: int
    offset: int
    stride: tuple[int, ...]


class TorchFile(WeightFile):
    """Tensors of one file of `torch.save`, nested mappings joined by dots.

    Files of PyTorch before 1.6 are no archives: they are read as a whole and stay in memory.
    """

    def __init__(self, path: Path, *, archive: bool) -> None:
        super().__init__(path)
        self.places: dict[str, Place] = {}
        self.whole: dict[str, torch.Tensor] = {}
        members = archive_members(path, self.label) if archive else {}
        found = dict(weights_in(load(path, self.label, "meta" if archive else "cpu"), path.stem))
        if not found:
            raise ValueError(f"{self.label}: holds no tensors; expected a state dict.")
        if not archive:
            self.notes.append(f"{self.label} has PyTorch's old layout and is held in memory as a whole.")
        first: dict[object, str] = {}
        for name, tensor in found.items():
            try:
                self.declare(name, tensor, members if archive else None, first)
            except (RuntimeError, NotImplementedError, AttributeError, TypeError):
                self.damaged[name] = f"{name}: has no plain storage in {self.label}; expected a dense tensor."

    def declare(
        self, name: str, tensor: torch.Tensor, members: dict[int, int] | None, first: dict[object, str]
    ) -> None:
        """One tensor, checked against the storage that it views."""
        if tensor.layout is not torch.strided or tensor.is_quantized or tensor.dtype not in NAMES:
            kind = str(tensor.layout if tensor.layout is not torch.strided else tensor.dtype).removeprefix("torch.")
            self.damaged[name] = f"{name}: is stored as {kind} in {self.label}; expected a dense tensor of plain type."
            return
        shape, stride, size = tuple(tensor.shape), tensor.stride(), tensor.element_size()
        storage = tensor.untyped_storage()
        nbytes = tensor.numel() * size
        start = storage.data_ptr() if members is None else int(storage._checkpoint_offset or 0)
        held = storage.nbytes() if members is None else members.get(start, 0)
        offset = int(tensor.storage_offset())
        reach = offset + sum((side - 1) * step for side, step in zip(shape, stride, strict=True)) + 1
        if nbytes and (reach * size > held or nbytes > held):
            self.damaged[name] = (
                f"{name}: asks for {max(reach * size, nbytes):,} bytes in {self.label}; expected at most the {held:,} "
                "of its storage."
            )
            return
        same = (start, offset, shape, stride, tensor.dtype)
        if nbytes and same in first:
            self.ties[name] = first[same]
            return
        first[same] = name
        self.tensors[name] = Stored(name, shape, NAMES[tensor.dtype], nbytes, self.label)
        self.places[name] = Place(start, int(reach) * size, offset, stride)
        if members is None:
            self.whole[name] = tensor.detach()

    def blocks(self, stored: Stored, rows: int) -> Iterator[torch.Tensor]:
        if stored.name in self.whole:
            yield from split(self.whole[stored.name], rows)
            return
        place, dtype = self.places[stored.name], TORCH_TYPES[stored.dtype]
        with self.path.open("rb", buffering=0) as file:
            if stored.numel == 0 or is_row_major(stored.shape, place.stride):
                file.seek(place.start + place.offset * dtype.itemsize)
                yield from read_rows(file, stored, rows)
                return
            file.seek(place.start)
            raw = read_bytes(file, place.nbytes, stored.name)
        flat = raw != 0 if dtype is torch.bool else raw.view(dtype)
        yield from split(flat.as_strided(stored.shape, place.stride, place.offset), rows)


def load(path: Path, label: str, device: str) -> Any:
    """What the file holds, tensors on the device, nothing executed.

    Raises:
        ValueError: it holds more than tensors and plain values, or is damaged.
    """
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except Exception as error:  # a damaged pickle makes PyTorch fail in every way there is
        said = str(error)
        if code := re.search(r"(?:GLOBAL|global:?|find class) ([\w.]+\.\w+)", said):
            what = f"holds pickled code ({code[1]})"
        elif isinstance(error, pickle.UnpicklingError) and "nsupported" in said:
            what = "holds pickled objects"
        elif "TorchScript" in said:
            what = "is a TorchScript program"
        else:
            what = "is damaged or not of torch.save"
        raise ValueError(f"{label}: {what}; expected tensors only, as torch.save(model.state_dict()) writes.") from None


def archive_members(path: Path, label: str) -> dict[int, int]:
    """Number of bytes of each plainly stored member, by the place where they begin.

    Raises:
        ValueError: no whole archive, compressed, or of another byte order.
    """
    members = {}
    size = path.stat().st_size
    what = ""
    try:
        with zipfile.ZipFile(path) as bundle, path.open("rb") as file:
            for member in bundle.infolist():
                if member.compress_type != zipfile.ZIP_STORED:
                    what = "is a compressed archive"
                file.seek(member.header_offset)
                header = file.read(LOCAL_HEADER)
                start = member.header_offset + LOCAL_HEADER + sum(struct.unpack("<HH", header[26:30]))
                if start + member.file_size <= size:
                    members[start] = member.file_size
                if member.filename.endswith("/byteorder") and bundle.read(member) != b"little":
                    what = "was written on a big-endian machine"
    except BROKEN_ARCHIVE:
        what = "is cut off or damaged"
    if what:
        raise ValueError(f"{label}: {what}; expected a whole file of torch.save.")
    return members


def weights_in(loaded: Any, stem: str) -> Iterator[tuple[str, torch.Tensor]]:
    """Names and tensors; of a training state only the weights."""
    if isinstance(loaded, torch.Tensor):
        yield stem, loaded
        return
    if isinstance(loaded, Mapping) and not any(isinstance(value, torch.Tensor) for value in loaded.values()):
        for wrapper in WRAPPERS:
            inner = loaded.get(wrapper)
            if isinstance(inner, Mapping) and any(isinstance(value, torch.Tensor) for value in inner.values()):
                yield from flattened(inner, "", 0, set())
                return
    yield from flattened(loaded, "", 0, set())


def flattened(value: Any, name: str, depth: int, seen: set[int]) -> Iterator[tuple[str, torch.Tensor]]:
    """Tensors at any depth by dotted names; each container once, for it may hold itself."""
    if isinstance(value, torch.Tensor):
        yield name, value
        return
    if depth == MAX_DEPTH or id(value) in seen or not isinstance(value, (Mapping, list, tuple)):
        return
    seen.add(id(value))
    for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
        yield from flattened(inner, f"{name}.{key}" if name else str(key), depth + 1, seen)


def is_row_major(shape: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Entries follow each other without gaps; dimensions of one entry have any stride."""
    expected = 1
    for side, step in zip(reversed(shape), reversed(stride), strict=True):
        if side != 1 and step != expected:
            return False
        expected *= side
    return True


def split(tensor: torch.Tensor, rows: int) -> Iterator[torch.Tensor]:
    """Copies of successive rows."""
    if not tensor.shape or not tensor.numel():
        yield tensor.clone()
        return
    for block in tensor.split(rows):
        yield block.clone(memory_format=torch.contiguous_format)
