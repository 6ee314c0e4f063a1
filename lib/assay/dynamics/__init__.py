"""Dynamics of leaky spiking neurons: what they filter, what the data asks for, and what it costs.

Arrays and tensors in, arrays and tensors out. Frequencies are rad/sample unless a name says Hz; time is one step a
frame.
"""

from assay.dynamics.baselines import (
    EMAANN,
    ButterworthANN,
    FrameANN,
    GRUClassifier,
    SpectralLinear,
    StaticANN,
    TemporalCNN,
    TimeMeanANN,
)
from assay.dynamics.decay_conventions import CONVENTIONS, Convention, convert_decay
from assay.dynamics.discriminative import (
    Spectrum,
    bootstrap_spectra,
    discriminative_spectrum,
    shuffled_spectra,
    spectral_mass_below,
    spectral_quantile,
)
from assay.dynamics.energy import PAPER, SYMMETRIC, Accounting, Energy, LayerEnergy, theoretical_energy
from assay.dynamics.lenet import FULL, MINI, Backbone, LeNet, SpikingLeNet
from assay.dynamics.lif_layer import DEFAULT_NEURON, LIFLayer, NeuronOptions, Reset
from assay.dynamics.low_pass import (
    beta_from_cutoff,
    effective_bandwidth,
    lif_cutoff,
    lif_response,
    lowest_beta_with_cutoff,
    noise_gain,
    noise_matched_gain,
)
from assay.dynamics.matching import Threshold, candidate_decays, frequency_matching_score, over_lowpass_threshold
from assay.dynamics.neuron_bench import (
    NeuronSpectra,
    ToneResponse,
    firing_rate,
    neuron_spectra,
    tone_response,
)
from assay.dynamics.operations import LayerOperations, OperationCounts, operation_counts
from assay.dynamics.sequence_classifier import SequenceClassifier
from assay.dynamics.series import REDUCTIONS, Reduction, check_sequences, reduce_features
from assay.dynamics.spiking_mlp import LeakyMLP, SpikingMLP
from assay.dynamics.standardiser import Standardiser
from assay.dynamics.stored_neurons import StoredNeuron, find_stored_neurons, read_stored_neurons
from assay.dynamics.threshold_nulls import (
    bootstrap_thresholds,
    flat_bins_threshold,
    flat_spectrum_threshold,
    shuffled_thresholds,
)
from assay.dynamics.training import HeldOut, TrainedClassifier, train_classifier

__all__ = [
    "Accounting", "Backbone", "ButterworthANN", "CONVENTIONS", "Convention", "DEFAULT_NEURON", "EMAANN",
    "Energy", "FULL", "FrameANN", "GRUClassifier", "HeldOut", "LIFLayer", "LayerEnergy", "LayerOperations",
    "LeNet", "LeakyMLP", "MINI", "NeuronOptions", "NeuronSpectra", "OperationCounts", "PAPER", "REDUCTIONS",
    "Reduction", "Reset", "SYMMETRIC", "SequenceClassifier", "SpectralLinear", "Spectrum", "SpikingLeNet",
    "SpikingMLP", "Standardiser", "StaticANN", "StoredNeuron", "TemporalCNN", "Threshold", "TimeMeanANN",
    "ToneResponse", "TrainedClassifier", "beta_from_cutoff", "bootstrap_spectra", "bootstrap_thresholds",
    "candidate_decays", "check_sequences", "convert_decay", "discriminative_spectrum", "effective_bandwidth",
    "find_stored_neurons", "firing_rate", "flat_bins_threshold", "flat_spectrum_threshold",
    "frequency_matching_score", "lif_cutoff", "lif_response", "lowest_beta_with_cutoff", "neuron_spectra",
    "noise_gain", "noise_matched_gain", "operation_counts", "over_lowpass_threshold", "read_stored_neurons",
    "reduce_features", "shuffled_spectra", "shuffled_thresholds", "spectral_mass_below", "spectral_quantile",
    "theoretical_energy", "tone_response", "train_classifier",
]  # fmt: skip
