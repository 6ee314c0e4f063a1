"""Intervals through the functions of a selective layer, rounded outward.

Bounds are made in float64. Every sum here is of numbers of one sign, or is widened by a share of the sizes that went
into it, so a relative widening of 1e-9 is far more than rounding can add in sums of up to a million terms.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

__all__ = [
    "SILU_LIPSCHITZ", "SILU_MINIMUM", "SLACK", "Interval", "linear_range", "outward", "silu_range", "softplus_bounds",
    "zoh_ratio",
]  # fmt: skip

SLACK = 1e-9
SILU_LOWEST_AT = -1.2784645427610738
SILU_MINIMUM = -0.2784645427610739
SILU_LIPSCHITZ = 1.09983932013  # the largest slope of x σ(x), at 2.39936, rounded up
Interval = tuple[Tensor, Tensor]


def outward(low: Tensor, high: Tensor, size: Tensor | None = None) -> Interval:
    """An interval made wider by a share of the sizes that its ends are made of; by default of the ends."""
    wider = SLACK * (torch.maximum(low.abs(), high.abs()) if size is None else size)
    return low - wider, high + wider


def silu_range(low: Tensor, high: Tensor) -> Interval:
    """Smallest and largest x σ(x) over intervals: it falls until -1.2785, where it is -0.27846, and rises after."""
    at_low, at_high = functional.silu(low), functional.silu(high)
    least = torch.minimum(at_low, at_high)
    inside = (low <= SILU_LOWEST_AT) & (high >= SILU_LOWEST_AT)
    least = torch.where(inside, torch.full_like(least, SILU_MINIMUM), least)
    return outward(least, torch.maximum(at_low, at_high))


def softplus_bounds(low: Tensor, high: Tensor) -> Interval:
    """Smallest and largest softplus over intervals: it rises. Its smallest value stays above zero."""
    ends = [functional.softplus(x, threshold=700.0) for x in (low, high)]
    # ln(1 + e^x) is e^x where x is far below zero, and rounds to 0 only where e^x does.
    return ends[0] * (1 - SLACK), ends[1] * (1 + SLACK)


def linear_range(weight: Tensor, low: Tensor, high: Tensor, bias: Tensor | float = 0.0) -> Interval:
    """Smallest and largest W x + b over a box: (rows, columns) weights, (columns,) ends."""
    positive, negative = weight.clamp(min=0), weight.clamp(max=0)
    least, most = positive @ low + negative @ high + bias, positive @ high + negative @ low + bias
    size = weight.abs() @ torch.maximum(low.abs(), high.abs()) + torch.as_tensor(bias, dtype=weight.dtype).abs()
    return outward(least, most, size)


def zoh_ratio(z: Tensor) -> Tensor:
    """ρ(z) = z / (1 - e^-z): how much larger Euler's input is than that of an exact hold, for z >= 0. 1 at 0."""
    return torch.where(z > 1e-8, z / -torch.expm1(-z.clamp(min=1e-300)), 1 + z / 2)
