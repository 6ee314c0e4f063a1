"""A checkpoint quantised as a whole: which tensors are, which stay or are refused and why, and what is written.

Two things come out: a file of packed weights, and a Hugging Face folder whose weights are the dequantised ones, in the
type that they were stored in, which transformers loads as any other.
"""

from __future__ import annotations

import fnmatch
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from assay.checkpoints import Checkpoint
from assay.checkpoints.layers import layer_of
from assay.checkpoints.safetensors_writing import write_safetensors
from assay.efficient.dual_scale import checked_weight, kurtosis, quantise_rtn, quantise_sinq
from assay.efficient.output_errors import weight_error
from assay.efficient.quant_files import write_quantised
from assay.efficient.quant_tensor import QuantTensor, dequantise
from assay.efficient.recipe import Recipe, group_width, tile_height
from assay.models.llama import Llama

__all__ = ["Fate", "Quantised", "fate_of", "quantise_checkpoint"]

Progress = Callable[[Iterable[str]], Iterable[str]]
State = Literal["quantised", "gated", "kept", "refused"]
COPIED = (
    "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
    "vocab.json", "vocab.txt", "merges.txt", "tokenizer.model", "chat_template.jinja",
)  # fmt: skip
NATIVE = {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}


@dataclass(frozen=True)
class Fate:
    """What becomes of a tensor.

    Attributes:
        name: its key. state: `quantised`; `gated`, rounded without column scales for its kurtosis; `kept` as it is;
            `refused`, kept because it cannot be quantised. reason: a sentence where it is not plainly quantised.
        group: g as it came out, 0 where it is none. bits_a_weight: stored, 0 where it is kept.
        error: |W − Ŵ|² / |W|². parameters: entries. zero_rows, zero_columns: that hold nothing but zeros.
    """

    name: str
    state: State
    reason: str = ""
    group: int = 0
    bits_a_weight: float = 0.0
    error: float = 0.0
    parameters: int = 0
    zero_rows: int = 0
    zero_columns: int = 0


@dataclass(frozen=True, eq=False)
class Quantised:
    """What was made of a checkpoint.

    Attributes:
        fates: of every tensor, in order. files: names that were written, each with its bytes. notes: sentences.
    """

    fates: tuple[Fate, ...]
    files: dict[str, int]
    notes: tuple[str, ...]


def fate_of(opened: Checkpoint, name: str, pattern: str, recipe: Recipe, *, requantise: bool = False) -> Fate:
    """Whether a tensor is to be quantised, from its name, shape and stored type alone.

    Embedding, unembedding and everything outside blocks stay: tied weights are never quantised by half.

    Args:
        opened: the checkpoint. name: of the tensor.
        pattern: glob that the names of quantised tensors match, such as `*mlp*`; several with commas.
        recipe: how. requantise: weights that are codes already are read as numbers and quantised again.
    """
    stored = opened.stored(name)
    count = stored.numel
    if not any(fnmatch.fnmatchcase(name, one.strip() or "*") for one in pattern.split(",")):
        return Fate(name, "kept", "does not match the filter", parameters=count)
    if len(stored.shape) != 2:
        return Fate(name, "kept", f"has {len(stored.shape)} dimensions, no matrix", parameters=count)
    if name in (opened.parts.embedding, opened.parts.unembedding):
        return Fate(name, "kept", "embedding or unembedding", parameters=count)
    if layer_of(name) is None or "embed" in name:
        return Fate(name, "kept", "stands outside the blocks", parameters=count)
    integers = stored.read_as.is_complex or not stored.read_as.is_floating_point  # codes without their scales
    if integers or (stored.quantised and not requantise):
        return Fate(name, "refused", f"already quantised: type {stored.dtype}; dequantise explicitly", parameters=count)
    height, width = stored.shape
    try:
        tile_height(height, group_width(width, recipe.group), recipe.tiling)
    except ValueError as error:
        return Fate(name, "refused", str(error).rstrip("."), parameters=count)
    return Fate(name, "quantised", parameters=count)


def quantise_one(name: str, weight: Tensor, recipe: Recipe, *, plain: bool = False) -> tuple[Fate, QuantTensor | None]:
    """Quantise a matrix and say what became of it; one that holds NaN or infinity is refused.

    Args:
        plain: round to the nearest, without column scales.
    """
    try:
        kept = checked_weight(weight, name)
    except ValueError as error:
        return Fate(name, "refused", str(error).removeprefix(f"{name}: ").rstrip("."), parameters=weight.numel()), None
    made = quantise_rtn(kept, recipe) if plain else quantise_sinq(kept, recipe)
    zero = kept == 0
    reason = f"kurtosis {kurtosis(kept):.1f} is above {recipe.gate:g}: rounded to nearest" if made.gated else ""
    fate = Fate(
        name, "gated" if made.gated else "quantised", reason, made.group, made.bits_a_weight,
        weight_error(kept, dequantise(made)), kept.numel(), int(zero.all(1).sum()), int(zero.all(0).sum()),
    )  # fmt: skip
    return fate, made


