"""From labelled sequences to the time series whose spectra are compared: checks and reductions over features.

Source: Yu et al. (2026), arXiv 2605.09983, averages each frame over channels, height and width; the other reductions
are offered because that mean of a voxelised point cloud is no more than its points per frame.
"""

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

Reduction = Literal["mean", "per_channel", "principal", "channel"]
REDUCTIONS: tuple[Reduction, ...] = get_args(Reduction)


def check_sequences(
    X: ArrayLike, y: ArrayLike, fs: float, groups: ArrayLike | None = None
) -> tuple[NDArray[Any], NDArray[np.intp], NDArray[Any], NDArray[np.intp]]:
    """Check labelled sequences and number their classes and recordings.

    Args:
        X: shape (N, L) or (N, L, ...), real numbers, L at least 8.
        y: shape (N,), class labels, at least 2 classes of at least 2 samples.
        fs: sampling rate, Hz.
        groups: shape (N,), recording of each sample; without it every sample is a recording of its own.

    Returns:
        X as (N, L, F) in its own precision; class number of each sample (N,); the class labels (K,), sorted;
        recording number of each sample (N,).

    Raises:
        ValueError: naming the field, what came and what was expected.
    """
    X = np.asarray(X)
    if X.ndim < 2:
        raise ValueError(f"X must have shape (N, L) or (N, L, ...); got {X.shape}.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold real numbers; got dtype {X.dtype}.")
    if X.shape[1] < 8:
        raise ValueError(f"X must have at least 8 frames a sample; got {X.shape[1]}.")
    if X.size == 0:
        raise ValueError(f"X must not be empty; got shape {X.shape}.")
    if not (np.isfinite(fs) and fs > 0):
        raise ValueError(f"fs must be above 0 Hz; got {fs:g}.")
    y = np.asarray(y)
    if y.shape != X.shape[:1]:
        raise ValueError(f"y must have shape ({X.shape[0]},), one label a sample; got {y.shape}.")
    classes, label = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least 2 classes; got {len(classes)}.")
    sizes = np.bincount(label)
    if sizes.min() < 2:
        rare = int(sizes.argmin())
        raise ValueError(f"y must have at least 2 samples of each class; class {classes[rare]} has {sizes[rare]}.")
    if groups is None:
        recording = np.arange(len(y))
    else:
        groups = np.asarray(groups)
        if groups.shape != y.shape:
            raise ValueError(f"groups must have shape ({len(y)},), one recording a sample; got {groups.shape}.")
        recording = np.unique(groups, return_inverse=True)[1]
    return X.reshape(X.shape[0], X.shape[1], -1), label, classes, recording


def reduce_features(
    X: NDArray[Any], reduction: Reduction = "mean", *, channel: int | None = None, components: int = 3
) -> NDArray[Any]:
    """Reduce the features of each frame to one or several series.

    Args:
        X: shape (N, L, F).
        reduction: ``mean`` over all features (the paper's); ``per_channel`` keeps each feature as a series;
            ``principal`` projects onto the first ``components`` principal axes of all frames together, labels unseen;
            ``channel`` takes one feature.
        channel: index of the feature for ``channel``, 0 to F - 1.
        components: principal axes to keep, 1 to F.

    Returns:
        shape (N, S, L), S being 1, F, ``components`` and 1; float64, but for ``per_channel`` a view of X.

    Raises:
        ValueError: an unknown reduction, a channel or number of components out of range, or a non-finite value.
    """
    F = X.shape[2]
    _require_finite(X)
    if reduction == "mean":
        return np.einsum("nlf->nl", X, dtype=np.float64)[:, None] / F
    if reduction == "per_channel":
        return X.transpose(0, 2, 1)
    if reduction == "principal":
        return _principal_series(X, components)
    if reduction == "channel":
        if channel is None or isinstance(channel, bool) or not 0 <= channel < F:
            raise ValueError(f"channel must lie between 0 and {F - 1}; got {channel}.")
        return X[:, None, :, channel].astype(np.float64)
    raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}; got {reduction!r}.")


def _require_finite(X: NDArray[Any]) -> None:
    # A sum over the sample is NaN or infinite exactly where one of its values is; it spares a mask as large as X.
    bad = np.flatnonzero(~np.isfinite(np.einsum("nlf->n", X, dtype=np.float64)))
    if len(bad):
        named = ", ".join(map(str, bad[:5])) + (", …" if len(bad) > 5 else "")
        raise ValueError(f"X must be finite; {len(bad)} of {len(X)} samples hold NaN or infinity: {named}.")


def _principal_series(X: NDArray[Any], components: int) -> NDArray[np.float64]:
    F = X.shape[2]
    if isinstance(components, bool) or not 1 <= components <= F:
        raise ValueError(f"components must lie between 1 and the {F} features; got {components}.")
    frames = X.reshape(-1, F).astype(np.float64)
    mean = frames.mean(axis=0)
    scatter = frames.T @ frames - len(frames) * np.outer(mean, mean)
    axes = np.linalg.eigh(scatter)[1][:, ::-1][:, :components]
    projected = ((frames - mean) @ axes).reshape(X.shape[0], X.shape[1], components)
    return np.ascontiguousarray(projected.transpose(0, 2, 1))
