"""Late degradation ("saturation"): does the loss rise again towards the end, and does the rank fall before it does?

Source: the question is that of Godey et al. (2024), "Why do small language models underperform?", section 3, and of
arXiv 2602.20433, section 5; the tests are ours. Intervals by moving blocks: Kuensch (1989).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import median_filter
from scipy.optimize import isotonic_regression

from assay.geometry.matrix_input import Array

__all__ = ["Saturation", "saturation"]

FEWEST_WINDOWS = 4
LIMIT = 2.0  # standard errors that a rise must exceed


@dataclass(frozen=True)
class Saturation:
    """How loss and rank end.

    Attributes:
        degraded: the loss ends higher than its lowest window by more than 2 standard errors, and p <= 1 - level.
        rise: mean loss of the last window less that of the lowest.
        rise_error: standard error of the difference of two windows, from the scatter between evaluations.
        p: how often a flat loss with this scatter ends as far above its lowest window.
        best_step: middle of the window where the loss is lowest.
        drop: largest fall of the rank's mean from one window to the next; below 0 where it rises throughout.
        drop_error: standard error of the difference of two windows.
        drop_step: first step after that fall.
        lag, low, high: drop_step - best_step in steps, and its interval over resampled scatter. Below 0, the rank fell
            first. Without a degradation the loss has no turn, and the lag says nothing.
    """

    degraded: bool
    rise: float
    rise_error: float
    p: float
    best_step: float
    drop: float
    drop_error: float
    drop_step: float
    lag: float
    low: float
    high: float


def saturation(
    steps: ArrayLike,
    loss: ArrayLike,
    rank: ArrayLike,
    *,
    rng: np.random.Generator,
    window: int = 5,
    resamples: int = 1000,
    level: float = 0.95,
) -> Saturation:
    """Find a late rise of the loss and the sharpest fall of the rank, and which came first.

    The lowest of many windows is low by chance too, so that a rise of 2 standard errors alone is found in many flat
    curves. p takes that in: it is the share of flat curves with the same scatter that end as far above their lowest
    window. Of all curves that do not rise, flat ones do so most easily. Scatter is what a curve with one turn leaves,
    in blocks of two windows, each level of that curve counted as two degrees of freedom. Measured at a level of 0.95
    with independent scatter: of falling curves under 1 % are called degraded, of curves that are flat throughout about
    8 %, of flat ones with scatter correlated by 0.3 about 12 %.

    Args:
        steps: (T,) ascending.
        loss, rank: (T,) finite, at these steps.
        rng: where blocks of scatter come from.
        window: evaluations that are averaged, at least 2; T is at least four windows. About the duration of what is
            looked for.
        resamples: how many curves are drawn, for p and for the interval each; at least 100.
        level: of the interval, and 1 - level is the largest p of a degradation.

    Raises:
        ValueError: shapes that do not fit, too few evaluations, steps that do not ascend, values that are not finite,
            or a window, number of resamples or level out of range.
    """
    at, losses, ranks = (np.asarray(v, dtype=np.float64) for v in (steps, loss, rank))
    if at.ndim != 1 or losses.shape != at.shape or ranks.shape != at.shape:
        raise ValueError(f"loss: got shapes {losses.shape} and {ranks.shape} for steps {at.shape}; expected (T,) each.")
    if isinstance(window, bool) or int(window) != window or window < 2:
        raise ValueError(f"window: got {window}; expected a whole number, at least 2.")
    if len(at) < FEWEST_WINDOWS * window:
        raise ValueError(f"steps: got {len(at)}; expected at least {FEWEST_WINDOWS} windows of {window}.")
    for name, values in (("steps", at), ("loss", losses), ("rank", ranks)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name}: got values that are not finite; expected finite numbers.")
    if not (np.diff(at) > 0).all():
        raise ValueError("steps: do not ascend; expected each step once, in order.")
    if resamples < 100:
        raise ValueError(f"resamples: got {resamples}; expected at least 100.")
    if not 0 < level < 1:
        raise ValueError(f"level: got {level}; expected a number between 0 and 1.")

    trend, levels = one_turn(losses, int(turn(losses, window)))
    rank_trend = median_filter(ranks, 2 * window + 1, mode="nearest")
    scatter = np.stack([(losses - trend) * np.sqrt(len(at) / max(1, len(at) - 2 * levels)), ranks - rank_trend])
    scatter -= scatter.mean(axis=1, keepdims=True)
    rise, rise_error = float(late_rise(losses, window)), noise(losses) * np.sqrt(2 / window)
    null = late_rise(blocks(scatter, 2 * window, resamples, rng)[0], window)
    p = (1 + int((null >= rise).sum())) / (1 + resamples)

    lowest, fallen = turn(losses, window), steepest(ranks, window)
    drawn = blocks(scatter, 2 * window, resamples, rng)
    lags = at[steepest(rank_trend + drawn[1], window)] - at[turn(trend + drawn[0], window)]
    low, high = np.quantile(lags, [(1 - level) / 2, (1 + level) / 2])
    return Saturation(
        degraded=bool(p <= 1 - level and rise > LIMIT * rise_error),
        rise=rise,
        rise_error=float(rise_error),
        p=p,
        best_step=float(at[lowest]),
        drop=float(falls(ranks, window).max()),
        drop_error=float(noise(ranks) * np.sqrt(2 / window)),
        drop_step=float(at[fallen]),
        lag=float(at[fallen] - at[lowest]),
        low=float(low),
        high=float(high),
    )


def one_turn(losses: Array, at: int) -> tuple[Array, int]:
    """(T,) the nearest curve that never rises up to a place and never falls after it, and how many levels it has."""
    before = isotonic_regression(losses[: at + 1], increasing=False).x
    after = isotonic_regression(losses[at:], increasing=True).x
    return np.concatenate([before, after[1:]]), len(np.unique(before)) + len(np.unique(after))


def windows(values: Array, window: int) -> Array:
    """(..., T - w + 1) means of windows."""
    return np.lib.stride_tricks.sliding_window_view(values, window, axis=-1).mean(axis=-1)


def late_rise(losses: Array, window: int) -> Array:
    """(...) mean of the last window less that of the lowest."""
    means = windows(losses, window)
    return means[..., -1] - means.min(axis=-1)


def turn(losses: Array, window: int) -> NDArray[np.intp]:
    """(...) middle of the lowest window."""
    return windows(losses, window).argmin(axis=-1) + window // 2


def falls(ranks: Array, window: int) -> Array:
    """(..., T - 2 w + 1) mean of each window less that of the one after it."""
    means = windows(ranks, window)
    return means[..., :-window] - means[..., window:]


def steepest(ranks: Array, window: int) -> NDArray[np.intp]:
    """(...) first evaluation after the largest fall."""
    return falls(ranks, window).argmax(axis=-1) + window


def noise(values: Array) -> float:
    """Standard deviation between evaluations, from second differences: free of smooth trends, robust to steps."""
    second = np.diff(values, 2)
    return float(1.4826 * np.median(np.abs(second - np.median(second))) / np.sqrt(6))


def blocks(scatter: Array, size: int, resamples: int, rng: np.random.Generator) -> Array:
    """(2, B, T) blocks of scatter, loss and rank together, put one after the other."""
    length = scatter.shape[1]
    starts = rng.integers(length - size + 1, size=(resamples, -(-length // size)))
    places = (starts[:, :, None] + np.arange(size)).reshape(resamples, -1)[:, :length]
    return scatter[:, places]
