"""What the spectra of a matrix under all its gauges follow from: the mean row, and a factor of the centred rows.

With R_c^T R_c = (W - 1 m^T)^T (W - 1 m^T), the singular values of W A are those of [sqrt(V) m^T; R_c] A, and those of
the centred rows times A are those of R_c A, for any A. W itself, V rows of it, is read once.

R_c is the Cholesky factor of the centred Gram matrix while that is well conditioned. Its error is then a factor
R_c -> (1 + E) R_c with |E| below 1e-8, which no A enlarges. Else R_c is made by TSQR.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.linalg import get_lapack_funcs

from assay.geometry.matrix_input import Array, Block, Matrix, Progress, Rows
from assay.geometry.spectrum import (
    SAFE_SQUARES,
    as_array,
    right_singular_vectors,
    singular_values,
    triangular_factor,
    with_squares,
)

__all__ = ["RowFactor", "checked_gain", "factor_rows", "symmetric_root"]

ALIKE = 1e-13  # rows that differ from their mean by this share of it are all the same, up to rounding
LEAST_CONDITION = 1e-6  # reciprocal, of the centred Gram matrix against the whole one: eight digits are kept


@dataclass(frozen=True, eq=False)
class RowFactor:
    """A matrix without its V rows.

    Attributes:
        rows: V.
        mean: (d,) mean row.
        factor: (k, d) with factor^T factor the Gram matrix of the centred rows.
        unit_mean: (d,) mean of the rows at unit length; rows of zeros are left out.
        zero_rows: how many rows are all zeros.
        largest_norm: of a row.
    """

    rows: int
    mean: Array
    factor: Array
    unit_mean: Array
    zero_rows: int
    largest_norm: float

    @property
    def columns(self) -> int:
        """d."""
        return len(self.mean)

    def stacked(self, *, center: bool = False) -> Array:
        """A matrix of few rows with the singular values and right singular vectors of W, or of its centred rows."""
        return self.factor if center else np.vstack([np.sqrt(self.rows) * self.mean, self.factor])

    def singular_values(
        self, *, center: bool = False, gain: ArrayLike | None = None, hidden_cov: ArrayLike | None = None
    ) -> Array:
        """Singular values of `gauge(W, ...)` with the same arguments.

        Returns:
            (min(V, d),), descending; as accurate as `singular_values` of the matrix itself.

        Raises:
            ValueError: a gain or a covariance that does not fit.
        """
        small = self.stacked(center=center)
        if gain is not None:
            small = small * checked_gain(gain, self.columns)
        if hidden_cov is not None:
            small = small @ symmetric_root(hidden_cov, self.columns)
        rank = min(self.rows, self.columns)
        values = singular_values(small)[:rank]
        return np.pad(values, (0, rank - len(values)))

    def axes(self) -> tuple[Array, Array]:
        """Singular values (d,) of W and its right singular vectors (d, d) as columns; (r,) and (d, r) where r < d."""
        values, vectors = right_singular_vectors(Rows("matrix", self.stacked()))
        rank = min(self.rows, self.columns)
        return values[:rank], vectors[:, :rank]

    def variances(self, centred: Array | None = None) -> Array:
        """(d,) variance along each principal axis of the rows, descending, over V.

        Args:
            centred: singular values of the centred rows, where they are known already.
        """
        values = self.singular_values(center=True) if centred is None else centred
        return np.pad(values**2 / self.rows, (0, self.columns - len(values)))

    @property
    def mean_share(self) -> float:
        """Share of |W|_F^2 that the mean row holds: V |m|^2 / |W|_F^2."""
        held = self.rows * float(self.mean @ self.mean)
        return held / (held + float((self.factor**2).sum()))


def factor_rows(matrix: Matrix, *, unit_rows: bool = False, progress: Progress | None = None) -> RowFactor:
    """Read a matrix once, for everything that does not depend on single rows.

    Args:
        matrix: (V, d) array or tensor of any stored float type.
        unit_rows: scale every row to length 1 first; rows of zeros stay.
        progress: wraps the blocks, of one pass or of two; raising in it stops the work.

    Raises:
        ValueError: no matrix, values that are not finite, or nothing but zeros.
    """
    rows = Rows("matrix", matrix)
    total, unit_total = np.zeros(rows.columns), np.zeros(rows.columns)
    squares: Block | None = None
    zero_rows, largest = 0, 0.0
    for block in rows.blocks(progress=progress):
        lengths = row_lengths(block)
        inverse = inverse_lengths(lengths)
        unit_total += as_array(like(inverse, block) @ block)
        if unit_rows:
            block = block * like(inverse, block)[:, None]
        total += as_array(block.sum(0))
        squares = with_squares(squares, block)  # where they overflow, TSQR takes over
        zero_rows += int((lengths == 0).sum())
        largest = max(largest, float(lengths.max()))
    gram = as_array(squares)
    if not np.isfinite(gram).all():
        rows.refuse_non_finite()
    if zero_rows == rows.count:
        raise ValueError("matrix: got nothing but zeros; expected at least one row that is not.")
    mean = total / rows.count
    factor = cholesky_factor(gram, mean, rows.count)
    if factor is None:
        source = Rows("matrix", unit_blocks(rows)) if unit_rows else rows
        whole = triangular_factor(source, progress, ones=True)
        mean, factor = whole[0, 1:] / whole[0, 0], whole[1:, 1:]
        factor = factor if len(factor) else np.zeros((1, len(mean)))  # one row is its own mean
    if np.linalg.norm(factor) <= ALIKE * np.sqrt(rows.count) * np.linalg.norm(mean):
        factor = np.zeros_like(factor)
    return RowFactor(
        rows.count, mean, factor, unit_total / (rows.count - zero_rows), zero_rows, 1.0 if unit_rows else largest
    )


def cholesky_factor(gram: Array, mean: Array, count: int) -> Array | None:
    """The factor of the centred rows, or None where the Gram matrix does not hold enough digits of it."""
    if not SAFE_SQUARES[0] < np.trace(gram) < SAFE_SQUARES[1]:
        return None
    potrf, pocon = get_lapack_funcs(("potrf", "pocon"), (gram,))
    factor, failed = potrf(gram - count * np.outer(mean, mean), lower=0)
    if failed:
        return None
    share, _ = pocon(factor, np.abs(gram).sum(axis=0).max(), uplo="U")
    return factor if share > LEAST_CONDITION else None


def row_lengths(block: Block) -> Array:
    """Euclidean length of each row, also where squares would leave float64's range."""
    if isinstance(block, torch.Tensor):
        return torch.linalg.vector_norm(block, dim=1).cpu().numpy()
    squares = np.einsum("ij,ij->i", block, block)
    low, high = SAFE_SQUARES
    if low < squares.min() and squares.max() < high:
        return np.sqrt(squares)
    scale = np.abs(block).max(axis=1, keepdims=True)
    scaled = np.divide(block, scale, out=np.zeros_like(block), where=scale > 0)
    return np.linalg.norm(scaled, axis=1) * scale[:, 0]


