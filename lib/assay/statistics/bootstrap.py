"""Bootstrap by cluster: intervals for observations that come in recordings, users or seeds.

Source: Davison & Hinkley (1997), section 3.8 (resampling clusters); Efron (1987) (BCa); Hesterberg (2015),
"What Teachers Should Know About the Bootstrap", section 5.3 (the expanded percentile interval).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

from assay.statistics.clusters import cluster_codes, cluster_labels, finite_array

__all__ = ["Interval", "Method", "Statistic", "checked_level", "cluster_bootstrap", "cluster_mean"]

Array = NDArray[np.float64]
Statistic = Callable[[Array], ArrayLike]
Method = Literal["expanded", "percentile", "bca"]

FEW_CLUSTERS = 10
BATCH_ELEMENTS = 4_000_000  # weights held at a time: 32 MB


@dataclass(frozen=True, eq=False)
class Interval:
    """An estimate and its confidence interval.

    Attributes:
        estimate, low, high: arrays of the statistic's shape, `()` for a number.
        level: nominal coverage, for example 0.95.
        clusters: how many independent units the interval rests on; for crossed units, of the scarcer kind.
        resamples: how many were drawn.
        method: how the interval was made.
        note: empty, or one sentence on why the interval should be read with care.
    """

    estimate: Array
    low: Array
    high: Array
    level: float
    clusters: int
    resamples: int
    method: str
    note: str = ""

    @property
    def around(self) -> tuple[float, float]:
        """Ends of the interval of a number, widened where it does not hold its estimate."""
        estimate = float(self.estimate)
        return min(float(self.low), estimate), max(float(self.high), estimate)


def cluster_bootstrap(
    statistic: Statistic,
    clusters: ArrayLike,
    *,
    rng: np.random.Generator,
    strata: ArrayLike | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    method: Method = "expanded",
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> Interval:
    """Confidence interval of any statistic by resampling whole clusters with replacement.

    A resample is a weight for each observation: how often its cluster was drawn. Every statistic of weighted
    observations can be computed for many resamples at once; one that needs rows takes `numpy.repeat(numpy.arange(n),
    weights)`.

    Args:
        statistic: weights (B, n), whole numbers as float64 -> values (B, ...), one for each row.
        clusters: (n,) the cluster of each observation; at least two distinct.
        rng: where resamples come from.
        strata: (n,) kinds of clusters, constant within a cluster; each kind keeps its number of clusters, so that none
            vanishes from a resample.
        resamples: how many to draw, at least 100.
        level: nominal coverage in (0, 1).
        method: `percentile`; `expanded`, the percentile interval widened for the few clusters it rests on (the same for
            many); or `bca`, corrected for bias and skewness.
        progress: wraps the batches; raising in it stops the work.

    Returns:
        The statistic at weight 1 for all, with its interval.

    Raises:
        ValueError: fewer than two clusters, a stratum of one cluster, labels that differ within a cluster, or a
            resample whose statistic is not finite.
    """
    codes, count = cluster_codes("clusters", clusters)
    checked_level(level)
    if method not in ("expanded", "percentile", "bca"):
        raise ValueError(f"method: got {method!r}; expected 'expanded', 'percentile' or 'bca'.")
    if resamples < 100:
        raise ValueError(f"resamples: got {resamples}; expected at least 100.")
    members = stratum_members(strata, codes, count)

    batch = max(1, min(resamples, BATCH_ELEMENTS // len(codes)))
    starts: Iterable[int] = range(0, resamples, batch)
    estimate = np.asarray(statistic(np.ones((1, len(codes)))), dtype=np.float64)[0]
    parts = []
    for start in starts if progress is None else progress(starts):
        weights = draw_weights(members, count, min(batch, resamples - start), rng)
        parts.append(np.asarray(statistic(weights[:, codes]), dtype=np.float64))
    replicates = np.concatenate(parts)
    if replicates.shape != (resamples, *estimate.shape):
        raise ValueError(
            f"statistic: gave shape {parts[0].shape} for {min(batch, resamples)} resamples; expected one value a row."
        )
    bad = int((~np.isfinite(replicates)).reshape(resamples, -1).any(axis=1).sum())
    if bad or not np.isfinite(estimate).all():
        raise ValueError(
            f"statistic: not finite in {bad} of {resamples} resamples; expected finite values (strata may help)."
        )

    tail = (1 - level) / 2
    if method == "bca":
        low_tail, high_tail = bca_tails(statistic, estimate, replicates, codes, members, tail)
    else:
        if method == "expanded":
            tail = expanded_tail(tail, count, len(members))
        low_tail, high_tail = np.full(estimate.shape, tail), np.full(estimate.shape, 1 - tail)
    return Interval(
        estimate=estimate,
        low=column_quantiles(replicates, low_tail),
        high=column_quantiles(replicates, high_tail),
        level=level,
        clusters=count,
        resamples=resamples,
        method=method,
        note=few_note(count),
    )


def cluster_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    rng: np.random.Generator,
    strata: ArrayLike | None = None,
    resamples: int = 2000,
    level: float = 0.95,
    method: Method = "expanded",
) -> Interval:
    """Interval of the mean over observations, such as an accuracy over windows, by resampling clusters.

    Args:
        values: (n,) or (n, M); a mean and an interval for each column.
        clusters, rng, strata, resamples, level, method: as for `cluster_bootstrap`.

    Returns:
        An interval of shape () or (M,).

    Raises:
        ValueError: values that are not finite, or as `cluster_bootstrap`.
    """
    array = finite_array("values", values)
    if array.ndim not in (1, 2):
        raise ValueError(f"values: got shape {array.shape}; expected (n,) or (n, M).")
    codes, count = cluster_codes("clusters", clusters, len(array))
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    sums = np.zeros((count, *array.shape[1:]))
    np.add.at(sums, codes, array)
    kinds = None if strata is None else cluster_labels("strata", np.asarray(strata), codes, count)

    def mean(weights: Array) -> Array:
        total = weights @ sizes
        return (weights @ sums) / (total if array.ndim == 1 else total[:, None])

    return cluster_bootstrap(
        mean, np.arange(count), rng=rng, strata=kinds, resamples=resamples, level=level, method=method
    )


def few_note(count: int) -> str:
    """A sentence when there are too few units for the interval to be trusted."""
    if count >= FEW_CLUSTERS:
        return ""
    return f"Only {count} independent units: the interval rests on them alone and its true coverage is uncertain."


def checked_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level: got {level}; expected a number between 0 and 1.")


def stratum_members(strata: ArrayLike | None, codes: NDArray[np.intp], count: int) -> list[NDArray[np.intp]]:
    """The clusters of each stratum."""
    if strata is None:
        return [np.arange(count)]
    kinds = cluster_labels("strata", np.asarray(strata), codes, count)
    members = [np.flatnonzero(kinds == kind) for kind in np.unique(kinds)]
    for kind, own in zip(np.unique(kinds), members, strict=True):
        if len(own) < 2:
            raise ValueError(f"strata: {kind} has 1 cluster; expected at least 2.")
    return members


def draw_weights(members: list[NDArray[np.intp]], count: int, resamples: int, rng: np.random.Generator) -> Array:
    """(resamples, C) how often each cluster is drawn; every stratum as often as it has clusters."""
    weights = np.zeros((resamples, count))
    for own in members:
        drawn = rng.integers(len(own), size=(resamples, len(own)))
        drawn += np.arange(resamples)[:, None] * len(own)
        weights[:, own] = np.bincount(drawn.ravel(), minlength=resamples * len(own)).reshape(resamples, len(own))
    return weights


def expanded_tail(tail: float, count: int, strata: int) -> float:
    """The tail share that makes a percentile interval as wide as Student's, which knows how few clusters there are."""
    freedom = count - strata
    return float(ndtr(np.sqrt(count / freedom) * stdtrit(freedom, tail)))


