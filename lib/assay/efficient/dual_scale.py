"""SINQ: columns of a tile are scaled until the spreads of rows and columns agree, then groups are rounded.

Source: Müller et al., "SINQ: Sinkhorn-Normalized Quantization for Calibration-Free Low-Precision LLM Weights",
arXiv 2509.22944, section 2, and its released code.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from torch import Tensor

from assay.efficient.quant_tensor import QuantTensor, with_aux
from assay.efficient.recipe import Recipe, group_width, tile_height
from assay.efficient.rounding import clipped_groups, refined_zeros, round_groups
from assay.kernels import Balanced, balance

__all__ = [
    "checked_weight", "kurtosis", "matrix_imbalance", "quantise_rtn", "quantise_scaled", "quantise_sinq",
    "sinkhorn_scales",
]  # fmt: skip


def checked_weight(weight: Tensor, name: str = "weight") -> Tensor:
    """A matrix as float32, or float64 where it is that.

    Raises:
        ValueError: no matrix of floats, fewer than two rows, or a NaN or infinite value, with its index.
    """
    if not isinstance(weight, Tensor) or weight.dim() != 2 or not weight.dtype.is_floating_point:
        got = f"{weight.dtype} of shape {tuple(weight.shape)}" if isinstance(weight, Tensor) else type(weight).__name__
        raise ValueError(f"{name}: got {got}; expected a matrix (H, D) of floats.")
    if len(weight) < 2:
        raise ValueError(f"{name}: got {len(weight)} row; expected at least 2, for a deviation is of several values.")
    kept = weight.detach() if weight.dtype is torch.float64 else weight.detach().float()
    if kept.numel() and not all(math.isfinite(float(end)) for end in kept.aminmax()):  # NaN comes through
        bad = torch.isfinite(kept).logical_not().nonzero()[0].tolist()
        raise ValueError(f"{name}: holds {float(kept[tuple(bad)])} at {bad}; expected finite weights.")
    return kept.contiguous()


def matrix_imbalance(weight: Tensor) -> float:
    """I(W): the largest deviation of a row or column over the smallest; 1 for a balanced matrix, scale-invariant.

    Raises:
        ValueError: no finite matrix of at least two rows and columns.
    """
    kept = checked_weight(weight)
    if kept.shape[1] < 2:
        raise ValueError(f"weight: got {kept.shape[1]} column; expected at least 2.")
    both = torch.cat([kept.double().std(0), kept.double().std(1)])
    return float(both.max() / both.min().clamp(min=1e-12))


def kurtosis(weight: Tensor) -> float:
    """Fourth moment over the squared second, of all entries: 3 for normal ones. What the released gate looks at."""
    flat = weight.double().reshape(-1)
    off = flat - flat.mean()
    square = off.square()
    return float(square.square().mean() / square.mean().clamp(min=1e-6).square())


def sinkhorn_scales(weight: Tensor, recipe: Recipe | None = None) -> Balanced:
    """Scales of every tile of a matrix, as `assay.kernels.balance` gives them for a recipe.

    Raises:
        ValueError: a matrix that cannot be quantised, or tiles that do not fit.
    """
    recipe = recipe or Recipe()
    kept = checked_weight(weight)
    group = group_width(kept.shape[1], recipe.group)
    height = tile_height(len(kept), group, recipe.tiling)
    return balance(kept, height, group, iterations=recipe.iterations, clamp=recipe.clamp, stop=recipe.stop)


def quantise_rtn(weight: Tensor, recipe: Recipe | None = None, *, clip: bool = False) -> QuantTensor:
    """Round to the nearest, every group between its ends; columns are not scaled.

    Args:
        weight: (H, D) finite floats.
        recipe: bits, group, levels, refine and aux of it.
        clip: draw the ends of uniform levels in where that makes a group's squared error less.

    Raises:
        ValueError: a matrix that cannot be quantised, or that cannot be cut in groups.
    """
    return quantise_scaled(weight, None, None, recipe or Recipe(), clip=clip)


def quantise_sinq(weight: Tensor, recipe: Recipe | None = None) -> QuantTensor:
    """SINQ: balance every tile, round, and keep column scales beside those of groups.

    Args:
        weight: (H, D) finite floats.
        recipe: all of it.

    Raises:
        ValueError: a matrix that cannot be quantised, or tiles that do not fit.
    """
    recipe = recipe or Recipe()
    kept = checked_weight(weight)
    group = group_width(kept.shape[1], recipe.group)
    height = tile_height(len(kept), group, recipe.tiling)
    if recipe.gate is not None and kurtosis(kept) > recipe.gate:
        return replace(quantise_scaled(kept, None, None, recipe), gated=True)
    found = balance(kept, height, group, iterations=recipe.iterations, clamp=recipe.clamp, stop=recipe.stop)
    return quantise_scaled(kept, found.columns, found.rows, recipe)


def quantise_scaled(
    weight: Tensor, column: Tensor | None, row: Tensor | None, recipe: Recipe, *, awq: Tensor | None = None,
    clip: bool = False,
) -> QuantTensor:  # fmt: skip
    """Round what scales leave of a matrix.

    Args:
        weight: (H, D) finite floats.
        column: (H / h, D) μ₁, above 0, what columns are divided by; None for ones.
        row: (H, D / g) μ₂, what the rows of a tile are divided by; None for ones. It changes no code of uniform
            levels, for a group's own scale takes it up.
        recipe: bits, group, levels, refine and aux of it.
        awq: (D,) what the scaled columns are multiplied by (A-SINQ); goes into the column scale.
        clip: as in `quantise_rtn`.

    Raises:
        ValueError: a matrix that cannot be quantised, or scales that do not fit it.
    """
    kept = checked_weight(weight)
    height, width = kept.shape
    group = group_width(width, recipe.group)
    if column is not None and (column.shape[-1] != width or column.dim() != 2 or height % len(column)):
        raise ValueError(f"column: got shape {tuple(column.shape)}; expected (tiles, {width}).")
    if row is not None and row.shape != (height, width // group):
        raise ValueError(f"row: got shape {tuple(row.shape)}; expected {(height, width // group)}.")
    whole = column if awq is None else (1 if column is None else column) / awq
    codes = torch.empty(height, width, dtype=torch.uint8)
    scale, zero = kept.new_empty(height, width // group), kept.new_empty(height, width // group)
    for rows in row_blocks(height, width, 1 if column is None else len(column), whole=recipe.refine):
        scaled = kept[rows]
        if column is not None:
            scaled = scaled / column[rows.start * len(column) // height].to(kept.dtype)
        groups = scaled.view(len(scaled), -1, group)
        if row is not None:
            groups = groups / row[rows].to(kept.dtype)[:, :, None]
        if awq is not None:
            groups = groups * awq.to(kept.dtype).view(1, -1, group)
        if recipe.refine:
            found = refined_zeros(groups, recipe.bits)
        elif clip:
            found = clipped_groups(groups, recipe.bits)
        else:
            found = round_groups(groups, recipe.bits, recipe.levels)
        codes[rows] = found.codes.view(-1, width)
        own = found.scale[:, :, 0]
        scale[rows], zero[rows] = own if row is None else own * row[rows].to(kept.dtype), found.zero[:, :, 0]
    if whole is not None:
        whole = whole.to(kept.dtype).view(-1, width)
    made = QuantTensor(codes, scale, zero, whole, recipe, group)
    return with_aux(made) if recipe.aux else made


AT_A_TIME = 2**17  # weights whose intermediate values stay in a cache


def row_blocks(height: int, width: int, tiles: int, *, whole: bool) -> list[slice]:
    """Rows that are rounded together: within a tile, as many as stay in a cache; all of a tile where that is asked."""
    tall = height // tiles
    step = tall if whole else max(1, AT_A_TIME // width)
    return [
        slice(first, min(first + step, (tile + 1) * tall))
        for tile in range(tiles)
        for first in range(tile * tall, (tile + 1) * tall, step)
    ]
