"""What a matrix of independent entries would score: the ceiling that shape alone puts on every rank.

Source: Marchenko & Pastur (1967). With q = d / V <= 1, the squares of the singular values of V x d independent entries
of variance 1 / V have density sqrt((b - x)(x - a)) / (2 pi q x) on [a, b] = [(1 - sqrt q)^2, (1 + sqrt q)^2]. With
x = 1 + q + 2 sqrt(q) cos t, an expectation is (2 / pi) int_0^pi f(x) sin^2 t / x dt.
"""

from __future__ import annotations

import numpy as np

from assay.geometry.matrix_input import Array

__all__ = ["marchenko_pastur_rank", "marchenko_pastur_singular_values"]

NODES = 2**14


def limits(rows: int, columns: int) -> tuple[int, int, float]:
    """Longer side, shorter side, and their ratio q.

    Raises:
        ValueError: a side below 1.
    """
    for name, size in (("rows", rows), ("columns", columns)):
        if isinstance(size, bool) or int(size) != size or size < 1:
            raise ValueError(f"{name}: got {size}; expected a whole number, at least 1.")
    long, short = max(rows, columns), min(rows, columns)
    return long, short, short / long


def nodes(q: float) -> tuple[Array, Array]:
    """Squares x at the midpoints of NODES equal steps of t, descending, and their weights, which sum to 1."""
    t = (np.arange(NODES) + 0.5) * np.pi / NODES
    # 1 + q + 2 sqrt(q) cos t, written so that nothing cancels at the lower edge
    x = (1 - np.sqrt(q)) ** 2 + 4 * np.sqrt(q) * np.cos(t / 2) ** 2
    return x, 2 / NODES * np.sin(t) ** 2 / x


def marchenko_pastur_rank(rows: int, columns: int, *, order: float = 1, power: float = 1) -> float:
    """`effective_rank` of a large matrix of independent entries, of any common variance.

    Args:
        rows, columns: its shape, either side first.
        order, power: as for `effective_rank`; infinity counts the upper edge of the density.

    Returns:
        From 1 to min(V, d). For the paper's rank it is off by less than 0.4 % from a drawn matrix once the shorter side
        is above 100, square ones included.

    Raises:
        ValueError: a side below 1, an order below 0, or a power not above 0.
    """
    _, short, q = limits(rows, columns)
    if not order >= 0:
        raise ValueError(f"order: got {order}; expected a number of at least 0.")
    if not 0 < power < np.inf:
        raise ValueError(f"power: got {power}; expected a number above 0.")
    x, weight = nodes(q)
    values = x ** (power / 2)
    mean = weight @ values
    if np.isinf(order):
        rank = short * mean / (1 + np.sqrt(q)) ** power
    elif order == 1:
        rank = short * mean * np.exp(-(weight @ (values * np.log(values))) / mean)
    else:
        rank = short * (weight @ (values / mean) ** order) ** (1 / (1 - order))
    return float(max(1.0, rank))


def marchenko_pastur_singular_values(rows: int, columns: int) -> Array:
    """Singular values (r,) of V x d independent entries of variance 1, descending: quantiles of the limiting density.

    The i-th of r is the one above which the density holds (i - 1/2) / r.

    Raises:
        ValueError: a side below 1.
    """
    long, short, q = limits(rows, columns)
    x, weight = nodes(q)
    above = np.cumsum(weight) - weight / 2
    shares = (np.arange(short) + 0.5) / short
    return np.sqrt(long * np.interp(shares, above / above[-1] * (1 - weight[-1] / 2), x))
