"""Runs of other processes: known while they live, and not a moment longer than ten seconds after."""

import os
import subprocess
import sys
import time

import pytest

from workbench.job import State
from workbench.live_runs import BEAT, SILENT, LiveRuns
from workbench.record import Record, process_mark

ANOTHER = """
import sys, time
from pathlib import Path
from workbench.live_runs import LiveRuns
from workbench.record import Record
from workbench.job import State
live = LiveRuns(Path(sys.argv[1]))
live.add(Record("a-study", "climb", "k1", state=State.RUNNING, started=5.0, owner="ada"))
print("begun", flush=True)
for line in sys.stdin:
    live.remove(Record("a-study", "climb", "k1"))
    print("ended", flush=True)
"""


@pytest.fixture
def another(tmp_path):
    """A process that runs k1."""
    command = [sys.executable, "-c", ANOTHER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        yield process
        process.kill()


def test_a_run_is_seen_from_elsewhere_until_it_ends(another, tmp_path):
    here = LiveRuns(tmp_path)
    found = here.elsewhere("a-study", "climb", "k1")
    assert (found.started, found.owner, found.state) == (5.0, "ada", State.RUNNING)
    assert here.elsewhere("a-study", "climb", "k2") is None and here.elsewhere("b-study", "climb", "k1") is None
    another.stdin.write("\n")
    another.stdin.flush()
    assert another.stdout.readline() == "ended\n"
    assert here.elsewhere("a-study", "climb", "k1") is None


def test_a_killed_process_runs_nothing_and_is_swept_away(another, tmp_path):
    here = LiveRuns(tmp_path)
    mark = next(tmp_path.iterdir()).name
    record = Record("a-study", "climb", "k1")
    assert here.lives(record, mark) is True
    another.kill()
    another.wait()
    assert here.elsewhere("a-study", "climb", "k1") is None and here.lives(record, mark) is False
    here.sweep()
    assert list(tmp_path.iterdir()) == [] and here.lives(record, mark) is False


def test_what_this_process_runs_is_not_elsewhere(tmp_path):
    live, record = LiveRuns(tmp_path), Record("a-study", "climb", "k1")
    live.add(record)
    assert live.elsewhere("a-study", "climb", "k1") is None and live.lives(record, process_mark()) is True
    live.remove(record)
    assert live.lives(record, process_mark()) is False, "a run that ended without a word lives no more"


def test_a_process_on_another_machine_is_known_by_its_signs_of_life(tmp_path):
    live, record = LiveRuns(tmp_path), Record("a-study", "climb", "k1")
    live.add(record)
    there = tmp_path / "another-host~12~3.00"
    (tmp_path / process_mark()).rename(there)
    assert live.elsewhere("a-study", "climb", "k1") is not None and live.lives(record, there.name) is True
    os.utime(there, (1, time.time() - SILENT - 1))
    assert live.elsewhere("a-study", "climb", "k1") is None and live.lives(record, there.name) is False
    assert live.lives(record, "a-third-host~1~1.00") is None, "nobody here knows"
    live.sweep()
    assert not there.exists()
    live.remove(record)


def test_signs_of_life_come_in_time(tmp_path, monkeypatch):
    assert BEAT * 2 < SILENT < 10
    monkeypatch.setattr("workbench.live_runs.BEAT", 0.05)
    told = []
    live, record = LiveRuns(tmp_path, told.append), Record("a-study", "climb", "k1", run="r1")
    live.add(record)
    place = tmp_path / process_mark()
    os.utime(place, (1, 1))
    deadline = time.monotonic() + 10
    while place.stat().st_mtime == 1 or not told:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert set(told) == {"r1"}
    live.remove(record)
    live._thread.join(10)


def test_a_folder_that_cannot_be_written_to_is_passed_over(tmp_path):
    (tmp_path / "file").write_text("")
    live, record = LiveRuns(tmp_path / "file" / "live"), Record("a-study", "climb", "k1")
    live.add(record)
    live.remove(record)
    live.sweep()
    assert live.elsewhere("a-study", "climb", "k1") is None
