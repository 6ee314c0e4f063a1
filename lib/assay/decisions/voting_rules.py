"""Leaderboards by rules that are older than pluralistic ones: what they are compared with.

Each takes orders (n, m) whole numbers, best first, −1 after the last model that a user ranks, and returns a leaderboard
(m,) int16. Ties go to the model that comes first. Sources: Brandt et al., "Handbook of Computational Social Choice"
(2016), chapters 2 (Borda, plurality, alternative vote) and 18; Lu & Boutilier (2011) for greedy Chamberlin–Courant;
Brill, Freeman, Janson & Lackner (2017) for sequential Phragmén.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

from __future__ import annotations

import numpy as np

from assay.decisions.ballots import positions_of
from assay.decisions.model_strengths import ranking_of
from assay.kernels.compiled import compiled

__all__ = [
    "alternative_vote_order", "borda_order", "borda_scores", "coverage_order", "find_factions", "group_tops_order",
    "phragmen_order", "plurality_order",
]  # fmt: skip

SOUGHT_AMONG = 1000


def borda_scores(orders: np.ndarray) -> np.ndarray:
    """(m,) mean number of models that a user puts below each; those that are not ranked share the places that are left.

    On complete orders, where every pair is compared equally often, a model's Bradley–Terry strength rises with it.
    """
    n, m = orders.shape
    ranked = (orders >= 0).sum(1)
    left = np.repeat((m - 1 - ranked) / 2, m).reshape(n, m)  # mean of what is below a model that is not ranked
    positions = positions_of(orders)
    return np.where(positions < m, m - 1.0 - positions, np.maximum(left, 0)).mean(0)


def borda_order(orders: np.ndarray) -> np.ndarray:
    """By Borda scores."""
    return ranking_of(borda_scores(orders))


def plurality_order(orders: np.ndarray) -> np.ndarray:
    """By how many users put a model first; Borda scores decide between equals."""
    m = orders.shape[1]
    firsts = np.bincount(orders[:, 0][orders[:, 0] >= 0], minlength=m)
    return ranking_of(firsts + borda_scores(orders) / (2 * m))


def alternative_vote_order(orders: np.ndarray) -> np.ndarray:
    """The reverse of who goes first: again and again the model that the fewest put first among those left goes."""
    m = orders.shape[1]
    out = np.empty(m, np.int64)
    _eliminate(np.ascontiguousarray(orders), borda_scores(orders), out)
    return out[::-1].astype(np.int16)


@compiled
def _eliminate(orders, scores, out):
    n, m = orders.shape
    gone, at, firsts = np.zeros(m, np.bool_), np.zeros(n, np.int64), np.zeros(m, np.int64)
    for i in range(n):
        if orders[i, 0] >= 0:
            firsts[orders[i, 0]] += 1
    for turn in range(m):
        last = -1
        for a in range(m):
            if not gone[a] and (
                last < 0 or firsts[a] < firsts[last] or (firsts[a] == firsts[last] and scores[a] <= scores[last])
            ):
                last = a
        out[turn], gone[last] = last, True
        for i in range(n):
            if at[i] < m and orders[i, at[i]] == last:
                while at[i] < m and orders[i, at[i]] >= 0 and gone[orders[i, at[i]]]:
                    at[i] += 1
                if at[i] < m and orders[i, at[i]] >= 0:
                    firsts[orders[i, at[i]]] += 1


def coverage_order(orders: np.ndarray) -> np.ndarray:
    """Greedy Chamberlin–Courant: each place to the model that most raises users' mean best Borda score."""
    m = orders.shape[1]
    out = np.empty(m, np.int64)
    _cover(np.ascontiguousarray(m - positions_of(orders).astype(np.int32)), borda_scores(orders), out)
    return out.astype(np.int16)


@compiled
def _cover(scores, borda, out):
    n, m = scores.shape
    best, gains, used = np.zeros(n, np.int32), np.zeros(m, np.int64), np.zeros(m, np.bool_)
    for turn in range(m):
        gains[:] = 0
        for i in range(n):
            for a in range(m):
                gains[a] += max(0, scores[i, a] - best[i])
        chosen = -1
        for a in range(m):
            if not used[a] and (
                chosen < 0 or gains[a] > gains[chosen] or (gains[a] == gains[chosen] and borda[a] > borda[chosen])
            ):
                chosen = a
        out[turn], used[chosen] = chosen, True
        for i in range(n):
            best[i] = max(best[i], scores[i, chosen])


