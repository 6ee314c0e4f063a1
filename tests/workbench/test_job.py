"""What a job says of the time that is left, and whom it tells."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.job import LOG_SHOWN, Bell, Countdown, Job, JobFailed, Request, State, tail_of


@given(st.floats(1, 1e4), st.integers(20, 200))
def test_at_a_steady_pace_the_time_left_is_right(total, steps):
    countdown = Countdown()
    for step in range(steps + 1):
        now = total * step / steps
        countdown.report(step / steps, now)
        left = countdown.left(now)
        if left is not None:
            assert left == pytest.approx(total - now, abs=1e-6 * total)
    assert countdown.left(total) == pytest.approx(0, abs=1e-6 * total) or total < 0.5 * steps / (steps - 1)


def test_the_time_left_counts_down_and_is_unknown_at_first_and_after_a_fall_back():
    countdown = Countdown()
    assert countdown.left(0) is None
    countdown.report(0.0, 0)
    assert countdown.left(0) is None
    countdown.report(0.5, 10)
    assert countdown.left(10) == pytest.approx(10) and countdown.left(13) == pytest.approx(7)
    assert countdown.left(100) == 0
    countdown.report(0.0, 20)
    assert countdown.left(20) is None


def test_a_listener_that_is_slow_or_broken_holds_nobody_up():
    bell = Bell()
    job, told = Job(Request("s", "e"), "key", lambda job: None, bell), threading.Event()

    def broken():
        raise RuntimeError("no")

    job.on_change(broken)
    job.on_change(lambda: time.sleep(0.3))
    job.on_change(told.set)
    began = time.monotonic()
    for step in range(100):
        job.report(step / 100, "")
    job.end(State.DONE)
    assert time.monotonic() - began < 0.2 and job.fraction == 1
    assert told.wait(2)
    bell.close()


def test_a_failed_job_raises_what_it_says():
    bell = Bell()
    job = Job(Request("s", "e"), "key", lambda job: None, bell)
    job.error, job.fault = "x: got 1; expected 2.", False
    job.end(State.FAILED, log="words")
    with pytest.raises(JobFailed, match="got 1") as failure:
        job.wait()
    assert not failure.value.fault and failure.value.log == "words"
    bell.close()


@given(st.integers(0, 3 * LOG_SHOWN))
def test_the_tail_of_a_file_is_bounded(tmp_path_factory, size):
    path = tmp_path_factory.mktemp("tail") / "log"
    path.write_bytes(b"a" * size + b"end")
    tail = tail_of(path)
    assert len(tail) == min(size + 3, LOG_SHOWN) and tail.endswith("end")
    assert tail_of(path.with_name("none")) == ""
