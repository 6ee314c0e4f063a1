"""Reaching into a latent chain of thought: do(h_t ← h'), all before t untouched, all after it computed anew.

h_t is the vector that is fed as the input of latent slot t: written by the pass before it, not read yet. All
interventions of a call run in one batch. A prompt is read once; forks of its cache share that part, and share the
unchanged latents before their first intervention.

Source: Li et al. (2026), "Dynamics Within Latent Chain-of-Thought", section 3: single-step interventions. Holding later
steps at their values, which makes a direct effect out of a total one, follows Pearl (2001), "Direct and
indirect effects".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

__all__ = ["LatentModel", "Operation", "Outcome", "Plan", "Rollout", "intervene", "rollout"]

Operation = Callable[[Tensor, int, slice], Tensor]
AT_A_TIME = 250  # prompts whose caches are worked on together


class LatentModel(Protocol):
    """What a model must offer; states are its own and are never changed in place.

    B prompts, F forks, d the width of a latent, U tokens of a target, V the vocabulary.
    """

    @property
    def latents(self) -> int:
        """T, latent slots."""
        ...

    def encode(self, prompts: Any) -> Any:
        """The state after reading prompts, with one fork."""
        ...

    def latent(self, state: Any) -> Tensor:
        """(B, F, d) inputs that the next slot would be given."""
        ...

    def advance(self, state: Any, h: Tensor) -> Any:
        """The state after feeding (B, F, d) into the next slot."""
        ...

    def fork(self, state: Any, parents: Tensor) -> Any:
        """Copies of the forks with these numbers, in this order."""
        ...

    def readout(self, state: Any, targets: Tensor, *, end: bool) -> Tensor:
        """(B, F, U, V) logits of (B, U) targets, given those before them.

        `end` ends thinking first, with whatever marks the model has; otherwise the next token is read where it stands.
        """
        ...


@dataclass(frozen=True)
class Plan:
    """One intervention and where its effect is read.

    Attributes:
        do: from slot (1 to T) to what is done to its input.
        read: slot right after which is read; T reads the answer.
        hold: slots that get the input they had without the intervention.
        end: thinking is ended before reading; always so after slot T.
        name: for people.
    """

    do: Mapping[int, Operation]
    read: int
    hold: frozenset[int] = frozenset()
    end: bool = True
    name: str = ""

    @property
    def first(self) -> int:
        return min(self.do)

    def check(self, latents: int) -> None:
        """Whether it fits a model.

        Raises:
            ValueError: a slot that is not there, nothing to do, or a slot that is both changed and held.
        """
        for slot in (*self.do, *self.hold, self.read):
            if isinstance(slot, bool) or not 1 <= slot <= latents:
                raise ValueError(f"intervention step {slot} out of 1..{latents}.")
        if not self.do:
            raise ValueError("do: got no step; expected at least one.")
        if both := sorted(set(self.do) & self.hold):
            raise ValueError(f"hold: step {both[0]} is changed too; expected steps that are not.")
        if self.read < self.first:
            raise ValueError(f"read: got {self.read}; expected step {self.first} or later, where something is changed.")


@dataclass(frozen=True, eq=False)
class Rollout:
    """Prompts thought through without intervention.

    Attributes:
        model: what ran. states: after reading, a chunk of prompts each. rows: of each chunk.
        latents: (n, T, d) inputs of the slots.
        targets: (n, U) tokens that read-outs score.
        next_logits: (n, T + 1, V) what is read after 0 to T latents where it stands, first token.
        answer_logits: (n, U, V) after all latents, thinking ended.
    """

    model: LatentModel
    states: tuple[Any, ...] = field(repr=False)
    rows: tuple[slice, ...] = field(repr=False)
    latents: Tensor
    targets: Tensor
    next_logits: Tensor
    answer_logits: Tensor

    def __len__(self) -> int:
        return len(self.latents)

    @property
    def answers(self) -> Tensor:
        """(n, U) likeliest tokens of the answer, each given the target's tokens before it."""
        return self.answer_logits.argmax(dim=-1)

    @property
    def correct(self) -> Tensor:
        """(n,) the likeliest tokens are the target's: what greedy decoding gives is the target."""
        return (self.answers == self.targets).all(dim=1)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What interventions did, P plans on n prompts.

    Attributes:
        predicted: (P, n, U) likeliest tokens, each given the target's before it. base: the same without intervention.
        log_p: (P, n) of the target, nats a token. base_log_p: without intervention.
        kl: (P, n) KL(base ‖ intervened), nats, mean over the target's tokens.
        logits: (P, n, U, V), where they were asked for.
    """

    predicted: Tensor
    base: Tensor
    log_p: Tensor
    base_log_p: Tensor
    kl: Tensor
    logits: Tensor | None

    @property
    def flipped(self) -> Tensor:
        """(P, n) another answer than without intervention, where targets are the answers of the model itself.

        Exact for greedy decoding then: the same answer comes out if and only if every token is still the likeliest.
        """
        return (self.predicted != self.base).any(dim=2)

    def part(self, plans: slice) -> Outcome:
        """Of some of the plans."""
        logits = None if self.logits is None else self.logits[plans]
        return Outcome(
            self.predicted[plans], self.base[plans], self.log_p[plans], self.base_log_p[plans], self.kl[plans], logits
        )


@torch.no_grad()
def rollout(model: LatentModel, prompts: Any, targets: Tensor, *, at_a_time: int = AT_A_TIME) -> Rollout:
    """Read prompts once and think them through.

    Args:
        model: what thinks.
        prompts: anything with a length and slices that the model encodes.
        targets: (n, U) tokens of answers.
        at_a_time: prompts of a chunk.

    Raises:
        ValueError: no prompts, no latents, or targets for another number of prompts.
    """
    count = len(prompts)
    if not count or targets.ndim != 2 or len(targets) != count:
        raise ValueError(f"targets: got shape {tuple(targets.shape)}; expected (n, U) for n = {count} prompts, n ≥ 1.")
    if model.latents < 1:
        raise ValueError("model: has no latent slots; expected at least one.")
    rows = tuple(slice(i, min(i + at_a_time, count)) for i in range(0, count, at_a_time))
    states, latents, nexts, answers = [], [], [], []
    for part in rows:
        state = model.encode(prompts[part])
        states.append(state)
        mine, said = [], [model.readout(state, targets[part], end=False)[:, 0, 0]]
        for _ in range(model.latents):
            h = model.latent(state)
            mine.append(h[:, 0])
            state = model.advance(state, h)
            said.append(model.readout(state, targets[part], end=False)[:, 0, 0])
        latents.append(torch.stack(mine, dim=1))
        nexts.append(torch.stack(said, dim=1))
        answers.append(model.readout(state, targets[part], end=True)[:, 0])
    return Rollout(
        model, tuple(states), rows, torch.cat(latents), targets, torch.cat(nexts), torch.cat(answers)
    )  # fmt: skip


@torch.no_grad()
def intervene(
    base: Rollout, plans: Sequence[Plan], *, keep_logits: bool = False,
    progress: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
) -> Outcome:  # fmt: skip
    """Run all plans on all prompts, batched over forks of one cache.

    Args:
        base: prompts, thought through.
        plans: what is done.
        keep_logits: keep them, P × n × U × V numbers.
        progress: wraps the chunks of prompts.

    Raises:
        ValueError: no plan, or one that does not fit the model.
    """
    model, total = base.model, base.model.latents
    if not plans:
        raise ValueError("plans: got none; expected at least one intervention.")
    for plan in plans:
        plan.check(total)
    found: list[Readings] = []
    chunks: Iterable[Any] = list(zip(base.rows, base.states, strict=True))
    for part, encoded in chunks if progress is None else progress(chunks):
        targets = base.targets[part]
        readings = Readings(len(plans), targets, keep_logits)
        state = model.fork(encoded, torch.tensor([0]))
        running: list[int | None] = [None]  # which plan each fork follows; the first follows none
        for t in range(1, total + 1):
            held = base.latents[part, t - 1]
            begin = [p for p, plan in enumerate(plans) if plan.first == t]
            if begin:
                state = model.fork(state, torch.tensor([*range(len(running)), *[0] * len(begin)]))
                running += begin
            if len(running) == 1 and all(plan.first <= t for plan in plans):
                break  # all has been read
            h = model.latent(state).clone()
            for fork, p in enumerate(running):
                if p is None or t in plans[p].hold:
                    h[:, fork] = held
                elif t in plans[p].do:
                    h[:, fork] = plans[p].do[t](h[:, fork], t, part)
            state = model.advance(state, h)
            for end in (True, False):
                asked = [f for f, p in enumerate(running) if p is not None and plans[p].read == t
                         and (plans[p].end or t == total) == end]  # fmt: skip
                if asked:
                    here = state if asked == [*range(1, len(running))] else model.fork(state, torch.tensor([0, *asked]))
                    logits = model.readout(here, targets, end=end)
                    readings.take([plan_of(running, f) for f in asked], logits)
            staying = [f for f, p in enumerate(running) if p is None or plans[p].read > t]
            if len(staying) < len(running):
                state = model.fork(state, torch.tensor(staying))
                running = [running[f] for f in staying]
        found.append(readings)

    def joined(name: str) -> Tensor:
        return torch.cat([getattr(one, name) for one in found], dim=1)

    logits = joined("logits") if keep_logits else None
    return Outcome(joined("predicted"), joined("base"), joined("log_p"), joined("base_log_p"), joined("kl"), logits)


def plan_of(running: Sequence[int | None], fork: int) -> int:
    plan = running[fork]
    assert plan is not None
    return plan


class Readings:
    """What is read of one chunk of prompts."""

    def __init__(self, plans: int, targets: Tensor, keep_logits: bool) -> None:
        batch, length = targets.shape
        self.targets = targets
        self.predicted = torch.zeros(plans, batch, length, dtype=torch.long)
        self.base = torch.zeros_like(self.predicted)
        self.log_p = torch.zeros(plans, batch, dtype=torch.float64)
        self.base_log_p, self.kl = torch.zeros_like(self.log_p), torch.zeros_like(self.log_p)
        self.keep = keep_logits
        self.plans = plans
        self.logits: Tensor | None = None

    def take(self, plans: list[int], logits: Tensor) -> None:
        """Read-outs (B, 1 + P, U, V) of the base and of plans."""
        scores = logits.log_softmax(dim=-1)
        base, changed = scores[:, :1], scores[:, 1:]
        apart = (base.exp() * (base - changed)).sum(dim=-1).mean(dim=-1).clamp(min=0)
        at = self.targets[:, None, :, None].expand(-1, changed.shape[1], -1, 1)
        self.kl[plans] = apart.T.double()
        self.log_p[plans] = changed.gather(-1, at).mean(dim=(-2, -1)).T.double()
        self.base_log_p[plans] = base.gather(-1, at[:, :1]).mean(dim=(-2, -1)).T.double().expand(len(plans), -1)
        self.predicted[plans] = changed.argmax(dim=-1).transpose(0, 1)
        self.base[plans] = base.argmax(dim=-1).transpose(0, 1).expand(len(plans), -1, -1)
        if self.keep:
            if self.logits is None:
                self.logits = logits.new_zeros(self.plans, *self.targets.shape, logits.shape[-1])
            self.logits[plans] = logits[:, 1:].transpose(0, 1)
