"""Settings and snapshots, on the kitchen-sink study."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from assay.data import sample
from workbench.claims import Verdict
from workbench.pool import Pool
from workbench.registry import registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, as_shown, settle
from workbench.sources import find_source
from workbench.study import ControlError, Paper, Stat, Study, StudyError


@pytest.fixture
def study(kitchen):
    return registry().get("kitchen-sink")


def test_defaults_give_way_to_presets_and_presets_to_what_was_set(study):
    assert settle(study).values["steps"] == 40
    assert settle(study, preset="quick").values["steps"] == 5
    assert settle(study, {"steps": "7"}, "quick").values["steps"] == 7
    assert settle(study, {"steps": "7"}, "quick").user == {"steps": 7}


def test_values_not_names_of_presets_enter_keys(study):
    quick = Snapshot(study, settle(study, preset="quick"))
    by_hand = Snapshot(study, settle(study, {"steps": 5, "pause": 0}, "standard"))
    assert quick.key("climb") == by_hand.key("climb")
    assert quick.key("climb") != Snapshot(study, settle(study)).key("climb")


def test_only_controls_that_a_member_reaches_enter_its_key(study):
    base = Snapshot(study, settle(study))
    for other in ({"caption": "other"}, {"mixing": "2,0;0,1"}, {"recording": "sample:synthetic-high"}):
        assert Snapshot(study, settle(study, other)).key("climb") == base.key("climb")
    for other in ({"amplitude": 2}, {"seed": 1}, {"noisy": True}):
        assert Snapshot(study, settle(study, other)).key("climb") != base.key("climb")


def test_an_alias_sets_its_control(study):
    settings = settle(study, {"period": 0.25})
    assert settings.values["frequency"] == 4.0 and settings.user == {"frequency": 4.0}
    snapshot = Snapshot(study, settings)
    assert snapshot.handle("period") == 0.25
    assert snapshot.handle_bounds("period") == pytest.approx((1 / 50, 10))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"beta": 1}, "control: got 'beta'; expected one of seed, seeds, amplitude"),
        ({"frequency": 2, "period": 1}, "period: sets frequency, which is set as frequency too; expected one"),
        ({"period": 0}, "period: got 0; expected a number s that gives frequency a number from 0.1 to 50 Hz"),
        ({"period": 100}, "period: got 100, for which frequency is 0.01; expected a number from 0.1 to 50 Hz"),
        ({"period": True}, "period: got True .bool.; expected a number s"),
        ({"part": "part 9"}, "part: got 'part 9'; expected one of part 1, part 2, part 3"),
        ({"recording": "/not/there.npz"}, "recording: there.npz is not there; expected a file or folder"),
        ({"recording": "sample:nope"}, "recording: got 'nope'; expected one of radhar, synthetic-low"),
        ({"recording": "sha256:" + "0" * 64}, "recording: sha256:000000000000… is not on this machine"),
    ],
)
def test_bad_input_gets_a_sentence(study, values, sentence):
    with pytest.raises(ControlError, match=f"^{sentence}"):
        settle(study, values)
    with pytest.raises(ControlError, match="preset: got 'fast'"):
        settle(study, {}, "fast")


def test_an_empty_file_is_refused(study, tmp_path):
    (tmp_path / "empty.npz").touch()
    with pytest.raises(ControlError, match=r"empty\.npz is empty; expected data"):
        settle(study, {"recording": str(tmp_path / "empty.npz")})


def test_paths_outside_the_roots_are_refused(study, tmp_path):
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "x.npz").write_bytes(b"1")
    (inside / "link.npz").symlink_to(outside / "x.npz")
    settle(study, {"recording": str(inside / "x.npz")}, roots=(inside,))
    for path in (outside / "x.npz", inside / ".." / "out" / "x.npz", inside / "link.npz"):
        with pytest.raises(ControlError, match="lies in no folder that may be read"):
            settle(study, {"recording": str(path)}, roots=(inside,))
    reference = find_source(str(outside / "x.npz")).reference  # opened here before, by someone who may
    with pytest.raises(ControlError, match="is not on this machine"):
        settle(study, {"recording": reference}, roots=(outside / "deeper",))


def test_an_impossible_value_falls_back_with_a_notice(study):
    settings = settle(study, {"part": "part 3", "parts": 2}, strict={"parts"})
    assert settings.values["part"] == "part 1" and "part" not in settings.user
    assert settings.notices == ("Part 'part 3' is not there now; it is 'part 1' instead.",)
    assert list(settings.controls["part"].options) == ["part 1", "part 2"]


def test_prepared_values_are_computed_once_for_a_setting(study, monkeypatch):
    pool, calls = Pool(), []
    wave = study.preparations["wave"]
    settings = settle(study, pool=pool)
    snapshot = Snapshot(study, settings, pool=pool)
    key = snapshot.key("wave")
    assert pool.get(key, lambda: calls.append(1) or wave(1.0, 2.0, 200, "sine", False, 0)) is snapshot.value("wave")
    assert Snapshot(study, settle(study, {"caption": "x"}), pool=pool).value("wave") is snapshot.value("wave")
    assert calls == [1]


def test_a_second_stage_wants_the_first(study):
    snapshot = Snapshot(study, settle(study, preset="quick"))
    tables = study.experiments["repeats"].tables
    with pytest.raises(ControlError, match="repeats: needs the result of “Climb the wave”"):
        snapshot.perform("repeats", LocalRun(0, tables))
    climb = snapshot.perform("climb", LocalRun(0, study.experiments["climb"].tables))
    result = snapshot.with_results({"climb": climb}).perform("repeats", LocalRun(0, tables))
    assert result.complete and len(result["means"]) == 2 and result.arrays["heights"].shape == (5,)


def test_claims_wait_for_their_run_and_are_judged_after_it(study):
    snapshot = Snapshot(study, settle(study, preset="quick"))
    assert snapshot.judge("1").verdict == Verdict.HOLDS
    waiting = snapshot.judge("2")
    assert (waiting.verdict, waiting.why) == (Verdict.NOT_JUDGED, "Waits for “Climb the wave”.")
    climb = snapshot.perform("climb", LocalRun(0, study.experiments["climb"].tables))
    assert snapshot.with_results({"climb": climb}).judge("2").verdict == Verdict.HOLDS
    climb.complete = False
    assert snapshot.with_results({"climb": climb}).judge("2").verdict == Verdict.NOT_JUDGED
    assert snapshot.judge("5").why == "Needs an ocean."


def test_views_come_in_four_forms():
    figure = go.Figure(layout={"title": {"text": "Finding", "subtitle": {"text": "line"}}, "height": 300})
    shown = as_shown("Quantity", figure)
    assert (shown.kind, shown.title, shown.subtitle) == ("figure", "Finding", "line")
    assert "title" not in shown.content["layout"] and shown.content["layout"]["height"] == 300
    assert as_shown("Quantity", {"data": [], "layout": {}}).title == "Quantity"
    assert as_shown("Quantity", pd.DataFrame({"x": [1]})).kind == "table"
    assert as_shown("Quantity", [Stat("a", 1)]).kind == "stats"
    assert as_shown("Quantity", "words").kind == "text"
    with pytest.raises(StudyError, match="returned ndarray"):
        as_shown("Quantity", np.zeros(3))


def test_what_our_own_code_refuses_is_a_sentence_and_what_a_library_refuses_is_a_fault():
    study = Study("case", paper=Paper("T", "0000.00000"), question="q?")
    study.number("fs", -1.0, bounds=(-2, 2), doc="d")

    @study.prepared
    def opened(fs):
        return sample("no such sample")

    @study.view("Refused by the library")
    def refused(opened): ...

    @study.view("Refused by numpy")
    def faulty(fs):
        return np.zeros(3).reshape(2, 2)

    snapshot = Snapshot(study, settle(study))
    with pytest.raises(ControlError, match=r"expected one of radhar") as caught:
        snapshot.show("refused")
    assert caught.value.field == ""
    with pytest.raises(ValueError, match="cannot reshape") as caught:
        snapshot.show("faulty")
    assert not isinstance(caught.value, ControlError)
