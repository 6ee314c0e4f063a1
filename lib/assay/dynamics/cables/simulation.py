"""A neuron under a current, and the gradients of a loss on its voltage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.kernels import Cable, CableRun, Drive, cable_adjoint, cable_steps

__all__ = ["SCHEMES", "STEEP", "Pulse", "drive_of", "pulse_current", "trace_gradient", "trace_loss"]

SCHEMES = {"euler": 1.0, "crank-nicolson": 0.5}
STEEP = 0.1  # ms: larger steps lose a spike's upstroke


@dataclass(frozen=True)
class Pulse:
    """A current: nA, from a time on for a while, both in ms."""

    amplitude: float
    begin: float
    length: float


def pulse_current(pulse: Pulse, dt: float, steps: int) -> np.ndarray:
    """(T,) nA during each step: on where the middle of a step lies in the pulse, as NEURON's clamp is."""
    middle = (np.arange(steps) + 0.5) * dt
    return np.where((middle >= pulse.begin) & (middle < pulse.begin + pulse.length), pulse.amplitude, 0.0)


def drive_of(nodes: int | np.ndarray, current: np.ndarray, dt: float, scheme: str = "euler") -> Drive:
    """Currents (T,), (T, cells) or (T, nodes, cells) in nA into nodes, with a scheme by name.

    Raises:
        ValueError: an unknown scheme.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"scheme: got {scheme!r}; expected one of {', '.join(SCHEMES)}.")
    own = np.atleast_1d(np.asarray(nodes, np.int64))
    given = np.asarray(current, float)
    if given.ndim == 1:
        given = given[:, None]
    if given.ndim == 2:
        given = given[:, None, :]
    return Drive(own, np.ascontiguousarray(given), float(dt), SCHEMES[scheme])


def trace_loss(v: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean square distance of traces (T + 1, records, cells) from a target, mV², by cell, and its ∂/∂V."""
    off = v - target
    return (off**2).mean((0, 1)), 2 * off / (off.shape[0] * off.shape[1])


def trace_gradient(
    cable: Cable, drive: Drive, target: np.ndarray, record: np.ndarray, mode: str, clip: float = np.inf
) -> tuple[float, np.ndarray, CableRun]:
    """Loss against a target at recorded nodes, and its gradient by (sodium, potassium, leak) densities.

    Returns:
        mean loss over cells in mV², (3,) ∂L/∂ḡ per S/cm² where every compartment's density moves alike, the run.
    """
    run = cable_steps(cable, drive, record=record, tape="exact")
    loss, slope = trace_loss(run.v, target)
    found = cable_adjoint(cable, drive, run, slope / drive.cells, mode=mode, clip=clip)  # pyright: ignore[reportArgumentType]
    here = cable.capacitance > 0
    return float(loss.mean()), np.array([found.sodium.sum(), found.potassium.sum(), found.leak[here].sum()]), run
