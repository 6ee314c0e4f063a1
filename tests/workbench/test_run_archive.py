"""Runs as files: the same numbers on the other side, and nothing from a file that is not what it should be."""

import hashlib
import io
import json
import os
import stat
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_runs import keep, record

from workbench import run_archive
from workbench.controls import ControlError
from workbench.run_archive import export_run, fits, import_run
from workbench.store import Store


@pytest.fixture(scope="module")
def store(database, tmp_path_factory):
    place = tmp_path_factory.mktemp("there")
    (place / "mlflow.db").write_bytes(database.read_bytes())
    return Store(place)


@pytest.fixture(scope="module")
def exported(database, tmp_path_factory):
    """A zip file of a run, its record, and the store that it came from."""
    place = tmp_path_factory.mktemp("here")
    (place / "mlflow.db").write_bytes(database.read_bytes())
    here = Store(place)
    ended = keep(here, place / "work", "k1", owner="ada of here")
    folder = here.files(ended.run)
    (folder / "figures").mkdir()
    (folder / "figures" / "curve.json").write_text('{"data": [], "layout": {}}')
    (folder / "stage.json").write_text("of nobody's business")
    export_run(here, ended.run[:8], place / "run.zip")
    return place / "run.zip", ended, here


def test_a_run_is_the_same_on_the_other_side(exported, store):
    path, ended, here = exported
    record, new = import_run(store, path, "bob")
    assert new and record.run != ended.run and (record.origin, record.owner) == (ended.run, "bob")
    kept = store.find("a-study", "climb", "k1")
    assert kept.result.digest == ended.digest and dict(kept.record.claims) == dict(ended.claims)
    assert kept.result.files["note.txt"].read_text() == "a note"
    assert (kept.folder / "figures" / "curve.json").exists() and not (kept.folder / "stage.json").exists()
    assert store.get(record.run) == record
    assert import_run(store, path) == (record, False), "a second time changes nothing"
    assert import_run(here, path)[0].run == ended.run, "at home it is there already"
    assert len(store.runs()) == 1


def test_nothing_of_the_owner_and_no_path_leaves(exported):
    path, ended, _ = exported
    with zipfile.ZipFile(path) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist() if name.endswith(".json")).decode()
    assert ended.owner not in text and str(path.parent) not in text and ended.run in text


