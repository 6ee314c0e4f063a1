"""How many tokens a checkpoint's tokenizer has: rows past them are padding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.checkpoints.checkpoint import Checkpoint
from assay.checkpoints.families import setting
from assay.checkpoints.folder import json_object

__all__ = ["tokens_in_use"]

UNUSED = 5  # llama.cpp's token type for the padding that its converter adds


def tokens_in_use(checkpoint: Checkpoint) -> tuple[int, str] | None:
    """Number of leading rows that stand for tokens, and what says so; None where nothing does.

    A tokenizer goes before `vocab_size`, which often counts the padding in. A damaged tokenizer file says nothing.
    """
    if checkpoint.kind == "GGUF":
        return gguf_tokens(checkpoint.config)
    if checkpoint.folder is not None:
        for name, count in (("tokenizer.json", tokenizer_tokens), ("vocab.json", mapped_tokens)):
            try:
                found = count(json_object(checkpoint.folder / name))
            except (ValueError, TypeError, AttributeError, KeyError):
                continue
            if found:
                return found, name
    size = setting(checkpoint.config, "vocab_size")
    return (size, "vocab_size") if type(size) is int and size > 0 else None


def gguf_tokens(metadata: Mapping[str, Any]) -> tuple[int, str] | None:
    """From the token list, without the unused ones at its end."""
    size = metadata.get("tokenizer.ggml.tokens")
    if type(size) is not int or size < 1:
        return None
    kinds = metadata.get("tokenizer.ggml.token_type")
    if isinstance(kinds, np.ndarray) and len(kinds) == size and (used := np.flatnonzero(kinds != UNUSED)).size:
        return int(used[-1]) + 1, "tokenizer.ggml.token_type"
    return size, "tokenizer.ggml.tokens"


def tokenizer_tokens(tokenizer: Mapping[str, Any]) -> int:
    """One more than the largest id in a `tokenizer.json`; Unigram models list their tokens in order."""
    vocabulary = tokenizer["model"]["vocab"]
    known = mapped_tokens(vocabulary) if isinstance(vocabulary, dict) else len(vocabulary)
    return max(known, 1 + max((added["id"] for added in tokenizer.get("added_tokens") or ()), default=-1))


def mapped_tokens(vocabulary: Mapping[str, int]) -> int:
    """One more than the largest id."""
    return 1 + max(vocabulary.values(), default=-1)
