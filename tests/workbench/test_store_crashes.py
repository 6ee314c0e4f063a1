"""The store after the worst: processes killed in the middle, disks that are full, folders that may only be read."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from small_runs import keep, record, result_in

from workbench.job import State
from workbench.result_files import read_result
from workbench.store import Store, StoreError

KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from workbench import store as module
from workbench.store import Store
from small_runs import keep

def die(*given, **named):
    os.kill(os.getpid(), signal.SIGKILL)

store = Store(Path(sys.argv[1]))
keep(store, Path(sys.argv[2]) / "whole", "whole")
what = sys.argv[4]
if what == "before its files are taken in":
    store._take = die
elif what == "before it is in the index":
    store.index.add = die
elif what == "before MLflow knows":
    store.tracking.end = die
keep(store, Path(sys.argv[2]) / "cut", "cut")
"""


def dies(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9, done.stderr


@pytest.mark.parametrize(
    ("when", "state"),
    [
        ("before its files are taken in", State.LOST),
        ("before it is in the index", State.DONE),
        ("before MLflow knows", State.DONE),
    ],
)
def test_a_killed_process_leaves_a_run_that_is_whole_or_lost(fresh_store, tmp_path, when, state):
    dies(tmp_path / "store", tmp_path, Path(__file__).parent, when)
    store = fresh_store
    started = time.monotonic()
    runs = {run.key: run for run in store.runs()}
    assert {key: run.state for key, run in runs.items()} == {"whole": State.DONE, "cut": state}
    assert time.monotonic() - started < 9, "known at once: no time-out is waited for"
    assert store.get(runs["cut"].run).state is state
    kept = store.find("a-study", "climb", "cut")
    assert (kept is not None) == (state is State.DONE)
    assert store.find("a-study", "climb", "whole") is not None
    assert Store(tmp_path / "store").get(runs["cut"].run).state is state, "and it stays so"
    ended = keep(store, tmp_path / "again", "cut")
    assert store.find("a-study", "climb", "cut").record == ended, "nothing is locked"


@pytest.fixture
def other_disk():
    """A folder on another file system than the tests' own."""
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == Path(tempfile.gettempdir()).stat().st_dev:
        pytest.skip("there is no second file system here")
    place = Path(tempfile.mkdtemp(dir=shared, prefix="assay-test-"))
    yield place
    shutil.rmtree(place)


COPIES = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from workbench.store import Store
from small_runs import record, result_in
store = Store(Path(sys.argv[1]))
folder = Path(sys.argv[2])
result_in(folder, 0.5)
with (folder / "files" / "big").open("wb") as file:
    for _ in range(400):
        file.write(b"x" * 1024**2)
begun = store.begin(record("cut"))
print("go", flush=True)
from dataclasses import replace
from workbench.job import State
store.finish(replace(begun, state=State.DONE), folder)
"""


def test_a_process_killed_while_it_copies_files_leaves_none_that_are_seen(fresh_store, tmp_path, other_disk):
    (other_disk / "work").mkdir()
    command = [sys.executable, "-c", COPIES, tmp_path / "store", other_disk / "work", Path(__file__).parent]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "go\n"
        artifacts = tmp_path / "store" / "artifacts"
        while not list(artifacts.glob("*/*.part")):
            assert process.poll() is None
        process.kill()
    store = fresh_store
    (lost,) = store.runs()
    assert lost.state is State.LOST and store.find("a-study", "climb", "cut") is None
    assert store.files(lost.run) is None
    left = list(artifacts.glob("*/*.part"))
    assert len(left) == 1 and not list(artifacts.glob("*/artifacts"))


def test_files_from_another_disk_are_taken_in_whole(fresh_store, tmp_path, other_disk):
    store = fresh_store
    ended = keep(store, other_disk / "work", "far")
    assert store.find("a-study", "climb", "far").record == ended
    assert not (other_disk / "work").exists() and not list(tmp_path.rglob("*.part"))


@pytest.fixture
def mounted(tmp_path):
    """Mounts a small disk at a folder, or another folder there that may then only be read."""
    places = []

    def mount(place, folder=None):
        place.mkdir(exist_ok=True)
        small = [["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(place)]]
        readable = [["mount", "--bind", str(folder), str(place)], ["mount", "-o", "remount,bind,ro", str(place)]]
        for command in small if folder is None else readable:
            if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
                pytest.skip("only root may mount a disk")
            places.append(place)
        return place

    yield mount
    for place in reversed(dict.fromkeys(places)):
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk):
    """Fill a disk to its last byte."""
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass


def test_a_full_disk_keeps_nothing_half_and_says_so(tmp_path, mounted):
    disk = mounted(tmp_path / "disk")
    store = Store(disk / "store")
    before = keep(store, tmp_path / "before", "before")
    begun = store.begin(record("full", state=State.RUNNING))
    work = tmp_path / "work"
    work.mkdir()
    result = result_in(work, *([0.5] * 50_000))
    fill(disk)
    with pytest.raises(StoreError, match=r"^The store at .* cannot be used: .*(No space left|disk is full)") as failure:
        store.finish(replace(begun, state=State.DONE, digest=result.digest), work)
    assert "\n" not in str(failure.value)
    assert read_result(work).digest == result.digest, "the files are where they were"
    with pytest.raises(StoreError, match="its disk is full"):
        store.workplace()
    assert store.find("a-study", "climb", "full") is None
    assert store.find("a-study", "climb", "before").record == before
    (disk / "filler").unlink()
    assert {run.key: run.state for run in store.runs()} == {"before": State.DONE, "full": State.LOST}
    assert not list(disk.rglob("*.part"))
    store.finish(replace(store.begin(record("full")), state=State.DONE), work)
    assert store.find("a-study", "climb", "full") is not None


def test_a_store_that_may_only_be_read_is_read(fresh_store, tmp_path, mounted):
    ended = keep(fresh_store, tmp_path / "work", "kept")
    store = Store(mounted(tmp_path / "read", tmp_path / "store"))
    assert store.find("a-study", "climb", "kept").record == ended
    assert [run.run for run in store.runs()] == [ended.run] and store.get(ended.run) == ended
    with pytest.raises(StoreError, match=r"cannot be used: attempt to write a readonly database\.$"):
        store.begin(record("more"))
    with pytest.raises(StoreError, match="Read-only"):
        store.workplace()


@pytest.mark.slow
@pytest.mark.parametrize("trouble", ["full", "read-only"])
def test_a_run_that_cannot_be_kept_ends_on_screen_and_says_so(kitchen, tmp_path, mounted, trouble):
    from workbench.runner import Request, Runner

    disk = mounted(tmp_path / "disk")
    if trouble == "full":
        fill(disk)
    else:
        disk = mounted(tmp_path / "read", disk)
    runner = Runner(Store(disk / "store"))
    try:
        job = runner.submit(Request("kitchen-sink", "climb", {}, "quick"))
        assert job.wait(240).complete and len(job.result["heights"]) == 5
        assert job.notice.startswith("This run could not be kept: The store at") and job.notice.count("\n") == 0
    finally:
        runner.close()
