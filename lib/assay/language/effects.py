"""What interventions on latents say: who needs a step, when an answer is there, and which step acts on which.

Source: Li et al. (2026), section 4 (necessity and sufficiency of steps), section 5 (influence between steps, structure
scores). Their influence recomputes all steps in between and is a total effect; a perfect chain then has influence from
every step on every later one. The direct effect holds the steps in between at their values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from assay.language.interventions import Operation, Outcome, Plan, Rollout, intervene
from assay.language.word_task import Words, WordTask

__all__ = [
    "EarlyStop", "Graph", "Influence", "Structure", "early_stop", "edges_of", "graph_f1", "influence",
    "interchange_answers", "necessity", "planted_edges", "principal_graph", "structure", "uniform_structure",
]  # fmt: skip

Progress = Callable[[Iterable[Any]], Iterable[Any]]
READS = ("lens", "next", "decode")


def necessity(base: Rollout, operations: Mapping[str, Operation], progress: Progress | None = None) -> Outcome:
    """Each operation on each step alone, read at the answer: P = operations × T plans, operation by operation."""
    total = base.latents.shape[1]
    plans = [Plan({t: op}, total, name=name) for name, op in operations.items() for t in range(1, total + 1)]
    return intervene(base, plans, progress=progress)


@dataclass(frozen=True, eq=False)
class EarlyStop:
    """What is answered after k of T latents.

    Attributes:
        answers: (n, T + 1) likeliest token after 0 to T latents. right: (n, T + 1).
        first: (n,) smallest k with the right answer; T + 1 where there is none.
        solved: (T + 1,) S(k), share with first ≤ k. accuracy: (T + 1,) share right at k.
    """

    answers: np.ndarray
    right: np.ndarray
    first: np.ndarray
    solved: np.ndarray
    accuracy: np.ndarray

    def guessing(self, chance: float) -> np.ndarray:
        """(T + 1,) S(k) of someone who guesses anew at every k: 1 − (1 − g)^(k+1), counted from k = 0."""
        return 1 - (1 - chance) ** np.arange(1, len(self.solved) + 1)


def early_stop(base: Rollout) -> EarlyStop:
    """Decode right after k latents. S(k) counts a lucky early guess for ever: read it beside accuracy and guessing.

    Needs no new computation: the read-outs of the base. After T latents, thinking is ended as the model ends it.
    """
    answers = base.next_logits.argmax(dim=-1)
    answers[:, -1] = base.answers[:, 0]
    right = (answers == base.targets[:, :1]).numpy()
    total = right.shape[1] - 1
    first = np.where(right.any(axis=1), right.argmax(axis=1), total + 1)
    solved = (first[:, None] <= np.arange(total + 1)).mean(axis=0)
    return EarlyStop(answers.numpy(), right, first, solved, right.mean(axis=0))


@dataclass(frozen=True, eq=False)
class Influence:
    """How much step t acts on what is read after step s.

    Attributes:
        edges: E pairs (t, s), 1 ≤ t < s ≤ T, and (t, T + 1) for the answer.
        values: (E, n) KL(base ‖ intervened) in nats, or flips in per cent, prompt by prompt.
        effect: `total` or `direct`.
        latents: T.
    """

    edges: tuple[tuple[int, int], ...]
    values: np.ndarray
    effect: str
    latents: int

    @property
    def matrix(self) -> np.ndarray:
        """(T, T + 1) mean over prompts; row t − 1, columns s − 1, the answer last; NaN where there is no edge."""
        return self.of(np.ones(self.values.shape[1]))

    def of(self, weights: np.ndarray) -> np.ndarray:
        """The matrix under weights (n,) of prompts."""
        out = np.full((self.latents, self.latents + 1), np.nan)
        for (t, s), value in zip(self.edges, self.values @ (weights / weights.sum()), strict=True):
            out[t - 1, s - 1] = value
        return out


def edges_of(latents: int) -> tuple[tuple[int, int], ...]:
    """All (t, s) of T latents, the answer as node T + 1."""
    return tuple((t, s) for s in range(2, latents + 2) for t in range(1, s) if t <= latents)


def influence(
    base: Rollout, operation: Operation, *, effect: str = "total", read: str = "lens", metric: str = "kl",
    progress: Progress | None = None,
) -> Influence:  # fmt: skip
    """W: act on step t, read step s; or the answer, as node T + 1.

    Args:
        base: prompts, thought through.
        operation: what is done to h_t.
        effect: `total` computes the steps in between anew; `direct` holds t < r < s at their values, all r > t for the
            answer.
        read: how step s is read. `lens`: what h_s itself says when it is unembedded. `decode`: as the paper,
            thinking is ended right after slot s and the answer read. `next`: what is predicted after slot s where it
            stands. The answer is always read after all slots, thinking ended.
        metric: `kl`, or `flip`: 100 where the likeliest token changes, so that means are per cent.
        progress: wraps the work.

    Raises:
        ValueError: an unknown effect, way to read, or metric.
    """
    if metric not in ("kl", "flip"):
        raise ValueError(f"metric: got {metric!r}; expected kl or flip.")
    if read not in READS:
        raise ValueError(f"read: got {read!r}; expected one of {', '.join(READS)}.")
    if effect not in ("total", "direct"):
        raise ValueError(f"effect: got {effect!r}; expected total or direct.")
    total = base.latents.shape[1]
    edges = edges_of(total)
    plans = []
    for t, s in edges:
        between = frozenset(range(t + 1, s)) if effect == "direct" else frozenset()
        where = total if s > total else s - 1 if read == "lens" else s
        plans.append(Plan({t: operation}, where, hold=between - {where + 1}, end=read == "decode"))
    outcome = intervene(base, plans, progress=progress)
    values = outcome.kl if metric == "kl" else 100 * outcome.flipped.double()
    return Influence(edges, values.numpy(), effect, total)


@dataclass(frozen=True)
class Structure:
    """Shares of all influence between steps: to the next step; mean distance; out of the first m; into the last m."""

    locality: float
    span: float
    early_out: float
    late_in: float


def structure(matrix: np.ndarray, *, early: int = 1, late: int = 1) -> Structure:
    """Scores of a (T, ≥ T) matrix with W[t−1, s−1], read for s ≤ T; all NaN where nothing influences anything.

    Raises:
        ValueError: fewer than two steps, or sets that do not fit.
    """
    T = len(matrix)
    if T < 2 or matrix.shape[1] < T:
        raise ValueError(f"matrix: got shape {matrix.shape}; expected (T, T) or wider for T of at least 2.")
    if not 1 <= early < T or not 1 <= late < T:
        raise ValueError(f"early, late: got {early}, {late}; expected 1 to {T - 1}.")
    t, s = np.triu_indices(T, 1)
    w = np.nan_to_num(np.asarray(matrix, dtype=float)[t, s])
    z = w.sum()
    if z <= 0:
        return Structure(*[float("nan")] * 4)
    return Structure(
        float(w[s == t + 1].sum() / z), float((w * (s - t)).sum() / z),
        float(w[t < early].sum() / z), float(w[s >= T - late].sum() / z),
    )  # fmt: skip


def uniform_structure(latents: int) -> Structure:
    """Scores of equal influence everywhere: 2/T, (T+1)/3, 2/T, 2/T."""
    return Structure(2 / latents, (latents + 1) / 3, 2 / latents, 2 / latents)


@dataclass(frozen=True)
class Graph:
    """Edges (t, s) that stay, the answer as node T + 1."""

    edges: frozenset[tuple[int, int]]
    latents: int


def principal_graph(matrix: np.ndarray, alpha: float = 0.1, top: int = 0) -> Graph:
    """Edges above `alpha` times the largest; with `top` only so many strongest ones out of each step.

    Raises:
        ValueError: alpha outside 0 to 1.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha: got {alpha}; expected 0 to 1.")
    W = np.nan_to_num(np.asarray(matrix, dtype=float))
    largest = W.max()
    kept: set[tuple[int, int]] = set()
    if largest > 0:
        for t in range(len(W)):
            order = np.argsort(-W[t], kind="stable")
            for s in order[:top] if top else order:
                if W[t, s] > alpha * largest:
                    kept.add((t + 1, int(s) + 1))
    return Graph(frozenset(kept), len(W))


