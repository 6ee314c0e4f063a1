"""The matching score and the elbow rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.dynamics import candidate_decays, frequency_matching_score, lif_response, over_lowpass_threshold

L = 60
OMEGA = 2 * np.pi * np.arange(1, L // 2 + 1) / L
weights = arrays(np.float64, len(OMEGA), elements=st.floats(0.001, 1)).map(lambda w: w / w.sum())


@given(weights)
def test_score_lies_in_the_unit_interval_and_falls(di_norm):
    score = frequency_matching_score(di_norm, OMEGA, np.linspace(0, 0.995, 40))
    assert np.isclose(score[0], 1)
    assert np.all((score > 0) & (score <= 1 + 1e-12))
    assert np.all(np.diff(score) <= 0)


@given(st.integers(0, len(OMEGA) - 1), st.floats(0, 0.99))
def test_one_hot_spectrum_scores_the_response_there(k, beta):
    one_hot = np.eye(len(OMEGA))[k]
    assert np.isclose(frequency_matching_score(one_hot, OMEGA, [beta])[0], lif_response(OMEGA[k], beta))


@given(st.floats(0.0, 0.99), st.integers(4, 100))
def test_flat_spectrum_scores_the_noise_gain_up_to_the_bin_sum(beta, half):
    # All L bins of the circle sum the aliased autocorrelation: (1-b)/(1+b) (1+b^L)/(1-b^L) on average, k = 0 included.
    length = 2 * half
    circle = (1 - beta) / (1 + beta) * (1 + beta**length) / (1 - beta**length)
    nyquist = lif_response(np.pi, beta)
    one_sided = (circle * length - 1 + nyquist) / 2 / half
    omega = 2 * np.pi * np.arange(1, half + 1) / length
    flat = np.full(half, 1 / half)
    assert np.isclose(frequency_matching_score(flat, omega, [beta])[0], one_sided, rtol=1e-9)


def test_rows_are_scored_one_by_one():
    rows = np.random.default_rng(0).dirichlet(np.ones(30), size=(4, 2))
    betas = candidate_decays()
    together = frequency_matching_score(rows, OMEGA, betas)
    assert together.shape == (4, 2, 48)
    assert np.allclose(together[2, 1], frequency_matching_score(rows[2, 1], OMEGA, betas))
    threshold = over_lowpass_threshold(betas, together)
    assert threshold.beta.shape == (4, 2)
    assert threshold.beta[2, 1] == over_lowpass_threshold(betas, together[2, 1]).beta


@given(weights, st.sampled_from(["linear", "log_tau"]))
def test_elbow_is_the_farthest_point_from_the_chord(di_norm, spacing):
    betas = candidate_decays(0.05, 0.99, 60, spacing)
    score = frequency_matching_score(di_norm, OMEGA, betas)
    threshold = over_lowpass_threshold(betas, score)
    # Written as in the paper: phi over log tau, psi over the score, both minmax-scaled.
    tau = 1 / (1 - betas)
    phi = (np.log(tau) - np.log(tau[0])) / (np.log(tau[-1]) - np.log(tau[0]))
    psi = (score - score.min()) / (score.max() - score.min())
    distance = np.abs(1 - phi - psi)
    assert np.allclose(threshold.deviation, distance, atol=1e-9)
    assert threshold.beta == betas[threshold.index]
    assert np.isclose(distance[threshold.index], distance.max())


@given(st.floats(0.1, 10), st.floats(-5, 5))
def test_elbow_does_not_see_the_scale_of_the_score(scale, offset):
    betas = candidate_decays()
    score = frequency_matching_score(np.full(30, 1 / 30), OMEGA, betas)
    moved = over_lowpass_threshold(betas, score * scale + offset)
    assert moved.beta == over_lowpass_threshold(betas, score).beta


@pytest.mark.parametrize("corner", [5, 20, 40])
def test_a_broken_line_has_its_elbow_at_the_corner(corner):
    betas = candidate_decays(0.05, 0.99, 48, "log_tau")
    x = np.linspace(0, 1, 48)
    score = np.interp(x, [0, x[corner], 1], [1, 0.1 if corner < 24 else 0.9, 0])
    assert over_lowpass_threshold(betas, score).index == corner


def test_candidates():
    linear = candidate_decays(0.05, 0.95, 19)
    assert np.allclose(linear, np.arange(0.05, 0.96, 0.05))
    log = candidate_decays(0.0, 0.99, 5, "log_tau")
    assert np.allclose(np.diff(np.log(1 / (1 - log))), np.log(100) / 4)
    assert log[0] == 0.0
    assert log[-1] == 0.99


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: candidate_decays(0.5, 0.5), "low and high"),
        (lambda: candidate_decays(0.5, 1.0), "low and high"),
        (lambda: candidate_decays(0.1, 0.9, 2), "count must"),
        (lambda: candidate_decays(0.1, 0.9, 5, "cubic"), "spacing must be linear or log_tau; got 'cubic'"),
        (lambda: frequency_matching_score([0.5, 0.5], OMEGA, [0.5]), "di_norm must have one value"),
        (lambda: frequency_matching_score(np.ones(30), OMEGA, [0.5]), "sum to 1"),
        (lambda: frequency_matching_score(np.r_[-1, 2, np.zeros(28)], OMEGA, [0.5]), "non-negative"),
        (lambda: frequency_matching_score(np.full(30, 1 / 30), OMEGA, [1.0]), "beta must"),
        (lambda: over_lowpass_threshold([0.1, 0.2], [1, 0]), "at least 3 candidates"),
        (lambda: over_lowpass_threshold([0.1, 0.3, 0.2], [1, 0.5, 0]), "betas must ascend"),
        (lambda: over_lowpass_threshold([0.1, 0.2, 1.0], [1, 0.5, 0]), "betas must ascend"),
        (lambda: over_lowpass_threshold([0.1, 0.2, 0.3], [1, 1, 1]), "score must change"),
        (lambda: over_lowpass_threshold([0.1, 0.2, 0.3], [1, np.nan, 1]), "one finite value"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
