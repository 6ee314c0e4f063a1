"""BERT-like encoders run from named weights: sentence embeddings, any matrix exchanged, inputs of layers seen.

Source: Devlin et al. (2019), section 3; mean pooling and unit length: Reimers & Gurevych (2019). Names as transformers'
`BertModel` has them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from assay.checkpoints import Checkpoint
from assay.checkpoints.families import setting
from assay.models.named_weights import Change, LazyWeights

__all__ = ["Bert", "read_bert"]

Seen = Callable[[str, Tensor], None]
MATRICES = (
    "attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
    "intermediate.dense", "output.dense",
)  # fmt: skip
LAYER = re.compile(r"encoder\.layer\.([0-9]+)\.")


@dataclass(frozen=True, eq=False)
class Bert:
    """An encoder as its weights.

    Attributes:
        layers, heads: numbers of blocks and of heads. epsilon: of the norms. context: longest sequence.
        weights: float32 by name, `embeddings.word_embeddings.weight` and so on.
    """

    layers: int
    heads: int
    epsilon: float
    context: int
    weights: Mapping[str, Tensor]

    def matrices(self) -> tuple[str, ...]:
        """Names of the matrices of all blocks, in order."""
        return tuple(f"encoder.layer.{i}.{name}.weight" for i in range(self.layers) for name in MATRICES)

    def with_weights(self, changed: Mapping[str, Tensor]) -> Bert:
        """The same encoder with some weights exchanged."""
        return replace(self, weights={**self.weights, **changed})

    def loaded(self) -> Bert:
        """The same encoder with all weights in memory."""
        return replace(self, weights=dict(self.weights))

    @torch.no_grad()
    def embed(self, sentences: Sequence[Sequence[int]], seen: Seen | None = None) -> Tensor:
        """(n, d) embeddings of unit length, the mean state of each sentence.

        Args:
            sentences: tokens of each; longer ones are cut off at the context.
            seen: told, for every matrix of a block, its name and its inputs (tokens, D), padding left out.
        """
        length = min(self.context, max(len(one) for one in sentences))
        tokens = torch.zeros(len(sentences), length, dtype=torch.long)
        there = torch.zeros(len(sentences), length, dtype=torch.bool)
        for i, one in enumerate(sentences):
            own = list(one)[:length]
            tokens[i, : len(own)], there[i, : len(own)] = torch.tensor(own), True
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][tokens]
        x = x + w["embeddings.position_embeddings.weight"][:length] + w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm("embeddings.LayerNorm", x)
        told = None if seen is None else (lambda name, given: seen(name, given[there]))
        for i in range(self.layers):
            place = f"encoder.layer.{i}"
            q, k, v = (
                self._linear(f"{place}.attention.self.{name}", x, told).unflatten(2, (self.heads, -1)).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            out = functional.scaled_dot_product_attention(q, k, v, attn_mask=there[:, None, None, :])
            out = self._linear(f"{place}.attention.output.dense", out.transpose(1, 2).flatten(2), told)
            x = self._norm(f"{place}.attention.output.LayerNorm", x + out)
            inner = functional.gelu(self._linear(f"{place}.intermediate.dense", x, told))
            x = self._norm(f"{place}.output.LayerNorm", x + self._linear(f"{place}.output.dense", inner, told))
        share = there[:, :, None].float()
        return functional.normalize((x * share).sum(1) / share.sum(1), dim=1)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        return functional.layer_norm(
            x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"], self.epsilon
        )

    def _linear(self, name: str, x: Tensor, seen: Seen | None) -> Tensor:
        if seen is not None:
            seen(f"{name}.weight", x)
        return functional.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])


def read_bert(opened: Checkpoint) -> Bert:
    """A BERT-like encoder from a Hugging Face folder, in float32, read when asked for.

    Without a configuration its sizes follow from names and shapes.

    Raises:
        ValueError: another architecture, or a weight that is missing or cannot be read.
    """
    names = {name.removeprefix("bert."): name for name in opened.names()}
    layers = 1 + max((int(m[1]) for name in names if (m := LAYER.match(name))), default=-1)
    needed = [f"encoder.layer.{i}.{name}.{part}" for i in range(layers) for name in MATRICES
              for part in ("weight", "bias")]  # fmt: skip
    needed += [f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")]
    missing = [name for name in needed if name not in names]
    if not layers or missing:
        lacks = missing[0] if missing else "encoder.layer.0"
        raise ValueError(f"{opened.name}: lacks {lacks}; expected the weights of a BERT-like encoder.")
    places: dict[str, tuple[str, Change | None]] = {
        short: (name, None) for short, name in names.items()
        if short.startswith(("encoder.", "embeddings.")) and not short.endswith("position_ids")
    }  # fmt: skip
    width = opened.stored(names["embeddings.word_embeddings.weight"]).shape[1]
    context = opened.stored(names["embeddings.position_embeddings.weight"]).shape[0]
    heads = int(setting(opened.config, "num_attention_heads") or max(1, width // 32))
    if width % heads:
        raise ValueError(f"{opened.name}: has {heads} heads of {width}; expected a number that divides it.")
    epsilon = float(setting(opened.config, "layer_norm_eps") or 1e-12)
    return Bert(layers, heads, epsilon, context, LazyWeights(opened, places))
