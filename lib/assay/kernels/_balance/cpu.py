"""Balancing on processors: Numba, a tile at a time, which stays in the cache while its scales are found.

A tile is laid out columns first, so that one walk through it makes the sums of rows and of columns, with vector
instructions over neighbouring rows; the scaled tile itself is never stored. Scales are moved by factors, which takes no
logarithm. Sums are of the tile's own type; where a mean is so large that their difference would say little, the tile is
walked through again in float64.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import math

import numpy as np
from torch import Tensor

from assay.kernels._balance.reference import FIRST_CLAMP, LEAST, LOG_RANGE, SLACK
from assay.kernels.compiled import compiled, summing
from assay.kernels.threads import shared_out

__all__ = ["balanced"]

LINE = 16  # rows that are turned into columns at a time: what they write fills whole lines of a cache
BLOCK = 512  # rows whose sums are made in the tile's own type before they join the others
MEAN_SHARE = 0.97  # of a sum of squares that the mean makes: above it, digits are lost
LOW_DEVIATION, HIGH_DEVIATION = FIRST_CLAMP
LOW_SCALE, HIGH_SCALE = math.exp(LOG_RANGE[0]), math.exp(LOG_RANGE[1])


@summing
def _sums(column, u, v, total, square):
    """Sum and sum of squares of a scaled column; adds its entries to sums over rows."""
    s = q = column.dtype.type(0)
    for i in range(column.size):
        c = column[i] * v[i] * u
        d = c * c
        total[i] += c
        square[i] += d
        s += c
        q += d
    return s, q


@compiled
def _deviations(m, u, v, of_rows, of_columns, total, square, sums, squares):
    """Deviations of the scaled tile (columns, rows) into of_rows and of_columns; whether a mean drowned them."""
    columns, rows = m.shape
    drowned = False
    sums[:] = 0.0
    squares[:] = 0.0
    for first in range(0, rows, BLOCK):
        last = min(rows, first + BLOCK)
        t, w = total[: last - first], square[: last - first]
        t[:] = 0
        w[:] = 0
        for j in range(columns):
            s, q = _sums(m[j, first:last], u[j], v[first:last], t, w)
            sums[j] += s
            squares[j] += q
        for i in range(last - first):
            mean = np.float64(t[i]) * t[i] / columns
            drowned |= mean > MEAN_SHARE * w[i]
            of_rows[first + i] = math.sqrt(max(0.0, w[i] - mean) / (columns - 1))
    for j in range(columns):
        mean = sums[j] * sums[j] / rows
        drowned |= mean > MEAN_SHARE * squares[j]
        of_columns[j] = math.sqrt(max(0.0, squares[j] - mean) / (rows - 1))
    return drowned


@compiled
def _move(scale, inverse, deviation, target, low, high):
    """Multiply scales by their step, within their range."""
    for i in range(scale.size):
        step = min(max(deviation[i], LOW_DEVIATION), HIGH_DEVIATION) / target
        scale[i] = min(max(scale[i] * min(max(step, low), high), LOW_SCALE), HIGH_SCALE)
        inverse[i] = 1 / scale[i]


@compiled
def _balance(m, iterations, low, high, stop, patient, best1, best2, trace):
    """Scales of a tile (columns, rows) into best1, best2 and its imbalances into trace; False where a mean is too
    large for the type, unless patient."""
    columns, rows = m.shape
    mu1, mu2 = np.ones(columns), np.ones(rows)
    u, v = np.ones(columns, m.dtype), np.ones(rows, m.dtype)
    of_rows, of_columns = np.empty(rows), np.empty(columns)
    total, square = np.empty(BLOCK, m.dtype), np.empty(BLOCK, m.dtype)
    sums, squares = np.empty(columns), np.empty(columns)
    best1[:] = 1
    best2[:] = 1
    least = np.inf
    target = 0.0
    for k in range(iterations):
        drowned = _deviations(m, u, v, of_rows, of_columns, total, square, sums, squares)
        if drowned and not patient:
            return False
        smallest = min(of_rows.min(), of_columns.min())
        largest = max(of_rows.max(), of_columns.max())
        if k == 0:
            target = min(max(smallest, LOW_DEVIATION), HIGH_DEVIATION) + SLACK
        imbalance = largest / max(smallest, LEAST)
        trace[k] = imbalance
        if imbalance <= least:
            least = imbalance
            best1[:] = mu1
            best2[:] = mu2
        elif stop:  # nothing moves any more
            trace[k + 1 :] = imbalance
            break
        _move(mu1, u, of_columns, target, low, high)
        _move(mu2, v, of_rows, target, low, high)
    return True


@compiled
def _tiles(weight, rows, columns, iterations, low, high, stop, mu1, mu2, trace, first, last):
    """Tiles from first to before last, in the order of rows of tiles."""
    across = weight.shape[1] // columns
    tile = np.empty((columns, rows), weight.dtype)
    best1, best2 = np.empty(columns), np.empty(rows)
    for number in range(first, last):
        a, b = number // across, number % across
        for first_row in range(0, rows, LINE):
            for j in range(columns):
                for i in range(first_row, min(rows, first_row + LINE)):
                    tile[j, i] = weight[a * rows + i, b * columns + j]
        here = trace[a, b]
        if not _balance(tile, iterations, low, high, stop, False, best1, best2, here):
            _balance(tile.astype(np.float64), iterations, low, high, stop, True, best1, best2, here)
        mu1[a, b * columns : (b + 1) * columns] = best1
        mu2[a * rows : (a + 1) * rows, b] = best2


def balanced(
    weight: Tensor, rows: int, columns: int, iterations: int, low: float, high: float, stop: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """As the reference; a contiguous matrix of float32 or float64."""
    height, width = weight.shape
    down, across = height // rows, width // columns
    mu1, mu2 = weight.new_empty(down, width), weight.new_empty(height, across)
    trace = weight.new_empty(down, across, iterations)
    given, of_columns, of_rows, seen = weight.numpy(), mu1.numpy(), mu2.numpy(), trace.numpy()

    def share(first: int, last: int) -> None:
        _tiles(given, rows, columns, iterations, low, high, stop, of_columns, of_rows, seen, first, last)

    shared_out(weight.numel(), down * across, share)
    return mu1, mu2, trace
