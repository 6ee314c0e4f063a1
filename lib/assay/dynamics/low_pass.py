"""The leaky membrane as a first-order low-pass filter: gain, cut-off, bandwidth and noise.

Source: Yu et al. (2026), arXiv 2605.09983, Lemma 3.2. The cut-off's closed form, its inverse and the cascade are
derived here: with q = 1 - cos(omega) = 2 sin(omega/2)^2 the gain of n equal stages is [(1-beta)^2 / ((1-beta)^2 + 2
beta q)]^n.
"""

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def _decay(beta: ArrayLike) -> Array:
    beta = np.asarray(beta, dtype=np.float64)
    if not np.all((beta >= 0) & (beta < 1)):
        raise ValueError(f"beta must lie in [0, 1); got {_offender(beta, (beta >= 0) & (beta < 1))}.")
    return beta


def _offender(values: Array, good: NDArray[np.bool_]) -> str:
    return f"{values[~good].flat[0]:g}"


def _stages(stages: int) -> int:
    if isinstance(stages, bool) or int(stages) != stages or stages < 1:
        raise ValueError(f"stages must be a whole number of at least 1; got {stages}.")
    return int(stages)


def _half_power_excess(stages: int) -> float:
    """2**(1/n) - 1: how far one stage's gain may fall (as 1/gain - 1) when n of them together reach one half."""
    return float(np.expm1(np.log(2.0) / stages))


def lif_response(omega: ArrayLike, beta: ArrayLike, *, stages: int = 1) -> Array:
    """DC-normalised power gain of the reset-free membrane, |H|^2 / |H(0)|^2, of ``stages`` equal neurons in series.

    Args:
        omega: angular frequency, rad/sample; any shape.
        beta: membrane decay in [0, 1), dimensionless; broadcast against ``omega``.
        stages: neurons in series, at least 1.

    Returns:
        the broadcast shape, in (0, 1]; 1 at DC, falling on [0, pi] with frequency and with ``beta``. Even and 2
        pi-periodic.

    Raises:
        ValueError: ``beta`` outside [0, 1), a non-finite ``omega``, or ``stages`` below 1.
    """
    beta = _decay(beta)
    omega = np.asarray(omega, dtype=np.float64)
    if not np.all(np.isfinite(omega)):
        raise ValueError(f"omega must be finite; got {_offender(omega, np.isfinite(omega))}.")
    leak = (1 - beta) ** 2
    # 4 beta sin^2(omega/2) equals 2 beta (1 - cos omega) without its cancellation near DC.
    return (leak / (leak + 4 * beta * np.sin(omega / 2) ** 2)) ** _stages(stages)


def lowest_beta_with_cutoff(*, stages: int = 1) -> float:
    """Smallest decay whose gain falls to one half by the Nyquist frequency: 3 - 2 sqrt(2) = 0.1716 for one stage."""
    q = 2 / _half_power_excess(_stages(stages))
    return 1 / (1 + q + np.sqrt(q * (q + 2)))


def lif_cutoff(beta: ArrayLike, *, stages: int = 1, fs: float | None = None) -> Array:
    """Half-power (-3 dB) frequency: sin(omega_c / 2) = sqrt(2^(1/n) - 1) (1 - beta) / (2 sqrt(beta)).

    Args:
        beta: membrane decay in [0, 1); any shape.
        stages: equal neurons in series.
        fs: sampling rate, Hz; without it the answer is in rad/sample.

    Returns:
        the shape of ``beta``: rad/sample in (0, pi], or Hz in (0, fs/2]; ``nan`` where the gain stays above one half
            up to the
        Nyquist frequency and there is no cut-off (``beta`` below :func:`lowest_beta_with_cutoff`).

    Raises:
        ValueError: ``beta`` outside [0, 1), ``stages`` below 1, or ``fs`` not above 0.
    """
    beta = _decay(beta)
    scale = _rate(fs)
    stages = _stages(stages)
    beta_min = lowest_beta_with_cutoff(stages=stages)
    reachable = beta >= beta_min * (1 - 1e-12)  # 3 - 2 sqrt(2) itself loses digits when typed in
    sine = np.sqrt(_half_power_excess(stages)) * (1 - beta) / (2 * np.sqrt(np.where(reachable, beta, 1.0)))
    return np.where(reachable, 2 * np.arcsin(np.minimum(sine, 1.0)) * scale, np.nan)


