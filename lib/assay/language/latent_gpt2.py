"""GPT-2 with latent slots, from weights of the public Coconut and CODI code, over a cache that can be forked.

Sources: Radford et al. (2019), section 2.3 (the model); Hao et al. (2024), section 3, and Shen et al. (2025), section
3.1, for what is fed. Keys are those that both public trainers write; LoRA is merged as W + α/r · B A (Hu et al. 2021,
eq. 3).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from assay.language.latent_decoder import Cache, attention_of_forks

__all__ = ["Gpt2Latent", "Gpt2State", "Questions", "merged_lora", "plain_names"]

LAYER_PARTS = ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")


@dataclass(frozen=True)
class Questions:
    """Prompts as tokens, of unequal length.

    Attributes:
        tokens: for each prompt, its tokens with the mark after which thinking begins.
    """

    tokens: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows: slice) -> Questions:
        return Questions(self.tokens[rows])

    def padded(self) -> tuple[Tensor, Tensor]:
        """(B, P) tokens with zeros in front, so that latent slots stand in line, and (B, P) True where nothing is."""
        longest = max(map(len, self.tokens))
        rows = [[0] * (longest - len(t)) + list(t) for t in self.tokens]
        empty = [[True] * (longest - len(t)) + [False] * len(t) for t in self.tokens]
        return torch.tensor(rows), torch.tensor(empty)


@dataclass(frozen=True)
class Gpt2State:
    """What was read: cache, last states (B, F, d), padding (B, P), and the next position of each prompt (B,)."""

    cache: Cache
    hidden: Tensor
    padding: Tensor
    position: Tensor


class Gpt2Latent:
    """GPT-2 under the protocol of `assay.language.interventions`.

    Attributes:
        latents: T. heads: of attention. end: token that ends thinking. projection: CODI's weights, else None.
    """

    def __init__(
        self, weights: Mapping[str, Tensor], *, heads: int, latents: int, end: int,
        projection: Mapping[str, Tensor] | None = None,
    ) -> None:  # fmt: skip
        """Take float32 weights under GPT-2's names (`wte.weight`, `h.0.attn.c_attn.weight`, …).

        Raises:
            ValueError: a weight is missing, with the names that come nearest, or heads do not divide the width.
        """
        layers = 1 + max((int(n.split(".")[1]) for n in weights if n.startswith("h.")), default=-1)
        wanted = ["wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"]
        wanted += [
            f"h.{i}.{p}.{kind}" for i in range(max(1, layers)) for p in LAYER_PARTS for kind in ("weight", "bias")
        ]
        for name in wanted:
            if name not in weights:
                near = difflib.get_close_matches(name, list(weights), 2)
                raise ValueError(f"{name}: is missing; the nearest are {', '.join(near) or 'none'}.")
        if heads < 1 or weights["wte.weight"].shape[1] % heads:
            raise ValueError(f"n_head: got {heads}; expected a divisor of {weights['wte.weight'].shape[1]}.")
        self.weights, self.heads, self.layers = dict(weights), heads, layers
        self.latents, self.end, self.projection = latents, end, projection
        self.unembedding = self.weights.get("lm_head.weight", self.weights["wte.weight"])

    def encode(self, prompts: Questions) -> Gpt2State:
        """Read prompts, padded in front, each with positions of its own."""
        tokens, padding = prompts.padded()
        position = (~padding).long().cumsum(dim=1) - 1
        x = self.weights["wte.weight"][tokens] + self.positions(position.clamp(min=0))
        count = tokens.shape[1]
        allowed = torch.ones(count, count, dtype=torch.bool).tril() & ~padding[:, None, :]
        allowed = allowed | torch.eye(count, dtype=torch.bool)  # padding reads itself, so that nothing is undefined
        shared = []
        for i in range(self.layers):
            q, k, v = self.project(i, x)
            shared.append((k, v))
            out = functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed[:, None])
            x = self.after(i, x, out.transpose(-3, -2).flatten(-2))
        hidden = self.normed("ln_f", x)[:, -1:]
        cache = Cache(tuple(shared), None, count).forked(torch.tensor([0]))
        return Gpt2State(cache, hidden, padding, position[:, -1] + 1)

    def latent(self, state: Gpt2State) -> Tensor:
        if self.projection is None:
            return state.hidden
        p = self.projection
        inner = functional.gelu(functional.linear(state.hidden, p["1.weight"], p["1.bias"]))
        out = functional.linear(inner, p["3.weight"], p["3.bias"])
        return functional.layer_norm(out, out.shape[-1:], p["ln.weight"], p["ln.bias"]) if "ln.weight" in p else out

    def advance(self, state: Gpt2State, h: Tensor) -> Gpt2State:
        hidden, after = self.read(state, h[:, :, None])
        return replace(after, hidden=hidden[:, :, -1])

    def fork(self, state: Gpt2State, parents: Tensor) -> Gpt2State:
        return replace(state, cache=state.cache.forked(parents), hidden=state.hidden[:, parents])

    def readout(self, state: Gpt2State, targets: Tensor, *, end: bool) -> Tensor:
        given = targets[:, :-1]
        if end:
            given = torch.cat([torch.full_like(targets[:, :1], self.end), given], dim=1)
        states = [] if end else [state.hidden[:, :, None]]
        if given.shape[1]:
            forks = state.hidden.shape[1]
            x = self.weights["wte.weight"][given][:, None].expand(-1, forks, -1, -1)
            states.append(self.read(state, x)[0])
        return torch.cat(states, dim=2) @ self.unembedding.T

    def read(self, state: Gpt2State, inputs: Tensor) -> tuple[Tensor, Gpt2State]:
        """States (B, F, n, d) after the final norm for inputs without positions, and what was read."""
        count = inputs.shape[2]
        position = state.position[:, None] + torch.arange(count)
        x = inputs + self.positions(position)[:, None]
        assert state.cache.own is not None
        own = []
        for i in range(self.layers):
            q, k, v = self.project(i, x)
            out, pair = attention_of_forks(q, k, v, state.cache.shared[i], state.cache.own[i], state.padding)
            own.append(pair)
            x = self.after(i, x, out)
        cache = Cache(state.cache.shared, tuple(own), state.cache.length + count)
        return self.normed("ln_f", x), replace(state, cache=cache, position=state.position + count)

    def positions(self, position: Tensor) -> Tensor:
        table = self.weights["wpe.weight"]
        if int(position.max()) >= len(table):
            raise ValueError(f"prompt: got {int(position.max()) + 1} positions; expected at most {len(table)}.")
        return table[position]

    def normed(self, name: str, x: Tensor) -> Tensor:
        return functional.layer_norm(x, x.shape[-1:], self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def conv(self, name: str, x: Tensor) -> Tensor:
        """GPT-2 keeps its matrices as inputs × outputs."""
        return x @ self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def project(self, i: int, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        *lead, count, d = x.shape
        mixed = self.conv(f"h.{i}.attn.c_attn", self.normed(f"h.{i}.ln_1", x))
        q, k, v = mixed.view(*lead, count, 3, self.heads, d // self.heads).transpose(-4, -2).unbind(dim=-3)
        return q, k, v

    def after(self, i: int, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.conv(f"h.{i}.attn.c_proj", attended)
        inner = functional.gelu(self.conv(f"h.{i}.mlp.c_fc", self.normed(f"h.{i}.ln_2", x)), approximate="tanh")
        return x + self.conv(f"h.{i}.mlp.c_proj", inner)


def plain_names(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights under GPT-2's own names, whatever wraps them: `base_causallm.`, `codi.base_model.model.`, `transformer.`.

    Raises:
        ValueError: a Llama, which is not run here with latents.
    """
    out = {}
    for name, value in weights.items():
        for wrap in ("base_causallm.", "codi.base_model.model.", "codi.", "transformer."):
            name = name.removeprefix(wrap)
        out[name] = value
    if any(name.startswith("model.layers.") for name in out):
        raise ValueError("model: the checkpoint is of a Llama; expected GPT-2, which is run here with latents.")
    return out


