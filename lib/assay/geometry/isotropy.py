"""How evenly the rows of a matrix point: mean cosine, IsoScore, anisotropy of representations.

The partition function's isotropy stands in `assay.geometry.partition`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.geometry.matrix_input import Array, Matrix, Progress
from assay.geometry.row_factor import RowFactor, factor_rows
from assay.geometry.spectral_ranks import stable_rank

__all__ = ["anisotropy", "average_cosine", "isoscore", "isoscore_of_variances", "mean_pair_cosine"]


def average_cosine(matrix: Matrix, *, progress: Progress | None = None) -> float:
    """Mean cosine over all pairs of different rows, without forming pairs: (n^2 |m|^2 - n) / (n (n - 1)).

    m is the mean of the n rows at unit length, so that the exact mean takes O(V d).

    Args:
        matrix: (V, d), V at least 2.
        progress: wraps the blocks; raising in it stops the work.

    Returns:
        From -1 / (n - 1) to 1.

    Raises:
        ValueError: no matrix, values that are not finite, one row, or a row of zeros, which has no direction.
    """
    factor = factor_rows(matrix, progress=progress)
    if factor.zero_rows:
        raise ValueError(f"matrix: got {factor.zero_rows} rows of zeros; expected rows that have a direction.")
    return mean_pair_cosine(factor)


def mean_pair_cosine(factor: RowFactor) -> float:
    """`average_cosine` over the rows that are not all zeros, of a matrix that was read already.

    Raises:
        ValueError: fewer than two such rows.
    """
    n = factor.rows - factor.zero_rows
    if n < 2:
        raise ValueError(f"matrix: got {n} row that is not all zeros; expected at least 2.")
    return float((n * (factor.unit_mean @ factor.unit_mean) - 1) / (n - 1))


def isoscore(points: Matrix, *, progress: Progress | None = None) -> float:
    """IsoScore: how evenly the variance of points is spread over directions; 0 for one direction, 1 for all alike.

    With more dimensions than a quarter of the points, sampling alone spreads variances and lowers the score.

    Source: Rudman et al. (2022), "IsoScore: Measuring the Uniformity of Embedding Space Utilization", algorithm 1.

    Args:
        points: (n, d), n at least 2 and d at least 2.
        progress: wraps the blocks; raising in it stops the work.

    Raises:
        ValueError: no matrix, values that are not finite, or points that are all the same.
    """
    return isoscore_of_variances(factor_rows(points, progress=progress).variances())


def isoscore_of_variances(variances: ArrayLike) -> float:
    """IsoScore from the (d,) variances along principal axes, in any scale.

    With lam = sqrt(d) variances / |variances|, delta = |lam - 1| / sqrt(2 (d - sqrt d)) and
    phi = (d - delta^2 (d - sqrt d))^2 / d^2, the score is (d phi - 1) / (d - 1).

    Raises:
        ValueError: fewer than two, or nothing but zeros.
    """
    values = np.asarray(variances, dtype=np.float64)
    d = values.size
    if values.ndim != 1 or d < 2:
        raise ValueError(f"variances: got shape {values.shape}; expected (d,), d at least 2.")
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise ValueError("variances: got none that differ from 0, or some below 0; expected points that vary.")
    values = values / values.max()
    lam: Array = np.sqrt(d) * values / np.linalg.norm(values)
    free = d - np.sqrt(d)
    defect = ((lam - 1) ** 2).sum() / (2 * free)
    return float((d * (d - defect * free) ** 2 / d**2 - 1) / (d - 1))


def anisotropy(hidden: Matrix, *, center: bool = True, progress: Progress | None = None) -> float:
    """Share of the variance of representations along their first principal axis: s_1^2 / sum s^2.

    Source: Razzhigaev et al. (2024), "The Shape of Learning: Anisotropy and Intrinsic Dimensions in Transformer-Based
    Models", section 3. It is one over the stable rank. The anisotropy of Ethayarajh (2019) and Godey et al. (2024) is
    the mean cosine: `average_cosine(hidden)`.

    Args:
        hidden: (n, d) states, one a row.
        center: subtract the mean state first, as in the source.
        progress: wraps the blocks; raising in it stops the work.

    Returns:
        From 1 / d to 1.

    Raises:
        ValueError: no matrix, values that are not finite, or states that are all the same.
    """
    values = factor_rows(hidden, progress=progress).singular_values(center=center)
    if not values[0] > 0:
        raise ValueError("hidden: got states that are all the same; expected states that vary.")
    return float(1 / stable_rank(values))
