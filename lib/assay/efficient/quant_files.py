"""Quantised weights in a file: safetensors with packed codes, and what they mean in the header.

A matrix NAME is stored as NAME.codes (uint8, rows of packed bits), NAME.scale and NAME.zero (half precision where that
holds them, float32 elsewhere) and NAME.column; the header's entry `assay.quantised` says bits, group, levels and shape.
Other tensors stand beside them as they were.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay.checkpoints.safetensors_file import SafetensorsFile
from assay.checkpoints.safetensors_writing import write_safetensors
from assay.efficient.quant_tensor import QuantTensor, dequantise
from assay.efficient.recipe import Recipe
from assay.kernels import packed_bytes, unpack_bits

__all__ = ["HEADER", "read_quantised", "stored_parts", "write_quantised"]

HEADER = "assay.quantised"
VERSION = 1
HALF_LOSS = 2e-3  # of a scale, relatively, that half precision may cost


def in_half(values: Tensor) -> Tensor:
    """As float16 where that holds every value, else as float32: μ can carry a scale out of its range."""
    half = values.half()
    off = (half.float() - values.float()).abs()
    held = bool(torch.isfinite(half).all()) and bool((off <= HALF_LOSS * values.float().abs()).all())
    return half if held else values.float()


def stored_parts(name: str, quantised: QuantTensor) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a matrix in a file, and its entry in the header."""
    parts = {f"{name}.codes": quantised.packed, f"{name}.scale": in_half(quantised.scale)}
    if quantised.recipe.zeros:
        parts[f"{name}.zero"] = in_half(quantised.zero)
    if quantised.column is not None:
        parts[f"{name}.column"] = in_half(quantised.column)
    entry = {
        "bits": quantised.recipe.bits, "group": quantised.group, "shape": list(quantised.codes.shape),
        "levels": quantised.recipe.levels, "tiling": quantised.recipe.tiling, "aux": quantised.recipe.aux,
        "refine": quantised.recipe.refine, "gated": quantised.gated,
    }  # fmt: skip
    return parts, entry


def write_quantised(path: Path, matrices: Mapping[str, QuantTensor], others: Mapping[str, Tensor]) -> int:
    """Write quantised matrices and other tensors into one safetensors file; its bytes.

    Raises:
        ValueError: a type that safetensors has no name for.
    """
    tensors: dict[str, Tensor] = dict(others)
    entries = {}
    for name, quantised in matrices.items():
        parts, entries[name] = stored_parts(name, quantised)
        tensors |= parts
    header = json.dumps({"version": VERSION, "tensors": entries}, sort_keys=True)
    write_safetensors(path, tensors, metadata={HEADER: header})
    return path.stat().st_size


def read_quantised(path: Path) -> tuple[dict[str, QuantTensor], dict[str, Tensor]]:
    """Quantised matrices and other tensors of a file of `write_quantised`.

    Raises:
        ValueError: no safetensors file, none of ours, of another version, or with parts that do not fit.
    """
    file = SafetensorsFile(path)
    try:
        header = json.loads(file.metadata[HEADER])
        version, entries = header["version"], dict(header["tensors"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{path.name}: has no entry {HEADER}; expected a file of quantised weights.") from None
    if version != VERSION:
        raise ValueError(f"{path.name}: is of version {version!r}; expected {VERSION}.")

    def tensor(name: str) -> Tensor:
        if name not in file.tensors or name in file.damaged:
            raise ValueError(file.damaged.get(name, f"{path.name}: lacks {name}; expected a whole file."))
        stored = file.tensors[name]
        return next(file.blocks(stored, max(1, stored.shape[0] if stored.shape else 1)))

    matrices, taken = {}, set()
    for name, entry in entries.items():
        try:
            recipe = Recipe(bits=entry["bits"], group=entry["group"], tiling=entry["tiling"], levels=entry["levels"],
                            aux=entry["aux"], refine=entry["refine"])  # fmt: skip
            (height, width), group = entry["shape"], int(entry["group"])
            gated = bool(entry["gated"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path.name}: says nothing usable of {name} ({error}).") from None
        codes = tensor(f"{name}.codes")
        if codes.shape != (height, packed_bytes(width, recipe.bits)):
            raise ValueError(f"{path.name}: {name}.codes has shape {tuple(codes.shape)}; its header says otherwise.")
        scale = tensor(f"{name}.scale").float()
        zero = tensor(f"{name}.zero").float() if recipe.zeros else torch.full_like(scale, 2 ** (recipe.bits - 1))
        column = tensor(f"{name}.column").float() if f"{name}.column" in file.tensors else None
        made = QuantTensor(unpack_bits(codes, recipe.bits, width), scale, zero, column, recipe, group, gated)
        if scale.shape != (height, width // group) or zero.shape != scale.shape:
            raise ValueError(f"{path.name}: scales of {name} do not fit {height} rows of {width} in groups of {group}.")
        dequantise(made)
        matrices[name] = made
        taken |= {f"{name}.{part}" for part in ("codes", "scale", "zero", "column")}
    return matrices, {name: tensor(name) for name in file.tensors if name not in taken}
