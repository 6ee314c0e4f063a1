"""Words in a finite group as a task for latent reasoning: prompt, steps and answer, with exact counterfactuals.

A prompt is a word g_1..g_K; the steps of its chain of thought are the partial products p_k = g_1 ∘ … ∘ g_k. If the step
that a latent stands for is replaced by another value, all that follows is known exactly. The variants plant a causal
graph that an analysis must find:

- `chain`: steps p_2..p_{K-1}, answer p_K.
- `skip`: steps p_2..p_K, answer p_j ∘ p_K, with j named in the prompt: step j has an edge of its own to the answer.
- `late`: two words, step by step in turn; a selector that comes after all steps says whose product is the answer.
- `early`: the same two words, the selector before them; steps are those of the selected word.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from assay.language.groups import Group, symmetric_group

__all__ = ["KINDS", "Laid", "WordTask", "Words"]

KINDS = ("chain", "skip", "late", "early")
NAMED = 8  # positions that a prompt may name


@dataclass(frozen=True, eq=False)
class Words:
    """Drawn cases.

    Attributes:
        letters: (n, W) elements; two words of a selector task lie one after the other.
        choice: (n,) j of `skip` (a position from 2 to K-1), 0 or 1 for the selected word, 0 where nothing is chosen.
    """

    letters: Tensor
    choice: Tensor

    def __len__(self) -> int:
        return len(self.letters)

    def __getitem__(self, rows: Tensor | slice) -> Words:
        return Words(self.letters[rows], self.choice[rows])


@dataclass(frozen=True, eq=False)
class Laid:
    """Cases as tokens.

    Attributes:
        prompt: (n, L), the last one the mark after which thinking begins.
        steps: (n, S) elements. tail: (n, U) tokens that are given between steps and answer. answer: (n,) elements.
    """

    prompt: Tensor
    steps: Tensor
    tail: Tensor
    answer: Tensor

    def __len__(self) -> int:
        return len(self.prompt)

    def __getitem__(self, rows: Tensor | slice) -> Laid:
        return Laid(self.prompt[rows], self.steps[rows], self.tail[rows], self.answer[rows])


@dataclass(frozen=True)
class WordTask:
    """Words of one length in S_n, in one of the variants.

    Attributes:
        kind: a variant. length: K, letters of a word. degree: n of S_n.
        slots: latents that a step is given (Coconut's c_thought).

    Raises:
        ValueError: an unknown kind, or a size out of range.
    """

    kind: str
    length: int
    degree: int = 4
    slots: int = 1

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind: got {self.kind!r}; expected one of {', '.join(KINDS)}.")
        for name, low, high in (("length", 3, NAMED), ("slots", 1, 4)):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value or not low <= value <= high:
                raise ValueError(f"{name}: got {value}; expected a whole number from {low} to {high}.")
        symmetric_group(self.degree)

    @property
    def group(self) -> Group:
        return symmetric_group(self.degree)

    @property
    def paired(self) -> bool:
        """A prompt holds two words."""
        return self.kind in ("late", "early")

    @property
    def letters(self) -> int:
        """W, letters of a prompt."""
        return self.length * (2 if self.paired else 1)

    @property
    def step_count(self) -> int:
        """S, steps of the chain of thought."""
        return {"chain": -2, "early": -2, "skip": -1, "late": self.length - 2}[self.kind] + self.length

    @property
    def latents(self) -> int:
        """T, latent slots when all steps are latent."""
        return self.step_count * self.slots

    @property
    def tokens(self) -> int:
        """V, size of the vocabulary: elements, begin, end, two selectors, named positions."""
        return self.group.order + 4 + NAMED

    @property
    def begin(self) -> int:
        """The token after which thinking begins."""
        return self.group.order

    @property
    def end(self) -> int:
        """The token with which thinking ends, where a model has one; also what stands in the slots of a pause model."""
        return self.group.order + 1

    def token_names(self) -> tuple[str, ...]:
        """(V,) how tokens are written."""
        named = tuple(f"j={k}" for k in range(1, NAMED + 1))
        return (*self.group.names, "▷", "·", "A", "B", *named)

    def draw(self, count: int, generator: torch.Generator, *, held_out: bool) -> Words:
        """Words of one side of the split: a tenth of all words, by a hash of their letters, is held out of training."""
        parts: list[Tensor] = []
        have = 0
        share = 0.1 if held_out else 0.9
        while have < count:
            wanted = int((count - have) / share * 1.1) + 16
            drawn = torch.randint(self.group.order, (wanted, self.letters), generator=generator)
            kept = drawn[(letter_hash(drawn) % 10 == 0) == held_out]
            parts.append(kept)
            have += len(kept)
        letters = torch.cat(parts)[:count]
        low, high = {"skip": (2, self.length), "late": (0, 2), "early": (0, 2)}.get(self.kind, (0, 1))
        return Words(letters, torch.randint(low, high, (count,), generator=generator))

    def lay(self, words: Words) -> Laid:
        """Tokens of drawn words."""
        n, group = len(words), self.group
        begin = torch.full((n, 1), self.begin)
        none = torch.empty((n, 0), dtype=torch.long)
        selector = group.order + 2 + words.choice[:, None]
        steps, answer = self.chain_of_thought(words)
        if self.kind == "skip":
            named = group.order + 4 + words.choice[:, None] - 1
            return Laid(torch.cat([named, words.letters, begin], dim=1), steps, none, answer)
        if not self.paired:
            return Laid(torch.cat([words.letters, begin], dim=1), steps, none, answer)
        mixed = words.letters.view(n, 2, self.length).transpose(1, 2).reshape(n, -1)
        if self.kind == "late":
            return Laid(torch.cat([mixed, begin], dim=1), steps, selector, answer)
        return Laid(torch.cat([selector, mixed, begin], dim=1), steps, none, answer)

    def chain_of_thought(self, words: Words) -> tuple[Tensor, Tensor]:
        """(n, S) steps and (n,) answers."""
        nothing = torch.zeros(len(words), dtype=torch.long)
        return self.replay(words, self.step_count + 1, nothing)

    def replay(self, words: Words, step: int, value: Tensor) -> tuple[Tensor, Tensor]:
        """Steps and answers when one step has another value and all later ones follow from it.

        Args:
            words: n cases.
            step: 1 to S; S + 1 replaces nothing.
            value: (n,) elements.

        Raises:
            ValueError: no such step.
        """
        if not 1 <= step <= self.step_count + 1:
            raise ValueError(f"step: got {step}; expected 1 to {self.step_count}.")
        n, chosen = len(words), torch.arange(len(words))
        rows = words.letters.view(n, -1, self.length)
        if self.kind == "early":
            rows = rows[chosen, words.choice][:, None]
        lanes = rows.shape[1]
        state = [rows[:, lane, 0] for lane in range(lanes)]
        steps: list[Tensor] = []
        while len(steps) < self.step_count:
            lane, k = len(steps) % lanes, len(steps) // lanes + 1
            state[lane] = self.group.compose(state[lane], rows[:, lane, k])
            if len(steps) + 1 == step:
                state[lane] = value
            steps.append(state[lane])
        table = torch.stack(steps, dim=1)
        if self.kind == "skip":
            return table, self.group.compose(table[chosen, words.choice - 2], table[:, -1])
        if self.kind == "late":
            return table, torch.stack(state, dim=1)[chosen, words.choice]
        return table, self.group.compose(state[0], rows[:, 0, -1])

    def step_of(self, slot: int) -> int:
        """The step (1 to S) that a latent slot (1 to T) belongs to.

        Raises:
            ValueError: no such slot.
        """
        if not 1 <= slot <= self.latents:
            raise ValueError(f"intervention step {slot} out of 1..{self.latents}.")
        return (slot - 1) // self.slots + 1


def letter_hash(letters: Tensor) -> Tensor:
    """(n,) non-negative integers from (n, W) letters: a multiplicative hash, the same on every machine."""
    value = torch.full((len(letters),), 1469598103934665603 % 2**31, dtype=torch.long)
    for column in letters.unbind(dim=1):
        value = ((value ^ (column + 1)) * 1103515245 + 12345) % 2**31
    return value // 2**8
