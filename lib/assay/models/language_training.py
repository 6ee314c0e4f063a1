"""Training a small language model: one loop, a budget in steps, a log, and a state from which it goes on.

AdamW (0.9, 0.95), clipping at 1, warm-up over 2 % of the steps and then a straight line to a share of the peak rate, as
in OLMo (Groeneveld et al. 2024, section 3.2). Windows of text are drawn without replacement, epoch by epoch. With one
thread a run repeats bit for bit, also when it was interrupted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from assay.models.decoder import Decoder

__all__ = ["Budget", "TrainingLog", "adamw", "final_states", "loss_by_window", "train_language_model", "windows"]

Progress = Callable[[Iterable[Any]], Iterable[Any]]
Array = NDArray[np.float64]

WARM_UP = 0.02
CLIP = 1.0
AT_A_TIME = 64  # windows in an evaluation


@dataclass(frozen=True)
class Budget:
    """How a model is trained.

    Attributes:
        steps: optimiser steps.
        batch: windows in a step.
        rate: peak learning rate.
        final_share: of the peak, at the last step.
        weight_decay: AdamW's, on all matrices, embeddings included; it acts through rate times weight decay.

    Raises:
        ValueError: a value out of range.
    """

    steps: int
    batch: int
    rate: float
    final_share: float = 0.0
    weight_decay: float = 0.1

    def __post_init__(self) -> None:
        for name in ("steps", "batch"):
            value = getattr(self, name)
            if isinstance(value, bool) or int(value) != value or value < 1:
                raise ValueError(f"{name}: got {value}; expected a whole number of at least 1.")
        if not 0 < self.rate < float("inf"):
            raise ValueError(f"rate: got {self.rate}; expected a number above 0.")
        if not 0 <= self.final_share <= 1:
            raise ValueError(f"final_share: got {self.final_share}; expected a number from 0 to 1.")
        if not 0 <= self.weight_decay < float("inf"):
            raise ValueError(f"weight_decay: got {self.weight_decay}; expected a number of at least 0.")

    def rate_at(self, step: int) -> float:
        """Learning rate of a step, from 0."""
        warm = max(1, math.ceil(WARM_UP * self.steps))
        if step < warm:
            return self.rate * (step + 1) / warm
        left = (self.steps - 1 - step) / max(1, self.steps - 1 - warm)
        return self.rate * (self.final_share + (1 - self.final_share) * min(1.0, left))


@dataclass(frozen=True, eq=False)
class TrainingLog:
    """What happened in training.

    Attributes:
        loss: (steps,) training loss, nats a token.
        step: (L,) number of steps done at each entry of the log; the first is 0.
        seen: (L, K) what was measured there. names: of its K columns.
    """

    loss: Array
    step: NDArray[np.int64]
    seen: Array
    names: tuple[str, ...]

    def column(self, name: str) -> Array:
        """(L,) one measure."""
        return self.seen[:, self.names.index(name)]


def windows(tokens: NDArray[np.int64], length: int) -> Tensor:
    """(N, length + 1) neighbouring windows of a text, each beginning with the last token of the one before.

    Raises:
        ValueError: fewer tokens than one window takes.
    """
    count = (len(tokens) - 1) // length
    if count < 1:
        raise ValueError(f"tokens: got {len(tokens)}; expected at least {length + 1}, one window.")
    starts = np.arange(count)[:, None] * length
    return torch.from_numpy(np.asarray(tokens, dtype=np.int64)[starts + np.arange(length + 1)])


def adamw(model: torch.nn.Module, rate: float, weight_decay: float) -> torch.optim.AdamW:
    """AdamW (0.9, 0.95) that pulls a model's matrices to 0, and nothing else."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW(
        [{"params": matrices, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=rate, betas=(0.9, 0.95), fused=True,
    )  # fmt: skip


def train_language_model(
    model: Decoder,
    text: Tensor,
    budget: Budget,
    *,
    generator: torch.Generator,
    measure: Callable[[Decoder], Mapping[str, float]] | None = None,
    entries: int = 0,
    penalty: Callable[[Decoder], Tensor] | None = None,
    state: Path | None = None,
    keep_every: int = 200,
    progress: Progress | None = None,
) -> TrainingLog:
    """Train in place.

    Args:
        model: with its first weights.
        text: (N, T + 1) windows to train on, T at most the model's context.
        budget: how long, and how.
        generator: source of the order of windows.
        measure: what is logged, by name; called before the first step and then `entries` times, evenly spread.
        entries: how often after the start; the last time after the last step.
        penalty: added to the loss.
        state: a file that is written every `keep_every` steps, and read first where it is there; removed at the end.
        keep_every: steps.
        progress: wraps the steps; raising in it stops the work.

    Raises:
        ValueError: windows that do not fit, more entries than steps, a state of another run, or a loss that is no
            longer finite.
    """
    if text.ndim != 2 or not 2 <= text.shape[1] <= model.shape.context + 1 or not len(text):
        raise ValueError(f"text: got windows {tuple(text.shape)}; expected (N, 2 to {model.shape.context + 1}).")
    if entries > budget.steps:
        raise ValueError(f"entries: got {entries}; expected at most {budget.steps}, one a step.")
    optimiser = adamw(model, budget.rate, budget.weight_decay)
    order = drawn_order(len(text), budget.steps * budget.batch, generator).view(budget.steps, budget.batch)
    logged = {round(budget.steps * (i + 1) / entries) for i in range(entries)}
    kept = Kept(state, model, optimiser, budget)
    first, loss, rows = kept.read(order)
    if first == 0 and measure is not None:
        rows.append((0, dict(measure(model))))
    model.train()
    steps: Iterable[int] = range(first, budget.steps)
    for step in steps if progress is None else progress(steps):
        for group in optimiser.param_groups:
            group["lr"] = budget.rate_at(step)
        batch = text[order[step]]
        value = cross_entropy(model(batch[:, :-1]), batch[:, 1:]).mean()
        loss[step] = value.item()
        if not math.isfinite(loss[step]):
            raise ValueError(f"rate: the loss is no longer finite at step {step}; expected less than {budget.rate:g}.")
        optimiser.zero_grad()
        (value if penalty is None else value + penalty(model)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        if step + 1 in logged and measure is not None:
            rows.append((step + 1, dict(measure(model))))
            model.train()
        if state is not None and (step + 1) % keep_every == 0:
            kept.write(step + 1, order, loss, rows)
    model.eval()
    if state is not None:
        state.unlink(missing_ok=True)
    names = tuple(rows[0][1]) if rows else ()
    seen = np.array([[row[name] for name in names] for _, row in rows], dtype=np.float64).reshape(len(rows), len(names))
    return TrainingLog(loss, np.array([step for step, _ in rows], dtype=np.int64), seen, names)


class Kept:
    """The state of a run in a file."""

    def __init__(self, place: Path | None, model: Decoder, optimiser: torch.optim.Optimizer, budget: Budget) -> None:
        self.place = place
        self.model = model
        self.optimiser = optimiser
        self.run = {**model.shape.as_dict(), **vars(budget)}

    def read(self, order: Tensor) -> tuple[int, Array, list[tuple[int, dict[str, float]]]]:
        """Step, losses and log so far.

        Raises:
            ValueError: the state of another run.
        """
        if self.place is None or not self.place.exists():
            return 0, np.full(len(order), np.nan), []
        held = torch.load(self.place, weights_only=True)
        if held["run"] != self.run or not torch.equal(held["order"], order):
            raise ValueError(f"state: {self.place.name} belongs to another run; expected that of this one.")
        self.model.load_state_dict(held["model"])
        self.optimiser.load_state_dict(held["optimiser"])
        return held["step"], held["loss"].numpy(), [(step, row) for step, row in held["rows"]]

    def write(self, step: int, order: Tensor, loss: Array, rows: list[tuple[int, dict[str, float]]]) -> None:
        assert self.place is not None
        draft = self.place.with_suffix(f".{os.getpid()}.part")
        torch.save(
            {
                "run": self.run, "order": order, "step": step, "loss": torch.from_numpy(loss),
                "rows": [(number, {k: float(v) for k, v in row.items()}) for number, row in rows],
                "model": self.model.state_dict(), "optimiser": self.optimiser.state_dict(),
            },
            draft,
        )  # fmt: skip
        draft.replace(self.place)


def drawn_order(count: int, wanted: int, generator: torch.Generator) -> Tensor:
    """(wanted,) window numbers: permutations of all, one after the other."""
    epochs = [torch.randperm(count, generator=generator) for _ in range(-(-wanted // count))]
    return torch.cat(epochs)[:wanted]


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """(B, T) nats."""
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape)


@torch.no_grad()
def loss_by_window(model: Decoder, text: Tensor) -> Array:
    """(N,) mean loss of each window (N, T + 1), nats a token."""
    parts = [cross_entropy(model(part[:, :-1]), part[:, 1:]).mean(dim=1) for part in text.split(AT_A_TIME)]
    return torch.cat(parts).double().numpy()


@torch.no_grad()
def final_states(model: Decoder, text: Tensor, *, from_position: int = 16) -> Tensor:
    """(n, d) states after the final norm at all positions from one on, over windows (N, T + 1).

    Raises:
        ValueError: no position is left.
    """
    if not 0 <= from_position < text.shape[1] - 1:
        raise ValueError(f"from_position: got {from_position}; expected 0 to {text.shape[1] - 2}.")
    parts = [model.states(part[:, :-1])[:, from_position:].flatten(0, 1) for part in text.split(AT_A_TIME)]
    return torch.cat(parts)
