"""Sweeps: what an axis may be, that every point is a run of its own, and that workers share the points."""

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.controls import ControlError
from workbench.job import State
from workbench.registry import registry
from workbench.runner import Request, Runner
from workbench.store import Store
from workbench.sweep import Sweep, axis_of


@pytest.fixture
def study(kitchen):
    return registry().get("kitchen-sink")


@pytest.mark.parametrize(
    ("name", "given", "values"),
    [
        ("amplitude", "0.5:1.5:3", (0.5, 1.0, 1.5)),
        ("amplitude", "1, 0.25, 1", (1.0, 0.25)),
        ("amplitude", np.array([1.0, 2.0]), (1.0, 2.0)),
        ("frequency", "0.1:10:3", (0.1, 1.0, 10.0)),  # its slider is logarithmic
        ("points", "10:13:7", (10, 11, 12, 13)),
        ("shape", "*", ("sine", "square", "saw")),
        ("noisy", "*", (False, True)),
        ("period", "0.5, 0.25", ("0.5", "0.25")),
    ],
)
def test_an_axis_is_what_its_control_takes(study, name, given, values):
    assert axis_of(study, name, given).values == values


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(low=st.floats(0, 1.9), high=st.floats(2, 4), count=st.integers(2, 50))
def test_both_ends_are_among_the_values(study, low, high, count):
    found = axis_of(study, "amplitude", f"{low!r}:{high!r}:{count}").values
    assert found[0] == pytest.approx(low, rel=1e-11) and found[-1] == pytest.approx(high, rel=1e-11)
    assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("axes", "options", "sentence"),
    [
        ({"nothing": "1:2:3"}, {}, "sweep: got 'nothing'; expected one of seed"),
        ({"amplitude": "1:2"}, {}, "sweep: got amplitude=1:2; expected low:high:count"),
        ({"amplitude": "1:inf:3"}, {}, "sweep: got amplitude=1:inf:3"),
        ({"frequency": "0:1:3"}, {}, "sweep: got frequency=0:1:3"),
        ({"amplitude": "1:9:3"}, {}, "amplitude: got 5"),
        ({"amplitude": ""}, {}, "sweep: got no values for amplitude"),
        ({"amplitude": "*"}, {}, "sweep: got amplitude=*"),
        ({}, {}, "sweep: got no axis and one seed"),
        ({"amplitude": "0:4:50", "points": "10:2000:50"}, {}, "sweep: got 2500 points; expected at most 2000"),
        ({"amplitude": "0:4:3"}, {"seeds": 0}, "seeds: got 0"),
        ({"amplitude": "0:4:3"}, {"values": {"amplitude": 1}}, "sweep: got amplitude, which is set too"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence_and_nothing_runs(study, axes, options, sentence):
    with pytest.raises(ControlError) as refused:
        Sweep(study, "climb", Runner(None), axes, **options)
    assert str(refused.value).startswith(sentence)


def test_a_sweep_gives_every_point_a_run_and_all_rows_in_one_table(study):
    runner = Runner(Store(), workers=2)
    try:
        sweep = Sweep(study, "climb", runner, {"amplitude": "1:2:2"}, seeds=2, preset="quick").start()
        assert sweep.wait(90) and sweep.state is State.DONE and sweep.fraction == 1
        points = sweep.frame()
        assert list(points.amplitude) == [1, 1, 2, 2] and list(points.seed) == [0, 1, 0, 1]
        assert points.digest.nunique() == 4 and points.run.nunique() == 4
        heights = sweep.frame("heights")
        assert len(heights) == 4 * 5 and set(heights.groupby("amplitude").size()) == {10}
        alone = runner.submit(Request("kitchen-sink", "climb", {"amplitude": "2.0", "seed": "1"}, "quick"))
        assert alone.wait(60).digest == points.digest[3] and alone.kept
        claims = sweep.frame("claims")
        assert set(claims.claim) == {"2"} and list(claims.verdict[:2]) == ["holds"] * 2
        assert list(claims.measured) == list(heights.groupby(["amplitude", "seed"]).height.max())
        # more points later: those that are there are not run again
        wider = Sweep(study, "climb", runner, {"amplitude": [1, 2, 3]}, seeds=2, preset="quick").start()
        assert wider.wait(90) and [point.job.kept for point in wider.points] == [True] * 4 + [False] * 2
    finally:
        runner.close()


def test_a_cancelled_sweep_keeps_what_is_done(study):
    runner = Runner(None, workers=1)
    try:
        sweep = Sweep(study, "climb", runner, {"amplitude": "0:4:9"}, values={"steps": 20, "pause": 0.02}).start()
        end = time.monotonic() + 60
        while not sweep.done and time.monotonic() < end:
            time.sleep(0.02)
        asked = time.monotonic()
        sweep.cancel()
        assert sweep.wait(5) and time.monotonic() - asked < 2
        assert sweep.state is State.CANCELLED and 0 < len(sweep.done) < 9
        assert len(sweep.frame("heights")) == 20 * len(sweep.done)
    finally:
        runner.close()


def test_a_point_that_fails_leaves_the_others(study):
    runner = Runner(None)
    try:
        sweep = Sweep(study, "breaks", runner, {"amplitude": [1.0, 2.0]}).start()
        assert sweep.wait(60) and sweep.state is State.FAILED and len(sweep.failed) == 2
        assert all("broke the glass" in sentence for sentence in sweep.frame().error)
    finally:
        runner.close()


@pytest.mark.slow
def test_two_workers_share_the_points(study):
    took = {}
    for workers in (1, 2):
        runner = Runner(None, workers=workers)
        try:
            first = Sweep(study, "climb", runner, {"seed": range(90, 90 + workers)}, preset="quick").start()
            assert first.wait(90)  # the workers are there
            values = {"steps": 20, "pause": 0.1}
            began = time.monotonic()
            assert Sweep(study, "climb", runner, {"amplitude": "0:4:16"}, values=values).start().wait(120)
            took[workers] = time.monotonic() - began
        finally:
            runner.close()
    assert took[2] <= 0.6 * took[1]
