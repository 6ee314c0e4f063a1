"""Labelled sequences from a long table, `.csv` or `.parquet`: one row a frame of a sample.

Columns: `sample_id`, `t` (seconds), `label`, `group` if there is one; every other column is a feature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.data.archive import MAX_BYTES, check_file
from assay.data.clock import Clock, nearest_frames, regularity
from assay.data.sequences import (
    MIN_FRAMES,
    Handled,
    InputError,
    LabelledSequences,
    checked_rate,
    counted,
    labelled_sequences,
    listed,
)

__all__ = ["read_long_table"]

KEYS = ("sample_id", "t", "label", "group")
SAME_RATE = 0.01  # a rate that is asked for and one that the times show are the same within 1%


def read_long_table(
    path: Path,
    fs: float | None = None,
    *,
    length: int | None = None,
    max_bytes: int = MAX_BYTES,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> LabelledSequences:
    """Sequences from a long table.

    Rows may come in any order. Two rows of a sample at the same time are merged: the first is kept. When the times
    step evenly, the rate is theirs; otherwise `fs` must be given and each sample is put on that clock by taking the
    frame nearest in time.

    Args:
        path: `.csv` (UTF-8, comma) or `.parquet`.
        fs: Hz; needed when the times do not step evenly, and resampled to when they do at another rate.
        length: frames to keep of each sample; shorter ones are dropped. Without it all samples must be equally long,
            but for resampled ones, which are cut to the shortest.
        max_bytes: largest size of the table in memory.
        progress: wraps the samples that are resampled; raising in it stops the work.

    Raises:
        InputError: one sentence that names the column.
    """
    table = read_table(path, max_bytes)
    if not table.columns.is_unique:
        raise InputError("columns: got two of the same name; expected different names.")
    missing = [name for name in KEYS[:3] if name not in table.columns]
    features = [name for name in table.columns if name not in KEYS]
    if missing or not features:
        wanted = ", ".join(missing) if missing else "at least one feature column"
        raise InputError(f"columns: got {', '.join(map(str, table.columns[:12]))}; expected also {wanted}.")
    rows, time, values = len(table), seconds(pd.Series(table["t"])), feature_values(table, features)
    sample, names = factor(table, "sample_id")
    order = np.lexsort((time, sample))
    sample, time, values = sample[order], time[order], values[order]

    label, classes = factor(table, "label")
    group, group_names = factor(table, "group") if "group" in table.columns else (None, [])
    starts = np.searchsorted(sample, np.arange(len(names)))
    label_of = constant("label", label[order], sample, starts, names)
    group_of = None if group is None else constant("group", group[order], sample, starts, names)

    again = np.concatenate([[False], (np.diff(time) == 0) & (np.diff(sample) == 0)])
    sample, time, values = sample[~again], time[~again], values[~again]
    handled = [Handled("same sample and time: the first row is kept", "merged", "rows", int(again.sum()), rows)]
    starts = np.searchsorted(sample, np.arange(len(names)))
    lengths = np.bincount(sample, minlength=len(names))
    clock = Clock(time - time[starts][sample], sample, tuple(names))

    rate, frames, resampled = on_a_clock(clock, lengths, starts, fs, progress)
    if resampled:
        handled += resampling(frames, len(time), rate)
    kept_length, kept = common_length(np.array([len(f) for f in frames]), length, resampled, names)
    handled += cut(frames, kept_length, kept)
    index = np.stack([frames[i][:kept_length] for i in np.flatnonzero(kept)])
    X = values[index]
    X.flags.writeable = False
    return labelled_sequences(
        X,
        label_of[kept],
        rate,
        classes=tuple(classes),
        group=None if group_of is None else np.array(group_names)[group_of[kept]],
        feature_names=tuple(map(str, features)),
        name=path.stem,
        handled=tuple(entry for entry in handled if entry.count),
        clock=clock,
    )


def read_table(path: Path, max_bytes: int) -> pd.DataFrame:
    check_file(path, max_bytes)
    try:
        if path.suffix.lower() == ".parquet":
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                size = file.metadata.num_rows * file.metadata.num_columns * 8
                if size > max_bytes:
                    raise InputError(f"{path.name}: unpacks to {size:,} bytes; expected at most {max_bytes:,}.")
                table = file.read().to_pandas()
        else:
            table = pd.read_csv(path, encoding="utf-8-sig", low_memory=False)
    except InputError:
        raise
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: is not UTF-8 text; expected a table with commas between columns.") from None
    except (ValueError, OSError, NotImplementedError):  # what pandas and pyarrow raise for files that are no tables
        kind = path.suffix.lower().lstrip(".")
        raise InputError(
            f"{path.name}: cannot be read as {kind}; expected a long table of labelled sequences."
        ) from None
    if not len(table):
        raise InputError(f"{path.name}: has no rows; expected one row for each frame.")
    return table


def seconds(column: pd.Series) -> NDArray[np.float64]:
    """Times in seconds; dates become seconds since the first one."""
    if pd.api.types.is_datetime64_any_dtype(column) and not column.isna().any():
        return ((column - column.min()) / pd.Timedelta(seconds=1)).to_numpy(dtype=np.float64)
    if not pd.api.types.is_numeric_dtype(column):
        raise InputError("t: got text; expected seconds.")
    time = column.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = int((~np.isfinite(time)).sum())
    if bad:
        raise InputError(f"t: got {counted(bad, 'non-finite value')}; expected seconds.")
    return time


def feature_values(table: pd.DataFrame, features: list[str]) -> NDArray[Any]:
    """(rows, F) numbers of the feature columns."""
    for name in features:
        if not pd.api.types.is_numeric_dtype(table[name]) or pd.api.types.is_complex_dtype(table[name]):
            raise InputError(f"{name}: got values that are not numbers; expected a feature column of numbers.")
    values = table[features].to_numpy(dtype=np.float64, na_value=np.nan)
    bad = ~np.isfinite(values)
    if bad.any():
        column = int(np.flatnonzero(bad.any(axis=0))[0])
        where = np.flatnonzero(bad[:, column]) + 1
        raise InputError(
            f"{features[column]}: {counted(len(where), 'non-finite value')} in {listed('row', where.tolist())}; "
            "expected finite values."
        )
    return values


def factor(table: pd.DataFrame, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """Codes of a column's values and their names, sorted; numbers sort as numbers."""
    column = pd.Series(table[name])
    empty = int(np.count_nonzero(column.isna()))
    if empty:
        raise InputError(f"{name}: missing in {counted(empty, 'row')}; expected a value in each.")
    if pd.api.types.is_float_dtype(column) and np.all(column.to_numpy() % 1 == 0):
        column = column.astype(np.int64)
    elif not pd.api.types.is_numeric_dtype(column):
        column = column.astype(str)
    codes, kinds = pd.factorize(column, sort=True)
    return codes.astype(np.int64), [str(kind) for kind in kinds]


