"""Data for studies: labelled sequences from files of common kinds, shipped samples, and generators with known truth.

A reader checks everything once and says in one sentence what is wrong; what it returns is read-only and has a
fingerprint.
"""

from assay.data.clock import Clock, Regularity, nearest_frames, regularity
from assay.data.noise import add_noise
from assay.data.opening import SUFFIXES, open_radar, open_sequences
from assay.data.radhar import RadarOptions, radar_sequences
from assay.data.radhar_grid import RadarFrames, grid_points
from assay.data.radhar_points import RadarPoints, compact_points, folder_points, log_points
from assay.data.references import Resolved, content_sha256, find_content, resolve
from assay.data.sequences import Handled, InputError, LabelledSequences, labelled_sequences
from assay.data.shipped import data_folder, sample, sample_version, samples
from assay.data.shipped_models import MODEL_LINES, model_file
from assay.data.shipped_neurons import NEURON_LINES, NEURONS, neuron_file
from assay.data.shipped_votes import VOTE_LINES, vote_file
from assay.data.synthetic import synthetic_sequences
from assay.data.truth import SyntheticTruth

__all__ = [
    "Clock", "Handled", "InputError", "LabelledSequences", "MODEL_LINES", "NEURONS", "NEURON_LINES", "RadarFrames",
    "RadarOptions", "RadarPoints", "Regularity", "Resolved", "SUFFIXES", "SyntheticTruth", "VOTE_LINES",
    "add_noise", "compact_points", "content_sha256", "data_folder", "find_content", "folder_points", "grid_points",
    "labelled_sequences", "log_points", "model_file", "nearest_frames", "neuron_file", "open_radar",
    "open_sequences", "radar_sequences", "regularity", "resolve", "sample", "sample_version", "samples",
    "synthetic_sequences", "vote_file",
]  # fmt: skip
