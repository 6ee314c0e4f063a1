"""Neurons as branching cables: morphologies, membranes, simulation, adjoints, circuits and training.

Voltages in mV, times in ms, currents in nA, lengths in µm, conductances in µS and densities in S/cm².
"""

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

__all__ = [
    "CHANNELS", "MOST", "Membrane", "Morphology", "Pulse", "REGIONS", "SCHEMES", "SHAPES", "STEEP", "SURROGATES",
    "Section", "Tree", "cable_coefficients", "cable_of", "crossings", "discretise", "drive_of", "finite_cable",
    "length_constant", "made_sections", "made_tree", "pulse_current", "read_channels", "read_swc",
    "sealed_input_resistance", "sections_of", "spike_loss", "spike_times", "steady_state", "surrogate",
    "trace_gradient", "trace_loss",
]  # fmt: skip