def phragmen_order(orders: np.ndarray, approved: int) -> np.ndarray:
    """Sequential Phragmén, where every user approves of the first so many models of her order.

    A place costs one unit, shared by those who approve so that the largest load of any of them stays least; models that
    nobody approves of come last, by Borda scores.

    Args:
        orders: (n, m).
        approved: from 1 to m.
    """
    m = orders.shape[1]
    out = np.empty(m, np.int64)
    _share(positions_of(orders) < min(approved, m), borda_scores(orders), out)
    return out.astype(np.int16)


@compiled
def _share(approves, borda, out):
    n, m = approves.shape
    load, used = np.zeros(n), np.zeros(m, np.bool_)
    supporters = np.zeros(m, np.int64)
    for i in range(n):
        for a in range(m):
            supporters[a] += approves[i, a]
    sums, costs = np.empty(m), np.empty(m)
    for turn in range(m):
        sums[:] = 0.0
        for i in range(n):
            for a in range(m):
                if approves[i, a]:
                    sums[a] += load[i]
        chosen = -1
        for a in range(m):
            costs[a] = (1.0 + sums[a]) / supporters[a] if supporters[a] else np.inf
            if not used[a] and (
                chosen < 0
                or costs[a] < costs[chosen] - 1e-12
                or (abs(costs[a] - costs[chosen]) <= 1e-12 and borda[a] > borda[chosen])
                or (costs[a] == costs[chosen] and borda[a] > borda[chosen])
            ):
                chosen = a
        out[turn], used[chosen] = chosen, True
        if supporters[chosen]:
            for i in range(n):
                if approves[i, chosen]:
                    load[i] = costs[chosen]


def group_tops_order(orders: np.ndarray, faction: np.ndarray) -> np.ndarray:
    """Groups take turns, as often as D'Hondt's quotients give them one: each adds its best model that is not in yet.

    Args:
        orders: (n, m).
        faction: (n,) group of each user.
    """
    m = orders.shape[1]
    groups = np.unique(faction)
    lists = [list(borda_order(orders[faction == g])) for g in groups]
    size = np.array([(faction == g).sum() for g in groups], float)
    turns, order = np.zeros(len(groups)), dict.fromkeys(())
    while len(order) < m:
        own = int((size / (turns + 1)).argmax())
        turns[own] += 1
        order[next(a for a in lists[own] if a not in order)] = None
    return np.array(list(order), np.int16)


def find_factions(orders: np.ndarray, count: int, rng: np.random.Generator, starts: int = 6) -> np.ndarray:
    """(n,) int16: groups of users whose positions are near each other (k-means), the largest first.

    Args:
        orders: (n, m).
        count: groups, at most; a group that falls empty is gone.
        rng: which users the centres are sought among (at most 1,000), and where they start (k-means++).
        starts: the centres that leave users nearest are taken.
    """
    x = positions_of(orders).astype(np.float32)
    some = x if len(x) <= SOUGHT_AMONG else x[rng.choice(len(x), SOUGHT_AMONG, replace=False)]
    tried = [centres_among(some, count, rng) for _ in range(starts)]
    group = distances(x, min(tried, key=lambda one: one[0])[1]).argmin(1)
    _, group, counts = np.unique(group, return_inverse=True, return_counts=True)
    place = np.empty(len(counts), np.intp)
    place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return place[group].astype(np.int16)


def centres_among(x: np.ndarray, count: int, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """Mean squared distance to the nearest centre, and the centres, by one start of k-means++."""
    centres = x[rng.integers(len(x), size=1)]
    for _ in range(1, min(count, len(x))):
        distance = np.clip(distances(x, centres).min(1), 0, None).astype(float)
        if distance.sum() <= 1e-3:
            break
        centres = np.vstack([centres, x[rng.choice(len(x), p=distance / distance.sum())]])
    group = np.full(len(x), -1)
    for _ in range(12):
        before, group = group, distances(x, centres).argmin(1)
        if (before == group).all():
            break
        centres = np.stack([x[group == g].mean(0) for g in np.unique(group)])
        group = np.unique(group, return_inverse=True)[1]
    return float(distances(x, centres).min(1).mean()), centres


def distances(x: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """(n, centres) squared distances."""
    return (x * x).sum(1)[:, None] - 2 * x @ centres.T + (centres * centres).sum(1)
