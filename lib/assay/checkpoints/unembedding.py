"""The matrix that turns the last hidden state into logits, with what stands around it.

Names and rules: the families' published checkpoints; see `families.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from assay.checkpoints.checkpoint import Checkpoint
from assay.checkpoints.health import examine
from assay.checkpoints.opening import open as open_checkpoint
from assay.checkpoints.stored import Stored
from assay.checkpoints.vocabulary import tokens_in_use

__all__ = ["Unembedding", "find_unembedding"]


@dataclass(frozen=True, eq=False)
class Unembedding:
    """Logits are `weight @ h + bias` with `h = gain * normalised + shift`.

    Attributes:
        weight: (V, d), finite; float32, or float64 where it is stored so. Rows past `vocab_used` are padding.
        gain: (d,) what the final norm multiplies by (Gemma's 1 + w included); None for a norm without weights.
        bias: (V,) of the logits, or None.
        tied: it is the input embedding.
        key: name of the tensor that holds it.
        vocab_used: number of leading rows that stand for tokens.
        shift: (d,) bias of the final norm, or None.
        dtype: stored type, such as BF16 or Q8_0.
        notes: sentences to show beside any result.
    """

    weight: torch.Tensor
    gain: torch.Tensor | None
    bias: torch.Tensor | None
    tied: bool
    key: str
    vocab_used: int
    shift: torch.Tensor | None
    dtype: str
    notes: tuple[str, ...]


def find_unembedding(
    source: Checkpoint | Path | str, *, key: str | None = None, transpose: bool | None = None
) -> Unembedding:
    """Find and read the unembedding of a language model.

    Args:
        source: an open checkpoint, or a path.
        key: the tensor to take instead of the one that the family's names give.
        transpose: True takes a stored (d, V) matrix the other way round, False takes it as it is; None refuses one
            that looks transposed.

    Returns:
        the matrix as a whole with gain and biases; blocks of it are at `Checkpoint.blocks(key)`.

    Raises:
        ValueError: none is there, it cannot be read, it is no matrix, looks transposed, holds integers or NaN.
    """
    checkpoint = source if isinstance(source, Checkpoint) else open_checkpoint(source)
    parts = checkpoint.parts
    notes = [*checkpoint.notes, *parts.notes]
    chosen = key or parts.unembedding or only_matrix(checkpoint)
    if chosen is None:
        raise ValueError(parts.refusal)
    stored = checkpoint.stored(chosen)
    if len(stored.shape) != 2 or 0 in stored.shape:
        raise ValueError(f"{chosen}: expected 2-D [vocab, hidden], got {stored.shape}.")
    if not stored.read_as.is_floating_point:
        raise ValueError(f"{chosen}: expected floating-point weights, got {stored.dtype} codes.")
    scales = [name for name in (f"{stored.name}_scale", f"{stored.name}_scale_inv") if name in checkpoint.names()]
    if scales:
        raise ValueError(f"{chosen}: expected plain weights, got {stored.dtype} to be scaled by {scales[0]}.")
    if stored.quantised:
        notes.append(f"{stored.name} is stored as {stored.dtype}: quantisation changes its small singular values.")
    vectors = {
        what: vector(checkpoint, name, notes)
        for what, name in (("gain", parts.norm), ("shift", parts.norm_bias), ("bias", parts.bias))
    }
    known = tokens_in_use(checkpoint)
    if transpose is None and looks_transposed(stored, [v for v in vectors.values() if v is not None], known):
        raise ValueError(
            f"{chosen}: {list(stored.shape)} looks transposed: vocab must be the longer side (pass transpose=True to "
            "force)."
        )
    weight = checkpoint.tensor(chosen)
    health = examine(weight.split(1024), stored.shape)
    if health.verdict == "not finite":
        assert health.first is not None
        raise ValueError(
            f"{chosen}: expected finite weights, got {health.nan:,} NaN and {health.inf:,} infinite values, first in "
            f"row {health.first[0]}."
        )
    if transpose:
        weight = weight.T.contiguous()
    rows, width = weight.shape
    if rows < width:
        notes.append(f"{chosen} has {rows:,} rows of {width:,}: rank is capped by vocabulary.")
    for what, length in (("gain", width), ("shift", width), ("bias", rows)):
        held = vectors[what]
        if held is not None and held.shape != (length,):
            notes.append(f"The {what} has shape {tuple(held.shape)}, not ({length},): it is left out.")
            vectors[what] = None
    gain = vectors["gain"]
    if gain is not None and parts.unit_gain:
        gain = 1 + gain
    return Unembedding(
        weight=weight,
        gain=gain,
        bias=vectors["bias"],
        tied=is_tied(checkpoint, stored, notes),
        key=stored.name,
        vocab_used=used_rows(weight, known, notes),
        shift=vectors["shift"],
        dtype=stored.dtype,
        notes=tuple(notes),
    )


def only_matrix(checkpoint: Checkpoint) -> str | None:
    """The one matrix of an array file."""
    matrices = [name for name in checkpoint.names() if len(checkpoint.stored(name).shape) == 2]
    return matrices[0] if checkpoint.kind == "NumPy" and len(matrices) == 1 else None


def vector(checkpoint: Checkpoint, name: str | None, notes: list[str]) -> torch.Tensor | None:
    """A gain or bias; one that cannot be used is left out, with a note."""
    if name is None:
        return None
    try:
        found = checkpoint.tensor(name)
    except ValueError as error:
        notes.append(str(error))
        return None
    if not found.is_floating_point() or not torch.isfinite(found).all():
        notes.append(f"{name}: holds NaN, infinity or no floats, and is left out.")
        return None
    return found


def looks_transposed(stored: Stored, vectors: Sequence[torch.Tensor], known: tuple[int, str] | None) -> bool:
    """Rows are fewer than columns, and neither the vocabulary's size nor a gain says that this is right."""
    rows, columns = stored.shape
    if rows >= columns:
        return False
    if known is not None and known[0] in (rows, columns):
        return known[0] == columns
    return not any(held.shape == (columns,) for held in vectors)


def is_tied(checkpoint: Checkpoint, stored: Stored, notes: list[str]) -> bool:
    """It is the input embedding, or holds the same values."""
    embedding = checkpoint.parts.embedding
    if embedding is None or checkpoint.parts.unembedding is None:
        return False
    try:
        held = checkpoint.stored(embedding)
        if held.name == stored.name:
            return checkpoint.parts.head is not None or stored.name in checkpoint.ties.values()
        same = checkpoint.equal(stored.name, held.name)
    except ValueError as error:
        notes.append(str(error))
        return False
    if not same and checkpoint.config.get("tie_word_embeddings") is True:
        notes.append(f"config.json ties {stored.name} to {embedding}, yet they differ; {stored.name} is used.")
    return same


def used_rows(weight: torch.Tensor, known: tuple[int, str] | None, notes: list[str]) -> int:
    """Leading rows that stand for tokens: as many as the tokenizer has, or up to the last that is not all zero."""
    rows = len(weight)
    if known is not None and known[0] > rows:
        notes.append(f"{known[1]} gives {known[0]:,} tokens, more than the {rows:,} rows.")
    elif known is not None and known[0] < rows:
        notes.append(f"{rows - known[0]:,} of {rows:,} rows are padding, past the {known[0]:,} tokens of {known[1]}.")
        return known[0]
    last = rows
    while last and not weight[last - 1].any():
        last -= 1
    if 0 < last < rows:
        notes.append(f"{rows - last:,} of {rows:,} rows are padding: all zero, at the end.")
        return last
    return rows
