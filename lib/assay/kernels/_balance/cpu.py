"""Balancing on processors: Numba, a tile at a time, which stays in the cache while its scales are found.

Deviations of the scaled tile follow from sums over what each row and column is scaled by, made as the tile is walked
through; the scaled tile itself is never stored. Sums are of the tile's own type; where a mean is so large that their
difference would say little, the tile is walked through again in float64.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import math

import numpy as np
from torch import Tensor

from assay.kernels._balance.reference import FIRST_CLAMP, LEAST, LOG_RANGE, SLACK
from assay.kernels.compiled import compiled, fused, summing
from assay.kernels.threads import shared_out

__all__ = ["balanced"]

BLOCK = 32  # rows whose sums are made in the tile's own type before they join the others
MEAN_SHARE = 0.97  # of a sum of squares that the mean makes: above it, digits are lost
LOW_DEVIATION, HIGH_DEVIATION = FIRST_CLAMP
LOW_LOG, HIGH_LOG = LOG_RANGE


@summing
def _row_sums(row, u, v):
    """Sum and sum of squares of a scaled row."""
    s = q = row.dtype.type(0)
    for j in range(row.size):
        c = row[j] * u[j] * v
        s += c
        q += c * c
    return s, q


@fused
def _column_sums(a, b, c, d, u, v, total, square):
    """Add the entries of four scaled rows to sums over columns."""
    e, f, g, h = v[0], v[1], v[2], v[3]
    for j in range(a.size):
        p, q, r, s = a[j] * u[j] * e, b[j] * u[j] * f, c[j] * u[j] * g, d[j] * u[j] * h
        total[j] += (p + q) + (r + s)
        square[j] += (p * p + q * q) + (r * r + s * s)


@fused
def _column_sum(row, u, v, total, square):
    """The same of one row."""
    for j in range(row.size):
        p = row[j] * u[j] * v
        total[j] += p
        square[j] += p * p


@compiled
def _deviations(m, u, v, of_rows, of_columns, total, square, sums, squares):
    """Deviations of the scaled tile into of_rows and of_columns; whether a mean drowned them."""
    rows, columns = m.shape
    drowned = False
    sums[:] = 0.0
    squares[:] = 0.0
    for first in range(0, rows, BLOCK):
        total[:] = 0
        square[:] = 0
        last = min(rows, first + BLOCK)
        for i in range(first, last):
            s, q = _row_sums(m[i], u, v[i])
            mean = np.float64(s) * s / columns
            drowned |= mean > MEAN_SHARE * q
            of_rows[i] = math.sqrt(max(0.0, q - mean) / (columns - 1))
        i = first
        while i + 4 <= last:
            _column_sums(m[i], m[i + 1], m[i + 2], m[i + 3], u, v[i : i + 4], total, square)
            i += 4
        while i < last:
            _column_sum(m[i], u, v[i], total, square)
            i += 1
        for j in range(columns):
            sums[j] += total[j]
            squares[j] += square[j]
    for j in range(columns):
        mean = sums[j] * sums[j] / rows
        drowned |= mean > MEAN_SHARE * squares[j]
        of_columns[j] = math.sqrt(max(0.0, squares[j] - mean) / (rows - 1))
    return drowned


@compiled
def _balance(m, iterations, low, high, stop, patient, best1, best2, trace):
    """Scales of a tile (rows, columns) into best1, best2 and its imbalances into trace; False where a mean is too
    large for the type, unless patient."""
    rows, columns = m.shape
    kind = m.dtype.type
    l1, l2 = np.zeros(columns), np.zeros(rows)
    u, v = np.ones(columns, m.dtype), np.ones(rows, m.dtype)
    of_rows, of_columns = np.empty(rows), np.empty(columns)
    total, square = np.empty(columns, m.dtype), np.empty(columns, m.dtype)
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
            for j in range(columns):
                best1[j] = math.exp(l1[j])
            for i in range(rows):
                best2[i] = math.exp(l2[i])
        elif stop:  # nothing moves any more
            trace[k + 1 :] = imbalance
            break
        for j in range(columns):
            step = min(max(of_columns[j], LOW_DEVIATION), HIGH_DEVIATION) / target
            l1[j] = min(max(l1[j] + math.log(min(max(step, low), high)), LOW_LOG), HIGH_LOG)
            u[j] = kind(math.exp(-l1[j]))
        for i in range(rows):
            step = min(max(of_rows[i], LOW_DEVIATION), HIGH_DEVIATION) / target
            l2[i] = min(max(l2[i] + math.log(min(max(step, low), high)), LOW_LOG), HIGH_LOG)
            v[i] = kind(math.exp(-l2[i]))
    return True


@compiled
def _tiles(weight, rows, columns, iterations, low, high, stop, mu1, mu2, trace, first, last):
    """Tiles from first to before last, in the order of rows of tiles."""
    across = weight.shape[1] // columns
    tile = np.empty((rows, columns), weight.dtype)
    best1, best2 = np.empty(columns), np.empty(rows)
    for number in range(first, last):
        a, b = number // across, number % across
        tile[:] = weight[a * rows : (a + 1) * rows, b * columns : (b + 1) * columns]
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
