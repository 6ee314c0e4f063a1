"""Counting supporters on GPUs: Triton, each program takes a few orders whole, side by side in its registers.

The first place that is met is a running minimum along an order, made by a scan; counts go to one of several tables, so
that programs seldom wait for each other.
"""

# Triton gives kernels their types, and their launchers take anything.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false, reportGeneralTypeIssues=false, reportCallIssue=false, reportArgumentType=false

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["CELLS", "TABLES", "count_kernel", "counted"]

CELLS = 2048  # entries of orders that a program holds
TABLES = 64


@triton.jit
def _least(a, b):
    return tl.minimum(a, b)


@triton.jit
def count_kernel(
    orders, place, weights, counts, users, models, columns, tables, WEIGHTED: tl.constexpr, ROWS: tl.constexpr,
    SIZE: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    p = tl.arange(0, SIZE)
    there = (i[:, None] < users) & (p[None, :] < models)
    a = tl.load(orders + i[:, None] * models + p[None, :], mask=there, other=-1).to(tl.int32)
    ranked = a >= 0
    own = tl.load(place + tl.where(ranked, a, 0), mask=ranked, other=models + 1)
    met = tl.associative_scan(own, 1, _least)
    counting = ranked & (met > 1)
    table = (tl.program_id(0) % tables).to(tl.int64) * models * (models + 1)
    cell = table + a * (models + 1) + met - 1
    if WEIGHTED:
        for b in range(columns):
            w = tl.load(weights + i * columns + b, mask=i < users, other=0).to(tl.int64)
            every = tl.broadcast_to(w[:, None], (ROWS, SIZE))
            tl.atomic_add(counts + cell * columns + b, every, mask=counting, sem="relaxed")
    else:
        tl.atomic_add(counts + cell, tl.full((ROWS, SIZE), 1, tl.int64), mask=counting, sem="relaxed")


def counted(orders: Tensor, place: Tensor, weights: Tensor | None) -> Tensor:
    """Counts (models, models, columns) int64; orders int16, place int32 and weights int32, all contiguous.

    Raises:
        ValueError: an entry of an order that is no model.
    """
    users, models = orders.shape
    if int(orders.max()) >= models:
        bad = int((orders >= models).any(1).nonzero()[0])
        raise ValueError(f"orders: user {bad + 1} names a model beyond the {models} of the leaderboard.")
    columns = 1 if weights is None else weights.shape[1]
    tables = max(1, TABLES // columns)
    counts = torch.zeros((tables, models, models + 1, columns), dtype=torch.int64, device=orders.device)
    size = max(2, triton.next_power_of_2(models))
    rows = max(1, CELLS // size)
    count_kernel[(triton.cdiv(users, rows),)](
        orders, place, orders if weights is None else weights, counts, users, models, columns, tables,
        WEIGHTED=weights is not None, ROWS=rows, SIZE=size,
    )  # fmt: skip
    return counts.sum(0).flip(1).cumsum(1).flip(1)[:, 1:]
