"""Verdicts follow from expectation and evidence alone."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workbench.claims import Above, Below, Claim, Evidence, NeedsScale, Verdict, Within, judge

finite = st.floats(-1e6, 1e6)


@given(finite, finite, finite, finite)
def test_inside_holds_outside_fails_across_is_inconclusive(a, b, c, d):
    (low, high), (x, y) = sorted((a, b)), sorted((c, d))
    assume(low < high)
    verdict = Within(low, high).verdict(Evidence((x + y) / 2 if x != y else x, (x, y), "seeds", 5))
    inside, outside = low <= x and y <= high, y < low or x > high
    assert verdict == (Verdict.HOLDS if inside else Verdict.FAILS if outside else Verdict.INCONCLUSIVE)


@given(finite, finite)
def test_an_exact_value_is_never_inconclusive(bound, value):
    assert Above(bound).verdict(Evidence.exact(value)) == (Verdict.HOLDS if value > bound else Verdict.FAILS)
    assert Below(bound).verdict(Evidence.exact(value)) == (Verdict.HOLDS if value < bound else Verdict.FAILS)


def test_too_few_units_are_inconclusive_and_say_so():
    claim = Claim("1", "s", expects=Above(0, "gain", at_least=5))
    judged = judge(claim, Evidence(1.0, (0.5, 1.5), "seeds", 4))
    assert judged.verdict == Verdict.INCONCLUSIVE
    assert judged.why == "4 of at least 5 seeds that a verdict needs."
    assert judge(claim, Evidence(1.0, (0.5, 1.5), "seeds", 5)).verdict == Verdict.HOLDS


def test_an_exact_value_over_too_few_cases_is_inconclusive():
    judged = judge(Claim("1", "s", expects=Below(1, "error", at_least=8)), Evidence.exact(0.5, n=7))
    assert (judged.verdict, judged.why) == (Verdict.INCONCLUSIVE, "7 of at least 8 cases that a verdict needs.")


def test_needs_scale_gives_reason_and_command():
    judged = judge(Claim("1", "s", expects=Above(0)), NeedsScale("Needs a board.", "assay run x"))
    assert (judged.verdict, judged.why, judged.command) == (Verdict.NEEDS_SCALE, "Needs a board.", "assay run x")


@pytest.mark.parametrize(
    ("estimate", "interval", "over", "n"),
    [
        (math.nan, (0, 1), "seeds", 1), (0.5, (0, math.nan), "seeds", 1), (2, (0, 1), "seeds", 1),
        (0.5, (0, 1), "exact", 1), (0.5, (0, 1), "seeds", 0),
    ],
)  # fmt: skip
def test_evidence_that_cannot_be_is_refused(estimate, interval, over, n):
    with pytest.raises(ValueError, match="evidence"):
        Evidence(estimate, interval, over, n)


def test_words_of_an_expectation():
    assert Below(1e-6, unit="Hz").words == "below 1e−06 Hz"
    assert Above(0.2).words == "above 0.2"
    assert Within(-1, 2, unit="V").words == "−1 to 2 V"
