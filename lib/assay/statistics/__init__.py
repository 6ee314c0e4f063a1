"""Statistics for results that come in clusters: recordings, users, prompts, seeds.

Every function takes NumPy arrays and, where it draws, a `numpy.random.Generator`.
"""

from assay.statistics.bootstrap import Interval, cluster_bootstrap, cluster_mean
from assay.statistics.crossed import crossed_mean
from assay.statistics.grouped_split import split_groups
from assay.statistics.holm import holm_adjust
from assay.statistics.incremental_fit import IncrementalR2, incremental_r2
from assay.statistics.intervals import student_interval, wilson_interval
from assay.statistics.paired import PairedDifference, paired_difference
from assay.statistics.partial_rank import PartialCorrelation, partial_spearman, rank_residuals
from assay.statistics.permutation import PermutationResult, permutation_test

__all__ = [
    "IncrementalR2", "Interval", "PairedDifference", "PartialCorrelation", "PermutationResult", "cluster_bootstrap",
    "cluster_mean", "crossed_mean", "holm_adjust", "incremental_r2", "paired_difference", "partial_spearman",
    "permutation_test", "rank_residuals", "split_groups", "student_interval", "wilson_interval",
]  # fmt: skip