def bca_tails(
    statistic: Statistic,
    estimate: Array,
    replicates: Array,
    codes: NDArray[np.intp],
    members: list[NDArray[np.intp]],
    tail: float,
) -> tuple[Array, Array]:
    """Tail shares of the BCa interval; the acceleration comes from leaving out one cluster at a time."""
    below = (replicates < estimate).mean(axis=0)
    share = below + 0.5 * (replicates == estimate).mean(axis=0)
    if ((share == 0) | (share == 1)).any():
        raise ValueError(
            "method: bca is undefined when all resamples lie on one side of the estimate; expected 'expanded'."
        )
    bias = ndtri(share)

    count = sum(map(len, members))
    left_out = []
    step = max(1, BATCH_ELEMENTS // len(codes))
    for start in range(0, count, step):
        kept = np.ones((min(step, count - start), count))
        kept[np.arange(len(kept)), start + np.arange(len(kept))] = 0
        left_out.append(np.asarray(statistic(kept[:, codes]), dtype=np.float64))
    jackknife = np.concatenate(left_out)
    cubes, squares = np.zeros(estimate.shape), np.zeros(estimate.shape)
    for own in members:
        influence = (len(own) - 1) * (jackknife[own].mean(axis=0) - jackknife[own])
        cubes += (influence**3).sum(axis=0) / len(own) ** 3
        squares += (influence**2).sum(axis=0) / len(own) ** 2
    acceleration = np.divide(cubes, 6 * squares**1.5, out=np.zeros(estimate.shape), where=squares > 0)

    def shifted(z: float) -> Array:
        return ndtr(bias + (bias + z) / (1 - acceleration * (bias + z)))

    return shifted(float(ndtri(tail))), shifted(float(ndtri(1 - tail)))


def column_quantiles(replicates: Array, shares: Array) -> Array:
    """Quantiles along the first axis, one share for each entry of the others (linear interpolation)."""
    ordered = np.sort(replicates, axis=0).reshape(len(replicates), -1)
    place = np.clip(np.asarray(shares).reshape(-1), 0, 1) * (len(replicates) - 1)
    lower = np.floor(place).astype(np.intp)
    upper = np.minimum(lower + 1, len(replicates) - 1)
    column = np.arange(ordered.shape[1])
    low, high = ordered[lower, column], ordered[upper, column]
    return (low + (high - low) * (place - lower)).reshape(replicates.shape[1:])
