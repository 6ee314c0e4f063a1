"""Arrays of one's own: target traces for a neuron, and systems for the bare solver."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from assay.kernels import tree_solve

__all__ = ["read_system", "read_targets"]


def arrays_of(path: Path, what: str, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Numeric arrays of an npz by name."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            found = {name: kept[name] for name in kept.files}
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{what}: the npz cannot be read ({str(error).splitlines()[0]}).") from None
    if missing := [name for name in names if name not in found]:
        raise ValueError(f"{what}: got arrays {', '.join(found) or 'none'}; expected {', '.join(missing)} too.")
    for name in names:
        if found[name].dtype.kind not in "iuf" or not np.isfinite(found[name].astype(float)).all():
            raise ValueError(
                f"{what}: {name} holds {found[name].dtype} or values that are not finite; expected numbers."
            )
    return {name: found[name] for name in names}


def read_targets(path: Path, dt: float, steps: int) -> np.ndarray:
    """(steps + 1, cells) mV of a recording, by straight lines between its samples, at the times of a simulation.

    Args:
        path: npz of t (T,) ms and v (T,) or (T, cells) mV. dt: ms. steps: of the window.

    Raises:
        ValueError: one sentence: arrays that are missing or do not fit, times that do not rise, voltages beyond ±300
            mV, or a recording that ends before the window does.
    """
    own = arrays_of(path, "target", ("t", "v"))
    t, v = own["t"].astype(float), own["v"].astype(float)
    v = v[:, None] if v.ndim == 1 else v
    if t.ndim != 1 or v.ndim != 2 or len(t) != len(v) or len(t) < 2 or v.shape[1] < 1:
        raise ValueError(f"target: got t {t.shape} and v {v.shape}; expected t (T,) in ms and v (T, cells) in mV.")
    if (np.diff(t) <= 0).any():
        at = int(np.flatnonzero(np.diff(t) <= 0)[0])
        raise ValueError(
            f"target: t falls or stands still after sample {at + 1}, at {t[at]:g} ms; expected rising times."
        )
    if np.abs(v).max() > 300:
        raise ValueError(f"target: v reaches {np.abs(v).max():.4g} mV; expected at most 300: is the unit mV?")
    if t[-1] - t[0] < dt * steps - 1e-9:
        raise ValueError(f"target: it lasts {t[-1] - t[0]:g} ms; expected at least the window, {dt * steps:g} ms.")
    at = t[0] + dt * np.arange(steps + 1)
    return np.stack([np.interp(at, t, column) for column in v.T], 1)


def read_system(path: Path) -> dict[str, np.ndarray]:
    """parent, a, b, d, rhs and the solution x of a system of one's own: an npz of parent (n,) and four arrays (n,).

    Raises:
        ValueError: one sentence: arrays that are missing or do not fit, a parent that is not before its child, or a
            pivot of 0.
    """
    own = arrays_of(path, "system", ("parent", "a", "b", "d", "rhs"))
    n = len(own["parent"])
    for name, value in own.items():
        if value.ndim != 1 or len(value) != n or n < 1:
            raise ValueError(f"system: {name} has shape {value.shape}; expected ({n},) as parent.")
    if n > 1_000_000:
        raise ValueError(f"system: got {n:,} nodes; expected at most 1,000,000.")
    values = {name: own[name].astype(float) for name in ("a", "b", "d", "rhs")}
    try:
        a, b, d, rhs = (torch.from_numpy(v) for v in values.values())
        x = tree_solve(a, b, d, rhs, torch.from_numpy(own["parent"]))
    except ValueError as error:
        raise ValueError(f"system: {error}") from None
    return {"parent": own["parent"].astype(np.int64), **values, "x": x.numpy()}
