"""The discriminative spectrum against a plain implementation, ANOVA, and laws of the Fourier transform."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.feature_selection import f_classif

from assay.dynamics import (
    bootstrap_spectra,
    discriminative_spectrum,
    shuffled_spectra,
    spectral_mass_below,
    spectral_quantile,
)
from assay.dynamics.amplitude_statistics import sum_amplitudes


def plain(X, y, eps=1e-12, window=None, keep_dc=False):
    """The definition, written out class by class."""
    s = np.asarray(X, dtype=float)
    if not keep_dc:
        s = s - s.mean(axis=1, keepdims=True)
    A = np.abs(np.fft.rfft(s if window is None else s * window, axis=1))
    A = A if keep_dc else A[:, 1:]
    share = {c: np.mean(y == c) for c in np.unique(y)}
    mean = {c: A[y == c].mean(axis=0) for c in share}
    grand = sum(share[c] * mean[c] for c in share)
    between = sum(share[c] * (mean[c] - grand) ** 2 for c in share)
    within = sum(share[c] * A[y == c].var(axis=0) for c in share)
    return between, within, between / (within + eps)


def labelled(rng, N=60, L=32, K=3, F=1):
    y = np.r_[np.arange(K).repeat(2), rng.integers(0, K, N - 2 * K)]
    t = np.arange(L)
    X = rng.normal(size=(N, L, F)) + (1 + y)[:, None, None] * np.cos(0.7 * t + rng.uniform(0, 6, N)[:, None])[..., None]
    return X, y


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(8, 41), st.integers(2, 4), st.integers(1, 3))
def test_equals_the_definition(seed, L, K, F):
    X, y = labelled(np.random.default_rng(seed), L=L, K=K, F=F)
    between, within, di = plain(X.mean(axis=2), y)
    spectrum = discriminative_spectrum(X, y, 30.0)
    assert np.allclose(spectrum.between, between, rtol=1e-9)
    assert np.allclose(spectrum.within, within, rtol=1e-9)
    assert np.allclose(spectrum.di, di, rtol=1e-9)
    assert np.allclose(spectrum.di_norm, di / di.sum(), rtol=1e-9)
    assert np.allclose(spectrum.frequency_hz, np.arange(1, L // 2 + 1) * 30 / L)
    assert np.allclose(spectrum.omega, 2 * np.pi * spectrum.frequency_hz / 30)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_window_dc_and_the_several_series(seed):
    rng = np.random.default_rng(seed)
    X, y = labelled(rng, F=3)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(32) / 32)
    for window, taper in (("none", None), ("hann", hann)):
        for drop in (True, False):
            options = {"window": window, "drop_dc": drop}
            ours = discriminative_spectrum(X[..., 1], y, 10.0, **options)
            assert np.allclose(ours.di, plain(X[..., 1], y, window=taper, keep_dc=not drop)[2], rtol=1e-8)
            assert np.allclose(
                discriminative_spectrum(X, y, 10.0, reduction="channel", channel=1, **options).di, ours.di
            )
            each = [plain(X[..., f], y, window=taper, keep_dc=not drop)[2] for f in range(3)]
            averaged = discriminative_spectrum(X, y, 10.0, reduction="per_channel", **options)
            assert np.allclose(averaged.di, np.mean(each, axis=0), rtol=1e-8)
    assert ours.frequency_hz[0] == 0


def test_principal_series_are_the_projections():
    rng = np.random.default_rng(3)
    X, y = labelled(rng, F=4)
    X = X * [5.0, 1.0, 0.5, 2.0]
    frames = X.reshape(-1, 4)
    axes = np.linalg.svd(frames - frames.mean(axis=0), full_matrices=False)[2][:2]
    projected = (X - frames.mean(axis=0)) @ axes.T
    expected = np.mean([plain(projected[..., c], y)[2] for c in range(2)], axis=0)
    ours = discriminative_spectrum(X, y, 30.0, reduction="principal", components=2)
    assert np.allclose(ours.di, expected, rtol=1e-6)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100), st.integers(0, 31))
def test_scale_shift_and_offset_change_nothing(seed, scale, shift):
    rng = np.random.default_rng(seed)
    X, y = labelled(rng)
    base = discriminative_spectrum(X, y, 30.0, eps=1e-30).di
    moved = np.roll(X, shift, axis=1) * scale + rng.normal(size=(len(X), 1, 1))
    assert np.allclose(discriminative_spectrum(moved, y, 30.0, eps=1e-30).di, base, rtol=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_biased_variances_make_it_the_anova_ratio_for_classes_of_any_size(seed, K):
    X, y = labelled(np.random.default_rng(seed), K=K)
    A = np.abs(np.fft.rfft(X[..., 0] - X[..., 0].mean(axis=1, keepdims=True), axis=1))[:, 1:]
    spectrum = discriminative_spectrum(X, y, 30.0, eps=1e-30)
    N = len(y)
    assert np.allclose(spectrum.di, (K - 1) / (N - K) * f_classif(A, y)[0], rtol=1e-9)
    assert spectrum.chance_level == (K - 1) / (N - K)


def test_independent_noise_sits_at_the_chance_level():
    rng = np.random.default_rng(0)
    di = [discriminative_spectrum(rng.normal(size=(90, 64)), np.arange(90) % 3, 1.0).di.mean() for _ in range(40)]
    # E[F] = d2 / (d2 - 2) for normal data; amplitudes are not normal, so only near it.
    expected = 2 / 87 * 87 / 85
    assert abs(np.mean(di) - expected) < 4 * np.std(di) / np.sqrt(len(di)) + 0.02 * expected


def test_statistics_do_not_depend_on_order_or_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    X, y = labelled(rng, N=200)
    group = rng.integers(0, 9, 200)
    whole = discriminative_spectrum(X, y, 30.0, groups=group)
    order = rng.permutation(200)
    monkeypatch.setattr("assay.dynamics.amplitude_statistics._BLOCK_BYTES", 32 * 8 * 7)
    parts = discriminative_spectrum(X[order], y[order], 30.0, groups=group[order])
    assert np.allclose(parts.di, whole.di, rtol=1e-9)
    assert np.allclose(parts.statistics.count, whole.statistics.count)


def test_weights_are_repetitions_of_recordings():
    rng = np.random.default_rng(2)
    X, y = labelled(rng, N=80)
    group = np.arange(80) // 8
    spectrum = discriminative_spectrum(X, y, 30.0, groups=group)
    statistics = spectrum.statistics
    times = rng.integers(0, 3, 10)
    between, within = statistics.scatter(weight=times[statistics.recording][None].astype(float))
    rows = np.concatenate([np.flatnonzero(group == g).repeat(times[g]) for g in range(10)])
    expected = plain(X[rows, :, 0], y[rows])
    assert np.allclose(between[0, 0], expected[0], rtol=1e-9)
    assert np.allclose(within[0, 0], expected[1], rtol=1e-9)


def test_bootstrap_repeats_whole_recordings_of_the_same_class():
    rng = np.random.default_rng(4)
    X, y = labelled(rng, N=120)
    group = y * 100 + rng.integers(0, 6, 120)
    spectrum = discriminative_spectrum(X, y, 30.0, groups=group, resamples=200, rng=np.random.default_rng(5))
    drawn = bootstrap_spectra(spectrum, 200, np.random.default_rng(5))
    assert drawn.shape == (200, 16)
    assert np.allclose(drawn.sum(axis=1), 1)
    assert np.allclose(spectrum.band, np.percentile(drawn, [2.5, 97.5], axis=0))
    assert np.all(spectrum.band[0] <= spectrum.band[1])
    assert np.mean((spectrum.di_norm >= spectrum.band[0]) & (spectrum.di_norm <= spectrum.band[1])) > 0.8
    again = bootstrap_spectra(spectrum, 200, np.random.default_rng(5))
    assert np.array_equal(drawn, again)


def test_a_stratum_of_one_recording_cannot_vary():
    rng = np.random.default_rng(6)
    X, y = labelled(rng, N=60)
    spectrum = discriminative_spectrum(X, y, 30.0, groups=y)
    assert np.allclose(bootstrap_spectra(spectrum, 5, rng), spectrum.di_norm)


def test_recordings_exchange_labels_whole():
    rng = np.random.default_rng(8)
    X, y = labelled(rng, N=120, K=2)
    group = y * 10 + rng.integers(0, 4, 120)
    spectrum = discriminative_spectrum(X, y, 30.0, groups=group)
    names = np.unique(group)
    every = set()
    for chosen in range(1 << len(names)):
        ones = [names[i] for i in range(len(names)) if chosen >> i & 1]
        if len(ones) == np.sum(names >= 10):
            relabelled = np.isin(group, ones).astype(int)
            every.add(tuple(np.round(discriminative_spectrum(X, relabelled, 30.0, groups=group).di_norm, 9)))
    drawn = {tuple(row) for row in np.round(shuffled_spectra(spectrum, 300, rng), 9)}
    assert drawn <= every
    assert len(drawn) > 20


def test_recordings_of_several_classes_exchange_among_their_own_parts():
    rng = np.random.default_rng(9)
    X, y = labelled(rng, N=40, K=2)
    group = np.arange(40) % 2
    spectrum = discriminative_spectrum(X, y, 30.0, groups=group)
    every = set()
    for flip in ((0, 0), (0, 1), (1, 0), (1, 1)):
        relabelled = y ^ np.array(flip)[group]
        every.add(tuple(np.round(discriminative_spectrum(X, relabelled, 30.0).di_norm, 9)))
    drawn = {tuple(row) for row in np.round(shuffled_spectra(spectrum, 60, rng), 9)}
    assert drawn == every


def test_one_recording_permutes_its_parts_and_single_samples_permute_freely():
    rng = np.random.default_rng(10)
    X, y = labelled(rng, N=20, K=2)
    free = discriminative_spectrum(X, y, 30.0)
    assert len(np.unique(shuffled_spectra(free, 50, rng)[:, 0])) > 30
    whole = discriminative_spectrum(X, y, 30.0, groups=np.zeros(20))
    assert np.allclose(
        shuffled_spectra(whole, 3, rng), whole.di_norm
    )  # two parts: exchanged, the classes only swap names


def test_constant_samples_are_dropped_and_counted():
    X, y = labelled(np.random.default_rng(11), N=60)
    X[[3, 7, 20]] = 4.0
    spectrum = discriminative_spectrum(X, y, 30.0)
    keep = np.setdiff1d(np.arange(60), [3, 7, 20])
    assert (spectrum.samples, spectrum.dropped) == (57, 3)
    assert np.allclose(spectrum.di, discriminative_spectrum(X[keep], y[keep], 30.0).di)
    assert discriminative_spectrum(X, y, 30.0, drop_dc=False).dropped == 0


def test_mass_and_quantiles():
    frequency = np.arange(1.0, 5.0)
    mass = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]])
    assert np.allclose(spectral_mass_below(mass, frequency, 3.0), [0.3, 0.8])
    assert np.array_equal(spectral_quantile(mass, frequency, 0.5), [3.0, 1.0])
    assert np.array_equal(spectral_quantile(mass, frequency, 1.0), [4.0, 4.0])
    with pytest.raises(ValueError, match="q must"):
        spectral_quantile(mass, frequency, 0.0)


def test_results_are_read_only():
    X, y = labelled(np.random.default_rng(12))
    spectrum = discriminative_spectrum(X, y, 30.0)
    with pytest.raises(ValueError, match="read-only"):
        spectrum.di[0] = 1.0


@settings(max_examples=30)
@given(arrays(np.float64, (6, 1, 9), elements=st.floats(-1e3, 1e3)))
def test_sums_are_exact_over_any_values(series):
    label, recording = np.array([0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 1, 2, 2])
    statistics = sum_amplitudes(series, label, recording, 2, drop_dc=True, window="none")
    between, within = statistics.scatter()
    expected = plain(series[:, 0], label)
    assert np.allclose(between[0, 0], expected[0], rtol=1e-8, atol=1e-6)
    assert np.allclose(within[0, 0], expected[1], rtol=1e-8, atol=1e-6)


X, Y = labelled(np.random.default_rng(13), N=20, K=2)
BAD = X.copy()
BAD[4, 3], BAD[9, 0] = np.nan, np.inf


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        ((X[:, 0, 0], Y, 30.0), {}, r"X must have shape \(N, L\) or \(N, L, ...\); got \(20,\)"),
        ((X.astype(str), Y, 30.0), {}, "X must hold real numbers"),
        ((X[:, :7], Y, 30.0), {}, "X must have at least 8 frames a sample; got 7"),
        ((X[:0], Y[:0], 30.0), {}, "X must not be empty"),
        ((X, Y, 0.0), {}, "fs must be above 0 Hz; got 0"),
        ((X, Y[:5], 30.0), {}, r"y must have shape \(20,\)"),
        ((X, np.zeros(20), 30.0), {}, "y must hold at least 2 classes; got 1"),
        ((X, np.r_[np.zeros(19), 3], 30.0), {}, "class 3.0 has 1"),
        ((BAD, Y, 30.0), {}, "X must be finite; 2 of 20 samples hold NaN or infinity: 4, 9"),
        ((X, Y, 30.0), {"groups": [1, 2]}, r"groups must have shape \(20,\)"),
        ((X, Y, 30.0), {"reduction": "median"}, "reduction must be one of"),
        ((X, Y, 30.0), {"reduction": "channel"}, "channel must lie between 0 and 0; got None"),
        ((X, Y, 30.0), {"reduction": "principal", "components": 2}, "components must lie between 1 and the 1"),
        ((X, Y, 30.0), {"window": "hamming"}, "window must be none or hann"),
        ((X, Y, 30.0), {"eps": 0.0}, "eps must be finite and above 0"),
        ((X, Y, 30.0), {"confidence": 1.0}, "confidence must"),
        ((X, Y, 30.0), {"resamples": 10}, "rng must be"),
        ((np.ones((20, 16)), Y, 30.0), {}, "20 of 20 samples are constant"),
    ],
)
def test_bad_input_is_named(arguments, options, named):
    with pytest.raises(ValueError, match=named):
        discriminative_spectrum(*arguments, **options)


def test_equal_classes_and_bad_counts_are_named():
    twice = np.concatenate([X, X])
    with pytest.raises(ValueError, match="class means of every amplitude are equal"):
        discriminative_spectrum(twice, np.repeat([0, 1], 20), 30.0)
    spectrum = discriminative_spectrum(X, Y, 30.0)
    with pytest.raises(ValueError, match="resamples must"):
        bootstrap_spectra(spectrum, 0, np.random.default_rng())
    with pytest.raises(ValueError, match="permutations must"):
        shuffled_spectra(spectrum, True, np.random.default_rng())
