"""Partial rank correlation: what is left of a relation between two numbers once others are held fixed.

Source: Freedman & Lane (1983) (permuting residuals); Winkler et al. (2014), "Permutation inference for the general
linear model", sections 2.3 and 2.5 (whole blocks); Phipson & Smyth (2010) (p is never 0).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.statistics.bootstrap import Interval, cluster_bootstrap
from assay.statistics.clusters import cluster_codes, finite_array
from assay.statistics.design import columns_of, indicator_columns

__all__ = ["PartialCorrelation", "partial_spearman", "rank_residuals"]

Array = NDArray[np.float64]

FEWEST_ROWS = 20
FEWEST_ARRANGEMENTS = 20  # fewer cannot give a p value of 0.05
EXPLAINED = 1e-10  # of a variance: less is rounding
BATCH_ELEMENTS = 4_000_000
TIE = 1e-12


@dataclass(frozen=True, eq=False)
class PartialCorrelation:
    """A rank correlation with others held fixed.

    Attributes:
        interval: of the correlation, by resampling clusters; its `estimate` is the correlation.
        p: two-sided, against permuted residuals; never 0.
        rows: how many observations.
        freedom: rows - 2 - columns of controls.
        permutations: how many were drawn.
        units: how many residuals, or clusters of them, were exchanged.
    """

    interval: Interval
    p: float
    rows: int
    freedom: int
    permutations: int
    units: int

    @property
    def rho(self) -> float:
        """The correlation, from -1 to 1."""
        return float(self.interval.estimate)


def partial_spearman(
    x: ArrayLike,
    y: ArrayLike,
    controls: Mapping[str, ArrayLike],
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    permutations: int = 2000,
    resamples: int = 2000,
    level: float = 0.95,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> PartialCorrelation:
    """Spearman's correlation of x and y, with the controls' linear part taken out of their ranks.

    Ranks of x and y are regressed on a constant, the ranks of numeric controls and indicators of the others; the
    correlation is that of the residuals. The test permutes residuals of y, regresses each arrangement anew and asks how
    often it correlates as strongly. Without controls it is Spearman's.

    Args:
        x, y: (n,) finite, n at least 20; not constant.
        controls: (n,) columns by name. Numbers are ranked; text, booleans and other labels give an indicator for each
            kind but the first. Turn numbers of a small grid to text where their effect need not be monotone.
        rng: where permutations and resamples come from.
        clusters: (n,) rows that stand or fall together, such as runs of one configuration. Whole clusters are
            resampled, and whole ones of the same size are exchanged, row for row in the order given. By default every
            row is one.
        permutations: how many arrangements are drawn.
        resamples, level: of the bootstrap.
        progress: wraps the batches of the bootstrap; raising in it stops the work.

    Raises:
        ValueError: fewer than 20 rows, shapes that do not fit, values that are not finite, a constant column, x or y
            that the controls determine, too many controls, or clusters that leave fewer than 20 arrangements.
    """
    one, other = column("x", x), column("y", y)
    n = len(one)
    if len(other) != n:
        raise ValueError(f"y: got shape {other.shape}; expected {one.shape}, as x.")
    if n < FEWEST_ROWS:
        raise ValueError(f"x: got {n} rows; expected at least {FEWEST_ROWS} for a partial correlation.")
    if permutations < 1:
        raise ValueError(f"permutations: got {permutations}; expected at least 1.")
    codes, units = cluster_codes("clusters", np.arange(n) if clusters is None else clusters, n)
    numeric, labelled = columns_of(controls, n)
    indicators = indicator_columns(labelled, n)
    design = rank_design(numeric, indicators)
    freedom = n - 2 - (np.linalg.matrix_rank(centred(design)[:, 1:]) if design.shape[1] > 1 else 0)
    if freedom < 1:
        raise ValueError(f"controls: got {design.shape[1] - 1} columns for {n} rows; expected fewer than {n - 2}.")
    left = [unexplained(name, mean_ranks(v), design) for name, v in (("x", one), ("y", other))]
    p = exchanged_p(left[0], left[1], design, blocks_of(codes, units), permutations, rng)

    ranked = [Ranks(values) for values in (one, other, *numeric.values())]

    def correlations(weights: Array) -> Array:
        size = max(1, BATCH_ELEMENTS // (n * (len(ranked) + indicators.shape[1])))
        starts = range(0, len(weights), size)
        return np.concatenate([partial(weights[s : s + size], ranked, indicators) for s in starts])

    try:
        interval = cluster_bootstrap(correlations, codes, rng=rng, resamples=resamples, level=level, progress=progress)
    except ValueError as error:
        if str(error).startswith("statistic: not finite"):
            raise ValueError(
                f"controls: leave nothing of x or y in some resamples of {units} clusters; "
                "expected fewer controls, or more clusters."
            ) from None
        raise
    return PartialCorrelation(interval, p, n, int(freedom), permutations, units)


def rank_residuals(columns: Sequence[ArrayLike], controls: Mapping[str, ArrayLike]) -> list[Array]:
    """What the controls leave of the ranks of some columns: what `partial_spearman` correlates.

    Args:
        columns: (n,) each; ties share their mean rank.
        controls: (n,) columns by name, as `partial_spearman` takes them; without any, ranks lose their mean alone.

    Returns:
        (n,) each, in ranks.

    Raises:
        ValueError: a control of another length, not finite, or constant.
    """
    numeric, labelled = columns_of(controls, len(np.asarray(columns[0])))
    design = rank_design(numeric, indicator_columns(labelled, len(np.asarray(columns[0]))))
    return [residual(mean_ranks(values), design) for values in columns]


def mean_ranks(values: ArrayLike) -> Array:
    """(n,) ranks from 1; ties share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[place]


