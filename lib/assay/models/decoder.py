"""A small decoder in the style of OLMo 2: pre-norm, rotary positions, SwiGLU, RMSNorm, no biases.

Source: Groeneveld et al. (2024), "OLMo", section 2.1, and OLMo et al. (2025), "2 OLMo 2 Furious", section 2.1; the
parallel block is that of GPT-J and Pythia (Biderman et al. 2023, section 2.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["Decoder", "DecoderShape"]

HEAD = 16  # width of an attention head
ROTARY_BASE = 10_000.0
EPSILON = 1e-6


@dataclass(frozen=True)
class DecoderShape:
    """What a decoder looks like.

    Attributes:
        tokens: V, size of the vocabulary.
        width: d, a multiple of 16, which is the width of a head.
        layers: how many blocks.
        context: longest sequence.
        tied: the unembedding is the embedding.
        parallel: attention and feed-forward read the same state and are added together (Pythia), instead of one after
            the other (OLMo).
        spread: standard deviation of the first weights.

    Raises:
        ValueError: a size below 1, a width that is no multiple of 16, or a spread that is not above 0.
    """

    tokens: int
    width: int
    layers: int
    context: int = 64
    tied: bool = False
    parallel: bool = False
    spread: float = 0.02

    def __post_init__(self) -> None:
        for name in ("tokens", "width", "layers", "context"):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value or value < 1:
                raise ValueError(f"{name}: got {value}; expected a whole number of at least 1.")
        if self.width % HEAD:
            raise ValueError(f"width: got {self.width}; expected a multiple of {HEAD}.")
        if not 0 < self.spread < float("inf"):
            raise ValueError(f"spread: got {self.spread}; expected a number above 0.")

    @property
    def inner(self) -> int:
        """Width of the feed-forward part: 8 d / 3, rounded to a multiple of 16."""
        return max(HEAD, round(8 * self.width / 3 / HEAD) * HEAD)

    @property
    def non_embedding(self) -> int:
        """Parameters without embedding and unembedding, the final norm's gain included."""
        block = 4 * self.width**2 + 3 * self.width * self.inner + (1 if self.parallel else 2) * self.width
        return self.layers * block + self.width

    def as_dict(self) -> dict[str, Any]:
        """Plain data; `DecoderShape(**…)` takes it back."""
        return asdict(self)


class Block(nn.Module):
    """Attention and feed-forward, each added to what it reads."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        d = shape.width
        self.heads = d // HEAD
        self.parallel = shape.parallel
        self.input_norm = nn.RMSNorm(d, EPSILON)
        self.mixed = nn.Linear(d, 3 * d, bias=False)
        self.attended = nn.Linear(d, d, bias=False)
        if not shape.parallel:
            self.inner_norm = nn.RMSNorm(d, EPSILON)
        self.gated = nn.Linear(d, 2 * shape.inner, bias=False)
        self.down = nn.Linear(shape.inner, d, bias=False)

    def forward(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        read = self.input_norm(x)
        attended = self.attention(read, cosine, sine)
        if self.parallel:
            return x + attended + self.feed_forward(read)
        x = x + attended
        return x + self.feed_forward(self.inner_norm(x))

    def attention(self, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        batch, steps, d = x.shape
        q, k, v = self.mixed(x).view(batch, steps, 3, self.heads, HEAD).permute(2, 0, 3, 1, 4)
        q, k = rotated(q, cosine, sine), rotated(k, cosine, sine)
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.attended(out.transpose(1, 2).reshape(batch, steps, d))

    def feed_forward(self, x: Tensor) -> Tensor:
        up, gate = self.gated(x).chunk(2, dim=-1)
        return self.down(functional.silu(gate) * up)


class Decoder(nn.Module):
    """Tokens in, logits of the next token out.

    Attributes:
        shape: what it looks like.
    """

    def __init__(self, shape: DecoderShape, generator: torch.Generator) -> None:
        """Draw first weights, N(0, spread²), from the generator alone; gains are 1."""
        super().__init__()
        self.shape = shape
        with torch.device("meta"):
            # Given a weight, it draws none: drawing on no device would import PyTorch's compiler.
            self.embedding = nn.Embedding(shape.tokens, shape.width, _weight=torch.empty(shape.tokens, shape.width))
            self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
            self.final_norm = nn.RMSNorm(shape.width, EPSILON)
            self.unembedding = nn.Linear(shape.width, shape.tokens, bias=False)
        self.to_empty(device="cpu")
        if shape.tied:
            self.unembedding.weight = self.embedding.weight
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if name.endswith("norm.weight"):
                    parameter.fill_(1.0)
                else:
                    parameter.normal_(0.0, shape.spread, generator=generator)
        self.cosine: Tensor
        self.sine: Tensor
        turns = torch.arange(shape.context)[:, None] * ROTARY_BASE ** (-torch.arange(0, HEAD, 2) / HEAD)
        self.register_buffer("cosine", turns.cos().repeat(1, 2), persistent=False)
        self.register_buffer("sine", turns.sin().repeat(1, 2), persistent=False)

    def states(self, tokens: Tensor) -> Tensor:
        """(B, T, d) states after the final norm, which the unembedding multiplies, for (B, T) tokens.

        Raises:
            ValueError: longer than the context.
        """
        steps = tokens.shape[1]
        if steps > self.shape.context:
            raise ValueError(f"tokens: got {steps} in a row; expected at most {self.shape.context}.")
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, self.cosine[:steps], self.sine[:steps])
        return self.final_norm(x)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T, V) logits for (B, T) tokens."""
        return self.unembedding(self.states(tokens))

    def load_named(self, weights: Mapping[str, Tensor]) -> None:
        """Take weights as `named_weights` gives them, of any float type.

        Raises:
            ValueError: a weight is missing, or of another shape.
        """
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                given = weights.get(hugging_face_name(name))
                if given is None or given.shape != parameter.shape:
                    came = "none" if given is None else tuple(given.shape)
                    raise ValueError(f"{hugging_face_name(name)}: got {came}; expected {tuple(parameter.shape)}.")
                parameter.copy_(given)

    def named_weights(self) -> dict[str, Tensor]:
        """Weights under the names of a Hugging Face folder, tied ones once: what a checkpoint of it holds."""
        return {hugging_face_name(name): value.detach() for name, value in self.named_parameters()}


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary positions (Su et al. 2021, eq. 34), halves of a head as real and imaginary parts."""
    half = x.shape[-1] // 2
    return x * cosine + torch.cat([-x[..., half:], x[..., :half]], dim=-1) * sine


NAMES = {
    "embedding": "model.embed_tokens", "unembedding": "lm_head", "final_norm": "model.norm", "blocks": "model.layers",
    "input_norm": "input_layernorm", "inner_norm": "post_attention_layernorm", "mixed": "self_attn.qkv_proj",
    "attended": "self_attn.o_proj", "gated": "mlp.up_gate_proj", "down": "mlp.down_proj",
}  # fmt: skip


def hugging_face_name(name: str) -> str:
    return ".".join(NAMES.get(part, part) for part in name.split("."))
