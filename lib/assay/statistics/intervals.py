"""95 % intervals in closed form: of a share, and of a mean of few independent values.

Sources: Wilson (1927), "Probable inference, the law of succession, and statistical inference"; Student (1908), "The
probable error of a mean".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from assay.statistics.clusters import finite_array

__all__ = ["student_interval", "wilson_interval"]

Z = 1.96


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Interval of a share of n independent cases; it holds the share, lies in 0 to 1 and is never of zero width.

    Args:
        share: 0 to 1.
        n: cases, at least 1.

    Raises:
        ValueError: a share outside 0 to 1, or no case.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share: got {share}; expected 0 to 1.")
    if n < 1:
        raise ValueError(f"n: got {n}; expected at least 1.")
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return max(0.0, min(middle - half, share)), min(1.0, max(middle + half, share))


def student_interval(values: ArrayLike) -> tuple[float, float]:
    """Interval of the mean of independent values that are near to normal.

    Args:
        values: (n,), n at least 2.

    Raises:
        ValueError: another shape, fewer values, or some that are not finite.
    """
    x = finite_array("values", values)
    if x.ndim != 1 or len(x) < 2:
        raise ValueError(f"values: got shape {x.shape}; expected (n,) with n at least 2.")
    from scipy.special import stdtrit

    mean = float(x.mean())
    half = float(stdtrit(len(x) - 1, 0.975) * x.std(ddof=1) / np.sqrt(len(x)))
    return mean - half, mean + half
