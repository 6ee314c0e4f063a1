"""RadHAR's grids in a small `.npz`: the form in which the whole set is shipped.

Counts and Doppler bins are whole numbers below 256; transposed to one row a cell they are mostly runs of zeros and
pack 30 times smaller. Points are not kept.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.data.archive import Archive
from assay.data.radhar_grid import DOPPLER_STEP_M_S, RadarFrames
from assay.data.sequences import InputError

__all__ = ["GRIDS", "read_frames", "write_frames"]

GRIDS = ("body", "clutter", "tick", "n_frames", "recording", "activity", "split", "points")
TICK_S = 1e-4
MAX_FRAMES = 2_000_000  # 18 hours; a grid takes eight times as much memory when it is unpacked


def write_frames(frames: RadarFrames, path: Path) -> None:
    """Write grids; speeds as whole Doppler bins, times to 0.1 ms.

    Raises:
        ValueError: a count or speed does not fit, or a speed is no whole number of Doppler bins.
    """
    tick = np.rint(frames.time_s / TICK_S).astype(np.int64)
    step = np.diff(tick, prepend=0)
    step[np.flatnonzero(np.diff(frames.recording, prepend=-1))] = 0  # a recording starts at 0
    np.savez_compressed(
        path,
        body=packed(frames.body),
        clutter=packed(frames.clutter),
        tick=step.astype(np.uint16),
        n_frames=np.bincount(frames.recording, minlength=len(frames.names)).astype(np.int32),
        recording=np.array(frames.names),
        activity=np.array(frames.activities),
        split=np.array(frames.splits),
        points=frames.points.astype(np.int32),
    )


def read_frames(archive: Archive) -> RadarFrames:
    """Grids from an archive that `write_frames` wrote.

    Raises:
        InputError: the arrays do not fit each other.
    """
    declared = archive.shapes["tick"][:1]
    if declared and declared[0] > MAX_FRAMES:
        raise InputError(f"{archive.label}: has {declared[0]:,} frames; expected at most {MAX_FRAMES:,}.")
    body, clutter, step, n_frames, names, activities, splits, points = archive.read(*GRIDS)
    frames, recordings = len(np.atleast_1d(step)), len(np.atleast_1d(n_frames))
    wanted = {
        "body": (body, (2, 8, 4, frames), np.uint8),
        "clutter": (clutter, (2, 8, 4, frames), np.uint8),
        "tick": (step, (frames,), np.uint16),
        "n_frames": (n_frames, (recordings,), np.int32),
        "recording": (names, (recordings,), np.str_),
        "activity": (activities, (recordings,), np.str_),
        "split": (splits, (recordings,), np.str_),
        "points": (points, (recordings, 5), np.int32),
    }
    for name, (array, shape, kind) in wanted.items():
        if array.shape != shape or not np.issubdtype(array.dtype, kind):
            raise InputError(
                f"{archive.label}: {name} has {array.dtype} of shape {array.shape}; expected shape {shape}."
            )
    if not recordings or (n_frames < 1).any() or n_frames.sum() != frames or len(set(names.tolist())) != recordings:
        raise InputError(f"{archive.label}: recordings do not add up to {frames} frames; expected a whole sample.")
    owner = np.repeat(np.arange(recordings), n_frames)
    total = np.cumsum(step, dtype=np.int64)
    first = np.cumsum(n_frames) - n_frames
    return RadarFrames(
        body=unpacked(body),
        clutter=unpacked(clutter),
        time_s=((total - total[first][owner]) * TICK_S).astype(np.float64),
        recording=owner,
        names=tuple(names.tolist()),
        activities=tuple(activities.tolist()),
        splits=tuple(splits.tolist()),
        points=points.astype(np.int64),
    )


def packed(grids: NDArray[np.float32]) -> NDArray[np.uint8]:
    """(2, 8, 4, M) whole numbers of (M, 2, 8, 4) grids."""
    scaled = grids / np.array([1, DOPPLER_STEP_M_S])[:, None, None]
    whole = np.rint(scaled)
    if np.abs(scaled - whole).max() > 0.01 or whole.max() > 255:
        raise ValueError("grids: speeds are no whole Doppler bins, or above 255; expected RadHAR's own resolution.")
    return np.ascontiguousarray(np.moveaxis(whole, 0, -1)).astype(np.uint8)


def unpacked(cells: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(M, 2, 8, 4) points and summed speed in m/s."""
    grids = np.ascontiguousarray(np.moveaxis(cells, -1, 0)).astype(np.float32)
    grids[:, 1] *= np.float32(DOPPLER_STEP_M_S)
    return grids
