"""Points of many RadHAR recordings, from raw logs or from their compact form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.data.archive import Archive, open_archive
from assay.data.radhar_log import VALUES, read_log
from assay.data.sequences import InputError

__all__ = ["COMPACT", "RadarPoints", "compact_points", "folder_points", "log_points"]

COMPACT = ("activity", "recording", "n_points", "frame", "time_s", "xyz_range_velocity_intensity")
SPLITS = ("train", "test")
MAX_LOGS = 5000


@dataclass(frozen=True, eq=False)
class RadarPoints:
    """Points of R recordings, one after the other, in the order of their frames.

    Attributes:
        names: R names, `split/activity/file` or `activity/file`; no two are the same.
        activities: R labels.
        splits: R of `train` or `test`, or empty where the source has no split.
        n_points: (R,) points of each recording; P in all.
        frame: (P,) index of the radar frame within the recording, rising by 0 or 1.
        time_s: (P,) seconds since the recording's first point, not falling.
        values: (P, 6) float32: x, y, z and range in m, velocity in m/s, intensity in dB.
    """

    names: tuple[str, ...]
    activities: tuple[str, ...]
    splits: tuple[str, ...]
    n_points: NDArray[np.int64]
    frame: NDArray[np.int64]
    time_s: NDArray[np.float64]
    values: NDArray[np.float32]


def folder_points(folder: Path, progress: Callable[[Iterable[Path]], Iterable[Path]] | None = None) -> RadarPoints:
    """Points of all logs below a folder.

    The label of `…/Train/walk/20_walk_1.txt` is its folder's name, walk; the split comes from the folder above when
    that is Train or Test for every log.

    Args:
        folder: searched at any depth for `.txt` files.
        progress: wraps the files; raising in it stops the work.

    Raises:
        InputError: no log, or one that cannot be read.
    """
    logs = sorted(folder.rglob("*.txt"), key=lambda log: (order_of_split(log), log.parent.name, log.name))
    if not logs:
        raise InputError(f"{folder.name}: holds no .txt log; expected folders of activities with RadHAR logs.")
    if len(logs) > MAX_LOGS:
        raise InputError(f"{folder.name}: holds {len(logs)} logs; expected at most {MAX_LOGS}.")
    return points_of_logs(folder.name, logs, progress)


def log_points(log: Path) -> RadarPoints:
    """Points of a single log, labelled by the folder that it lies in.

    Raises:
        InputError: it cannot be read.
    """
    return points_of_logs(log.name, [log], None)


def points_of_logs(
    label: str, logs: list[Path], progress: Callable[[Iterable[Path]], Iterable[Path]] | None
) -> RadarPoints:
    logs = [log.absolute() for log in logs]
    parts = [read_log(log) for log in (logs if progress is None else progress(logs))]
    splits = tuple(log.parent.parent.name.lower() for log in logs)
    splits = splits if set(splits) <= set(SPLITS) else ("",) * len(logs)
    return RadarPoints(
        names=unique_names(label, splits, [log.parent.name for log in logs], [log.name for log in logs]),
        activities=tuple(log.parent.name for log in logs),
        splits=splits,
        n_points=np.array([len(frame) for frame, _, _ in parts], dtype=np.int64),
        frame=np.concatenate([frame for frame, _, _ in parts]),
        time_s=np.concatenate([time for _, time, _ in parts]),
        values=np.concatenate([values for _, _, values in parts]),
    )


def order_of_split(log: Path) -> int:
    name = log.parent.parent.name.lower()
    return SPLITS.index(name) if name in SPLITS else len(SPLITS)


def unique_names(label: str, splits: tuple[str, ...], activities: list[str], files: list[str]) -> tuple[str, ...]:
    """Names of recordings; two of the same name would be taken for one recording."""
    parts = zip(splits, activities, files, strict=True)
    names = tuple(f"{split}/{activity}/{file}".removeprefix("/") for split, activity, file in parts)
    for name in sorted(set(names)):
        if names.count(name) > 1:
            raise InputError(f"{label}: has {names.count(name)} recordings named {name}; expected different names.")
    return names


def compact_points(paths: dict[str, Path], max_bytes: int | None = None) -> RadarPoints:
    """Points of the compact form: one `.npz` for each split.

    Args:
        paths: files by split, `train` and `test`, or a single one under an empty name.
        max_bytes: largest size of one file when unpacked; without it that of `open_archive`.

    Raises:
        InputError: an array is missing, or the arrays do not fit each other.
    """
    parts = []
    for split, path in paths.items():
        archive = open_archive(path) if max_bytes is None else open_archive(path, max_bytes)
        parts.append(compact_part(archive, split))
    return RadarPoints(
        names=tuple(name for part in parts for name in part.names),
        activities=tuple(name for part in parts for name in part.activities),
        splits=tuple(name for part in parts for name in part.splits),
        n_points=np.concatenate([part.n_points for part in parts]),
        frame=np.concatenate([part.frame for part in parts]),
        time_s=np.concatenate([part.time_s for part in parts]),
        values=np.concatenate([part.values for part in parts]),
    )


def compact_part(archive: Archive, split: str) -> RadarPoints:
    """Points of one compact file, checked."""
    activity, recording, n_points, frame, time, values = archive.read(*COMPACT)
    label = archive.label
    recordings, points = len(np.atleast_1d(activity)), len(np.atleast_1d(frame))
    wanted: dict[str, tuple[NDArray[Any], tuple[int, ...], str]] = {
        "activity": (activity, (recordings,), "U"),
        "recording": (recording, (recordings,), "U"),
        "n_points": (n_points, (recordings,), "iu"),
        "frame": (frame, (points,), "iu"),
        "time_s": (time, (points,), "f"),
        "xyz_range_velocity_intensity": (values, (points, len(VALUES)), "f"),
    }
    for name, (array, shape, kinds) in wanted.items():
        if array.shape != shape or array.dtype.kind not in kinds:
            raise InputError(f"{label}: {name} has {array.dtype} of shape {array.shape}; expected shape {shape}.")
        if kinds == "f" and not np.isfinite(array).all():
            raise InputError(f"{label}: {name} holds non-finite values; expected finite values.")
    n_points = n_points.astype(np.int64)
    if not recordings or (n_points < 1).any() or n_points.sum() != points:
        raise InputError(f"{label}: n_points adds up to {n_points.sum()} for {points} points; expected as many.")
    frame, time = frame.astype(np.int64), time.astype(np.float64)
    inside = np.ones(points - 1, dtype=bool)
    inside[np.cumsum(n_points)[:-1] - 1] = False
    starts = np.cumsum(n_points) - n_points
    if not np.isin(np.diff(frame)[inside], (0, 1)).all() or frame[starts].any():
        raise InputError(f"{label}: frame skips or falls within a recording; expected 0, 1, 2, … in each.")
    if (np.diff(time)[inside] < 0).any():
        raise InputError(f"{label}: time_s falls within a recording; expected a clock that does not run backwards.")
    return RadarPoints(
        names=unique_names(label, (split,) * recordings, activity.tolist(), recording.tolist()),
        activities=tuple(activity.tolist()),
        splits=(split,) * recordings,
        n_points=n_points,
        frame=frame,
        time_s=time,
        values=values.astype(np.float32, copy=False),
    )
