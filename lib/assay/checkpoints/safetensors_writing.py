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


def write_safetensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write named tensors, in the order of their names; the same tensors give the same bytes.

    Args:
        path: the file; what was there is replaced at the end, in whole.
        tensors: of any shape, on any device; each is stored with its own type.

    Raises:
        ValueError: a type that the format has no name for.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    parts: list[bytes] = []
    place = 0
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        if tensor.dtype not in NAMES:
            raise ValueError(f"{name}: got {tensor.dtype}; expected one of {', '.join(map(str, NAMES))}.")
        raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
        header[name] = {
            "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [place, place + len(raw)],
        }  # fmt: skip
        parts.append(raw)
        place += len(raw)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    draft = path.with_name(path.name + ".part")
    draft.write_bytes(len(head).to_bytes(8, "little") + head + b"".join(parts))
    draft.replace(path)
