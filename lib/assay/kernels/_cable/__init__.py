"""Branching cables with Hodgkin–Huxley membranes, graded synapses and gap junctions over time, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from assay.back_ends import serves
from assay.kernels._cable import cpu
from assay.kernels._cable.adjoint import Gradients, backward
from assay.kernels._cable.problem import Cable, Drive, Synapses
from assay.kernels._cable.reference import cable_reference

__all__ = ["Cable", "CableRun", "Drive", "Gradients", "Synapses", "cable_adjoint", "cable_steps", "cable_torch"]

Mode = Literal["exact", "frozen"]


@dataclass(frozen=True, eq=False)
class CableRun:
    """Voltages of a run, and what its way back starts from.

    Attributes:
        v: (T + 1, records, cells) mV at the nodes `record`, the first row at the start.
        record: (records,) nodes.
        voltages: (T + 1, n, cells) mV; (0, n, cells) without a tape.
        gates: (T + 1, 3, n, cells) m, h, n; (0, ...) without a tape for the exact adjoint.
        releases: (T + 1, s, cells) of graded synapses; (0, ...) without a tape.
    """

    v: np.ndarray
    record: np.ndarray
    voltages: np.ndarray
    gates: np.ndarray
    releases: np.ndarray

    @property
    def tape_bytes(self) -> int:
        """What is kept for the way back."""
        return self.voltages.nbytes + self.gates.nbytes + self.releases.nbytes


def cable_steps(
    cable: Cable, drive: Drive, synapses: Synapses | None = None, *, start: float | np.ndarray = -65.0,
    record: np.ndarray | None = None, tape: Mode | None = None,
) -> CableRun:  # fmt: skip
    """Step cells that share a forest of nodes: solve M ΔV = r, V ← V + ΔV/θ, then gates with the new V.

    M has c/(θ dt) + g(V, y) + axial terms; gates y ← y∞ + (y − y∞) exp(−dt/τ) are exact at a held voltage. On
    processors, float64; assembly, elimination, update and gates in one walk over the nodes.

    Args:
        cable: the forest. drive: currents and the step. synapses: between its nodes; None for none.
        start: mV, one for all or (n, cells); gates and synapses start at rest there.
        record: (records,) nodes whose voltages are returned; None for all.
        tape: keep what `cable_adjoint` needs: `exact` keeps voltages and gates, `frozen` voltages alone, a quarter of
            it; None keeps nothing.

    Raises:
        ValueError: a step, a shape or a node that does not fit, or voltages that leave ±1000 mV.
    """
    wiring = synapses or Synapses()
    checked(cable, drive, wiring)
    n, cells = len(cable), drive.cells
    nodes = np.arange(n) if record is None else np.asarray(record, np.int64)
    v0 = np.broadcast_to(np.asarray(start, float), (n, cells)).copy()  # one that may be written to, as all are
    serves("cable", "cpu")
    v, *tapes = cpu.forward(
        cable, wiring, drive, v0, cpu.steady_gates(v0), cpu.steady_synapses(v0, wiring), nodes, tape=tape is not None,
        gate_tape=tape == "exact" and bool(cable.active.any()),
    )  # fmt: skip
    if v.size and not float(np.abs(v[-1]).max(initial=0)) < 1000:
        raise ValueError("dt: the voltage left ±1000 mV; expected a smaller step, or weaker currents.")
    return CableRun(v, nodes, *tapes)


def cable_adjoint(
    cable: Cable, drive: Drive, run: CableRun, gradient: np.ndarray, synapses: Synapses | None = None, *,
    mode: Mode = "exact", clip: float = np.inf,
) -> Gradients:  # fmt: skip
    """Gradients of a loss from ∂L/∂V: one transposed solve a step, backwards.

    Args:
        cable, drive, synapses: as they were run. run: with a tape.
        gradient: (T + 1, records, cells) ∂L/∂V at the recorded nodes, per mV.
        mode: `exact` differentiates the steps as they are; `frozen`, as HelioX's public code, takes the diagonal as
            capacitance, leak and axial conductance, and lets active gates stand still: the passive tree's adjoint along
            the active run. Graded synapses are differentiated in both.
        clip: largest |∂L/∂V| of a cell that is handed on to the step before, per mV.

    Raises:
        ValueError: a run without its tape, or a gradient of another shape.
    """
    if mode not in ("exact", "frozen"):
        raise ValueError(f"mode: got {mode!r}; expected exact or frozen.")
    if len(run.voltages) != drive.steps + 1:
        raise ValueError("run: it was made without a tape; expected one of `cable_steps(..., tape=...)`.")
    if mode == "exact" and cable.active.any() and not run.gates.size:
        raise ValueError("run: its tape has no gates; expected one of `cable_steps(..., tape='exact')`.")
    if gradient.shape != run.v.shape:
        raise ValueError(f"gradient: got shape {gradient.shape}; expected {run.v.shape}.")
    return backward(
        cable, synapses or Synapses(), drive, (run.voltages, run.gates, run.releases), run.record,
        np.ascontiguousarray(gradient, float), exact=mode == "exact", clip=clip,
    )  # fmt: skip


def cable_torch(
    cable: Cable, drive: Drive, synapses: Synapses | None = None, *, start: float | np.ndarray = -65.0,
    record: np.ndarray | None = None, leaves: dict[str, torch.Tensor] | None = None,
) -> torch.Tensor:  # fmt: skip
    """The same voltages (T + 1, records, cells) as `cable_steps`, made of PyTorch operations that autograd follows.

    Args:
        leaves: tensors in the place of `sodium`, `potassium`, `leak` (n,), `conductance` (s,), `gap` (g,) or `current`
            (T, k, cells).

    Raises:
        ValueError: a shape or a node that does not fit.
    """
    wiring = synapses or Synapses()
    checked(cable, drive, wiring)
    n, cells = len(cable), drive.cells
    nodes = np.arange(n) if record is None else np.asarray(record, np.int64)
    v0 = np.broadcast_to(np.asarray(start, float), (n, cells)).copy()  # one that may be written to, as all are
    v, gate, s, places = (
        torch.from_numpy(x) for x in (v0, cpu.steady_gates(v0), cpu.steady_synapses(v0, wiring), nodes)
    )
    return cable_reference(cable, wiring, drive, v, gate, s, places, leaves)


def checked(cable: Cable, drive: Drive, synapses: Synapses) -> None:
    """Shapes and ranges of what is stepped."""
    n = len(cable)
    if drive.current.ndim != 3 or drive.current.shape[1] != len(drive.nodes) or drive.cells < 1 or drive.steps < 1:
        raise ValueError(
            f"current: got shape {drive.current.shape}; expected (steps, {len(drive.nodes)}, cells), at least one each."
        )
    if not drive.dt > 0 or drive.theta not in (0.5, 1.0):
        raise ValueError(f"dt: got {drive.dt} ms with θ = {drive.theta}; expected a positive step, θ of 1 or ½.")
    for name, nodes in (("nodes", drive.nodes), ("pre", synapses.pre), ("post", synapses.post),
                        ("gap_pre", synapses.gap_pre), ("gap_post", synapses.gap_post)):  # fmt: skip
        if len(nodes) and not (int(nodes.min()) >= 0 and int(nodes.max()) < n):
            raise ValueError(f"{name}: got nodes {int(nodes.min())} to {int(nodes.max())}; expected 0 to {n - 1}.")
    for name, values in (("sodium", cable.sodium), ("potassium", cable.potassium), ("leak", cable.leak),
                         ("conductance", synapses.conductance), ("gap", synapses.gap)):  # fmt: skip
        if len(values) and not float(values.min()) >= 0:
            raise ValueError(f"{name}: got a conductance of {float(values.min()):g}; expected at least 0.")
