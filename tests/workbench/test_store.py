"""The store: what is kept is found again, what is damaged is set aside, and many processes may write."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from small_runs import keep, record

from workbench.job import State
from workbench.record import Record
from workbench.store import Store, StoreError, UnknownRun


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return Store(tmp_path_factory.mktemp("store"))


def test_a_result_is_found_as_it_was_and_only_under_its_key(store, tmp_path):
    ended = keep(store, tmp_path / "work", "found")
    kept = store.find("a-study", "climb", "found")
    assert kept is not None and kept.record == ended and kept.result.digest == ended.digest
    assert kept.result.files["note.txt"].read_text() == "a note"
    assert not (tmp_path / "work").exists(), "files are moved, not copied"
    assert store.find("a-study", "climb", "other") is None
    assert store.find("a-study", "dance", "found") is None
    other = Store(store.folder)
    assert other.find("a-study", "climb", "found").record == ended and other.tracking._client is None, "without MLflow"


def test_mlflow_holds_params_metrics_and_artifacts_without_pickle(store, tmp_path):
    ended = keep(store, tmp_path / "work", "tracked")
    client = store.open()
    run = client.get_run(ended.run)
    assert run.info.status == "FINISHED" and run.data.params == {"amplitude": "1"}
    assert run.data.metrics == {"claim.1": 0.5, "took": 1.5, "peak_memory": 5.0}
    names = {item.path for item in client.list_artifacts(ended.run)}
    assert names == {"files", "tables", "result.json", "record.json"}
    endings = {path.suffix for path in store.find("a-study", "climb", "tracked").folder.rglob("*") if path.is_file()}
    assert endings == {".txt", ".parquet", ".json"}
    assert store.get(ended.run) == ended
    assert store.runs("a-study", limit=1)[0].run == ended.run
    with pytest.raises(UnknownRun, match="run: got 'nope'"):
        store.get("nope")


def test_a_run_on_its_way_is_seen_and_a_process_that_is_gone_has_lost_its_own(store):
    code = (
        "import sys; from pathlib import Path; from workbench.store import Store; from workbench.record import Record;"
        "from workbench.job import State;"
        "print(Store(Path(sys.argv[1])).begin(Record('b-study', 'climb', 'k', state=State.RUNNING)).run)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(store.folder)], capture_output=True, text=True, check=True)
    ours = store.begin(record("on-its-way", state=State.RUNNING))
    assert store.get(ours.run).state is State.RUNNING
    assert store.get(done.stdout.strip()).state is State.LOST
    store.finish(replace(ours, state=State.FAILED, error="It broke."))
    found = store.get(ours.run)
    assert (found.state, found.error, found.took) == (State.FAILED, "It broke.", 1.5)


@pytest.mark.parametrize("damage", ["table", "file", "manifest", "index", "half an index", "another shape"])
def test_what_is_damaged_is_set_aside_with_a_sentence(store, tmp_path, caplog, damage):
    key = f"damaged-{damage.replace(' ', '-')}"
    keep(store, tmp_path / "work", key)
    kept = store.find("a-study", "climb", key)
    index = store.folder / "index" / "a-study" / f"climb-{key}.json"
    place = {"table": kept.folder / "tables" / "0-heights.parquet", "file": kept.folder / "files" / "note.txt",
             "manifest": kept.folder / "result.json"}.get(damage, index)  # fmt: skip
    content = place.read_bytes()
    place.write_bytes({"half an index": content[: len(content) // 2], "another shape": b"[1]"}.get(damage, b"changed"))
    assert store.find("a-study", "climb", key) is None
    assert "was damaged and is set aside" in caplog.text and "Traceback" not in caplog.text
    assert index.with_suffix(".damaged").exists() and not index.exists()
    caplog.clear()
    assert store.find("a-study", "climb", key) is None and not caplog.text
    store.verdicts("a-study")
    keep(store, tmp_path / "again", key)
    assert store.find("a-study", "climb", key) is not None


def test_the_best_evidence_is_the_newest_at_the_highest_preset_under_the_terms_in_force(tmp_path):
    store = Store(tmp_path / "store")
    assert store.verdicts("a-study") == {}
    keep(store, tmp_path / "1", "k1", verdict="fails")
    keep(store, tmp_path / "2", "k2", verdict="inconclusive", preset="standard")
    keep(store, tmp_path / "3", "k3", verdict="holds", preset="standard")
    keep(store, tmp_path / "4", "k4", verdict="fails", preset="quick")
    keep(store, tmp_path / "5", "k5", verdict="not judged", preset="full")
    keep(store, tmp_path / "6", "k6", verdict="fails", preset="full", terms_hash="t0")
    keep(store, tmp_path / "7", "k7", verdict="needs scale", preset="full")
    best = store.verdicts("a-study", "t1")["1"]
    assert (best["verdict"], best["preset"], best["other_terms"]) == ("holds", "standard", False)
    assert best["values"] == {"amplitude": "1"} and best["run"] == store.find("a-study", "climb", "k3").record.run
    only = store.verdicts("a-study", "t9")["1"]
    assert only["other_terms"] and only["preset"] == "full"
    assert store.verdicts("another-study") == {}


WRITER = """
import sys
from pathlib import Path
from workbench.store import Store
sys.path.insert(0, sys.argv[3])
from small_runs import keep
store = Store(Path(sys.argv[1]))
for i in range(3):
    keep(store, Path(sys.argv[2]) / f"work-{i}", f"key-{i}", heights=(0.1, float(i)))
