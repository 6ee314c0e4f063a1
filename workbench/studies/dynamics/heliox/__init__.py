"""HelioX, tree-structured solves and adjoints for detailed neurons (ICML 2026, poster 63365)."""

from workbench.studies.dynamics.heliox import cell_views, claims, experiments, picture, run_views, training, tree_views
from workbench.studies.dynamics.heliox.controls import study

__all__ = ["cell_views", "claims", "experiments", "picture", "run_views", "study", "training", "tree_views"]

study.order(
    "gantt", "rounds_over_threads", "numbers", "membrane_at", "traces", "arrow", "agreement", "growth",
    "gradient_numbers", "over_windows", "training", "fits", "throughput", "memory", "spike_free_steps", "circuit_now",
    "circuit_training", "circuit_traces", "neurons",
)  # fmt: skip
