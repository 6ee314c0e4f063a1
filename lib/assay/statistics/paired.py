"""Paired differences: two methods scored on the same units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from assay.statistics.bootstrap import Interval, Method, cluster_mean
from assay.statistics.clusters import cluster_codes, finite_array

__all__ = ["PairedDifference", "paired_difference"]

TIE = 1e-12
POWER = 0.8


@dataclass(frozen=True, eq=False)
class PairedDifference:
    """How much the first scores above the second on the same units.

    Attributes:
        interval: mean difference over observations, with its bootstrap interval over units.
        p: two-sided sign-flip p value of no difference; never 0.
        exact: all sign patterns were tried.
        units: how many.
        standard_error: of the mean difference, over units (linearised for units of unequal size).
        detectable: the smallest true difference that would be found with a power of 80% at this level and number of
            units.
    """

    interval: Interval
    p: float
    exact: bool
    units: int
    standard_error: float
    detectable: float


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    units: ArrayLike,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
    method: Method = "expanded",
    flips: int = 9999,
) -> PairedDifference:
    """Difference of two scores, paired observation by observation, with independent units (seeds or recordings).

    The sign-flip test asks how extreme the mean difference is when each unit's difference may as well have had the
    other sign. All 2^U patterns are tried when they number at most `flips`; otherwise `flips` are drawn and
    p = (1 + b) / (1 + flips).

    Args:
        first, second: (n,) finite scores; entry i of both belongs to the same observation.
        units: (n,) the seed or recording of each observation; at least two distinct.
        rng: where resamples and sign patterns come from.
        resamples, level, method: of the bootstrap, as for `cluster_mean`.
        flips: sign patterns at most.

    Raises:
        ValueError: shapes that do not fit, values that are not finite, or fewer than two units.
    """
    one, other = finite_array("first", first), finite_array("second", second)
    if one.ndim != 1 or one.shape != other.shape:
        raise ValueError(f"second: got shape {other.shape} for a first of {one.shape}; expected two of the same (n,).")
    if flips < 1:
        raise ValueError(f"flips: got {flips}; expected at least 1.")
    difference = one - other
    codes, count = cluster_codes("units", units, len(difference))
    interval = cluster_mean(difference, codes, rng=rng, resamples=resamples, level=level, method=method)

    sums = np.bincount(codes, weights=difference, minlength=count).astype(np.float64)
    sizes = np.bincount(codes, minlength=count)
    residual = sums - sizes * difference.mean()
    error = float(np.sqrt(count / (count - 1) * (residual**2).sum()) / len(difference))
    reach = stdtrit(count - 1, 0.5 + level / 2) + stdtrit(count - 1, POWER)
    p, exact = sign_flip_p(sums, flips, rng)
    return PairedDifference(interval, p, exact, count, error, float(reach * error))


def sign_flip_p(sums: NDArray[np.float64], flips: int, rng: np.random.Generator) -> tuple[float, bool]:
    """Two-sided p of the sum of unit sums under random signs, and whether all signs were tried."""
    count = len(sums)
    exact = count < 60 and 2**count <= flips
    bits = np.arange(2**count)[:, None] >> np.arange(count) & 1 if exact else rng.integers(2, size=(flips, count))
    extreme = np.abs((2 * bits - 1) @ sums) >= abs(sums.sum()) - TIE * np.abs(sums).sum()
    return (float(extreme.mean()), True) if exact else ((1 + int(extreme.sum())) / (1 + flips), False)
