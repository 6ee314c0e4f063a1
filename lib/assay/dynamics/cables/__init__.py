"""Neurons as branching cables: morphologies, membranes, simulation, adjoints, circuits and training.

Voltages in mV, times in ms, currents in nA, lengths in µm, conductances in µS and densities in S/cm².
"""

from assay.dynamics.cables.circuits import (
    COMPARTMENTS,
    GABA,
    Circuit,
    Fit,
    adam,
    fit_weights,
    make_circuit,
    weight_gradient,
)
from assay.dynamics.cables.files import read_system, read_targets
from assay.dynamics.cables.membrane import CHANNELS, Membrane, cable_coefficients, cable_of, read_channels
from assay.dynamics.cables.passive import finite_cable, length_constant, sealed_input_resistance, steady_state
from assay.dynamics.cables.simulation import (
    SCHEMES,
    STEEP,
    Pulse,
    drive_of,
    pulse_current,
    trace_gradient,
    trace_loss,
)
from assay.dynamics.cables.spikes import SURROGATES, crossings, spike_loss, spike_times, surrogate
from assay.dynamics.cables.swc import REGIONS, Morphology, Section, read_swc, sections_of
from assay.dynamics.cables.trees import MOST, SHAPES, Tree, discretise, made_sections, made_tree
from assay.dynamics.cables.wiring import Wiring, neuron_place, read_cells, read_wiring

__all__ = [
    "CHANNELS", "COMPARTMENTS", "Circuit", "Fit", "GABA", "MOST", "Membrane", "Morphology", "Pulse", "REGIONS",
    "SCHEMES", "SHAPES", "STEEP", "SURROGATES", "Section", "Tree", "Wiring", "adam", "cable_coefficients", "cable_of",
    "crossings", "discretise", "drive_of", "finite_cable", "fit_weights", "length_constant", "made_sections",
    "made_tree", "make_circuit", "neuron_place", "pulse_current", "read_cells", "read_channels", "read_swc",
    "read_system", "read_targets", "read_wiring", "sealed_input_resistance", "sections_of", "spike_loss", "spike_times",
    "steady_state", "surrogate", "trace_gradient", "trace_loss", "weight_gradient",
]  # fmt: skip
