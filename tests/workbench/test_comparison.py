"""Results beside each other: each kind of column by its own rule, whatever the order of the rows."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from workbench.comparison import Word, compare_records, compare_results, worst_first
from workbench.record import Record
from workbench.results import Kind, Result, Table, exact, note, numeric, statistical, timing

COLUMNS = {
    "beta": exact(), "seed": exact("int"), "neurons": exact("int"), "gain": numeric("V"), "accuracy": statistical("%"),
    "took": timing(), "remark": note(),
}  # fmt: skip
finite = st.floats(-1e6, 1e6)


def result(rows, columns=None, **parts):
    columns = columns or COLUMNS
    return Result({"runs": Table(columns, [{name: row[name] for name in columns} for row in rows])}, **parts)


def row(beta=0.5, seed=0, **values):
    base = {"beta": beta, "seed": seed, "neurons": 8, "gain": 1.0, "accuracy": 90.0, "took": 1.0, "remark": ""}
    return base | values


def words(quantities):
    return {one.label: one.word for one in quantities}


rows_of = st.lists(
    st.builds(row, beta=st.sampled_from([0.1, 0.5, 0.9]), seed=st.integers(0, 2), gain=finite | st.just(math.nan),
              accuracy=finite, took=finite, remark=st.text(max_size=2)),
    max_size=8, unique_by=lambda one: (one["beta"], one["seed"]),
)  # fmt: skip


@given(rows_of, st.randoms())
def test_a_result_is_the_same_as_itself_in_any_order_with_other_times_and_notes(rows, random):
    other = [one | {"took": 5.0, "remark": "again"} for one in rows]
    random.shuffle(other)
    array = np.array([1.0, math.nan])
    found = compare_results(result(rows, arrays={"a": array}), result(other, arrays={"a": array.copy()}))
    assert {one.word for one in found} == {Word.SAME}
    assert not any("took" in one.name or "remark" in one.name for one in found)


@given(rows_of, rows_of)
def test_the_words_do_not_depend_on_which_comes_first(one, other):
    there = words(compare_results(result(one), result(other)))
    assert there == words(compare_results(result(other), result(one)))


@pytest.mark.parametrize(("gain", "word"), [(1.0 + 1e-6, Word.WITHIN), (1.001, Word.DRIFT), (math.nan, Word.DRIFT)])
def test_numeric_values_may_differ_as_machines_round(gain, word):
    found = compare_results(result([row()]), result([row(gain=gain)]))
    (drifted,) = [one for one in found if one.name == "runs.gain"]
    assert drifted.word is word and drifted.kind is Kind.NUMERIC and drifted.unit == "V"
    assert drifted.where == {"beta": 0.5} and drifted.values[0] == 1.0


def test_an_entry_near_zero_is_judged_by_the_size_of_its_column():
    big, tiny = row(0.1, gain=1e3), row(0.9, gain=1e-9)
    found = words(compare_results(result([big, tiny]), result([big, tiny | {"gain": 3e-9}])))
    assert found["runs.gain at beta 0.9"] is Word.WITHIN
    found = words(compare_results(result([tiny]), result([tiny | {"gain": 3e-9}])))
    assert found["runs.gain at beta 0.9"] is Word.DRIFT


def test_an_exact_value_is_equal_or_not():
    found = words(compare_results(result([row()]), result([row(neurons=9)])))
    assert found["runs.neurons at beta 0.5"] is Word.DRIFT and found["runs.gain at beta 0.5"] is Word.SAME


@given(st.lists(finite, min_size=2, max_size=6), st.lists(finite, min_size=2, max_size=6))
def test_means_over_seeds_drift_where_welch_s_test_tells_them_apart(a, b):
    sides = [result([row(seed=i, accuracy=v) for i, v in enumerate(values)]) for values in (a, b)]
    (found,) = [one for one in compare_results(*sides) if one.name == "runs.accuracy"]
    assert found.where == {"beta": 0.5} or len(a) == 1
    assert found.values == (pytest.approx(np.mean(a)), pytest.approx(np.mean(b)))
    if np.var(a) + np.var(b) < 1e-9 * (np.mean(a) ** 2 + np.mean(b) ** 2) + 1e-30:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # values that are almost equal
        p = ttest_ind(a, b, equal_var=False).pvalue
    if found.values[0] == found.values[1]:
        assert found.word is Word.SAME
    elif abs(p - 0.05) > 1e-6:
        assert found.word is (Word.DRIFT if p < 0.05 else Word.WITHIN)


def test_seeds_that_agree_to_the_last_bit_do_not_drift_by_rounding():
    value = 0.1 + 0.2
    sides = [result([row(seed=i, accuracy=value) for i in range(n)]) for n in (3, 7)]
    assert words(compare_results(*sides))["runs.accuracy at beta 0.5"] in (Word.SAME, Word.WITHIN)


def test_a_single_seed_is_compared_with_a_share_of_its_value():
    found = words(compare_results(result([row()]), result([row(accuracy=88.0)])))
    assert found["runs.accuracy at beta 0.5"] is Word.WITHIN
    found = words(compare_results(result([row()]), result([row(accuracy=70.0)])))
    assert found["runs.accuracy at beta 0.5"] is Word.DRIFT


def test_what_is_missing_or_of_another_kind_is_said():
    less = {name: column for name, column in COLUMNS.items() if name != "gain"}
    other = COLUMNS | {"gain": numeric("mV")}
    assert words(compare_results(result([row()]), result([row()], less)))["runs.gain"] is Word.MISSING
    assert words(compare_results(result([row()]), result([row()], other)))["runs.gain"] is Word.NOT_COMPARABLE
    assert words(compare_results(result([row(0.1), row(0.9)]), result([row(0.1)])))["runs: rows"] is Word.MISSING
    assert words(compare_results(result([row()]), Result()))["runs: rows"] is Word.MISSING
    a, b = result([], arrays={"a": np.zeros(3)}), result([], arrays={"a": np.zeros(4), "b": np.zeros(1)})
    found = words(compare_results(a, b))
    assert found["array a"] is Word.NOT_COMPARABLE and found["array b"] is Word.MISSING


def test_arrays_are_told_by_the_entry_that_differs_most():
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    for change, word in ((1e-6, Word.WITHIN), (0.5, Word.DRIFT)):
        b = a.copy()
        b[1, 0] += change
        (found,) = [one for one in compare_results(result([], arrays={"a": a}), result([], arrays={"a": b}))
                    if one.name == "array a"]  # fmt: skip
        assert (found.label, found.word, found.difference) == ("array a at entry 1, 0", word, pytest.approx(change))
    found = words(compare_results(result([], arrays={"a": np.arange(3)}), result([], arrays={"a": np.arange(1, 4)})))
    assert found["array a"] is Word.DRIFT


def test_files_are_compared_by_their_bytes(tmp_path):
    for name, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / name).write_text(text)
    files = [result([], files={"f": tmp_path / name}) for name in "abc"]
    assert words(compare_results(files[0], files[1]))["file f"] is Word.SAME
    assert words(compare_results(files[0], files[2]))["file f"] is Word.DRIFT


def test_of_many_rows_the_worst_is_named():
    rows = [row(i, gain=1.0) for i in range(1000)]
    other = [dict(one) for one in rows]
    for i, change in ((17, 0.1), (700, 0.5), (3, 1e-6)):
        other[i]["gain"] += change
    (found,) = [one for one in compare_results(result(rows), result(other)) if one.name == "runs.gain"]
    assert (found.where, found.n, found.drifting, found.word) == ({"beta": 700}, 1000, 2, Word.DRIFT)
    assert worst_first(compare_results(result(rows), result(other)))[0] == found


def test_records_differ_in_what_they_say_and_nothing_else():
    facts = {"code": "c1", "revision": "r1", "device": "cpu", "threads": 1, "blas": {"numpy": "openblas 0.3"},
             "versions": {"torch": "2.13"}, "packages": {"torch": "2.13", "numpy": "2.4"},
             "data": [{"control": "recording", "name": "walk.npz", "sha256": "a" * 64}]}  # fmt: skip
    a = Record("a-study", "climb", "k1", {"beta": "0.5", "seed": "0"}, terms_hash="t1", provenance=facts)
    assert compare_records(a, replace(a, run="r2", started=3.0, took=9.0, owner="ada")) == []
    changed = facts | {
        "code": "c2", "blas": {"numpy": "mkl"}, "packages": {"torch": "2.14"}, "versions": {"torch": "2.14"},
        "data": [{"control": "recording", "name": "walk.npz", "sha256": "b" * 64}], "took": 99, "peak_memory": 1,
    }  # fmt: skip
    b = replace(a, controls={"beta": "0.9", "seed": "0"}, provenance=changed)
    assert [(c.part, c.name, *c.values) for c in compare_records(a, b)] == [
        ("controls", "beta", "0.5", "0.9"),
        ("data", "recording", "walk.npz aaaaaaaaaaaa", "walk.npz bbbbbbbbbbbb"),
        ("code", "code", "c1", "c2"),
        ("environment", "blas.numpy", "openblas 0.3", "mkl"),
        ("packages", "torch", "2.13", "2.14"),
        ("packages", "numpy", "2.4", ""),
    ]
