"""Several runs beside each other, against what two at a time say."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.comparison import compare_records, compare_results
from workbench.job import State
from workbench.record import Record
from workbench.results import Result, Table, exact, numeric, statistical
from workbench.run_comparison import compared_numbers, differences, headline, listing, short, why_no_numbers

BASE = Record("a-study", "climb", "k", {"amplitude": "1", "shape": "sine"}, run="r", state=State.DONE,
              provenance={"packages": {"torch": "2.1"}, "cores": 2})  # fmt: skip


def record(**controls):
    return replace(BASE, controls={**BASE.controls, **controls})


def result(heights, *, seeds=1):
    columns = {"step": exact("int"), "seed": exact("int"), "height": statistical("V"), "sum": numeric("V")}
    rows = [
        {"step": i, "seed": s, "height": h + s / 100, "sum": h} for i, h in enumerate(heights) for s in range(seeds)
    ]
    return Result({"heights": Table(columns, rows)}, {"wave": np.array(heights)}, complete=True)


def test_every_run_has_its_value_where_one_of_them_differs():
    other = replace(record(amplitude="3"), provenance={"packages": {"torch": "2.2"}, "cores": 2}, device="cuda")
    found = differences([record(), record(shape="saw"), other])
    assert [(one.part, one.name, one.values) for one in found] == [
        ("controls", "shape", ("sine", "saw", "sine")),
        ("controls", "amplitude", ("1", "1", "3")),
        ("asked", "device", ("cpu", "cpu", "cuda")),
        ("packages", "torch", ("2.1", "2.1", "2.2")),
    ]
    assert differences([record(), record()]) == []


@given(st.lists(st.sampled_from(["1", "2", "3"]), min_size=2, max_size=6))
def test_two_at_a_time_say_the_same(values):
    records = [record(amplitude=value) for value in values]
    found = {one.name: one.values for one in differences(records)}
    assert found == ({"amplitude": tuple(values)} if len(set(values)) > 1 else {})
    for i, other in enumerate(records[1:], 1):
        changes = {change.name: change.values[1] for change in compare_records(records[0], other)}
        assert all(found[name][i] == value for name, value in changes.items())


@given(st.lists(st.lists(st.floats(-9, 9), min_size=2, max_size=2), min_size=2, max_size=4))
def test_numbers_are_those_of_two_results_with_the_worst_pair_named(heights):
    results = [result(h, seeds=2) for h in heights]
    found = compared_numbers(results)
    pairs = {i: {q.label: q for q in compare_results(results[0], other)} for i, other in enumerate(results[1:], 1)}
    assert {one.worst.label for one in found} == {label for pair in pairs.values() for label in pair}
    for one in found:
        assert one.worst == pairs[one.at][one.worst.label]
        for i, pair in pairs.items():
            quantity = pair.get(one.worst.label)
            if quantity is not None:
                assert one.values[i] == quantity.values[1] and one.values[0] == quantity.values[0]
                excess = [abs(q.difference or 0) / (q.tolerance or 1e-300) for q in (one.worst, quantity)]
                assert one.worst.word != quantity.word or excess[0] >= excess[1]
    words = [one.worst.word for one in found]
    order = ["drift", "missing", "not comparable", "within tolerance", "same"]
    assert words == sorted(words, key=order.index)


def test_the_run_that_is_furthest_is_named():
    found = compared_numbers([result([1.0, 1.0]), result([1.0, 1.2]), result([1.0, 5.0])])
    assert found[0].at == 2 and found[0].values[0] == 1.0 and found[0].values[2] == 5.0


@pytest.mark.parametrize(
    ("controls", "sentence"),
    [
        ([{}, {"amplitude": "2"}], "A and B differ in amplitude"),
        ([{}, {"amplitude": "2", "shape": "saw"}], "A and B differ in amplitude and shape"),
        ([{}, {"a": "1"}, {"b": "2", "c": "3"}], "A, B and C differ in 3 controls"),
    ],
)
def test_the_headline_names_what_was_set_otherwise(controls, sentence):
    records = [record(**one) for one in controls]
    assert headline(records, differences(records), None) == sentence


def test_the_headline_of_equal_controls_says_what_came_of_it():
    records = [record(), record()]
    ends = {2.0: "every number is equal", 2.0 + 1e-7: "agree within tolerance", 9.0: "3 numbers differ"}
    for end, said in ends.items():
        other = [1.0, end]
        numbers = compared_numbers([result([1.0, 2.0]), result(other)])
        assert headline(records, [], numbers) == f"A and B were asked for the same, and {said}"
    assert headline(records, [], None) == "A and B were asked for the same"
    assert headline([record(), replace(BASE, study="b")], [], None) == "A and B are of different studies"
    assert headline([record(), replace(BASE, experiment="b")], [], None) == "A and B are of different experiments"


def test_why_there_are_no_numbers_is_one_sentence():
    one = result([1.0])
    cases = [
        ([BASE, replace(BASE, study="b")], [one, one], "between runs of one study"),
        ([BASE, replace(BASE, experiment="b")], [one, one], "between runs of one experiment"),
        ([BASE, replace(BASE, state=State.FAILED), BASE], [one, None, None],
         "no numbers to compare: B is failed and the result of C cannot be read."),
        ([BASE, BASE], [one, one], ""),
    ]  # fmt: skip
    for records, results, said in cases:
        assert said in why_no_numbers(records, results)
    assert why_no_numbers(*cases[-1][:2]) == ""


def test_words():
    assert [listing(list("ABCD"[:n])) for n in (1, 2, 4)] == ["A", "A and B", "A, B, C and D"]
    for a, b in product("0f", repeat=2):
        assert short(f"sha256:{(a + b) * 32} x") == f"sha256:{(a + b) * 6}… x"
    assert short("0.123456789012345678901234567890123") == "0.123456789012345678901234567890123"
