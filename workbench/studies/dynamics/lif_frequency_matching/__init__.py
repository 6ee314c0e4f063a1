"""Match a spiking neuron's bandwidth to the data (Yu et al., ICML 2026, arXiv 2605.09983)."""

from workbench.studies.dynamics.lif_frequency_matching import claims, experiments, views
from workbench.studies.dynamics.lif_frequency_matching.controls import study

__all__ = ["claims", "experiments", "study", "views"]
