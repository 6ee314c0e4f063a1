"""Selective copying: remember the tokens that matter among many that do not, and say them in order."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["CopyingTask"]


@dataclass(frozen=True)
class CopyingTask:
    """A task that a time-invariant filter cannot do: when a token comes, and not only that it came, is random.

    Source: Gu and Dao (arXiv 2312.00752), section 4.1.1, figure 2. Token 0 is noise, token 1 asks for the next answer.

    Attributes:
        vocabulary: tokens in all.
        remembered: tokens to copy, which are drawn from 2 to `vocabulary` - 1.
        context: places among which they are scattered; the others hold noise.
    """

    vocabulary: int = 16
    remembered: int = 8
    context: int = 48

    def __post_init__(self) -> None:
        if self.vocabulary < 3 or not 1 <= self.remembered <= self.context:
            raise ValueError(
                f"task: got {self.vocabulary} tokens, {self.remembered} to copy from {self.context} places; expected "
                "at least 3 tokens, and no more to copy than places."
            )

    @property
    def length(self) -> int:
        """Tokens of a sequence: the context and a question for every answer."""
        return self.context + self.remembered

    def draw(self, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Sequences and what should be answered at their last places.

        Returns:
            tokens (batch, length) and answers (batch, remembered), both int64.
        """
        answers = torch.randint(2, self.vocabulary, (batch, self.remembered), generator=generator)
        places = torch.rand(batch, self.context, generator=generator).argsort(1)[:, : self.remembered].sort(1).values
        tokens = torch.zeros(batch, self.length, dtype=torch.int64)
        tokens.scatter_(1, places, answers)
        tokens[:, self.context :] = 1
        return tokens, answers