def constant(
    name: str, codes: NDArray[np.int64], sample: NDArray[np.int64], starts: NDArray[np.intp], names: list[str]
) -> NDArray[np.int64]:
    """(N,) the one value that a column has in each sample."""
    first = codes[starts]
    for code in np.unique(sample[first[sample] != codes]):
        raise InputError(f"{name}: differs within sample {names[code]}; expected one for each sample.")
    return first


def on_a_clock(
    clock: Clock,
    lengths: NDArray[np.intp],
    starts: NDArray[np.intp],
    fs: float | None,
    progress: Callable[[Iterable[int]], Iterable[int]] | None,
) -> tuple[float, list[NDArray[np.intp]], bool]:
    """The rate, the rows of each sample on that clock, and whether it was resampled."""
    try:
        steps = regularity(clock)
    except ValueError as error:
        raise InputError(str(error)) from None
    if fs is None and not steps.regular:
        raise InputError(
            f"fs: t steps by {steps.least_ms:.4g} to {steps.greatest_ms:.4g} ms; "
            "expected a regular clock, or a rate in Hz to resample to."
        )
    wanted = steps.rate_hz if fs is None else checked_rate(fs)
    if steps.regular and abs(wanted - steps.rate_hz) <= SAME_RATE * steps.rate_hz:
        return wanted, [start + np.arange(size) for start, size in zip(starts, lengths, strict=True)], False
    samples: Iterable[int] = range(len(lengths))
    frames = []
    for i in samples if progress is None else progress(samples):
        frames.append(starts[i] + nearest_frames(clock.time_s[starts[i] : starts[i] + lengths[i]], wanted))
    return wanted, frames, True


def resampling(frames: list[NDArray[np.intp]], rows: int, rate: float) -> list[Handled]:
    """What resampling dropped and repeated."""
    ticks = sum(map(len, frames))
    used = sum(len(np.unique(f)) for f in frames)
    rule = f"resampled to {rate:g} Hz by the nearest frame"
    return [
        Handled(rule, "dropped", "frames", rows - used, rows),
        Handled(rule, "repeated", "frames", ticks - used, ticks),
    ]


def common_length(
    lengths: NDArray[np.intp], length: int | None, resampled: bool, names: list[str]
) -> tuple[int, NDArray[np.bool_]]:
    """How many frames to keep of each sample, and which samples have as many."""
    if length is not None:
        if isinstance(length, bool) or not isinstance(length, int) or length < MIN_FRAMES:
            raise InputError(f"length: got {length!r}; expected a whole number of frames, at least {MIN_FRAMES}.")
        kept = lengths >= length
        if not kept.any():
            raise InputError(f"length: got {length} frames; expected at most {lengths.max()}, the longest sample.")
        return length, kept
    if not resampled and len(np.unique(lengths)) > 1:
        at = int(lengths.argmin())
        raise InputError(
            f"sample_id: samples have {lengths.min()} ({names[at]}) to {lengths.max()} frames; "
            "expected the same number in each, or a length to cut to."
        )
    return int(lengths.min()), np.ones(len(lengths), dtype=bool)


def cut(frames: list[NDArray[np.intp]], length: int, kept: NDArray[np.bool_]) -> list[Handled]:
    """What cutting to one length dropped."""
    whole = [len(f) for f, keep in zip(frames, kept, strict=True) if keep]
    total, rule = sum(whole), f"beyond frame {length} of a sample"
    return [
        Handled(f"shorter than {length} frames", "dropped", "samples", int((~kept).sum()), len(kept)),
        Handled(rule, "dropped", "frames", total - length * len(whole), total),
    ]