def inverse_lengths(lengths: Array) -> Array:
    """1 / length; 0 for a row of zeros."""
    return np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def unit_blocks(rows: Rows) -> Iterator[Block]:
    """The blocks of a matrix with rows scaled to length 1; rows of zeros stay."""
    for block in rows.blocks():
        yield block * like(inverse_lengths(row_lengths(block)), block)[:, None]


def like(values: Array, block: Block) -> Block:
    return torch.as_tensor(values, device=block.device) if isinstance(block, torch.Tensor) else values


def checked_gain(gain: ArrayLike, columns: int) -> Array:
    """(d,) finite, none of them 0.

    Raises:
        ValueError: otherwise.
    """
    values = np.asarray(gain, dtype=np.float64)
    if values.shape != (columns,):
        raise ValueError(f"gain: got shape {values.shape}; expected ({columns},), one for each column.")
    if not np.isfinite(values).all() or (values == 0).any():
        raise ValueError("gain: got values that are 0 or not finite; expected finite numbers other than 0.")
    return values


def symmetric_root(covariance: ArrayLike, columns: int) -> Array:
    """(d, d) symmetric positive root of a covariance.

    Raises:
        ValueError: not (d, d), not finite, not symmetric, or with an eigenvalue below 0 beyond rounding.
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    if matrix.shape != (columns, columns):
        raise ValueError(f"hidden_cov: got shape {matrix.shape}; expected ({columns}, {columns}).")
    if not np.isfinite(matrix).all() or np.abs(matrix - matrix.T).max() > 1e-6 * np.abs(matrix).max():
        raise ValueError("hidden_cov: got a matrix that is not finite and symmetric; expected a covariance.")
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values[0] < -1e-6 * values[-1]:
        raise ValueError(f"hidden_cov: got an eigenvalue of {values[0]:.3g}; expected none below 0.")
    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
