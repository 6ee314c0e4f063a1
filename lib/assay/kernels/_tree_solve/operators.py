"""The tree solve as a PyTorch operator: chosen by device, differentiable, and known to `torch.compile`."""

from typing import Any

import torch
from torch import Tensor

from assay.kernels._tree_solve import cpu
from assay.kernels.dispatch import kernels_for
from assay.kernels.registration import differentiable, operator

__all__ = ["solve_operator"]


def fake_tree_solve(a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, parent: Tensor, order: Tensor) -> Tensor:
    return torch.empty_like(rhs)


@operator("tree_solve", fake=fake_tree_solve)
def solve_operator(a: Tensor, b: Tensor, d: Tensor, rhs: Tensor, parent: Tensor, order: Tensor) -> Tensor:
    """Solution (n, cells) for right-hand sides (n, cells); coefficients are (n, cells) or (n,)."""
    if rhs.numel() == 0:
        return torch.empty_like(rhs)
    kernels = kernels_for(rhs, cpu)
    assert kernels is not None, "tensors without kernels never reach the operator"
    return kernels.solve(a, b, d, rhs, parent, order)


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, d, _, parent, order = inputs
    ctx.save_for_backward(a, b, d, parent, order, output)


def like(gradient: Tensor, coefficient: Tensor) -> Tensor:
    """Summed over cells where they share a coefficient."""
    return gradient.sum(1) if coefficient.dim() == 1 else gradient


def differentiate(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    """With y = M⁻ᵀ g, the same solve with a and b swapped: ∂rhs = y, ∂M = −y xᵀ where M has entries."""
    a, b, d, parent, order, x = ctx.saved_tensors
    y = solve_operator(b, a, d, gradient.contiguous(), parent, order)
    below = (parent >= 0)[:, None]
    up = parent.clamp(min=0)
    d_a = like(-torch.where(below, y[up] * x, 0.0), a) if ctx.needs_input_grad[0] else None
    d_b = like(-torch.where(below, y * x[up], 0.0), b) if ctx.needs_input_grad[1] else None
    d_d = like(-y * x, d) if ctx.needs_input_grad[2] else None
    return d_a, d_b, d_d, y, None, None


differentiable("tree_solve", differentiate, keep=keep)
