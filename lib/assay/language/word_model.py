"""The small latent decoder on words of a group, as a model that can be intervened on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.language.latent_decoder import Cache, LatentDecoder
from assay.language.word_task import Laid

__all__ = ["Thought", "WordModel"]


@dataclass(frozen=True)
class Thought:
    """A state: what was read, the last states (B, F, d), slots fed, and the tokens (B, U) that come after thinking."""

    cache: Cache
    hidden: Tensor
    slots: int
    tail: Tensor


@dataclass(frozen=True, eq=False)
class WordModel:
    """A `LatentDecoder` under the protocol of `assay.language.interventions`.

    Attributes:
        decoder: weights. latents: T, slots before the answer.
    """

    decoder: LatentDecoder
    latents: int

    def encode(self, prompts: Laid) -> Thought:
        """Read prompts and their mark; a CODI model ends thinking with a mark of its own."""
        hidden, cache = self.decoder.read(self.decoder.embed(prompts.prompt))
        tail = prompts.tail
        if self.decoder.projection is not None:
            tail = torch.cat([torch.full((len(tail), 1), self.decoder.mark), tail], dim=1)
        return Thought(cache, hidden[:, -1:], 0, tail)

    def latent(self, state: Thought) -> Tensor:
        return self.decoder.latent_map(state.hidden)

    def advance(self, state: Thought, h: Tensor) -> Thought:
        """Feed a slot; a pause model feeds its token, whatever it is given."""
        if self.decoder.mode == "pause":
            h = self.decoder.latent_map(h)
        if state.cache.own is None:
            hidden, cache = self.decoder.read(h, state.cache)
        else:
            hidden, cache = self.decoder.read(h[:, :, None], state.cache)
            hidden = hidden[:, :, -1]
        return replace(state, cache=cache, hidden=hidden, slots=state.slots + 1)

    def fork(self, state: Thought, parents: Tensor) -> Thought:
        return replace(state, cache=state.cache.forked(parents), hidden=state.hidden[:, parents])

    def readout(self, state: Thought, targets: Tensor, *, end: bool) -> Tensor:
        hidden = state.hidden
        if end and state.tail.shape[1]:
            given = self.decoder.embed(state.tail)
            if state.cache.own is None:
                after, _ = self.decoder.read(given, state.cache)
                hidden = after[:, -1:]
            else:
                forks = hidden.shape[1]
                after, _ = self.decoder.read(given[:, None].expand(-1, forks, -1, -1), state.cache)
                hidden = after[:, :, -1]
        return self.decoder.unembed(hidden)[:, :, None]
