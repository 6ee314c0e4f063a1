"""What the elbow rule says without a signal, in closed form and by resampling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.dynamics import (
    bootstrap_thresholds,
    candidate_decays,
    discriminative_spectrum,
    flat_bins_threshold,
    flat_spectrum_threshold,
    frequency_matching_score,
    over_lowpass_threshold,
    shuffled_thresholds,
)


def test_flat_threshold_is_the_printed_value():
    assert abs(flat_spectrum_threshold(0.05, 0.99) - 0.711) < 5e-4


@settings(max_examples=20)
@given(st.floats(0.0, 0.5), st.floats(0.7, 0.995))
def test_flat_threshold_is_the_limit_of_dense_candidates_and_bins(low, high):
    betas = candidate_decays(low, high, 3001, "log_tau")
    score = (1 - betas) / (1 + betas)
    expected = flat_spectrum_threshold(low, high)
    assert abs(over_lowpass_threshold(betas, score).beta - expected) < 1e-3
    circle = np.pi * (np.arange(2000) + 0.5) / 2000
    assert abs(flat_bins_threshold(circle, betas) - expected) < 2e-3


def test_flat_threshold_moves_with_the_range_alone():
    assert (
        flat_spectrum_threshold(0.05, 0.95) < flat_spectrum_threshold(0.05, 0.99) < flat_spectrum_threshold(0.05, 0.999)
    )
    omega = 2 * np.pi * np.arange(1, 31) / 60
    # The card's grid 0.05, 0.10, … 0.95: flat gives 0.60.
    assert np.isclose(flat_bins_threshold(omega, candidate_decays(0.05, 0.95, 19)), 0.60)


def noisy(seed, recordings=20, windows=6, K=2, L=60, band=None):
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(recordings), windows)
    y = group % K
    X = rng.normal(size=(len(y), L))
    if band is not None:
        X += 3 * y[:, None] * np.cos(band * np.arange(L) + rng.uniform(0, 6, len(y))[:, None])
    return discriminative_spectrum(X, y, 30.0, groups=group)


def test_shuffled_labels_look_like_the_flat_spectrum():
    spectrum = noisy(0)
    betas = candidate_decays()
    shuffled = shuffled_thresholds(spectrum, betas, 300, np.random.default_rng(1))
    assert shuffled.shape == (300,)
    assert abs(np.median(shuffled) - flat_bins_threshold(spectrum.omega, betas)) < 0.04


def test_a_low_band_raises_the_threshold_and_the_bootstrap_covers_it():
    spectrum = noisy(2, band=0.2)
    betas = candidate_decays()
    found = over_lowpass_threshold(betas, frequency_matching_score(spectrum.di_norm, spectrum.omega, betas)).beta
    assert found > flat_bins_threshold(spectrum.omega, betas) + 0.1
    drawn = bootstrap_thresholds(spectrum, betas, 200, np.random.default_rng(3))
    low, high = np.percentile(drawn, [2.5, 97.5])
    assert low <= found <= high
    assert np.array_equal(drawn, bootstrap_thresholds(spectrum, betas, 200, np.random.default_rng(3)))


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.5), (-0.1, 0.9), (0.1, 1.0)])
def test_bad_ranges_are_named(low, high):
    with pytest.raises(ValueError, match="low and high must satisfy"):
        flat_spectrum_threshold(low, high)
