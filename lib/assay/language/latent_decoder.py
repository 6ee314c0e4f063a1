"""The small decoder, run a slot at a time over a cache that can be forked, with hidden states fed back as inputs.

Source: Hao et al. (2024), "Training Large Language Models to Reason in a Continuous Latent Space" (Coconut), section 3:
the state after the final norm is the next input; Shen et al. (2025), "CODI", section 3.1: a small projection lies
between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from assay.models.decoder import HEAD, Block, Decoder, DecoderShape, rotated

__all__ = ["MODES", "Cache", "LatentDecoder", "Projection", "attention_of_forks"]

MODES = ("coconut", "codi", "pause", "explicit", "random")
Pair = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Cache:
    """Keys and values of what was read; never changed in place.

    Attributes:
        shared: a layer's (B, H, P, 16) keys and values, read by all forks.
        own: a layer's (B, F, H, S, 16) keys and values of F forks; None before the first fork.
        length: positions read so far, P + S.
    """

    shared: tuple[Pair, ...]
    own: tuple[Pair, ...] | None
    length: int

    def forked(self, parents: Tensor) -> Cache:
        """Forks as copies of the forks with these numbers; all 0 where nothing was forked before.

        What was read before the first fork is shared, not copied.
        """
        if self.own is None:
            batch, heads, _, width = self.shared[0][0].shape
            empty = self.shared[0][0].new_empty(batch, len(parents), heads, 0, width)
            return replace(self, own=tuple((empty, empty) for _ in self.shared))
        return replace(self, own=tuple((k[:, parents], v[:, parents]) for k, v in self.own))


class Projection(nn.Module):
    """CODI's map from a state to the next input: linear, GELU, linear, layer norm (section 3.1; no dropout here)."""

    def __init__(self, width: int, inner: int, generator: torch.Generator) -> None:
        super().__init__()
        self.up = linear(width, inner, generator)
        self.down = linear(inner, width, generator)
        self.norm = nn.LayerNorm(width)

    def forward(self, hidden: Tensor) -> Tensor:
        return self.norm(self.down(functional.gelu(self.up(hidden))))


def linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    with torch.device("meta"):
        layer = nn.Linear(inputs, outputs)
    layer.to_empty(device="cpu")
    with torch.no_grad():
        layer.weight.normal_(0.0, inputs**-0.5, generator=generator)
        layer.bias.zero_()
    return layer


class LatentDecoder(nn.Module):
    """A decoder that thinks in latent slots.

    Attributes:
        decoder: its weights.
        mode: what is fed at a slot. `coconut`: the state after the final norm; `codi`: that state through a projection;
            `pause`: the same token in every slot, whatever the state; `explicit`: the embedding of the likeliest token,
            which makes a chain of thought in words; `random`: a normal vector of the state's norm.
        mark: token of `pause` slots, and what ends CODI's thinking.
        projection: of `codi`, else None.
    """

    def __init__(
        self, shape: DecoderShape, mode: str, mark: int, generator: torch.Generator, *, embedding_spread: float = 0.3
    ) -> None:
        """Draw first weights; `embedding_spread` is the standard deviation of the tied embedding.

        Raises:
            ValueError: an unknown mode, or an untied shape.
        """
        super().__init__()
        if mode not in MODES:
            raise ValueError(f"mode: got {mode!r}; expected one of {', '.join(MODES)}.")
        if not shape.tied:
            raise ValueError("shape: got an untied decoder; expected a tied one, so that a state is a usable input.")
        self.mode = mode
        self.mark = mark
        self.decoder = Decoder(shape, generator)
        with torch.no_grad():
            self.decoder.embedding.weight.mul_(embedding_spread / shape.spread)
        self.projection = Projection(shape.width, shape.width, generator) if mode == "codi" else None

    def embed(self, tokens: Tensor) -> Tensor:
        """(…, d) inputs of tokens."""
        return self.decoder.embedding(tokens)

    def unembed(self, hidden: Tensor) -> Tensor:
        """(…, V) logits of states after the final norm."""
        return self.decoder.unembedding(hidden)

    def latent_map(self, hidden: Tensor) -> Tensor:
        """(…, d) what a state proposes as the next slot's input."""
        if self.projection is not None:
            return self.projection(hidden)
        if self.mode == "pause":
            return self.embed(torch.tensor(self.mark)).expand_as(hidden)
        if self.mode == "explicit":
            return self.embed(self.unembed(hidden).argmax(dim=-1))
        if self.mode == "random":
            drawn = torch.randn(hidden.shape, generator=torch.Generator().manual_seed(hidden.shape[0]))
            return drawn * hidden.norm(dim=-1, keepdim=True) / drawn.norm(dim=-1, keepdim=True)
        return hidden

    def read(
        self, inputs: Tensor, cache: Cache | None = None, layers: list[Tensor] | None = None
    ) -> tuple[Tensor, Cache]:
        """(B, n, d) states after the final norm, for n inputs after what the cache holds; with forks (B, F, n, d).

        `layers`, where given, takes the state after every block.

        Raises:
            ValueError: longer than the context.
        """
        start = 0 if cache is None else cache.length
        count = inputs.shape[-2]
        if start + count > self.decoder.shape.context:
            raise ValueError(f"prompt: got {start + count} positions; expected at most {self.decoder.shape.context}.")
        cosine, sine = self.decoder.cosine[start : start + count], self.decoder.sine[start : start + count]
        x = inputs
        shared: list[Pair] = []
        own: list[Pair] = []
        for number, block in enumerate(self.decoder.blocks):
            assert isinstance(block, Block)
            q, k, v = heads(block, block.input_norm(x), cosine, sine)
            if cache is not None and cache.own is not None:
                attended, pair = attention_of_forks(q, k, v, cache.shared[number], cache.own[number])
                own.append(pair)
            else:
                attended, pair = attention(q, k, v, None if cache is None else cache.shared[number])
                shared.append(pair)
            x = x + block.attended(attended)
            x = x + block.feed_forward(block.inner_norm(x))
            if layers is not None:
                layers.append(x)
        length = start + count
        after = Cache(tuple(shared), None, length) if not own else Cache(cache.shared, tuple(own), length)  # type: ignore[union-attr]
        return self.decoder.final_norm(x), after


