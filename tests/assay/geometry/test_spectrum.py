"""Singular values by the Gram matrix and by TSQR against LAPACK, also where a Gram matrix loses them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.geometry import singular_values
from assay.geometry.matrix_input import Rows
from assay.geometry.spectrum import right_singular_vectors


def with_spectrum(rows: int, values: np.ndarray, seed: int = 0) -> np.ndarray:
    """A (rows, r) matrix of these singular values, up to rounding."""
    rng = np.random.default_rng(seed)
    left = np.linalg.qr(rng.standard_normal((rows, len(values))))[0]
    right = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return left * values @ right.T


@settings(max_examples=40)
@given(st.integers(1, 70), st.integers(1, 20), st.integers(0, 2**20), st.floats(-8, 8))
def test_against_numpy(rows, columns, seed, size):
    matrix = 10.0**size * np.random.default_rng(seed).standard_normal((rows, columns))
    theirs = np.linalg.svd(matrix, compute_uv=False)
    for method in ("auto", "tsqr"):
        ours = singular_values(matrix, method=method)
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-13 * theirs[0])


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6, 1e9, 1e12])
def test_ill_conditioned_matrices_keep_what_the_docstring_states(condition):
    values = np.logspace(0, -np.log10(condition), 40)
    matrix = with_spectrum(3000, values)
    reference = torch.linalg.svdvals(torch.from_numpy(matrix)).numpy()
    ours = singular_values(matrix)
    large = reference > 1e-6 * reference[0]
    np.testing.assert_allclose(ours[large], reference[large], rtol=1e-8)
    np.testing.assert_allclose(ours, reference, atol=2e-14 * reference[0], rtol=1e-8)


def test_the_gram_route_alone_loses_small_values_as_its_docstring_says():
    values = np.logspace(0, -10, 30)
    matrix = with_spectrum(2000, values)
    reference = np.linalg.svd(matrix, compute_uv=False)
    gram = singular_values(matrix, method="gram")
    error = np.abs(gram - reference) / reference
    bound = 20 * np.finfo(float).eps * (reference[0] / reference) ** 2
    kept = reference > 1e-7
    assert (error[kept] <= bound[kept]).all()
    assert error[-1] > 0.5, "below 1e-8 of the largest nothing is left: so there is a reason to switch"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_stored_types_are_read_as_they_are(dtype):
    matrix = torch.randn(500, 12, generator=torch.Generator().manual_seed(0)).to(dtype)
    theirs = torch.linalg.svdvals(matrix.double()).numpy()
    np.testing.assert_allclose(singular_values(matrix), theirs, rtol=1e-10)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.booleans())
def test_blocks_of_rows_are_one_matrix(sizes, once):
    rng = np.random.default_rng(sum(sizes))
    blocks = [rng.standard_normal((size, 6)) for size in sizes]
    whole = np.linalg.svd(np.concatenate(blocks), compute_uv=False)
    ours = singular_values(iter(blocks) if once else blocks)
    np.testing.assert_allclose(ours, whole, rtol=1e-8, atol=1e-13 * whole[0])


def test_many_matrices_and_wide_ones():
    matrices = np.random.default_rng(3).standard_normal((2, 3, 5, 9))
    ours = singular_values(matrices)
    assert ours.shape == (2, 3, 5)
    np.testing.assert_allclose(ours, np.linalg.svd(matrices, compute_uv=False), rtol=1e-9)


@pytest.mark.parametrize("size", [1e-170, 1e170])
def test_squares_beyond_the_exponent_go_another_way(size):
    matrix = size * with_spectrum(50, np.array([3.0, 2.0, 1.0]))
    np.testing.assert_allclose(singular_values(matrix) / size, [3, 2, 1], rtol=1e-9)
    with pytest.raises(ValueError, match="range"):
        singular_values(matrix, method="gram")


@pytest.mark.parametrize("condition", [1e1, 1e8])
def test_right_singular_vectors_diagonalise(condition):
    values = np.logspace(0, -np.log10(condition), 12)
    matrix = with_spectrum(400, values, seed=5)
    found, vectors = right_singular_vectors(Rows("matrix", matrix))
    np.testing.assert_allclose(found, values, atol=1e-13)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(matrix @ vectors, axis=0), values, atol=1e-13)


def test_progress_may_stop_the_work():
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        singular_values(np.ones((3, 2)), progress=stop)


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        (np.ones(3), r"got shape \(3,\)"),
        (np.ones((3, 0)), r"got shape \(3, 0\)"),
        (np.ones((2, 2), dtype=complex), "complex128; expected real"),
        (np.array([["a"]]), "expected real"),
        ([], "got no blocks"),
        ([np.ones((2, 3)), np.ones((2, 4))], "4 columns after one of 3"),
        (iter([np.array([[np.nan, 1.0]])]), "not finite"),
    ],
)
def test_what_is_refused(matrix, sentence):
    with pytest.raises(ValueError, match=sentence):
        singular_values(matrix)


def test_a_value_that_is_not_finite_is_named_with_its_row():
    matrix = np.ones((2000, 600))
    matrix[1203, 7] = np.nan
    matrix[1500, 1] = np.inf
    for method in ("auto", "gram", "tsqr"):
        with pytest.raises(ValueError, match="2 values that are not finite, the first in row 1203"):
            singular_values(matrix, method=method)
    with pytest.raises(ValueError, match="method: got 'svd'"):
        singular_values(np.ones((2, 2)), method="svd")  # type: ignore[arg-type]
