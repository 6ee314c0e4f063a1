"""What a generator of synthetic sequences put in: the answer that a method should find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["SyntheticTruth"]


@dataclass(frozen=True, eq=False)
class SyntheticTruth:
    """The known truth of synthetic sequences.

    Powers are per feature and DFT bin, over M = L // 2 frequencies without 0 Hz.

    Attributes:
        variant: `low`, `high` or `none`.
        band_hz: the lowest and the highest frequency that tells classes apart; for `none`, where the tones are.
        tones_hz: (J,) frequencies of the cosines.
        amplitudes: (K, J) of class and tone.
        noise_corner_hz: half-power frequency of the noise's filter.
        snr_db: signal power over noise power, all frequencies together.
        frequencies_hz: (M,) k fs / L.
        signal_power: (M,) mean power of the cosines over classes.
        noise_power: (M,) mean power of the noise.
        wiener_gain: (M,) signal / (signal + noise): the linear filter that comes nearest to the signal in mean square.
        ideal_cutoff_hz: of the brick-wall low-pass that comes nearest to the signal in mean square.
        informative: labels say something about the signal.
    """

    variant: str
    band_hz: tuple[float, float]
    tones_hz: NDArray[np.float64]
    amplitudes: NDArray[np.float64]
    noise_corner_hz: float
    snr_db: float
    frequencies_hz: NDArray[np.float64]
    signal_power: NDArray[np.float64]
    noise_power: NDArray[np.float64]
    wiener_gain: NDArray[np.float64]
    ideal_cutoff_hz: float
    informative: bool