def rank_design(numeric: Mapping[str, Array], indicators: Array) -> Array:
    """(n, k) with a constant, the ranks of numbers, and indicators."""
    return np.column_stack([np.ones(len(indicators)), *[mean_ranks(values) for values in numeric.values()], indicators])


def residual(values: Array, design: Array) -> Array:
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def column(name: str, values: ArrayLike) -> Array:
    array = finite_array(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name}: got shape {array.shape}; expected (n,).")
    if len(array) and np.ptp(array) == 0:
        raise ValueError(f"{name}: got the same value in all rows; expected values that vary.")
    return array


def centred(matrix: Array) -> Array:
    return matrix - matrix.mean(axis=0)


def unexplained(name: str, ranks: Array, design: Array) -> Array:
    """(n,) residuals of ranks.

    Raises:
        ValueError: nothing is left.
    """
    left = residual(ranks, design)
    if left @ left <= EXPLAINED * (centred(ranks) ** 2).sum():
        raise ValueError(f"{name}: follows from the controls; expected something that they leave open.")
    return left


def blocks_of(codes: NDArray[np.intp], units: int) -> list[NDArray[np.intp]]:
    """(clusters, size) row numbers, for each size that clusters have.

    Raises:
        ValueError: fewer than 20 arrangements.
    """
    rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes, minlength=units))[:-1])
    sizes = sorted({len(own) for own in rows})
    blocks = [np.stack([own for own in rows if len(own) == size]) for size in sizes]
    arrangements = math.prod(math.factorial(min(len(own), 20)) for own in blocks)
    if arrangements < FEWEST_ARRANGEMENTS:
        raise ValueError(
            f"clusters: got {units}, which leave {arrangements} arrangements of clusters of the same size; "
            f"expected at least {FEWEST_ARRANGEMENTS}."
        )
    return blocks


def exchanged_p(
    x: Array, y: Array, design: Array, blocks: list[NDArray[np.intp]], permutations: int, rng: np.random.Generator
) -> float:
    """Two-sided p of the correlation of residuals x and y under permuted y."""
    left, spread, _ = np.linalg.svd(design, full_matrices=False)
    basis = left[:, spread > 1e-10 * spread[0]]
    scale = np.linalg.norm(x)
    observed = abs(x @ y) / (scale * np.linalg.norm(y))
    extreme = 0
    size = max(1, BATCH_ELEMENTS // len(x))
    for start in range(0, permutations, size):
        count = min(size, permutations - start)
        drawn = np.empty((count, len(x)))
        for rows in blocks:
            order = rng.permuted(np.tile(np.arange(len(rows)), (count, 1)), axis=1)
            drawn[:, rows.ravel()] = y[rows[order]].reshape(count, -1)
        kept = np.sqrt(np.maximum((y @ y) - ((drawn @ basis) ** 2).sum(axis=1), np.finfo(np.float64).tiny))
        extreme += int((np.abs(drawn @ x) / (scale * kept) >= observed * (1 - TIE)).sum())
    return (1 + extreme) / (1 + permutations)


class Ranks:
    """Mid-ranks of values, each counted as often as a weight says."""

    def __init__(self, values: Array) -> None:
        self.order = np.argsort(values, kind="stable")
        ordered = values[self.order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        sizes = np.diff(np.r_[starts, len(values)])
        self.first = np.repeat(starts, sizes)
        self.last = np.repeat(starts + sizes, sizes)

    def weighted(self, weights: Array) -> Array:
        """(B, n) for weights (B, n)."""
        below = np.concatenate([np.zeros((len(weights), 1)), np.cumsum(weights[:, self.order], axis=1)], axis=1)
        ranks = np.empty_like(weights)
        ranks[:, self.order] = (below[:, self.first] + below[:, self.last]) / 2
        return ranks


def partial(weights: Array, ranked: list[Ranks], indicators: Array) -> Array:
    """(B,) partial correlation of the first two of weighted ranks, given the others and the indicators."""
    parts = [own.weighted(weights)[:, :, None] for own in ranked]
    shared = np.broadcast_to(indicators, (len(weights), *indicators.shape))
    data = np.concatenate([*parts, shared], axis=2)
    data = data - np.einsum("bn,bnq->bq", weights, data)[:, None, :] / weights.sum(axis=1)[:, None, None]
    products = np.einsum("bnq,bnr->bqr", data * weights[:, :, None], data, optimize=True)
    spread = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-9 * spread.max(axis=1, keepdims=True))
    products = products * scale[:, :, None] * scale[:, None, :]
    own, cross, rest = products[:, :2, :2], products[:, :2, 2:], products[:, 2:, 2:]
    if rest.shape[1]:
        own = own - cross @ np.linalg.pinv(rest, rcond=1e-9, hermitian=True) @ cross.transpose(0, 2, 1)
    variances = own[:, [0, 1], [0, 1]]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(
            (variances > EXPLAINED).all(axis=1), own[:, 0, 1] / np.sqrt(variances[:, 0] * variances[:, 1]), np.nan
        )
