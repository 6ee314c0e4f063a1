"""Balancing on GPUs: Triton, one program a tile, which reads it once an iteration and keeps its scales alone.

Rows are whole in registers, so their deviations are made around their own means; columns are merged over blocks of
rows by Chan's rule, so that a large mean costs no digits. Row scales wait in memory between two iterations.
"""

# Triton gives kernels their types, and their launchers take anything.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false, reportGeneralTypeIssues=false, reportCallIssue=false, reportArgumentType=false

import triton
import triton.language as tl
from torch import Tensor

__all__ = ["CELLS", "WARPS", "balance_kernel", "balanced"]

CELLS = 2048  # entries that a program holds
WARPS = 8


@triton.jit
def balance_kernel(
    weight, mu1, mu2, trace, l2, deviations, width, across, rows, columns, iterations, low, high,
    STOP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    a, b = tile // across, tile % across
    j = tl.arange(0, COLUMNS)
    inside = j < columns
    i0 = tl.arange(0, ROWS)
    start = a.to(tl.int64) * rows * width + b * columns
    l1 = tl.zeros((COLUMNS,), tl.float32)
    best1 = tl.zeros((COLUMNS,), tl.float32)
    least = tl.full((), float("inf"), tl.float32)
    target = tl.full((), 1.0, tl.float32)
    opened = tl.full((), 1, tl.int32)
    for k in range(iterations):
        mean = tl.zeros((COLUMNS,), tl.float32)
        square = tl.zeros((COLUMNS,), tl.float32)
        smallest = tl.full((), float("inf"), tl.float32)
        largest = tl.full((), 0.0, tl.float32)
        for first in range(0, rows, ROWS):
            i = first + i0
            there = i < rows
            both = there[:, None] & inside[None, :]
            m = tl.load(weight + start + i[:, None].to(tl.int64) * width + j[None, :], mask=both, other=0.0)
            own = tl.load(l2 + tile * rows + i, mask=there, other=0.0)
            c = tl.where(both, m * tl.exp(-l1)[None, :] * tl.exp(-own)[:, None], 0.0)
            middle = tl.sum(c, 1) / columns
            off = tl.where(both, c - middle[:, None], 0.0)
            of_rows = tl.sqrt(tl.sum(off * off, 1) / (columns - 1))
            tl.store(deviations + tile * rows + i, of_rows, mask=there)
            smallest = tl.minimum(smallest, tl.min(tl.where(there, of_rows, float("inf"))))
            largest = tl.maximum(largest, tl.max(tl.where(there, of_rows, 0.0)))
            count = tl.minimum(rows - first, ROWS).to(tl.float32)
            here = tl.sum(c, 0) / count
            off = tl.where(both, c - here[None, :], 0.0)
            gap = here - mean
            whole = first + count
            square += tl.sum(off * off, 0) + gap * gap * first * count / whole
            mean += gap * count / whole
        of_columns = tl.sqrt(square / (rows - 1))
        smallest = tl.minimum(smallest, tl.min(tl.where(inside, of_columns, float("inf"))))
        largest = tl.maximum(largest, tl.max(tl.where(inside, of_columns, 0.0)))
        if k == 0:
            target = tl.minimum(tl.maximum(smallest, 1e-3), 1e3) + 1e-6
        imbalance = largest / tl.maximum(smallest, 1e-12)
        tl.store(trace + tile * iterations + k, imbalance)
        better = imbalance <= least
        least = tl.minimum(least, imbalance)
        best1 = tl.where(better, l1, best1)
        if STOP:
            opened = tl.where(better, opened, 0)
        step = tl.minimum(tl.maximum(of_columns, 1e-3), 1e3) / target
        moved = tl.minimum(tl.maximum(l1 + tl.log(tl.minimum(tl.maximum(step, low), high)), -0.3), 10.0)
        l1 = tl.where(opened > 0, moved, l1)
        tl.debug_barrier()
        for first in range(0, rows, ROWS):
            i = first + i0
            there = i < rows
            own = tl.load(l2 + tile * rows + i, mask=there, other=0.0)
            place = mu2 + (a * rows + i).to(tl.int64) * across + b
            kept = tl.load(place, mask=there, other=1.0)
            tl.store(place, tl.where(better, tl.exp(own), kept), mask=there)
            seen = tl.load(deviations + tile * rows + i, mask=there, other=1.0)
            factor = tl.minimum(tl.maximum(tl.minimum(tl.maximum(seen, 1e-3), 1e3) / target, low), high)
            risen = tl.minimum(tl.maximum(own + tl.log(factor), -0.3), 10.0)
            tl.store(l2 + tile * rows + i, tl.where(opened > 0, risen, own), mask=there)
        tl.debug_barrier()
    tl.store(mu1 + a.to(tl.int64) * width + b * columns + j, tl.exp(best1), mask=inside)


def balanced(
    weight: Tensor, rows: int, columns: int, iterations: int, low: float, high: float, stop: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """As the reference; a contiguous matrix of float32."""
    height, width = weight.shape
    down, across = height // rows, width // columns
    mu1, mu2 = weight.new_ones(down, width), weight.new_ones(height, across)
    trace = weight.new_empty(down, across, iterations)
    l2, deviations = weight.new_zeros(down * across, rows), weight.new_empty(down * across, rows)
    side = max(2, triton.next_power_of_2(columns))
    tall = min(max(2, CELLS // side), triton.next_power_of_2(rows))
    if iterations:
        balance_kernel[(down * across,)](
            weight, mu1, mu2, trace, l2, deviations, width, across, rows, columns, iterations, low, high,
            STOP=stop, ROWS=tall, COLUMNS=side, num_warps=WARPS,
        )  # fmt: skip
    return mu1, mu2, trace
