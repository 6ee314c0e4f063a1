"""From radar points to one small grid a frame: how many points and how fast, by range and height.

The bounds of the grid are the same for all recordings, so that a position means the same everywhere. The radar is the
one of RadHAR, a TI IWR1443 with range bins of 0.0436 m and 16 Doppler bins of 0.6147 m/s; its limits tell impossible
points.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.data.radhar_points import RadarPoints
from assay.data.sequences import Handled, InputError

__all__ = [
    "CHANNELS", "CLUTTER_X_M", "DOPPLER_STEP_M_S", "HEIGHT_EDGES_M", "MAX_RANGE_M", "MAX_SPEED_M_S", "RANGE_EDGES_M",
    "RadarFrames", "feature_names", "grid_points",
]  # fmt: skip

RANGE_STEP_M = 0.0435769706964  # one range bin, as the logs print it
MAX_RANGE_M = 256 * RANGE_STEP_M  # 11.16 m: the last of 256 range bins; nothing beyond can be reported
DOPPLER_STEP_M_S = 0.614668667316  # one Doppler bin, as the logs print it
MAX_SPEED_M_S = 8 * DOPPLER_STEP_M_S  # 4.92 m/s: 16 Doppler bins reach from -8 to 7
ROUNDING = 1e-3  # m or m/s: what a printed or float32 value may lie above a limit
CLUTTER_X_M = 0.3  # nearer points are the radar's own housing and table, in every frame of every recording
RANGE_EDGES_M = np.linspace(0, 5.6, 9)  # RadHAR's points end at 5.49 m
HEIGHT_EDGES_M = np.linspace(-1.4, 1.4, 5)  # above the radar; a standing person; the outer bins take what lies beyond
CHANNELS = ("points", "summed speed")


@dataclass(frozen=True, eq=False)
class RadarFrames:
    """Grids of R recordings, M frames in all, in order.

    Attributes:
        body: (M, 2, 8, 4) float32: points, and summed speed |v| in m/s, by range and height, without self-clutter.
        clutter: (M, 2, 8, 4) float32: the same of self-clutter alone.
        time_s: (M,) float64 seconds since the recording's start.
        recording: (M,) int64 index into `names`, not falling.
        names, activities, splits: R of each, as in `RadarPoints`.
        points: (R, 5) int64: all points; impossible ones; self-clutter; and, beyond the outer heights or the last
            range, of the rest and of self-clutter.
    """

    body: NDArray[np.float32]
    clutter: NDArray[np.float32]
    time_s: NDArray[np.float64]
    recording: NDArray[np.int64]
    names: tuple[str, ...]
    activities: tuple[str, ...]
    splits: tuple[str, ...]
    points: NDArray[np.int64]

    def handled(self, keep_clutter: bool) -> tuple[Handled, ...]:
        """What became of dirty points."""
        total, impossible, clutter, beyond, beyond_clutter = self.points.sum(axis=0).tolist()
        kept = total - impossible
        rule = f"range above {MAX_RANGE_M:.2f} m or speed above {MAX_SPEED_M_S:.2f} m/s: beyond the radar's limits"
        found = [Handled(rule, "dropped", "points", impossible, total)]
        if not keep_clutter:
            kept -= clutter
            found.append(Handled(f"x below {CLUTTER_X_M} m: self-clutter", "dropped", "points", clutter, total))
        outside = beyond + (beyond_clutter if keep_clutter else 0)
        limits = f"height beyond ±{HEIGHT_EDGES_M[-1]:g} m or range beyond {RANGE_EDGES_M[-1]:g} m"
        rule = f"{limits}: counted in the outer bins"
        found.append(Handled(rule, "clipped", "points", outside, kept))
        return tuple(found)


def grid_points(points: RadarPoints) -> RadarFrames:
    """Count points and add up speeds by frame, range and height; drop what the radar cannot have seen.

    A frame whose points are all dropped stays, as a grid of zeros: time goes on.

    Raises:
        InputError: no point is left.
    """
    recordings = len(points.n_points)
    owner = np.repeat(np.arange(recordings), points.n_points)
    first = np.ones(len(owner), dtype=bool)
    first[1:] = (np.diff(points.frame) != 0) | (np.diff(owner) != 0)
    frame = np.cumsum(first) - 1
    frames = int(frame[-1]) + 1

    x, _, z, distance, velocity, _ = points.values.T
    speed = np.abs(velocity)
    possible = (distance >= 0) & (distance <= MAX_RANGE_M + ROUNDING) & (speed <= MAX_SPEED_M_S + ROUNDING)
    near = possible & (x < CLUTTER_X_M)
    body = possible & ~near
    if not body.any():
        raise InputError(f"points: all {len(x)} are impossible or self-clutter; expected some of a person.")
    ranges, heights = len(RANGE_EDGES_M) - 1, len(HEIGHT_EDGES_M) - 1
    height, at = bins(z, HEIGHT_EDGES_M), bins(distance, RANGE_EDGES_M)
    beyond = (z < HEIGHT_EDGES_M[0]) | (z >= HEIGHT_EDGES_M[-1]) | (distance >= RANGE_EDGES_M[-1])
    cell = (frame * ranges + at) * heights + height

    def grid(which: NDArray[np.bool_]) -> NDArray[np.float32]:
        size = frames * ranges * heights
        out = np.empty((frames, 2, ranges, heights), dtype=np.float32)
        shape = (frames, ranges, heights)
        out[:, 0] = np.bincount(cell[which], minlength=size).reshape(shape)
        moving = which & (speed > 0)  # most points stand still
        out[:, 1] = np.bincount(cell[moving], weights=speed[moving], minlength=size).reshape(shape)
        return out

    counts = [np.ones_like(body), ~possible, near, body & beyond, near & beyond]
    return RadarFrames(
        body=grid(body),
        clutter=grid(near),
        time_s=points.time_s[first],
        recording=owner[first].astype(np.int64),
        names=points.names,
        activities=points.activities,
        splits=points.splits,
        points=np.stack([np.bincount(owner[c], minlength=recordings) for c in counts], axis=1).astype(np.int64),
    )


def bins(values: NDArray[np.float32], edges: NDArray[np.float64]) -> NDArray[np.int64]:
    """Index of the equal bin that a value lies in; the outer bins take what lies beyond."""
    width = (edges[-1] - edges[0]) / (len(edges) - 1)
    with np.errstate(invalid="ignore"):  # absurd values of impossible points, which are dropped
        index = np.floor((values.astype(np.float64) - edges[0]) / width)
    return np.clip(index, 0, len(edges) - 2).astype(np.int64)


def feature_names() -> tuple[str, ...]:
    """Names of the 64 features, in the order of a flattened grid."""
    return tuple(
        f"{channel}, range {near:.1f}–{far:.1f} m, height {low:.1f}–{high:.1f} m"
        for channel in CHANNELS
        for near, far in itertools.pairwise(RANGE_EDGES_M)
        for low, high in itertools.pairwise(HEIGHT_EDGES_M)
    )
