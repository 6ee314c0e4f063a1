"""Synthetic labelled sequences whose answer is known: where in frequency the classes differ, and where the noise is.

A sample of class c is a sum of cosines in a band, with a random phase each and amplitudes that depend on the class,
plus Gaussian noise whose power spectrum is that of a second-order Butterworth filter. All frequencies are DFT bins,
so that spectra are exact and nothing leaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.data.clock import Clock
from assay.data.sequences import Handled, InputError, LabelledSequences, checked_rate, labelled_sequences
from assay.data.truth import SyntheticTruth

__all__ = ["Variant", "synthetic_sequences"]

Variant = Literal["low", "high", "none"]
Array = NDArray[np.float64]

BANDS = {"low": (0.05, 0.2), "high": (0.3, 0.45), "none": (0.05, 0.2)}  # shares of fs
CORNERS = {"low": 0.25, "high": 0.12, "none": 0.25}
CONTRAST = 0.9  # of power between classes, at a tone
GAIN_SPREAD = 0.1  # of recordings: what makes windows of one recording alike
TEST_SHARE = 0.3
ORDER = 2
BATCH = 256


def synthetic_sequences(
    rng: np.random.Generator,
    *,
    variant: Variant = "low",
    classes: int = 4,
    recordings: int = 40,
    windows: int = 24,
    length: int = 60,
    features: int = 8,
    fs: float = 30.0,
    band_hz: tuple[float, float] | None = None,
    tones: int = 4,
    snr_db: float = -9.0,
    noise_corner_hz: float | None = None,
    jitter: float = 0.0,
    lost: float = 0.0,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> LabelledSequences:
    """Sequences with a known truth.

    Args:
        rng: where everything random comes from.
        variant: `low`, classes differ at low frequencies and noise is high-passed; `high`, the other way round;
            `none`, as `low` with labels that say nothing.
        classes: K, at least 2.
        recordings: at least 2 K; each has one class, and three in ten of each class, at least one, are the official
            test.
        windows: samples of each recording, at least 1; N = recordings x windows.
        length: L frames, at least 8.
        features: F, at least 1. They carry the same cosines with gains of their own; noise is independent.
        fs: Hz.
        band_hz: where the cosines are, within (0, fs / 2); it must hold at least as many DFT bins as there are tones.
            By default 0.05-0.2 fs (`low`, `none`) or 0.3-0.45 fs (`high`).
        tones: number of cosines, at least 3, spread over the band.
        snr_db: power of the cosines over power of the noise in a feature.
        noise_corner_hz: half-power frequency of the noise's filter, within (0, fs / 2). By default 0.25 fs or 0.12 fs.
        jitter: frames are taken at times off by up to this share of 1 / fs, at most 0.49, yet passed on as if regular.
        lost: share of frames that are lost, below 1; the one before is passed on again.
        progress: wraps the batches; raising in it stops the work.

    Returns:
        (N, L, F) float32 with `truth`; with `clock` where frames are jittered or lost.

    Raises:
        InputError: an argument outside what is said here.
    """
    fs = checked_rate(fs)
    least = {"classes": (classes, 2), "recordings": (recordings, 2 * classes), "windows": (windows, 1),
             "length": (length, 8), "features": (features, 1), "tones": (tones, 3)}  # fmt: skip
    for name, (value, low) in least.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            raise InputError(f"{name}: got {value!r}; expected a whole number, at least {low}.")
    if variant not in BANDS:
        raise InputError(f"variant: got {variant!r}; expected 'low', 'high' or 'none'.")
    if not np.isfinite(snr_db) or abs(snr_db) > 100:
        raise InputError(f"snr_db: got {snr_db}; expected a number from -100 to 100 dB.")
    if not 0 <= jitter <= 0.49:
        raise InputError(f"jitter: got {jitter}; expected a share from 0 to 0.49.")
    if not 0 <= lost < 1:
        raise InputError(f"lost: got {lost}; expected a share from 0 to below 1.")
    truth = known_truth(variant, classes, length, fs, band_hz, tones, snr_db, noise_corner_hz)

    samples = recordings * windows
    recording = np.repeat(np.arange(recordings), windows)
    label_of = np.arange(recordings) % classes
    within = np.arange(recordings) // classes  # how many of its class came before
    of_class = np.bincount(label_of)[label_of]
    is_test = within >= of_class - np.maximum(1, np.rint(TEST_SHARE * of_class)).astype(int)
    y = label_of[recording]
    kind = y if truth.informative else rng.integers(classes, size=samples)

    gain = np.exp(GAIN_SPREAD * rng.standard_normal(recordings) - GAIN_SPREAD**2)[recording]  # mean square 1
    feature_gain = rng.uniform(0.5, 1.5, size=features)
    feature_gain /= np.sqrt(np.mean(feature_gain**2))
    bins = np.rint(truth.tones_hz * length / fs).astype(int) - 1
    times = np.tile(np.arange(length), (samples, 1)) / fs
    if jitter:
        times += rng.uniform(-jitter, jitter, size=times.shape) / fs

    X = np.empty((samples, length, features), dtype=np.float32)
    batches: Iterable[int] = range(0, samples, BATCH)
    for start in batches if progress is None else progress(batches):
        part = slice(start, min(start + BATCH, samples))
        size = part.stop - start
        noise = rng.standard_normal((2, size, features, len(truth.frequencies_hz))) * np.sqrt(truth.noise_power)
        wave = noise[0] + 1j * noise[1]
        phase = rng.uniform(0, 2 * np.pi, size=(size, tones))
        cosines = gain[part, None] * truth.amplitudes[kind[part]] * np.exp(1j * phase)
        wave[:, :, bins] += feature_gain[:, None] * cosines[:, None, :]
        turn = 2j * np.pi * times[part, :, None] * truth.frequencies_hz
        X[part] = (np.exp(turn) @ wave.transpose(0, 2, 1)).real

    handled, clock = (), None
    kept = np.ones((samples, length), dtype=bool)
    if lost:
        kept[:, 1:] = rng.random((samples, length - 1)) >= lost
        held = np.maximum.accumulate(np.where(kept, np.arange(length), 0), axis=1)
        X = np.take_along_axis(X, held[:, :, None], axis=1)
        gone = int((~kept).sum())
        handled = (Handled("lost: the frame before is used again", "repeated", "frames", gone, kept.size),)
    if lost or jitter:
        names = tuple(f"window {i}" for i in range(samples))
        clock = Clock((times - times[:, :1])[kept], np.nonzero(kept)[0].astype(np.int64), names)
    X.flags.writeable = False
    return labelled_sequences(
        X,
        y,
        fs,
        group=np.array([f"recording {i:0{len(str(recordings - 1))}d}" for i in range(recordings)])[recording],
        is_test=is_test[recording],
        classes=tuple(f"class {c}" for c in range(classes)),
        name=f"synthetic ({variant})",
        handled=tuple(entry for entry in handled if entry.count),
        clock=clock,
        truth=truth,
    )


def known_truth(
    variant: Variant,
    classes: int,
    length: int,
    fs: float,
    band_hz: tuple[float, float] | None,
    tones: int,
    snr_db: float,
    noise_corner_hz: float | None,
) -> SyntheticTruth:
    """Tones, amplitudes and powers; the cosines' mean power is 1."""
    frequencies = np.arange(1, length // 2 + 1) * fs / length
    low, high = band_hz if band_hz is not None else (share * fs for share in BANDS[variant])
    if not 0 < low < high < fs / 2:
        raise InputError(
            f"band_hz: got {low:g} to {high:g}; expected two rising frequencies between 0 and {fs / 2:g} Hz."
        )
    inside = np.flatnonzero((frequencies >= low - 1e-9 * fs) & (frequencies <= high + 1e-9 * fs))
    if len(inside) < tones:
        raise InputError(
            f"band_hz: {low:g} to {high:g} Hz holds {len(inside)} of the frequencies k x {fs / length:g} Hz; "
            f"expected at least {tones}, one for each tone."
        )
    chosen = inside[np.rint(np.linspace(0, len(inside) - 1, tones)).astype(int)]
    corner = CORNERS[variant] * fs if noise_corner_hz is None else noise_corner_hz
    if not 0 < corner < fs / 2:
        raise InputError(f"noise_corner_hz: got {corner:g}; expected a frequency between 0 and {fs / 2:g} Hz.")

    # Each class has its peak at another place of the band; over three or more tones all classes have the same power.
    turn = np.arange(tones) / tones - np.arange(classes)[:, None] / classes
    amplitudes = np.sqrt(2 / tones * (1 + CONTRAST * np.cos(2 * np.pi * turn)))
    signal = np.zeros(len(frequencies))
    signal[chosen] = (amplitudes**2).mean(axis=0) / 2
    ratio = (frequencies / corner) ** (2 * ORDER)
    noise = 1 / (1 + ratio) if variant == "high" else ratio / (1 + ratio)
    noise *= 10 ** (-snr_db / 10) / noise.sum()
    # Error of a brick wall that passes the first m bins: the signal beyond it and the noise below it.
    error = signal.sum() - np.concatenate([[0], np.cumsum(signal)]) + np.concatenate([[0], np.cumsum(noise)])
    passed = int(error.argmin())
    return SyntheticTruth(
        variant=variant,
        band_hz=(float(frequencies[chosen[0]]), float(frequencies[chosen[-1]])),
        tones_hz=frequencies[chosen],
        amplitudes=amplitudes,
        noise_corner_hz=float(corner),
        snr_db=float(snr_db),
        frequencies_hz=frequencies,
        signal_power=signal,
        noise_power=noise,
        wiener_gain=signal / (signal + noise),
        ideal_cutoff_hz=float(frequencies[passed - 1]) if passed else 0.0,
        informative=variant != "none",
    )
