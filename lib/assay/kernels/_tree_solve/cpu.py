"""The tree solve on processors: Numba, each thread takes blocks of cells whose values stay in its cache.

Cells lie side by side, so vector instructions go over cells and every node of the tree is one step for all of them. The
order of nodes is a schedule's or that of the tree; sums of siblings are made in it, and do not depend on threads.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import numba
import numpy as np
import torch
from numba.extending import overload
from torch import Tensor

from assay.kernels.compiled import compiled
from assay.kernels.threads import shared_out

__all__ = ["solve"]

CACHED = 2**15  # values of a block


def _own(values, i, c):
    """A cell's own coefficient, or the one that all cells share."""
    raise NotImplementedError("compiled code only")


@overload(_own)
def _(values, i, c):
    own = isinstance(values, numba.types.Array) and values.ndim == 2
    return (lambda values, i, c: values[i, c]) if own else (lambda values, i, c: values[i])


@compiled
def _solve(a, b, d, rhs, parent, order, x, block, one, first, last):
    n = parent.size
    for start in range(first, last, block):
        size = min(last, start + block) - start
        pivot = np.empty((n, size), rhs.dtype)
        for i in range(n):
            for c in range(size):
                pivot[i, c] = _own(d, i, start + c)
                x[i, start + c] = rhs[i, start + c]
        for j in range(n):
            i = order[j]
            p = parent[i]
            here, own = pivot[i], x[i, start : start + size]
            if p < 0:
                for c in range(size):
                    here[c] = one / here[c]
            else:
                above, into = pivot[p], x[p, start : start + size]
                for c in range(size):
                    inverse = one / here[c]
                    f = _own(a, i, start + c) * inverse
                    above[c] -= f * _own(b, i, start + c)
                    into[c] -= f * own[c]
                    here[c] = inverse
        for j in range(n - 1, -1, -1):
            i = order[j]
            p = parent[i]
            here, own = pivot[i], x[i, start : start + size]
            if p < 0:
                for c in range(size):
                    own[c] *= here[c]
            else:
                into = x[p, start : start + size]
                for c in range(size):
                    own[c] = (own[c] - _own(b, i, start + c) * into[c]) * here[c]


def solve(a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, parent: Tensor, order: Tensor) -> Tensor:
    """Solution (n, cells); a, b and d are (n, cells) or (n,), all contiguous; `order` has children before parents."""
    x = torch.empty_like(rhs)
    n, cells = rhs.shape
    block = max(16, CACHED // max(n, 1))
    real = rhs.detach().numpy().dtype.type
    given = (
        a.detach().numpy(), b.detach().numpy(), d.detach().numpy(), rhs.detach().numpy(), parent.numpy(),
        order.numpy(), x.numpy(), block, real(1),
    )  # fmt: skip
    shared_out(rhs.numel(), cells, lambda first, last: _solve(*given, first, last), 16)
    return x
