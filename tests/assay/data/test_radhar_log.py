"""RadHAR's text logs: every number comes back, frames start where point_id does not rise, faults are named."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data import InputError, folder_points, log_points, open_sequences
from assay.data.radhar_log import parse_log

FIELDS = ("x", "y", "z", "range", "velocity", "intensity")


def record(point_id, nanoseconds, values, seq=0):
    secs, nsecs = divmod(nanoseconds, 10**9)
    x, y, z, distance, velocity, intensity = values
    return (
        f"header: \n  seq: {seq}\n  stamp: \n    secs: {secs}\n    nsecs: {nsecs}\n"
        f'  frame_id: "ti_mmwave"\npoint_id: {point_id}\nx: {x!r}\ny: {y!r}\nz: {z!r}\nrange: {distance!r}\n'
        f"velocity: {velocity!r}\ndoppler_bin: 8\nbearing: -73.3\nintensity: {intensity!r}\n---\n"
    )


def log_of(frames, start=1_561_683_369 * 10**9, step=33_000_000):
    """A log of frames, each a list of six values a point."""
    text = ""
    for i, points in enumerate(frames):
        for point_id, values in enumerate(points):
            text += record(point_id, start + i * step + point_id * 1000, values)
    return text


def person(frames=20, points=3, x=1.5):
    return log_of([[(x, 0.1 * p, 0.2, 1.6, 0.614668667316, 20.0) for p in range(points)] for _ in range(frames)])


number = st.floats(-1e6, 1e6, width=32)
values = st.tuples(*(number,) * 6)


@settings(max_examples=40)
@given(frames=st.lists(st.lists(values, min_size=1, max_size=4), min_size=1, max_size=6), windows=st.booleans())
def test_every_number_comes_back(frames, windows):
    text = log_of(frames)
    frame, time, read = parse_log((text.replace("\n", "\r\n") if windows else text).encode(), "a.txt")
    np.testing.assert_array_equal(read, np.array([point for points in frames for point in points], np.float32))
    np.testing.assert_array_equal(frame, np.repeat(np.arange(len(frames)), [len(points) for points in frames]))
    expected = [i * 0.033 + p * 1e-6 for i, points in enumerate(frames) for p in range(len(points))]
    np.testing.assert_allclose(time, expected, atol=1e-9)


def test_a_frame_whose_first_points_were_lost_still_starts_a_frame():
    text = "".join(record(p, t, (1.0,) * 6) for t, p in enumerate([0, 1, 2, 1, 2, 2, 0]))
    frame, _, _ = parse_log(text.encode(), "a.txt")
    np.testing.assert_array_equal(frame, [0, 0, 0, 1, 1, 2, 3])


def test_a_second_that_turns_over_does_not_turn_back_the_clock():
    text = log_of([[(1.0,) * 6]] * 3, start=5 * 10**9 - 10_000_000, step=8_000_000)
    np.testing.assert_allclose(parse_log(text.encode(), "a.txt")[1], [0, 0.008, 0.016], atol=1e-12)


GOOD = person(frames=2, points=2)


@settings(max_examples=80)
@given(at=st.integers(1, len(GOOD.rstrip()) - 1))
def test_a_log_that_is_cut_anywhere_is_named_or_ends_with_a_whole_record(at):
    cut = GOOD[:at]
    if cut.rstrip().endswith("\n---"):
        assert len(parse_log(cut.encode(), "a.txt")[0]) == cut.count("\n---")
        return
    with pytest.raises(InputError, match=r"^a\.txt: (record \d is cut off|has no radar record).*\.$") as caught:
        parse_log(cut.encode(), "a.txt")
    if "point_id:" in cut:
        assert f"record {GOOD[:at].count(chr(10) + '---') + 1} is cut off" in str(caught.value)


FAULTS = {
    "a.txt: record 2 is cut off (it has no intensity); expected a log that ends with a whole record.": lambda t: t[
        : t.index("intensity", t.index("---"))
    ],
    "a.txt: record 2 cannot be read (it has no range); expected a RadHAR log.": lambda t: without(t, "range", 1),
    "a.txt: record 1 cannot be read (a line is malformed or out of order); expected a RadHAR log.": lambda t: t.replace(
        "y: 0.0", "y: zero", 1
    ),
    "a.txt: holds a number that cannot be read; expected a RadHAR log.": lambda t: t.replace("z: 0.2", "z: 0.2.2", 1),
    "a.txt: 1 non-finite value in record 3; expected finite values.": lambda t: replaced(t, "z: 0.2", "z: nan", 2),
    "a.txt: stamp runs backwards at record 4; expected a clock that does not.": lambda t: replaced(
        t, "secs: 1561683369", "secs: 1561683368", 3
    ),
    "a.txt: has no radar record; expected a RadHAR log, records of header, point_id, x, … ended by ---.": (
        lambda t: "walk,1,2\n"
    ),
}


def replaced(text, old, new, nth):
    parts = text.split(old)
    return old.join(parts[: nth + 1]) + new + old.join(parts[nth + 1 :])


def without(text, key, nth):
    lines = text.splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.startswith(key)][nth]
    return "".join(lines[:at] + lines[at + 1 :])


@pytest.mark.parametrize("sentence", FAULTS)
def test_faults_are_named_in_one_sentence(tmp_path, sentence):
    text = FAULTS[sentence](GOOD)
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        log_points(tmp_path / "a.txt")
    assert str(caught.value) == sentence


def test_a_log_must_be_there_and_hold_something(tmp_path):
    with pytest.raises(InputError, match=r"^a\.txt: no such file;"):
        log_points(tmp_path / "a.txt")
    (tmp_path / "a.txt").touch()
    with pytest.raises(InputError, match=r"^a\.txt: is empty;"):
        log_points(tmp_path / "a.txt")


def test_a_folder_gives_labels_and_the_split(tmp_path):
    for split, activity, name in (("Test", "walk", "b"), ("Train", "walk", "a"), ("Train", "jump", "a")):
        (tmp_path / split / activity).mkdir(parents=True, exist_ok=True)
        (tmp_path / split / activity / f"{name}.txt").write_text(person())
    seen = []
    points = folder_points(tmp_path, lambda logs: (seen.append(log.name) or log for log in logs))
    assert points.names == ("train/jump/a.txt", "train/walk/a.txt", "test/walk/b.txt")
    assert points.activities == ("jump", "walk", "walk")
    assert points.splits == ("train", "train", "test")
    assert points.n_points.tolist() == [60] * 3
    assert len(seen) == 3


def test_a_folder_without_a_split_has_none_and_must_hold_logs(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.txt log; expected folders of activities with RadHAR logs\.$"):
        folder_points(tmp_path)
    for activity in ("walk", "jump"):
        (tmp_path / activity).mkdir()
        for name in "ab":
            (tmp_path / activity / f"{name}.txt").write_text(person(frames=60))
    read = open_sequences(tmp_path)
    assert (read.classes, len(read), read.is_test) == (("jump", "walk"), 4, None)
    assert read.group_names == ("jump/a.txt", "jump/b.txt", "walk/a.txt", "walk/b.txt")
    assert read.fs == pytest.approx(1 / 0.033, abs=0.01)
    (tmp_path / "walk" / "b.txt").write_text(person()[:-30])
    with pytest.raises(InputError, match=r"^b\.txt: record 60 is cut off"):
        open_sequences(tmp_path)


def test_two_recordings_of_one_name_are_refused(tmp_path):
    for place in ("first/walk", "second/walk"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.txt").write_text(person())
    with pytest.raises(InputError, match=r"has 2 recordings named walk/a\.txt; expected different names\.$"):
        folder_points(tmp_path)


def test_a_single_log_has_one_class(tmp_path):
    (tmp_path / "a.txt").write_text(person(frames=90))
    with pytest.raises(InputError, match=r"^y: has one class \(.*\); expected at least 2\.$"):
        open_sequences(tmp_path / "a.txt")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "split", "recording", "records"),
    [("raw-train-walk", "train", "__20_walk_1.txt", 1147), ("raw-test-boxing", "test", "__20_boxing_6.txt", 1151)],
)
def test_real_logs_give_the_points_of_the_compact_form(name, split, recording, records):
    folder = Path(os.environ["ASSAY_DATA"]) / "radhar"
    raw = log_points(folder / f"{name}.txt")
    assert raw.n_points.tolist() == [records]
    with np.load(folder / f"{split}.npz", allow_pickle=False) as whole:
        at = whole["recording"].tolist().index(recording)
        part = slice(whole["n_points"][:at].sum(), whole["n_points"][:at].sum() + records)
        np.testing.assert_array_equal(raw.frame, whole["frame"][part])
        np.testing.assert_allclose(raw.time_s, whole["time_s"][part], atol=2e-6)
        np.testing.assert_array_equal(raw.values, whole["xyz_range_velocity_intensity"][part])
