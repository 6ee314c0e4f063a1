"""Effective rank of unembedding matrices (Kulkarni et al., ICML 2026, arXiv 2602.20433)."""

from workbench.studies.geometry.effective_rank import claims, experiments, model_views, own_runs, suite_views
from workbench.studies.geometry.effective_rank.controls import study

__all__ = ["claims", "experiments", "model_views", "own_runs", "study", "suite_views"]

study.order(
    "gauge_spectrum", "unmoved", "text", "hand_spectrum", "hand_metrics", "gauge_table", "numbers", "sees",
    "layers", "cloud", "residuals", "factors", "agreement", "training", "statistics", "intervened", "checked",
    "validation", "own_residuals",
)  # fmt: skip
