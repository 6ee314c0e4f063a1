"""Both power laws on spectra that are power laws, and the tail fit against a plain implementation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.geometry import decay_exponent, tail_exponent, tail_goodness


@given(st.floats(0.1, 4), st.integers(5, 400), st.floats(1e-3, 1e3))
def test_an_exact_decay_is_found(alpha, count, size):
    s = size * np.arange(1, count + 1) ** (-alpha / 2)
    found = decay_exponent(s)
    assert found.alpha == pytest.approx(alpha, rel=1e-6)
    assert found.first_half == pytest.approx(alpha, rel=1e-6) and found.second_half == pytest.approx(alpha, rel=1e-6)
    assert found.r_squared == pytest.approx(1)


def test_a_bend_shows_in_the_halves():
    ranks = np.arange(1.0, 401)
    s = np.sqrt(np.where(ranks < 40, ranks**-1.0, 40**1.0 * ranks**-2.0))
    found = decay_exponent(s, window=(4, 400))
    assert found.first_half == pytest.approx(1, abs=0.05) and found.second_half == pytest.approx(2, abs=0.05)


def plain_tail(squares: np.ndarray, least: int) -> tuple[float, float]:
    """Clauset, Shalizi & Newman (2009), written out."""
    squares, best = np.sort(squares), (np.inf, 0.0)
    for x_min in squares[: len(squares) - least + 1]:
        tail = squares[squares >= x_min]
        alpha = 1 + len(tail) / np.log(tail / x_min).sum()
        below = np.arange(len(tail)) / len(tail)
        distance = np.abs(1 - (tail / x_min) ** (1 - alpha) - below).max()
        best = min(best, (distance, alpha))
    return best


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1.5, 5), st.integers(12, 120))
def test_the_tail_is_the_plain_fit(seed, alpha, count):
    squares = (1 - np.random.default_rng(seed).random(count)) ** (-1 / (alpha - 1))
    distance, exponent = plain_tail(squares, 10)
    found = tail_exponent(np.sqrt(squares))
    assert found.alpha == pytest.approx(exponent, rel=1e-9) and found.distance == pytest.approx(distance, rel=1e-9)
    assert (squares >= found.x_min * (1 - 1e-12)).sum() == found.tail
    assert found.low < found.alpha < found.high


def test_decay_and_tail_are_related_as_stated():
    """lambda_i ~ i^-a has the density lambda^-(1 + 1/a)."""
    s = np.arange(1, 4001) ** (-2.0 / 2)
    assert tail_exponent(s).alpha == pytest.approx(1 + 1 / 2, abs=0.03)


@pytest.mark.slow
def test_goodness_keeps_a_power_law_and_refutes_another():
    rng = np.random.default_rng(0)
    law = np.sqrt((1 - rng.random(300)) ** (-1 / 1.5))
    bent = np.sqrt(rng.exponential(size=2000) + 1)
    assert tail_goodness(law, rng=rng, draws=60) > 0.1
    assert tail_goodness(bent, rng=rng, draws=60, least_tail=1000) < 0.05


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: decay_exponent([1.0, 0.5, 0.2, 0.1]), "window"),
        (lambda: decay_exponent(np.ones(20), window=(0, 9)), "window: got 0 to 9"),
        (lambda: decay_exponent(np.r_[np.ones(5), 0.0], window=(1, 6)), "singular values are 0"),
        (lambda: tail_exponent(np.ones(20)), "1 of them different"),
        (lambda: tail_exponent(np.arange(5.0)), "got 4 above 0"),
        (lambda: tail_exponent(np.arange(30.0), least_tail=1), "least_tail: got 1"),
        (lambda: tail_exponent(np.arange(30.0), level=1), "level: got 1"),
        (lambda: tail_goodness(np.arange(30.0), rng=np.random.default_rng(0), draws=0), "draws: got 0"),
        (lambda: tail_exponent([[1.0]]), r"expected \(r,\)"),
        (lambda: tail_exponent([1.0, -1.0]), "negative"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
