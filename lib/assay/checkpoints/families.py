"""Where the common families keep embedding, unembedding and final norm, by the names of their tensors.

Names as their published checkpoints have them: Hugging Face transformers, the original OLMo, Mamba and Llama
repositories, and GGUF.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from assay.checkpoints.layers import layer_of, natural

__all__ = ["Parts", "closest", "locate", "setting"]


@dataclass(frozen=True)
class Family:
    """Names of one family; a name may carry a prefix such as `model.` or `base_causallm.`.

    Attributes:
        name: what people call it.
        mark: found in a name that only this family has; families are tried in order.
        unembedding, embedding: keys in order of preference.
        norm: final norms, without `.weight`.
        bias: biases of the logits.
        encoder: it has an unembedding only where its head shows.
        head: for each unembedding, a part of a name that shows the head it belongs to.
    """

    name: str
    mark: re.Pattern[str]
    unembedding: tuple[str, ...]
    embedding: tuple[str, ...]
    norm: tuple[str, ...]
    bias: tuple[str, ...] = ("lm_head.bias",)
    encoder: bool = False
    head: tuple[str, ...] = ()


def mark(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|\.)(?:{pattern})")


FAMILIES = (
    Family(
        "GGUF", mark(r"token_embd\.weight$"), ("output.weight",), ("token_embd.weight",),
        ("output_norm", "dec.output_norm"), ("output.bias",),
    ),
    Family(
        "original OLMo", mark(r"transformer\.(?:ff_out\.|blocks\.[0-9]+\.(?:att_proj|q_proj|ff_proj)\.)"),
        ("transformer.ff_out.weight",), ("transformer.wte.weight",), ("transformer.ln_f",), (),
    ),
    Family(
        "GPT-NeoX", mark(r"gpt_neox\.|embed_in\.weight$"), ("embed_out.weight",), ("embed_in.weight",),
        ("final_layer_norm",), ("embed_out.bias",),
    ),
    Family(
        "Mamba", mark(r"layers\.[0-9]+\.mixer\.(?:A_log|in_proj|x_proj)"), ("lm_head.weight",),
        ("backbone.embeddings.weight", "backbone.embedding.weight", "embeddings.weight", "embedding.weight"),
        ("backbone.norm_f", "norm_f"),
    ),
    Family(
        "T5", mark(r"decoder\.block\.[0-9]+\.layer\."), ("lm_head.weight",),
        ("shared.weight", "decoder.embed_tokens.weight"), ("decoder.final_layer_norm",),
    ),
    Family(
        "BERT", mark(r"embeddings\.word_embeddings\.weight$"),
        ("cls.predictions.decoder.weight", "lm_head.decoder.weight", "vocab_projector.weight"),
        ("embeddings.word_embeddings.weight",),
        ("cls.predictions.transform.LayerNorm", "lm_head.layer_norm", "vocab_layer_norm"),
        ("cls.predictions.decoder.bias", "cls.predictions.bias", "lm_head.decoder.bias", "lm_head.bias",
         "vocab_projector.bias"),
        encoder=True, head=("cls.predictions.", "lm_head.", "vocab_"),
    ),
    Family(
        "BLOOM and Falcon", mark(r"word_embeddings\.weight$"), ("lm_head.weight",),
        ("transformer.word_embeddings.weight", "word_embeddings.weight"), ("transformer.ln_f", "ln_f"),
    ),
    Family(
        "GPT-2", mark(r"wte\.weight$"), ("lm_head.weight",), ("transformer.wte.weight", "wte.weight"),
        ("transformer.ln_f", "ln_f", "transformer.norm_f"),
    ),
    Family(
        "original Llama", mark(r"tok_embeddings\.weight$"), ("output.weight",), ("tok_embeddings.weight",), ("norm",),
        ("output.bias",),
    ),
    Family(
        "Llama-like", mark(r"embed_tokens\.weight$"), ("lm_head.weight",),
        ("model.embed_tokens.weight", "embed_tokens.weight"),
        ("model.norm", "model.final_layernorm", "decoder.final_layer_norm", "norm"),
    ),
)  # fmt: skip

UNIT_GAIN = {
    "gemma", "gemma2", "gemma3", "gemma3_text", "vaultgemma", "nemotron", "qwen3_next", "qwen3_5", "qwen3_5_text",
    "qwen3_5_moe", "qwen3_5_moe_text",
}  # fmt: skip
"""Values of `model_type` whose norms multiply by 1 + weight; those of Gemma 3n and Gemma 4 do not."""

GGUF_ENCODERS = re.compile(r"bert|t5encoder")
ALONE = ("lm_head.weight", "unembedding.weight", "unembed.weight", "output.weight")
"""Keys that say what they are where no family is known."""


@dataclass(frozen=True)
class Parts:
    """Where embedding, unembedding and final norm are, by names alone.

    Attributes:
        family: what the names show; `model_type` or GGUF's architecture stand in `config`.
        unembedding: key of the matrix that gives the logits; None where there is none.
        head: what that key is called where the matrix is stored as the embedding; None where it is not.
        embedding: key of the input embedding.
        norm: key of the final norm's gain; None for a norm without weights.
        norm_bias: key of its bias.
        bias: key of the logits' bias.
        unit_gain: the norm multiplies by 1 + weight (Gemma).
        refusal: one sentence, where there is no unembedding.
        notes: sentences on how this was decided.
    """

    family: str
    unembedding: str | None = None
    head: str | None = None
    embedding: str | None = None
    norm: str | None = None
    norm_bias: str | None = None
    bias: str | None = None
    unit_gain: bool = False
    refusal: str = ""
    notes: tuple[str, ...] = ()


def setting(config: Mapping[str, Any], *names: str) -> Any:
    """The first of these entries in a config, or in the part of it that describes the language model; else None."""
    inner = config.get("text_config")
    for place in (config, inner if isinstance(inner, Mapping) else {}):
        for name in names:
            if place.get(name) is not None:
                return place[name]
    return None


def closest(wanted: str, names: Collection[str]) -> str:
    """Up to three names that look most like the one wanted, for a sentence."""
    outside = names if layer_of(wanted) else [name for name in names if layer_of(name) is None] or names
    found = difflib.get_close_matches(wanted, sorted(outside, key=natural), n=3, cutoff=0.0)
    return ", ".join(found) or "none"


def find(wanted: Collection[str], names: Collection[str]) -> str | None:
    """The first wanted name that is there, as it is or under the shortest prefix; nothing within a layer."""
    for key in wanted:
        under = [name for name in names if name.endswith(f".{key}") and layer_of(name) is None]
        if key in names:
            return key
        if under:
            return min(under, key=lambda name: (name.count("."), natural(name)))
    return None


def locate(names: Collection[str], config: Mapping[str, Any], *, gguf: bool = False) -> Parts:
    """Find the parts of a language model by names.

    Args:
        names: of all tensors, those that cannot be read included.
        config: `config.json`, or the metadata of a GGUF file; empty where there is none.
        gguf: the names are GGUF's, and the weights were converted (Gemma's norms hold 1 + w then).
    """
    families = [f for f in FAMILIES if (f.name == "GGUF") == gguf]
    family = next((f for f in families if any(f.mark.search(name) for name in names)), None)
    if family is None:
        return alone(names)
    inner = config.get("text_config")
    kinds = {str(part.get("model_type")) for part in (config, inner) if isinstance(part, Mapping)}
    notes = []
    norm = find([f"{stem}.weight" for stem in family.norm], names)
    norm_bias = find([norm.removesuffix("weight") + "bias"], names) if norm else None
    if norm is None and not family.encoder:
        notes.append("No weights of a final norm: it has none, or they are missing.")
    unit = not gguf and bool(kinds & UNIT_GAIN)
    if unit:
        notes.append(f"{min(kinds & UNIT_GAIN)}: the final norm multiplies by 1 + weight.")
    elif not config and family.name == "Llama-like":
        notes.append("No config.json: the final norm is taken to multiply by its weight; Gemma's is 1 + weight.")
    embedding = find(family.embedding, names)
    known = {"embedding": embedding, "norm": norm, "norm_bias": norm_bias, "unit_gain": unit}
    head = find(family.unembedding, names)
    bias = find(family.bias, names)
    if head is not None:
        return Parts(family.name, head, bias=bias, notes=tuple(notes), **known)
    shown = [i for i, part in enumerate(family.head) if any(part in name for name in names)]
    wanted = family.unembedding[shown[0] if shown else 0]
    architecture = str(config.get("general.architecture", ""))
    headless = family.encoder and not shown
    refusal = ""
    if embedding is None:
        refusal = f"{wanted}: is not there, nor an embedding; closest are {closest(wanted, names)}."
    elif headless or (gguf and GGUF_ENCODERS.search(architecture)):
        refusal = (
            f"{wanted}: is not there, for an encoder has input embeddings only; expected a language model, or "
            f"key={embedding!r} to take those."
        )
    elif setting(config, "tie_word_embeddings", "weight_tying", "tie_embeddings") is False:
        refusal = (
            f"{wanted}: is missing, and config.json does not tie it to {embedding}; closest are "
            f"{closest(wanted, names)}."
        )
    elif family.name == "original Llama":
        refusal = f"{wanted}: is missing; closest are {closest(wanted, names)}."
    if refusal:
        return Parts(family.name, refusal=refusal, bias=bias, notes=tuple(notes), **known)
    if not config:
        notes.append(f"{wanted} is not there, and no config.json either: taken as tied to {embedding}.")
    return Parts(family.name, embedding, wanted, bias=bias, notes=tuple(notes), **known)


def alone(names: Collection[str]) -> Parts:
    """Parts where no family is known: a key that says what it is, or nothing."""
    head = find(ALONE, names)
    if head is not None:
        bias = find([head.removesuffix("weight") + "bias"], names)
        return Parts("unknown", head, bias=bias, notes=("No known family: its final norm was not looked for.",))
    near = closest("lm_head.weight", names)
    return Parts("unknown", refusal=f"unembedding: got no key that is known as one; closest are {near}, expected key=.")
