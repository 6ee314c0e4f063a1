"""Counting supporters on processors: Numba, each thread walks down its share of the orders, once for all cuts.

The walk down an order ends where it meets the first of the leaderboard: nobody below can be preferred to any prefix.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import threading

import numpy as np
import torch
from torch import Tensor

from assay.kernels.compiled import compiled
from assay.kernels.threads import shared_out

__all__ = ["counted"]

COLUMNS = 64  # of weights at a time: their counts stay in a cache


@compiled
def _count(orders, place, counts, first, last):
    """Add what a share of the users says to counts (models, models + 1); the first one with a bad entry, or −1."""
    models = place.size
    for i in range(first, last):
        met = models + 1
        for p in range(models):
            a = orders[i, p]
            if a < 0:
                break
            if a >= models:
                return i
            met = min(met, place[a])
            if met == 1:
                break
            counts[a, met - 1] += 1
    return -1


@compiled
def _count_weighted(orders, place, weights, counts, first, last):
    """As `_count`, each user as often as each column says; counts (models, models + 1, columns)."""
    models = place.size
    for i in range(first, last):
        met = models + 1
        for p in range(models):
            a = orders[i, p]
            if a < 0:
                break
            if a >= models:
                return i
            met = min(met, place[a])
            if met == 1:
                break
            cell, own = counts[a, met - 1], weights[i]
            for b in range(own.size):
                cell[b] += own[b]
    return -1


def counted(orders: Tensor, place: Tensor, weights: Tensor | None) -> Tensor:
    """Counts (models, models, columns) int64; orders int16, place int32 and weights int32, all contiguous.

    Raises:
        ValueError: an entry of an order that is no model.
    """
    parts = [None] if weights is None else [part.contiguous().numpy() for part in weights.split(COLUMNS, 1)]
    counts = np.concatenate([totals(orders.numpy(), place.numpy(), part) for part in parts], axis=2)
    return torch.from_numpy(np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:].copy())


def totals(orders: np.ndarray, place: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """(models, models + 1, columns) users by the first place that each meets at or above a model."""
    models = len(place)
    total = np.zeros((models, models + 1, 1 if weights is None else weights.shape[1]), np.int64)
    bad: list[int] = []
    lock = threading.Lock()

    def share(first: int, last: int) -> None:
        counts = np.zeros(total.shape, np.int64)
        if weights is None:
            found = _count(orders, place, counts[:, :, 0], first, last)
        else:
            found = _count_weighted(orders, place, weights, counts, first, last)
        with lock:
            np.add(total, counts, out=total)
            if found >= 0:
                bad.append(int(found))

    shared_out(orders.size, len(orders), share)
    if bad:
        raise ValueError(f"orders: user {min(bad) + 1} names a model beyond the {models} of the leaderboard.")
    return total
