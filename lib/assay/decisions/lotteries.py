"""Stable lotteries: a random committee that no model is preferred to by more than about 1/k of the users.

Source: Haghtalab et al. (arXiv 2606.02547), section 3 and its solver by multiplicative weights; existence: Cheng,
Jiang, Munagala & Wang (2020). For any law p on models, k draws from p satisfy Pr[a ~ p beats all k] ≤ 1/(k + 1), since
the best of k + 1 exchangeable draws is equally likely to be any of them; minimax turns that into a lottery.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assay.decisions.ballots import positions_of
from assay.kernels.compiled import compiled

__all__ = ["Lottery", "exact_lottery", "lottery_value", "stable_lottery"]

ORACLE_DRAWS = 30
MOST_SETS = 5000
RATE = 0.5  # of multiplicative weights


@dataclass(frozen=True, eq=False)
class Lottery:
    """A law over committees.

    Attributes:
        sets: (s, k) models of each, drawn independently: a model may be in a set twice, which makes it smaller.
        p: (s,) probabilities.
    """

    sets: np.ndarray
    p: np.ndarray


@compiled
def _weigh(positions, uniforms, asked, sets, rate):
    """Play all rounds: positions (rounds, users, m), uniforms (rounds, draws, k), asked (rounds, draws, users).

    Fills sets (rounds, k). A draw of the oracle is scored by whether each user prefers one model, drawn from the
    weights, to the whole set.
    """
    rounds, users, m = positions.shape
    draws, k = uniforms.shape[1:]
    weights, cumulative = np.ones(m), np.empty(m)
    drawn, beaten = np.empty(k, np.int64), np.empty(m)
    for t in range(rounds):
        total = 0.0
        for a in range(m):
            total += weights[a]
            cumulative[a] = total
        least = np.inf
        for d in range(draws):
            for j in range(k):
                drawn[j] = min(m - 1, np.searchsorted(cumulative, uniforms[t, d, j] * total, side="right"))
            score = 0.0
            if draws > 1:
                for i in range(users):
                    best = positions[t, i, drawn[0]]
                    for j in range(1, k):
                        best = min(best, positions[t, i, drawn[j]])
                    a = min(m - 1, np.searchsorted(cumulative, asked[t, d, i] * total, side="right"))
                    if positions[t, i, a] < best:
                        score += 1.0
            if score < least:
                least = score
                sets[t] = drawn
        beaten[:] = 0.0
        for i in range(users):
            best = positions[t, i, sets[t, 0]]
            for j in range(1, k):
                best = min(best, positions[t, i, sets[t, j]])
            for a in range(m):
                if positions[t, i, a] < best:
                    beaten[a] += 1.0
        largest = 0.0
        for a in range(m):
            weights[a] *= np.exp(rate * beaten[a] / users)
            largest = max(largest, weights[a])
        for a in range(m):
            weights[a] /= largest


def stable_lottery(
    users: Callable[[int], np.ndarray],
    k: int,
    rng: np.random.Generator,
    *,
    rounds: int = 20,
    round_users: int = 50,
    draws: int = ORACLE_DRAWS,
    rate: float = RATE,
) -> Lottery:
    """A lottery over sets of k, by multiplicative weights against an adversary who weighs models.

    In each round the oracle draws sets of k models independently from the weights and returns the one that the fewest
    of some fresh users would swap for a model drawn from the weights; then each model's weight grows by
    exp(rate · share of the users who prefer it to the whole set). The lottery is uniform over the returned sets.

    Args:
        users: from a number to the positions (number, m) of that many users, drawn from the law at hand.
        k: size of a set.
        rng: where draws come from.
        rounds: of the game, T_MWU.
        round_users: fresh users in each, n_MWU.
        draws: sets that the oracle chooses from, T_oracle; with 1 no user is asked for it.
        rate: η.

    Returns:
        A lottery of at most `rounds` different sets.

    Raises:
        ValueError: a size, or a number of rounds, users or draws, below 1.
    """
    for name, value in (("k", k), ("rounds", rounds), ("round_users", round_users), ("draws", draws)):
        if value < 1:
            raise ValueError(f"{name}: got {value}; expected at least 1.")
    positions = users(rounds * round_users)
    positions = np.ascontiguousarray(positions).reshape(rounds, round_users, positions.shape[1])
    sets = np.empty((rounds, k), np.int64)
    asked = rng.random((rounds, draws, round_users if draws > 1 else 0), np.float32)
    _weigh(positions, rng.random((rounds, draws, k)), asked, sets, rate)
    distinct, counts = np.unique(np.sort(sets, 1), axis=0, return_counts=True)
    return Lottery(distinct, counts / rounds)


def lottery_value(orders: np.ndarray, lottery: Lottery) -> np.ndarray:
    """(m,) share of users, over users and sets, who prefer each model to the whole set; stable if none exceeds 1/k."""
    positions = positions_of(orders)
    value = np.zeros(positions.shape[1])
    for own, p in zip(lottery.sets, lottery.p, strict=True):
        value += p * (positions < positions[:, own].min(1)[:, None]).mean(0)
    return value


def exact_lottery(orders: np.ndarray, k: int) -> tuple[Lottery, float]:
    """The lottery over all sets of k different models whose worst model is preferred least: a linear programme.

    Args:
        orders: (n, m), few enough models that all sets can be listed.
        k: below m.

    Returns:
        The lottery, of sets with positive probability, and its value max_a Pr[a ≻ S], at most 1/(k + 1).

    Raises:
        ValueError: more than 5,000 sets.
    """
    from scipy.optimize import linprog

    m = orders.shape[1]
    if (count := math.comb(m, k)) > MOST_SETS:
        raise ValueError(f"k: {count:,} sets of {k} among {m} models; expected at most {MOST_SETS:,}.")
    sets = np.array(list(itertools.combinations(range(m), k)))
    positions = positions_of(orders)
    beats = np.stack([(positions < positions[:, own].min(1)[:, None]).mean(0) for own in sets], 1)
    s = len(sets)
    found = linprog(
        np.append(np.zeros(s), 1.0), A_ub=np.column_stack([beats, -np.ones(m)]), b_ub=np.zeros(m),
        A_eq=np.append(np.ones(s), 0.0)[None], b_eq=[1.0], bounds=[(0, None)] * (s + 1), method="highs",
    )  # fmt: skip
    p = np.clip(found.x[:-1], 0, None)
    kept = p > 1e-12
    return Lottery(sets[kept], p[kept] / p[kept].sum()), float(found.fun)
