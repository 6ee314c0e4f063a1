"""What the elbow rule says where there is nothing to match, and how sure it is of the data.

A threshold speaks of the data only as far as it differs from these: a flat spectrum (every frequency equally
discriminative), and labels permuted by recording. The bootstrap over recordings says how far it moves with the
recordings at hand.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from assay.dynamics.discriminative import Spectrum, bootstrap_spectra, shuffled_spectra
from assay.dynamics.matching import frequency_matching_score, over_lowpass_threshold

Array = NDArray[np.float64]


def flat_spectrum_threshold(low: float, high: float) -> float:
    """beta-dagger of a spectrum that is flat over the full circle, with candidates dense between ``low`` and
    ``high``.

    There FMS = F(tau) = 1 / (2 tau - 1), convex in log tau, so the elbow is where its slope equals the chord's: 2 tau
    / (2 tau - 1)^2 = (F(tau_low) - F(tau_high)) / (log tau_high - log tau_low).

    Args:
        low, high: the candidates' range, 0 <= low < high < 1.

    Returns:
        beta-dagger between ``low`` and ``high``; 0.711 for 0.05 to 0.99.

    Raises:
        ValueError: bounds out of order or range.
    """
    if not 0 <= low < high < 1:
        raise ValueError(f"low and high must satisfy 0 <= low < high < 1; got {low:g} and {high:g}.")
    first, last = -np.log1p(-low), -np.log1p(-high)
    slope = (_flat_score(first) - _flat_score(last)) / (last - first)
    log_tau = brentq(lambda x: 2 * np.exp(x) / (2 * np.exp(x) - 1) ** 2 - slope, first, last, xtol=1e-14)
    return float(-np.expm1(-float(log_tau)))  # type: ignore[arg-type]


def flat_bins_threshold(omega: ArrayLike, betas: ArrayLike) -> float:
    """beta-dagger of a spectrum with equal weight in each bin (M,), rad/sample, on the given candidates (R,)."""
    omega = np.asarray(omega, dtype=np.float64)
    flat = np.full(len(omega), 1 / max(len(omega), 1))
    return float(over_lowpass_threshold(betas, frequency_matching_score(flat, omega, betas)).beta)


def shuffled_thresholds(spectrum: Spectrum, betas: ArrayLike, permutations: int, rng: np.random.Generator) -> Array:
    """beta-dagger with labels permuted by recording, (permutations,); see :func:`shuffled_spectra`."""
    return _thresholds(shuffled_spectra(spectrum, permutations, rng), spectrum, betas)


def bootstrap_thresholds(spectrum: Spectrum, betas: ArrayLike, resamples: int, rng: np.random.Generator) -> Array:
    """beta-dagger of resampled recordings, (resamples,), see :func:`bootstrap_spectra`."""
    return _thresholds(bootstrap_spectra(spectrum, resamples, rng), spectrum, betas)


def _thresholds(di_norm: Array, spectrum: Spectrum, betas: ArrayLike) -> Array:
    return over_lowpass_threshold(betas, frequency_matching_score(di_norm, spectrum.omega, betas)).beta


def _flat_score(log_tau: float) -> float:
    return float(1 / (2 * np.exp(log_tau) - 1))
