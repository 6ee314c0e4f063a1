"""Two power laws of a spectrum, and they are different numbers.

With lambda_i = s_i^2 in descending order,

- the *decay exponent* is that of lambda_i ~ i^-alpha over a window of ranks, by least squares on logarithms;
- the *tail exponent* is that of the density p(lambda) ~ lambda^-alpha above some x_min, by maximum likelihood.

If lambda_i ~ i^-a throughout, then p(lambda) ~ lambda^-(1 + 1/a): a steeper decay is a smaller tail exponent.

Source: Agrawal et al. (2022), "alpha-ReQ" (decay); Clauset, Shalizi & Newman (2009), eq. 3.1, 3.2 and 3.9 and section
4.1 (tail, its x_min and its goodness); Martin & Mahoney (2021) use the second for weights.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from assay.geometry.matrix_input import Array, Progress

__all__ = ["DecayExponent", "TailExponent", "decay_exponent", "tail_exponent", "tail_goodness"]


@dataclass(frozen=True)
class DecayExponent:
    """The slope of ln lambda over ln i, turned positive.

    Attributes:
        alpha: exponent.
        window: first and last rank of the fit, from 1, both included.
        first_half, second_half: exponents of the two halves of the window in ln i. Where they differ, the spectrum is
            no power law there and alpha is only a mean slope. An interval of least squares is not given: sorted values
            scatter together, and it would be far too narrow.
        r_squared: of the straight line.
    """

    alpha: float
    window: tuple[int, int]
    first_half: float
    second_half: float
    r_squared: float


def decay_exponent(singular_values: ArrayLike, *, window: tuple[int, int] | None = None) -> DecayExponent:
    """alpha of lambda_i ~ i^-alpha by least squares.

    Args:
        singular_values: (r,).
        window: first and last rank, at least 4 apart; by default from 1 + r // 50 (without the few outliers) to r // 2
            (without the edge), and all ranks where r is below 16.

    Raises:
        ValueError: values that are not finite and non-negative, a window outside 1..r or too short, or a value of 0 in
            it.
    """
    values = np.sort(one_spectrum(singular_values))[::-1]
    count = len(values)
    first, last = window or ((1 + count // 50, count // 2) if count >= 16 else (1, count))
    if not 1 <= first <= last - 4 <= count - 4:
        raise ValueError(f"window: got {first} to {last}; expected ranks within 1..{count}, at least 4 apart.")
    if values[last - 1] == 0:
        raise ValueError(f"window: got ranks to {last}, where singular values are 0; expected values above 0.")
    x, y = np.log(np.arange(first, last + 1)), 2 * np.log(values[first - 1 : last])
    middle = int(np.clip(np.searchsorted(x, (x[0] + x[-1]) / 2), 2, len(x) - 2))
    slope, intercept = np.polyfit(x, y, 1)
    spread = ((y - y.mean()) ** 2).sum()
    left = ((y - slope * x - intercept) ** 2).sum()
    return DecayExponent(
        alpha=float(-slope),
        window=(first, last),
        first_half=float(-np.polyfit(x[: middle + 1], y[: middle + 1], 1)[0]),
        second_half=float(-np.polyfit(x[middle:], y[middle:], 1)[0]),
        r_squared=float(1 - left / spread) if spread > 0 else 1.0,
    )


@dataclass(frozen=True)
class TailExponent:
    """A power law fitted to the largest squares.

    Attributes:
        alpha: exponent of the density, above 1.
        low, high: alpha -+ z (alpha - 1) / sqrt(tail): the interval for independent values and a given x_min.
        x_min: where the tail begins; one of the squares.
        tail: how many squares are at least x_min.
        distance: Kolmogorov-Smirnov distance, between the fit and the share of the tail below each value.
    """

    alpha: float
    low: float
    high: float
    x_min: float
    tail: int
    distance: float


def tail_exponent(singular_values: ArrayLike, *, least_tail: int = 10, level: float = 0.95) -> TailExponent:
    """alpha of p(lambda) ~ lambda^-alpha by maximum likelihood, above the x_min that has the smallest distance.

    Args:
        singular_values: (r,); zeros are left out.
        least_tail: fewest squares in the tail, at least 2.
        level: of the interval.

    Raises:
        ValueError: values that are not finite and non-negative, too few of them above 0, all of them equal, or a level
            outside (0, 1).
    """
    if least_tail < 2:
        raise ValueError(f"least_tail: got {least_tail}; expected at least 2.")
    if not 0 < level < 1:
        raise ValueError(f"level: got {level}; expected a number between 0 and 1.")
    squares = positive_squares(singular_values, least_tail)
    alpha, start, distance = best_tail(squares, least_tail)
    tail = len(squares) - start
    half = ndtri(0.5 + level / 2) * (alpha - 1) / np.sqrt(tail)
    return TailExponent(alpha, float(alpha - half), float(alpha + half), float(squares[start]), tail, distance)


def tail_goodness(
    singular_values: ArrayLike,
    *,
    rng: np.random.Generator,
    draws: int = 200,
    least_tail: int = 10,
    progress: Progress | None = None,
) -> float:
    """Share of spectra drawn from the fitted law that lie farther from their own fit; small means no power law.

    Each draw takes values above x_min from the law and values below from those seen, and is fitted anew, x_min and all.
    It treats squares as independent. Those of a random matrix repel each other and lie closer to any smooth curve than
    independent draws, so that a small share refutes a power law, and a large one confirms little.

    Args:
        singular_values: (r,); zeros are left out.
        rng: where draws come from.
        draws: how many; the share has a standard error of at most 1 / (2 sqrt(draws)).
        least_tail: as for `tail_exponent`.
        progress: wraps the draws; raising in it stops the work.

    Returns:
        (1 + number of draws as far) / (1 + draws).

    Raises:
        ValueError: as `tail_exponent`, or no draws.
    """
    if draws < 1:
        raise ValueError(f"draws: got {draws}; expected at least 1.")
    fit = tail_exponent(singular_values, least_tail=least_tail)
    squares = positive_squares(singular_values, least_tail)
    below = squares[squares < fit.x_min]
    farther = 0
    each: Iterable[int] = range(draws)
    for _ in each if progress is None else progress(each):
        above = rng.binomial(len(squares), fit.tail / len(squares)) if len(below) else len(squares)
        law = fit.x_min * (1 - rng.random(above)) ** (-1 / (fit.alpha - 1))
        seen = rng.choice(below, len(squares) - above) if len(below) else below
        farther += best_tail(np.sort(np.concatenate([seen, law])), least_tail)[2] >= fit.distance
    return (1 + farther) / (1 + draws)


def one_spectrum(singular_values: ArrayLike) -> Array:
    values = np.asarray(singular_values, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ValueError(f"singular_values: got shape {values.shape}; expected (r,) with values.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("singular_values: got negative or non-finite ones; expected finite values of at least 0.")
    return values


def positive_squares(singular_values: ArrayLike, least_tail: int) -> Array:
    """Squares above 0, ascending."""
    values = one_spectrum(singular_values)
    squares = np.sort(values[values > 0]) ** 2
    if len(squares) < least_tail or squares[0] == squares[-1]:
        raise ValueError(
            f"singular_values: got {len(squares)} above 0, {len(np.unique(squares))} of them different; "
            f"expected at least {least_tail}, not all equal."
        )
    return squares


def best_tail(ascending: Array, least_tail: int) -> tuple[float, int, float]:
    """Exponent, first place and distance of the tail whose fit lies closest."""
    logs = np.log(ascending)
    count = len(logs)
    sizes = count - np.arange(count)
    excess = np.cumsum(logs[::-1])[::-1] - sizes * logs
    best = (np.inf, 0)
    for start in range(count - least_tail + 1):
        if excess[start] > 1e-12 * sizes[start]:  # a tail of equal values has no exponent
            slope = sizes[start] / excess[start]
            law = -np.expm1(-slope * (logs[start:] - logs[start]))
            best = min(best, (float(np.abs(law - np.arange(sizes[start]) / sizes[start]).max()), start))
    distance, start = best
    return float(1 + sizes[start] / excess[start]), start, distance
