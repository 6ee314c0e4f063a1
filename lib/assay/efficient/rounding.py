"""Rounding groups of weights to few levels: between their ends, around 0, or to quantiles of a normal law.

Source: the `quantize_rtn` and `quantize_symmetric_rtn` of SINQ (Müller et al., arXiv 2509.22944, released code);
NF4: Dettmers et al. (2023), "QLoRA", appendix E; HQQ: Badri & Shaji (2023), half-quadratic quantisation.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from assay.efficient.recipe import Levels

__all__ = ["NF3", "NF4", "Rounded", "clipped_groups", "level_values", "refined_zeros", "round_groups"]

LEAST_RANGE = 1e-4  # of a group, as the released code has it
LEAST_PEAK = 1e-5  # of a symmetric group

NF4 = (
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
)  # fmt: skip
NF3 = (
    -1.0, -0.5350227355957031, -0.2469314038753510, 0.0, 0.1833375245332718, 0.3819939494132996, 0.6229856610298157,
    1.0,
)  # fmt: skip

STEPS = 20  # of HQQ's iteration
SHARPNESS, NORM = 10.0, 0.7  # its β and p
SHRINKS = 24  # ranges that clipping tries, from all of a group's down to two fifths


class Rounded(NamedTuple):
    """Groups after rounding: weights are near scale · (value of a code − zero).

    Attributes:
        codes: (..., g) uint8.
        scale, zero: (..., 1) of the weights' type.
    """

    codes: Tensor
    scale: Tensor
    zero: Tensor


def level_values(levels: Levels, bits: int) -> Tensor | None:
    """(2^b,) float32 what codes stand for; None where they stand for themselves."""
    if levels != "normal":
        return None
    return torch.tensor(NF4 if bits == 4 else NF3)


def round_groups(groups: Tensor, bits: int, levels: Levels = "uniform") -> Rounded:
    """Round each group to its own levels.

    Args:
        groups: (..., g) finite floats.
        bits: of a code.
        levels: `uniform`: s = (max − min) / (2^b − 1), z = −round(min / s); `symmetric`: s = max |w| / (2^(b−1) − 1),
            z = 2^(b−1) for all; `normal`: s = max |w − mean|, z = −mean / s, codes of the nearest quantile.
    """
    if levels == "symmetric":
        top = 2 ** (bits - 1) - 1
        scale = groups.abs().amax(-1, keepdim=True).clamp(min=LEAST_PEAK) / top
        codes = (groups / scale).round() + (top + 1)
        return Rounded(codes.to(torch.uint8), scale, torch.full_like(scale, top + 1))
    if levels == "normal":
        mean = groups.mean(-1, keepdim=True)
        scale = (groups - mean).abs().amax(-1, keepdim=True).clamp(min=LEAST_RANGE)
        zero = -mean / scale
        values = torch.tensor(NF4 if bits == 4 else NF3, dtype=groups.dtype)
        middles = (values[1:] + values[:-1]) / 2
        return Rounded(torch.bucketize(groups / scale + zero, middles).to(torch.uint8), scale, zero)
    least, most = groups.aminmax(dim=-1, keepdim=True)
    return between(groups, least, most, bits)


def between(groups: Tensor, least: Tensor, most: Tensor, bits: int) -> Rounded:
    """Round to 2^b levels between two ends."""
    top = 2**bits - 1
    scale = (most - least).clamp(min=LEAST_RANGE) / top
    zero = -(least / scale).round()
    codes = (groups / scale).add_(zero).round_().clamp_(0, top)
    return Rounded(codes.to(torch.uint8), scale, zero)


def clipped_groups(groups: Tensor, bits: int) -> Rounded:
    """Round between ends that are drawn in, each group's by the share that makes its squared error least."""
    least, most = groups.aminmax(dim=-1, keepdim=True)
    best: Rounded | None = None
    error = torch.full_like(least, float("inf"))
    for share in torch.linspace(1.0, 0.4, SHRINKS).tolist():
        found = between(groups, least * share, most * share, bits)
        own = (found.scale * (found.codes - found.zero) - groups).square().sum(-1, keepdim=True)
        if best is None:
            best, error = found, own
            continue
        better = own < error
        best = Rounded(*(torch.where(better, new, old) for new, old in zip(found, best, strict=True)))
        error = torch.where(better, own, error)
    assert best is not None
    return best


def refined_zeros(groups: Tensor, bits: int) -> Rounded:
    """HQQ: zero points that make Σ |w − ŵ|^p small, p = 0.7, by half-quadratic splitting.

    As the package `hqq` does: scales stay those of the range, zeros are not rounded, and the iteration ends when the
    mean error over all groups no longer falls.

    Args:
        groups: (..., g) finite floats, all that share one end of the iteration.
    """
    top = 2**bits - 1
    least, most = groups.aminmax(dim=-1, keepdim=True)
    gap = most - least
    inverse = torch.where(gap.abs() <= LEAST_RANGE, torch.ones_like(gap), top / gap).clamp(max=2e4)
    zero = -least * inverse
    lowest = float("inf")
    for _ in range(STEPS):
        codes = (groups * inverse + zero).round_().clamp_(0, top)
        made = (codes - zero) / inverse
        off = groups - made
        size = off.abs()
        shrunk = (size - size.pow(NORM - 1) / SHARPNESS).clamp_(min=0.0) * off.sign()
        zero = (codes - (groups - shrunk) * inverse).mean(-1, keepdim=True)
        error = float(size.mean())
        if error >= lowest:
            break
        lowest = error
    codes = (groups * inverse + zero).round_().clamp_(0, top)
    return Rounded(codes.to(torch.uint8), 1 / inverse, zero)
