"""How many directions a matrix uses, by the numbers that papers call its rank. All are functions of singular values.

Each is the exponential of a Renyi entropy of p_i = s_i^k / sum_j s_j^k. Papers mix k = 1 and k = 2 under one name, and
on trained matrices they differ by ten times. As entropies fall with their order and with k,

    stable rank <= participation ratio <= effective rank (k = 2) <= effective rank (k = 1) <= rank.

Source: Roy & Vetterli (2007), "The effective rank", eq. 2-4 (Shannon, k = 1, the one of arXiv 2602.20433); Rudelson &
Vershynin (2007) (stable rank).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assay.geometry.matrix_input import Array

__all__ = [
    "effective_rank", "nuclear_rank", "numerical_rank", "participation_ratio", "rank_at", "spectral_entropy",
    "stable_rank",
]  # fmt: skip


def checked_spectrum(singular_values: ArrayLike) -> Array:
    """(..., r), each row divided by its largest value.

    Raises:
        ValueError: no values, a negative or non-finite one, or a row of zeros.
    """
    values = np.asarray(singular_values, dtype=np.float64)
    if values.ndim < 1 or not values.size:
        raise ValueError(f"singular_values: got shape {values.shape}; expected (..., r) with values.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("singular_values: got negative or non-finite ones; expected finite values of at least 0.")
    largest = values.max(axis=-1, keepdims=True)
    if (largest == 0).any():
        raise ValueError("singular_values: got nothing but zeros; expected at least one above 0.")
    return values / largest


def effective_rank(singular_values: ArrayLike, *, order: float = 1, power: float = 1) -> Array:
    """exp of the Renyi entropy of p_i = s_i^power / sum_j s_j^power.

    Args:
        singular_values: (..., r), in any order and scale.
        order: of the entropy; 1 is Shannon's, 2 gives 1 / sum p^2, infinity 1 / max p.
        power: 1 as in the paper, 2 for shares of variance.

    Returns:
        (...), from 1 to the number of values above 0.

    Raises:
        ValueError: values that are no spectrum, an order below 0, or a power not above 0.
    """
    values = checked_spectrum(singular_values)
    if not order >= 0:
        raise ValueError(f"order: got {order}; expected a number of at least 0.")
    if not 0 < power < np.inf:
        raise ValueError(f"power: got {power}; expected a number above 0.")
    weights = values**power
    p = weights / weights.sum(axis=-1, keepdims=True)
    if np.isinf(order):
        return 1 / p.max(axis=-1)
    if order == 1:
        return np.exp(-(p * np.log(p, out=np.zeros_like(p), where=p > 0)).sum(axis=-1))
    raised = np.power(p, order, out=np.zeros_like(p), where=p > 0)
    return raised.sum(axis=-1) ** (1 / (1 - order))


def stable_rank(singular_values: ArrayLike) -> Array:
    """|W|_F^2 / s_1^2 of (..., r) singular values; from 1 to r. Raises as `effective_rank`."""
    return (checked_spectrum(singular_values) ** 2).sum(axis=-1)


def participation_ratio(singular_values: ArrayLike) -> Array:
    """(sum s^2)^2 / sum s^4 of (..., r) singular values; from 1 to r. Raises as `effective_rank`."""
    return effective_rank(singular_values, order=2, power=2)


def nuclear_rank(singular_values: ArrayLike) -> Array:
    """(sum s)^2 / sum s^2 of (..., r) singular values; from 1 to r. Raises as `effective_rank`."""
    return effective_rank(singular_values, order=2, power=1)


def spectral_entropy(singular_values: ArrayLike, *, normalised: bool = True, power: float = 1) -> Array:
    """Shannon entropy of s^power / sum s^power, nats; divided by ln r, so within [0, 1], when `normalised`.

    A spectrum of one value has entropy 0, normalised or not.

    Raises:
        ValueError: as `effective_rank`.
    """
    entropy = np.log(effective_rank(singular_values, power=power))
    count = np.asarray(singular_values).shape[-1]
    return entropy / np.log(count) if normalised and count > 1 else entropy


def numerical_rank(singular_values: ArrayLike, *, threshold: float = 1e-3) -> Array:
    """How many of (..., r) singular values exceed threshold times the largest.

    Raises:
        ValueError: values that are no spectrum, or a threshold outside [0, 1).
    """
    if not 0 <= threshold < 1:
        raise ValueError(f"threshold: got {threshold}; expected a number from 0 to below 1.")
    return (checked_spectrum(singular_values) > threshold).sum(axis=-1)


def rank_at(singular_values: ArrayLike, energy: float = 0.99) -> Array:
    """Fewest of (..., r) singular values that hold a share of sum s^2.

    Raises:
        ValueError: values that are no spectrum, or a share outside (0, 1].
    """
    if not 0 < energy <= 1:
        raise ValueError(f"energy: got {energy}; expected a share above 0 and at most 1.")
    squares = np.sort(checked_spectrum(singular_values) ** 2, axis=-1)[..., ::-1]
    held = np.cumsum(squares, axis=-1)
    return (held < energy * held[..., -1:] * (1 - 1e-12)).sum(axis=-1) + 1
