"""Local stability: how large a group prefers one model to everything above the line.

Source: Haghtalab, Procaccia, Shao, Wang & Yang, "Pluralistic Leaderboards" (arXiv 2606.02547), section 2. A user
prefers a model to a set of models if she prefers it to every one of them; a set of k is γ-stable if no model outside is
preferred to it by more than γ/k of the users, and a leaderboard if every prefix of it is.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from assay.decisions.ballots import positions_of
from assay.kernels import prefix_support

__all__ = [
    "StabilityBand", "best_committee", "bootstrap_stability", "stability_curve", "stability_ratio",
    "support_of_prefixes",
]  # fmt: skip

MOST_COMMITTEES = 200_000
RESAMPLED_AT_A_TIME = 64


def stability_ratio(orders: np.ndarray, members: np.ndarray, weights: np.ndarray | None = None) -> tuple[float, int]:
    """γ̂ of one set of models, straight from the definition: k · max over a outside of Pr[a ≻ all of the set].

    Args:
        orders: (n, m) whole numbers, best first, −1 after the last model that a user ranks.
        members: (k,) the set, k ≥ 1.
        weights: (n,) how much each user counts, from 0 on; None for equally.

    Returns:
        γ̂, from 0 to k, and the model that most users prefer to the whole set; −1 where the set holds all models.

    Raises:
        ValueError: no members, one twice, or one that is no model.
    """
    n, m = np.shape(orders)
    own = np.asarray(members)
    if own.ndim != 1 or not own.size or len(np.unique(own)) < own.size or own.min() < 0 or own.max() >= m:
        raise ValueError(f"members: got {own.tolist()}; expected different models of 0 to {m - 1}, at least one.")
    outside = np.setdiff1d(np.arange(m), own)
    if not outside.size:
        return 0.0, -1
    positions = positions_of(np.asarray(orders))
    share = np.full(n, 1 / n) if weights is None else np.asarray(weights, float) / np.sum(weights)
    preferred = share @ (positions[:, outside] < positions[:, own].min(1)[:, None])
    worst = int(preferred.argmax())
    return float(own.size * preferred[worst]), int(outside[worst])


def support_of_prefixes(orders: np.ndarray, ranking: np.ndarray) -> np.ndarray:
    """(m, m) int64: how many users prefer model a to all of the first k of a leaderboard, at (a, k − 1).

    Args:
        orders: (n, m), as for `stability_ratio`.
        ranking: (m,) the leaderboard, best first.
    """
    return prefix_support(tensor(orders), tensor(ranking)).numpy()


def stability_curve(orders: np.ndarray, ranking: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """γ̂ of every proper prefix of a leaderboard, in one walk down each order.

    Args:
        orders: (n, m), as for `stability_ratio`.
        ranking: (m,) the leaderboard, best first.

    Returns:
        γ̂ (m − 1,), entry k − 1 for the first k, and the model (m − 1,) that blocks each.
    """
    support = support_of_prefixes(orders, ranking)[:, :-1]
    return np.arange(1, support.shape[1] + 1) * support.max(0) / len(orders), support.argmax(0)


@dataclass(frozen=True, eq=False)
class StabilityBand:
    """γ̂ of every prefix with an interval over users.

    Attributes:
        gamma: (m − 1,). blocker: (m − 1,) the model that blocks each prefix.
        low, high: (m − 1,) percentile interval at `level`, corrected for bias (`bootstrap_stability`).
        level: nominal coverage. resamples: how many were drawn.
    """

    gamma: np.ndarray
    blocker: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float
    resamples: int


def bootstrap_stability(
    orders: np.ndarray, ranking: np.ndarray, rng: np.random.Generator, resamples: int = 200, level: float = 0.95
) -> StabilityBand:
    """γ̂ of every prefix, with an interval by resampling users.

    γ̂ is a maximum over models and lies too high on few users; a resample's lies higher by as much again. So the
    interval is the basic one, reflected at the estimate: 2 γ̂ less the quantiles of the resamples, never below 0.

    Args:
        orders: (n, m), as for `stability_ratio`; users who did not help to build the leaderboard.
        ranking: (m,) the leaderboard.
        rng: where resamples come from.
        resamples: at least 20.
        level: in (0, 1).

    Raises:
        ValueError: too few resamples, or a level outside (0, 1).
    """
    if resamples < 20 or not 0 < level < 1:
        raise ValueError(f"resamples: got {resamples} at level {level:g}; expected at least 20, at a level in (0, 1).")
    n, m = orders.shape
    gamma, blocker = stability_curve(orders, ranking)
    k = np.arange(1, m)
    given, place = tensor(orders), tensor(ranking)
    drawn = np.empty((resamples, m - 1))
    for first in range(0, resamples, RESAMPLED_AT_A_TIME):
        count = min(RESAMPLED_AT_A_TIME, resamples - first)
        weights = np.empty((count, n), np.int32)
        for own in weights:
            own[:] = np.bincount(rng.integers(n, size=n), minlength=n)
        support = prefix_support(given, place, torch.from_numpy(np.ascontiguousarray(weights.T))).numpy()
        drawn[first : first + count] = (k[:, None] * support[:, :-1].max(0) / n).T
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return StabilityBand(
        gamma, blocker, np.maximum(np.minimum(2 * gamma - high, gamma), 0), np.maximum(2 * gamma - low, gamma), level,
        resamples,
    )  # fmt: skip


def best_committee(orders: np.ndarray, k: int) -> tuple[float, np.ndarray]:
    """The least γ̂ of all sets of k models, by trying every one: what no method can be below.

    Args:
        orders: (n, m), as for `stability_ratio`.
        k: from 1 to m.

    Returns:
        γ̂ and the set (k,).

    Raises:
        ValueError: more than 200,000 sets.
    """
    n, m = orders.shape
    if (count := math.comb(m, k)) > MOST_COMMITTEES:
        raise ValueError(f"k: {count:,} sets of {k} among {m} models; expected at most {MOST_COMMITTEES:,}.")
    if k == m:
        return 0.0, np.arange(m)
    positions = positions_of(np.asarray(orders)).astype(np.int32)
    distinct, counts = np.unique(positions, axis=0, return_counts=True)
    least, found = np.inf, tuple(range(k))
    for own in itertools.combinations(range(m), k):
        first = distinct[:, own].min(1)
        gamma = k * float((counts @ (distinct < first[:, None])).max()) / n  # a member is preferred to itself by nobody
        if gamma < least:
            least, found = gamma, own
    return least, np.array(found)


def tensor(values: np.ndarray) -> torch.Tensor:
    """An array as a tensor."""
    own = np.ascontiguousarray(values)
    return torch.from_numpy(own if own.flags.writeable else own.copy())
