"""Leaderboards whose every prefix a sizeable group can live with: Algorithms 2 and 3 of the paper.

Source: Haghtalab et al. (arXiv 2606.02547), section 4: Algorithm 2 and Theorem 4.1 (committees at geometric sizes),
Algorithm 3 (one model a round).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from assay.decisions.committees import Budget, Committee, Users, fill, select_committee

__all__ = ["Leaderboard", "checkpoint_factor", "rank_checkpoints", "rank_monotone"]


@dataclass(frozen=True, eq=False)
class Leaderboard:
    """A leaderboard that a pluralistic method built.

    Attributes:
        ranking: (m,) int16 models, best first.
        committees: those that it was put together from, in order; one for Algorithm 3.
        chosen: how many places at the top the rounds chose before hardly anybody was unsatisfied (`Budget.rest`).
    """

    ranking: np.ndarray
    committees: tuple[Committee, ...]
    chosen: int


def checkpoint_factor(lam: float) -> float:
    """λ²/(λ − 1): what Theorem 4.1 loses from committees to prefixes, 4 at best, at λ = 2.

    Raises:
        ValueError: λ of 1 or less.
    """
    if lam <= 1:
        raise ValueError(f"lam: got {lam:g}; expected more than 1.")
    return lam**2 / (lam - 1)


def rank_checkpoints(users: Users, lam: float, eps: float, budget: Budget | None = None) -> Leaderboard:
    """Algorithm 2: committees of sizes ⌊λ^(r−1)⌋, r = 1 … ⌈log_λ m⌉, one below the other, new members only.

    Members of a committee come in the order in which its rounds chose them. A size that comes again (for a λ below 2)
    is taken once. Models that no committee holds come last, as Algorithm 1 fills seats.

    Args:
        users: who is asked.
        lam: λ, above 1.
        eps: ε of Algorithm 1.
        budget: as for `select_committee`.
    """
    checkpoint_factor(lam)
    last = math.ceil(math.log(users.models) / math.log(lam) - 1e-12)
    sizes = sorted({min(users.models, int(lam ** (r - 1) + 1e-9)) for r in range(1, last + 1)})
    order: dict[int, None] = {}
    committees, chosen = [], 0
    for size in sizes:
        committee = select_committee(users, size, eps, budget=budget)
        committees.append(committee)
        order |= dict.fromkeys(committee.members)
        chosen = len(order) if committee.rest == 0 else chosen
    return whole(users, list(order), tuple(committees), chosen, budget)


def rank_monotone(users: Users, eps: float, budget: Budget | None = None) -> Leaderboard:
    """Algorithm 3: Algorithm 1 once with one seat a round, k_t = 1 and T = m; the order in which models were added.

    Args:
        users: who is asked.
        eps: ε of Algorithm 1.
        budget: as for `select_committee`.
    """
    committee = select_committee(users, users.models, eps, (1,) * users.models, budget)
    chosen = len(committee.members) - committee.rest
    return whole(users, list(committee.members), (committee,), chosen, budget)


def whole(
    users: Users, order: list[int], committees: tuple[Committee, ...], chosen: int, budget: Budget | None
) -> Leaderboard:
    missing = users.models - len(order)
    if missing:
        order = order + fill(users, order, missing, (budget or Budget()).eval_users)
    return Leaderboard(np.array(order, np.int16), committees, chosen)
