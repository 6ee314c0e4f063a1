"""When a latent chain of thought has made up its mind: two candidates, what the output says and what the latents hold.

Source: Li et al. (2026), section 6: superposition score min(p_Y, p_N), decision time, and the gap between output and
representation. Probes here are fitted across prompts and scored on held-out ones, one for each step. The cosine score
(1 + cos)/2 is that of the paper's appendix; two random directions get 0.5 each on it, which looks like indecision: the
nulls are part of the measure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from assay.language.interventions import Rollout
from assay.language.word_task import Words, WordTask

__all__ = [
    "Probe", "commitment_gap", "cosine_scores", "decision_time", "fit_probe", "pair_probabilities", "running_pair",
    "superposition", "windowed",
]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Probe:
    """A linear classifier.

    Attributes:
        weight: (C, p). bias: (C,). centre, scale: (p,) of the features.
        accuracy: share right on held-out prompts.
    """

    weight: Tensor
    bias: Tensor
    centre: Tensor
    scale: Tensor
    accuracy: float

    def log_p(self, features: Tensor) -> Tensor:
        """(n, C) log probabilities of (n, p) features."""
        z = (features - self.centre) / self.scale
        return (z @ self.weight.T + self.bias).log_softmax(dim=-1)


def fit_probe(
    features: Tensor, labels: Tensor, classes: int, train: Tensor, *, decay: float = 1e-3, iterations: int = 60
) -> Probe:
    """Multinomial logistic regression with a ridge, by L-BFGS on the training rows.

    Args:
        features: (n, p). labels: (n,) from 0 to C − 1. classes: C.
        train: (n,) True for rows to fit on; whole prompts, so that no prompt is on both sides.
        decay: of the squared weights. iterations: of L-BFGS.

    Raises:
        ValueError: shapes that do not agree, labels out of range, or one side of the split empty.
    """
    n = len(features)
    if features.ndim != 2 or labels.shape != (n,) or train.shape != (n,):
        raise ValueError(f"labels: got shape {tuple(labels.shape)}; expected ({n},) beside features (n, p).")
    if n == 0 or not 0 <= int(labels.min()) <= int(labels.max()) < classes:
        raise ValueError(f"labels: got values outside 0 to {classes - 1}; expected classes.")
    if not bool(train.any()) or bool(train.all()):
        raise ValueError("train: one side of the split is empty; expected rows on both.")
    x = features[train]
    centre, scale = x.mean(dim=0), x.std(dim=0).clamp(min=1e-6)
    z, y = (x - centre) / scale, labels[train]
    weight = torch.zeros(classes, features.shape[1], requires_grad=True)
    bias = torch.zeros(classes, requires_grad=True)
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=iterations, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimiser.zero_grad()
        loss = functional.cross_entropy(z @ weight.T + bias, y) + decay * weight.square().sum() / 2
        loss.backward()
        return loss

    with torch.enable_grad():
        optimiser.step(closure)
    fitted = Probe(weight.detach(), bias.detach(), centre, scale, 0.0)
    right = fitted.log_p(features[~train]).argmax(dim=-1) == labels[~train]
    return Probe(weight.detach(), bias.detach(), centre, scale, float(right.double().mean()))


def windowed(latents: Tensor, t: int, width: int) -> Tensor:
    """(n, width · d) the latents of steps t − width + 1 to t side by side, zeros before the first."""
    parts = [latents[:, s - 1] if s >= 1 else torch.zeros_like(latents[:, 0]) for s in range(t - width + 1, t + 1)]
    return torch.cat(parts, dim=1)


def cosine_scores(features: Tensor, directions: Tensor, candidates: Tensor) -> Tensor:
    """(n, 2) scores (1 + cos)/2 of centred features (n, p) with the directions (C, p) of two candidates (n, 2)."""
    centred = features - features.mean(dim=0)
    cosine = functional.normalize(centred, dim=1) @ functional.normalize(directions, dim=1).T
    return (1 + cosine.gather(1, candidates)) / 2


def pair_probabilities(log_scores: Tensor, candidates: Tensor, temperature: float = 1.0) -> Tensor:
    """(n, 2) softmax over two candidates of their log scores (n, C), at a temperature.

    Raises:
        ValueError: a temperature that is not above 0.
    """
    if not temperature > 0:
        raise ValueError(f"temperature: got {temperature}; expected a number above 0.")
    return (log_scores.gather(1, candidates) / temperature).softmax(dim=-1)


def superposition(pairs: np.ndarray) -> np.ndarray:
    """(…,) min(p_Y, p_N) of (…, 2) scores of two candidates, made to sum to 1: from 0, decided, to 0.5.

    Raises:
        ValueError: scores below 0, or a pair that is 0 in both.
    """
    pairs = np.asarray(pairs, dtype=float)
    total = pairs.sum(axis=-1)
    if pairs.shape[-1] != 2 or (pairs < 0).any() or (total <= 0).any():
        raise ValueError("pairs: expected two scores of at least 0 each, not both 0.")
    return pairs.min(axis=-1) / total


def decision_time(pairs: np.ndarray, delta: float) -> np.ndarray:
    """(n,) first step (1 to T) at which |p_Y − p_N| ≥ δ in (n, T, 2) scores made to sum to 1; T + 1 for never.

    Raises:
        ValueError: a δ outside 0 to 1.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta: got {delta}; expected a number between 0 and 1.")
    decided = 1 - 2 * superposition(pairs) >= delta
    return np.where(decided.any(axis=1), decided.argmax(axis=1) + 1, decided.shape[1] + 1)


def commitment_gap(output: np.ndarray, representation: np.ndarray, delta: float) -> np.ndarray:
    """(n,) decision time of the representation minus that of the output, in steps, for two (n, T, 2) scores."""
    return decision_time(representation, delta) - decision_time(output, delta)


def running_pair(task: WordTask, words: Words, letters: Tensor | tuple[int, int]) -> Tensor:
    """(n, 2) products of the first letters of the two words of a prompt, so many of each.

    Raises:
        ValueError: a task of one word.
    """
    if not task.paired:
        raise ValueError(f"task: {task.kind} has one word; expected late or early, whose prompts hold two.")
    products = [task.group.partial_products(row) for row in words.letters.view(len(words), 2, -1).unbind(dim=1)]
    return torch.stack([p[:, int(k) - 1] for p, k in zip(products, letters, strict=True)], dim=1)


def letters_read(task: WordTask, t: int) -> tuple[int, int]:
    """How many letters of each word step t's latents have got to."""
    if task.kind == "late":
        return ((t + 1) // 2 + 1, t // 2 + 1)
    return (t + 1, t + 1)


def output_pairs(base: Rollout, task: WordTask, words: Words, temperature: float = 1.0) -> Tensor:
    """(n, T, 2) what the output says of the two running products after each step: the step's own words by the lens.

    For `late`, whose selector is still to come, the output says at step t what one of two lanes holds: the mean
    over the two latest steps, which are those of the two words.
    """
    out = []
    for t in range(1, task.latents + 1):
        candidates = running_pair(task, words, letters_read(task, t))
        said = base.next_logits[:, t - 1].softmax(dim=-1)
        if task.kind == "late" and t > 1:
            said = (said + base.next_logits[:, t - 2].softmax(dim=-1)) / 2
        out.append(pair_probabilities(said.clamp(min=1e-12).log(), candidates, temperature))
    return torch.stack(out, dim=1)
