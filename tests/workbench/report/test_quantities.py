"""Named quantities: every number of a run, under one name, with the tolerance that its kind asks for."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from workbench.claims import Above, Claim, Evidence, Judgement, Verdict
from workbench.registry import registry
from workbench.report.quantities import (
    CELLS,
    ENTRIES,
    LISTED,
    Quantity,
    array_quantities,
    claim_quantities,
    quantities_of,
    table_quantities,
)
from workbench.report.view_quantities import frame_quantities, shown_quantities
from workbench.results import Result, Table, exact, note, numeric, statistical, timing
from workbench.run_protocol import LocalRun
from workbench.snapshot import Shown, Snapshot, settle


def by_name(quantities):
    found = list(quantities)
    names = [q.name for q in found]
    assert len(set(names)) == len(names), names
    return dict(zip(names, found, strict=True))


COLUMNS = {"beta": exact(), "seed": exact("int"), "accuracy": statistical("%"), "norm": numeric("V"), "took": timing(),
           "said": note()}  # fmt: skip


def table(accuracies, *, seeds=3):
    return Table(COLUMNS, [
        {"beta": 0.1 * (i // seeds), "seed": i % seeds, "accuracy": a, "norm": 2.0 * i, "took": 1.0, "said": "x"}
        for i, a in enumerate(accuracies)
    ])  # fmt: skip


def test_a_short_table_gives_a_quantity_a_cell_named_by_its_row():
    found = by_name(table_quantities("sweep/runs", table([50.0, 52.0, 54.0, 10.0, 10.0, 10.0])))
    assert found["sweep/runs/rows"].value == 6
    cell = found["sweep/runs/accuracy[beta=0.0,seed=1]"]
    assert (cell.value, cell.unit, cell.kind) == (52.0, "%", "statistical")
    half = t.ppf(0.995, 2) * 2.0 * math.sqrt(1 + 1 / 3)  # another draw from three with standard deviation 2
    assert cell.interval == pytest.approx((52 - half, 52 + half))
    norm = found["sweep/runs/norm[beta=0.1,seed=2]"]
    assert (norm.kind, norm.rtol, norm.atol) == ("numeric", 1e-5, pytest.approx(1e-8 * 10))
    assert found["sweep/runs/took[beta=0.0,seed=0]"].kind == "timing"
    assert not any("said" in name or name.startswith("sweep/runs/beta") for name in found)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=9))
def test_a_statistical_cell_lies_in_its_own_interval(values):
    for one in table_quantities("t", table(values)):
        if one.kind == "statistical":
            assert one.interval[0] <= one.value <= one.interval[1]


def test_a_missing_value_has_no_interval_and_one_seed_alone_gets_a_share():
    found = by_name(table_quantities("t", table([math.nan, 40.0, math.nan], seeds=3)))
    assert found["t/accuracy[beta=0.0,seed=0]"].interval is None
    assert found["t/accuracy[beta=0.0,seed=1]"].interval == pytest.approx((38.0, 42.0))


def test_a_long_table_gives_a_list_a_column_and_the_mean_of_what_was_drawn():
    rng = np.random.default_rng(0)
    accuracies = rng.normal(50, 4, CELLS + 1)
    found = by_name(table_quantities("t", table(accuracies, seeds=1)))
    assert found["t/accuracy"].value == accuracies.tolist() and found["t/accuracy"].interval is None
    low, high = found["t/accuracy/mean"].interval
    assert low < found["t/accuracy/mean"].value < high < low + 8  # far narrower than a single value
    assert len(found["t/beta"].value) == CELLS + 1 and found["t/beta"].kind == "exact"
    huge = by_name(table_quantities("t", table(rng.normal(0, 1, LISTED + 1), seeds=1)))
    assert len(huge["t/norm/sample"].value) == ENTRIES and len(huge["t/norm/digest"].value) == 64
    assert len(huge["t/beta/values"].value) == 64 and huge["t/beta/values"].kind == "exact"


def test_rows_that_nothing_tells_apart_are_counted():
    same = Table({"x": numeric()}, [{"x": 1.0}, {"x": 1.0}])
    assert [q.name for q in table_quantities("t", same)] == ["t/rows", "t/x[0]", "t/x[1]"]


@given(st.integers(0, 300), st.sampled_from(["f8", "f4", "i8"]))
def test_an_array_is_whole_or_has_digest_and_sample(size, dtype):
    array = (np.random.default_rng(size).normal(size=size) * 100).astype(dtype)
    found = by_name(array_quantities("a", array))
    if size <= ENTRIES:
        assert found["a"].value == array.tolist()
        return
    assert found["a/digest"].of_bytes and not found["a/sample"].of_bytes
    entries = found["a/sample"].value
    assert len(entries) == ENTRIES and entries[0] == array[0] and entries[-1] == array[-1]
    assert found["a/sample"].kind == ("exact" if dtype == "i8" else "numeric")
    changed = array.copy()
    changed[size // 2] += 1
    assert by_name(array_quantities("a", changed))["a/digest"] != found["a/digest"]
    assert by_name(array_quantities("a", array.astype("f2")))["a/digest"] != found["a/digest"]


def judged(evidence):
    claim = Claim("3a", "It rises.", lambda: evidence, Above(1.0, unit="V"))
    return by_name(claim_quantities(Judgement(claim, Verdict.HOLDS, evidence), "numeric"))


def test_a_claim_gives_verdict_estimate_interval_and_count():
    found = judged(Evidence(2.0, (1.5, 2.5), "seeds", 4, "Over 4 seeds."))
    assert found["claim/3a/verdict"].value == "holds" and found["claim/3a/verdict"].kind == "exact"
    assert found["claim/3a/estimate"].interval == (1.5, 2.5) and found["claim/3a/estimate"].unit == "V"
    assert found["claim/3a/low"].interval == (0.5, 2.5) and found["claim/3a/high"].interval == (1.5, 3.5)
    assert (found["claim/3a/n"].value, found["claim/3a/n"].unit) == (4, "seeds")
    plain = judged(Evidence.exact(2.0, "24 tones.", n=24))
    assert plain["claim/3a/estimate"].kind == "numeric" and plain["claim/3a/estimate"].atol == pytest.approx(1e-3)
    assert "claim/3a/low" not in plain


def test_a_figure_gives_its_arrays_marks_and_words_but_not_its_looks():
    figure = {
        "data": [{"type": "scatter", "name": "wave", "x": pd.Series([1, 2]), "y": [0.5, None], "text": ["a", "b"],
                  "marker": {"color": [1.5, 2.5], "size": 7}, "line": {"width": 2}, "hovertemplate": "%{x}"},
                 {"type": "heatmap", "z": [[1.0, 2.0], [3.0, 4.0]]},
                 {"x": {"dtype": "i2", "bdata": "AQACAA=="}, "dimensions": [{"values": [1, 2]}]}],
        "layout": {"shapes": [{"x0": 0, "x1": 1, "line": {"width": 3}}], "annotations": [{"text": "β = 0.5"}]},
    }  # fmt: skip
    found = by_name(shown_quantities("view/w", Shown("figure", figure, "It rises by 3.2 V")))
    assert found["view/w/title"].value == "It rises by 3.2 V"
    assert found["view/w/data[0]/x"].value == [1, 2] and found["view/w/data[0]/x"].kind == "exact"
    assert repr(found["view/w/data[0]/y"].value) == "[0.5, nan]" and found["view/w/data[0]/y"].kind == "numeric"
    assert found["view/w/data[0]/text"].value == ["a", "b"] and found["view/w/data[0]/marker/color"].value == [1.5, 2.5]
    assert found["view/w/data[1]/z"].value == [1.0, 2.0, 3.0, 4.0] and found["view/w/data[1]/z/shape"].value == [2, 2]
    assert found["view/w/data[2]/x"].value == [1, 2] and found["view/w/data[2]/dimensions[0]/values"].value == [1, 2]
    assert found["view/w/shapes[0]"].value == [0, 1] and found["view/w/annotations[0]"].value == "β = 0.5"
    assert not any("hover" in name or "width" in name or "size" in name for name in found)


def test_a_table_that_a_view_shows_gives_its_columns():
    frame = pd.DataFrame({"n": [1, 2], "name": ["a", "b"], "when": pd.to_datetime(["2026-01-01", "2026-01-02"])})
    found = by_name(frame_quantities("view/t", frame, "numeric"))
    assert found["view/t/rows"].value == 2 and found["view/t/n"].value == [1, 2]
    assert found["view/t/name"].value == ["a", "b"] and "2026-01-01" in found["view/t/when"].value[0]


@pytest.fixture
def cooked(kitchen):
    """The kitchen sink at quick with its results."""
    study = registry().get("kitchen-sink")
    snapshot = Snapshot(study, settle(study, preset="quick"))
    results, runs = {}, []
    for name in ("climb", "repeats"):
        runs.append(LocalRun(0, study.experiments[name].tables))
        results[name] = snapshot.with_results(results).perform(name, runs[-1])
    return snapshot, results, runs


def test_a_study_gives_results_claims_and_views_under_names_of_their_own(cooked):
    snapshot, results, _ = cooked
    found = by_name(quantities_of(snapshot, results))
    assert found["climb/digest"].value == results["climb"].digest
    assert found["climb/heights/height[step=3]"].value == results["climb"]["heights"].height[3]
    assert found["repeats/array/heights"].value == results["climb"]["heights"].height.tolist()
    assert found["climb/file/wave.csv/digest"].of_bytes
    assert found["view/curve/title"].value == "The wave reaches 1.00 V"
    assert found["view/progress/data[0]/y"].kind == "statistical"
    assert found["view/numbers/largest"].unit == "V" and found["claim/5/verdict"].value == "needs scale"
    assert len(found["view/huge/row/digest"].value) == 64


def test_what_shows_durations_is_never_compared(cooked):
    """A view that draws how long steps took is told from one that does not by what it shows of other durations."""
    snapshot, results, _ = cooked
    study = snapshot.study

    def clocked(climb):
        took = climb["heights"].took
        return {"data": [{"y": climb["heights"].height, "x": took}], "layout": {"title": {"text": f"{took.sum()} s"}}}

    view = replace(study.views["progress"], function=clocked, needs=("climb",))
    before = study.views["progress"]
    study.views["progress"] = view
    try:
        found = by_name(quantities_of(snapshot, results))
    finally:
        study.views["progress"] = before
    assert found["view/progress/data[0]/x"].kind == found["view/progress/title"].kind == "timing"
    assert found["view/progress/data[0]/y"].kind == "statistical"


def test_a_claim_on_a_ratio_of_durations_is_never_compared(cooked):
    """All durations are not slowed alike, for then their ratio, and a verdict that rests on it, would stand still."""
    snapshot, results, _ = cooked
    study = snapshot.study

    def faster(climb):
        took = climb["heights"].took.to_numpy() + 1e-9
        return Evidence.exact(took[-1] / took[0])

    before = study.claims["1"]
    study.claims["1"] = replace(before, function=faster, needs=("climb",), expects=Above(0.0, "ratio"))
    try:
        found = by_name(quantities_of(snapshot, results))
    finally:
        study.claims["1"] = before
    kinds = {name: one.kind for name, one in found.items() if name.startswith("claim/1/")}
    assert "claim/1/verdict" in kinds and set(kinds.values()) == {"timing"}
    assert found["claim/2/verdict"].kind != "timing"


def test_a_refused_view_is_a_quantity_too(cooked):
    snapshot, results, _ = cooked
    study = snapshot.study

    def refuses(amplitude):
        from workbench.controls import ControlError

        raise ControlError("amplitude", "got 1; expected more")

    before = study.views["curve"]
    study.views["curve"] = replace(before, function=refuses, needs=("amplitude",))
    try:
        found = by_name(quantities_of(snapshot, {}))
    finally:
        study.views["curve"] = before
    assert found["view/curve/refused"].value == "amplitude: got 1; expected more"
    assert found["claim/2/verdict"].value == "not judged" and not results["climb"].arrays


def test_quantities_are_plain():
    result = Result({"t": Table({"n": exact("int")}, [{"n": 1}])}, {"z": np.array([1 + 2j])}, complete=True)
    found = by_name(array_quantities("z", result.arrays["z"]))
    assert found["z"].value == [1.0, 2.0] and all(isinstance(q, Quantity) for q in found.values())
