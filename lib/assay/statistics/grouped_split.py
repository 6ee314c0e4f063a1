"""Splits by group: no recording or person is on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.statistics.clusters import cluster_codes

__all__ = ["split_groups"]


def split_groups(y: ArrayLike, group: ArrayLike, share: float, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Hold out whole groups, class by class where groups have one class.

    Groups are stratified by their commonest class. From each class's G groups, round(share G) are held out, but at
    least one and at most G - 1.

    Args:
        y: (n,) class of each observation.
        group: (n,) its group.
        share: of the groups to hold out, in (0, 1).
        rng: which groups.

    Returns:
        (n,) true for observations that are held out.

    Raises:
        ValueError: shapes that do not fit, a share outside (0, 1), or a class with a single group.
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y: got shape {labels.shape}; expected (n,).")
    if not 0 < share < 1:
        raise ValueError(f"share: got {share}; expected a number between 0 and 1.")
    codes, count = cluster_codes("group", group, len(labels))
    classes, y_codes = np.unique(labels, return_inverse=True)
    table = np.bincount(codes * len(classes) + y_codes, minlength=count * len(classes)).reshape(count, len(classes))
    commonest = table.argmax(axis=1)
    held = np.zeros(count, dtype=bool)
    for code in np.unique(commonest):
        own = np.flatnonzero(commonest == code)
        if len(own) < 2:
            raise ValueError(f"group: class {classes[code]} has 1 group; expected at least 2 to hold one out.")
        size = min(max(round(share * len(own)), 1), len(own) - 1)
        held[rng.permutation(own)[:size]] = True
    return held[codes]
