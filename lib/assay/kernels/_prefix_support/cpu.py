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
    o, at = orders.numpy(), place.numpy()
    models = len(at)
    columns = [None] if weights is None else list(weights.split(COLUMNS, 1))
    parts = []
    for own in columns:
        w = None if own is None else own.contiguous().numpy()
        total = np.zeros((models, models + 1, 1 if w is None else w.shape[1]), np.int64)
        bad, lock = [], threading.Lock()

        def share(first: int, last: int, w: np.ndarray | None = w, total: np.ndarray = total) -> None:
            counts = np.zeros(total.shape, np.int64)
            if w is None:
                found = _count(o, at, counts[:, :, 0], first, last)
            else:
                found = _count_weighted(o, at, w, counts, first, last)
            with lock:
                total += counts
                if found >= 0:
                    bad.append(int(found))

        shared_out(o.size, len(o), share)
        if bad:
            raise ValueError(f"orders: user {min(bad) + 1} names a model beyond the {models} of the leaderboard.")
        parts.append(total)
    counts = np.concatenate(parts, axis=2)
    return torch.from_numpy(np.ascontiguousarray(np.cumsum(counts[:, ::-1], axis=1)[:, ::-1][:, 1:]))
