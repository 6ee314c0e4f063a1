"""A random Hadamard rotation of columns, which spreads outliers over a block before rounding.

Source: Ashkboos et al. (2024), "QuaRot", section 3; Sylvester's construction.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from assay.efficient.dual_scale import checked_weight, quantise_rtn
from assay.efficient.quant_tensor import dequantise
from assay.efficient.recipe import Recipe

__all__ = ["hadamard_rotate", "rotated_rtn", "rotation_block"]


def rotation_block(width: int) -> int:
    """The largest power of two that divides the width: columns are rotated in blocks of it."""
    return width & -width


def hadamard_rotate(values: Tensor, signs: Tensor, *, back: bool = False) -> Tensor:
    """Rows times the orthogonal matrix diag(signs) · blocks of Hadamard's, or its transpose.

    Args:
        values: (..., D). signs: (D,) ones and minus ones.
        back: undo it.

    Returns:
        (..., D), of the same lengths: W and W R have the same singular values, and (W R)(Rᵀ x) = W x.

    Raises:
        ValueError: signs that do not fit.
    """
    width = values.shape[-1]
    if signs.shape != (width,) or not bool((signs.abs() == 1).all()):
        raise ValueError(f"signs: got shape {tuple(signs.shape)}; expected ({width},) of 1 and −1.")
    block = rotation_block(width)
    given = values if back else values * signs
    out = given.reshape(*values.shape[:-1], width // block, block)
    size = 1
    while size < block:
        pairs = out.unflatten(-1, (block // (2 * size), 2, size))
        a, b = pairs[..., 0, :], pairs[..., 1, :]
        out = torch.stack([a + b, a - b], -2).flatten(-3)
        size *= 2
    out = out.flatten(-2) / math.sqrt(block)
    return out * signs if back else out


def rotated_rtn(weight: Tensor, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Weights that were rotated, rounded to the nearest, and rotated back; signs come from the generator."""
    kept = checked_weight(weight)
    signs = 2.0 * torch.randint(0, 2, (kept.shape[1],), generator=generator).to(kept.dtype) - 1
    turned = dequantise(quantise_rtn(hadamard_rotate(kept, signs), recipe))
    return hadamard_rotate(turned, signs, back=True)
