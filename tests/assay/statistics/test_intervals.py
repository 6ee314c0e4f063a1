"""Intervals in closed form against SciPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.statistics import student_interval, wilson_interval


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_share_has_wilsons_interval(case):
    hits, n = case
    found = wilson_interval(hits / n, n)
    wanted = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert found == pytest.approx((wanted.low, wanted.high), abs=1e-4)
    assert 0 <= found[0] <= hits / n <= found[1] <= 1 and found[0] < found[1]


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60))
def test_a_mean_has_students_interval(values):
    low, high = student_interval(values)
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    assert (low, high) == pytest.approx((np.mean(values) - half, np.mean(values) + half), rel=1e-9, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: wilson_interval(1.2, 5), r"share: got 1\.2; expected 0 to 1\."),
        (lambda: wilson_interval(0.5, 0), r"n: got 0; expected at least 1\."),
        (lambda: student_interval([1.0]), r"values: got shape \(1,\); expected \(n,\) with n at least 2\."),
        (lambda: student_interval([1.0, float("nan")]), "values"),
    ],
)
def test_bad_input_is_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
