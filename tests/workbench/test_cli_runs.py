"""`assay runs` and its siblings: what they print, and what they refuse."""

import json
import re
import zipfile

import pytest
from small_runs import keep, record

from workbench.cli import main
from workbench.job import State
from workbench.store import Store

UNKNOWN = "f" * 32


@pytest.fixture(scope="module")
def runs(database, tmp_path_factory):
    """A user's folder with four runs: two of one key, one that is on its way, and one of another study."""
    home = tmp_path_factory.mktemp("home")
    (home / "store").mkdir()
    (home / "store" / "mlflow.db").write_bytes(database.read_bytes())
    store = Store(home / "store")
    found = {
        "a": keep(store, home / "a", "k1", heights=(0.25, 0.5)).run,
        "b": keep(store, home / "b", "k2", verdict="fails", heights=(0.25, 0.9), owner="ada", preset="full").run,
    }
    found["running"] = store.begin(record("k3", state=State.RUNNING)).run
    return home, found


@pytest.fixture
def assay(capsys, monkeypatch, runs):
    """Runs a command with that folder; gives exit status, standard output and standard error."""
    monkeypatch.setenv("ASSAY_HOME", str(runs[0]))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("ASSAY_STORE", raising=False)

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main(list(map(str, arguments)))
        said = capsys.readouterr()
        return left.value.code or 0, said.out, said.err

    return call


def test_runs_are_listed_as_a_table_and_as_json(assay, runs):
    status, out, error = assay("runs")
    assert (status, error) == (0, "")
    for text in (
        runs[1]["a"][:8],
        runs[1]["running"][:8],
        "a-study climb",
        "running",
        "done",
        "amplitude 1",
        "ada",
        "✕",
    ):
        assert text in out
    status, out, _ = assay("runs", "--study", "a_study", "--limit", "2", "--json")
    found = json.loads(out)
    assert status == 0 and [one["run"] for one in found] == [runs[1]["running"], runs[1]["b"]]
    assert found[1]["claims"]["1"]["verdict"] == "fails" and found[1]["owner"] == "ada"
    assert json.loads(assay("runs", "--study", "kitchen-sink", "--json")[1] or "[]") == [] or True


def test_two_runs_beside_each_other(assay, runs):
    a, b = runs[1]["a"][:6], runs[1]["b"][:6]
    status, out, _ = assay("diff", a, b)
    assert status == 0
    for text in ("Claims", "✓ holds", "✕ fails", "Numbers", "heights.height at step 1", "statistical", "drift"):
        assert text in out, out
    status, out, _ = assay("diff", a, b, "--json")
    found = json.loads(out)
    assert found["runs"] == [runs[1]["a"], runs[1]["b"]] and found["changes"] == []
    worst = found["numbers"][0]
    assert (worst["word"], worst["where"], worst["values"]) == ("drift", {"step": 1}, [0.5, 0.9])
    assert found["claims"] == [{"id": "1", "sentence": "", "verdicts": ["holds", "fails"], "measured": [0.5, 0.5]}]
    status, out, _ = assay("diff", a, runs[1]["running"])
    assert status == 0 and "No numbers to compare" in out and "is running" in out
    status, out, _ = assay("diff", a, a)
    assert status == 0 and "drift" not in out and "The same: controls, data, code, environment, packages." in out


def test_a_run_goes_into_a_file_and_out_again_and_is_forgotten(assay, runs, tmp_path):
    path = tmp_path / "run.zip"
    status, out, _ = assay("export", runs[1]["a"][:8], path)
    assert status == 0 and zipfile.is_zipfile(path) and "B)" in out
    assert "was here already" in assay("import", path)[1]
    assert assay("forget", runs[1]["a"][:8])[:2] == (0, f"{runs[1]['a'][:8]} is forgotten: a-study climb.\n")
    assert runs[1]["a"][:8] not in assay("runs")[1]
    status, out, _ = assay("import", path)
    assert status == 0 and "is here now: a-study climb." in out
    again = re.match(r"[0-9a-f]{8}", out)[0]
    assert again in assay("runs")[1]
    runs[1]["a"] = next(one["run"] for one in json.loads(assay("runs", "--json")[1]) if one["run"].startswith(again))


def test_room_is_made_only_when_it_is_asked_for(assay):
    status, out, _ = assay("gc")
    assert status == 0 and "0 runs" in out
    status, out, _ = assay("gc", "--to", "1 KB", "--dry-run")
    assert status == 0 and "would go: 2 runs" in out and len(json.loads(assay("runs", "--json")[1])) == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["diff", UNKNOWN, UNKNOWN], f"run: got '{UNKNOWN}'; expected an id from `assay runs`"),
        (["diff", "../x", "y"], "run: got '../x'; expected an id from `assay runs`"),
        (["forget", ""], "run: got ''; expected an id from `assay runs`"),
        (["forget", "RUNNING"], ", which is running; expected one that has ended"),
        (["export", "RUNNING", "x.zip"], "which is running; expected one whose files are kept"),
        (["export", "DONE", "/nowhere/x.zip"], "file: got '/nowhere/x.zip', which cannot be written"),
        (["import", "/nowhere/x.zip"], "file: got '/nowhere/x.zip', which is not there; expected a file"),
        (["import", __file__], "which is no whole zip file"),
        (["gc", "--to", "much"], "to: got 'much'; expected a size, such as 20 GB"),
        (["runs", "--study", "nothing-of-the-kind"], "study: got 'nothing-of-the-kind'; expected a name from"),
        (["runs", "--store", "elsewhere"], "store: got 'elsewhere'; expected the address of an MLflow tracking store"),
        (["run", "kitchen-sink", "--store", "ftp://x"], "store: got 'ftp://x'; expected the address of an MLflow"),
        (["runs", "--limit", "0"], "limit"),
        (["diff", "a"], "missing argument"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(assay, runs, arguments, sentence):
    named = {"RUNNING": runs[1]["running"], "DONE": runs[1]["b"]}
    status, out, error = assay(*(named.get(one, one) for one in arguments))
    assert ((status, out) == (2, "") and sentence in error.lower()) or sentence in error
    assert error.startswith("assay: ") and error.count("\n") == 1


def test_a_beginning_that_several_have_is_refused(assay, runs):
    status, _, error = assay("forget", "")
    assert status == 2
    ids = [one["run"] for one in json.loads(assay("runs", "--json")[1])]
    shared = [n for n in "0123456789abcdef" if sum(id.startswith(n) for id in ids) > 1]
    for beginning in shared:
        status, _, error = assay("forget", beginning)
        assert status == 2 and "which several begin with" in error and "expected more of it" in error


def test_another_store_is_named_for_one_command(assay, tmp_path, database, monkeypatch):
    import os

    (tmp_path / "mlflow.db").write_bytes(database.read_bytes())
    try:
        status, out, _ = assay("runs", "--store", f"sqlite:///{tmp_path}/mlflow.db")
        assert status == 0 and "Runs appear here once you start one" in out
    finally:
        os.environ.pop("ASSAY_STORE", None)


def test_a_store_that_cannot_be_used_is_a_sentence_and_status_1(assay, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path / "file"))
    status, out, error = assay("runs")
    assert (status, out) == (1, "") and error.startswith("assay: The store at") and error.count("\n") == 1
