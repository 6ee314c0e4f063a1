"""What can be moved: threads, a neuron with its membrane, a current, a loss, a circuit; and what is prepared."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.data import NEURONS, neuron_file
from assay.dynamics.cables import (
    SHAPES,
    STEEP,
    SURROGATES,
    Circuit,
    Membrane,
    Morphology,
    Pulse,
    Tree,
    cable_of,
    discretise,
    drive_of,
    made_tree,
    make_circuit,
    neuron_place,
    pulse_current,
    read_cells,
    read_channels,
    read_swc,
    read_system,
    read_targets,
    read_wiring,
    spike_loss,
    trace_loss,
)
from assay.kernels import Bound, Cable, CableRun, Drive, Gradients, Schedule, cable_adjoint, cable_steps, dhs_schedule
from assay.kernels import round_bound as bound_of
from workbench.sources import Source
from workbench.study import Paper, Study

SAMPLES = ("ca1", "pvdr", "aval", "ball-and-stick", "caterpillar", "binary", "random")
LIVE = 250_000  # nodes times steps that are simulated while one waits
LIVE_BACK = 90_000  # and that are gone back through, by two adjoints
BEGIN = 1.0  # ms at which the current is switched on
OFF = np.array([0.8, 1.2, 1.2])  # the student's sodium, potassium and leak, as shares of the teacher's
THRESHOLD = -20.0  # mV that counts as a spike
WANTED = 2.0  # spikes that the loss of spikes asks for

study = Study(
    "heliox",
    paper=Paper(
        title="HelioX: A GPU-Native Framework for Simulation and Training of Biophysically Detailed Networks",
        venue="ICML 2026, poster 63365",
    ),
    question="How many threads can a neuron’s tree use, and does its cheap gradient point the right way?",
    summary="Tree-structured solves for detailed neurons",
)

study.group("Schedule", equation=r"R(k) = \max_{\gamma \ge 0} \left( \gamma + \lceil N(\gamma) / k \rceil \right)")
study.integer(
    "threads", 8, bounds=(1, 32), symbol="k", group="Schedule",
    doc="Nodes of a cell that are eliminated side by side, at most a warp.",
)  # fmt: skip
study.data(
    "neuron", samples=SAMPLES, group="Schedule", suffixes=(".swc",), needs="a reconstruction as swc, in µm",
    doc="Whose tree it is; the first three are reconstructions, the others are made.",
)  # fmt: skip
study.number(
    "longest", 40.0, bounds=(5.0, 200.0), unit="µm", label="Longest compartment", group="Schedule",
    doc="Sections are cut evenly so that no compartment is longer.",
)  # fmt: skip
study.data(
    "system", optional=True, group="Schedule", rare=True, suffixes=(".npz",), needs="parent, a, b, d, rhs as npz",
    doc="A tree-shaped linear system of yours takes the place of the neuron’s tree.",
)  # fmt: skip

study.group("Membrane", equation=r"c\,\dot V = -\sum_x \bar g_x\, y_x (V - E_x)")
study.flag("sodium", True, group="Membrane", doc="Sodium channels are there.")
study.number(
    "gna", 0.12, bounds=(0.0, 0.5), step=0.005, unit="S/cm²", symbol="Na", label="Sodium", group="Membrane",
    doc="Largest sodium conductance, everywhere.",
)  # fmt: skip
study.flag("potassium", True, group="Membrane", doc="Potassium channels are there.")
study.number(
    "gk", 0.036, bounds=(0.0, 0.2), step=0.002, unit="S/cm²", symbol="K", label="Potassium", group="Membrane",
    doc="Largest potassium conductance, everywhere.",
)  # fmt: skip
study.number(
    "gleak", 3e-4, bounds=(1e-5, 1e-2), log=True, unit="S/cm²", symbol="L", label="Leak", group="Membrane",
    doc="Leak conductance, everywhere; it reverses at −54.3 mV.",
)  # fmt: skip
study.data(
    "channels", optional=True, group="Membrane", rare=True, suffixes=(".csv",), needs="region, channel, gbar (S/cm²)",
    doc="Densities by region take the place of the sliders; regions soma, axon, basal, apical, neurite or all.",
)  # fmt: skip
study.number(
    "resistivity", 100.0, bounds=(20.0, 400.0), unit="Ω cm", symbol="R", label="Axial resistivity", group="Membrane",
    rare=True, doc="Of the cytoplasm.",
)  # fmt: skip

study.group("Run", equation=r"M(V)\,\Delta V = r(V),\; V \leftarrow V + \Delta V / \theta")
study.number(
    "current", 3.0, bounds=(0.0, 20.0), step=0.1, unit="nA", symbol="I", label="Current", group="Run",
    doc="Into the soma from 1 ms on.",
)  # fmt: skip
study.number(
    "dt", 0.025, bounds=(0.01, 0.2), log=True, unit="ms", symbol="t", label="Step", group="Run",
    doc="Fixed; with sodium channels at most 0.1 ms.",
)  # fmt: skip
study.choice(
    "scheme", "euler", choices={"euler": "implicit Euler", "crank-nicolson": "Crank–Nicolson"}, symbol="θ",
    group="Run", doc="θ is 1, or ½ with gates half a step ahead.",
)  # fmt: skip
study.number("window", 12.0, bounds=(2.0, 100.0), step=1.0, unit="ms", group="Run", doc="How long it is simulated.")
study.number(
    "instant", 3.0, bounds=(0.0, 100.0), step=0.1, unit="ms", label="Moment", group="Run",
    doc="When the membrane is looked at; drag the line.",
)  # fmt: skip

study.group(
    "Gradient", equation=r"\lambda \leftarrow \lambda + (\partial r / \partial V)^{\top} M^{-\top} \lambda / \theta"
)
study.choice(
    "adjoint", "exact", choices={"exact": "Exact", "frozen": "Frozen", "fd": "Finite differences"}, group="Gradient",
    doc="Frozen is the public code’s: a diagonal that stands still, and no gates.",
)  # fmt: skip
study.choice(
    "loss", "trace", choices={"trace": "a teacher’s trace", "spikes": "two spikes"}, group="Gradient",
    doc="What is asked of the soma; the student’s densities are 20 % off the teacher’s.",
)  # fmt: skip
study.choice(
    "surrogate", "fast sigmoid", choices={name: name for name in SURROGATES}, group="Gradient",
    doc="What stands for a spike’s slope.",
)  # fmt: skip
study.number("width", 5.0, bounds=(1.0, 20.0), step=0.5, unit="mV", symbol="w", label="Its width", group="Gradient",
             doc="Of the surrogate.")  # fmt: skip
study.number("rate", 0.03, bounds=(1e-3, 0.5), log=True, label="Learning rate", group="Gradient",
             doc="Of Adam, on logarithms of densities or weights.")  # fmt: skip
study.number("clip", 1e6, bounds=(1e-6, 1e6), log=True, unit="1/mV", label="Clip at", group="Gradient", rare=True,
             doc="Largest gradient of a voltage that a step hands on to the one before.")  # fmt: skip
study.data(
    "target", optional=True, group="Gradient", rare=True, suffixes=(".npz",), needs="t (ms) and v (mV) as npz",
    doc="A recording of yours at the soma takes the teacher’s place; its first cell is fitted.",
)  # fmt: skip

study.group("Circuit", equation=r"I = w\,g\,s\,(V - E)")
study.data(
    "network", samples=("worm",), group="Circuit", suffixes=(".csv", ".npz"),
    needs="pre, post, weight, kind as csv or npz",
    doc="Graded synapses and gap junctions between neurons of five compartments.",
)  # fmt: skip
study.text(
    "driven", "AVBL", pattern=r"[A-Za-z0-9_.\-]{1,40}", means="a neuron’s name", label="Driven neuron", group="Circuit",
    doc="Which neuron of the circuit gets a current.",
)  # fmt: skip
study.number("drive", 60.0, bounds=(0.0, 200.0), step=5.0, unit="mV", label="Its drive", group="Circuit",
             doc="The current, as what its leak alone would turn it into.")  # fmt: skip

study.group("Effort")
study.integer("trees", 420, bounds=(10, 10_000), effort=True, label="Random trees", group="Effort", rare=True,
              doc="On which rounds are compared with the optimum.")  # fmt: skip
study.integer("cells", 1000, bounds=(8, 100_000), effort=True, label="Cells side by side", group="Effort",
              doc="Most identical cells in the throughput.")  # fmt: skip
study.integer("turns", 5, bounds=(2, 50), effort=True, label="Turns of timing", group="Effort", rare=True,
              doc="Each time is measured so often.")  # fmt: skip
study.integer("steps", 30, bounds=(2, 1000), effort=True, label="Steps of training", group="Effort",
              doc="Of the densities, and of the circuit’s weights.")  # fmt: skip
study.number("horizon", 30.0, bounds=(5.0, 200.0), effort=True, unit="ms", label="Circuit’s window", group="Effort",
             rare=True, doc="How long the circuit is simulated in training, at 0.1 ms.")  # fmt: skip
study.integer("stimuli", 4, bounds=(1, 64), effort=True, group="Effort", rare=True,
              doc="Patterns of currents that the circuit is fitted to; as many others judge it.")  # fmt: skip
study.presets(
    quick={"trees": 420, "cells": 64, "turns": 3, "steps": 4, "horizon": 10.0, "stimuli": 2, "seeds": 2},
    standard={"trees": 2000, "cells": 1000, "turns": 7, "steps": 40, "horizon": 30.0, "stimuli": 4, "seeds": 3},
    full={"trees": 10_000, "cells": 4000, "turns": 15, "steps": 300, "horizon": 100.0, "stimuli": 8, "seeds": 5},
)  # fmt: skip


@study.prepared
def morphology(neuron: Source) -> Morphology | None:
    """Points of a reconstruction; None for a shape that is made."""
    place = neuron.path if neuron.path is not None else neuron_file(neuron.name)
    return None if place is None else read_swc(place, neuron.name)


@study.prepared
def tree(morphology: Morphology | None, neuron: Source, longest: float, seed: int) -> Tree:
    """The neuron in compartments."""
    if morphology is not None:
        return discretise(morphology, longest)
    assert neuron.name in SHAPES
    return made_tree(neuron.name, longest, np.random.default_rng([seed, 1]))


@study.prepared
def solved(system: Source | None) -> dict[str, np.ndarray] | None:
    """A system of one's own with its solution; None where there is none."""
    return None if system is None or system.path is None else read_system(system.path)


