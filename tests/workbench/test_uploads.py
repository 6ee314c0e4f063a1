"""Uploads: piece by piece, whole or not at all, their owner's alone."""

import errno
import hashlib
import os
import time
from types import SimpleNamespace

import numpy as np
import pytest

from assay.data import content_sha256
from workbench.controls import ControlError
from workbench.sources import find_source, uploads_folder
from workbench.uploads import Upload, keep_folder, keep_upload, sweep_drafts, upload_limit


@pytest.fixture(autouse=True)
def fresh_home(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    return tmp_path


def left(owner=""):
    """What lies in a folder of uploads and is no folder of a hash."""
    return [p.name for p in uploads_folder(owner).glob("*.part")]


def test_pieces_become_a_file_under_their_hash():
    content = b"t,x\n" + b"0,1\n" * 100_000
    with Upload("mine.csv", "ann") as upload:
        for at in range(0, len(content), 70_000):
            upload.write(content[at : at + 70_000])
        source = upload.keep()
    assert source.reference == f"sha256:{hashlib.sha256(content).hexdigest()}"
    assert source.path.read_bytes() == content and source.path.is_relative_to(uploads_folder("ann"))
    assert left("ann") == []
    assert keep_upload("other name.csv", content, "ann").reference == source.reference  # the same again


def test_one_that_breaks_off_leaves_nothing():
    with Upload("mine.csv") as upload:
        upload.write(b"a,b\n")
        assert len(left()) == 1
    assert left() == [] and list(uploads_folder().iterdir()) == []


def test_size_is_held_to_the_limit_said_or_not(monkeypatch):
    monkeypatch.setenv("ASSAY_UPLOAD_LIMIT", "1 kB")
    assert upload_limit() == 1000
    with pytest.raises(ValueError, match=r"^big.csv has more than 1,000 bytes"):
        Upload("big.csv", size=1001)
    with Upload("big.csv") as upload:
        upload.write(b"a" * 600)
        with pytest.raises(ValueError, match="more than 1,000 bytes"):
            upload.write(b"a" * 600)
    assert left() == []
    monkeypatch.setenv("ASSAY_UPLOAD_LIMIT", "lots")
    with pytest.raises(ControlError, match=r"^upload-limit: got 'lots'"):
        upload_limit()


def test_a_full_disk_is_said(monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=3 * 10**8))
    with pytest.raises(ValueError, match="the server's disk has room for"):
        Upload("a.csv", size=10**8)
    with Upload("a.csv") as upload:
        upload._file.close()
        upload._file = type("Full", (), {"write": full, "close": lambda self: None})()
        with pytest.raises(ValueError, match=r"^a.csv could not be kept: No space left"):
            upload.write(b"a")
    assert left() == []


def full(self, piece):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_empty_file_is_refused():
    with pytest.raises(ValueError, match=r"^a.csv is empty; expected data"):
        keep_upload("a.csv", b"")
    assert left() == []


def test_files_make_a_folder_with_the_hash_of_one_that_was_never_sent(tmp_path):
    parts = {"train.npz": np.zeros(3), "test.npz": np.ones(2)}
    plain = tmp_path / "plain"
    plain.mkdir()
    for name, values in parts.items():
        np.savez(plain / name, X=values)
    sent = {name: keep_upload(name, (plain / name).read_bytes(), "ann").reference for name in parts}
    source = keep_folder("radar", sent, "ann")
    assert source.reference == f"sha256:{content_sha256(plain)}" and source.name == "radar"
    assert sorted(p.name for p in source.path.iterdir()) == sorted(parts)
    assert keep_folder("again", sent, "ann").path == source.path
    assert find_source(source.reference, (uploads_folder("ann"),)).path == source.path
    assert left("ann") == []


def test_a_folder_is_made_of_one_s_own_uploads_with_plain_names():
    mine = keep_upload("a.csv", b"a\n1\n", "ann").reference
    for files, says in (
        ({}, "got 0; expected 1 to 200"),
        ({"../a.csv": mine}, "expected a plain one"),
        ({"a.csv": "sha256:" + "0" * 64}, "is no upload of yours"),
        ({"a.csv": "sha256:../../etc"}, "is no upload of yours"),
        ({"a.csv": "/etc/passwd"}, "is no upload of yours"),
    ):
        with pytest.raises(ControlError, match=says):
            keep_folder("folder", files, "ann")
    with pytest.raises(ControlError, match="is no upload of yours"):
        keep_folder("folder", {"a.csv": mine}, "bob")
    assert left("ann") == [] == left("bob")


def test_what_is_left_of_broken_uploads_goes_after_a_day():
    old, new = uploads_folder("ann") / "1.part", uploads_folder() / "2.part"
    for path in (old, new):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    sweep_drafts()
    assert new.exists() and not old.exists()
