"""One reading of a matrix gives its spectrum under every gauge: the same as of the changed matrix itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.geometry import factor_rows, gauge

CASES = st.tuples(st.integers(1, 60), st.integers(1, 12), st.integers(0, 2**20), st.sampled_from([0.0, 1.0, 1e3, 1e7]))


def drawn(case):
    rows, columns, seed, offset = case
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((rows, columns)) + offset * rng.standard_normal(columns)
    root = rng.standard_normal((columns, columns))
    return matrix, rng.uniform(0.2, 3, columns), root @ root.T / columns


@settings(max_examples=60)
@given(CASES, st.booleans(), st.booleans(), st.booleans())
def test_spectra_are_those_of_the_changed_matrix(case, center, with_gain, with_cov):
    matrix, gain, covariance = drawn(case)
    arguments = {"center": center, "gain": gain if with_gain else None, "hidden_cov": covariance if with_cov else None}
    ours = factor_rows(matrix).singular_values(**arguments)
    theirs = np.linalg.svd(gauge(matrix, **arguments), compute_uv=False)
    size = (
        np.linalg.norm(matrix, 2) * (gain.max() if with_gain else 1) * np.sqrt(np.trace(covariance) if with_cov else 1)
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-12 * size)


@settings(max_examples=30)
@given(CASES)
def test_mean_and_what_it_holds(case):
    matrix, _, _ = drawn(case)
    factor = factor_rows(matrix)
    mean = matrix.mean(axis=0)
    np.testing.assert_allclose(factor.mean, mean, rtol=1e-9, atol=1e-12 * np.abs(matrix).max())
    share = len(matrix) * (mean**2).sum() / (matrix**2).sum()
    assert factor.mean_share == pytest.approx(share, rel=1e-9)
    assert factor.largest_norm == pytest.approx(np.linalg.norm(matrix, axis=1).max(), rel=1e-12)
    centred = matrix - mean
    variances = np.linalg.svd(centred, compute_uv=False) ** 2 / len(matrix)
    found = factor.variances()
    np.testing.assert_allclose(found[: len(variances)], variances, rtol=1e-6, atol=1e-12 * (matrix**2).mean())


def test_unit_rows_and_rows_of_zeros():
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((40, 5)) * rng.lognormal(size=(40, 1))
    matrix[[3, 17]] = 0
    unit = np.divide(matrix, np.linalg.norm(matrix, axis=1, keepdims=True), where=matrix.any(axis=1, keepdims=True),
                     out=np.zeros_like(matrix))  # fmt: skip
    factor = factor_rows(matrix, unit_rows=True)
    assert factor.zero_rows == 2 and factor.largest_norm == 1.0
    np.testing.assert_allclose(factor.singular_values(), np.linalg.svd(unit, compute_uv=False), rtol=1e-9)
    np.testing.assert_allclose(factor_rows(matrix).unit_mean, unit.sum(axis=0) / 38, atol=1e-14)


def test_rows_that_are_all_the_same_vary_in_nothing():
    factor = factor_rows(np.tile([1.0, 1 / 3, 1e-5], (1000, 1)))
    assert not factor.singular_values(center=True).any()
    assert factor.mean_share == pytest.approx(1)


def test_rows_of_any_size_have_a_length():
    factor = factor_rows(np.array([[3e-200, 4e-200], [1.0, 0.0], [3e200, 4e200]]) / 1e150)
    assert factor.largest_norm == pytest.approx(5e50, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"gain": np.ones(4)}, r"gain: got shape \(4,\)"),
        ({"gain": np.array([1.0, 0.0, 1.0])}, "gain: got values that are 0"),
        ({"hidden_cov": np.eye(2)}, "hidden_cov: got shape"),
        ({"hidden_cov": np.triu(np.ones((3, 3)))}, "symmetric"),
        ({"hidden_cov": -np.eye(3)}, "eigenvalue of -1"),
    ],
)
def test_what_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        factor_rows(np.random.default_rng(0).standard_normal((9, 3))).singular_values(**arguments)


def test_zeros_alone_are_refused():
    with pytest.raises(ValueError, match="nothing but zeros"):
        factor_rows(np.zeros((4, 3)))