def graph_f1(found: Iterable[tuple[int, int]], planted: Iterable[tuple[int, int]]) -> float:
    """F1 of edges; 1 where both are empty."""
    a, b = set(found), set(planted)
    return 1.0 if not a and not b else 2 * len(a & b) / (len(a) + len(b))


def planted_edges(task: WordTask) -> frozenset[tuple[int, int]]:
    """Direct edges that a task plants among latents that stand for its steps, read by the lens; the answer is T + 1.

    A chain: each step acts on the next, the last on the answer. `skip`: also every step that a prompt may name acts on
    the answer. `late`: two chains in turn, and the selector may ask for either's end. With two slots a step nothing is
    planted on how they share.

    Raises:
        ValueError: several slots a step.
    """
    if task.slots > 1:
        raise ValueError(f"slots: got {task.slots} a step; expected 1, for which a graph is planted.")
    T = task.latents
    if task.kind == "late":
        return frozenset({(t, t + 2) for t in range(1, T - 1)} | {(T - 1, T + 1), (T, T + 1)})
    chain = {(t, t + 1) for t in range(1, T + 1)}
    if task.kind == "skip":
        chain |= {(j - 1, T + 1) for j in range(2, task.length)}
    return frozenset(chain)


def interchange_answers(task: WordTask, words: Words, donors: Tensor, t: int) -> Tensor:
    """(n,) exact answers when the step of slot t has the donor's value: p'_{t+1} ∘ g_{t+2} ∘ … ∘ g_K for a chain."""
    step = task.step_of(t)
    steps, _ = task.chain_of_thought(words)
    return task.replay(words, step, steps[donors, step - 1])[1]
