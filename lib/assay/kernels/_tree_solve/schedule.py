"""Dendritic Hierarchical Scheduling: nodes of a tree that are eliminated side by side, in few rounds.

Source: Zhang et al., Nat. Commun. 14, 5798 (2023), as HelioX takes it over. The rule, deepest ready node first, is Hu's
level algorithm for in-trees (Hu, Oper. Res. 9, 841, 1961), which is why a closed form for the optimum exists.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import heapq
from dataclasses import dataclass

import numpy as np

from assay.kernels.compiled import compiled

__all__ = ["Bound", "Schedule", "checked_parent", "dhs_schedule", "node_depth", "optimal_rounds", "round_bound"]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Rounds of an elimination; read from the last to the first they are the order of the back-substitution.

    Attributes:
        parent: (n,) parents, −1 at roots.
        threads: most nodes of a round.
        order: (n,) nodes, round after round.
        start: (rounds + 1,) where each round begins in `order`.
        round: (n,) of each node, from 0. lane: (n,) its place in the round.
    """

    parent: np.ndarray
    threads: int
    order: np.ndarray
    start: np.ndarray
    round: np.ndarray
    lane: np.ndarray

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def rounds(self) -> list[np.ndarray]:
        """Nodes of each round."""
        return np.split(self.order, self.start[1:-1])

    @property
    def waste(self) -> float:
        """Share of lanes that stand idle, from 0 to 1."""
        return 1 - len(self.order) / (len(self) * self.threads)


@dataclass(frozen=True)
class Bound:
    """Why no schedule has fewer rounds.

    Attributes:
        rounds: the fewest that are possible.
        level: γ: nodes further than this from their root, the root itself counted, must be done before the last γ
            rounds, for each takes a round of its own on the way to the root.
        beyond: how many nodes lie there.
    """

    rounds: int
    level: int
    beyond: int


def checked_parent(parent: np.ndarray) -> np.ndarray:
    """Parents as int64.

    Raises:
        ValueError: parents that are no forest with parents before their children.
    """
    given = np.asarray(parent)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) < 1:
        raise ValueError(
            f"parent: got {given.dtype} of shape {given.shape}; expected whole numbers (n,), n at least 1."
        )
    up = given.astype(np.int64)
    wrong = np.flatnonzero((up >= np.arange(len(up))) | (up < -1))
    if len(wrong):
        i = int(wrong[0])
        raise ValueError(f"parent: node {i} has parent {up[i]}; expected −1 for a root, or a node before it.")
    return up


def node_depth(parent: np.ndarray) -> np.ndarray:
    """(n,) steps from each node up to its root; 0 at roots.

    Raises:
        ValueError: parents that are no forest with parents before their children.
    """
    return _depth(checked_parent(parent))


@compiled
def _depth(parent):
    depth = np.zeros(parent.size, np.int64)
    for i in range(parent.size):
        if parent[i] >= 0:
            depth[i] = depth[parent[i]] + 1
    return depth


@compiled
def _schedule(parent, depth, threads):
    n = parent.size
    waiting = np.zeros(n, np.int64)
    for i in range(n):
        if parent[i] >= 0:
            waiting[parent[i]] += 1
    ready = [np.int64(0)]
    ready.clear()
    for i in range(n):
        if waiting[i] == 0:
            heapq.heappush(ready, -depth[i] * n + i)
    order = np.empty(n, np.int64)
    rounds, lane, start = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n + 1, np.int64)
    done, count = 0, 0
    while done < n:
        start[count] = done
        now = min(threads, len(ready))
        for j in range(now):
            i = heapq.heappop(ready) % n
            order[done + j], rounds[i], lane[i] = i, count, j
        for j in range(done, done + now):
            p = parent[order[j]]
            if p >= 0:
                waiting[p] -= 1
                if waiting[p] == 0:
                    heapq.heappush(ready, -depth[p] * n + p)
        done += now
        count += 1
    start[count] = n
    return order, start[: count + 1].copy(), rounds, lane


def dhs_schedule(parent: np.ndarray, threads: int) -> Schedule:
    """Eliminate the deepest nodes whose children are done, as many at once as there are threads.

    Args:
        parent: (n,) parents before their children, −1 at roots; several roots are several cells that share threads.
        threads: k, at least 1.

    Returns:
        the rounds; as few as any schedule has.

    Raises:
        ValueError: no forest, or fewer than one thread.
    """
    up = checked_parent(parent)
    if threads < 1:
        raise ValueError(f"threads: got {threads}; expected at least 1.")
    return Schedule(up, int(threads), *_schedule(up, _depth(up), int(threads)))


def round_bound(parent: np.ndarray, threads: int) -> Bound:
    """The fewest rounds that any schedule needs, and the level that forces them.

    R(k) = max over γ ≥ 0 of γ + ⌈N(γ) / k⌉, N(γ) nodes with depth + 1 > γ.

    Raises:
        ValueError: no forest, or fewer than one thread.
    """
    if threads < 1:
        raise ValueError(f"threads: got {threads}; expected at least 1.")
    counts = np.bincount(node_depth(parent))
    beyond = np.append(np.cumsum(counts[::-1])[::-1], 0)  # N(γ) for γ from 0 to the greatest depth + 1
    needed = np.arange(len(beyond)) + -(-beyond // threads)
    level = len(needed) - 1 - int(needed[::-1].argmax())  # of several, the one that says most about depth
    return Bound(int(needed.max()), level, int(beyond[level]))


def optimal_rounds(parent: np.ndarray, threads: int) -> int:
    """R(k), the fewest rounds of any schedule; n for one thread, the greatest depth + 1 for as many as there are nodes.

    Raises:
        ValueError: no forest, or fewer than one thread.
    """
    return round_bound(parent, threads).rounds
