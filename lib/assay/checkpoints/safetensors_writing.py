"""Writing safetensors: a length, a header of names, types, shapes and places, then the bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch

__all__ = ["write_safetensors"]

NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
    torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


def write_safetensors(
    path: Path, tensors: Mapping[str, torch.Tensor], *, metadata: Mapping[str, str] | None = None
) -> None:
    """Write named tensors, in the order of their names; the same tensors give the same bytes.

    Args:
        path: the file; what was there is replaced at the end, in whole.
        tensors: of any shape, on any device; each is stored with its own type.
        metadata: texts that the header holds beside `format`.

    Raises:
        ValueError: a type that the format has no name for.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt", **(metadata or {})}}
    place = 0
    for name in sorted(tensors):
        tensor = tensors[name]
        if tensor.dtype not in NAMES:
            raise ValueError(f"{name}: got {tensor.dtype}; expected one of {', '.join(map(str, NAMES))}.")
        size = tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [place, place + size],
        }  # fmt: skip
        place += size
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    draft = path.with_name(path.name + ".part")
    with draft.open("wb") as file:  # one tensor's bytes at a time: a checkpoint may fill the memory
        file.write(len(head).to_bytes(8, "little") + head)
        for name in sorted(tensors):
            file.write(tensors[name].detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    draft.replace(path)