def quantise_checkpoint(
    opened: Checkpoint, recipe: Recipe, place: Callable[[str], Path], *, pattern: str = "*", requantise: bool = False,
    model: Llama | None = None, progress: Progress | None = None,
) -> Quantised:  # fmt: skip
    """Quantise every matrix of a checkpoint's blocks, and write both forms.

    Args:
        opened: the checkpoint.
        recipe, pattern, requantise: as in `fate_of`.
        place: from a file's name to where it is written: `packed.safetensors`, and beside it `model.safetensors`,
            `config.json` and what else the folder needs.
        model: the same weights as a Llama, where the checkpoint has other names than transformers'; its names, and its
            configuration, are written.
        progress: wraps the names; raising in it stops the work.

    Raises:
        ValueError: nothing of it can be quantised.
    """
    names = list(opened.names()) if model is None else sorted(model.weights)
    fates, matrices, others, native = [], {}, {}, {}
    for name in progress(names) if progress else names:
        if model is None:
            stored = opened.stored(name)
            fate = fate_of(opened, name, pattern, recipe, requantise=requantise)
            weight = opened.tensor(name)
            native[name] = NATIVE.get(stored.dtype, torch.float16 if stored.quantised else weight.dtype)
        else:
            weight = model.weights[name]
            fate = fate_in_model(name, weight, pattern, recipe)
            native[name] = torch.float16 if weight.dim() > 1 else torch.float32
        if fate.state == "quantised":
            fate, made = quantise_one(name, weight, recipe)
            if made is not None:
                matrices[name] = made
                fates.append(fate)
                continue
        others[name] = in_type(weight, native[name])
        fates.append(fate)
    if not matrices:
        first = next((f for f in fates if f.state == "refused"), None)
        why = f"; {first.name}: {first.reason}" if first else ""
        raise ValueError(f"{opened.name}: no tensor was quantised{why}; expected matrices of blocks that match.")
    files = {"packed.safetensors": write_quantised(place("packed.safetensors"), matrices, others)}
    folder = others | {name: in_type(dequantise(made), native[name]) for name, made in matrices.items()}
    target = place("model.safetensors")
    write_safetensors(target, folder)
    files["model.safetensors"] = target.stat().st_size
    return Quantised(tuple(fates), files | beside(opened, place, model), notes_on(opened, fates, model))


def fate_in_model(name: str, weight: Tensor, pattern: str, recipe: Recipe) -> Fate:
    """As `fate_of`, of weights that were read as a Llama."""
    if not any(fnmatch.fnmatchcase(name, one.strip() or "*") for one in pattern.split(",")):
        return Fate(name, "kept", "does not match the filter", parameters=weight.numel())
    if weight.dim() != 2 or layer_of(name) is None:
        why = "embedding or unembedding" if weight.dim() == 2 else f"has {weight.dim()} dimensions, no matrix"
        return Fate(name, "kept", why, parameters=weight.numel())
    try:
        tile_height(len(weight), group_width(weight.shape[1], recipe.group), recipe.tiling)
    except ValueError as error:
        return Fate(name, "refused", str(error).rstrip("."), parameters=weight.numel())
    return Fate(name, "quantised", parameters=weight.numel())


def in_type(weight: Tensor, dtype: torch.dtype) -> Tensor:
    """In the stored type, or float32 where half precision does not hold the values."""
    cast = weight.to(dtype)
    if dtype.is_floating_point and bool(torch.isfinite(weight).all()) and not bool(torch.isfinite(cast).all()):
        return weight.float()
    return cast


def beside(opened: Checkpoint, place: Callable[[str], Path], model: Llama | None) -> dict[str, int]:
    """Configuration and tokenizer of the folder: copied, or made where the weights were given other names."""
    files = {}
    if model is not None:
        config: dict[str, Any] = model.config() | {"dtype": "float16"}
        target = place("config.json")
        target.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        files["config.json"] = target.stat().st_size
    source = opened.folder or opened.root.parent
    for name in COPIED:
        if name not in files and (source / name).is_file() and (model is None or name != "config.json"):
            target = place(name)
            shutil.copyfile(source / name, target)
            files[name] = target.stat().st_size
    return files


def notes_on(opened: Checkpoint, fates: list[Fate], model: Llama | None) -> tuple[str, ...]:
    notes = []
    if model is None and not opened.config:
        notes.append("No config.json came with the weights: transformers needs one beside model.safetensors.")
    if opened.kind == "GGUF":
        notes.append("The tokenizer stays in the GGUF file; transformers needs one of its own.")
    empty = [f.name for f in fates if f.zero_rows or f.zero_columns]
    if empty:
        notes.append(f"Rows or columns of zeros in {len(empty)} matrices, the first {empty[0]}; they stay zeros.")
    return tuple(notes)
