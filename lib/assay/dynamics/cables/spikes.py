"""Spikes of a voltage trace, and the surrogates that gradients go through."""

from __future__ import annotations

import numpy as np

__all__ = ["SURROGATES", "crossings", "spike_loss", "spike_times", "surrogate"]

SURROGATES = ("fast sigmoid", "triangle", "rectangle")


def surrogate(x: np.ndarray, kind: str, width: float) -> np.ndarray:
    """What stands for the derivative of a step at 0; it integrates to 1.

    ½/w / (1 + |x|/w)² (fast sigmoid), (1 − |x|/w)₊ / w (triangle), 1/(2w) where |x| < w (rectangle).

    Args:
        x: mV above the threshold. width: w, mV.

    Raises:
        ValueError: an unknown kind, or a width that is not above 0.
    """
    if not width > 0:
        raise ValueError(f"width: got {width:g} mV; expected above 0.")
    z = np.abs(np.asarray(x, float)) / width
    if kind == "fast sigmoid":
        return 0.5 / width / (1 + z) ** 2
    if kind == "triangle":
        return np.maximum(1 - z, 0) / width
    if kind == "rectangle":
        return np.where(z < 1, 0.5 / width, 0.0)
    raise ValueError(f"surrogate: got {kind!r}; expected one of {', '.join(SURROGATES)}.")


def crossings(v: np.ndarray, threshold: float) -> np.ndarray:
    """(T, ...) where a trace (T, ...) reaches its threshold from below; never at the first step."""
    up = v >= threshold
    found = np.zeros(v.shape, bool)
    found[1:] = up[1:] & ~up[:-1]
    return found


def spike_times(v: np.ndarray, dt: float, threshold: float = 0.0) -> np.ndarray:
    """Times in ms at which one trace (T,) crosses its threshold upwards, between steps by a straight line."""
    at = np.flatnonzero(crossings(v, threshold))
    return (at - 1 + (threshold - v[at - 1]) / (v[at] - v[at - 1])) * dt


def spike_loss(
    v: np.ndarray, wanted: float, threshold: float, kind: str, width: float
) -> tuple[np.ndarray, np.ndarray]:
    """½ (spikes − wanted)² of traces (T, cells), and its ∂/∂V by a surrogate.

    A spike at a step is H(V_t − θ) (1 − H(V_{t−1} − θ)); the surrogate stands for the first step function's slope.

    Returns:
        (cells,) loss, and (T, cells) ∂L/∂V per mV.
    """
    above = v >= threshold
    off = crossings(v, threshold).sum(0) - float(wanted)
    slope = surrogate(v - threshold, kind, width)
    slope[1:] *= ~above[:-1]
    slope[0] = 0
    return 0.5 * off**2, off * slope
