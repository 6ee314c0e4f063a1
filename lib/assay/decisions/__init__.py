"""Decisions of many: leaderboards from the preferences of users, and how large a group each leaves out.

Orders are arrays (users, models) of whole numbers, best first, with −1 after the last model that a user ranks.
"""

from assay.decisions.arena_world import ArenaWorld, read_arena_world
from assay.decisions.ballots import Ballots, ballots_of, merge_clones, orders_of_scores, positions_of
from assay.decisions.battles import (
    Battles,
    Category,
    battle_categories,
    battle_users,
    simulated_users,
    wins_of,
)
from assay.decisions.committees import (
    Budget,
    Committee,
    Round,
    Users,
    committee_rank,
    paper_schedule,
    select_committee,
    theoretical_factor,
)
from assay.decisions.constructed_profiles import sixty_forty, twin_profiles
from assay.decisions.leaderboards import Leaderboard, checkpoint_factor, rank_checkpoints, rank_monotone
from assay.decisions.lotteries import Lottery, exact_lottery, lottery_value, stable_lottery
from assay.decisions.mallows import expected_kendall, mallows_mixture, mallows_sample, random_centres
from assay.decisions.model_strengths import (
    Strengths,
    bradley_terry,
    comparison_groups,
    pairwise_wins,
    ranking_of,
)
from assay.decisions.solid_coalitions import (
    WeightedProfile,
    comparison_law,
    hidden_coalition,
    solid_shortfall,
)
from assay.decisions.stability import (
    StabilityBand,
    best_committee,
    bootstrap_stability,
    stability_curve,
    stability_ratio,
    support_of_prefixes,
)
from assay.decisions.vote_files import read_votes
from assay.decisions.voting_rules import (
    alternative_vote_order,
    borda_order,
    borda_scores,
    coverage_order,
    find_factions,
    group_tops_order,
    phragmen_order,
    plurality_order,
)

__all__ = [
    "ArenaWorld", "Ballots", "Battles", "Budget", "Category", "Committee", "Leaderboard", "Lottery", "Round",
    "StabilityBand", "Strengths", "Users", "WeightedProfile", "alternative_vote_order", "ballots_of",
    "battle_categories", "battle_users", "best_committee", "bootstrap_stability", "borda_order", "borda_scores",
    "bradley_terry", "checkpoint_factor", "committee_rank", "comparison_groups", "comparison_law", "coverage_order",
    "exact_lottery", "expected_kendall", "find_factions", "group_tops_order", "hidden_coalition", "lottery_value",
    "mallows_mixture", "mallows_sample", "merge_clones",
    "orders_of_scores", "pairwise_wins", "paper_schedule", "phragmen_order",
    "plurality_order", "positions_of", "random_centres", "rank_checkpoints", "rank_monotone", "ranking_of",
    "read_arena_world", "read_votes", "select_committee", "simulated_users", "sixty_forty", "solid_shortfall",
    "stability_curve", "stability_ratio", "stable_lottery", "support_of_prefixes", "theoretical_factor",
    "twin_profiles", "wins_of",
]  # fmt: skip
