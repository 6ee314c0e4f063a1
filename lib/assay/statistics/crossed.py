"""Means over two crossed kinds of units: the same recordings scored by several seeds.

Source: Owen (2007), "The pigeonhole bootstrap": rows and columns are resampled independently; its variance is never
below that of a bootstrap over one of the two by itself, and is mildly conservative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.bootstrap import Interval, checked_level, draw_weights, expanded_tail, few_note
from assay.statistics.clusters import cluster_codes, finite_array

__all__ = ["crossed_mean"]


def crossed_mean(
    values: ArrayLike,
    rows: ArrayLike,
    columns: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Interval of the mean over observations that vary with two crossed kinds of units, such as seeds and recordings.

    The percentile interval, expanded for the scarcer kind (see `cluster_bootstrap`).

    Args:
        values: (n,) finite.
        rows, columns: (n,) the two units of each observation; at least two distinct of each. Not every combination need
            occur.
        rng: where resamples come from.
        resamples: how many, at least 100. One that draws no observation is drawn again.
        level: nominal coverage in (0, 1).

    Raises:
        ValueError: shapes that do not fit, values that are not finite, or fewer than two units of a kind.
    """
    array = finite_array("values", values)
    if array.ndim != 1:
        raise ValueError(f"values: got shape {array.shape}; expected (n,).")
    checked_level(level)
    if resamples < 100:
        raise ValueError(f"resamples: got {resamples}; expected at least 100.")
    row, row_count = cluster_codes("rows", rows, len(array))
    column, column_count = cluster_codes("columns", columns, len(array))
    cell = row * column_count + column
    shape = (row_count, column_count)
    sums = np.bincount(cell, weights=array, minlength=row_count * column_count).reshape(shape)
    sizes = np.bincount(cell, minlength=row_count * column_count).reshape(shape).astype(np.float64)

    parts, kept = [], 0
    while kept < resamples:
        row_weights = draw_weights([np.arange(row_count)], row_count, resamples - kept, rng)
        column_weights = draw_weights([np.arange(column_count)], column_count, resamples - kept, rng)
        total = ((row_weights @ sizes) * column_weights).sum(axis=1)
        drawn = total > 0
        parts.append(((row_weights @ sums) * column_weights).sum(axis=1)[drawn] / total[drawn])
        kept += int(drawn.sum())

    fewest = min(row_count, column_count)
    tail = expanded_tail((1 - level) / 2, fewest, 1)
    low, high = np.quantile(np.concatenate(parts), [tail, 1 - tail])
    return Interval(
        estimate=np.asarray(array.mean()),
        low=np.asarray(low),
        high=np.asarray(high),
        level=level,
        clusters=fewest,
        resamples=resamples,
        method="pigeonhole",
        note=few_note(fewest),
    )
