"""Weights of a checkpoint under the names of a model, each read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from assay.checkpoints import Checkpoint

__all__ = ["Change", "LazyWeights"]

Change = Callable[[Tensor], Tensor]


class LazyWeights(Mapping[str, Tensor]):
    """Names with what is read for them, in float32; nothing is kept, so that a layer of a large model costs a layer."""

    def __init__(self, opened: Checkpoint, names: Mapping[str, tuple[str, Change | None]]) -> None:
        """Take a checkpoint, and for each name that of its tensor and what is done to it."""
        self.opened = opened
        self.names = dict(names)

    def __getitem__(self, name: str) -> Tensor:
        stored, change = self.names[name]
        value = self.opened.tensor(stored, dtype=torch.float32)
        return value if change is None else change(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def stored_as(self, name: str) -> str:
        """Stored type of a weight, such as Q4_1, without reading it."""
        return self.opened.stored(self.names[name][0]).dtype
