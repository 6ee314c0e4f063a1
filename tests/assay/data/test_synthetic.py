"""Synthetic sequences: what the generator says it put in is what a method finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data import InputError, regularity, synthetic_sequences
from assay.data.synthetic import known_truth
from assay.dynamics import discriminative_spectrum, shuffled_spectra, spectral_mass_below


def made(seed=0, **options):
    return synthetic_sequences(np.random.default_rng(seed), **options)


def powers(sequences):
    """(F, L // 2) mean power of each feature by frequency without 0 Hz, as the truth counts it."""
    length = sequences.length
    spectrum = np.fft.rfft(sequences.X, axis=1)[:, 1 : length // 2 + 1] / length
    sides = np.full(length // 2, 2.0)
    if length % 2 == 0:
        sides[-1] = 1.0
    return (np.abs(spectrum) ** 2 * sides[:, None]).mean(axis=0).T


@settings(max_examples=8)
@given(
    variant=st.sampled_from(["low", "high", "none"]),
    snr=st.floats(-12, 12),
    length=st.sampled_from([60, 63]),
    classes=st.integers(2, 5),
    seed=st.integers(0, 99),
)
def test_power_by_frequency_is_what_the_truth_says(variant, snr, length, classes, seed):
    sequences = made(seed, variant=variant, snr_db=snr, length=length, classes=classes, recordings=40, windows=15)
    truth = sequences.truth
    expected = truth.signal_power + truth.noise_power
    assert truth.signal_power.sum() == pytest.approx(1)
    assert 10 * np.log10(truth.signal_power.sum() / truth.noise_power.sum()) == pytest.approx(snr)
    measured = powers(sequences).mean(axis=0)
    np.testing.assert_allclose(measured[:-1], expected[:-1], rtol=0.15, atol=0.03 * expected.max())
    np.testing.assert_allclose(truth.wiener_gain, truth.signal_power / expected)


def test_classes_have_equal_power_so_that_only_the_place_tells_them_apart():
    for tones in (3, 4, 6):
        truth = made(tones=tones, length=90, windows=1).truth
        np.testing.assert_allclose((truth.amplitudes**2).sum(axis=1), 2.0)


@pytest.mark.parametrize("variant", ["low", "high"])
def test_the_spectrum_finds_the_band(variant):
    sequences = made(variant=variant)
    truth = sequences.truth
    found = discriminative_spectrum(sequences.X, sequences.y, sequences.fs, groups=sequences.group)
    low, high = truth.band_hz
    inside = (found.frequency_hz >= low - 1e-9) & (found.frequency_hz <= high + 1e-9)
    assert found.di_norm[inside].sum() > 0.9
    strongest = found.frequency_hz[np.argsort(found.di_norm)[-len(truth.tones_hz) :]]
    np.testing.assert_allclose(np.sort(strongest), truth.tones_hz)
    assert (spectral_mass_below(found.di_norm, found.frequency_hz, sequences.fs / 4) > 0.5) == (variant == "low")


def test_without_information_the_spectrum_is_that_of_shuffled_labels():
    found = {}
    for variant in ("low", "none"):
        sequences = made(variant=variant)
        spectrum = discriminative_spectrum(sequences.X, sequences.y, sequences.fs, groups=sequences.group)
        found[variant] = spectrum.di.mean() / spectrum.chance_level
    assert found["none"] < 2 < 20 < found["low"]
    shuffled = shuffled_spectra(spectrum, 50, np.random.default_rng(1))
    assert shuffled.min() <= spectrum.di_norm.max() <= 2 * shuffled.max()


@given(variant=st.sampled_from(["low", "high"]), snr=st.floats(-30, 30), length=st.sampled_from([40, 60, 63]))
@settings(max_examples=20)
def test_no_brick_wall_comes_nearer_to_the_signal_than_the_ideal_one(variant, snr, length):
    truth = known_truth(variant, 4, length, 30.0, None, 4, snr, None)
    cutoffs = np.concatenate([[0.0], truth.frequencies_hz])
    passed = truth.frequencies_hz <= cutoffs[:, None] + 1e-9
    error = np.where(passed, truth.noise_power, truth.signal_power).sum(axis=1)
    at = np.abs(cutoffs - truth.ideal_cutoff_hz).argmin()
    assert cutoffs[at] == truth.ideal_cutoff_hz
    assert error[at] <= error.min() * (1 + 1e-12)


def test_without_noise_the_ideal_cutoff_is_the_end_of_the_band():
    for variant in ("low", "high"):
        truth = made(variant=variant, snr_db=60.0, windows=1).truth
        assert truth.ideal_cutoff_hz == truth.band_hz[1]


def nearest_mean_accuracy(sequences):
    """Nearest class mean of the amplitude spectrum, learnt on one side of the split and asked on the other."""
    amplitude = np.abs(np.fft.rfft(sequences.X, axis=1)).reshape(len(sequences), -1)
    train, test = ~sequences.is_test, sequences.is_test
    means = np.stack([amplitude[train & (sequences.y == c)].mean(axis=0) for c in range(4)])
    distance = ((amplitude[test, None] - means) ** 2).sum(axis=2)
    return (distance.argmin(axis=1) == sequences.y[test]).mean()


@pytest.mark.parametrize("variant", ["low", "high"])
def test_a_simple_classifier_learns_what_there_is(variant):
    assert nearest_mean_accuracy(made(variant=variant, snr_db=0.0)) > 0.8


def test_and_nothing_where_there_is_nothing():
    accuracy = [nearest_mean_accuracy(made(seed, variant="none", snr_db=0.0, windows=6)) for seed in range(25)]
    error = np.std(accuracy, ddof=1) / 5  # windows of a recording go together, so the spread is that of whole sets
    assert error < 0.025
    assert abs(np.mean(accuracy) - 0.25) < 3.5 * error


def test_the_split_is_by_recording_and_holds_every_class_on_both_sides():
    for recordings in (8, 13, 40):
        sequences = made(recordings=recordings, windows=3)
        train, test = set(sequences.group[~sequences.is_test]), set(sequences.group[sequences.is_test])
        assert not train & test
        assert set(sequences.y[sequences.is_test]) == set(sequences.y[~sequences.is_test]) == {0, 1, 2, 3}


def test_the_same_stream_gives_the_same_sequences():
    assert made(3, windows=2).fingerprint == made(3, windows=2).fingerprint != made(4, windows=2).fingerprint


@given(lost=st.floats(0.05, 0.8))
@settings(max_examples=8)
def test_lost_frames_repeat_the_one_before_and_are_counted(lost):
    options = {"recordings": 8, "windows": 4, "length": 40}
    whole, gappy = made(**options), made(lost=lost, **options)
    repeated = np.zeros(whole.X.shape[:2], dtype=bool)
    for i in range(1, 40):
        same = np.all(gappy.X[:, i] == whole.X[:, i], axis=1)
        held = np.all(gappy.X[:, i] == gappy.X[:, i - 1], axis=1)
        assert (same | held).all()
        repeated[:, i] = ~same
    (entry,) = gappy.handled
    assert (entry.action, entry.count, entry.of) == ("repeated", repeated.sum(), repeated.size)
    assert abs(entry.count - lost * 39 * 32) < 5 * np.sqrt(39 * 32 * 0.25)
    assert len(gappy.clock.time_s) == repeated.size - repeated.sum()


def test_jitter_shows_in_the_clock_and_blurs_high_frequencies_more():
    options = {"recordings": 8, "windows": 20, "snr_db": 60.0}
    blur = {}
    for variant in ("low", "high"):
        shaken = made(jitter=0.4, variant=variant, **options)
        steps = regularity(shaken.clock)
        assert not steps.regular
        assert 0.2 * 1e3 / 30 < steps.least_ms < 0.5 * 1e3 / 30 < 1.5 * 1e3 / 30 < steps.greatest_ms < 1.8 * 1e3 / 30
        tones = shaken.truth.signal_power > 0
        power = powers(shaken).mean(axis=0)
        blur[variant] = 1 - power[tones].sum() / power.sum()
    assert blur["high"] > 3 * blur["low"]
    assert made(**options).clock is None


BAD = {
    "classes: got 1; expected a whole number, at least 2.": {"classes": 1},
    "recordings: got 7; expected a whole number, at least 8.": {"recordings": 7},
    "windows: got True; expected a whole number, at least 1.": {"windows": True},
    "length: got 7; expected a whole number, at least 8.": {"length": 7},
    "features: got 1.5; expected a whole number, at least 1.": {"features": 1.5},
    "tones: got 2; expected a whole number, at least 3.": {"tones": 2},
    "variant: got 'middle'; expected 'low', 'high' or 'none'.": {"variant": "middle"},
    "fs: got 0; expected a finite number above 0 Hz.": {"fs": 0},
    "snr_db: got nan; expected a number from -100 to 100 dB.": {"snr_db": float("nan")},
    "jitter: got 0.5; expected a share from 0 to 0.49.": {"jitter": 0.5},
    "jitter: got nan; expected a share from 0 to 0.49.": {"jitter": float("nan")},
    "lost: got 1.0; expected a share from 0 to below 1.": {"lost": 1.0},
    "band_hz: got 5 to 3; expected two rising frequencies between 0 and 15 Hz.": {"band_hz": (5.0, 3.0)},
    "band_hz: 5 to 5.9 Hz holds 2 of the frequencies k x 0.5 Hz; expected at least 4, one for each tone.": {
        "band_hz": (5.0, 5.9)
    },
    "noise_corner_hz: got 15; expected a frequency between 0 and 15 Hz.": {"noise_corner_hz": 15.0},
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_arguments_are_named_in_one_sentence(sentence):
    with pytest.raises(InputError) as caught:
        made(**BAD[sentence])
    assert str(caught.value) == sentence


def test_progress_wraps_the_batches_and_stops_the_work():
    def stop(batches):
        yield next(iter(batches))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(progress=stop)
