"""Judging: the word follows from kind and tolerance alone; twice the tolerance is never let through."""

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from workbench.comparison import Word
from workbench.report.judgement import counted, judge_all, judge_one, worst_first
from workbench.report.quantities import Quantity

NUMBERS = st.floats(-1e12, 1e12)
SMALL = st.floats(0, 1e-2)


def word(then, now, *, alike=False, **how):
    quantity = Quantity("q", then, **how)
    return judge_one(quantity, replace(quantity, value=now), alike=alike).word


@given(NUMBERS, SMALL, SMALL, st.floats(-0.999, 0.999))
def test_a_number_within_its_tolerance_is_within_and_at_twice_it_drifts(value, rtol, atol, share):
    tolerance = atol + rtol * abs(value)
    assume(tolerance > 1e-12 * max(abs(value), 1e-290))
    near, far = value + share * tolerance, value + 2 * tolerance
    assert word(value, value, rtol=rtol, atol=atol) is Word.SAME
    assert word(value, near, rtol=rtol, atol=atol) in (Word.SAME, Word.WITHIN)
    found = judge_one(Quantity("q", value, rtol=rtol, atol=atol), Quantity("q", far), alike=True)
    assert found.word is Word.DRIFT and found.far == pytest.approx(2, rel=1e-3) and found.tolerance == tolerance


@given(NUMBERS, st.floats(1e-6, 1e6), st.floats(0, 1), st.sampled_from([-1, 1]))
def test_a_draw_within_its_interval_is_within_and_one_outside_drifts(middle, half, share, side):
    assume(middle + half != middle)
    low, high = middle - half, middle + half
    then = low + share * (high - low)
    assume(low <= then <= high)
    other = min(max(middle + side * half * (1 - share), low), high)
    assert word(then, other, kind="statistical", interval=(low, high)) in (Word.SAME, Word.WITHIN)
    assert word(then, middle + 2 * side * half, kind="statistical", interval=(low, high)) is Word.DRIFT


def test_a_draw_that_was_edited_out_of_its_interval_is_caught_though_the_new_one_lies_in_it():
    edited = Quantity("q", 3.0, kind="statistical", interval=(0.0, 1.0))
    found = judge_one(edited, Quantity("q", 0.5, kind="statistical", interval=(0.0, 1.0)), alike=True)
    assert found.word is Word.DRIFT and "outside its own interval" in found.why
    same = judge_one(edited, Quantity("q", 3.0, kind="statistical", interval=(0.0, 1.0)), alike=True)
    assert same.word is Word.DRIFT


@pytest.mark.parametrize(
    ("then", "now", "how", "wanted"),
    [
        (math.nan, math.nan, {}, Word.SAME),
        (math.nan, 1.0, {"rtol": 1.0}, Word.DRIFT),
        (math.inf, math.inf, {}, Word.SAME),
        (math.inf, 1e308, {"rtol": 1.0}, Word.DRIFT),
        (1, 1.0, {}, Word.SAME),
        (True, 1, {"kind": "exact"}, Word.NOT_COMPARABLE),
        (3, 4, {"kind": "exact"}, Word.DRIFT),
        ("a", "b", {"kind": "exact"}, Word.DRIFT),
        ("a", 1.0, {}, Word.NOT_COMPARABLE),
        (None, 1.0, {}, Word.NOT_COMPARABLE),
        ([1.0, 2.0], [1.0], {}, Word.NOT_COMPARABLE),
        ([1.0, 2.0], [1.0, 2.0], {}, Word.SAME),
        ([1.0, 2.0, math.nan], [1.0, 2.0 + 1e-9, math.nan], {"rtol": 1e-6}, Word.WITHIN),
        (["a", 1.0], ["a", 2.0], {"kind": "exact"}, Word.DRIFT),
        (1.0, 2.0, {"kind": "timing"}, Word.NOT_COMPARABLE),
        (0.0, 1e-9, {"atol": 1e-8}, Word.WITHIN),
        (0.0, -0.0, {"kind": "exact"}, Word.SAME),
    ],
)
def test_corners(then, now, how, wanted):
    assert word(then, now, **how) is wanted


