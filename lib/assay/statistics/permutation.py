"""Permutation test of labels: could a difference this large come from labels that mean nothing?

Source: Phipson & Smyth (2010), "Permutation p-values should never be zero": p = (1 + b) / (1 + m) for m random
permutations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.statistics.clusters import cluster_codes, cluster_labels

__all__ = ["Alternative", "PermutationResult", "permutation_test"]

Array = NDArray[np.float64]
Alternative = Literal["greater", "less", "two-sided"]

BATCH_ELEMENTS = 4_000_000
TIE = 1e-12  # relative: arrangements that give the same value up to rounding count as equal


@dataclass(frozen=True, eq=False)
class PermutationResult:
    """A permutation test's outcome.

    Attributes:
        observed: the statistic of the labels as they are.
        null: (m,) the statistic of permuted labels; all arrangements, the observed one among them, when `exact`.
        p: share of arrangements at least as extreme as the observed one, which counts as one of them; never 0.
        exact: all distinct arrangements were tried.
        units: how many labels are exchangeable: observations, or clusters.
    """

    observed: float
    null: Array
    p: float
    exact: bool
    units: int


def permutation_test(
    statistic: Callable[[NDArray[Any]], ArrayLike],
    labels: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    permutations: int = 999,
    alternative: Alternative = "greater",
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> PermutationResult:
    """Test a statistic of labels against permuted labels.

    When all distinct arrangements number at most `permutations`, each is tried once and p is exact; otherwise
    arrangements are drawn at random.

    Args:
        statistic: labels (B, n) -> values (B,), one for each row.
        labels: (n,) of any kind, at least two distinct.
        rng: where permutations come from.
        clusters: (n,) units whose labels are exchanged as a whole; labels must be constant within one. Without it every
            observation is a unit, which is wrong for overlapping windows.
        permutations: how many at most.
        alternative: which direction is extreme. `two-sided` doubles the smaller one-sided p, capped at 1.
        progress: wraps the batches; raising in it stops the work.

    Raises:
        ValueError: one label only, labels that differ within a cluster, or a statistic that is not finite.
    """
    given = np.asarray(labels)
    if given.ndim != 1:
        raise ValueError(f"labels: got shape {given.shape}; expected (n,).")
    if alternative not in ("greater", "less", "two-sided"):
        raise ValueError(f"alternative: got {alternative!r}; expected 'greater', 'less' or 'two-sided'.")
    if permutations < 1:
        raise ValueError(f"permutations: got {permutations}; expected at least 1.")
    codes, units = cluster_codes("clusters", np.arange(len(given)) if clusters is None else clusters, len(given))
    kinds, unit_labels = np.unique(cluster_labels("labels", given, codes, units), return_inverse=True)
    if len(kinds) < 2:
        raise ValueError("labels: got 1 distinct; expected at least 2.")

    observed = values_of(statistic, given[None, :])[0]
    exact = arrangements(unit_labels) <= permutations
    arranged = distinct_arrangements(unit_labels) if exact else drawn_arrangements(unit_labels, permutations, rng)
    total = arrangements(unit_labels) if exact else permutations
    batch = max(1, min(total, BATCH_ELEMENTS // len(given)))
    starts: Iterable[int] = range(0, total, batch)
    parts = []
    for start in starts if progress is None else progress(starts):
        rows = np.stack([next(arranged) for _ in range(min(batch, total - start))])
        parts.append(values_of(statistic, kinds[rows][:, codes]))
    null = np.concatenate(parts)
    return PermutationResult(float(observed), null, p_value(null, observed, exact, alternative), exact, units)


def values_of(statistic: Callable[[NDArray[Any]], ArrayLike], rows: NDArray[Any]) -> Array:
    values = np.asarray(statistic(rows), dtype=np.float64)
    if values.shape != (len(rows),):
        raise ValueError(f"statistic: gave shape {values.shape} for {len(rows)} arrangements; expected ({len(rows)},).")
    if not np.isfinite(values).all():
        raise ValueError("statistic: not finite for some arrangement of labels; expected finite values.")
    return values


def p_value(null: Array, observed: float, exact: bool, alternative: Alternative) -> float:
    """Share of arrangements at least as extreme; the observed one is among them when exact and is added when not."""
    slack = TIE * abs(observed)
    added = 0 if exact else 1
    above = (int((null >= observed - slack).sum()) + added) / (len(null) + added)
    below = (int((null <= observed + slack).sum()) + added) / (len(null) + added)
    return {"greater": above, "less": below, "two-sided": min(1.0, 2 * min(above, below))}[alternative]


def arrangements(labels: NDArray[np.intp]) -> int:
    """How many distinct arrangements the labels have."""
    left, total = 0, 1
    for size in np.bincount(labels).tolist():
        left += size
        total *= math.comb(left, size)
    return total


def distinct_arrangements(labels: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Every distinct arrangement once, in lexicographic order."""
    row = np.sort(labels)
    while True:
        yield row.copy()
        rises = np.flatnonzero(row[:-1] < row[1:])
        if not len(rises):
            return
        pivot = rises[-1]
        partner = np.flatnonzero(row > row[pivot])[-1]
        row[pivot], row[partner] = row[partner], row[pivot]
        row[pivot + 1 :] = row[pivot + 1 :][::-1].copy()


def drawn_arrangements(labels: NDArray[np.intp], count: int, rng: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    for _ in range(count):
        yield rng.permutation(labels)
