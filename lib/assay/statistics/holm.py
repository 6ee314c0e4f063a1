"""Holm's step-down adjustment: several tests, one error rate.

Source: Holm (1979), "A simple sequentially rejective multiple test procedure".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.statistics.clusters import finite_array

__all__ = ["holm_adjust"]


def holm_adjust(p: ArrayLike) -> NDArray[np.float64]:
    """P values adjusted so that those at most alpha are rejected with a family-wise error rate of at most alpha.

    The k-th smallest of m becomes the largest of (m - j + 1) p_(j) over j <= k, capped at 1.

    Args:
        p: (m,) in [0, 1], in any order.

    Returns:
        (m,) in the order given; never below `p`.

    Raises:
        ValueError: wrong shape, nothing, or values outside [0, 1].
    """
    raw = finite_array("p", p)
    if raw.ndim != 1 or not len(raw):
        raise ValueError(f"p: got shape {raw.shape}; expected (m,) with m at least 1.")
    if raw.min() < 0 or raw.max() > 1:
        raise ValueError(f"p: got values from {raw.min():g} to {raw.max():g}; expected 0 to 1.")
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted
