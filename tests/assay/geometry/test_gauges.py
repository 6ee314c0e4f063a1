"""Gauges leave the function alone: softmax under row shifts, logits under gains and invertible maps."""

import numpy as np
import pytest
import scipy.special
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.geometry import effective_rank, factor_rows, gauge, gauge_maps, gauge_move, singular_values


def problem(seed: int, tokens: int = 200, d: int = 12, states: int = 300):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((tokens, d)) * np.logspace(0, -1, d) + rng.standard_normal(d)
    return matrix, rng.standard_normal((states, d)) @ rng.standard_normal((d, d)), rng.uniform(0.3, 2, d)


@given(st.integers(0, 1000))
def test_centring_leaves_the_softmax(seed):
    matrix, hidden, _ = problem(seed)
    before = scipy.special.softmax(hidden @ matrix.T, axis=1)
    after = scipy.special.softmax(hidden @ gauge(matrix, center=True).T, axis=1)
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-15)


@given(st.integers(0, 1000))
def test_a_gain_stands_in_the_norm_or_in_the_matrix(seed):
    matrix, hidden, gain = problem(seed)
    np.testing.assert_allclose(hidden @ gauge(matrix, gain=gain).T, (gain * hidden) @ matrix.T, rtol=1e-10, atol=1e-10)


@settings(max_examples=40)
@given(st.integers(0, 1000), st.floats(-1, 1))
def test_a_move_leaves_the_logits_and_not_the_rank(seed, strength):
    matrix, hidden, _ = problem(seed)
    moved, move = gauge_move(matrix, strength, seed=seed)
    logits = hidden @ matrix.T
    np.testing.assert_allclose((hidden @ move.T) @ moved.T, logits, atol=1e-8 * np.abs(logits).max())
    before, after = effective_rank(singular_values(matrix)), effective_rank(singular_values(moved))
    if strength < 0:
        expected = singular_values(matrix) ** (1 + strength)
        np.testing.assert_allclose(singular_values(moved), expected, rtol=1e-6)
        assert after >= before * (1 - 1e-9)


@given(st.integers(0, 1000), st.floats(-1, 1))
def test_maps_need_no_rows_of_the_matrix(seed, strength):
    matrix, _, _ = problem(seed)
    values, vectors = factor_rows(matrix).axes()
    np.testing.assert_allclose(np.linalg.norm(matrix @ vectors, axis=0), values, rtol=1e-8)
    move, inverse = gauge_maps(12, strength, (values, vectors), seed=seed)
    moved, theirs = gauge_move(matrix, strength, seed=seed)
    np.testing.assert_allclose(move, theirs, rtol=1e-6, atol=1e-9 * np.abs(theirs).max())
    np.testing.assert_allclose(matrix @ inverse, moved, rtol=1e-6, atol=1e-9 * np.abs(moved).max())


def test_the_rank_goes_from_full_to_almost_one():
    matrix, _, _ = problem(0)
    ranks = [float(effective_rank(singular_values(gauge_move(matrix, s)[0]))) for s in (-1, 0, 0.25, 0.5, 1)]
    assert ranks[0] == pytest.approx(12, rel=1e-9)
    assert ranks[-1] < 1.001
    assert ranks[1:] == sorted(ranks[1:], reverse=True)
    np.testing.assert_array_equal(gauge_move(matrix, 0)[0], matrix)


@given(st.integers(0, 1000), st.floats(-1, 0.6))
def test_the_whitened_spectrum_does_not_move(seed, strength):
    matrix, hidden, _ = problem(seed)
    moved, move = gauge_move(matrix, strength, seed=seed)
    shifted = moved + np.random.default_rng(seed).standard_normal(moved.shape[1])
    covariance = np.cov(hidden, rowvar=False)
    for center, other in ((False, moved), (True, moved), (True, shifted)):
        whitened = factor_rows(other).singular_values(center=center, hidden_cov=move @ covariance @ move.T)
        still = factor_rows(matrix).singular_values(center=center, hidden_cov=covariance)
        np.testing.assert_allclose(whitened, still, rtol=1e-5, atol=1e-7 * still[0])


def test_whitened_rank_is_that_of_the_logits_distribution():
    matrix, hidden, _ = problem(3)
    hidden = hidden - hidden.mean(axis=0)
    logits = np.linalg.svd(hidden @ matrix.T, compute_uv=False)[:12] / np.sqrt(len(hidden))
    covariance = hidden.T @ hidden / len(hidden)
    np.testing.assert_allclose(factor_rows(matrix).singular_values(hidden_cov=covariance), logits, rtol=1e-8)


def test_tensors_stay_tensors():
    matrix = torch.randn(30, 4, generator=torch.Generator().manual_seed(0)).bfloat16()
    changed = gauge(matrix, center=True, gain=np.full(4, 2.0))
    assert isinstance(changed, torch.Tensor) and changed.dtype == torch.float64
    moved, move = gauge_move(matrix, 0.5)
    assert isinstance(moved, torch.Tensor) and isinstance(move, torch.Tensor)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: gauge_move(np.ones((3, 2)), 1.5), "strength: got 1.5"),
        (lambda: gauge_move(np.ones((3, 2)), float("nan")), "strength: got nan"),
        (lambda: gauge_move(np.ones((3, 2)), -0.5), "linearly dependent"),
        (lambda: gauge_maps(2, -0.5), "axes: got none"),
        (lambda: gauge(np.array([[1.0, np.inf]])), "1 values that are not finite, the first in row 0"),
        (lambda: gauge(np.ones((3, 2)), gain=[1.0]), "gain: got shape"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