def effective_bandwidth(beta: ArrayLike, *, stages: int = 1, fs: float | None = None) -> Array:
    """B_eff: the cut-off where there is one, the Nyquist frequency (pi rad/sample or fs/2 Hz) where there is none."""
    cutoff = lif_cutoff(beta, stages=stages, fs=fs)
    return np.where(np.isnan(cutoff), np.pi * _rate(fs), cutoff)


def beta_from_cutoff(cutoff: ArrayLike, *, stages: int = 1, fs: float | None = None) -> Array:
    """The decay whose ``stages``-fold cascade has its half-power point at ``cutoff``; inverse of :func:`lif_cutoff`.

    Args:
        cutoff: rad/sample in (0, pi], or Hz in (0, fs/2] when ``fs`` is given; any shape.
        stages: equal neurons in series.
        fs: sampling rate, Hz.

    Returns:
        the shape of ``cutoff``, in [lowest_beta_with_cutoff, 1).

    Raises:
        ValueError: a cut-off outside its range, ``stages`` below 1, or ``fs`` not above 0.
    """
    cutoff = np.asarray(cutoff, dtype=np.float64)
    omega = cutoff / _rate(fs)
    good = (omega > 0) & (omega <= np.pi * (1 + 1e-12))
    if not np.all(good):
        limit = "pi rad/sample" if fs is None else f"half the sampling rate, {fs / 2:g} Hz"
        raise ValueError(f"cutoff must be above 0 and at most {limit}; got {_offender(cutoff, good)}.")
    q = 2 * np.sin(np.minimum(omega, np.pi) / 2) ** 2 / _half_power_excess(_stages(stages))
    # The smaller root of beta^2 - 2 (1 + q) beta + 1 = 0, written so that it does not cancel for large q.
    return 1 / (1 + q + np.sqrt(q * (q + 2)))


def noise_gain(beta: ArrayLike, *, stages: int = 1) -> Array:
    """Output over input variance for white noise: the mean of :func:`lif_response` over the full circle.

    (1 - beta) / (1 + beta) for one stage, which is 1 / (2 tau - 1) with tau = 1 / (1 - beta). For n stages Euler's
    transformation of the hypergeometric series gives (1 - beta) / (1 + beta)^(2n - 1) times sum_k C(n-1, k)^2
    beta^(2k).

    Args:
        beta: membrane decay in [0, 1); any shape.
        stages: equal neurons in series.

    Returns:
        the shape of ``beta``, in (0, 1].

    Raises:
        ValueError: ``beta`` outside [0, 1) or ``stages`` below 1.
    """
    beta = _decay(beta)
    n = _stages(stages)
    series = sum(comb(n - 1, k) ** 2 * beta ** (2 * k) for k in range(n))
    return (1 - beta) / (1 + beta) ** (2 * n - 1) * series


def noise_matched_gain(beta: ArrayLike, *, reference: float = 0.0) -> Array:
    """Factor on the current that gives the membrane the variance under white noise that it has at decay
    ``reference``.

    With input scaled by 1 - beta a slow membrane receives little current and stays silent, so accuracy may fall for
    lack of spikes and not for lack of bandwidth; this factor separates the two.

    Args:
        beta: membrane decay in [0, 1); any shape.
        reference: decay in [0, 1) whose membrane variance is kept; at 0 the membrane varies as much as its current
            does.

    Returns:
        the shape of ``beta``, above 0; 1 at ``reference``.

    Raises:
        ValueError: a decay outside [0, 1).
    """
    return np.sqrt(noise_gain(reference) / noise_gain(beta))


def _rate(fs: float | None) -> float:
    """Hz for one rad/sample, or 1 without a sampling rate."""
    if fs is None:
        return 1.0
    if not (np.isfinite(fs) and fs > 0):
        raise ValueError(f"fs must be above 0 Hz; got {fs:g}.")
    return float(fs) / (2 * np.pi)
