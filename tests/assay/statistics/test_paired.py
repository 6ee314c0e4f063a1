"""Paired differences against SciPy's sign-flip test, Student's t and its power."""

import re

import numpy as np
import pytest
from scipy import stats

from assay.statistics import paired_difference


def test_exact_p_is_scipys_sign_flip():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=9) + 0.6, rng.normal(size=9)
    ours = paired_difference(first, second, np.arange(9), rng=rng)
    theirs = stats.permutation_test(
        (first, second), lambda a, b, axis: np.abs((a - b).mean(axis)), permutation_type="samples", vectorized=True,
        n_resamples=np.inf, alternative="greater",
    )  # fmt: skip
    assert ours.exact and ours.p == pytest.approx(theirs.pvalue, abs=1e-12)
    assert ours.interval.estimate == pytest.approx(np.mean(first - second))
    assert ours.standard_error == pytest.approx(stats.sem(first - second))


def test_five_seeds_cannot_go_below_one_sixteenth():
    result = paired_difference(np.arange(5.0) + 10, np.arange(5.0), np.arange(5), rng=np.random.default_rng(0))
    assert result.exact and result.p == 2 / 32
    assert result.interval.note.startswith("Only 5 independent units")


def test_many_units_are_drawn_and_near_students_t():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=60) + 0.25, rng.normal(size=60)
    result = paired_difference(first, second, np.arange(60), rng=rng)
    assert not result.exact
    assert result.p == pytest.approx(stats.ttest_rel(first, second).pvalue, abs=0.02)


def test_pairing_by_unit_removes_what_units_share():
    rng = np.random.default_rng(2)
    shared = 5 * rng.normal(size=20)
    first, second = shared + 0.1 * rng.normal(size=20) + 0.2, shared + 0.1 * rng.normal(size=20)
    result = paired_difference(first, second, np.arange(20), rng=rng)
    assert result.interval.low > 0 and result.p < 0.01


def test_standard_error_of_unequal_units_is_that_of_a_ratio():
    # A bootstrap over units is the oracle of the linearised formula.
    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(60), rng.integers(1, 9, size=60))
    first = rng.normal(size=60)[units] + rng.normal(size=len(units))
    result = paired_difference(first, np.zeros_like(first), units, rng=rng, method="percentile", resamples=20_000)
    implied = float(result.interval.high - result.interval.low) / (2 * 1.96)
    assert result.standard_error == pytest.approx(implied, rel=0.06)


def test_the_detectable_difference_is_found_four_times_in_five():
    rng = np.random.default_rng(4)
    true = (stats.t.ppf(0.975, 19) + stats.t.ppf(0.8, 19)) / np.sqrt(20)
    found, stated = 0, []
    for _ in range(300):
        difference = rng.normal(size=20) + true
        result = paired_difference(difference, np.zeros(20), np.arange(20), rng=rng, resamples=100, flips=199)
        found += result.p <= 0.05
        stated.append(result.detectable)
    assert np.mean(stated) == pytest.approx(true, rel=0.05)
    assert found / 300 == pytest.approx(0.8, abs=0.07)


@pytest.mark.parametrize(
    ("first", "second", "units", "sentence"),
    [
        ([1, 2], [1], [0, 1], "second: got shape (1,) for a first of (2,); expected two of the same (n,)."),
        ([1, 2], [1, 2], [0, 0], "units: got 1 distinct; expected at least 2."),
        ([1, np.nan], [1, 2], [0, 1], "first: got 1 non-finite values; expected finite numbers."),
    ],
)
def test_bad_input_is_one_sentence(first, second, units, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        paired_difference(first, second, units, rng=np.random.default_rng(0))
