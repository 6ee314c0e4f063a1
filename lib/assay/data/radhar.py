"""RadHAR as labelled sequences: windows of frames, whole recordings on one side of the split.

Source: Singh et al. (2019), RadHAR; windows of 60 frames at a stride of 10, as in their section 4.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from assay.data.archive import MAX_BYTES
from assay.data.clock import Clock, nearest_frames
from assay.data.radhar_grid import RadarFrames, feature_names
from assay.data.sequences import Handled, InputError, LabelledSequences, checked_rate, labelled_sequences

__all__ = ["PAIR_GAP_S", "PLAIN", "RadarOptions", "radar_sequences"]

PAIR_GAP_S = 0.010  # steps are near 1 or near 58 ms, with nothing between 5 and 20 ms


@dataclass(frozen=True)
class RadarOptions:
    """How radar frames become sequences.

    Attributes:
        pairs: frames arrive in pairs about 1 ms apart. `keep` takes both, `one` the first of each (about 17 Hz).
        resample_hz: put each recording on a regular clock by the frame nearest in time; None takes frames as they came.
        keep_clutter: count points nearer than 0.3 m too.
        window, stride: frames of a window, at least 8, and between starts of windows, at least 1.
    """

    pairs: Literal["keep", "one"] = "keep"
    resample_hz: float | None = None
    keep_clutter: bool = False
    window: int = 60
    stride: int = 10

    def __post_init__(self) -> None:
        if self.pairs not in ("keep", "one"):
            raise InputError(f"pairs: got {self.pairs!r}; expected 'keep' or 'one'.")
        if self.resample_hz is not None:
            checked_rate(self.resample_hz)
        for name, least in (("window", 8), ("stride", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name}: got {value!r}; expected a whole number of frames, at least {least}.")


PLAIN = RadarOptions()


def radar_sequences(frames: RadarFrames, options: RadarOptions = PLAIN, *, name: str = "RadHAR") -> LabelledSequences:
    """Windows of each recording, labelled by its activity, grouped by recording.

    The rate is measured, all steps over all durations, to 0.01 Hz, unless `resample_hz` sets it. The clock keeps the
    times of all frames as they came.

    Raises:
        InputError: no recording is as long as a window, or fewer than two activities.
    """
    handled = list(frames.handled(options.keep_clutter))
    order = np.arange(len(frames.time_s))
    if options.pairs == "one":
        step = np.diff(frames.time_s)
        second = np.concatenate([[False], (step < PAIR_GAP_S) & (np.diff(frames.recording) == 0)])
        order = order[~second]
        rule = f"less than {1e3 * PAIR_GAP_S:g} ms after the frame before: the second of a pair"
        handled.append(Handled(rule, "dropped", "frames", int(second.sum()), len(second)))
    recordings = len(frames.names)
    if options.resample_hz is None:
        fs = measured_rate(frames.time_s[order], frames.recording[order])
    else:
        fs = float(options.resample_hz)
        bounds = np.searchsorted(frames.recording[order], np.arange(recordings + 1))
        pieces = [order[a:b] for a, b in itertools.pairwise(bounds)]
        ticks = [piece[nearest_frames(frames.time_s[piece], fs)] for piece in pieces]
        before, order = len(order), np.concatenate(ticks)
        used, rule = len(np.unique(order)), f"resampled to {fs:g} Hz by the nearest frame"
        handled.append(Handled(rule, "dropped", "frames", before - used, before))
        handled.append(Handled(rule, "repeated", "frames", len(order) - used, len(order)))

    starts, short = window_starts(frames.recording[order], recordings, options)
    rule = f"shorter than a window of {options.window} frames"
    handled.append(Handled(rule, "dropped", "recordings", short, recordings))
    if not len(starts):
        longest = int(np.bincount(frames.recording[order]).max())
        raise InputError(f"window: got {options.window} frames; expected at most {longest}, the longest recording.")
    group = frames.recording[order[starts]]
    classes, activity = np.unique(frames.activities, return_inverse=True)
    grids = frames.body + frames.clutter if options.keep_clutter else frames.body
    size = len(starts) * options.window * grids[0].nbytes
    if size > MAX_BYTES:
        raise InputError(f"stride: windows at {options.stride} take {size:,} bytes; expected at most {MAX_BYTES:,}.")
    X = grids[order[starts[:, None] + np.arange(options.window)]]
    X.flags.writeable = False  # ours alone: need not be copied
    return labelled_sequences(
        X,
        classes[activity[group]],
        fs,
        group=np.array(frames.names)[group],
        is_test=np.array(frames.splits)[group] == "test" if set(frames.splits) == {"train", "test"} else None,
        feature_names=feature_names(),
        name=name,
        handled=tuple(entry for entry in handled if entry.count),
        clock=Clock(frames.time_s, frames.recording, frames.names),
    )


def measured_rate(time_s: NDArray[np.float64], recording: NDArray[np.int64]) -> float:
    """Frames per second over all recordings, to 0.01 Hz."""
    steps = np.diff(time_s)[np.diff(recording) == 0]
    if steps.sum() <= 0:
        raise InputError("stamp: no recording has two frames at different times; expected a running clock.")
    return round(len(steps) / float(steps.sum()), 2)


def window_starts(recording: NDArray[np.int64], recordings: int, options: RadarOptions) -> tuple[NDArray[np.intp], int]:
    """First frames of windows that lie within one recording, and how many recordings are too short."""
    bounds = np.searchsorted(recording, np.arange(recordings + 1))
    pairs = itertools.pairwise(bounds)
    starts = [np.arange(a, b - options.window + 1, options.stride) for a, b in pairs]
    return np.concatenate(starts), sum(len(s) == 0 for s in starts)
