"""What can be said of a tensor's values after one pass over them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

__all__ = ["Health", "Verdict", "examine"]

Verdict = Literal["finite", "not finite", "all zero", "constant", "quantised", "damaged"]


@dataclass(frozen=True)
class Health:
    """Verdict on the values of a tensor.

    Attributes:
        verdict: `not finite` with any NaN or infinity, else `all zero`, `constant` (two or more equal entries),
            `quantised` for codes and dequantised blocks, or `finite`.
        nan: number of NaN.
        inf: number of infinities of either sign.
        first: index of the first NaN or infinity; None where there is none.
    """

    verdict: Verdict
    nan: int = 0
    inf: int = 0
    first: tuple[int, ...] | None = None


def examine(blocks: Iterable[torch.Tensor], shape: tuple[int, ...], *, quantised: bool = False) -> Health:
    """Pass over a tensor in blocks.

    Args:
        blocks: successive blocks of the leading dimension, any type.
        shape: of the whole.
        quantised: the values are codes, or were codes before they were read.
    """
    nan = inf = done = 0
    first: tuple[int, ...] | None = None
    lowest, highest = math.inf, -math.inf
    varied = False
    for block in blocks:
        flat = block.reshape(-1)
        if not flat.numel():
            continue
        if flat.is_complex():
            varied = True  # equal magnitudes are not equal numbers
            flat = flat.to(torch.complex128).abs()
        elif not flat.is_floating_point() or flat.element_size() == 1:
            flat = flat.to(torch.float64)  # PyTorch compares neither unsigned integers nor 8-bit floats
        low, high = (float(end) for end in torch.aminmax(flat))  # NaN comes through
        if not (math.isfinite(low) and math.isfinite(high)):
            nan += int(torch.isnan(flat).sum())
            inf += int(torch.isinf(flat).sum())
            if first is None:
                place = done + int(torch.isfinite(flat).logical_not().to(torch.uint8).argmax())
                first = tuple(int(i) for i in np.unravel_index(place, shape)) if shape else ()
        lowest, highest = min(lowest, low), max(highest, high)
        done += flat.numel()
    if nan or inf:
        return Health("not finite", nan, inf, first)
    if done and lowest == highest == 0:
        return Health("all zero")
    if done > 1 and lowest == highest and not varied:
        return Health("constant")
    return Health("quantised" if quantised else "finite")
