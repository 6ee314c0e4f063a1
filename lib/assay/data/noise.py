"""Noise at chosen frequencies, added to sequences: does a filter that keeps the signal keep the answer?"""

from __future__ import annotations

import dataclasses

import numpy as np

from assay.data.sequences import InputError, LabelledSequences

__all__ = ["add_noise"]

ORDER = 4


def add_noise(
    sequences: LabelledSequences, rng: np.random.Generator, *, snr_db: float, corner_hz: float
) -> LabelledSequences:
    """High-passed Gaussian noise on every feature, independent between features and samples.

    The noise of a feature has the feature's variance over all samples and frames, divided by the signal-to-noise
    ratio; its spectrum is that of white noise behind a Butterworth high-pass of order 4 (periodic in the window, so
    that nothing has to settle).

    Args:
        sequences: what the noise is added to; a constant feature stays constant.
        rng: where the noise comes from.
        snr_db: variance of a feature over that of its noise, -100 to 100 dB.
        corner_hz: half-power frequency of the high-pass, above 0 and below fs / 2.

    Returns:
        The same sequences with other X, in the same precision.

    Raises:
        InputError: an argument outside what is said here.
    """
    if not np.isfinite(snr_db) or abs(snr_db) > 100:
        raise InputError(f"snr_db: got {snr_db}; expected a number from -100 to 100 dB.")
    if not 0 < corner_hz < sequences.fs / 2:
        raise InputError(f"corner_hz: got {corner_hz:g}; expected a frequency between 0 and {sequences.fs / 2:g} Hz.")
    length = sequences.length
    frequencies = np.fft.rfftfreq(length, 1 / sequences.fs)
    ratio = (frequencies / corner_hz) ** (2 * ORDER)
    gain = np.sqrt(ratio / (1 + ratio))
    sides = np.full(len(gain), 2.0)
    sides[0] = 1.0
    if length % 2 == 0:
        sides[-1] = 1.0
    gain /= np.sqrt((sides * gain**2).sum() / length)  # white noise of variance 1 comes out with variance 1
    white = rng.standard_normal(sequences.X.shape, dtype=np.float32)
    noise = np.fft.irfft(np.fft.rfft(white, axis=1) * gain[:, None], n=length, axis=1)
    deviation = sequences.X.std(axis=(0, 1), dtype=np.float64) * 10 ** (-snr_db / 20)
    X = (sequences.X + deviation * noise).astype(sequences.X.dtype)
    X.flags.writeable = False
    return dataclasses.replace(sequences, X=X)
