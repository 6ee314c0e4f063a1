"""The membrane's filter against SciPy, closed forms and simulated noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import freqz, lfilter

from assay.dynamics import (
    beta_from_cutoff,
    effective_bandwidth,
    lif_cutoff,
    lif_response,
    lowest_beta_with_cutoff,
    noise_gain,
    noise_matched_gain,
)

betas = st.floats(0, 0.999)
stages = st.integers(1, 6)


@given(betas, stages)
def test_response_is_that_of_the_digital_filter(beta, n):
    omega = np.linspace(0, np.pi, 65)
    h = freqz([1 - beta], [1, -beta], worN=omega)[1]
    assert np.allclose(lif_response(omega, beta, stages=n), np.abs(h) ** (2 * n), rtol=1e-9, atol=1e-14)


@given(betas, st.floats(0, np.pi), st.floats(0, np.pi), st.floats(0, 0.2))
def test_response_falls_with_frequency_and_with_decay(beta, one, other, more):
    low, high = sorted((one, other))
    assert lif_response(0.0, beta) == 1
    assert 0 < lif_response(high, beta) <= lif_response(low, beta) <= 1
    slower = min(beta + more, 0.9999)
    assert lif_response(high, slower) <= lif_response(high, beta) * (1 + 1e-12)
    assert np.isclose(lif_response(-high, beta), lif_response(2 * np.pi + high, beta), rtol=1e-9)


@given(st.floats(0.18, 0.9999), stages)
def test_cutoff_halves_the_gain_and_inverts(beta, n):
    omega = lif_cutoff(beta, stages=n)
    if np.isnan(omega):
        assert beta < lowest_beta_with_cutoff(stages=n)
        return
    assert np.isclose(lif_response(omega, beta, stages=n), 0.5, rtol=1e-9)
    assert np.isclose(beta_from_cutoff(omega, stages=n), beta, rtol=1e-9)
    assert np.isclose(lif_cutoff(beta, stages=n, fs=30.0), omega * 30 / (2 * np.pi))


@given(st.floats(0.01, 15.0), stages)
def test_decay_from_hertz_has_that_cutoff(hertz, n):
    beta = beta_from_cutoff(hertz, stages=n, fs=30.0)
    assert np.isclose(lif_cutoff(beta, stages=n, fs=30.0), hertz, rtol=1e-6)


def test_the_lowest_decay_with_a_cutoff_is_three_minus_two_roots_of_two():
    lowest = 3 - 2 * np.sqrt(2)
    assert np.isclose(lowest_beta_with_cutoff(), lowest, rtol=1e-14)
    assert np.isclose(lif_response(np.pi, lowest), 0.5, rtol=1e-14)
    assert np.isclose(lif_cutoff(lowest), np.pi)
    assert np.isnan(lif_cutoff([0.0, 0.171])).all()
    assert np.array_equal(effective_bandwidth([0.0, 0.171]), [np.pi, np.pi])
    assert np.isclose(effective_bandwidth(0.1, fs=30.0), 15.0)


def test_slow_membranes_cut_off_at_their_leak():
    leak = 1e-5
    assert np.isclose(lif_cutoff(1 - leak) / leak, 1.0, rtol=1e-4)
    for n in (2, 3, 7):
        narrowed = lif_cutoff(1 - leak, stages=n) / lif_cutoff(1 - leak)
        assert np.isclose(narrowed, np.sqrt(2 ** (1 / n) - 1), rtol=1e-4)


@given(betas, stages)
def test_noise_gain_is_the_mean_response(beta, n):
    # The mean over L bins aliases the autocorrelation, by a factor 1 + O(beta^L).
    circle = 2 * np.pi * np.arange(1 << 16) / (1 << 16)
    assert np.isclose(noise_gain(beta, stages=n), lif_response(circle, beta, stages=n).mean(), rtol=1e-9)
    assert np.isclose(noise_gain(beta), 1 / (2 / (1 - beta) - 1))


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9, 0.97])
def test_noise_gain_is_the_measured_variance_ratio(beta):
    noise = np.random.default_rng(7).normal(size=(400, 2000))
    membrane = lfilter([1 - beta], [1, -beta], noise, axis=1)[:, 500:]
    ratios = membrane.var(axis=1) / noise.var()
    # Each window loses the variance of its own mean: the filter's gain at DC over its length.
    expected = noise_gain(beta) - 1 / membrane.shape[1]
    assert abs(ratios.mean() - expected) < 4 * ratios.std() / np.sqrt(len(ratios))


@given(betas, betas)
def test_matched_gain_gives_the_variance_of_the_reference(beta, reference):
    gain = noise_matched_gain(beta, reference=reference)
    assert np.isclose(gain**2 * noise_gain(beta), noise_gain(reference))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: lif_response(0.1, 1.0), r"beta must lie in \[0, 1\); got 1"),
        (lambda: lif_response(0.1, np.nan), "beta must"),
        (lambda: lif_response(np.inf, 0.5), "omega must be finite"),
        (lambda: lif_response(0.1, 0.5, stages=0), "stages must"),
        (lambda: lif_response(0.1, 0.5, stages=True), "stages must"),
        (lambda: lif_cutoff(0.5, fs=0.0), "fs must be above 0 Hz; got 0"),
        (lambda: lif_cutoff(-0.1), "beta must"),
        (lambda: beta_from_cutoff(0.0), "cutoff must be above 0"),
        (lambda: beta_from_cutoff(16.0, fs=30.0), "at most half the sampling rate, 15 Hz; got 16"),
        (lambda: noise_gain(1.2), "beta must"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
