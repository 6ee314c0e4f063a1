"""The partition function's isotropy against Z over every eigenvector, also where exponentials overflow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from assay.geometry import factor_rows, partition_isotropy
from assay.geometry.matrix_input import Rows
from assay.geometry.partition import log_growth, partition_isotropies, single_partition


def brute(matrix: np.ndarray) -> tuple[float, float]:
    vectors = np.linalg.eigh(matrix.T @ matrix)[1]
    vectors = vectors * np.where(matrix.mean(axis=0) @ vectors < 0, -1, 1)
    plus, minus = logsumexp(matrix @ vectors, axis=0), logsumexp(-matrix @ vectors, axis=0)
    both = np.r_[plus, minus]
    return float(np.exp(both.min() - both.max())), float(np.exp(plus.min() - plus.max()))


@settings(max_examples=40)
@given(st.integers(2, 300), st.integers(1, 30), st.integers(0, 1000), st.floats(0.001, 3), st.floats(0, 1))
def test_it_is_the_ratio_over_all_eigenvectors(rows, columns, seed, size, offset):
    rng = np.random.default_rng(seed)
    matrix = size * (rng.standard_normal((rows, columns)) * np.linspace(2, 0.1, columns)
                     + offset * rng.standard_normal(columns))  # fmt: skip
    both, mean = brute(matrix)
    assert partition_isotropy(matrix) == pytest.approx(both, rel=1e-6)
    assert partition_isotropy(matrix, signs="mean") == pytest.approx(mean, rel=1e-6)


def test_most_directions_are_ruled_out_by_bounds():
    rng = np.random.default_rng(0)
    matrix = 0.02 * rng.standard_normal((3000, 120)) * np.linspace(3, 0.5, 120) + 0.05 * rng.standard_normal(120)
    found = partition_isotropies(matrix, factor_rows(matrix))
    assert (found.both, found.mean) == pytest.approx(brute(matrix), rel=1e-9)
    assert found.evaluated < 30
    assert found.both <= found.mean


@settings(max_examples=30)
@given(st.integers(2, 400), st.integers(1, 64), st.integers(0, 1000), st.floats(0.01, 59))
def test_float32_is_off_by_less_than_its_bound(count, columns, seed, longest):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((count, columns)) + 0.3
    matrix *= longest / np.linalg.norm(matrix, axis=1).max()
    directions = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    found, slack = single_partition(Rows("matrix", matrix), directions, longest, None)
    exact = logsumexp(np.stack([matrix @ directions, -matrix @ directions]), axis=1)
    assert np.abs(found - exact).max() <= slack < 0.01


def test_a_symmetric_cloud_of_short_rows_is_isotropic():
    rows = 1e-4 * np.random.default_rng(1).standard_normal((500, 8))
    assert partition_isotropy(np.concatenate([rows, -rows])) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("size", [1e2, 1e4])
def test_large_norms_do_not_overflow(size):
    matrix = size * np.random.default_rng(2).standard_normal((50, 4))
    assert np.isfinite(partition_isotropy(matrix))


@given(st.floats(-50, 50), st.floats(0, 100))
def test_growth_bounds_are_bennetts(reach, variance):
    reach = reach if abs(reach) > 0.1 else 0.1
    expected = np.log1p(variance * (np.exp(reach) - 1 - reach) / reach**2)
    assert log_growth(np.array([variance]), np.array([reach]))[0] == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_an_unknown_convention_is_refused():
    with pytest.raises(ValueError, match="signs: got 'one'"):
        partition_isotropy(np.ones((3, 2)), signs="one")  # type: ignore[arg-type]
