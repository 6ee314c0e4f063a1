"""The discriminative spectrum: at which temporal frequencies do the classes differ?

Source: Yu et al. (2026), arXiv 2605.09983: DI[k] = S_B[k] / (S_W[k] + eps) of the DFT magnitudes, and its
normalisation to a distribution over frequency.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.dynamics.amplitude_statistics import AmplitudeStatistics, Window, sum_amplitudes
from assay.dynamics.series import Reduction, check_sequences, reduce_features

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """A discriminative spectrum over M frequencies; arrays are read-only.

    Attributes:
        frequency_hz: (M,) Hz. omega: (M,) rad/sample.
        di: (M,) discriminability S_B / (S_W + eps), averaged over the series, dimensionless, 0 and up.
        di_norm: (M,) ``di`` divided by its sum: a distribution over frequency.
        between, within: (M,) S_B and S_W, averaged over the series; the squared unit of X times samples squared.
            Biased variances, so with one series and eps towards 0 ``di`` is (K - 1) / (N - K) times the one-way ANOVA
            F for classes of any size.
        band: (2, M) bootstrap interval of ``di_norm`` over recordings, or none.
        confidence: of the band.
        classes: (K,) labels. samples: kept. dropped: samples left out because all their series were constant.
        recordings: distinct recordings among the kept samples.
        chance_level: (K - 1) / (N - K), the expected ``di`` of independent samples whose classes do not differ.
        statistics: sums from which resamples are drawn.
        eps: the regulariser used.
    """

    frequency_hz: Array
    omega: Array
    di: Array
    di_norm: Array
    between: Array
    within: Array
    band: Array | None
    confidence: float
    classes: NDArray[Any]
    samples: int
    dropped: int
    recordings: int
    chance_level: float
    statistics: AmplitudeStatistics
    eps: float


def discriminative_spectrum(
    X: ArrayLike,
    y: ArrayLike,
    fs: float,
    *,
    groups: ArrayLike | None = None,
    reduction: Reduction = "mean",
    channel: int | None = None,
    components: int = 3,
    drop_dc: bool = True,
    window: Window = "none",
    eps: float = 1e-12,
    resamples: int = 0,
    confidence: float = 0.95,
    rng: np.random.Generator | None = None,
) -> Spectrum:
    """Discriminability of labelled sequences per temporal frequency.

    With ``drop_dc`` each series loses its mean and k = 0 is left out, as in the paper; otherwise the mean stays and
    the first frequency is 0 Hz. With several series, DI is the mean of their DIs. A sample whose series are all
    constant carries no frequency to compare: with ``drop_dc`` it is left out and counted.

    Args:
        X: shape (N, L) or (N, L, ...), L at least 8 frames at ``fs``.
        y: shape (N,), at least 2 classes of at least 2 samples.
        fs: frames per second, Hz.
        groups: shape (N,), recording of each sample; without it each sample counts as one, and overlapping windows
            make the band too narrow.
        reduction, channel, components: see :func:`assay.dynamics.reduce_features`.
        drop_dc: remove each series' mean.
        window: ``none`` (the paper) or ``hann``.
        eps: added to S_W and in its unit, above 0; a frequency without any energy thus has DI 0.
        resamples: bootstrap resamples of recordings for the band; recordings are drawn within strata of equal class
            content, so that no class can vanish.
        confidence: of the band, in (0, 1).
        rng: needed when ``resamples`` is above 0.

    Raises:
        ValueError: bad input, fewer than 2 classes left after dropping constant samples, or no difference between
            classes anywhere.
    """
    if not (np.isfinite(eps) and eps > 0):
        raise ValueError(f"eps must be finite and above 0; got {eps:g}.")
    if window not in ("none", "hann"):
        raise ValueError(f"window must be none or hann; got {window!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie in (0, 1); got {confidence:g}.")
    frames, label, classes, recording = check_sequences(X, y, fs, groups)
    series = reduce_features(frames, reduction, channel=channel, components=components)
    N, _, L = series.shape
    if drop_dc:
        keep = (np.ptp(series, axis=2) > 0).any(axis=1)
        if not keep.all():
            series, label, recording = series[keep], label[keep], recording[keep]
        if len(np.unique(label)) < 2:
            raise ValueError(
                f"X must vary in time in at least 2 classes; {N - len(label)} of {N} samples are constant."
            )
    statistics = sum_amplitudes(series, label, recording, len(classes), drop_dc=drop_dc, window=window)
    between, within = statistics.scatter()
    di = _ratio(between, within, eps)[0]
    di_norm = _normalised(di)
    bins = np.arange(1 if drop_dc else 0, L // 2 + 1)
    spectrum = Spectrum(
        frequency_hz=bins * (fs / L),
        omega=2 * np.pi * bins / L,
        di=di,
        di_norm=di_norm,
        between=between.mean(axis=1)[0],
        within=within.mean(axis=1)[0],
        band=None,
        confidence=confidence,
        classes=classes,
        samples=len(label),
        dropped=N - len(label),
        recordings=len(np.unique(recording)),
        chance_level=(len(classes) - 1) / max(len(label) - len(classes), 1),
        statistics=statistics,
        eps=eps,
    )
    if resamples:
        if rng is None:
            raise ValueError("rng must be a numpy Generator when resamples is above 0; got none.")
        drawn = bootstrap_spectra(spectrum, resamples, rng)
        tail = 50 * (1 - confidence)
        spectrum = replace(spectrum, band=np.percentile(drawn, [tail, 100 - tail], axis=0))
    for value in vars(spectrum).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return spectrum


def bootstrap_spectra(spectrum: Spectrum, resamples: int, rng: np.random.Generator) -> Array:
    """Normalised spectra of resampled recordings, (resamples, M).

    Recordings are drawn with replacement, as many as there are, within strata of recordings that hold the same
    classes; all samples of a drawn recording come along. A stratum of one recording cannot vary.
    """
    statistics = spectrum.statistics
    _at_least_one("resamples", resamples)
    weight = _recording_weights(statistics, resamples, rng)
    return _normalised(_ratio(*statistics.scatter(weight=weight), spectrum.eps))


def shuffled_spectra(spectrum: Spectrum, permutations: int, rng: np.random.Generator) -> Array:
    """Normalised spectra with labels permuted by recording, (permutations, M): the null that keeps clustering.

    Recordings of one class exchange their labels among themselves; a recording of several classes permutes its labels
    among its own parts. Windows of one recording and class thus stay together, as they do in the data, so the null is
    as lumpy as the data.

    Raises:
        ValueError: fewer than 1 permutation.
    """
    statistics = spectrum.statistics
    _at_least_one("permutations", permutations)
    parts = np.bincount(statistics.recording)[statistics.recording]
    stratum = np.where(parts == 1, -1, statistics.recording)
    blocks = [np.flatnonzero(stratum == s) for s in np.unique(stratum)]
    label = np.repeat(statistics.label[None], permutations, axis=0)
    for block in blocks:
        label[:, block] = rng.permuted(label[:, block], axis=1)
    return _normalised(_ratio(*statistics.scatter(label=label), spectrum.eps))


def spectral_mass_below(di_norm: ArrayLike, frequency: ArrayLike, limit: float) -> Array:
    """Share of the spectrum at frequencies strictly below ``limit``; (..., M) and (M,) to (...), in [0, 1]."""
    di_norm, frequency = np.asarray(di_norm, dtype=np.float64), np.asarray(frequency, dtype=np.float64)
    return di_norm[..., frequency < limit].sum(axis=-1)


def spectral_quantile(di_norm: ArrayLike, frequency: ArrayLike, q: float) -> Array:
    """Lowest frequency at which the cumulated spectrum reaches ``q`` in (0, 1]; (..., M) and (M,) to (...)."""
    if not 0 < q <= 1:
        raise ValueError(f"q must lie in (0, 1]; got {q:g}.")
    di_norm, frequency = np.asarray(di_norm, dtype=np.float64), np.asarray(frequency, dtype=np.float64)
    cumulated = np.cumsum(di_norm, axis=-1)
    return frequency[np.argmax(cumulated >= q * cumulated[..., -1:], axis=-1)]


def _recording_weights(statistics: AmplitudeStatistics, resamples: int, rng: np.random.Generator) -> Array:
    recordings, of_cell = np.unique(statistics.recording, return_inverse=True)
    holds = np.zeros((len(recordings), statistics.classes), dtype=bool)
    holds[of_cell, statistics.label] = True
    stratum = np.unique(holds, axis=0, return_inverse=True)[1].reshape(-1)
    weight = np.empty((resamples, len(recordings)))
    for s in range(stratum.max() + 1):
        members = np.flatnonzero(stratum == s)
        weight[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), size=resamples)
    return weight[:, of_cell]


def _ratio(between: Array, within: Array, eps: float) -> Array:
    """DI averaged over the series: (B, S, M) to (B, M)."""
    return (between / (within + eps)).mean(axis=1)


def _normalised(di: Array) -> Array:
    mass = di.sum(axis=-1, keepdims=True)
    if not np.all(mass > 0):
        raise ValueError("y must separate some frequency; the class means of every amplitude are equal.")
    return di / mass


def _at_least_one(name: str, count: int) -> None:
    if isinstance(count, bool) or int(count) != count or count < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {count}.")
