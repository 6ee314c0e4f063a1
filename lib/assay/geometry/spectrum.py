"""Singular values of tall matrices, such as an unembedding: from the Gram matrix while that keeps their digits.

The Gram route squares the condition number. With G = W^T W in float64, an eigenvalue of G is off by at most some 40
roundings of the largest (measured), so that a singular value s is off by 20 eps (s_1 / s)^2 relative: 5e-9 at
s = 1e-3 s_1, nothing left at 1e-8 s_1. The triangular factor of a QR decomposition by blocks (TSQR) keeps an absolute
error of 1e-14 s_1 for all of them and takes about four times as long.

Source: Demmel, Grigori, Hoemmen & Langou (2012), "Communication-optimal parallel and sequential QR and LU
factorizations", section 3 (TSQR).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
import torch

from assay.geometry.matrix_input import Array, Block, Matrix, Progress, Rows, checked_matrix

__all__ = ["Method", "gram_matrix", "right_singular_vectors", "singular_values", "triangular_factor"]

Method = Literal["auto", "gram", "tsqr"]

SMALLEST_SHARE = 1e-3  # of s_1: below it the Gram route loses more than eight digits
SAFE_SQUARES = (1e-280, 1e300)  # sums of squares outside have lost digits to the exponent's range
FEW_ROWS = 4  # a block of a QR has so many rows a column, at least


def singular_values(
    matrix: Matrix | Iterable[Matrix], *, method: Method = "auto", progress: Progress | None = None
) -> Array:
    """Singular values in float64, from numbers of any stored type.

    `auto` takes the Gram matrix (of the shorter side), and does the work again by TSQR where s_r < 1e-3 s_1. Rows that
    can be read only once are taken by TSQR from the start.

    Args:
        matrix: (..., V, d) array or tensor, each matrix for itself; or blocks (b, d) of the rows of one matrix, in
            order. float16, bfloat16 and float32 are converted block by block.
        method: `auto`, or `gram` or `tsqr` alone.
        progress: wraps the blocks; raising in it stops the work.

    Returns:
        (..., r), r = min(V, d), descending. By `auto`, each is right to 1e-8 relative down to 1e-6 s_1, and to
        1e-14 s_1 below. By `gram`, to 20 eps (s_1 / s)^2 relative. By `tsqr`, to 1e-14 s_1.

    Raises:
        ValueError: no matrix, values that are not finite, or an unknown method.
    """
    if method not in get_args(Method):
        raise ValueError(f"method: got {method!r}; expected 'auto', 'gram' or 'tsqr'.")
    if not isinstance(matrix, torch.Tensor | np.ndarray):
        return of_rows(Rows("matrix", matrix), method, progress)
    given = checked_matrix("matrix", matrix, -1)
    if given.ndim == 2:
        tall = given if given.shape[0] >= given.shape[1] else given.T
        return of_rows(Rows("matrix", tall), method, progress)
    flat = given.reshape(-1, *given.shape[-2:])
    each = range(len(flat)) if progress is None else progress(range(len(flat)))
    return np.stack([singular_values(flat[i], method=method) for i in each]).reshape(*given.shape[:-2], -1)


def of_rows(rows: Rows, method: Method, progress: Progress | None) -> Array:
    """Singular values of one matrix."""
    if method == "gram" or (method == "auto" and rows.again):
        gram = gram_matrix(rows, progress)
        values = np.zeros(0) if gram is None else np.sqrt(np.clip(np.linalg.eigvalsh(gram)[::-1], 0, None))
        values = values[: min(rows.count, rows.columns)]
        if gram is not None and (method == "gram" or values[-1] >= SMALLEST_SHARE * values[0]):
            return values
        if method == "gram":
            raise ValueError("method: the squares of the matrix leave float64's range; expected 'auto' or 'tsqr'.")
    factor = torch.from_numpy(triangular_factor(rows, progress))
    return torch.linalg.svdvals(factor).numpy()


def gram_matrix(rows: Rows, progress: Progress | None = None) -> Array | None:
    """W^T W (d, d), added up in float64; None where sums of squares leave float64's range.

    Raises:
        ValueError: values that are not finite.
    """
    total: Block | None = None
    for block in rows.blocks(progress=progress):
        total = with_squares(total, block)
    gram = as_array(total)
    trace = float(np.trace(gram))
    if not np.isfinite(trace):
        rows.refuse_non_finite()
    low, high = SAFE_SQUARES
    return gram if low < trace < high else None


def with_squares(total: Block | None, block: Block) -> Block:
    """total + block^T block. NumPy's product of a matrix with its own transpose takes half the operations."""
    with np.errstate(over="ignore"):  # whoever asks looks at the trace
        part = block.T @ block
    if total is None:
        return part
    total += part
    return total


def triangular_factor(rows: Rows, progress: Progress | None = None, *, ones: bool = False) -> Array:
    """R (min(V, d), d) of W = Q R, one block after the other.

    Args:
        rows: the matrix.
        progress: wraps the blocks.
        ones: put a column of ones before W; below its first row and beside its first column, R is then the factor of
            the centred rows.

    Raises:
        ValueError: values that are not finite.
    """
    factor: torch.Tensor | None = None
    for block in rows.blocks(FEW_ROWS * max(1, rows.columns), progress):
        part = torch.as_tensor(block if isinstance(block, torch.Tensor) or block.flags.writeable else block.copy())
        if ones:
            part = torch.cat([part.new_ones(len(part), 1), part], dim=1)
        factor = torch.linalg.qr(part if factor is None else torch.cat([factor, part]), mode="r").R
    whole = as_array(factor)
    if not np.isfinite(whole).all():
        rows.refuse_non_finite()
    return whole


def right_singular_vectors(rows: Rows, progress: Progress | None = None) -> tuple[Array, Array]:
    """Singular values (r,), descending, and right singular vectors (d, r) as columns; routes as `auto` takes them.

    Raises:
        ValueError: values that are not finite.
    """
    gram = gram_matrix(rows, progress)
    rank = min(rows.count, rows.columns)
    if gram is not None:
        squares, vectors = np.linalg.eigh(gram)
        values = np.sqrt(np.clip(squares[::-1], 0, None))[:rank]
        if values[-1] >= SMALLEST_SHARE * values[0]:
            return values, vectors[:, ::-1][:, :rank]
    _, kept, right = torch.linalg.svd(torch.from_numpy(triangular_factor(rows, progress)), full_matrices=False)
    return kept.numpy(), right.mT.numpy()


def as_array(total: Block | None) -> Array:
    assert total is not None  # there is at least one block
    return total.cpu().numpy() if isinstance(total, torch.Tensor) else total
