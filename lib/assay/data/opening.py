"""Opening a file or folder of labelled sequences, whatever its kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from assay.data.archive import check_file, open_archive
from assay.data.labelled_npz import read_labelled_npz
from assay.data.radhar import PLAIN, RadarOptions, radar_sequences
from assay.data.radhar_archive import GRIDS, read_frames
from assay.data.radhar_grid import RadarFrames, grid_points
from assay.data.radhar_points import COMPACT, compact_points, folder_points, log_points
from assay.data.sequences import InputError, LabelledSequences

__all__ = ["SUFFIXES", "open_radar", "open_sequences"]

SUFFIXES = (".npz", ".csv", ".parquet", ".txt", "")  # "" is a folder
Progress = Callable[[Iterable[Any]], Iterable[Any]]


def open_sequences(
    path: Path | str,
    fs: float | None = None,
    *,
    length: int | None = None,
    radar: RadarOptions = PLAIN,
    progress: Progress | None = None,
) -> LabelledSequences:
    """Labelled sequences from a file or folder.

    Args:
        path: `.npz` with X, y and fs, or of radar recordings; `.csv` or `.parquet`, a long table; a RadHAR log
            `.txt`, a folder of them, or a folder of RadHAR's compact `train.npz` and `test.npz`.
        fs: sampling rate in Hz, where the file has none or is to be resampled; radar has a clock of its own, and `fs`
            stands for `radar.resample_hz`.
        length: frames of a sample, for long tables.
        radar: how radar frames become windows.
        progress: wraps what is read one by one; raising in it stops the work.

    Raises:
        InputError: one sentence that names the field, what came and what was expected.
    """
    place = Path(path).expanduser()
    suffix = place.suffix.lower()
    if place.is_dir() or suffix == ".txt":
        frames = open_radar(place, progress)
    elif suffix == ".npz":
        archive = open_archive(place)
        if not (set(COMPACT) <= set(archive.names) or set(GRIDS) <= set(archive.names)):
            return read_labelled_npz(archive, fs)
        frames = open_radar(place, progress)
    elif suffix in (".csv", ".parquet"):
        from assay.data.long_table import read_long_table  # pandas takes half a second to import

        return read_long_table(place, fs, length=length, progress=progress)
    else:
        check_file(place)
        raise InputError(f"{place.name}: is of no known kind; expected .npz, .csv, .parquet, .txt or a folder.")
    if fs is not None:
        radar = dataclasses.replace(radar, resample_hz=fs)
    return radar_sequences(frames, radar, name=place.stem)


def open_radar(path: Path, progress: Progress | None = None) -> RadarFrames:
    """Grids of radar recordings from a log, a folder of logs, a folder in compact form, or an `.npz`.

    Raises:
        InputError: nothing there, or it cannot be read.
    """
    if path.is_dir():
        compact = {split: path / f"{split}.npz" for split in ("train", "test")}
        if all(file.is_file() for file in compact.values()):
            return grid_points(compact_points(compact))
        return grid_points(folder_points(path, progress))
    if path.suffix.lower() == ".txt":
        return grid_points(log_points(path))
    archive = open_archive(path)
    return read_frames(archive) if set(GRIDS) <= set(archive.names) else grid_points(compact_points({"": path}))
