"""A study run to its end: what comes out, what is refused, what a failure says."""

import json

import pytest

from workbench.batch import Outcome, RunFailed, pick_device, run, run_study
from workbench.controls import ControlError
from workbench.registry import UnknownStudy

SLUG = "kitchen-sink"


@pytest.fixture
def outcome(kitchen, runner):
    return run_study(SLUG, "climb", {"amplitude": "4"}, preset="quick", device="cpu", runner=runner)


def test_the_outcome_is_what_was_asked_for(outcome):
    assert isinstance(outcome, Outcome)
    assert (outcome.study, outcome.experiment, outcome.preset, outcome.seed) == (SLUG, "climb", "quick", 0)
    assert outcome.controls["amplitude"] == 4.0 and outcome.controls["steps"] == 5
    assert "seed" not in outcome.controls
    assert list(outcome.tables) == ["heights"] and len(outcome["heights"]) == 5
    assert outcome.files["wave.csv"].read_text().startswith("t,y")
    assert outcome.digest == outcome.results["climb"].digest
    with pytest.raises(KeyError, match="no table 'depths'; there are heights"):
        outcome["depths"]


def test_the_json_has_what_the_readme_promises(outcome):
    data = json.loads(json.dumps(outcome.as_json(), allow_nan=False))
    assert list(data) == [
        "study", "experiment", "controls", "preset", "seed", "tables", "claims", "provenance", "digest",
    ]  # fmt: skip
    table = data["tables"]["heights"]
    assert table["columns"] == ["step", "height", "took", "remark"]
    assert table["kinds"] == ["exact", "statistical", "timing", "note"]
    assert [row[0] for row in table["rows"]] == list(range(5))
    for claim in data["claims"]:
        assert {"id", "sentence", "verdict", "measured", "interval", "over", "n", "expected"} <= claim.keys()
    assert [claim["verdict"] for claim in data["claims"]] == ["holds", "fails", "not judged", "holds", "needs scale"]


def test_a_stage_that_is_needed_comes_with_it(kitchen, runner):
    told = []
    outcome = run_study(
        SLUG, "repeats", preset="quick", device="cpu", runner=runner, on_progress=lambda *say: told.append(say)
    )
    assert set(outcome.results) == {"repeats"}
    assert outcome.claims[1].evidence is not None, "the first stage's claim is judged too"
    assert told[-1] == ("Repeat the climb", 1.0, "")


def test_another_seed_gives_another_digest(kitchen, runner, outcome):
    other = run_study(SLUG, "climb", {"amplitude": 4, "seed": 1}, preset="quick", device="cpu", runner=runner)
    assert other.seed == 1 and other.digest != outcome.digest
    again = run_study(SLUG, "climb", {"amplitude": 4.0}, preset="quick", device="cpu", fresh=True, runner=runner)
    assert again.digest == outcome.digest


def test_a_fault_is_told_from_bad_input(kitchen, runner):
    with pytest.raises(RunFailed, match=r"“Fail on purpose” failed: .*broke the glass") as failure:
        run_study(SLUG, "breaks", preset="quick", device="cpu", runner=runner)
    assert failure.value.fault


@pytest.mark.parametrize(
    ("slug", "experiment", "values", "preset", "sentence"),
    [
        ("nope", None, {}, "quick", "study: got 'nope'"),
        (SLUG, "dance", {}, "quick", "experiment: got 'dance'; expected one of climb, repeats, breaks"),
        (SLUG, "climb", {"amplitude": "nan"}, "quick", "amplitude: got nan; expected a number from 0 to 4 V"),
        (SLUG, "climb", {"amplitude": True}, "quick", r"amplitude: got True \(bool\)"),
        (SLUG, "climb", {"amplitude": float("inf")}, "quick", "amplitude: got inf"),
        (SLUG, "climb", {"points": 1.5}, "quick", "points: got 1.5; expected a whole number"),
        (SLUG, "climb", {"hight": 1}, "quick", "control: got 'hight'"),
        (SLUG, "climb", {}, "huge", "preset: got 'huge'; expected one of quick, standard, full"),
        (SLUG, "climb", {"recording": "/nowhere/at/all.npz"}, "quick", "recording: "),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_runs(kitchen, runner, slug, experiment, values, preset, sentence):
    before = runner.jobs()
    with pytest.raises((ControlError, UnknownStudy), match=sentence) as refusal:
        run_study(slug, experiment, values, preset=preset, device="cpu", runner=runner)
    assert "\n" not in str(refusal.value)
    assert runner.jobs() == before


def test_the_device_is_one_that_is_there():
    import torch

    assert pick_device("cpu") == "cpu"
    assert pick_device() == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(ControlError, match="device: got 'tpu'; expected one of auto, cpu, cuda"):
        pick_device("tpu")


def test_a_script_runs_without_a_store(kitchen, capsys):
    outcome = run(SLUG, "climb", preset="quick", seed=3, device="cpu", store=False, amplitude=0.5)
    assert outcome.seed == 3 and outcome.controls["amplitude"] == 0.5
    assert capsys.readouterr().out == ""
