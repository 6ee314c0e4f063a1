"""Scales that look at activations: AWQ, A-SINQ, and GPTQ by groups.

Sources: Lin et al. (2024), "AWQ", section 3; A-SINQ: Müller et al., arXiv 2509.22944, section 2.4 and its released
code; Frantar et al. (2023), "GPTQ", algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.efficient.dual_scale import checked_weight, quantise_scaled, sinkhorn_scales
from assay.efficient.quant_tensor import QuantTensor, dequantise
from assay.efficient.recipe import Recipe, group_width

__all__ = ["AwqScale", "awq_scale", "gptq_groups", "quantise_asinq", "quantise_awq"]

LEAST = 1e-4  # of a scale, as in the released code
DAMPING = 0.01


@dataclass(frozen=True, eq=False)
class AwqScale:
    """The scale that lost least, and how.

    Attributes:
        scale: (D,) a, what columns are multiplied by before they are rounded.
        alpha: exponent of the activations. error: mean output error there; errors: (A,) of all exponents.
    """

    scale: Tensor
    alpha: float
    error: float
    errors: Tensor


def awq_scale(
    weight: Tensor, inputs: Tensor, recipe: Recipe, *, balanced: bool = False, alphas: int = 20, norm: str = "l2"
) -> AwqScale:
    """Try a grid of exponents, a = mean |x|^α / (mean |w|^(1 − α) + 1e-4) over √(max · min), keep the least error.

    Args:
        weight: (H, D). inputs: (n, D) activations.
        recipe: of the rounding.
        balanced: the tiles are balanced first (A-SINQ).
        alphas: A, how many exponents: 0, 1 / A, … below 1.
        norm: `l1` or `l2`, of the output error.

    Raises:
        ValueError: inputs that do not fit, no exponent, or an unknown norm.
    """
    kept = checked_weight(weight)
    if inputs.dim() != 2 or inputs.shape[1] != kept.shape[1] or not len(inputs):
        raise ValueError(f"inputs: got shape {tuple(inputs.shape)}; expected (n, {kept.shape[1]}).")
    if alphas < 1 or norm not in ("l1", "l2"):
        raise ValueError(f"alphas, norm: got {alphas}, {norm!r}; expected at least 1, and l1 or l2.")
    found = sinkhorn_scales(kept, recipe) if balanced else None
    given = inputs.to(kept.dtype)
    strength, own = given.abs().mean(0), kept.abs().mean(0)
    wanted = given @ kept.T
    best, errors = None, []
    for number in range(alphas):
        alpha = number / alphas
        scale = strength.pow(alpha).clamp(min=LEAST)
        scale = (scale / (own.pow(1 - alpha) + LEAST)).clamp(min=LEAST)
        scale = scale / (scale.max() * scale.min()).sqrt()
        made = dequantise(quantise_scaled(kept, found and found.columns, found and found.rows, recipe, awq=scale))
        off = given @ made.T - wanted
        error = float(off.abs().mean() if norm == "l1" else off.square().mean())
        errors.append(error)
        if best is None or error < best.error:
            best = AwqScale(scale, alpha, error, torch.zeros(0))
    assert best is not None
    return AwqScale(best.scale, best.alpha, best.error, torch.tensor(errors))


def quantise_awq(weight: Tensor, inputs: Tensor, recipe: Recipe, *, alphas: int = 20, norm: str = "l2") -> QuantTensor:
    """AWQ: columns multiplied by the scale of `awq_scale`, then rounded. Raises as it does."""
    scale = awq_scale(weight, inputs, recipe, alphas=alphas, norm=norm).scale
    return quantise_scaled(weight, None, None, recipe, awq=scale)


def quantise_asinq(
    weight: Tensor, inputs: Tensor, recipe: Recipe, *, alphas: int = 20, norm: str = "l1"
) -> QuantTensor:
    """A-SINQ: tiles balanced, then AWQ's scale on top; the column scale becomes μ₁ / a. Raises as `awq_scale`."""
    found = sinkhorn_scales(weight, recipe)
    scale = awq_scale(weight, inputs, recipe, balanced=True, alphas=alphas, norm=norm).scale
    return quantise_scaled(weight, found.columns, found.rows, recipe, awq=scale)


def gptq_groups(weight: Tensor, moments: Tensor, recipe: Recipe, *, each: Callable[[], None] | None = None) -> Tensor:
    """GPTQ with a range for every group, taken from the weights as they are when the group is reached.

    Args:
        weight: (H, D). moments: (D, D) Xᵀ X of the inputs.
        recipe: bits and group of it; levels are uniform.
        each: called at every group; raising in it stops the work.

    Returns:
        (H, D) weights on their grids.

    Raises:
        ValueError: moments that do not fit or are not finite.
    """
    kept = checked_weight(weight).double()
    width = kept.shape[1]
    if moments.shape != (width, width) or not bool(torch.isfinite(moments).all()):
        raise ValueError(f"moments: got shape {tuple(moments.shape)}; expected finite numbers, ({width}, {width}).")
    group, top = group_width(width, recipe.group), 2**recipe.bits - 1
    hessian = moments.double().clone()
    dead = hessian.diagonal() == 0
    hessian[dead, dead] = 1.0
    hessian.diagonal().add_(DAMPING * hessian.diagonal().mean())
    inverse = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(hessian)), upper=True)
    left, made = kept.clone(), torch.empty_like(kept)
    for first in range(0, width, group):
        if each is not None:
            each()
        own = left[:, first : first + group]
        least, most = own.aminmax(dim=1, keepdim=True)
        scale = (most - least).clamp(min=LEAST) / top
        zero = -(least / scale).round()
        lost = torch.empty_like(own)
        for j in range(group):
            column = left[:, first + j : first + j + 1]
            codes = (column / scale + zero).round().clamp(0, top)
            made[:, first + j : first + j + 1] = scale * (codes - zero)
            lost[:, j] = (column - made[:, first + j : first + j + 1])[:, 0] / inverse[first + j, first + j]
            place = slice(first + j, first + group)
            left[:, place] -= lost[:, j : j + 1] * inverse[first + j, place]
        left[:, first + group :] -= lost @ inverse[first : first + group, first + group :]
    return made.to(weight.dtype)
