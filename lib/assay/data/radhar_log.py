"""RadHAR's raw text logs: one record a point, as a ROS topic prints them.

Source: Singh, Sandha, Garcia & Srivastava (2019), "RadHAR: Human Activity Recognition from Point Clouds Generated
through a Millimeter-wave Radar", mmNets; a record ends with a line `---`. Only bytes are looked at: no YAML is loaded.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.data.archive import check_file
from assay.data.sequences import InputError, counted, listed

__all__ = ["VALUES", "LogPoints", "parse_log", "read_log"]

VALUES = ("x", "y", "z", "range", "velocity", "intensity")
NUMBER = rb"([-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|inf))"
RECORD = re.compile(
    rb"^header: *\n +seq: *\d+\n +stamp: *\n +secs: *(\d+)\n +nsecs: *(\d+)\n +frame_id: [^\n]*\n"
    rb"point_id: *(\d+)\nx: *" + NUMBER + rb"\ny: *" + NUMBER + rb"\nz: *" + NUMBER + rb"\nrange: *" + NUMBER +
    rb"\nvelocity: *" + NUMBER + rb"\ndoppler_bin: *\d+\nbearing: *[^\n]*\nintensity: *" + NUMBER + rb"\n---(?:\n|$)",
    re.MULTILINE,
)  # fmt: skip
FIELDS = 9
LINES = 16  # of a record
KEYS = (b"seq", b"secs", b"nsecs", b"point_id", *(name.encode() for name in VALUES), b"doppler_bin", b"bearing")

LogPoints = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float32]]


def read_log(path: Path) -> LogPoints:
    """Points of one log, as `parse_log`.

    Raises:
        InputError: the file is missing or empty, or as `parse_log`.
    """
    check_file(path)
    return parse_log(path.read_bytes(), path.name)


def parse_log(text: bytes, label: str) -> LogPoints:
    """Points of one recording.

    A frame starts where `point_id` does not rise. The clock is `stamp.secs` + 1e-9 `stamp.nsecs`.

    Args:
        text: the log's bytes.
        label: name for sentences.

    Returns:
        frame (P,) index from 0, time (P,) seconds since the first point, and (P, 6) x, y, z and range in m, velocity in
        m/s, intensity in dB.

    Raises:
        InputError: no record, one that is cut off or malformed, values that are not finite, or a clock that runs
            backwards.
    """
    text = text.replace(b"\r\n", b"\n").strip()
    records = RECORD.findall(text)
    if not records or text.count(b"\n") != LINES * len(records) - 1:
        raise InputError(fault(text, label))
    try:
        flat = np.array(b" ".join(chain.from_iterable(records)).split(), dtype=np.float64)
    except ValueError:
        raise InputError(f"{label}: holds a number that cannot be read; expected a RadHAR log.") from None
    secs, nsecs, point = flat.reshape(-1, FIELDS)[:, :3].T
    values = flat.reshape(-1, FIELDS)[:, 3:]
    bad = ~np.isfinite(values)
    if bad.any():
        where = np.flatnonzero(bad.any(axis=1)) + 1
        raise InputError(
            f"{label}: {counted(int(bad.sum()), 'non-finite value')} in {listed('record', where.tolist())}; "
            "expected finite values."
        )
    time = (secs - secs[0]) + 1e-9 * (nsecs - nsecs[0])
    back = np.flatnonzero(np.diff(time) < 0)
    if len(back):
        raise InputError(f"{label}: stamp runs backwards at record {back[0] + 2}; expected a clock that does not.")
    frame = np.concatenate([[0], np.cumsum(np.diff(point) <= 0)]).astype(np.int64)
    return frame, time, values.astype(np.float32)


def fault(text: bytes, label: str) -> str:
    """A sentence on the first record that cannot be read."""
    end, count = 0, 0
    while match := RECORD.match(text, end):
        end, count = match.end(), count + 1
    rest = text[end:].split(b"---", 1)
    if not count and b"point_id:" not in text:
        return f"{label}: has no radar record; expected a RadHAR log, records of header, point_id, x, … ended by ---."
    missing = [key.decode() for key in KEYS if not re.search(rb"^ *" + key + rb": *\S", rest[0], re.MULTILINE)]
    if len(rest) == 1 or not rest[1].strip():
        what = f"it has no {missing[0]}" if missing else "its closing --- or a digit is missing"
        return f"{label}: record {count + 1} is cut off ({what}); expected a log that ends with a whole record."
    what = f"it has no {missing[0]}" if missing else "a line is malformed or out of order"
    return f"{label}: record {count + 1} cannot be read ({what}); expected a RadHAR log."
