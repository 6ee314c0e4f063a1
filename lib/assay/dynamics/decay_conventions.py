"""One membrane decay in the words of four communities, converted explicitly.

- ``beta``: the decay factor of one step, in [0, 1).
- ``tau_steps``: tau = 1 / (1 - beta) in steps, at least 1 (the paper, SpikingJelly, Soul: v += (x - v) / tau).
- ``tau_seconds``: tau_m in seconds with beta = exp(-1 / (fs tau_m)) (snnTorch and other exact discretisations).
- ``cutoff_hz``: the half-power frequency of the reset-free membrane in Hz.

At the same number the first two time constants differ: tau = 2 steps is beta = 0.5, tau_m = 2 steps is beta = 0.607.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.dynamics.low_pass import beta_from_cutoff, lif_cutoff

Convention = Literal["beta", "tau_steps", "tau_seconds", "cutoff_hz"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)


def convert_decay(
    value: ArrayLike, source: Convention, target: Convention, *, fs: float | None = None
) -> NDArray[np.float64]:
    """Express a membrane decay given in one convention in another.

    Args:
        value: any shape, in the unit of ``source``.
        source, target: one of ``beta``, ``tau_steps``, ``tau_seconds``, ``cutoff_hz``.
        fs: steps per second, Hz; needed when ``tau_seconds`` or ``cutoff_hz`` takes part.

    Returns:
        the shape of ``value``. Towards ``cutoff_hz`` it is ``nan`` where the membrane has no cut-off (beta below
        0.1716).

    Raises:
        ValueError: an unknown convention, a missing or non-positive ``fs``, or a value outside its convention's
            range.
    """
    for name, convention in (("source", source), ("target", target)):
        if convention not in CONVENTIONS:
            raise ValueError(f"{name} must be one of {', '.join(CONVENTIONS)}; got {convention!r}.")
    needs_rate = {"tau_seconds", "cutoff_hz"} & {source, target}
    if needs_rate and fs is None:
        raise ValueError(f"fs must be given in Hz to convert {source} to {target}; got none.")
    if fs is not None and not (np.isfinite(fs) and fs > 0):
        raise ValueError(f"fs must be above 0 Hz; got {fs:g}.")
    rate = float(fs) if fs is not None else 1.0
    value = np.asarray(value, dtype=np.float64)
    beta = _to_beta(value, source, rate)
    if np.any(beta >= 1):
        raise ValueError(f"{source} must be short enough that beta stays below 1; got {value[beta >= 1].flat[0]:g}.")
    return _from_beta(beta, target, rate)


def _to_beta(value: NDArray[np.float64], source: Convention, fs: float) -> NDArray[np.float64]:
    if source == "beta":
        good, rule = (value >= 0) & (value < 1), "beta must lie in [0, 1)"
    elif source == "tau_steps":
        good, rule = (value >= 1) & np.isfinite(value), "tau_steps must be finite and at least 1 step"
    elif source == "tau_seconds":
        good, rule = (value >= 0) & np.isfinite(value), "tau_seconds must be finite and at least 0 s"
    else:
        return beta_from_cutoff(value, fs=fs)
    if not np.all(good):
        raise ValueError(f"{rule}; got {value[~good].flat[0]:g}.")
    if source == "beta":
        return value
    if source == "tau_steps":
        return 1 - 1 / value
    with np.errstate(divide="ignore"):
        return np.exp(-1 / (fs * value))


def _from_beta(beta: NDArray[np.float64], target: Convention, fs: float) -> NDArray[np.float64]:
    if target == "beta":
        return beta
    if target == "tau_steps":
        return 1 / (1 - beta)
    if target == "tau_seconds":
        with np.errstate(divide="ignore"):
            return -1 / (fs * np.log(beta))
    return lif_cutoff(beta, fs=fs)
