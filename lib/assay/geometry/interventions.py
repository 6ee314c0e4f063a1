"""Changes of the spectrum itself: fewer singular values, or others. Unlike a gauge they change the function."""

from __future__ import annotations

import numpy as np
import torch

from assay.geometry.gauges import applied
from assay.geometry.matrix_input import Matrix, Rows, checked_matrix, returned_like
from assay.geometry.spectrum import right_singular_vectors

__all__ = ["reshape_spectrum", "truncate_spectrum"]


def truncate_spectrum(matrix: Matrix, k: int) -> Matrix:
    """The nearest matrix of rank k (Eckart & Young 1936): the k largest singular values are kept, the others are 0.

    Args:
        matrix: (V, d).
        k: from 1 to min(V, d).

    Returns:
        (V, d) of the matrix's type.

    Raises:
        ValueError: no matrix of floats, values that are not finite, or a k outside its range.
    """
    given = checked_floats(matrix)
    most = min(given.shape)
    if isinstance(k, bool) or int(k) != k or not 1 <= k <= most:
        raise ValueError(f"k: got {k}; expected a whole number from 1 to {most}.")
    _, vectors = right_singular_vectors(Rows("matrix", given))
    kept = vectors[:, : int(k)]
    return of_type(given, kept @ kept.T)


def reshape_spectrum(matrix: Matrix, gamma: float) -> Matrix:
    """Singular values s -> c s^gamma, with c such that |W|_F stays; singular vectors stay.

    gamma below 1 flattens the spectrum and raises every rank, gamma above 1 does the opposite. Singular values that are
    0 up to rounding stay 0.

    Args:
        matrix: (V, d), not all zeros.
        gamma: at least 0; 1 changes nothing.

    Returns:
        (V, d) of the matrix's type.

    Raises:
        ValueError: no matrix of floats, values that are not finite, nothing but zeros, or a gamma below 0.
    """
    given = checked_floats(matrix)
    if not 0 <= gamma < np.inf:
        raise ValueError(f"gamma: got {gamma}; expected a finite number of at least 0.")
    values, vectors = right_singular_vectors(Rows("matrix", given))
    if not values[0] > 0:
        raise ValueError("matrix: got nothing but zeros; expected at least one entry that is not.")
    shares = values / values[0]
    some = shares > np.finfo(np.float64).eps * max(given.shape)
    raised = np.power(shares, gamma, out=np.zeros_like(shares), where=some)
    scale = np.linalg.norm(shares) / np.linalg.norm(raised)
    factors = np.divide(scale * raised, shares, out=np.zeros_like(shares), where=some)
    return of_type(given, (vectors * factors) @ vectors.T)


def checked_floats(matrix: Matrix) -> Matrix:
    given = checked_matrix("matrix", matrix)
    floats = given.is_floating_point() if isinstance(given, torch.Tensor) else given.dtype.kind == "f"
    if not floats:
        raise ValueError(f"matrix: got {given.dtype}; expected floating-point numbers, as the result is of its type.")
    return given


def of_type(given: Matrix, right: np.ndarray) -> Matrix:
    """given @ right, computed in float64 and rounded to the type of `given`."""
    result = returned_like(given, applied(given, right))
    if isinstance(given, torch.Tensor):
        return torch.as_tensor(result).to(given.dtype)
    return np.asarray(result).astype(given.dtype)
