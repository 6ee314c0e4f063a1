"""One training protocol for every classifier: same budget in steps, same optimiser, same standardisation.

Adam with a cosine schedule from the given rate to 0 and cross entropy, as in the toolkit's defaults; everything
random comes from one generator, and with one thread a run repeats bit for bit.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from assay.dynamics.sequence_classifier import SequenceClassifier
from assay.dynamics.standardiser import Standardiser

Progress = Callable[[Iterable[int]], Iterable[int]]

_EVALUATION_BATCH = 256


@dataclass(frozen=True, eq=False)
class HeldOut:
    """How a trained classifier did on data that it did not train on.

    Attributes:
        scores: (N, K) float32 logits. predicted: (N,) class. correct: (N,) bool.
        accuracy: share of correct samples. loss: mean cross entropy, nats.
    """

    scores: NDArray[np.float32]
    predicted: NDArray[np.int64]
    correct: NDArray[np.bool_]
    accuracy: float
    loss: float


@dataclass(frozen=True, eq=False)
class TrainedClassifier:
    """A classifier after training, its log and its results.

    Attributes:
        model: in evaluation mode, on the CPU. standardiser: fitted on the training data.
        loss: (steps,) training cross entropy of each batch, nats. rate: (steps,) learning rate.
        held_out: results by the names given.
        history: (evaluations, 1 + held-out sets) step and accuracies on the way, in the order of ``held_out``; empty
            without ``evaluate_every``.
    """

    model: SequenceClassifier
    standardiser: Standardiser
    loss: NDArray[np.float32]
    rate: NDArray[np.float64]
    held_out: dict[str, HeldOut]
    history: NDArray[np.float64]

    def scores(self, X: ArrayLike | Tensor) -> NDArray[np.float32]:
        """Class scores (N, K) of raw sequences."""
        prepared = self.standardiser(self.model.prepare(_sequences("X", X)))
        return _scores(self.model, _stored(prepared), torch.device("cpu")).numpy()


def train_classifier(
    model: SequenceClassifier,
    X: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    *,
    steps: int,
    generator: torch.Generator,
    held_out: Mapping[str, tuple[ArrayLike | Tensor, ArrayLike | Tensor]] | None = None,
    batch_size: int = 128,
    lr: float = 1e-3,
    weight_decay: float = 0.0,
    evaluate_every: int | None = None,
    progress: Progress | None = None,
    device: str | torch.device = "cpu",
) -> TrainedClassifier:
    """Train in place for a number of steps and score held-out sets.

    Batches come from random orders of the training set, one order after the other; a remainder shorter than a batch
    is left to the next order's draw. Standardisation is fitted on ``X`` alone.

    Args:
        model: scores of K classes.
        X: (N, L, F) or (N, L, C, H, W), raw. y: (N,) classes 0 to K - 1.
        steps: batches to train on, at least 1.
        generator: on the CPU; source of the batch order. (First weights were drawn by the model's own.)
        held_out: name to (X, y); choose decays on a validation set and quote the test set.
        batch_size: at least 1; the whole set where that is smaller.
        lr: Adam's rate at the first step, above 0. weight_decay: Adam's, 0 and up.
        evaluate_every: steps between evaluations of the held-out sets.
        progress: wraps the iterable of steps; raising in it stops the work.
        device: where to train.

    Raises:
        ValueError: bad shapes, labels or budget, or a loss that is no longer finite.
    """
    X = _sequences("X", X)
    y = _labels("y", y, len(X), model.classes)
    for name, value in (("steps", steps), ("batch_size", batch_size), ("evaluate_every", evaluate_every)):
        if value is not None and (isinstance(value, bool) or int(value) != value or value < 1):
            raise ValueError(f"{name} must be a whole number of at least 1; got {value}.")
    if not (math.isfinite(lr) and lr > 0):
        raise ValueError(f"lr must be finite and above 0; got {lr:g}.")
    device = torch.device(device)
    prepared = model.prepare(X)
    standardiser = Standardiser.fit(prepared)
    stored = _stored(standardiser(prepared)).to(device)
    tests = {name: _held_out_set(name, model, standardiser, *pair) for name, pair in (held_out or {}).items()}
    target = y.to(device)
    model.to(device).train()
    optimiser = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay, fused=True)
    size = min(batch_size, len(X))
    loss_log = np.empty(steps, dtype=np.float32)
    rate_log = lr * 0.5 * (1 + np.cos(np.pi * np.arange(steps) / steps))
    history = []
    order = torch.empty(0, dtype=torch.long)
    for step in progress(range(steps)) if progress else range(steps):
        if len(order) < size:
            order = torch.randperm(len(X), generator=generator)
        batch, order = order[:size].to(device), order[size:]
        for group in optimiser.param_groups:
            group["lr"] = rate_log[step]
        loss = nn.functional.cross_entropy(model(_batch(stored, batch)), target[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        loss_log[step] = loss.item()
        if not math.isfinite(loss_log[step]):
            raise ValueError(
                f"lr must let training converge; the loss is no longer finite at step {step} with lr {lr:g}."
            )
        if evaluate_every and (step + 1) % evaluate_every == 0:
            history.append([step + 1.0, *(_evaluate(model, *test, device).accuracy for test in tests.values())])
    results = {name: _evaluate(model, *test, device) for name, test in tests.items()}
    model.to("cpu").eval()
    return TrainedClassifier(
        model, standardiser, loss_log, rate_log, results, np.array(history).reshape(-1, 1 + len(tests))
    )


def _sequences(name: str, X: ArrayLike | Tensor) -> Tensor:
    if isinstance(X, Tensor):
        X = X.detach().cpu().float()
    else:
        with np.errstate(over="ignore"):
            X = torch.from_numpy(np.require(X, np.float32, ["C", "W"]))  # PyTorch has no read-only tensors
    if X.ndim not in (3, 5) or min(X.shape) < 1:
        raise ValueError(f"{name} must have shape (N, L, F) or (N, L, C, H, W); got {tuple(X.shape)}.")
    if not torch.isfinite(X.sum()):
        raise ValueError(f"{name} must be finite; it holds NaN, infinity or values beyond float32.")
    return X


def _labels(name: str, y: ArrayLike | Tensor, count: int, classes: int) -> Tensor:
    y = torch.tensor(np.asarray(y))  # a copy, for PyTorch has no read-only tensors
    if y.shape != (count,) or y.is_floating_point() or y.is_complex():
        raise ValueError(
            f"{name} must hold {count} whole numbers, one class a sample; got shape {tuple(y.shape)}, {y.dtype}."
        )
    low, high = int(y.min()), int(y.max())
    if low < 0 or high >= classes:
        raise ValueError(f"{name} must hold classes 0 to {classes - 1}; got {low} to {high}.")
    return y.long()


def _stored(prepared: Tensor) -> Tensor:
    """Time-major (L, N, ...) for sequences, so that a batch needs no further copy; vectors (N, D) as they are."""
    return prepared.transpose(0, 1).contiguous() if prepared.ndim > 2 else prepared


def _batch(stored: Tensor, rows: Tensor) -> Tensor:
    return stored.index_select(1, rows).transpose(0, 1) if stored.ndim > 2 else stored.index_select(0, rows)


def _held_out_set(
    name: str, model: SequenceClassifier, standardiser: Standardiser, X: ArrayLike | Tensor, y: ArrayLike | Tensor
) -> tuple[Tensor, Tensor]:
    X = _sequences(f"held_out {name}", X)
    return _stored(standardiser(model.prepare(X))), _labels(f"held_out {name}", y, len(X), model.classes)


@torch.no_grad()
def _scores(model: SequenceClassifier, stored: Tensor, device: torch.device) -> Tensor:
    training = model.training
    model.eval()
    count = stored.shape[1 if stored.ndim > 2 else 0]
    parts = [
        model(_batch(stored, torch.arange(i, min(i + _EVALUATION_BATCH, count))).to(device)).cpu()
        for i in range(0, count, _EVALUATION_BATCH)
    ]
    model.train(training)
    return torch.cat(parts)


def _evaluate(model: SequenceClassifier, stored: Tensor, y: Tensor, device: torch.device) -> HeldOut:
    scores = _scores(model, stored, device)
    predicted = scores.argmax(dim=1)
    loss = nn.functional.cross_entropy(scores, y)
    correct = predicted == y
    return HeldOut(scores.numpy(), predicted.numpy(), correct.numpy(), float(correct.float().mean()), float(loss))
