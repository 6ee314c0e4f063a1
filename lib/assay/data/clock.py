"""When frames came: steps between them, and how to put them on a regular clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Clock", "Regularity", "nearest_frames", "regularity"]

REGULAR_WITHIN = 0.01  # of the mean step; far below the jitter that matters, far above rounding of printed times


@dataclass(frozen=True, eq=False)
class Clock:
    """Times of frames as they came, segment by segment.

    Attributes:
        time_s: (M,) seconds since the start of its segment, not falling within one.
        segment: (M,) int64 which recording or sample a frame belongs to, not falling.
        segment_names: names of the segments.
    """

    time_s: NDArray[np.float64]
    segment: NDArray[np.int64]
    segment_names: tuple[str, ...]

    def steps_ms(self, segment: int | None = None) -> NDArray[np.float64]:
        """Times between neighbouring frames, milliseconds; of one segment, or of all without those between segments."""
        time, owner = self.time_s, self.segment
        if segment is not None:
            time, owner = time[owner == segment], owner[owner == segment]
        return 1e3 * np.diff(time)[np.diff(owner) == 0]


@dataclass(frozen=True)
class Regularity:
    """How regular the steps of a clock are.

    Attributes:
        rate_hz: frames per second: all steps over all durations.
        least_ms, greatest_ms: the shortest and the longest step.
        regular: all steps lie within 1% of the mean.
    """

    rate_hz: float
    least_ms: float
    greatest_ms: float
    regular: bool


def regularity(clock: Clock) -> Regularity:
    """Rate and regularity of a clock.

    Raises:
        ValueError: no two frames of a segment, or all at the same time.
    """
    steps = clock.steps_ms()
    if not len(steps) or steps.sum() <= 0:
        raise ValueError("t: got no two different times in any segment; expected a running clock.")
    mean = float(steps.mean())
    least, greatest = float(steps.min()), float(steps.max())
    regular = greatest - mean <= REGULAR_WITHIN * mean and mean - least <= REGULAR_WITHIN * mean
    return Regularity(1e3 / mean, least, greatest, regular)


def nearest_frames(time_s: NDArray[np.float64], fs: float) -> NDArray[np.intp]:
    """For each tick of a regular clock, the frame nearest in time; the earlier one of two equally near.

    Nothing is interpolated: counts stay counts. A frame that no tick is nearest to is dropped, one that several are
    nearest to is repeated.

    Args:
        time_s: (M,) seconds, not falling, M at least 1.
        fs: ticks per second, Hz; the first tick is at the first frame, the last one within half a tick after the last
            frame.

    Returns:
        (T,) indices, not falling.
    """
    ticks = time_s[0] + np.arange(int(np.floor((time_s[-1] - time_s[0]) * fs + 0.5)) + 1) / fs
    after = np.clip(np.searchsorted(time_s, ticks), 1, max(len(time_s) - 1, 1))
    if len(time_s) == 1:
        return np.zeros(len(ticks), dtype=np.intp)
    before = after - 1
    return np.where(ticks - time_s[before] <= time_s[after] - ticks, before, after).astype(np.intp)
