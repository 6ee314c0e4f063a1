"""Gauges: changes of an unembedding matrix that the model's function does not see, and the ranks that they move.

For logits z = W h and their softmax,

- a row shift W -> W + 1 c^T adds the same number to all logits and leaves the softmax;
- the gain g of the last norm can stand in the norm or in the matrix, W -> W diag(g);
- any invertible M gives the same logits as W M^-1 and M h.

A rank of W alone is therefore a property of how a model is written down. What the function has is the spectrum of
W Sigma^(1/2), with Sigma the covariance of h: the same for every M, and for every shift once rows are centred.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike

from assay.geometry.matrix_input import Array, Block, Matrix, Rows, checked_matrix, in_float64, returned_like
from assay.geometry.row_factor import checked_gain, symmetric_root
from assay.geometry.spectrum import right_singular_vectors

__all__ = ["applied", "gauge", "gauge_maps", "gauge_move"]

LONGEST_STRETCH = 1e6  # condition number of M at strength 1: in float64, logits keep ten digits
DEPENDENT = 1e-11  # of s_1: columns with a smaller singular value are linearly dependent, up to rounding


def gauge(
    matrix: Matrix, *, center: bool = False, gain: ArrayLike | None = None, hidden_cov: ArrayLike | None = None
) -> Matrix:
    """The matrix in another gauge: (W - 1 m^T) diag(g) Sigma^(1/2), each part where it is asked for.

    For the spectrum alone, `RowFactor.singular_values` with the same arguments is far quicker.

    Args:
        matrix: (V, d).
        center: subtract the mean row m.
        gain: (d,) of the last norm; none of them 0.
        hidden_cov: (d, d) covariance of what multiplies the matrix after the gain: of the states behind the norm's gain
            where no gain is given, before it where one is.

    Returns:
        (V, d) in float64; a tensor on its device, or an array.

    Raises:
        ValueError: no matrix, values that are not finite, or a gain or covariance that does not fit.
    """
    given = checked_matrix("matrix", matrix)
    result: Block = in_float64(given)
    finite = torch.isfinite(result) if isinstance(result, torch.Tensor) else np.isfinite(result)
    if not finite.all():
        Rows("matrix", given).refuse_non_finite()
    if center:
        result = result - result.mean(0)
    if gain is not None:
        result = applied(result, np.diag(checked_gain(gain, given.shape[1])))
    if hidden_cov is not None:
        result = applied(result, symmetric_root(hidden_cov, given.shape[1]))
    return returned_like(given, result)


def gauge_move(matrix: Matrix, strength: float, *, seed: int = 0) -> tuple[Matrix, Matrix]:
    """W M^-1 and M: the same logits from M h, with the rank of the matrix anywhere from d to nearly 1.

    From 0 to 1, M^-1 stretches one random direction by 10^(6 strength): the condition number of M grows evenly in its
    logarithm and the effective rank falls to nearly 1. From 0 to -1, M = (W^T W)^(-strength / 2): singular values
    become s^(1 + strength), all alike at -1, where the rank is d. At 0 nothing changes.

    Apply M to states in float64: at strength 1, float32 would leave no digit of the logits.

    Args:
        matrix: (V, d), of rank d where strength is below 0.
        strength: from -1 to 1.
        seed: of the random direction.

    Returns:
        (V, d) and (d, d) in float64; tensors on the matrix's device, or arrays.

    Raises:
        ValueError: no matrix, values that are not finite, a strength outside [-1, 1], or a matrix of lower rank that is
            to be flattened.
    """
    given = checked_matrix("matrix", matrix)
    axes = right_singular_vectors(Rows("matrix", given)) if strength < 0 else None
    move, inverse = gauge_maps(given.shape[1], strength, axes, seed=seed)
    return returned_like(given, applied(given, inverse)), returned_like(given, move)


def gauge_maps(
    columns: int, strength: float, axes: tuple[Array, Array] | None = None, *, seed: int = 0
) -> tuple[Array, Array]:
    """M and M^-1 of `gauge_move`, which read nothing of the matrix but its axes, and those below 0 alone.

    Args:
        columns: d.
        strength: from -1 to 1.
        axes: singular values (r,) and right singular vectors (d, r) of the matrix; needed below 0.
        seed: of the random direction.

    Returns:
        Two (d, d).

    Raises:
        ValueError: a strength outside [-1, 1]; below 0, no axes, or a matrix of rank below d.
    """
    if not -1 <= strength <= 1:
        raise ValueError(f"strength: got {strength}; expected a number from -1 to 1.")
    if strength >= 0:
        direction = np.random.default_rng(seed).standard_normal(columns)
        direction /= np.linalg.norm(direction)
        along = np.outer(direction, direction)
        stretch = LONGEST_STRETCH**strength
        return np.eye(columns) + (1 / stretch - 1) * along, np.eye(columns) + (stretch - 1) * along
    if axes is None:
        raise ValueError("axes: got none; expected those of the matrix, as strength is below 0.")
    values, vectors = axes
    if len(values) < columns or values[-1] <= DEPENDENT * values[0]:
        raise ValueError("matrix: got linearly dependent columns; expected full rank, as strength is below 0.")
    root = values ** (-strength)
    return (vectors * root) @ vectors.T, (vectors / root) @ vectors.T


def applied(matrix: Matrix, right: Array) -> Block:
    """matrix @ right in float64, where the matrix lies."""
    block = in_float64(matrix)
    if isinstance(block, torch.Tensor):
        return block @ torch.as_tensor(right, device=block.device)
    return block @ right
