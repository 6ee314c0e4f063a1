"""Labelled sequences from an `.npz` file: arrays X, y, fs and, if there are any, group and is_test."""

from __future__ import annotations

from assay.data.archive import Archive
from assay.data.sequences import InputError, LabelledSequences, labelled_sequences

__all__ = ["read_labelled_npz"]


def read_labelled_npz(archive: Archive, fs: float | None = None) -> LabelledSequences:
    """Sequences from an opened archive.

    X is (N, L), (N, L, F) or (N, L, C, H, W); y is (N,) whole numbers or text; fs a number in Hz; group (N,) whole
    numbers or text; is_test (N,) bool; classes (K,) and feature_names (F,) text. The last four may be missing.

    Args:
        archive: from `open_archive`.
        fs: Hz; goes before the file's own.

    Raises:
        InputError: an array is missing or does not fit the others.
    """
    X, y = archive.read("X", "y")
    if fs is None:
        if "fs" not in archive.names:
            raise InputError(f"fs: {archive.label} has no sampling rate; expected an array fs or a rate in Hz.")
        (rate,) = archive.read("fs")
    else:
        rate = fs

    def optional(name: str):  # noqa: ANN202 - an array or None
        return archive.read(name)[0] if name in archive.names else None

    X.flags.writeable = False  # ours alone: need not be copied
    classes, names = optional("classes"), optional("feature_names")
    return labelled_sequences(
        X,
        y,
        rate,  # type: ignore[arg-type]  # checked there
        group=optional("group"),
        is_test=optional("is_test"),
        classes=None if classes is None else tuple(map(str, classes.tolist())),
        feature_names=None if names is None else tuple(map(str, names.tolist())),
        name=archive.label.removesuffix(".npz"),
    )