def heads(block: Block, x: Tensor, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(…, H, n, 16) queries, keys and values with rotary positions."""
    *lead, count, _ = x.shape
    q, k, v = block.mixed(x).view(*lead, count, 3, block.heads, HEAD).transpose(-4, -2).unbind(dim=-3)
    return rotated(q, cosine, sine), rotated(k, cosine, sine), v


def attention(q: Tensor, k: Tensor, v: Tensor, before: Pair | None) -> tuple[Tensor, Pair]:
    """Causal attention of (B, H, n, 16) over what was read before and over itself."""
    count = q.shape[-2]
    if before is not None:
        k, v = torch.cat([before[0], k], dim=-2), torch.cat([before[1], v], dim=-2)
    total = k.shape[-2]
    if before is None or count == 1:
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=count > 1)
    else:
        mask = torch.ones(count, total, dtype=torch.bool).tril(total - count)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(-3, -2).flatten(-2), (k, v)


def attention_of_forks(
    q: Tensor, k: Tensor, v: Tensor, shared: Pair, own: Pair, padding: Tensor | None = None
) -> tuple[Tensor, Pair]:
    """As `attention` for (B, F, H, n, e): all forks read the shared part where it lies, and each its own.

    `padding` (B, P) is True where the shared part holds no token.
    """
    batch, forks, number, count, width = q.shape
    k, v = torch.cat([own[0], k], dim=-2), torch.cat([own[1], v], dim=-2)
    q = q * width**-0.5
    together = q.transpose(1, 2).reshape(batch, number, forks * count, width)
    of_shared = (together @ shared[0].transpose(-1, -2)).view(batch, number, forks, count, -1).transpose(1, 2)
    if padding is not None:
        of_shared = of_shared.masked_fill(padding[:, None, None, None, :], float("-inf"))
    of_own = q @ k.transpose(-1, -2)
    if count > 1:
        allowed = torch.ones(count, k.shape[-2], dtype=torch.bool).tril(k.shape[-2] - count)
        of_own = of_own.masked_fill(~allowed, float("-inf"))
    prefix = of_shared.shape[-1]
    weights = torch.cat([of_shared, of_own], dim=-1).softmax(dim=-1)
    seen = weights[..., :prefix].transpose(1, 2).reshape(batch, number, forks * count, prefix) @ shared[1]
    out = seen.view(batch, number, forks, count, width).transpose(1, 2) + weights[..., prefix:] @ v
    return out.transpose(-3, -2).flatten(-2), (k, v)
