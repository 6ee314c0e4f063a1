"""Labelled sequences: windows of a multichannel signal with a class each, checked once and read-only from then on."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.data.clock import Clock
from assay.data.truth import SyntheticTruth

__all__ = ["Handled", "InputError", "LabelledSequences", "labelled_sequences"]

MIN_FRAMES = 8
MIN_CLASSES = 2
MIN_SAMPLES = 2
SHOWN = 5  # of a long list in a sentence
EXACT_IN_FLOAT32 = (np.dtype(np.bool_), np.dtype(np.int8), np.dtype(np.uint8), np.dtype(np.int16), np.dtype(np.uint16))
NO_GROUP = "No group: windows of one recording may fall on both sides of a split; intervals take them as independent."


class InputError(ValueError):
    """Input that cannot be used: one sentence that names the field, what came and what was expected."""


@dataclass(frozen=True)
class Handled:
    """Dirty data, and what was done about it.

    Attributes:
        rule: which data, in words.
        action: what was done: `dropped`, `repeated` (used again where one was missing), `merged` or `clipped`.
        what: `points`, `frames`, `rows`, `samples` or `recordings`.
        count: how many the rule met.
        of: out of how many.
    """

    rule: str
    action: Literal["dropped", "repeated", "merged", "clipped"]
    what: str
    count: int
    of: int


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledSequences:
    """N sequences of L frames with F features at a fixed rate; made by `labelled_sequences`. Arrays are read-only.

    Attributes:
        X: (N, L, F) float32 or float64, finite; trailing dimensions are flattened, the last one fastest.
        y: (N,) int64 index into `classes`.
        classes: K names.
        fs: frames per second, Hz.
        group: (N,) int64 index into `group_names`: the recording or person of a sample. Without groups, each sample
            is its own.
        group_names: names of the groups.
        has_groups: groups were given.
        feature_shape: shape of one frame before it was flattened, such as (2, 8, 4).
        feature_names: F names.
        is_test: (N,) the official split, or None.
        name: of the set, for titles.
        handled: what was dropped or repeated, and by which rule.
        warnings: sentences to show beside any result.
        clock: when the frames came, before any resampling; None when unknown.
        truth: what the generator put in; None for real data.
    """

    X: NDArray[np.float32] | NDArray[np.float64]
    y: NDArray[np.int64]
    classes: tuple[str, ...]
    fs: float
    group: NDArray[np.int64]
    group_names: tuple[str, ...]
    has_groups: bool
    feature_shape: tuple[int, ...]
    feature_names: tuple[str, ...]
    is_test: NDArray[np.bool_] | None = None
    name: str = "sequences"
    handled: tuple[Handled, ...] = ()
    warnings: tuple[str, ...] = ()
    clock: Clock | None = None
    truth: SyntheticTruth | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def length(self) -> int:
        """L, frames in a sequence."""
        return self.X.shape[1]

    @property
    def duration_s(self) -> float:
        """L / fs, seconds."""
        return self.length / self.fs

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 over dtype, shape and bytes of every array, the rate and all names; not over the set's own name."""
        digest = hashlib.sha256()
        clock = (None, None) if self.clock is None else (self.clock.time_s, self.clock.segment)
        for array in (self.X, self.y, self.group, self.is_test, *clock):
            if array is None:
                digest.update(b"none\0")
            else:
                digest.update(f"{array.dtype.str}\0{array.shape}\0".encode())
                digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        names = (self.fs, self.classes, self.group_names, self.has_groups, self.feature_shape, self.feature_names)
        digest.update(repr(names).encode())
        return digest.hexdigest()

    def take(self, which: ArrayLike) -> LabelledSequences:
        """Some of the samples, by mask (N,) or by index; names, rate and clock stay."""
        index = np.asarray(which)
        return dataclasses.replace(
            self,
            X=sealed(self.X[index]),
            y=sealed(self.y[index]),
            group=sealed(self.group[index]),
            is_test=None if self.is_test is None else sealed(self.is_test[index]),
        )


def labelled_sequences(
    X: ArrayLike,
    y: ArrayLike,
    fs: float,
    *,
    group: ArrayLike | None = None,
    is_test: ArrayLike | None = None,
    feature_names: tuple[str, ...] | None = None,
    classes: tuple[str, ...] | None = None,
    name: str = "sequences",
    handled: tuple[Handled, ...] = (),
    warnings: tuple[str, ...] = (),
    clock: Clock | None = None,
    truth: SyntheticTruth | None = None,
) -> LabelledSequences:
    """Check and wrap arrays.

    Args:
        X: (N, L), (N, L, F) or (N, L, ...), real numbers; L at least 8. float64, and integers of 32 bits or more, give
            float64; everything else float32. Copied, unless it is read-only.
        y: (N,) whole numbers or text; at least two classes of at least two samples.
        fs: Hz, above 0.
        group: (N,) whole numbers or text, or None, which is noted as a warning.
        is_test: (N,) bool, the official split.
        feature_names: one for each feature of a flattened frame.
        classes: names that `y` indexes; without it they come from the values of `y`, sorted.
        name, handled, warnings, clock, truth: kept as given.

    Raises:
        InputError: one sentence that names the field.
    """
    values, feature_shape = checked_values(X)
    labels, class_names = checked_labels(y, len(values), classes)
    if group is None:
        codes, group_names = np.arange(len(values), dtype=np.int64), tuple(str(i) for i in range(len(values)))
        warnings = (*warnings, NO_GROUP)
    else:
        codes, group_names = named_codes("group", group, len(values))
    features = values.shape[2]
    names = tuple(f"feature {i}" for i in range(features)) if feature_names is None else tuple(feature_names)
    if len(names) != features:
        raise InputError(f"feature_names: got {counted(len(names), 'name')}; expected {features}.")
    test = None if is_test is None else np.asarray(is_test)
    if test is not None and (test.dtype != np.bool_ or test.shape != labels.shape):
        raise InputError(f"is_test: got {test.dtype} of shape {test.shape}; expected bool of shape {labels.shape}.")
    return LabelledSequences(
        X=sealed(values),
        y=sealed(labels),
        classes=class_names,
        fs=checked_rate(fs),
        group=sealed(codes),
        group_names=group_names,
        has_groups=group is not None,
        feature_shape=feature_shape,
        feature_names=names,
        is_test=None if test is None else sealed(test),
        name=name,
        handled=tuple(handled),
        warnings=tuple(warnings),
        clock=clock,
        truth=truth,
    )