def changed(path, target, change):
    """A copy of a zip file whose entries were changed: from name to bytes; its list of hashes fits them."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    manifest = json.loads(entries.pop("run.json"))
    manifest["sha256"] = {name: hashlib.sha256(content).hexdigest() for name, content in entries.items()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        archive.writestr("run.json", json.dumps(manifest))
    return target


def of_record(**values):
    def change(entries):
        entries["record.json"] = json.dumps(json.loads(entries["record.json"]) | values).encode()

    return change


def adds(name, content=b"x"):
    return lambda entries: entries.update({name: content})


def pickled():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


def with_array(content):
    def change(entries):
        manifest = json.loads(entries["result.json"])
        manifest["arrays"]["a"] = "arrays/0-a.npy"
        manifest["sha256"]["arrays/0-a.npy"] = hashlib.sha256(content).hexdigest()
        entries |= {"arrays/0-a.npy": content, "result.json": json.dumps(manifest).encode()}

    return change


def huge_array():
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    return buffer.getvalue()


def with_part(part, name, place):
    def change(entries):
        manifest = json.loads(entries["result.json"])
        manifest[part][name] = place
        entries["result.json"] = json.dumps(manifest).encode()

    return change


TRICKS = {
    "up": (adds("../evil"), "holds '../evil', which no run has"),
    "up from files": (adds("files/../../evil"), "which no run has"),
    "dots": (adds("files/.."), "which no run has"),
    "absolute": (adds("/evil"), "which no run has"),
    "backslashes": (adds("files/..\\evil"), "which no run has"),
    "a folder": (adds("files/"), "which no run has"),
    "code": (adds("tables/evil.py"), "which no run has"),
    "a pickle": (with_array(pickled()), "its result cannot be read"),
    "an array larger than its file": (with_array(huge_array()), "its result cannot be read"),
    "another array": (with_array(b"\x93NUMPY"), "its result cannot be read"),
    "no record": (lambda entries: entries.pop("record.json"), "its record cannot be read"),
    "no result": (lambda entries: entries.pop("result.json"), "its result cannot be read"),
    "other numbers": (lambda e: e.update({"tables/0-heights.parquet": b"PAR1"}), "its result cannot be read"),
    "another digest": (of_record(digest="0" * 64), "its result is not the one that its record names"),
    "a study that is a path": (of_record(study="../../etc"), "its record cannot be read"),
    "an experiment that is a path": (of_record(experiment="a/b"), "its record cannot be read"),
    "a key that is a path": (of_record(key="../k"), "its record cannot be read"),
    "a run that never ended": (of_record(state="running"), "its record cannot be read"),
    "an unknown state": (of_record(state="dancing"), "its record cannot be read"),
    "numbers as text": (of_record(took="1"), "its record cannot be read"),
    "no number": (of_record(took=float("nan")), "its record cannot be read"),
    "controls as a list": (of_record(controls=["a"]), "its record cannot be read"),
    "claims of markup": (of_record(claims={"<b>": {"verdict": "holds"}}), "its record cannot be read"),
    "an unknown verdict": (of_record(claims={"1": {"verdict": "<b>"}}), "its record cannot be read"),
    "inputs of another shape": (of_record(provenance={"data": [{"name": 1}]}), "its record cannot be read"),
    "a file elsewhere": (with_part("files", "x", "../../../../../../etc/hostname"), "its result cannot be read"),
    "an absolute file": (with_part("files", "x", "/etc/hostname"), "its result cannot be read"),
    "a file without a hash": (with_part("files", "x", "files/note.txt.other"), "its result cannot be read"),
    "a deep result": (lambda e: e.update({"result.json": b"[" * 100_000}), "its result cannot be read"),
    "deep": (lambda e: e.update({"record.json": b"[" * 100_000}), "its record cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("trick", TRICKS)
def test_a_trick_is_refused_in_one_sentence_and_leaves_nothing(exported, store, tmp_path, trick):
    change, said = TRICKS[trick]
    path = changed(exported[0], tmp_path / "run.zip", change)
    before = {p for p in store.folder.rglob("*") if "mlflow.db" not in p.name}
    with pytest.raises(ControlError) as refusal:
        import_run(store, path)
    sentence = str(refusal.value)
    assert said in sentence and sentence.startswith("file: ") and "\n" not in sentence
    assert "expected a file that `assay export` wrote" in sentence
    work = {p for p in store.folder.rglob("*") if "mlflow.db" not in p.name} - before
    assert work <= {store.workplace(), store.workplace().parent}
    assert not (tmp_path / "evil").exists() and not (store.folder.parent / "evil").exists()


def raw(tmp_path, path, *, links=False, twice=False, encrypted=False, keep_hashes=False):
    """A copy with one entry more, as no well-meant program writes it."""
    target = tmp_path / "raw.zip"
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(target, "w") as copy:
        for entry in archive.infolist():
            content = archive.read(entry)
            if keep_hashes and entry.filename == "record.json":
                content += b" "
            copy.writestr(entry.filename, content)
        if links:
            entry = zipfile.ZipInfo("files/link")
            entry.external_attr = (stat.S_IFLNK | 0o777) << 16
            copy.writestr(entry, "/etc/passwd")
        if twice:
            with pytest.warns(UserWarning, match="Duplicate"):
                copy.writestr("record.json", "{}")
    if encrypted:
        content = bytearray(target.read_bytes())
        at = content.rindex(b"PK\x01\x02")
        content[at + 8] |= 1
        target.write_bytes(bytes(content))
    return target


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        ({"links": True}, "'files/link' in it is no plain file"), ({"twice": True}, "two entries of one name"),
        ({"encrypted": True}, "is encrypted"), ({"keep_hashes": True}, "'record.json' in it was changed"),
    ],
)  # fmt: skip
def test_entries_that_are_no_plain_files_of_their_own_are_refused(exported, store, tmp_path, kinds, said):
    with pytest.raises(ControlError, match=said):
        import_run(store, raw(tmp_path, exported[0], **kinds))


def test_a_bomb_is_not_unpacked(exported, store, tmp_path, monkeypatch):
    monkeypatch.setattr(run_archive, "LARGEST", 1024**2)
    path = changed(exported[0], tmp_path / "run.zip", adds("files/zeros", bytes(2 * 1024**2)))
    assert path.stat().st_size < 20_000
    with pytest.raises(ControlError, match="it would not fit once it is unpacked"):
        import_run(store, path)


def test_a_bomb_that_says_it_is_small_is_not_unpacked(exported, store, tmp_path):
    path = changed(exported[0], tmp_path / "run.zip", adds("files/zeros", bytes(2 * 1024**2)))
    content = path.read_bytes()
    lie = content.replace((2 * 1024**2).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    assert lie != content
    path.write_bytes(lie)
    with pytest.raises(ControlError, match="which is no whole zip file"):
        import_run(store, path)


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_run_is_refused(store, tmp_path, content):
    path = tmp_path / "other.zip"
    path.write_bytes(content)
    with pytest.raises(ControlError, match=r"^file: got 'other\.zip', which"):
        import_run(store, path)
    with pytest.raises(ControlError, match="which is not there"):
        import_run(store, tmp_path / "missing.zip")
    with pytest.raises(ControlError, match=r"^file: "):
        import_run(store, tmp_path)


@settings(max_examples=60)
@given(st.integers(0, 10**9), st.integers(1, 255))
def test_one_changed_byte_anywhere_is_refused_or_changes_nothing(exported, store, at, by):
    path, ended, _ = exported
    content = bytearray(path.read_bytes())
    content[at % len(content)] ^= by
    other = path.with_name("flipped.zip")
    other.write_bytes(bytes(content))
    with suppress(ControlError):
        record, _ = import_run(store, other)
        assert record.digest == ended.digest and dict(record.claims) == dict(ended.claims)


@given(st.text(max_size=30))
def test_no_name_that_fits_leaves_its_folder(name):
    if fits(name):
        path = os.path.normpath(os.path.join("/place", name))
        assert path.startswith("/place/") and path == f"/place/{name}"


def test_a_run_without_files_is_not_exported(store, tmp_path):
    begun = store.begin(record("running"))
    with pytest.raises(ControlError, match="expected one whose files are kept"):
        export_run(store, begun.run, tmp_path / "run.zip")
    assert not list(tmp_path.iterdir())
    store.live.remove(begun)
    with pytest.raises(ControlError, match="which cannot be written"):
        export_run(store, store.runs(limit=5)[-1].run, tmp_path / "nowhere" / "run.zip")
