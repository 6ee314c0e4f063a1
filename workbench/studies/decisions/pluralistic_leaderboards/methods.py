"""Every way to build a leaderboard from the same users, under one name each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.decisions import (
    Ballots,
    Budget,
    Committee,
    Users,
    alternative_vote_order,
    borda_order,
    bradley_terry,
    coverage_order,
    group_tops_order,
    pairwise_wins,
    phragmen_order,
    plurality_order,
    rank_checkpoints,
    rank_monotone,
    ranking_of,
    select_committee,
)

METHODS = {
    "bradley-terry": "Bradley–Terry",
    "monotone": "Algorithm 3, one model a round",
    "checkpoints": "Algorithm 2, committees",
    "committee": "Algorithm 1, for this cut",
    "plurality": "Plurality",
    "alternative": "Alternative vote",
    "coverage": "Greedy coverage",
    "phragmen": "Sequential Phragmén",
    "groups": "Factions take turns",
}
SHORT = {
    "bradley-terry": "Bradley–Terry", "monotone": "Algorithm 3", "checkpoints": "Algorithm 2",
    "committee": "Algorithm 1", "plurality": "Plurality", "alternative": "Alternative vote",
    "coverage": "Greedy coverage", "phragmen": "Phragmén", "groups": "Turns",
}  # fmt: skip
PLURAL = ("monotone", "checkpoints", "committee")


@dataclass(frozen=True, eq=False)
class Built:
    """A leaderboard.

    Attributes:
        ranking: (m,) models, best first.
        questions: (u,) to each user who was asked; empty for rules that read whole ballots.
        committees: of Algorithms 1 to 3.
        chosen: places that rounds chose before hardly anybody was unsatisfied; m for other rules.
    """

    ranking: np.ndarray
    questions: np.ndarray
    committees: tuple[Committee, ...]
    chosen: int


def build(
    method: str,
    builders: Ballots,
    rng: np.random.Generator,
    *,
    battle_order: np.ndarray | None = None,
    eps: float = 0.05,
    lam: float = 2.0,
    seats: int = 1,
    budget: Budget | None = None,
) -> Built:
    """A leaderboard by name.

    On whole ballots, where each pair is compared equally often, Bradley–Terry's order is Borda's; on others it is
    fitted to all pairs that a user orders.

    Args:
        method: one of METHODS. builders: whom it is built from. rng: what is drawn.
        battle_order: Bradley–Terry's order of battles, where users are drawn around their categories.
        eps, lam, budget: of Algorithms 1 to 3. seats: of Algorithm 1; the others follow as its seats are filled.
    """
    orders = builders.orders
    m = orders.shape[1]
    if method in PLURAL:
        users = Users(builders.positions, rng)
        if method == "committee":
            committee = select_committee(users, seats, eps, budget=budget)
            counts = users.counts
            rest = [a for a in borda_order(orders).tolist() if a not in committee.members]
            ranking = np.array([*committee.members, *rest], np.int16)
            return Built(ranking, counts, (committee,), seats - committee.rest)
        found = rank_monotone(users, eps, budget) if method == "monotone" else rank_checkpoints(users, lam, eps, budget)
        return Built(found.ranking, users.counts, found.committees, found.chosen)
    if method == "bradley-terry":
        if battle_order is not None:
            ranking = battle_order
        elif builders.complete:
            ranking = borda_order(orders)
        else:
            ranking = ranking_of(bradley_terry(pairwise_wins(orders), 1e-3 * len(orders)).theta)
    elif method == "phragmen":
        ranking = phragmen_order(orders, max(1, m // 4))
    elif method == "groups":
        ranking = group_tops_order(orders, builders.faction)
    else:
        rules = {"plurality": plurality_order, "alternative": alternative_vote_order, "coverage": coverage_order}
        ranking = rules[method](orders)
    return Built(ranking, np.zeros(0, np.int64), (), m)
