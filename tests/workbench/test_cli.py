"""The `assay` command: what it prints, and its exit status."""

import json

import pytest

from workbench.cli import main
from workbench.runner import default_runner


def assay(capsys, *arguments):
    """Exit status, standard output and standard error of a command."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    said = capsys.readouterr()
    return left.value.code or 0, said.out, said.err


def test_list_and_show_as_text_and_as_json(kitchen, capsys):
    status, out, _ = assay(capsys, "list")
    assert status == 0 and "kitchen-sink" in out
    status, out, _ = assay(capsys, "list", "--json")
    assert status == 0 and "kitchen-sink" in {card["slug"] for card in json.loads(out)}
    status, out, _ = assay(capsys, "show", "kitchen_sink")
    assert status == 0 and "amplitude" in out and "Climb" not in out.splitlines()[0]
    status, out, _ = assay(capsys, "show", "kitchen-sink", "--json")
    assert status == 0 and json.loads(out)["slug"] == "kitchen-sink"


def test_alone_it_says_what_it_can_do(capsys):
    status, out, _ = assay(capsys)
    assert status == 0 and all(command in out for command in ("list", "show", "run", "serve", "lab", "doctor"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "nope"], "study: got 'nope'"),
        (["show", "nope"], "study: got 'nope'"),
        (["run", "kitchen-sink", "dance"], "experiment: got 'dance'; expected one of climb, repeats, breaks"),
        (["run", "kitchen-sink", "climb", "--set", "amplitude=nan"], "amplitude: got nan; expected a number from 0 to"),
        (["run", "kitchen-sink", "climb", "--set", "amplitude=inf"], "amplitude: got inf; expected a number from 0 to"),
        (["run", "kitchen-sink", "climb", "--set", "amplitude=true"], "amplitude: got 'true'; expected a number"),
        (["run", "kitchen-sink", "climb", "--set", "amplitude"], "set: got 'amplitude'; expected name=value"),
        (["run", "kitchen-sink", "climb", "--set", "amplitude=1", "--set", "amplitude=2"], "amplitude is set twice"),
        (["run", "kitchen-sink", "climb", "--set", "recording=/nowhere.npz"], "recording: "),
        (["run", "kitchen-sink", "climb", "--preset", "huge"], "preset: got 'huge'"),
        (["run", "kitchen-sink", "climb", "--seed", "-1.5"], "seed: got '-1.5'; expected a whole number"),
        (["run", "kitchen-sink", "climb", "--device", "tpu"], "device: got 'tpu'; expected one of auto, cpu, cuda"),
        (["run", "kitchen-sink", "climb", "--json", "/nowhere/out.json"], "json: got '/nowhere/out.json'"),
        (["dance"], "No such command 'dance'"),
        (["run"], "slug"),
        (["serve", "--port", "x"], "port"),
        (["lab", "nope"], "study: got 'nope'"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(kitchen, capsys, arguments, sentence):
    status, out, error = assay(capsys, *arguments)
    assert status == 2 and out == ""
    assert error.startswith("assay: ") and sentence in error and error.count("\n") == 1


def test_a_run_ends_in_a_table_of_claims_and_a_fault_in_status_1(kitchen, capsys, tmp_path):
    target = tmp_path / "outcome.json"
    status, out, _ = assay(
        capsys, "run", "kitchen-sink", "repeats", "--preset", "quick", "--seed", "2", "--json", str(target)
    )
    assert status == 0 and "holds" in out and "needs scale" in out and "seed 2" in out
    data = json.loads(target.read_text("utf-8"))
    assert data["digest"].startswith(out.rpartition("digest ")[2][:16]) and data["seed"] == 2
    assert data["provenance"] and data["tables"]["means"]["rows"]
    status, out, error = assay(capsys, "run", "kitchen-sink", "breaks", "--preset", "quick", "--json", str(target))
    assert status == 1 and "broke the glass" in error and "Traceback" not in error
    assert json.loads(target.read_text("utf-8")) == data, "a run that fails writes nothing"
    default_runner().close()


def test_files_of_a_run_are_copied_where_one_wants_them(kitchen, capsys, tmp_path):
    climb = ("run", "kitchen-sink", "climb", "--preset", "quick", "--files")
    status, _, _ = assay(capsys, *climb, str(tmp_path / "out"))
    assert status == 0 and (tmp_path / "out" / "wave.csv").read_text().startswith("t,y")
    (tmp_path / "taken").write_text("a file")
    status, _, said = assay(capsys, *climb, str(tmp_path / "taken"))
    assert status == 2 and "cannot be written" in said
    status, _, said = assay(
        capsys, "run", "kitchen-sink", "repeats", "--preset", "quick", "--files", str(tmp_path / "no")
    )
    assert status == 2 and "files: nothing was written" in said
    default_runner().close()
