"""Clocks: steps, regularity, and the frame that is nearest to each tick."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data import Clock, nearest_frames, regularity


def one(times):
    times = np.asarray(times, dtype=float)
    return Clock(times, np.zeros(len(times), dtype=np.int64), ("only",))


@given(steps=st.lists(st.floats(0, 3), min_size=1, max_size=30), fs=st.floats(0.2, 20))
def test_each_tick_takes_the_frame_that_brute_force_finds_nearest(steps, fs):
    times = np.concatenate([[0.0], np.cumsum(steps)])
    found = nearest_frames(times, fs)
    ticks = np.arange(len(found)) / fs
    distance = np.abs(times[None, :] - ticks[:, None])
    np.testing.assert_allclose(distance[np.arange(len(ticks)), found], distance.min(axis=1), atol=1e-9)
    assert (np.diff(found) >= 0).all()
    assert abs(ticks[-1] - times[-1]) <= 0.5 / fs + 1e-9


@given(frames=st.integers(1, 50), fs=st.floats(0.1, 1000))
def test_a_regular_clock_at_its_own_rate_takes_each_frame_once(frames, fs):
    np.testing.assert_array_equal(nearest_frames(np.arange(frames) / fs, fs), np.arange(frames))


def test_a_gap_repeats_its_edges_and_a_burst_drops_frames():
    np.testing.assert_array_equal(nearest_frames(np.array([0.0, 1, 4, 5]), 1.0), [0, 1, 1, 2, 2, 3])
    np.testing.assert_array_equal(nearest_frames(np.array([0.0, 0.01, 1.0, 1.01, 2.0]), 1.0), [0, 2, 4])


def test_steps_between_segments_do_not_count():
    clock = Clock(np.array([0, 0.1, 0.2, 0, 0.3]), np.array([0, 0, 0, 1, 1]), ("a", "b"))
    np.testing.assert_allclose(clock.steps_ms(), [100, 100, 300])
    np.testing.assert_allclose(clock.steps_ms(1), [300])
    found = regularity(clock)
    assert found.rate_hz == pytest.approx(6)
    assert (found.least_ms, found.greatest_ms) == pytest.approx((100, 300))
    assert not found.regular


@pytest.mark.parametrize(("off", "regular"), [(0.009, True), (0.011, False)])
def test_regular_means_within_one_percent(off, regular):
    assert regularity(one([0, 1 - off, 2])).regular == regular


@pytest.mark.parametrize("times", [[0.0], [0.0, 0.0]])
def test_a_clock_that_stands_still_is_named(times):
    with pytest.raises(ValueError, match=r"^t: got no two different times in any segment; expected a running clock\.$"):
        regularity(one(times))
