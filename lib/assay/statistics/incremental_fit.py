"""Incremental R^2: how much better a predictor gets on held-out groups when a column is added.

Ridge regression on standardised columns; scaling and penalty are found inside each training fold, by folds of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.statistics.bootstrap import Interval, checked_level, cluster_bootstrap
from assay.statistics.clusters import cluster_codes
from assay.statistics.design import columns_of, indicator_columns
from assay.statistics.partial_rank import column

__all__ = ["IncrementalR2", "grouped_folds", "incremental_r2"]

Array = NDArray[np.float64]

PENALTIES = np.logspace(-3, 3, 13)
BATCH_ELEMENTS = 4_000_000


@dataclass(frozen=True, eq=False)
class IncrementalR2:
    """What a column adds to a prediction.

    Attributes:
        interval: of the gain in R^2, over all held-out rows and all repeats, by resampling groups. The fits stay as
            they are: what other training rows would have given is not in it.
        base, full: R^2 on held-out rows without and with the extra columns, about the mean of the training rows; below
            0 where a prediction is worse than that mean.
        per_fold: (repeats, folds) gain in each fold.
        groups: how many.
    """

    interval: Interval
    base: float
    full: float
    per_fold: Array
    groups: int

    @property
    def delta(self) -> float:
        """The gain in R^2."""
        return float(self.interval.estimate)


def incremental_r2(
    y: ArrayLike,
    base: Mapping[str, ArrayLike],
    extra: Mapping[str, ArrayLike],
    groups: ArrayLike,
    *,
    rng: np.random.Generator,
    folds: int = 5,
    repeats: int = 5,
    resamples: int = 2000,
    level: float = 0.95,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> IncrementalR2:
    """R^2 of `base` and `extra` together less R^2 of `base`, on groups that neither fit has seen.

    R^2 = 1 - sum (y - f)^2 / sum (y - mean of training y)^2, both sums over all held-out rows of all repeats. The mean
    of `per_fold` is the other convention; folds of few groups make it noisy.

    Args:
        y: (n,) finite, not constant.
        base, extra: (n,) columns by name; numbers are used as they are, labels as indicators. `extra` holds at least
            one.
        groups: (n,) what is held out as a whole, such as a training configuration.
        rng: which groups form a fold, and resamples.
        folds: at least 2, at most as many as there are groups, and few enough that each training fold has 2 groups.
        repeats: how many divisions into folds; the figure of one alone depends on the draw.
        resamples, level: of the bootstrap.
        progress: wraps the repeats; raising in it stops the work.

    Raises:
        ValueError: shapes that do not fit, values that are not finite, constant columns, a name in both tables, or too
            few groups.
    """
    target = column("y", y)
    n = len(target)
    codes, count = cluster_codes("groups", groups, n)
    checked_level(level)
    if not extra:
        raise ValueError("extra: got no columns; expected at least one.")
    if both := sorted(set(base) & set(extra)):
        raise ValueError(f"extra: {both[0]} is a column of base too; expected it in one of them.")
    if isinstance(folds, bool) or not 2 <= folds <= count or count - -(-count // folds) < 2:
        raise ValueError(f"folds: got {folds} for {count} groups; expected at least 2, and 2 groups to train on.")
    if repeats < 1:
        raise ValueError(f"repeats: got {repeats}; expected at least 1.")
    small, large = matrix_of(base, n), np.column_stack([matrix_of(base, n), matrix_of(extra, n)])

    errors = np.zeros((3, n))  # squared, summed over repeats: base, full, mean of the training rows
    per_fold = np.empty((repeats, folds))
    each: Iterable[int] = range(repeats)
    for repeat in each if progress is None else progress(each):
        fold = grouped_folds(codes, folds, rng)
        seed = int(rng.integers(2**63))
        for number in range(folds):
            held, kept = fold == number, fold != number
            # Both predictors choose their penalty on the same inner folds.
            predicted = [
                ridge(x[kept], target[kept], codes[kept], x[held], np.random.default_rng(seed)) for x in (small, large)
            ]
            predicted.append(np.full(int(held.sum()), target[kept].mean()))
            squared = (target[held] - np.stack(predicted)) ** 2
            errors[:, held] += squared
            sums = squared.sum(axis=1)
            per_fold[repeat, number] = (sums[0] - sums[1]) / sums[2]

    def gains(weights: Array) -> Array:
        return (weights @ (errors[0] - errors[1])) / (weights @ errors[2])

    interval = cluster_bootstrap(gains, codes, rng=rng, resamples=resamples, level=level)
    without, with_extra, mean = errors.sum(axis=1)
    return IncrementalR2(interval, float(1 - without / mean), float(1 - with_extra / mean), per_fold, count)


def matrix_of(table: Mapping[str, ArrayLike], rows: int) -> Array:
    numeric, labelled = columns_of(table, rows)
    return np.column_stack([np.zeros((rows, 0)), *numeric.values(), indicator_columns(labelled, rows)])


def grouped_folds(groups: NDArray[np.intp], folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """(n,) fold of each row: whole groups at random, the largest first, each to the fold that has the fewest rows.

    Args:
        groups: (n,) any whole numbers.
        folds: at most as many as there are groups, so that none is empty.
        rng: which of the groups of a size come first.
    """
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = rng.permutation(len(sizes))
    fold_of, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(folds)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        fold_of[group] = int(np.argmin(filled))
        filled[fold_of[group]] += sizes[group]
    return fold_of[codes]


def ridge(x: Array, y: Array, groups: NDArray[np.intp], x_new: Array, rng: np.random.Generator) -> Array:
    """Predictions for x_new of the ridge regression whose penalty does best on inner folds of whole groups."""
    if not x.shape[1]:
        return np.full(len(x_new), y.mean())
    count = len(np.unique(groups))
    inner = grouped_folds(groups, min(5, count), rng)
    lost = np.zeros(len(PENALTIES))
    for number in range(min(5, count)):
        held, kept = inner == number, inner != number
        lost += ((ridge_path(x[kept], y[kept], x[held], PENALTIES) - y[held]) ** 2).sum(axis=1)
    return ridge_path(x, y, x_new, PENALTIES[[np.argmin(lost)]])[0]


def ridge_path(x: Array, y: Array, x_new: Array, penalties: Array) -> Array:
    """(P, m) predictions for x_new (m, k): argmin |y - b0 - Z b|^2 + penalty |b|^2, Z the standardised columns of x."""
    mean, spread = x.mean(axis=0), x.std(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-12 * np.abs(x).max(axis=0))
    left, values, right = np.linalg.svd((x - mean) * scale, full_matrices=False)
    shrunk = values / (values**2 + penalties[:, None])  # (P, r)
    return y.mean() + (shrunk * (left.T @ (y - y.mean()))) @ (right @ ((x_new - mean) * scale).T)