"""


@pytest.mark.slow
def test_four_processes_start_and_write_at_once(tmp_path):
    started = []
    for name in "abcd":
        (tmp_path / name).mkdir()
        command = [sys.executable, "-c", WRITER, tmp_path / "store", tmp_path / name, os.path.dirname(__file__)]
        started.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
    ends = [(process.communicate(timeout=240)[1], process.returncode) for process in started]
    assert [code for _, code in ends] == [0] * 4, ends
    store = Store(tmp_path / "store")
    runs = store.runs("a-study")
    assert len(runs) == 12 and {run.state for run in runs} == {State.DONE}
    for i in range(3):
        kept = store.find("a-study", "climb", f"key-{i}")
        assert kept is not None and kept.result["heights"].height[1] == i


def test_a_process_that_dies_while_tables_are_made_leaves_a_store_that_opens(tmp_path):
    code = """
import os, sys
from pathlib import Path
import alembic.ddl.impl
from workbench.store import Store
alembic.ddl.impl.DefaultImpl.add_column = lambda *given, **named: os._exit(9)
Store(Path(sys.argv[1])).open()
"""
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode == 9
    assert Store(tmp_path).runs() == []


def test_a_store_that_cannot_be_used_says_so_in_a_sentence(tmp_path):
    place = tmp_path / "file"
    place.write_text("")
    store = Store(place / "store")
    with pytest.raises(StoreError, match=r"^The store at .*/file/store cannot be used: .*\.$") as failure:
        store.begin(record())
    assert "\n" not in str(failure.value)
    assert store.find("a-study", "climb", "k1") is None and store.verdicts("a-study") == {}


def test_the_folder_is_the_user_s(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    assert Store().folder == tmp_path / "store" and Store().own
    monkeypatch.setenv("ASSAY_STORE", "http://me:secret@127.0.0.1:1")
    assert not Store().own and "secret" not in Store().place


def test_what_a_dead_process_left_is_swept_away(tmp_path):
    store = Store(tmp_path)
    mine = store.workplace()
    dead = mine.with_name(f"{mine.name.split('~')[0]}~999999999~1.00")
    elsewhere = mine.with_name("another-host~1~1.00")
    old, new = store.items / "old", store.items / "new"
    for folder in (dead, elsewhere, old, new):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    store.sweep()
    assert [p.exists() for p in (mine, dead, elsewhere, old, new)] == [True, False, True, False, True]


def test_a_record_survives_json_and_drops_what_later_versions_add():
    one = record(state=State.DONE, claims={"1": {"verdict": "holds"}})
    text = json.dumps(one.as_json() | {"of a later version": 1})
    assert Record.from_json(json.loads(text)) == one
