"""Geometry of embedding and unembedding matrices and of hidden states: spectra, ranks, gauges, isotropy.

Matrices are (V, d): a row a token, or a state. They come as arrays or tensors of any stored float type and are read by
blocks in float64; measures come back as NumPy numbers, changed matrices as what came in.
"""

from assay.geometry.gauges import gauge, gauge_maps, gauge_move
from assay.geometry.interventions import reshape_spectrum, truncate_spectrum
from assay.geometry.isotropy import anisotropy, average_cosine, isoscore
from assay.geometry.late_degradation import Saturation, saturation
from assay.geometry.measures import MatrixMeasures, SpectrumMeasures, measure_matrix, measure_spectrum
from assay.geometry.partition import PartitionIsotropy, partition_isotropy
from assay.geometry.power_law import DecayExponent, TailExponent, decay_exponent, tail_exponent, tail_goodness
from assay.geometry.random_matrix import marchenko_pastur_rank, marchenko_pastur_singular_values
from assay.geometry.rank_penalty import effective_rank_loss, matrix_effective_rank
from assay.geometry.row_factor import RowFactor, factor_rows
from assay.geometry.run_tables import RunTable, synthetic_runs
from assay.geometry.spectral_ranks import (
    effective_rank,
    nuclear_rank,
    numerical_rank,
    participation_ratio,
    rank_at,
    spectral_entropy,
    stable_rank,
)
from assay.geometry.spectrum import singular_values

__all__ = [
    "DecayExponent", "MatrixMeasures", "PartitionIsotropy", "RowFactor", "RunTable", "Saturation", "SpectrumMeasures",
    "TailExponent", "anisotropy", "average_cosine", "decay_exponent", "effective_rank", "effective_rank_loss",
    "factor_rows", "gauge", "gauge_maps", "gauge_move", "isoscore", "marchenko_pastur_rank",
    "marchenko_pastur_singular_values", "matrix_effective_rank", "measure_matrix", "measure_spectrum", "nuclear_rank",
    "numerical_rank", "participation_ratio", "partition_isotropy", "rank_at", "reshape_spectrum", "saturation",
    "singular_values", "spectral_entropy", "stable_rank", "synthetic_runs", "tail_exponent", "tail_goodness",
    "truncate_spectrum",
]  # fmt: skip
