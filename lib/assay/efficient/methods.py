"""Every quantiser under one name: what a weight becomes, so that methods can be compared on the same layers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.efficient.calibrated import gptq_groups, quantise_asinq, quantise_awq
from assay.efficient.dual_scale import (
    checked_weight,
    kurtosis,
    quantise_rtn,
    quantise_scaled,
    quantise_sinq,
    sinkhorn_scales,
)
from assay.efficient.quant_tensor import dequantise
from assay.efficient.recipe import Recipe, group_width, tile_height
from assay.efficient.rotation import rotated_rtn

__all__ = ["CALIBRATED", "METHODS", "Outcome", "quantise_by"]

METHODS = {
    "rtn": "Round to nearest",
    "clip": "RTN, ends drawn in",
    "hqq": "HQQ",
    "hadamard": "Hadamard + RTN",
    "nf": "NF levels",
    "sinq": "SINQ",
    "sinq-nf": "SINQ + NF levels",
    "sinq-hqq": "SINQ + HQQ",
    "one-shot": "Column deviations, no iteration",
    "shuffled": "SINQ’s column scales, shuffled",
    "oracle": "Column scales from activations",
    "awq": "AWQ",
    "asinq": "A-SINQ",
    "gptq": "GPTQ",
}
"""From name to what people read."""
CALIBRATED = ("oracle", "awq", "asinq", "gptq")
"""Those that look at activations."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method made of a matrix.

    Attributes:
        weight: (H, D) Ŵ.
        bits_a_weight: what it takes in a file.
        gated: the kurtosis gate made it round to nearest.
    """

    weight: Tensor
    bits_a_weight: float
    gated: bool = False


def quantise_by(
    weight: Tensor, method: str, recipe: Recipe, *, inputs: Tensor | None = None,
    generator: torch.Generator | None = None, alphas: int = 20,
) -> Outcome:  # fmt: skip
    """Quantise a matrix by a method's name.

    Args:
        weight: (H, D) finite floats.
        method: one of METHODS.
        recipe: how; its levels and refinement hold for `rtn` and `sinq`, names with NF or HQQ set them.
        inputs: (n, D) activations, which those of CALIBRATED need.
        generator: signs of `hadamard`, the order of `shuffled`; one of seed 0 where there is none.
        alphas: exponents that AWQ and A-SINQ try.

    Raises:
        ValueError: no such method, inputs that are missing, or a matrix that cannot be quantised.
    """
    if method not in METHODS:
        raise ValueError(f"method: got {method!r}; expected one of {', '.join(METHODS)}.")
    if method in CALIBRATED and inputs is None:
        raise ValueError(f"method: {method} needs activations; expected inputs, or a method without calibration.")
    kept = checked_weight(weight)
    height, width = kept.shape
    generator = generator or torch.Generator().manual_seed(0)
    if method in ("nf", "sinq-nf"):
        recipe = replace(recipe, levels="normal", refine=False)
    elif method in ("hqq", "sinq-hqq"):
        recipe = replace(recipe, levels="uniform", refine=True)
    elif method in ("clip", "hadamard", "gptq"):
        recipe = replace(recipe, levels="uniform", refine=False)
    if method == "hadamard":
        return Outcome(rotated_rtn(kept, recipe, generator), recipe.bits_a_weight(height, width, scaled=False))
    if method == "gptq":
        assert inputs is not None
        given = inputs.double()
        return Outcome(gptq_groups(kept, given.T @ given, recipe), recipe.bits_a_weight(height, width, scaled=False))
    if method in ("rtn", "clip", "hqq", "nf"):
        made = quantise_rtn(kept, recipe, clip=method == "clip")
    elif method in ("sinq", "sinq-nf", "sinq-hqq"):
        made = quantise_sinq(kept, recipe)
    elif recipe.gate is not None and kurtosis(kept) > recipe.gate and method in ("asinq", "shuffled"):
        made = replace(quantise_rtn(kept, recipe), gated=True)
    elif method == "awq":
        assert inputs is not None
        made = quantise_awq(kept, inputs, recipe, alphas=alphas)
    elif method == "asinq":
        assert inputs is not None
        made = quantise_asinq(kept, inputs, recipe, alphas=alphas)
    else:
        made = quantise_scaled(kept, column_scales(kept, method, recipe, inputs, generator), None, recipe)
    return Outcome(dequantise(made), made.bits_a_weight, made.gated)


def column_scales(
    weight: Tensor, method: str, recipe: Recipe, inputs: Tensor | None, generator: torch.Generator
) -> Tensor:
    """(H / h, D) what columns are divided by, of a control: one-shot, shuffled, or from activations."""
    height, width = weight.shape
    group = group_width(width, recipe.group)
    tall = tile_height(height, group, recipe.tiling)
    if method == "one-shot":
        found = weight.view(height // tall, tall, width).std(1)
        return found.clamp(min=1e-3 * float(found.max().clamp(min=1e-12)))
    if method == "shuffled":
        columns = sinkhorn_scales(weight, recipe).columns.view(height // tall, -1, group)
        order = torch.rand(columns.shape, generator=generator).argsort(2)
        return columns.gather(2, order).view(-1, width)
    assert inputs is not None
    strength = inputs.to(weight.dtype).square().mean(0).sqrt()
    strength = strength.clamp(min=1e-3 * float(strength.max().clamp(min=1e-12)))
    return strength.rsqrt().expand(height // tall, width)  # the middle of AWQ's grid of exponents
