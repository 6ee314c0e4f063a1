"""Stability certificates for selective state-space models (Cao, Liu, Chen and Qin, ICML 2026)."""

from workbench.studies.dynamics.ssm_stability import (
    claims,
    experiments,
    length_views,
    model_views,
    switching_views,
    system_experiments,
)
from workbench.studies.dynamics.ssm_stability.controls import study

__all__ = ["claims", "experiments", "length_views", "model_views", "study", "switching_views", "system_experiments"]

study.order(
    "channels", "board", "worst_first", "decay_map", "reach", "numbers", "covered", "time_warp",
    "error_length", "error_terms", "lab", "matrices", "lab_numbers", "verdict", "sizes",
)  # fmt: skip
