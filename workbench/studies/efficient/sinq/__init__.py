"""SINQ, dual-scale quantisation without calibration (Müller et al., arXiv 2509.22944)."""

from workbench.studies.efficient.sinq import claims, experiments, files, run_views, tile_views
from workbench.studies.efficient.sinq.controls import study

__all__ = ["claims", "experiments", "files", "run_views", "study", "tile_views"]

study.order(
    "before_and_after", "over_iterations", "by_column", "scales_and_activations", "numbers", "over_depth",
    "ranking", "imbalance_and_error", "pareto", "gaps", "costs", "tensors", "quantised_before",
)  # fmt: skip