@study.prepared
def parents(tree: Tree, solved: dict[str, np.ndarray] | None) -> np.ndarray:
    """(n,) parents of what is scheduled."""
    return tree.parent if solved is None else solved["parent"]


@study.prepared
def schedule(parents: np.ndarray, threads: int) -> Schedule:
    """The rounds at k threads."""
    return dhs_schedule(parents, threads)


@study.prepared
def bound(parents: np.ndarray, threads: int) -> Bound:
    """Why there can be no fewer."""
    return bound_of(parents, threads)


@study.prepared
def membrane(
    sodium: bool, gna: float, potassium: bool, gk: float, gleak: float, channels: Source | None, resistivity: float
) -> Membrane:
    """Densities by region, from the sliders or a file."""
    if channels is not None and channels.path is not None:
        return Membrane(read_channels(channels.path), Ra=resistivity)
    own = {"leak": gleak} | ({"na": gna} if sodium else {}) | ({"k": gk} if potassium else {})
    return Membrane({("all", name): value for name, value in own.items()}, Ra=resistivity)


@study.prepared
def cable(tree: Tree, membrane: Membrane, dt: float) -> Cable:
    """The neuron as the kernels step it.

    Raises:
        ValueError: a step that loses a spike.
    """
    found = cable_of(tree, membrane)
    if dt > STEEP and (found.sodium > 0).any():
        raise ValueError(f"dt: got {dt:g} ms with sodium channels; expected at most {STEEP} ms, or no sodium.")
    return found


