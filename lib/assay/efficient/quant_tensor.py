"""A quantised matrix: codes with a scale and zero a group, and a second scale along columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.efficient.recipe import AUX_TILE, Recipe
from assay.efficient.rounding import level_values
from assay.kernels import pack_bits, packed_product

__all__ = ["QuantTensor", "dequantise", "in_eight_bits", "sinq_linear"]


@dataclass(frozen=True, eq=False)
class QuantTensor:
    """Ŵ = s₁ ⊙ (value of q − z) ⊙ s₂.

    Attributes:
        codes: q, (H, D) uint8.
        scale: s₁, (H, D / g), the row scale of balancing included.
        zero: z, (H, D / g), in units of codes.
        column: s₂, (H / h, D) for tiles of h rows; None for ones.
        recipe: what was asked for. group: g as it came out.
        gated: the kurtosis gate left the columns unscaled.
    """

    codes: Tensor
    scale: Tensor
    zero: Tensor
    column: Tensor | None
    recipe: Recipe
    group: int
    gated: bool = False

    @property
    def bits_a_weight(self) -> float:
        """Bits that a weight takes in a file."""
        return self.recipe.bits_a_weight(*self.codes.shape, scaled=self.column is not None)

    @property
    def packed(self) -> Tensor:
        """Codes in bytes."""
        return pack_bits(self.codes, self.recipe.bits)


def dequantise(quantised: QuantTensor) -> Tensor:
    """(H, D) weights, of the scales' type."""
    height, width = quantised.codes.shape
    values = level_values(quantised.recipe.levels, quantised.recipe.bits)
    codes = quantised.codes.to(quantised.scale.dtype)
    if values is not None:
        codes = values.to(quantised.scale.dtype)[quantised.codes.long()]
    groups = codes.view(height, -1, quantised.group)
    weight = ((groups - quantised.zero[:, :, None]) * quantised.scale[:, :, None]).view(height, width)
    if quantised.column is None:
        return weight
    tiles = quantised.column.shape[0]
    return (weight.view(tiles, -1, width) * quantised.column[:, None, :]).view(height, width)


def in_eight_bits(values: Tensor, tile: int) -> Tensor:
    """Values as 8 bits keep them: `tile` of them share a least value and a step, as in the released `quantAux`.

    The released code lays a tensor out in `tile` rows and rounds each column, so that values far apart share a step.

    Args:
        values: any shape; the number of entries a multiple of `tile`, else the largest tile that divides it is taken.
    """
    count = values.numel()
    while count % tile:
        tile -= 1
    rows = values.reshape(tile, -1)
    least = rows.amin(0, keepdim=True)
    step = (rows - least).amax(0, keepdim=True) / 255
    step = torch.where(step > 0, step, 1.0)
    codes = ((rows - least) / step).round().clamp(0, 255)
    return (codes * step + least).view(values.shape)


def with_aux(quantised: QuantTensor) -> QuantTensor:
    """Scales and zeros as 8 bits keep them: 32 scales share a step, and all zeros do."""
    scale = in_eight_bits(quantised.scale, AUX_TILE)
    zero = in_eight_bits(quantised.zero, quantised.zero.numel()) if quantised.recipe.zeros else quantised.zero
    return replace(quantised, scale=scale, zero=zero)


def sinq_linear(x: Tensor, quantised: QuantTensor, packed: Tensor | None = None) -> Tensor:
    """Ŵ x from packed codes: the column scale goes into the inputs, y = Q (s₂ ⊙ x).

    Args:
        x: (..., D) floats.
        quantised: of (H, D).
        packed: its `packed` codes, where they are kept.

    Returns:
        (..., H).

    Raises:
        ValueError: inputs of another width, or no floats.
    """
    height, width = quantised.codes.shape
    if x.shape[-1:] != (width,):
        raise ValueError(f"x: got shape {tuple(x.shape)}; expected (..., {width}).")
    flat = x.reshape(-1, width)
    packed = quantised.packed if packed is None else packed
    levels = level_values(quantised.recipe.levels, quantised.recipe.bits)
    columns = [None] if quantised.column is None else list(quantised.column)
    step = height // len(columns)
    parts = []
    for number, column in enumerate(columns):
        own = slice(number * step, (number + 1) * step)
        given = flat if column is None else flat * column.to(flat.dtype)
        parts.append(
            packed_product(given, packed[own], quantised.scale[own], quantised.zero[own], bits=quantised.recipe.bits,
                           levels=levels)
        )  # fmt: skip
    return torch.cat(parts, 1).view(*x.shape[:-1], height)
