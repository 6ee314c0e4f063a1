"""Voltages of Hodgkin–Huxley cables against the NEURON simulator, at the same step and the same compartments."""

from pathlib import Path

import numpy as np
import pytest
from neuron_simulator import Neuron

from assay.data import data_folder
from assay.dynamics.cables import (
    Membrane,
    Pulse,
    cable_of,
    discretise,
    drive_of,
    made_sections,
    pulse_current,
    read_swc,
    sections_of,
    spike_times,
)
from assay.kernels import cable_steps

pytest.importorskip("neuron")
CLOSE = 2e-3  # mV where a spike has 100: NEURON keeps points in float32, which moves lengths in their seventh digit
SQUID = (0.12, 0.036, 0.0003)


def both(sections, longest, *, dt, ms, amplitude, crank_nicolson=False, start=-65.0):
    """Our voltages and NEURON's, (T + 1, compartments)."""
    tree = discretise(sections, longest, "cell")
    steps = round(ms / dt)
    current = pulse_current(Pulse(amplitude, 2.0, ms), dt, steps)
    scheme = "crank-nicolson" if crank_nicolson else "euler"
    cells = cable_steps(
        cable_of(tree, Membrane()), drive_of(tree.soma, current, dt, scheme), start=start, record=tree.compartments
    )
    cell = Neuron(sections, longest, hh=SQUID)
    try:
        # the compartment that we call the soma: NEURON's segments are section by section, as ours are
        where = int(np.flatnonzero(tree.compartments == tree.soma)[0])
        cell.clamp(cell.segments()[where], amplitude, 2.0, ms)
        theirs = cell.run(dt, steps, start=start, crank_nicolson=crank_nicolson)
    finally:
        cell.close()
    return tree, where, cells.v[:, :, 0], theirs


@pytest.mark.parametrize("crank_nicolson", [False, True])
@pytest.mark.parametrize("shape", ["ball-and-stick", "caterpillar", "binary"])
def test_made_cells_fire_as_in_neuron(shape, crank_nicolson):
    rng = np.random.default_rng(0)
    tree, soma, ours, theirs = both(
        made_sections(shape, rng), 40.0, dt=0.025, ms=30, amplitude=1.0, crank_nicolson=crank_nicolson
    )
    assert ours.shape == theirs.shape == (1201, len(tree.compartments))
    assert np.abs(ours - theirs).max() < CLOSE
    mine, other = spike_times(ours[:, soma], 0.025), spike_times(theirs[:, soma], 0.025)
    assert len(mine) == len(other) >= 1 and np.abs(mine - other).max() < 1e-3 * 0.025


@pytest.mark.data
@pytest.mark.parametrize("name", ["neuron-swc/ca1_n120", "celegans-neurons/AVAL", "neuron-swc/bbp_bio_neuron_000"])
def test_reconstructed_neurons_fire_as_in_neuron(name):
    folder = data_folder()
    assert folder is not None
    sections, _ = sections_of(read_swc(Path(folder) / f"{name}.swc"))
    amplitude = 0.3 if "AVAL" in name else 4.0
    _, soma, ours, theirs = both(sections, 40.0, dt=0.025, ms=15, amplitude=amplitude)
    assert ours[:, soma].max() > 0, "it fires"
    assert np.abs(ours - theirs).max() < CLOSE


def test_the_step_alone_makes_the_difference_to_a_finer_one():
    """The error of implicit Euler halves with the step, that of Crank–Nicolson quarters: below the threshold."""
    sections = made_sections("ball-and-stick", np.random.default_rng(0))
    tree = discretise(sections, 40.0, "cell")
    cable = cable_of(tree, Membrane())

    def end(dt, scheme):
        current = np.full(round(4 / dt), 0.15)
        return cable_steps(cable, drive_of(tree.soma, current, dt, scheme), record=np.array([tree.soma])).v[-1, 0, 0]

    for scheme, order in (("euler", 1), ("crank-nicolson", 2)):
        fine = end(0.1 / 128, scheme)
        errors = [abs(end(dt, scheme) - fine) for dt in (0.1, 0.05)]
        assert errors[0] / errors[1] == pytest.approx(2**order, rel=0.25), scheme
