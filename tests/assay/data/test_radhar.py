"""Radar frames as sequences: grids, windows, dirty points and pairs of frames, each dropped by its rule and counted."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data import (
    InputError,
    RadarOptions,
    RadarPoints,
    compact_points,
    grid_points,
    open_sequences,
    radar_sequences,
)
from assay.data.archive import open_archive
from assay.data.radhar_archive import read_frames, write_frames
from assay.data.radhar_grid import DOPPLER_STEP_M_S, HEIGHT_EDGES_M, RANGE_EDGES_M


def points_of(recordings=4, frames=70, per_frame=3, seed=0, pairs=False, splits=("",) * 4, length=None):
    """Recordings of plausible points; every other one is of another activity."""
    rng = np.random.default_rng(seed)
    n_frames = np.full(recordings, frames) if length is None else np.asarray(length)
    count = int(n_frames.sum()) * per_frame
    values = np.zeros((count, 6), dtype=np.float32)
    values[:, 0] = rng.uniform(0.31, 5, count)
    values[:, 2] = rng.uniform(-1.39, 1.39, count)
    values[:, 3] = rng.uniform(0.4, 5.5, count)
    values[:, 4] = DOPPLER_STEP_M_S * rng.integers(-8, 8, count)
    index = np.concatenate([np.arange(n) for n in n_frames])
    time = index / 30.0
    if pairs:
        time = (index // 2) * 0.0594 + (index % 2) * 0.0013
    return RadarPoints(
        names=tuple(f"recording {i}" for i in range(recordings)),
        activities=tuple(("walk", "jump")[i % 2] for i in range(recordings)),
        splits=splits,
        n_points=n_frames * per_frame,
        frame=np.repeat(index, per_frame),
        time_s=np.repeat(time, per_frame),
        values=values,
    )


def changed(points, row, **columns):
    values = points.values.copy()
    for name, value in columns.items():
        values[row, ("x", "y", "z", "range", "velocity", "intensity").index(name)] = value
    return dataclasses.replace(points, values=values)


def rules(sequences):
    return {
        (entry.action, entry.what, entry.rule.split(":")[0]): (entry.count, entry.of) for entry in sequences.handled
    }


@settings(max_examples=15)
@given(seed=st.integers(0, 999), per_frame=st.integers(1, 5))
def test_grids_count_points_and_add_up_speeds(seed, per_frame):
    points = points_of(frames=9, per_frame=per_frame, seed=seed)
    points = changed(points, slice(0, None, 7), x=0.1)
    frames = grid_points(points)
    owner = np.repeat(np.arange(4), points.n_points)
    at = owner * 9 + points.frame
    x, _, z, distance, velocity, _ = points.values.T.astype(np.float64)
    for grid, which in ((frames.body, x >= 0.3), (frames.clutter, x < 0.3)):
        edges = (np.arange(37), RANGE_EDGES_M, HEIGHT_EDGES_M)
        sample = np.stack([at, distance, z], axis=1)[which]
        expected, _ = np.histogramdd(sample, edges)
        np.testing.assert_array_equal(grid[:, 0], expected)
        expected, _ = np.histogramdd(sample, edges, weights=np.abs(velocity)[which])
        np.testing.assert_allclose(grid[:, 1], expected, rtol=1e-5)


def test_impossible_points_are_dropped_and_counted():
    points = points_of()
    clean = radar_sequences(grid_points(points))
    dirty = changed(changed(points, 5, range=68.1, velocity=-887.6), 400, range=27.1, velocity=15.4)
    read = radar_sequences(grid_points(dirty))
    beyond = "range above 11.16 m or speed above 4.92 m/s"
    assert rules(read) == {("dropped", "points", beyond): (2, 840)}
    assert rules(clean) == {}
    lost = grid_points(points).body - grid_points(dirty).body
    assert lost[:, 0].sum() == 2
    assert set(np.flatnonzero(lost.any(axis=(1, 2, 3)))) == {5 // 3, 400 // 3}


@pytest.mark.parametrize(
    ("column", "value", "possible"),
    [("range", 11.155, True), ("range", 11.16, False), ("range", -0.1, False),
     ("velocity", -4.9173, True), ("velocity", -4.93, False)],
)  # fmt: skip
def test_the_radar_has_limits(column, value, possible):
    assert grid_points(changed(points_of(), 0, **{column: value})).points[:, 1].sum() == (not possible)


def test_clutter_can_be_kept():
    points = changed(points_of(), slice(0, 30), x=0.2)
    dropped = radar_sequences(grid_points(points))
    kept = radar_sequences(grid_points(points), RadarOptions(keep_clutter=True))
    assert rules(dropped) == {("dropped", "points", "x below 0.3 m"): (30, 840)}
    assert rules(kept) == {}
    assert kept.X[0, :, :32].sum() - dropped.X[0, :, :32].sum() == 30


def test_points_beyond_the_grid_are_counted_in_its_outer_bins():
    points = changed(changed(points_of(), 0, z=3.0), 1, z=-9.0, range=7.0)
    frames = grid_points(points)
    assert frames.body[:, 0].sum() == len(points.values)
    ((key, value),) = rules(radar_sequences(frames)).items()
    assert (key[:2], value) == (("clipped", "points"), (2, 840))


def test_nothing_but_clutter_is_refused():
    with pytest.raises(InputError, match=r"^points: all 840 are impossible or self-clutter; expected some of a person"):
        grid_points(changed(points_of(), slice(None), x=0.0))


@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(20, 90), min_size=4, max_size=4), window=st.integers(8, 20), stride=st.integers(1, 30)
)
def test_windows_lie_within_one_recording_and_miss_none(lengths, window, stride):
    frames = grid_points(points_of(length=lengths))
    made = radar_sequences(frames, RadarOptions(window=window, stride=stride))
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    expected = [
        (owner, frames.body[first : first + window].reshape(window, 64))
        for owner in range(4)
        for first in range(bounds[owner], bounds[owner + 1] - window + 1, stride)
    ]
    np.testing.assert_array_equal(made.group, [owner for owner, _ in expected])
    np.testing.assert_array_equal(made.X, [values for _, values in expected])
    assert [made.classes[code] for code in made.y] == [("walk", "jump")[owner % 2] for owner in made.group]
    assert made.feature_shape == (2, 8, 4)


def test_recordings_shorter_than_a_window_are_counted_and_all_of_them_refused():
    frames = grid_points(points_of(length=[70, 70, 30, 80]))
    made = radar_sequences(frames, RadarOptions(stride=5))
    assert rules(made) == {("dropped", "recordings", "shorter than a window of 60 frames"): (1, 4)}
    with pytest.raises(InputError, match=r"^window: got 81 frames; expected at most 80, the longest recording\.$"):
        radar_sequences(frames, RadarOptions(window=81))


def test_the_second_frame_of_a_pair_can_be_dropped():
    frames = grid_points(points_of(pairs=True))
    both = radar_sequences(frames)
    one = radar_sequences(frames, RadarOptions(pairs="one", window=30))
    assert both.fs == pytest.approx(69 / (34 * 0.0594 + 0.0013), abs=0.005)
    assert one.fs == pytest.approx(1 / 0.0594, abs=0.005)
    assert rules(one) == {("dropped", "frames", "less than 10 ms after the frame before"): (140, 280)}
    np.testing.assert_array_equal(one.X[0].reshape(30, 2, 8, 4), frames.body[:60:2])
    steps = both.clock.steps_ms()
    np.testing.assert_allclose(np.unique(steps.round(6)), [1.3, 58.1])


@pytest.mark.parametrize(("fs", "action"), [(25.0, "dropped"), (50.0, "repeated")])
def test_a_regular_clock_takes_the_nearest_frames_and_counts_what_it_drops_and_repeats(fs, action):
    frames = grid_points(points_of(pairs=True))
    made = radar_sequences(frames, RadarOptions(resample_hz=fs, window=50, stride=1))
    assert made.fs == fs
    time = frames.time_s[frames.recording == 0]
    ticks = np.arange(int(np.floor(time[-1] * fs + 0.5)) + 1) / fs
    nearest = np.abs(time[None] - ticks[:, None]).argmin(axis=1)
    np.testing.assert_array_equal(made.X[0].reshape(50, 2, 8, 4), frames.body[nearest[:50]])
    found = {kind: counts for (kind, _, rule), counts in rules(made).items() if rule.startswith("resampled")}
    used = 4 * len(set(nearest))
    expected = {"dropped": (280 - used, 280), "repeated": (4 * len(ticks) - used, 4 * len(ticks))}
    assert found == {kind: counts for kind, counts in expected.items() if counts[0]}
    assert found[action][0] > 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"pairs": "two"}, "pairs: got 'two'; expected 'keep' or 'one'."),
        ({"resample_hz": 0.0}, "fs: got 0.0; expected a finite number above 0 Hz."),
        ({"window": 7}, "window: got 7; expected a whole number of frames, at least 8."),
        ({"stride": True}, "stride: got True; expected a whole number of frames, at least 1."),
        ({"stride": 0.5}, "stride: got 0.5; expected a whole number of frames, at least 1."),
    ],
)
def test_options_are_checked(options, sentence):
    with pytest.raises(InputError) as caught:
        RadarOptions(**options)
    assert str(caught.value) == sentence


def write_compact(path, points, **replaced):
    arrays = {
        "activity": np.array(points.activities),
        "recording": np.array(points.names),
        "n_points": points.n_points.astype(np.int32),
        "frame": points.frame.astype(np.uint16),
        "time_s": points.time_s.astype(np.float32),
        "xyz_range_velocity_intensity": points.values,
    }
    np.savez(path, **(arrays | replaced))
    return path


def test_the_compact_form_round_trips(tmp_path):
    points = points_of(pairs=True)
    read = compact_points({"": write_compact(tmp_path / "a.npz", points)})
    assert read.activities == points.activities
    assert read.names == tuple(map("/".join, zip(points.activities, points.names, strict=True)))
    for name in ("n_points", "frame", "values"):
        np.testing.assert_array_equal(getattr(read, name), getattr(points, name))
    np.testing.assert_allclose(read.time_s, points.time_s, atol=1e-6)
    assert open_sequences(tmp_path / "a.npz").X.shape[1:] == (60, 64)
    for split in ("train", "test"):
        write_compact(tmp_path / f"{split}.npz", points)
    whole = open_sequences(tmp_path)
    assert (len(whole.group_names), whole.is_test.sum()) == (8, len(whole) // 2)


FAULTS = {
    "a.npz: n_points adds up to 837 for 840 points; expected as many.": {"n_points": [210, 210, 210, 207]},
    "a.npz: time_s falls within a recording; expected a clock that does not run backwards.": {
        "time_s": -np.arange(840, dtype=np.float32)
    },
    "a.npz: frame skips or falls within a recording; expected 0, 1, 2, … in each.": {
        "frame": 2 * (np.arange(840) % 210)
    },
    "a.npz: xyz_range_velocity_intensity has float64 of shape (840, 5); expected shape (840, 6).": {
        "xyz_range_velocity_intensity": np.zeros((840, 5))
    },
    "a.npz: xyz_range_velocity_intensity holds non-finite values; expected finite values.": {
        "xyz_range_velocity_intensity": np.full((840, 6), np.nan)
    },
    "a.npz: has 4 recordings named walk/a; expected different names.": {
        "activity": np.array(["walk"] * 4), "recording": np.array(["a"] * 4)
    },
}  # fmt: skip


@pytest.mark.parametrize("sentence", FAULTS)
def test_arrays_of_the_compact_form_must_fit_each_other(tmp_path, sentence):
    with pytest.raises(InputError) as caught:
        open_sequences(write_compact(tmp_path / "a.npz", points_of(), **FAULTS[sentence]))
    assert str(caught.value) == sentence


def test_a_folder_with_one_half_of_the_compact_form_is_no_recording(tmp_path):
    write_compact(tmp_path / "train.npz", points_of())
    with pytest.raises(InputError, match=r"holds no \.txt log"):
        open_sequences(tmp_path)


@settings(max_examples=10)
@given(seed=st.integers(0, 99), pairs=st.booleans(), lengths=st.lists(st.integers(1, 30), min_size=4, max_size=4))
def test_the_form_that_is_shipped_round_trips(tmp_path_factory, seed, pairs, lengths):
    frames = grid_points(points_of(seed=seed, pairs=pairs, length=lengths, splits=("train", "test") * 2))
    path = tmp_path_factory.mktemp("grids") / "a.npz"
    write_frames(frames, path)
    read = read_frames(open_archive(path))
    np.testing.assert_array_equal(read.body[:, 0], frames.body[:, 0])
    np.testing.assert_allclose(read.body[:, 1], frames.body[:, 1], atol=1e-5)
    np.testing.assert_array_equal(read.clutter[:, 0], frames.clutter[:, 0])
    np.testing.assert_allclose(read.time_s, frames.time_s, atol=0.51e-4)
    np.testing.assert_array_equal(read.recording, frames.recording)
    assert (read.names, read.activities, read.splits) == (frames.names, frames.activities, frames.splits)
    np.testing.assert_array_equal(read.points, frames.points)


def test_speeds_that_are_no_doppler_bins_are_not_shipped(tmp_path):
    with pytest.raises(ValueError, match="no whole Doppler bins"):
        write_frames(grid_points(changed(points_of(), 0, velocity=1.0)), tmp_path / "a.npz")
