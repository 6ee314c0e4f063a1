"""Linear systems whose matrix is a tree: Hines' elimination, in the tree's order or in the rounds of a schedule."""

import importlib

import torch
from torch import Tensor

from assay.back_ends import serves
from assay.kernels._tree_solve.operators import solve_operator
from assay.kernels._tree_solve.reference import rounds_reference, tree_solve_reference
from assay.kernels._tree_solve.schedule import (
    Bound,
    Schedule,
    checked_parent,
    dhs_schedule,
    node_depth,
    optimal_rounds,
    round_bound,
)
from assay.kernels.dispatch import TRITON, has_kernels

__all__ = ["Bound", "Schedule", "dhs_schedule", "node_depth", "optimal_rounds", "round_bound", "tree_solve",
           "tree_solve_rounds"]  # fmt: skip


def tree_solve(a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, parent: Tensor, *, transposed: bool = False) -> Tensor:
    """Solve M x = rhs, where M has an entry for each node of a forest and two for each of its branches.

    Hines (Int. J. Biomed. Comput. 15, 69, 1984): from the last node to the first, f = a_i / d_i is taken off its parent
    p, d_p −= f b_i and rhs_p −= f rhs_i; then x_i = (rhs_i − b_i x_p) / d_i from the first to the last. No fill-in, no
    pivoting: for matrices with a dominant diagonal, as an implicit step of a cable has.

    Args:
        a: (n,) or like rhs: entry of row p(i), column i. At roots it is not read.
        b: (n,) or like rhs: entry of row i, column p(i).
        d: (n,) or like rhs: the diagonal.
        rhs: (n, ...) right-hand sides, node by node; what follows are cells that share the tree. float32 or float64.
        parent: (n,) int64 on the CPU or with rhs, each before its children; −1 at roots.
        transposed: solve Mᵀ x = rhs, which is the same with a and b swapped.

    Returns:
        x like rhs. Gradients flow to a, b, d and rhs; the way back is one transposed solve.

    Raises:
        ValueError: an argument of the wrong type or shape, a parent that is not before its child, or a matrix whose
            elimination meets a pivot of 0.
    """
    up, columns, coefficients = checked(a, b, d, rhs, parent)
    first, second, diagonal = coefficients
    if transposed:
        first, second = second, first
    if has_kernels(columns):
        order = torch.arange(len(up) - 1, -1, -1, device=up.device)
        x = solve_operator(first, second, diagonal, columns, up, order)
    else:
        serves("tree_solve", "reference")
        first, second, diagonal = (
            v if v.dim() == 2 else v[:, None].expand_as(columns) for v in (first, second, diagonal)
        )
        x = tree_solve_reference(first, second, diagonal, columns, up)
    return finite(x).view(rhs.shape)


def tree_solve_rounds(
    a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, schedule: Schedule, *, transposed: bool = False,
    deterministic: bool = True,
) -> Tensor:  # fmt: skip
    """Solve M x = rhs in the rounds of a schedule; `tree_solve` says what M is.

    On a card a program takes a cell and its lanes are the nodes of a round. On a processor the rounds give the order of
    nodes, and vector instructions go over cells as in `tree_solve`. Without gradients.

    Args:
        a, b, d, rhs: as in `tree_solve`.
        schedule: from `dhs_schedule`.
        transposed: solve Mᵀ x = rhs.
        deterministic: on a card, parents gather what children left, instead of atomic additions whose order is free.

    Returns:
        x like rhs.

    Raises:
        ValueError: as `tree_solve`.
    """
    up, columns, coefficients = checked(a, b, d, rhs, torch.from_numpy(schedule.parent))
    first, second, diagonal = (v.detach() for v in coefficients)
    columns = columns.detach()
    if transposed:
        first, second = second, first
    if columns.device.type == "cpu" and has_kernels(columns):
        x = solve_operator(first, second, diagonal, columns, up, torch.from_numpy(schedule.order))
    else:
        first, second, diagonal = (
            v if v.dim() == 2 else v[:, None].expand_as(columns).contiguous() for v in (first, second, diagonal)
        )
        if columns.device.type == "cuda" and TRITON:
            serves("tree_solve", "gpu")
            gpu = importlib.import_module(f"{__name__}.gpu")
            x = gpu.solve_rounds(first, second, diagonal, columns, schedule, deterministic=deterministic)
        else:
            serves("tree_solve", "reference")
            x = rounds_reference(first, second, diagonal, columns, up, schedule)
    return finite(x).view(rhs.shape)


def finite(x: Tensor) -> Tensor:
    """The solution, unless a pivot was 0."""
    if not torch.compiler.is_compiling() and not bool(torch.isfinite(x.detach()).all()):
        raise ValueError("d: elimination met a pivot of 0 or values that are not finite; expected a dominant diagonal.")
    return x


def checked(
    a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, parent: Tensor
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Parents, right-hand sides (n, cells), and coefficients (n, cells) or (n,), all contiguous."""
    for name, value in (("a", a), ("b", b), ("d", d), ("rhs", rhs)):
        if not isinstance(value, Tensor) or not value.dtype.is_floating_point:
            got = str(value.dtype) if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"{name}: got {got}; expected a floating-point tensor.")
        if value.dtype != rhs.dtype or value.device != rhs.device:
            raise ValueError(
                f"{name}: got {value.dtype} on {value.device}; expected {rhs.dtype} on {rhs.device} as rhs."
            )
    if not isinstance(parent, Tensor):
        raise ValueError(f"parent: got {type(parent).__name__}; expected a tensor of whole numbers.")
    up = parent
    if not torch.compiler.is_compiling():
        up = torch.from_numpy(checked_parent(parent.cpu().numpy())).to(rhs.device)
    if rhs.dim() < 1 or len(rhs) != len(up):
        raise ValueError(f"rhs: got shape {tuple(rhs.shape)}; expected ({len(up)}, ...), a row for each node.")
    columns = rhs.reshape(len(up), -1).contiguous()
    found = []
    for name, value in (("a", a), ("b", b), ("d", d)):
        if value.shape == up.shape:
            found.append(value.contiguous())
        elif value.shape == rhs.shape:
            found.append(value.reshape(len(up), -1).contiguous())
        else:
            shapes = f"{tuple(up.shape)} or {tuple(rhs.shape)}"
            raise ValueError(f"{name}: got shape {tuple(value.shape)}; expected {shapes}.")
    return up, columns, (found[0], found[1], found[2])
