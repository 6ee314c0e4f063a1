"""Proportionality for solid coalitions, and why comparisons of k models at a time cannot tell it.

Source: Haghtalab et al. (arXiv 2606.02547), the negative result on solid coalitions; the axiom: Dummett (1984). A group
is solid for a set C when each of its users puts C above everything else. A committee of k seats is proportional when
every group of at least ℓ/k of the users that is solid for C gets min(ℓ, |C|) members of C.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

__all__ = ["WeightedProfile", "comparison_law", "hidden_coalition", "solid_shortfall"]


@dataclass(frozen=True, eq=False)
class WeightedProfile:
    """Orders that several users share.

    Attributes:
        models: (m,) names.
        orders: (r, m) int16, best first, complete.
        counts: (r,) int64 users with each.
    """

    models: tuple[str, ...]
    orders: np.ndarray
    counts: np.ndarray

    def expanded(self) -> np.ndarray:
        """(n, m) int16: one row for each user."""
        return np.repeat(self.orders, self.counts, axis=0)


def solid_shortfall(profile: WeightedProfile, members: np.ndarray) -> float:
    """The largest share of users in a solid group that gets too few seats, over the share that entitles it; 0 if none.

    At 1 or more the committee is not proportional.

    Args:
        profile: at most 12 models.
        members: (k,) the committee.
    """
    m, k = profile.orders.shape[1], len(members)
    if m > 12:
        raise ValueError(f"models: got {m}; expected at most 12, for all sets of models are tried.")
    seats, total = set(np.asarray(members).tolist()), int(profile.counts.sum())
    worst = 0.0
    for size in range(1, m + 1):
        first = np.sort(profile.orders[:, :size], 1)
        for own in itertools.combinations(range(m), size):
            solid = int(profile.counts[(first == np.array(own)).all(1)].sum())
            has = len(seats & set(own))
            if has < min(size, k):  # it falls short from ℓ = has + 1 on
                worst = max(worst, solid * k / ((has + 1) * total))
    return worst


def comparison_law(profile: WeightedProfile, k: int) -> np.ndarray:
    """Users with each order of each set of k models: all that comparisons of k models at a time can ever show.

    Returns:
        (C(m, k), k!) int64, sets and orders in lexical order.
    """
    m = profile.orders.shape[1]
    sets = list(itertools.combinations(range(m), k))
    kinds = {own: i for i, own in enumerate(itertools.permutations(range(k)))}
    law = np.zeros((len(sets), math.factorial(k)), np.int64)
    for row, own in enumerate(sets):
        inside = np.isin(profile.orders, own)
        within = profile.orders[inside].reshape(len(profile.orders), k)
        for order, count in zip(np.searchsorted(np.array(own), within), profile.counts, strict=True):
            law[row, kinds[tuple(order.tolist())]] += count
    return law


def hidden_coalition(k: int) -> tuple[WeightedProfile, WeightedProfile]:
    """Two profiles over x1 … xk and y that no comparisons of k models tell apart, though only one is unfair to y.

    In both, users put x1 … xk in every order equally often, and y above N of them, independently. Sets of k models see
    of N only its first k − 1 moments. Adding (−1)^(k−j) C(k, j) to the weight of N = j, or taking it off, changes none
    of them; the users with N = k, who put y first, are more than 1/k in the one profile and fewer in the other. So the
    committee x1 … xk is proportional in the second profile and not in the first.

    Args:
        k: from 2 to 6.
    """
    if not 2 <= k <= 6:
        raise ValueError(f"k: got {k}; expected 2 to 6, for all orders of k models are listed.")
    binomial = np.array([math.comb(k, j) for j in range(k + 1)], np.int64)
    base = 2 * (k - 1) * binomial  # so that the last one is whole
    base[k] = base[:k].sum() // (k - 1)  # 1/k of all users
    change = np.array([(-1) ** (k - j) for j in range(k + 1)]) * binomial
    orders, weights = [], []
    for own in itertools.permutations(range(k)):
        for above in range(k + 1):
            place = k - above
            orders.append([*own[:place], k, *own[place:]])
            weights.append((base[above] + change[above], base[above] - change[above]))
    names = (*(f"x{i + 1}" for i in range(k)), "y")
    counts = np.array(weights, np.int64)
    own = np.array(orders, np.int16)
    return WeightedProfile(names, own, counts[:, 0]), WeightedProfile(names, own, counts[:, 1])
