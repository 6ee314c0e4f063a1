"""What a quantiser is asked for, and the sizes that its tiles then have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from assay.kernels import packed_bytes

__all__ = ["BITS", "GROUPS", "Levels", "Recipe", "Tiling", "group_width", "tile_height"]

Levels = Literal["uniform", "symmetric", "normal"]
Tiling = Literal["1d", "2d"]
BITS = (2, 3, 4, 5, 6, 8)
GROUPS = (16, 32, 64, 128, 256)
SMALLEST_GROUP = 16


@dataclass(frozen=True)
class Recipe:
    """How a matrix is quantised.

    Attributes:
        bits: b, of a code: 2, 3, 4, 5, 6 or 8.
        group: g, weights of a row that share a scale; halved until it divides the row, down to 16.
        tiling: `1d`, tiles of all rows and g columns; `2d`, tiles of g rows and g columns.
        iterations: of balancing, from 0; none and one leave the columns unscaled.
        clamp: least and largest factor by which a scale moves in an iteration.
        stop: leave a tile's scales once its imbalance has risen.
        levels: `uniform` between the smallest and largest of a group; `symmetric` around 0, without a zero point;
            `normal`, NF4's and NF3's quantiles of a normal law around the mean of a group, for 4 and 3 bits.
        refine: move zero points by HQQ's iteration after rounding, for uniform levels.
        aux: keep scales and zero points in 8 bits.
        gate: kurtosis of a matrix above which columns are not scaled; None for no gate. The released code has 5.

    Raises:
        ValueError: a setting out of range, or two that do not go together.
    """

    bits: int = 4
    group: int = 64
    tiling: Tiling = "1d"
    iterations: int = 16
    clamp: tuple[float, float] = (0.7, 2.0)
    stop: bool = True
    levels: Levels = "uniform"
    refine: bool = False
    aux: bool = False
    gate: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.bits, bool) or self.bits not in BITS:
            raise ValueError(f"bits: got {self.bits!r}; expected one of {', '.join(map(str, BITS))}.")
        size = self.group
        if isinstance(size, bool) or not isinstance(size, int) or size < SMALLEST_GROUP or size & (size - 1):
            raise ValueError(f"group: got {size!r}; expected a power of two of at least {SMALLEST_GROUP}.")
        if self.tiling not in get_args(Tiling):
            raise ValueError(f"tiling: got {self.tiling!r}; expected 1d or 2d.")
        if isinstance(self.iterations, bool) or not isinstance(self.iterations, int) or self.iterations < 0:
            raise ValueError(f"iterations: got {self.iterations!r}; expected a whole number from 0.")
        low, high = self.clamp
        if not 0 < low <= 1 <= high < math.inf:
            raise ValueError(f"clamp: got {low} to {high}; expected a factor of at most 1 and one of at least 1.")
        if self.levels not in get_args(Levels):
            raise ValueError(f"levels: got {self.levels!r}; expected one of {', '.join(get_args(Levels))}.")
        if self.levels == "normal" and self.bits not in (3, 4):
            raise ValueError(f"levels: got normal at {self.bits} bits; expected 3 or 4 bits, or other levels.")
        if self.refine and self.levels != "uniform":
            raise ValueError(f"refine: got it with {self.levels} levels; expected uniform levels, which have a zero.")
        if self.gate is not None and not self.gate > 0:
            raise ValueError(f"gate: got {self.gate}; expected a kurtosis above 0, or none.")

    @property
    def zeros(self) -> bool:
        """Every group keeps a zero point."""
        return self.levels != "symmetric"

    def bits_a_weight(self, height: int, width: int, *, scaled: bool = True) -> float:
        """Stored bits of a weight of a matrix (H, D): codes, scales and zeros in half precision, column scales.

        Args:
            scaled: it has column scales, b + 32 / g + 16 / H in all; without them b + 32 / g.
        """
        group = group_width(width, self.group)
        codes = 8 * packed_bytes(width, self.bits) / width
        kept = (8 if self.aux else 16) * (2 if self.zeros else 1) / group
        if self.aux:
            kept += 32 / (AUX_TILE * group)  # least value and step of every 32 scales
        return codes + kept + (16 / tile_height(height, group, self.tiling) if scaled else 0.0)


AUX_TILE = 32


def group_width(width: int, group: int) -> int:
    """The group that rows of this width have: halved until it divides them.

    Raises:
        ValueError: no group of at least 16 divides the width.
    """
    found = group
    while found >= SMALLEST_GROUP and width % found:
        found //= 2
    if found < SMALLEST_GROUP:
        raise ValueError(f"width: got {width} columns; expected a multiple of {SMALLEST_GROUP}, to be cut in groups.")
    return found


def tile_height(height: int, group: int, tiling: Tiling) -> int:
    """Rows of a tile.

    Raises:
        ValueError: fewer than two rows, or tiles of g rows that do not divide the height.
    """
    if height < 2:
        raise ValueError(f"height: got {height} row; expected at least 2, for a deviation is of several values.")
    if tiling == "1d":
        return height
    if height % group:
        raise ValueError(f"height: got {height} rows; expected a multiple of {group}, the side of 2d tiles.")
    return group
