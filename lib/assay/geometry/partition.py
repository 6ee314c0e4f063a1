"""Isotropy of the partition function: how much Z(c) = sum_v exp(c . w_v) depends on the direction of the context c.

Source: Mu & Viswanath (2018), "All-but-the-Top", eq. 5-6, after Arora et al. (2016): I(W) = min Z / max Z over the unit
eigenvectors of W^T W. An eigenvector has no sign, and Z(-c) is not Z(c): which of the two is taken decides the figure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from assay.geometry.matrix_input import Array, Block, Matrix, Progress, Rows
from assay.geometry.row_factor import RowFactor, factor_rows

__all__ = ["PartitionIsotropy", "Signs", "partition_isotropies", "partition_isotropy"]

Signs = Literal["both", "mean"]

SHORT_ROWS = 60.0  # exp(60) times the rows of a block is far from the end of float32
SINGLE = 2.0**-24  # rounding of float32
NO_SIDE = 1e-9  # of the largest row: a mean row this short along c says nothing about its sign


@dataclass(frozen=True)
class PartitionIsotropy:
    """min Z / max Z under both conventions.

    Attributes:
        both: over +c and -c of every eigenvector.
        mean: over the one of the two that the mean row points to; never below `both`.
        evaluated: for how many eigenvectors Z was computed in float64. The others were ruled out by bounds on Z.
    """

    both: float
    mean: float
    evaluated: int


def partition_isotropy(matrix: Matrix, *, signs: Signs = "both", progress: Progress | None = None) -> float:
    """min Z / max Z over unit eigenvectors of W^T W, in float64, exact up to rounding.

    Where eigenvalues coincide their eigenvectors, and so the figure, are not determined.

    Args:
        matrix: (V, d).
        signs: `both` +c and -c, or the one that the `mean` row points to (both, where it points to neither).
        progress: wraps the blocks of each pass; raising in it stops the work.

    Returns:
        From 0 to 1; 0 where the ratio leaves float64's range.

    Raises:
        ValueError: no matrix, values that are not finite, nothing but zeros, or an unknown convention.
    """
    if signs not in get_args(Signs):
        raise ValueError(f"signs: got {signs!r}; expected 'both' or 'mean'.")
    factor = factor_rows(matrix, progress=progress)
    found = partition_isotropies(matrix, factor, progress=progress)
    return found.both if signs == "both" else found.mean


def partition_isotropies(matrix: Matrix, factor: RowFactor, *, progress: Progress | None = None) -> PartitionIsotropy:
    """Both conventions, for a matrix (V, d) that was read already.

    For y = x - mean(x) <= b with variance v, mean(exp y) <= 1 + v phi(b), and >= 1 + v phi(-b) where y >= -b, with
    phi(t) = (exp t - 1 - t) / t^2 (Bennett 1962). The largest row bounds y, the Gram matrix has v. Where these bounds
    leave open whether Z is extreme, Z in float32 with a bound on its rounding closes most, and float64 the rest.
    """
    rows = Rows("matrix", matrix)
    stacked = factor.stacked()
    squares, vectors = np.linalg.eigh(stacked.T @ stacked)
    along = factor.mean @ vectors
    variance = np.clip(squares / factor.rows - along**2, 0, None)
    reach = factor.largest_norm + np.abs(along)
    high = np.log(factor.rows) + log_growth(variance, reach)
    low = np.log(factor.rows) + log_growth(variance, -reach)

    sides = np.array([[1.0], [-1.0]])
    upper, lower = sides * along + high, sides * along + low  # (2, d), of ln Z(+c) and ln Z(-c)
    clear = np.abs(along) > NO_SIDE * factor.largest_norm
    conventions = {"both": np.full(upper.shape, True), "mean": (sides * along > 0) | ~clear}

    guess = sides * along + np.log1p(variance / 2)
    order = np.argsort(guess.min(axis=0))
    wanted = np.unique(np.concatenate([order[:4], order[-4:], np.argsort(np.abs(guess).min(axis=0))[:8]]))
    single = factor.largest_norm < SHORT_ROWS
    measured = {True: np.full(factor.columns, False), False: np.full(factor.columns, False)}
    while len(wanted):
        values, slack = log_partition(rows, vectors[:, wanted], factor.largest_norm, progress, single=single)
        upper[:, wanted] = np.minimum(upper[:, wanted], values + slack) if single else values
        lower[:, wanted] = np.maximum(lower[:, wanted], values - slack) if single else values
        measured[single][wanted] = True
        still: NDArray[np.bool_] = np.full(factor.columns, False)
        for side in conventions.values():
            extreme = (upper >= lower[side].max()) | (lower <= upper[side].min())
            still |= (side & extreme).any(axis=0)
        still &= ~measured[False]
        if single and not (still & ~measured[True]).any():
            single = False
        wanted = np.flatnonzero(still & ~measured[single])
    ratios = {
        name: float(np.exp(upper[side].min() - lower[side].max())) for name, side in conventions.items()
    }  # of directions that were measured in float64: all others have been ruled out
    return PartitionIsotropy(**ratios, evaluated=int(measured[False].sum()))


def log_growth(variance: Array, reach: Array) -> Array:
    """ln(1 + v phi(t)), also where exp(t) overflows."""
    size = np.abs(reach)
    with np.errstate(divide="ignore", invalid="ignore"):
        if (reach < 0).all():  # exp(t) - 1 - t, without its cancellation near 0
            phi = np.where(size > 1e-3, (np.expm1(-size) + size) / np.where(size > 0, size, 1) ** 2, 0.5 - size / 6)
            return np.log1p(variance * phi)
        near = np.log(0.5 + size / 6 + size**2 / 20)  # above ln phi up to t = 1e-3
        far = size + np.log(-np.expm1(-size) - size * np.exp(-size)) - 2 * np.log(size)
        return np.logaddexp(0, np.log(variance) + np.where(size > 1e-3, far, near))


def log_partition(
    rows: Rows, directions: Array, largest_norm: float, progress: Progress | None, *, single: bool
) -> tuple[Array, float]:
    """(2, k) ln Z of +c and of -c, for (d, k) directions, and by how much rounding can have moved them, in float32."""
    if single:
        return single_partition(rows, directions, largest_norm, progress)
    top = np.full((2, directions.shape[1]), -np.inf)
    total = np.zeros_like(top)
    for block in rows.blocks(progress=progress):
        scores = scored(block, directions)
        for side, sign in enumerate((1.0, -1.0)):
            highest = np.maximum(top[side], scores.max(axis=0) if side == 0 else -scores.min(axis=0))
            total[side] *= np.exp(top[side] - highest)
            total[side] += np.exp(sign * scores - highest).sum(axis=0)
            top[side] = highest
    return top + np.log(total), 0.0


def single_partition(
    rows: Rows, directions: Array, largest_norm: float, progress: Progress | None
) -> tuple[Array, float]:
    """The same in float32, for rows so short that no exponential overflows.

    With u = 2^-24, rounding W and c and a product of d terms moves a score by at most (d + 3) u |w|; exp, its inverse
    and a sum of b terms move Z by a share of at most (b + 8) u.
    """
    total = torch.zeros((2, directions.shape[1]), dtype=torch.float64)
    longest = 0
    for block in rows.stored_blocks(progress=progress):
        short = torch.as_tensor(block).float()
        powers = (short @ torch.as_tensor(directions, dtype=torch.float32, device=short.device)).exp_()
        total[0] += powers.sum(0).double().cpu()
        total[1] += powers.reciprocal_().sum(0).double().cpu()
        longest = max(longest, len(short))
    slack = SINGLE * ((directions.shape[0] + 3) * largest_norm + longest + 8)
    return total.log().numpy(), slack


def scored(block: Block, directions: Array) -> Array:
    if isinstance(block, torch.Tensor):
        return (block @ torch.as_tensor(directions, device=block.device)).cpu().numpy()
    return block @ directions
