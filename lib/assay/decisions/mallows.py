"""Mallows' law of orders around a centre, and mixtures of it: populations with known factions.

Source: Mallows (1957); sampling by repeated insertion (Doignon, Pekeč & Regenwetter 2004); mixtures as in Haghtalab et
al. (arXiv 2606.02547), experiments.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numpy as np

from assay.kernels.compiled import compiled

__all__ = ["expected_kendall", "mallows_mixture", "mallows_sample", "random_centres"]

AT_A_TIME = 2**22  # numbers drawn at a time


@compiled
def _insert(displaced, centre, orders):
    """Build each order by inserting item j of the centre `displaced[i, j]` places before the end."""
    for i in range(len(orders)):
        for j in range(centre.size):
            at = j - displaced[i, j]
            for p in range(j, at, -1):
                orders[i, p] = orders[i, p - 1]
            orders[i, at] = centre[j]


def mallows_sample(centre: np.ndarray, phi: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Orders with probability proportional to φ to the Kendall distance from a centre.

    Item j = 1 … m of the centre is inserted at place i ≤ j of those before it with probability φ^(j−i) over
    φ^0 + … + φ^(j−1).

    Args:
        centre: (m,) an order of 0 … m − 1.
        phi: dispersion from 0 (all orders are the centre) to 1 (all orders are equally likely).
        n: how many.
        rng: where they come from.

    Returns:
        (n, m) int16, best first.

    Raises:
        ValueError: a dispersion outside [0, 1], or a centre that is no order.
    """
    if not 0 <= phi <= 1:
        raise ValueError(f"phi: got {phi:g}; expected a number from 0 to 1.")
    own = np.asarray(centre)
    m = own.size
    if own.ndim != 1 or not np.array_equal(np.sort(own), np.arange(m)):
        raise ValueError(f"centre: got {own.size} entries; expected each of 0 to {m - 1} once.")
    orders = np.empty((n, m), np.int16)
    j = np.arange(1, m + 1)
    for first in range(0, n, max(1, AT_A_TIME // m)):
        part = orders[first : first + max(1, AT_A_TIME // m)]
        u = rng.random(part.shape)
        if phi == 1:
            displaced = u * j
        elif phi == 0:
            displaced = np.zeros_like(u)
        else:
            displaced = np.log1p(u * np.expm1(j * np.log(phi))) / np.log(phi)  # the inverse of 1 − φ^v over 1 − φ^j
        _insert(np.minimum(displaced.astype(np.int16), (j - 1).astype(np.int16)), own.astype(np.int16), part)
    return orders


def mallows_mixture(
    centres: np.ndarray, phi: float, weights: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Users of several factions, each with a centre of its own.

    Args:
        centres: (K, m) orders.
        phi: dispersion of every faction.
        weights: (K,) shares of the factions, above 0 somewhere; scaled to 1.
        n: users.
        rng: where they come from; the number of users in each faction is drawn too.

    Returns:
        orders (n, m) int16 and faction (n,) int16.

    Raises:
        ValueError: weights that are negative or all 0, or another number of them than of centres.
    """
    share = np.asarray(weights, float)
    if share.shape != (len(centres),) or not np.isfinite(share).all() or (share < 0).any() or share.sum() <= 0:
        raise ValueError(f"weights: got {share.size}; expected {len(centres)} numbers from 0 on, not all 0.")
    faction = rng.choice(len(centres), n, p=share / share.sum()).astype(np.int16)
    orders = np.empty((n, np.shape(centres)[1]), np.int16)
    for k, centre in enumerate(centres):
        own = faction == k
        orders[own] = mallows_sample(centre, phi, int(own.sum()), rng)
    return orders, faction


def random_centres(factions: int, models: int, rng: np.random.Generator) -> np.ndarray:
    """(factions, models) int16 centres, uniform over all orders and independent."""
    return np.stack([rng.permutation(models) for _ in range(factions)]).astype(np.int16)


def expected_kendall(models: int, phi: float) -> float:
    """Expected Kendall distance (discordant pairs) from the centre: Σ_j φ/(1 − φ) − j φ^j/(1 − φ^j), j = 1 … m."""
    j = np.arange(1, models + 1)
    if phi == 1:
        return float(((j - 1) / 2).sum())
    return float((phi / (1 - phi) - j * phi**j / (1 - phi**j)).sum())
