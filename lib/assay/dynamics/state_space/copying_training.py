"""Training a small Mamba on selective copying, a step at a time, so that it may stop and go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from assay.dynamics.state_space.mamba import Mamba, MambaShape
from assay.dynamics.state_space.selective_copying import CopyingTask

__all__ = ["CopyingRun", "Logged", "answer_accuracy", "train_copying"]

Progress = Callable[[Iterable[int]], Iterator[int]]


@dataclass(frozen=True)
class CopyingRun:
    """How a model is trained: AdamW, batches of fresh sequences, gradients clipped at 1.

    Attributes:
        shape, task: the model and what it learns.
        steps: at most so many. batch: sequences of a step.
        rate, weight_decay: of AdamW.
        seed: of weights and sequences.
        enough: accuracy on fresh sequences at which training stops early; above 1 for never.
        every: steps between two tests.
    """

    shape: MambaShape = field(default_factory=MambaShape)
    task: CopyingTask = field(default_factory=CopyingTask)
    steps: int = 3000
    batch: int = 32
    rate: float = 2e-3
    weight_decay: float = 0.01
    seed: int = 0
    enough: float = 0.98
    every: int = 100


@dataclass(frozen=True)
class Logged:
    """Where training stood: steps done, mean loss (nats) since the last line, share of answers that are right."""

    step: int
    loss: float
    accuracy: float


def train_copying(
    run: CopyingRun,
    *,
    progress: Progress = iter,
    log: Callable[[Logged], None] | None = None,
    state: Path | None = None,
) -> tuple[Mamba, tuple[Logged, ...]]:
    """Train a model until its answers are right often enough, or its steps are done.

    Sequences of a step follow from the seed and the step, so a run that was stopped and goes on ends as one that
    was not.

    Args:
        run: what is trained.
        progress: wraps the steps; raising in it stops the training.
        log: called with every line.
        state: a file where the training is kept at every test, and from which it goes on.

    Returns:
        the model in evaluation mode, and its log.
    """
    model = Mamba(run.shape, torch.Generator().manual_seed(run.seed))
    optimiser = torch.optim.AdamW(model.parameters(), lr=run.rate, weight_decay=run.weight_decay)
    lines: list[Logged] = []
    first = 0
    if state is not None and state.exists():
        held: dict[str, Any] = torch.load(state, weights_only=True)
        model.load_state_dict(held["model"])
        optimiser.load_state_dict(held["optimiser"])
        lines = [Logged(int(a), float(b), float(c)) for a, b, c in held["log"]]
        first = int(held["step"])
        if lines and lines[-1].accuracy >= run.enough:
            return model.eval(), tuple(lines)
    total, count = 0.0, 0
    for step in progress(range(first, run.steps)):
        tokens, answers = run.task.draw(run.batch, torch.Generator().manual_seed(1_000_003 * run.seed + step + 1))
        logits = model(tokens)[:, run.task.context :]
        loss = functional.cross_entropy(logits.reshape(-1, run.shape.vocabulary), answers.reshape(-1))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        total, count = total + float(loss.detach()), count + 1
        if (step + 1) % run.every and step + 1 < run.steps:
            continue
        lines.append(Logged(step + 1, total / count, answer_accuracy(model, run.task)))
        total, count = 0.0, 0
        if log is not None:
            log(lines[-1])
        if state is not None:
            draft = state.with_suffix(".part")
            torch.save({
                "model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1,
                "log": [(line.step, line.loss, line.accuracy) for line in lines],
            }, draft)  # fmt: skip
            draft.replace(state)
        if lines[-1].accuracy >= run.enough:
            break
    return model.eval(), tuple(lines)


@torch.no_grad()
def answer_accuracy(model: Mamba, task: CopyingTask, sequences: int = 256, seed: int = 987_654_321) -> float:
    """Share of answers that are right on sequences that training does not see."""
    tokens, answers = task.draw(sequences, torch.Generator().manual_seed(seed))
    return float((model(tokens)[:, task.context :].argmax(-1) == answers).double().mean())
