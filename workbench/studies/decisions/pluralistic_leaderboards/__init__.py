"""Pluralistic leaderboards (Haghtalab et al., ICML 2026, arXiv 2606.02547)."""

from workbench.studies.decisions.pluralistic_leaderboards import (
    board_views,
    claims,
    crowd_views,
    experiments,
    run_views,
)
from workbench.studies.decisions.pluralistic_leaderboards.controls import study

__all__ = ["board_views", "claims", "crowd_views", "experiments", "run_views", "study"]

study.order(
    "leaderboard", "wronged", "jumps", "every_cut", "user_map", "faction_table", "source", "strengths",
    "all_boards", "all_cuts", "over_worlds", "either_outcome", "guarantee", "questions", "coalitions",
)  # fmt: skip
