"""Mean cosine, IsoScore and anisotropy against brute force and their closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.geometry import anisotropy, average_cosine, isoscore, stable_rank
from assay.geometry.isotropy import isoscore_of_variances


@given(st.integers(2, 60), st.integers(1, 8), st.integers(0, 1000), st.floats(0, 5))
def test_the_mean_cosine_is_that_of_all_pairs(rows, columns, seed, offset):
    matrix = np.random.default_rng(seed).standard_normal((rows, columns)) + offset
    unit = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    pairs = (unit @ unit.T)[~np.eye(rows, dtype=bool)]
    assert average_cosine(matrix) == pytest.approx(pairs.mean(), abs=1e-12)


@given(st.integers(1, 30), st.integers(1, 6), st.integers(0, 100))
def test_opposite_rows_have_the_lowest_mean_cosine(pairs, columns, seed):
    rows = np.random.default_rng(seed).standard_normal((pairs, columns))
    assert average_cosine(np.concatenate([rows, -rows])) == pytest.approx(-1 / (2 * pairs - 1), abs=1e-12)


def test_isoscore_of_one_direction_and_of_all():
    for d in (2, 3, 10, 100):
        assert isoscore_of_variances(np.ones(d)) == pytest.approx(1)
        assert isoscore_of_variances(np.eye(d)[0]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("used", "d"), [(2, 5), (3, 9), (40, 100)])
def test_isoscore_tells_the_share_of_directions_in_use(used, d):
    """Rudman et al. (2022), section 4: k equal variances of d score (k - 1) / (d - 1)."""
    assert isoscore_of_variances(np.r_[np.ones(used), np.zeros(d - used)]) == pytest.approx((used - 1) / (d - 1))


@given(st.integers(0, 1000))
def test_isoscore_of_points_is_that_of_their_principal_variances(seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((50, 4)) * [3, 2, 1, 0.5] + 10
    variances = np.linalg.eigvalsh(np.cov(points, rowvar=False))
    assert isoscore(points) == pytest.approx(isoscore_of_variances(variances), rel=1e-9)
    turned = points @ np.linalg.qr(rng.standard_normal((4, 4)))[0]
    assert isoscore(turned) == pytest.approx(isoscore(points), rel=1e-6)


@given(st.integers(0, 1000))
def test_anisotropy_is_the_share_of_the_first_axis(seed):
    states = np.random.default_rng(seed).standard_normal((60, 5)) * [4, 2, 1, 1, 1] + 3
    s = np.linalg.svd(states - states.mean(axis=0), compute_uv=False)
    assert anisotropy(states) == pytest.approx(s[0] ** 2 / (s**2).sum(), rel=1e-9)
    whole = np.linalg.svd(states, compute_uv=False)
    assert anisotropy(states, center=False) == pytest.approx(1 / stable_rank(whole), rel=1e-9)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: average_cosine(np.array([[1.0, 0.0], [0.0, 0.0]])), "1 rows of zeros"),
        (lambda: average_cosine(np.ones((1, 3))), "expected at least 2"),
        (lambda: isoscore(np.ones((9, 3))), "points that vary"),
        (lambda: isoscore_of_variances([1.0]), r"expected \(d,\), d at least 2"),
        (lambda: anisotropy(np.ones((9, 3))), "all the same"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
