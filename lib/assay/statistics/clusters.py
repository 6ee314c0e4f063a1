"""Clusters: which observations stand or fall together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["cluster_codes", "cluster_labels", "finite_array"]


def finite_array(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """The values as float64.

    Raises:
        ValueError: not numbers, or some are not finite.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: got values that are not numbers; expected finite numbers.") from None
    bad = int(array.size - np.isfinite(array).sum())
    if bad:
        raise ValueError(f"{name}: got {bad} non-finite values; expected finite numbers.")
    return array


def cluster_codes(name: str, clusters: ArrayLike, observations: int | None = None) -> tuple[NDArray[np.intp], int]:
    """Codes 0..C-1 of cluster labels, and C.

    Args:
        name: of the argument, for the message.
        clusters: (n,) labels of any kind that sorts.
        observations: n, when it is known from elsewhere.

    Raises:
        ValueError: wrong shape, or fewer than two clusters.
    """
    labels = np.asarray(clusters)
    wanted = "(n,)" if observations is None else f"({observations},)"
    if labels.ndim != 1 or (observations is not None and len(labels) != observations):
        raise ValueError(f"{name}: got shape {labels.shape}; expected {wanted}.")
    kinds, codes = np.unique(labels, return_inverse=True)
    if len(kinds) < 2:
        raise ValueError(f"{name}: got {len(kinds)} distinct; expected at least 2.")
    return codes.astype(np.intp), len(kinds)


def cluster_labels(name: str, labels: NDArray[Any], codes: NDArray[np.intp], count: int) -> NDArray[Any]:
    """(C,) the label of each cluster.

    Raises:
        ValueError: the labels are not constant within a cluster.
    """
    if labels.shape != codes.shape:
        raise ValueError(f"{name}: got shape {labels.shape}; expected {codes.shape}.")
    first = np.full(count, len(codes), dtype=np.intp)
    np.minimum.at(first, codes, np.arange(len(codes)))
    of_cluster = labels[first]
    mixed = len(np.unique(codes[of_cluster[codes] != labels]))
    if mixed:
        raise ValueError(f"{name}: differs within {mixed} of {count} clusters; expected one label a cluster.")
    return of_cluster
