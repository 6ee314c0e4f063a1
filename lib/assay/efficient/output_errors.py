"""What quantisation does to a layer's output: measured on inputs, and expected from scales alone."""

from __future__ import annotations

import torch
from torch import Tensor

from assay.efficient.quant_tensor import QuantTensor

__all__ = ["expected_output_error", "output_error", "weight_error"]


def weight_error(weight: Tensor, other: Tensor) -> float:
    """|W − Ŵ|² over |W|², squared Frobenius norms; 0 for a matrix of zeros that stays one."""
    return _ratio((weight.double() - other.double()).square().sum(), weight.double().square().sum())


def output_error(weight: Tensor, other: Tensor, inputs: Tensor) -> float:
    """E|(W − Ŵ) x|² over E|W x|², on inputs (n, D): the error that activations weigh."""
    given = inputs.double()
    return _ratio(
        (given @ (weight.double() - other.double()).T).square().sum(), (given @ weight.double().T).square().sum()
    )


def _ratio(part: Tensor, whole: Tensor) -> float:
    return float(part / whole) if float(whole) > 0 else 0.0 if float(part) == 0 else float("inf")


def expected_output_error(quantised: QuantTensor, second_moment: Tensor) -> float:
    """E|(W − Ŵ) x|² if rounding were uniform noise: (1 / 12) Σ s₁² Σ s₂² E[x²].

    Args:
        quantised: with uniform or symmetric levels.
        second_moment: (D,) E[x_j²] of the inputs.

    Raises:
        ValueError: moments of another length, or levels that are not evenly spaced.
    """
    width = quantised.codes.shape[1]
    if second_moment.shape != (width,):
        raise ValueError(f"second_moment: got shape {tuple(second_moment.shape)}; expected ({width},).")
    if quantised.recipe.levels == "normal":
        raise ValueError("quantised: got normal levels; expected evenly spaced ones.")
    moment = second_moment.double()
    column = torch.ones(1, width) if quantised.column is None else quantised.column
    of_groups = (column.double().square() * moment).view(len(column), -1, quantised.group).sum(2)
    scale = quantised.scale.double().square().view(len(column), -1, quantised.scale.shape[1]).sum(1)
    return float((scale * of_groups).sum()) / 12