def pulse(tree: Tree, current: float, dt: float, steps: int, scheme: str) -> Drive:
    """A current into the soma from 1 ms on."""
    return drive_of(tree.soma, pulse_current(Pulse(current, BEGIN, 1e9), dt, steps), dt, scheme)


def steps_of(window: float, dt: float, nodes: int, most: int) -> int:
    """Steps of a window, as many as may be made while one waits."""
    return int(max(20, min(round(window / dt), most // nodes)))


@study.prepared
def seen(cable: Cable, tree: Tree, current: float, dt: float, scheme: str, window: float) -> CableRun:
    """The run that is looked at, of its whole window or of as much as can be waited for."""
    drive = pulse(tree, current, dt, steps_of(window, dt, len(tree), LIVE), scheme)
    return cable_steps(cable, drive, tape="frozen")


@dataclass(frozen=True, eq=False)
class Student:
    """A neuron whose densities are off, the loss that says so, and both its gradients.

    Attributes:
        cable, drive: of the student. run: with its tape. target: (T + 1, 1, 1) mV of the teacher.
        loss: mV², or ½ (spikes − 2)². exact, frozen: gradients.
    """

    cable: Cable
    drive: Drive
    run: CableRun
    target: np.ndarray
    slope: np.ndarray
    loss: float
    exact: Gradients
    frozen: Gradients

    def densities(self, gradients: Gradients) -> np.ndarray:
        """(3,) ∂L/∂ log ḡ of sodium, potassium and leak, all compartments together."""
        own = self.cable
        pairs = ((own.sodium, gradients.sodium), (own.potassium, gradients.potassium), (own.leak, gradients.leak))
        return np.array([float((g * d).sum()) if len(d) else 0.0 for g, d in pairs])


def off_by(cable: Cable, factor: np.ndarray) -> Cable:
    """A cable whose sodium, potassium and leak are multiplied."""
    return replace(
        cable, sodium=cable.sodium * factor[0], potassium=cable.potassium * factor[1], leak=cable.leak * factor[2]
    )


def loss_of(
    loss: str, v: np.ndarray, target: np.ndarray, surrogate: str, width: float
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Loss by cell, and its ∂/∂V, of traces (T + 1, 1, cells) at the soma."""
    if loss == "trace":
        return trace_loss(v, target)
    value, slope = spike_loss(v[:, 0], WANTED, THRESHOLD, surrogate, width)
    return value, slope[:, None]


@study.prepared
def recorded(target: Source | None, dt: float, window: float, tree: Tree) -> np.ndarray | None:
    """(T + 1, 1, 1) mV of a recording of one's own; None where the teacher is simulated."""
    if target is None or target.path is None:
        return None
    return read_targets(target.path, dt, steps_of(window, dt, len(tree), LIVE_BACK))[:, None, :1]


@study.prepared
def student(
    cable: Cable, tree: Tree, recorded: np.ndarray | None, current: float, dt: float, scheme: str, window: float,
    loss: str, surrogate: str, width: float, clip: float,
) -> Student:  # fmt: skip
    """A neuron that is off, with both gradients of its loss."""
    drive = pulse(tree, current, dt, steps_of(window, dt, len(tree), LIVE_BACK), scheme)
    record = np.array([tree.soma])
    goal = cable_steps(cable, drive, record=record).v if recorded is None else recorded
    own = off_by(cable, OFF) if recorded is None else cable
    run = cable_steps(own, drive, record=record, tape="exact")
    value, slope = loss_of(loss, run.v, goal, surrogate, width)
    exact, frozen = (cable_adjoint(own, drive, run, slope, mode=mode, clip=clip) for mode in ("exact", "frozen"))
    return Student(own, drive, run, goal, slope, float(value[0]), exact, frozen)


@study.prepared
def circuit(network: Source) -> Circuit:
    """The neurons of a wiring, with the worm's shapes where their names are known."""
    place = network.path if network.path is not None else neuron_file(network.name)
    assert place is not None
    return make_circuit(read_wiring(place), read_cells(NEURONS / "worm_cells.csv"))


@study.prepared
def driven_place(circuit: Circuit, driven: str, network: Source) -> int:
    """Which neuron of the circuit is driven; the first where the name is the worm's and the circuit is not."""
    if driven == "AVBL" and network.path is not None and "AVBL" not in circuit.names:
        return 0
    return neuron_place(driven, circuit.names, "driven")
