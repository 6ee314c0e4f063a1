"""Circuits of neurons with a few compartments each: graded synapses, gap junctions, and fits of their weights.

The synapse is the Boltzmann one of HelioX's C. elegans network: s∞ = 1 / (1 + exp((V_th − V_pre)/δ)), τ = (1 − s∞)/k,
I = w g s (V − E), with g 4.9, k 0.5, E 30 where it excites and g 2, k 0.015, E −70 where it inhibits; V_th −20, δ 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from assay.dynamics.cables.membrane import Membrane, cable_of
from assay.dynamics.cables.simulation import trace_loss
from assay.dynamics.cables.trees import Tree
from assay.dynamics.cables.wiring import Wiring
from assay.kernels import Cable, Drive, Synapses, cable_adjoint, cable_steps

__all__ = ["COMPARTMENTS", "EXCITES", "GABA", "INHIBITS", "Circuit", "Fit", "adam", "fit_weights", "make_circuit",
           "weight_gradient"]  # fmt: skip

COMPARTMENTS = 5
EXCITES = (4.9e-3, 0.5, 30.0)  # µS at weight 1, 1/ms, mV
INHIBITS = (2e-3, 0.015, -70.0)
CONTACT = 0.001  # weight of one contact: inputs of a neuron then add up to about its leak
JUNCTION = 5e-6  # µS of one contact of a gap junction
GABA = frozenset(
    ["AVL", "DVB", "RIS", "RMED", "RMEV", "RMEL", "RMER", *(f"DD{i}" for i in range(1, 7)),
     *(f"VD{i}" for i in range(1, 14))]
)  # fmt: skip
DEFAULT_CELL = (300.0, 400.0)  # µm and µm² of a neuron whose shape is not known
LEAK, REST = 1e-4, -65.0  # S/cm², mV


@dataclass(frozen=True, eq=False)
class Circuit:
    """Neurons side by side in one forest.

    Attributes:
        names: of neurons. cable: nodes of all, roots first in each cell. synapses: with conductances at their weights.
        soma: (cells,) nodes that are recorded and driven. weight: (s,) of graded synapses, in contacts.
    """

    names: tuple[str, ...]
    cable: Cable
    synapses: Synapses
    soma: np.ndarray
    weight: np.ndarray

    def scaled(self, factor: np.ndarray) -> Synapses:
        """Synapses whose conductances are multiplied."""
        return replace(self.synapses, conductance=self.synapses.conductance * factor)


def chain(length: float, area: float, pieces: int) -> Tree:
    """A neuron of unknown branching: a cylinder of its length and membrane in equal pieces."""
    radius = area / (2 * np.pi * length)
    step = length / pieces
    x = (np.arange(pieces) + 0.5) * step
    xyz = np.stack([x, 0 * x, 0 * x], 1)
    half = np.array([step / 2, 0.0, 0.0])
    ends = np.stack([xyz - half, xyz + half], 1)
    resistance = np.where(np.arange(pieces) > 0, step / (np.pi * radius**2), 0.0)
    return Tree(
        "chain", np.arange(-1, pieces - 1), np.full(pieces, area / pieces), resistance, np.zeros(pieces, int), xyz,
        ends, np.full(pieces, radius), np.full(pieces, step), np.zeros(pieces, int),
    )  # fmt: skip


def make_circuit(
    wiring: Wiring, cells: dict[str, tuple[float, float]] | None = None, *, compartments: int = COMPARTMENTS,
    inhibitory: frozenset[str] = GABA,
) -> Circuit:  # fmt: skip
    """Neurons of a wiring as unbranched cables: inputs arrive at the first compartment, outputs leave from the last.

    Args:
        wiring: connections. cells: from name to length and membrane; others get 300 µm and 400 µm².
        compartments: of each neuron. inhibitory: neurons whose synapses of no given sign inhibit.

    Raises:
        ValueError: fewer than one compartment.
    """
    if compartments < 1:
        raise ValueError(f"compartments: got {compartments}; expected at least 1.")
    membrane = Membrane({("all", "leak"): LEAK}, leak_reversal=REST)
    known = cells or {}
    parts = [cable_of(chain(*known.get(name, DEFAULT_CELL), compartments), membrane) for name in wiring.names]
    first = np.arange(len(parts)) * compartments
    parent = np.concatenate([np.where(p.parent < 0, -1, p.parent + f) for p, f in zip(parts, first, strict=True)])
    columns = {
        name: np.concatenate([getattr(p, name) for p in parts])
        for name in ("a", "b", "axial", "capacitance", "leak", "sodium", "potassium", "leak_reversal", "per_area")
    }
    cable = Cable(
        parent, columns["a"], columns["b"], columns["axial"], columns["capacitance"], columns["leak"],
        columns["sodium"], columns["potassium"], columns["leak_reversal"], columns["per_area"],
    )  # fmt: skip
    chemical = wiring.kind != 3
    pre, post, weight, kind = (v[chemical] for v in (wiring.pre, wiring.post, wiring.weight, wiring.kind))
    given = np.array([name in inhibitory for name in wiring.names], bool)
    inhibits = (kind == 2) | ((kind == 0) & given[pre])
    g, k, e = (np.where(inhibits, low, high) for low, high in zip(INHIBITS, EXCITES, strict=True))
    last = first + compartments - 1
    ways = wiring.pre[~chemical], wiring.post[~chemical], wiring.weight[~chemical]
    synapses = Synapses(
        last[pre], first[post], g * weight * CONTACT, e, k, gap_pre=first[ways[0]], gap_post=first[ways[1]],
        gap=JUNCTION * ways[2],
    )  # fmt: skip
    return Circuit(wiring.names, cable, synapses, first, weight)


def weight_gradient(
    circuit: Circuit, synapses: Synapses, drive: Drive, target: np.ndarray, mode: str
) -> tuple[float, np.ndarray, int]:
    """Loss against target voltages of all somas, mV², and ∂L/∂g (s,) per µS; bytes of the tape."""
    run = cable_steps(circuit.cable, drive, synapses, start=REST, record=circuit.soma, tape="frozen")
    loss, slope = trace_loss(run.v, target)
    found = cable_adjoint(circuit.cable, drive, run, slope / drive.cells, synapses, mode=mode)  # pyright: ignore[reportArgumentType]
    return float(loss.mean()), found.conductance, run.tape_bytes


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit step by step.

    Attributes:
        losses: (steps + 1,) before each step and after the last. values: (p,) parameters with the least loss.
        sizes: (steps + 1,) lengths of gradients.
    """

    losses: np.ndarray
    values: np.ndarray
    sizes: np.ndarray


