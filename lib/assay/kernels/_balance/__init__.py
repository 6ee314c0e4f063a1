"""Row and column scales that bring the spreads of a tile's rows and columns together."""

import importlib
import math
from typing import NamedTuple

import torch
from torch import Tensor

from assay.back_ends import serves
from assay.kernels._balance import cpu
from assay.kernels._balance.reference import balance_reference
from assay.kernels.dispatch import TRITON

__all__ = ["Balanced", "balance"]


class Balanced(NamedTuple):
    """Scales of all tiles.

    Attributes:
        columns: (H / h, D) μ₁, what columns are divided by.
        rows: (H, D / g) μ₂, what rows are divided by.
        trace: (H / h, D / g, iterations) imbalance of the scaled tile at each iteration, the first unscaled.
    """

    columns: Tensor
    rows: Tensor
    trace: Tensor


def balance(
    weight: Tensor, rows: int, columns: int, *, iterations: int = 16, clamp: tuple[float, float] = (0.7, 2.0),
    stop: bool = True,
) -> Balanced:  # fmt: skip
    """Find dual scales of every tile by the log-domain Sinkhorn iteration of SINQ (Müller et al., arXiv 2509.22944).

    In each iteration both logarithms move by that of a deviation over the least one at the start, clamped; the scales
    of the smallest imbalance (largest over smallest deviation of any row or column) are kept. As in the authors' code
    the first iteration looks at the tile as it is and what the last one moved is never looked at, so one iteration, as
    none, leaves scales of 1.

    Args:
        weight: (H, D), finite floats; float32 and float64 stay, others become float32.
        rows: h, height of a tile, at least 2, which divides H. columns: g, its width, at least 2, which divides D.
        iterations: how many, from 0.
        clamp: least and largest factor of a step, around 1.
        stop: leave a tile's scales as they are once its imbalance has risen.

    Raises:
        ValueError: no matrix of finite floats, tiles that do not fit, or a setting out of range.
    """
    if not isinstance(weight, Tensor) or weight.dim() != 2 or not weight.dtype.is_floating_point:
        got = f"{weight.dtype} of shape {tuple(weight.shape)}" if isinstance(weight, Tensor) else type(weight).__name__
        raise ValueError(f"weight: got {got}; expected a matrix of floats.")
    for name, size, whole in (("rows", rows, weight.shape[0]), ("columns", columns, weight.shape[1])):
        if isinstance(size, bool) or not isinstance(size, int) or size < 2 or whole % size:
            raise ValueError(f"{name}: got {size!r} for {whole}; expected a divisor of it from 2 on.")
    if isinstance(iterations, bool) or not isinstance(iterations, int) or iterations < 0:
        raise ValueError(f"iterations: got {iterations!r}; expected a whole number from 0.")
    low, high = clamp
    if not (0 < low <= 1 <= high < math.inf):
        raise ValueError(f"clamp: got {low} to {high}; expected a factor of at most 1 and one of at least 1.")
    kept = weight.dtype if weight.dtype in (torch.float32, torch.float64) else torch.float32
    given = weight.detach().to(kept).contiguous()
    if given.numel() and not all(math.isfinite(float(end)) for end in given.aminmax()):  # NaN comes through
        raise ValueError("weight: holds NaN or infinite values; expected finite numbers.")
    how = (rows, columns, iterations, float(low), float(high), bool(stop))
    if given.device.type == "cpu":
        serves("balance", "cpu")
        return Balanced(*cpu.balanced(given, *how))
    if given.device.type == "cuda" and TRITON and kept is torch.float32:
        serves("balance", "gpu")
        return Balanced(*importlib.import_module(f"{__name__}.gpu").balanced(given, *how))
    serves("balance", "reference")
    return Balanced(*balance_reference(given, *how))
