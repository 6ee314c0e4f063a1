"""The tree solve on GPUs: Triton, in two forms.

*Cells*: a program takes a block of cells of one tree, its lanes are cells, and it walks the nodes: no atomics, no
rounds, every load whole. *Rounds*: a program takes one cell, its lanes are the nodes of a round (Dendritic Hierarchical
Scheduling), with a barrier between rounds; siblings add into their parent atomically, or the parent gathers what its
children left, which gives the same bits each time. Cells are for many small trees, rounds for few large ones.
"""

# Triton gives kernels their types, and their launchers take anything.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false, reportGeneralTypeIssues=false, reportCallIssue=false, reportArgumentType=false

import torch
import triton
import triton.language as tl
from torch import Tensor

from assay.kernels._tree_solve.schedule import Schedule

__all__ = ["CELLS", "cells_kernel", "rounds_kernel", "solve", "solve_rounds"]

CELLS = 128  # of a program


@triton.jit
def cells_kernel(
    a, b, d, rhs, parent, order, pivot, x, n, cells, A_OWN: tl.constexpr, B_OWN: tl.constexpr, D_OWN: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Pivots and solution are (n, cells); a coefficient is (n, cells) where it is the cell's own, else (n,)."""
    c = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = c < cells
    for row in range(n):
        first = row * cells + c
        if D_OWN:
            tl.store(pivot + first, tl.load(d + first, mask=there, other=1.0), mask=there)
        else:
            tl.store(pivot + first, tl.broadcast_to(tl.load(d + row), (BLOCK,)), mask=there)
        tl.store(x + first, tl.load(rhs + first, mask=there, other=0.0), mask=there)
    for j in range(n):
        i = tl.load(order + j)
        p = tl.load(parent + i)
        at = i * cells + c
        here = tl.load(pivot + at, mask=there, other=1.0)
        if p >= 0:
            above = p * cells + c
            upper = tl.load(a + at, mask=there, other=0.0) if A_OWN else tl.load(a + i)
            lower = tl.load(b + at, mask=there, other=0.0) if B_OWN else tl.load(b + i)
            f = upper / here
            own = tl.load(x + at, mask=there, other=0.0)
            tl.store(pivot + above, tl.load(pivot + above, mask=there, other=1.0) - f * lower, mask=there)
            tl.store(x + above, tl.load(x + above, mask=there, other=0.0) - f * own, mask=there)
    for back in range(n):
        i = tl.load(order + (n - 1 - back))
        p = tl.load(parent + i)
        at = i * cells + c
        own = tl.load(x + at, mask=there, other=0.0)
        if p >= 0:
            lower = tl.load(b + at, mask=there, other=0.0) if B_OWN else tl.load(b + i)
            own = own - lower * tl.load(x + p * cells + c, mask=there, other=0.0)
        tl.store(x + at, own / tl.load(pivot + at, mask=there, other=1.0), mask=there)


@triton.jit
def rounds_kernel(
    a, b, d, rhs, parent, order, start, child, sibling, pivot, x, left_d, left_x, n, rounds, widest,
    ATOMIC: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """All arrays of values are (cells, n); what children leave for their parents lies in `left_d` and `left_x`."""
    base = tl.program_id(0).to(tl.int64) * n
    lane = tl.arange(0, LANES)
    for part in range(0, n, LANES):
        at = part + lane
        tl.store(pivot + base + at, tl.load(d + base + at, mask=at < n, other=1.0), mask=at < n)
        tl.store(x + base + at, tl.load(rhs + base + at, mask=at < n, other=0.0), mask=at < n)
    tl.debug_barrier()
    for r in range(rounds):
        first = tl.load(start + r)
        there = first + lane < tl.load(start + r + 1)
        i = tl.load(order + first + lane, mask=there, other=0)
        # past the first cache, where other lanes' additions may not be seen yet
        here = tl.load(pivot + base + i, mask=there, other=1.0, cache_modifier=".cg")
        own = tl.load(x + base + i, mask=there, other=0.0, cache_modifier=".cg")
        if not ATOMIC:
            k = tl.load(child + i, mask=there, other=-1)
            for _ in range(widest):
                more = there & (k >= 0)
                here += tl.load(left_d + base + k, mask=more, other=0.0, cache_modifier=".cg")
                own += tl.load(left_x + base + k, mask=more, other=0.0, cache_modifier=".cg")
                k = tl.load(sibling + k, mask=more, other=-1)
            tl.store(pivot + base + i, here, mask=there)
            tl.store(x + base + i, own, mask=there)
        p = tl.load(parent + i, mask=there, other=-1)
        below = there & (p >= 0)
        f = tl.load(a + base + i, mask=below, other=0.0) / here
        to_d, to_x = -f * tl.load(b + base + i, mask=below, other=0.0), -f * own
        if ATOMIC:
            tl.atomic_add(pivot + base + p, to_d, mask=below, sem="relaxed")
            tl.atomic_add(x + base + p, to_x, mask=below, sem="relaxed")
        else:
            tl.store(left_d + base + i, to_d, mask=below)
            tl.store(left_x + base + i, to_x, mask=below)
        tl.debug_barrier()
    for back in range(rounds):
        q = rounds - 1 - back
        first = tl.load(start + q)
        there = first + lane < tl.load(start + q + 1)
        i = tl.load(order + first + lane, mask=there, other=0)
        p = tl.load(parent + i, mask=there, other=-1)
        own = tl.load(x + base + i, mask=there, other=0.0, cache_modifier=".cg")
        above = tl.load(x + base + p, mask=there & (p >= 0), other=0.0, cache_modifier=".cg")
        own -= tl.load(b + base + i, mask=there & (p >= 0), other=0.0) * above
        own = own / tl.load(pivot + base + i, mask=there, other=1.0, cache_modifier=".cg")
        tl.store(x + base + i, own, mask=there)
        tl.debug_barrier()


def solve(a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, parent: Tensor, order: Tensor) -> Tensor:
    """Solution (n, cells), lanes are cells; coefficients are (n, cells) or (n,), all contiguous."""
    n, cells = rhs.shape
    x, pivot = torch.empty_like(rhs), torch.empty_like(rhs)
    cells_kernel[(triton.cdiv(cells, CELLS),)](
        a, b, d, rhs, parent, order, pivot, x, n, cells, A_OWN=a.dim() == 2, B_OWN=b.dim() == 2, D_OWN=d.dim() == 2,
        BLOCK=CELLS,
    )  # fmt: skip
    return x


def solve_rounds(
    a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, schedule: Schedule, *, deterministic: bool = True
) -> Tensor:
    """Solution (n, cells) of coefficients (n, cells), lanes are the nodes of a round."""
    n, cells = rhs.shape
    given = [v.T.contiguous() for v in (a, b, d, rhs)]
    child, sibling, widest = families(schedule)
    x, pivot, left_d, left_x = (torch.empty_like(given[3]) for _ in range(4))
    known = (
        torch.from_numpy(v).to(rhs.device) for v in (schedule.parent, schedule.order, schedule.start, child, sibling)
    )
    rounds_kernel[(cells,)](
        *given, *known, pivot, x, left_d, left_x, n, len(schedule), widest, ATOMIC=not deterministic,
        LANES=max(2, triton.next_power_of_2(schedule.threads)),
    )  # fmt: skip
    return x.T.contiguous()


def families(schedule: Schedule):
    """First child and next sibling of each node, −1 where there is none, and how many children a node has at most."""
    parent = schedule.parent
    child, sibling = parent * 0 - 1, parent * 0 - 1
    count = parent * 0
    for i in range(len(parent) - 1, -1, -1):
        if parent[i] >= 0:
            sibling[i], child[parent[i]] = child[parent[i]], i
            count[parent[i]] += 1
    return child, sibling, int(count.max())
