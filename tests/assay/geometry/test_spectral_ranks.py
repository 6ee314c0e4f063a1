"""Ranks of a spectrum: closed forms, order among them, what leaves them alone, and what they refuse."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from assay.geometry import (
    effective_rank,
    nuclear_rank,
    numerical_rank,
    participation_ratio,
    rank_at,
    spectral_entropy,
    stable_rank,
)

MEASURES = (effective_rank, nuclear_rank, participation_ratio, stable_rank)
SPECTRA = hnp.arrays(np.float64, st.integers(1, 40), elements=st.floats(1e-6, 1e6))


@given(st.integers(1, 60), st.floats(1e-200, 1e200))
def test_equal_values_use_every_direction(count, size):
    for measure in MEASURES:
        assert measure(np.full(count, size)) == pytest.approx(count, rel=1e-12)


@given(st.integers(0, 40), st.floats(1e-300, 1e300))
def test_one_value_is_one_direction(zeros, size):
    for measure in MEASURES:
        assert measure(np.r_[np.zeros(zeros), size]) == pytest.approx(1, rel=1e-12)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_two_values_have_the_entropy_of_a_coin(a, b):
    p = a / (a + b)
    assert effective_rank([a, b]) == pytest.approx(np.exp(scipy.stats.bernoulli(p).entropy()), rel=1e-9)


@given(SPECTRA)
def test_entropies_fall_with_their_order_and_with_the_power(s):
    ranks = [stable_rank(s), participation_ratio(s), effective_rank(s, power=2), effective_rank(s), float(len(s))]
    assert all(low <= high * (1 + 1e-9) for low, high in pairwise(ranks))
    assert effective_rank(s, order=np.inf, power=2) == pytest.approx(stable_rank(s), rel=1e-9)
    assert effective_rank(s, order=0) == len(s)


@given(SPECTRA, st.floats(1e-100, 1e100), st.randoms(use_true_random=False))
def test_neither_scale_nor_order_nor_zeros_matter(s, scale, random):
    mixed = [*(scale * s), 0.0, 0.0]
    random.shuffle(mixed)
    for measure in MEASURES:
        assert measure(mixed) == pytest.approx(measure(s), rel=1e-9)
    assert numerical_rank(mixed) == numerical_rank(s) and rank_at(mixed, 0.9) == rank_at(s, 0.9)


@given(SPECTRA.filter(lambda s: len(s) > 1))
def test_entropy_is_that_of_scipy(s):
    assert spectral_entropy(s, normalised=False) == pytest.approx(scipy.stats.entropy(s), abs=1e-9)
    assert spectral_entropy(s) == pytest.approx(scipy.stats.entropy(s, base=len(s)), abs=1e-9)


@pytest.mark.parametrize("order", [0.5, 1.5, 2, 3])
def test_renyi_tends_to_shannon_and_has_its_closed_form(order):
    s = np.arange(1.0, 9.0)
    p = s / s.sum()
    assert effective_rank(s, order=order) == pytest.approx((p**order).sum() ** (1 / (1 - order)), rel=1e-12)
    assert effective_rank(s, order=1 + 1e-7) == pytest.approx(effective_rank(s), rel=1e-6)


def test_counts():
    s = np.array([10.0, 1.0, 0.011, 0.009])
    assert numerical_rank(s) == 3 and numerical_rank(s, threshold=0) == 4 and numerical_rank(s, threshold=0.5) == 1
    squares = np.sqrt([90.0, 9.0, 1.0])
    assert [int(rank_at(squares, share)) for share in (0.5, 0.9, 0.99, 1.0)] == [1, 1, 2, 3]


def test_many_spectra_at_once_are_each_for_itself():
    s = np.random.default_rng(0).exponential(size=(3, 4, 7))
    for measure in (*MEASURES, numerical_rank, rank_at, spectral_entropy):
        whole = measure(s)
        assert whole.shape == (3, 4)
        assert whole[1, 2] == pytest.approx(measure(s[1, 2]), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: effective_rank([]), "expected"),
        (lambda: effective_rank(1.0), "expected"),
        (lambda: effective_rank([1.0, -1e-9]), "negative"),
        (lambda: stable_rank([1.0, np.nan]), "non-finite"),
        (lambda: participation_ratio([[1.0], [0.0]]), "zeros"),
        (lambda: effective_rank([1.0], order=-1), "order: got -1"),
        (lambda: effective_rank([1.0], power=0), "power: got 0"),
        (lambda: numerical_rank([1.0], threshold=1), "threshold: got 1"),
        (lambda: rank_at([1.0], 0), "energy: got 0"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
