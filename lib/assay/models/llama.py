"""Llama-like decoders run from named weights: any matrix can be exchanged, and the inputs of every layer be seen.

Sources: Touvron et al. (2023), "LLaMA", section 2.2; grouped queries: Ainslie et al. (2023); names as transformers'
`LlamaForCausalLM`, `MistralForCausalLM`, `Qwen2ForCausalLM` and `Qwen3ForCausalLM` have them, and GGUF's `llama`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from assay.checkpoints import Checkpoint
from assay.checkpoints.families import setting
from assay.models.decoder import EPSILON, HEAD, ROTARY_BASE, Decoder
from assay.models.named_weights import Change, LazyWeights

__all__ = ["MATRICES", "Llama", "LlamaShape", "llama_of_decoder", "read_llama"]

Seen = Callable[[str, Tensor], None]

MATRICES = (
    "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
    "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj",
)  # fmt: skip
"""Matrices of a block, by name."""
GGUF_NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
}  # fmt: skip
KINDS = ("llama", "mistral", "qwen2", "qwen3", "smollm")
LAYER = re.compile(r"blk\.([0-9]+)\.(\w+)\.(weight|bias)")


@dataclass(frozen=True)
class LlamaShape:
    """What a decoder looks like beside its weights.

    Attributes:
        layers, heads, kv_heads, head: numbers of blocks, of query heads, of key heads, and width of a head.
        epsilon: of the norms. base: of rotary positions.
        context: longest sequence.
    """

    layers: int
    heads: int
    kv_heads: int
    head: int
    epsilon: float
    base: float
    context: int


@dataclass(frozen=True, eq=False)
class Llama:
    """A decoder as its weights.

    Attributes:
        shape: what it looks like.
        weights: float32 by name, `model.embed_tokens.weight` and so on; without `lm_head.weight` embeddings are tied.
    """

    shape: LlamaShape
    weights: Mapping[str, Tensor]

    def matrices(self) -> tuple[str, ...]:
        """Names of the matrices of all blocks, in order."""
        return tuple(f"model.layers.{i}.{name}.weight" for i in range(self.shape.layers) for name in MATRICES)

    def with_weights(self, changed: Mapping[str, Tensor]) -> Llama:
        """The same decoder with some weights exchanged."""
        return replace(self, weights={**self.weights, **changed})

    def loaded(self) -> Llama:
        """The same decoder with all weights in memory."""
        return replace(self, weights=dict(self.weights))

    @torch.no_grad()
    def logits(self, tokens: Tensor, seen: Seen | None = None) -> Tensor:
        """(B, T, V) logits for (B, T) tokens.

        Args:
            tokens: at most `shape.context` in a row.
            seen: told, for every matrix of a block, its name and its inputs (B, T, D).

        Raises:
            ValueError: longer than the context, or a token outside the vocabulary.
        """
        table = self.weights["model.embed_tokens.weight"]
        if tokens.shape[1] > self.shape.context:
            raise ValueError(f"tokens: got {tokens.shape[1]} in a row; expected at most {self.shape.context}.")
        if int(tokens.max()) >= len(table) or int(tokens.min()) < 0:
            raise ValueError(f"tokens: got {int(tokens.max())}; expected 0 to {len(table) - 1}, the vocabulary.")
        x = table[tokens]
        steps = torch.arange(tokens.shape[1])[:, None]
        turns = steps * self.shape.base ** (-torch.arange(0, self.shape.head, 2) / self.shape.head)
        turn = (turns.cos().repeat(1, 2), turns.sin().repeat(1, 2))
        for i in range(self.shape.layers):
            x = x + self._attention(i, self._norm(f"model.layers.{i}.input_layernorm", x), turn, seen)
            x = x + self._feed_forward(i, self._norm(f"model.layers.{i}.post_attention_layernorm", x), seen)
        head = self.weights.get("lm_head.weight", table)
        return self._norm("model.norm", x) @ head.T

    def _norm(self, name: str, x: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], self.weights[f"{name}.weight"], self.shape.epsilon)

    def _linear(self, layer: int, name: str, x: Tensor, seen: Seen | None) -> Tensor:
        whole = f"model.layers.{layer}.{name}"
        if seen is not None:
            seen(f"{whole}.weight", x)
        return functional.linear(x, self.weights[f"{whole}.weight"], self.weights.get(f"{whole}.bias"))

    def _attention(self, layer: int, x: Tensor, turn: tuple[Tensor, Tensor], seen: Seen | None) -> Tensor:
        batch, steps, _ = x.shape
        parts = []
        for name, heads in (("q", self.shape.heads), ("k", self.shape.kv_heads), ("v", self.shape.kv_heads)):
            part = self._linear(layer, f"self_attn.{name}_proj", x, seen).view(batch, steps, heads, self.shape.head)
            gain = self.weights.get(f"model.layers.{layer}.self_attn.{name}_norm.weight")
            if gain is not None:
                part = functional.rms_norm(part, part.shape[-1:], gain, self.shape.epsilon)
            part = part.transpose(1, 2)
            parts.append(part if name == "v" else turned(part, *turn))
        q, k, v = parts
        shared = self.shape.heads // self.shape.kv_heads
        if shared > 1:
            k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self._linear(layer, "self_attn.o_proj", out.transpose(1, 2).reshape(batch, steps, -1), seen)

    def _feed_forward(self, layer: int, x: Tensor, seen: Seen | None) -> Tensor:
        gate, up = (self._linear(layer, f"mlp.{name}_proj", x, seen) for name in ("gate", "up"))
        return self._linear(layer, "mlp.down_proj", functional.silu(gate) * up, seen)

    def config(self) -> dict[str, Any]:
        """`config.json` of transformers' `LlamaForCausalLM`, or Qwen3's where queries are normed."""
        table = self.weights["model.embed_tokens.weight"]
        normed = "model.layers.0.self_attn.q_norm.weight" in self.weights
        kind, name = ("qwen3", "Qwen3ForCausalLM") if normed else ("llama", "LlamaForCausalLM")
        return {
            "architectures": [name], "model_type": kind, "vocab_size": len(table), "hidden_size": table.shape[1],
            "intermediate_size": len(self.weights["model.layers.0.mlp.gate_proj.weight"]),
            "num_hidden_layers": self.shape.layers, "num_attention_heads": self.shape.heads,
            "num_key_value_heads": self.shape.kv_heads, "head_dim": self.shape.head, "hidden_act": "silu",
            "rms_norm_eps": self.shape.epsilon, "rope_theta": self.shape.base,
            "max_position_embeddings": self.shape.context, "tie_word_embeddings": "lm_head.weight" not in self.weights,
            "attention_bias": "model.layers.0.self_attn.q_proj.bias" in self.weights, "mlp_bias": False,
        }  # fmt: skip


def turned(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cosine + torch.cat([-x[..., half:], x[..., :half]], dim=-1) * sine


def llama_of_decoder(model: Decoder) -> Llama:
    """A decoder of ours, its joint matrices cut in those of a Llama: the same logits.

    Raises:
        ValueError: parallel blocks, which a Llama has not.
    """
    if model.shape.parallel:
        raise ValueError("model: got parallel blocks; expected attention and feed-forward one after the other.")
    weights = {}
    for name, value in model.named_weights().items():
        place = name.rpartition(".")[0].rpartition(".")
        if place[2] == "qkv_proj":
            for part, own in zip("qkv", value.chunk(3), strict=True):
                weights[f"{place[0]}.{part}_proj.weight"] = own.clone()
        elif place[2] == "up_gate_proj":
            for part, own in zip(("up", "gate"), value.chunk(2), strict=True):
                weights[f"{place[0]}.{part}_proj.weight"] = own.clone()
        else:
            weights[name] = value.clone()
    heads = model.shape.width // HEAD
    shape = LlamaShape(model.shape.layers, heads, heads, HEAD, EPSILON, ROTARY_BASE, model.shape.context)
    return Llama(shape, weights)


def read_llama(opened: Checkpoint) -> Llama:
    """A Llama-like decoder from a Hugging Face folder or a GGUF file, in float32; weights are read when asked for.

    Raises:
        ValueError: another architecture, a setting that is missing, positions that are scaled, or a weight that cannot
            be read.
    """
    return from_gguf(opened) if opened.kind == "GGUF" else from_folder(opened)


def number(opened: Checkpoint, *names: str) -> float:
    value = setting(opened.config, *names)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{opened.name}: says nothing of {names[0]}; expected it in its configuration.")
    return value


def from_folder(opened: Checkpoint) -> Llama:
    kind = str(opened.config.get("model_type", "nothing"))
    if kind not in KINDS:
        raise ValueError(f"{opened.name}: its model_type is {kind[:40]}; expected one of {', '.join(KINDS)}.")
    scaling = opened.config.get("rope_scaling") or opened.config.get("rope_parameters") or {}
    form = str(scaling.get("rope_type", scaling.get("type", "default")))
    if form != "default":
        raise ValueError(f"{opened.name}: scales its rotary positions ({form[:20]}); expected plain ones.")
    heads = int(number(opened, "num_attention_heads"))
    width = int(number(opened, "hidden_size"))
    base = scaling.get("rope_theta", setting(opened.config, "rope_theta") or ROTARY_BASE)
    shape = LlamaShape(
        int(number(opened, "num_hidden_layers")), heads, int(setting(opened.config, "num_key_value_heads") or heads),
        int(setting(opened.config, "head_dim") or width // heads), float(number(opened, "rms_norm_eps")), float(base),
        int(number(opened, "max_position_embeddings")),
    )  # fmt: skip
    names: dict[str, tuple[str, Change | None]] = {name: (name, None) for name in opened.names() if wanted(name)}
    if opened.config.get("tie_word_embeddings"):
        names.pop("lm_head.weight", None)
    return checked(opened, shape, names)


def wanted(name: str) -> bool:
    return name.startswith("model.") or name == "lm_head.weight"


def from_gguf(opened: Checkpoint) -> Llama:
    kind = str(opened.config.get("general.architecture", "nothing"))
    if kind not in KINDS:
        raise ValueError(
            f"{opened.name}: its architecture is {kind[:40]}; expected one of {', '.join(KINDS)} to be run."
        )
    heads = int(number(opened, f"{kind}.attention.head_count"))
    width = int(number(opened, f"{kind}.embedding_length"))
    kv = int(opened.config.get(f"{kind}.attention.head_count_kv", heads))
    head = int(opened.config.get(f"{kind}.attention.key_length", width // heads))
    shape = LlamaShape(
        int(number(opened, f"{kind}.block_count")), heads, kv, head,
        float(number(opened, f"{kind}.attention.layer_norm_rms_epsilon")),
        float(opened.config.get(f"{kind}.rope.freq_base", ROTARY_BASE)), int(number(opened, f"{kind}.context_length")),
    )  # fmt: skip
    names: dict[str, tuple[str, Change | None]] = {}
    for name in opened.names():
        found = LAYER.fullmatch(name)
        if found and found[2] in GGUF_NAMES:
            paired = kind in ("llama", "mistral", "smollm") and found[2] in ("attn_q", "attn_k")
            change = functools.partial(unpaired, heads=heads if found[2] == "attn_q" else kv) if paired else None
            names[f"model.layers.{found[1]}.{GGUF_NAMES[found[2]]}.{found[3]}"] = (name, change)
    plain = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
             "output.weight": "lm_head.weight"}  # fmt: skip
    names |= {new: (old, None) for old, new in plain.items() if old in opened.names()}
    return checked(opened, shape, names)


def unpaired(value: Tensor, heads: int) -> Tensor:
    """Rows of queries or keys in transformers' order: GGUF keeps both halves of a rotated pair side by side."""
    return value.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def checked(opened: Checkpoint, shape: LlamaShape, names: dict[str, tuple[str, Change | None]]) -> Llama:
    needed = [f"model.layers.{i}.{name}.weight" for i in range(shape.layers)
              for name in (*MATRICES, "input_layernorm", "post_attention_layernorm")]  # fmt: skip
    missing = [n for n in (*needed, "model.embed_tokens.weight", "model.norm.weight") if n not in names]
    if missing:
        raise ValueError(f"{opened.name}: lacks {missing[0]}; expected the weights of a Llama-like decoder.")
    return Llama(shape, LazyWeights(opened, names))