def test_a_list_names_the_entry_that_differs_most():
    quantity = Quantity("q", [1.0, 2.0, 3.0], rtol=1e-3)
    found = judge_one(quantity, replace(quantity, value=[1.0005, 2.1, 3.5]), alike=False)
    assert found.word is Word.DRIFT and found.entry == 2 and (found.then, found.again) == (3.0, 3.5)
    assert found.label == "q, entry 2" and found.far == pytest.approx(0.5 / 3e-3)


def test_digests_are_bound_to_one_numeric_environment():
    digest = Quantity("sweep/digest", "a" * 64, kind="exact")
    other = replace(digest, value="b" * 64)
    assert judge_one(digest, other, alike=True).word is Word.DRIFT
    found = judge_one(digest, other, alike=False)
    assert found.word is Word.NOT_COMPARABLE and "other arithmetic" in found.why
    name = Quantity("sweep/name", "a", kind="exact")
    assert judge_one(name, replace(name, value="b"), alike=False).word is Word.DRIFT


def test_draws_of_unknown_spread_are_compared_only_where_arithmetic_is_alike():
    drawn = Quantity("view/x/data[0]/y", [1.0, 2.0], kind="statistical")
    other = replace(drawn, value=[1.0, 2.1])
    assert judge_one(drawn, other, alike=True).word is Word.DRIFT
    assert judge_one(drawn, other, alike=False).word is Word.NOT_COMPARABLE


@pytest.mark.parametrize(
    ("then", "now", "wanted"),
    [
        ("The wave reaches 1.00 V", "The wave reaches 1.01 V", Word.WITHIN),
        ("The wave reaches 1.00 V", "The wave reaches 1.02 V", Word.DRIFT),
        ("The wave reaches 1.00 V", "The wave reached 1.00 V", Word.DRIFT),
        ("1,234 of 5", "1,235 of 5", Word.WITHIN),
        ("3e-05 below", "4e-05 below", Word.WITHIN),
        ("3e-05 below", "5e-05 below", Word.DRIFT),
        ("−0.5 and 2", "0.5 and 2", Word.DRIFT),
        ("v1 of 3", "v2 of 3", Word.DRIFT),
        ("2026.01.02", "2026.01.03", Word.DRIFT),
    ],
)
def test_sentences_are_compared_by_their_words_and_their_printed_numbers(then, now, wanted):
    assert word(then, now, rtol=1e-5) is wanted


def test_what_is_lacking_on_either_side_is_missing():
    a, b, clock = Quantity("a", 1.0), Quantity("b", 1.0), Quantity("t", 1.0, kind="timing")
    gone = judge_all([a, b], [a], alike=True, same_code=True)
    assert [one.word for one in gone] == [Word.SAME, Word.MISSING]
    left_out = judge_all([a], [a, b, clock], alike=True, same_code=True)
    assert [(one.quantity.name, one.word) for one in left_out if one.quantity.kind != "timing"] == [
        ("a", Word.SAME), ("b", Word.MISSING),
    ]  # fmt: skip
    newer = judge_all([a], [a, b], alike=True, same_code=False)
    assert newer[1].word is Word.NOT_COMPARABLE and "new since" in newer[1].why
    other = judge_all([a], [replace(a, unit="V")], alike=True, same_code=True)
    assert other[0].word is Word.NOT_COMPARABLE and "unit is V" in other[0].why


def test_worst_comes_first_and_timings_are_not_counted():
    def judged(name, value, now):
        return judge_one(Quantity(name, value, rtol=0.1), Quantity(name, now), alike=True)

    found = [judged("same", 1.0, 1.0), judged("near", 1.0, 1.05), judged("far", 1.0, 9.0), judged("off", 1.0, 2.0),
             judge_one(Quantity("t", 1.0, kind="timing"), Quantity("t", 2.0), alike=True),
             judge_one(Quantity("gone", 1.0), None, alike=True)]  # fmt: skip
    assert [one.quantity.name for one in worst_first(found)] == ["far", "off", "gone", "t", "near", "same"]
    assert counted(found) == {
        Word.DRIFT: 2, Word.MISSING: 1, Word.NOT_COMPARABLE: 0, Word.WITHIN: 1, Word.SAME: 1
    }  # fmt: skip
