"""The log of progress: every change of words and every twentieth, and no line for every step."""

import json

from hypothesis import given
from hypothesis import strategies as st

from workbench import progress_log
from workbench.progress_log import PROGRESS, ProgressLog


def lines(folder):
    return [json.loads(line) for line in (folder / PROGRESS).read_text().splitlines()]


class Clock:
    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(progress_log.time, "monotonic", lambda: self.now)


def test_steps_become_few_lines_and_the_end_is_one(tmp_path, monkeypatch):
    clock = Clock(monkeypatch)
    log = ProgressLog(tmp_path)
    for step in range(10_001):
        clock.now += 0.01
        log.note(step / 10_000, "training")
    found = lines(tmp_path)
    assert 20 <= len(found) <= 23 and found[-1] == {"after": 100.01, "fraction": 1.0, "message": "training"}
    assert [line["fraction"] for line in found] == sorted(line["fraction"] for line in found)


def test_other_words_and_a_further_loop_are_told(tmp_path, monkeypatch):
    clock = Clock(monkeypatch)
    log = ProgressLog(tmp_path)
    for fraction, message in ((0.0, "β 0.1"), (0.01, "β 0.2"), (1.0, "β 0.2"), (0.0, "testing")):
        clock.now += 0.6
        log.note(fraction, message)
    assert [(line["fraction"], line["message"]) for line in lines(tmp_path)] == [
        (0.0, "β 0.1"), (0.01, "β 0.2"), (1.0, "β 0.2"), (0.0, "testing"),
    ]  # fmt: skip


@given(st.lists(st.tuples(st.floats(0, 1), st.text(max_size=3), st.floats(0, 0.4)), max_size=60))
def test_at_most_two_lines_a_second_but_for_an_end(tmp_path_factory, steps):
    import pytest

    folder = tmp_path_factory.mktemp("log")
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        log = ProgressLog(folder)
        for fraction, message, pause in steps:
            clock.now += pause
            log.note(fraction, message)
    found = lines(folder) if (folder / PROGRESS).exists() else []
    spent = sum(pause for _, _, pause in steps)
    assert len([line for line in found if line["fraction"] < 1]) <= 2 * spent + 1


def test_a_disk_that_is_full_stops_no_run(tmp_path):
    log = ProgressLog(tmp_path / "missing")
    log.note(0.5, "going on")