def checked_rate(fs: object) -> float:
    """A sampling rate in Hz.

    Raises:
        InputError: not a finite number above 0.
    """
    scalar = np.asarray(fs)
    if scalar.size == 1 and scalar.dtype.kind in "iuf" and np.isfinite(scalar).all() and scalar.item() > 0:
        return float(scalar.item())
    shown = repr(scalar.item())[:40] if scalar.size == 1 else f"an array of shape {scalar.shape}"
    raise InputError(f"fs: got {shown}; expected a finite number above 0 Hz.")


def checked_values(X: ArrayLike) -> tuple[NDArray[Any], tuple[int, ...]]:
    """(N, L, F) floats and the shape of a frame."""
    try:
        values = np.asarray(X)
    except ValueError:  # rows of unequal length
        raise InputError("X: got sequences of unequal length; expected (N, L), (N, L, F) or (N, L, C, H, W).") from None
    if values.dtype.kind not in "biuf":
        raise InputError(f"X: got {type_name(values)}; expected real numbers.")
    if values.ndim < 2:
        raise InputError(f"X: got shape {values.shape}; expected (N, L), (N, L, F) or (N, L, C, H, W).")
    if 0 in values.shape:
        raise InputError(f"X: got shape {values.shape}, which holds nothing; expected samples.")
    if values.shape[1] < MIN_FRAMES:
        raise InputError(f"X: sequences have {counted(values.shape[1], 'frame')}; expected at least {MIN_FRAMES}.")
    shape = values.shape[2:] or (1,)
    small = values.dtype in EXACT_IN_FLOAT32 or (values.dtype.kind == "f" and values.dtype.itemsize <= 4)
    owned = not values.flags.writeable  # a read-only array stays as it is; the caller may still write into any other
    values = values.reshape(*values.shape[:2], -1).astype(np.float32 if small else np.float64, copy=not owned)
    bad = ~np.isfinite(values)
    if bad.any():
        where = np.flatnonzero(bad.any(axis=(1, 2)))
        raise InputError(
            f"X: {counted(int(bad.sum()), 'non-finite value')} in {listed('sample', where.tolist())}; "
            "expected finite values."
        )
    return values, shape


def checked_labels(
    y: ArrayLike, samples: int, classes: tuple[str, ...] | None = None
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(N,) class codes and their names."""
    if classes is None:
        codes, names = named_codes("y", y, samples)
    else:
        codes, names = np.asarray(y), classes
        if codes.shape != (samples,) or codes.dtype.kind not in "iu":
            got = f"{type_name(codes)} of shape {codes.shape}"
            raise InputError(f"y: got {got}; expected integers of shape ({samples},).")
        if codes.min() < 0 or codes.max() >= len(names):
            raise InputError(f"y: got {codes.min()} to {codes.max()}; expected 0 to {len(names) - 1}, for each class.")
        codes = codes.astype(np.int64)
    counts = np.bincount(codes, minlength=len(names))
    present = np.flatnonzero(counts)
    if len(present) < MIN_CLASSES:
        raise InputError(f"y: has one class ({names[present[0]]}); expected at least {MIN_CLASSES}.")
    for code in np.flatnonzero(counts < MIN_SAMPLES):
        got = counted(int(counts[code]), "sample")
        raise InputError(f"y: class {names[code]} has {got}; expected at least {MIN_SAMPLES}.")
    return codes, names


def named_codes(field: str, labels: ArrayLike, samples: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(N,) codes of labels and the labels' names, in sorted order; whole numbers sort as numbers."""
    array: NDArray[Any] = np.asarray(labels)
    if array.shape != (samples,):
        raise InputError(f"{field}: got shape {array.shape}; expected ({samples},), one for each sample.")
    if array.dtype.kind == "f":
        whole = np.isfinite(array) & (array == np.floor(array)) & (np.abs(array) < 2**53)
        if not whole.all():
            where = int(np.flatnonzero(~whole)[0])
            raise InputError(f"{field}: got {array[where]} in sample {where}; expected whole numbers or text.")
        array = array.astype(np.int64)
    if array.dtype.kind not in "biuUS":
        raise InputError(f"{field}: got {type_name(array)}; expected whole numbers or text.")
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "replace")
    kinds, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.int64), tuple(str(kind) for kind in kinds.tolist())


def type_name(array: NDArray[Any]) -> str:
    """What an array holds, for a sentence."""
    return {"U": "text", "S": "text", "O": "objects", "c": "complex numbers", "M": "dates", "m": "durations"}.get(
        array.dtype.kind, str(array.dtype)
    )


def counted(count: int, noun: str) -> str:
    """`1 sample`, `2 samples`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(noun: str, items: list[int]) -> str:
    """`sample 4`, `samples 4, 9`, or the first five and how many more."""
    text = ", ".join(map(str, items[:SHOWN]))
    more = f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
    return f"{noun} {text}" if len(items) == 1 else f"{noun}s {text}{more}"


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """The array in native byte order, contiguous and read-only."""
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    view = native.view()
    view.flags.writeable = False
    return view