def adam(
    gradient: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, steps: int, rate: float,
    each: Callable[[int, float], None] | None = None,
) -> Fit:  # fmt: skip
    """Kingma and Ba's Adam, β 0.9 and 0.999; each step is told.

    Raises:
        ValueError: a loss that is not finite.
    """
    x, m, s = start.astype(float).copy(), np.zeros(len(start)), np.zeros(len(start))
    losses, sizes, best = [], [], (np.inf, x)
    for t in range(1, steps + 2):
        loss, g = gradient(x)
        if not np.isfinite(loss):
            raise ValueError(f"rate: the loss is no longer finite after {t - 1} steps; expected a smaller rate.")
        losses.append(loss)
        sizes.append(float(np.linalg.norm(g)))
        if loss < best[0]:
            best = loss, x.copy()
        if each is not None:
            each(t - 1, loss)
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        x = x - rate * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-12)
    return Fit(np.array(losses), best[1], np.array(sizes))


def fit_weights(
    circuit: Circuit, drive: Drive, target: np.ndarray, start: np.ndarray, *, steps: int, rate: float,
    mode: str = "exact", each: Callable[[int, float], None] | None = None,
) -> Fit:  # fmt: skip
    """Fit logarithms of factors on a circuit's synaptic conductances to target voltages by Adam.

    Args:
        target: (T + 1, cells, replicas) mV at the somas. start: (s,) logarithms. mode: of the adjoint.
    """

    def gradient(u: np.ndarray) -> tuple[float, np.ndarray]:
        factor = np.exp(np.clip(u, -6, 6))
        loss, g, _ = weight_gradient(circuit, circuit.scaled(factor), drive, target, mode)
        return loss, g * circuit.synapses.conductance * factor

    return adam(gradient, start, steps, rate, each)
