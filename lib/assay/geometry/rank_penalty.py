"""The effective rank as something to train on: its closed derivative, and a penalty towards a target.

With p_i = s_i / S, S = sum s and E = -sum p ln p, R = exp(E) and dR/ds_i = R (-ln p_i - E) / S. As R depends on the
singular values alone, dR/dW = U diag(dR/ds) V^T = W V diag(dR/ds / s) V^T. Equal singular values have equal
derivatives, so that nothing diverges where they meet; where one reaches 0 the derivative does (ln p), and it is taken
as 0 there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

__all__ = ["effective_rank_loss", "matrix_effective_rank"]

SMALLEST_SHARE = 1e-7  # of s_1: below it the Gram matrix knows nothing of a singular value


class MatrixEffectiveRank(torch.autograd.Function):
    """R(W) through the eigenvectors of the Gram matrix of the shorter side, in float64."""

    @staticmethod
    def forward(ctx: Any, weight: torch.Tensor, power: float) -> torch.Tensor:
        wide = weight.shape[0] < weight.shape[1]
        tall = (weight.mT if wide else weight).to(torch.float64)
        squares, vectors = torch.linalg.eigh(tall.mT @ tall)
        values = squares.clamp_min(0).sqrt()
        some = values > SMALLEST_SHARE * values[-1]
        raised = torch.where(some, values / values[-1], 0.0) ** power
        p = raised / raised.sum()
        minus_log = torch.where(some, -p.clamp_min(torch.finfo(torch.float64).tiny).log(), 0.0)
        entropy = (p * minus_log).sum()
        rank = entropy.exp()
        # dR/ds_i / s_i = R power p_i (-ln p_i - E) / s_i^2
        slopes = torch.where(some, rank * power * p * (minus_log - entropy) / squares.clamp_min(1e-300), 0.0)
        ctx.save_for_backward(weight, (vectors * slopes) @ vectors.mT)
        ctx.wide = wide
        return rank

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride] - the decorator has no types
        ctx: Any, *gradients: torch.Tensor
    ) -> tuple[torch.Tensor, None]:
        weight, small = ctx.saved_tensors
        small = (gradients[0] * small).to(weight.dtype)
        return (small @ weight if ctx.wide else weight @ small), None


def matrix_effective_rank(weight: torch.Tensor, *, power: float = 1) -> torch.Tensor:
    """R(W) = exp of the Shannon entropy of s^power / sum s^power, with its derivative to W (once).

    Args:
        weight: (V, d), not all zeros, of any float type.
        power: 1 as in the paper, 2 for shares of variance.

    Returns:
        () in float64. The derivative is of the weight's type, 0 along singular vectors whose value is below 1e-7 s_1.

    Raises:
        ValueError: no matrix of floats, values that are not finite, nothing but zeros, or a power not above 0.
    """
    if not isinstance(weight, torch.Tensor) or weight.ndim != 2 or not weight.is_floating_point() or not weight.numel():
        what = tuple(weight.shape) if isinstance(weight, torch.Tensor) else type(weight).__name__
        raise ValueError(f"weight: got {what}; expected a tensor of floats, (V, d).")
    if not 0 < power < float("inf"):
        raise ValueError(f"power: got {power}; expected a number above 0.")
    largest = float(weight.detach().abs().max())
    if not 0 < largest < float("inf"):
        raise ValueError("weight: got nothing but zeros, or values that are not finite; expected finite numbers.")
    rank = MatrixEffectiveRank.apply(weight, power)
    assert isinstance(rank, torch.Tensor)
    return rank


def effective_rank_loss(weight: torch.Tensor, target: float, *, power: float = 1) -> torch.Tensor:
    """(R(W) - target)^2, to be added to a loss with a factor of the user's.

    Args:
        weight: (V, d), as for `matrix_effective_rank`.
        target: from 1 to min(V, d).
        power: as there.

    Returns:
        () in float64.

    Raises:
        ValueError: as `matrix_effective_rank`, or a target out of reach.
    """
    rank = matrix_effective_rank(weight, power=power)
    if not 1 <= target <= min(weight.shape):
        raise ValueError(f"target: got {target}; expected a number from 1 to {min(weight.shape)}.")
    return (rank - target) ** 2