def merged_lora(weights: Mapping[str, Tensor], alpha: float) -> dict[str, Tensor]:
    """Weights with LoRA folded in: W + α/r · (B A), transposed for GPT-2's matrices of inputs × outputs.

    Raises:
        ValueError: half of a pair, or shapes that do not fit.
    """
    out: dict[str, Tensor] = {}
    for name, value in weights.items():
        if ".lora_" in name:
            continue
        if ".base_layer." not in name:
            out[name] = value
            continue
        stem, _, kind = name.rpartition(".base_layer.")
        plain = f"{stem}.{kind}"
        a, b = (weights.get(f"{stem}.lora_{part}.default.weight") for part in "AB")
        if kind != "weight" or (a is None and b is None):
            out[plain] = value
            continue
        if a is None or b is None:
            raise ValueError(f"{stem}: has one half of a LoRA pair; expected lora_A and lora_B.")
        change = alpha / a.shape[0] * (b @ a)
        if change.shape != value.shape:
            change = change.T
        if change.shape != value.shape:
            raise ValueError(f"{stem}: LoRA gives {tuple(change.shape)}; expected {tuple(value.shape)}.")
        if value.shape[0] == value.shape[1] and "c_" in stem.rpartition(".")[2]:
            change = (alpha / a.shape[0] * (b @ a)).T
        out[plain] = value + change
    return out
