"""A committee that no sizeable group can reject: Algorithm 1 of the paper, on users who answer questions.

Source: Haghtalab et al. (arXiv 2606.02547), section 3: Algorithm 1 and Theorem 3.1. A user is *satisfied* by a set when
it does at least as well for her as a share β of the lottery's sets (`committee_rank`), not when it holds her favourite.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtrc

from assay.decisions.lotteries import ORACLE_DRAWS, Lottery, stable_lottery
from assay.kernels.compiled import compiled

__all__ = [
    "Budget", "Committee", "Round", "Users", "committee_rank", "paper_schedule", "select_committee",
    "theoretical_factor",
]  # fmt: skip


RESTS = ("greedy", "again")
FEWEST_JUDGES = 1000  # users who say which model blocks most
TOLD = 20  # users to be expected among those after whom it is decided that hardly anybody is unsatisfied


def theoretical_factor(eps: float) -> float:
    """γ(ε) = 16 (1 + ε)(1 + 8ε)/(1 − 8ε): the guarantee of Algorithm 1 with its slacks of α, β and the lottery.

    It is the sum over rounds Σ_t (β + 2ε)^(t−1) (1 + ε)/((β − 2ε)(1 − α) α^(t−1)) with α = ½ + 4ε and β = ¼ + 2ε:
    estimates are off by at most 2ε, so satisfied users who still prefer a model are at most a share
    (1 + ε)/(k_t (β − 2ε)) of those asked, and the unsatisfied shrink by β + 2ε a round.

    Raises:
        ValueError: ε outside [0, 1/8), where the guarantee ends.
    """
    if not 0 <= eps < 0.125:
        raise ValueError(f"eps: got {eps:g}; expected a number from 0 to below 1/8, where the guarantee ends.")
    return 16 * (1 + eps) * (1 + 8 * eps) / (1 - 8 * eps)


@dataclass(frozen=True)
class Budget:
    """How many questions are asked.

    Attributes:
        rounds: of the lottery's solver, T_MWU. round_users: fresh users in each, n_MWU. draws: sets that its oracle
            chooses from, T_oracle.
        eval_users: users who choose the set of a round, n_eval. rank_draws: sets of a lottery that a user's rank is
            estimated on, L. patience: users who are asked at most for each one who is unsatisfied.
        rest: who gets the seats that are left once hardly anybody is unsatisfied: `greedy`, one after the other the
            model that the largest group prefers to all members so far; `again`, another pass of the rounds, in which
            nobody is satisfied yet and members are no candidates.
    """

    rounds: int = 20
    round_users: int = 50
    draws: int = ORACLE_DRAWS
    eval_users: int = 100
    rank_draws: int = 20
    patience: int = 40
    rest: str = "greedy"


class Users:
    """Users who can be drawn and asked, with a count of the questions to each.

    A user is drawn with replacement from a pool and counts as new each time; comparing two sets S and S' costs
    |S| + |S'| questions, as in the paper.

    Args:
        positions: (n, m) of the pool, as `assay.decisions.positions_of` gives them.
        rng: who is drawn, and what they answer in estimates.
    """

    def __init__(self, positions: np.ndarray, rng: np.random.Generator) -> None:
        if positions.ndim != 2 or len(positions) < 1 or positions.shape[1] < 2:
            raise ValueError(f"positions: got shape {positions.shape}; expected (users, models), two models at least.")
        self.positions = positions
        self.rng = rng
        self.models = positions.shape[1]
        self.questions: list[np.ndarray] = []

    def draw(self, count: int) -> np.ndarray:
        """(count,) fresh users, as rows of the pool."""
        return self.rng.integers(len(self.positions), size=count)

    def asked(self, questions: np.ndarray) -> None:
        """Note how many questions each of some users was asked in all."""
        self.questions.append(np.asarray(questions, np.int64))

    @property
    def counts(self) -> np.ndarray:
        """Questions to each user who was asked any."""
        return np.concatenate(self.questions) if self.questions else np.zeros(0, np.int64)


def committee_rank(positions: np.ndarray, members: np.ndarray, lottery: Lottery) -> np.ndarray:
    """(n,) Rank(i; S, Δ) = Pr_{S' ~ Δ}[S ⪰_i S']: the share of the lottery that a set is at least as good as.

    Args:
        positions: (n, m).
        members: (k,) the set S.
        lottery: Δ.
    """
    rank = np.empty(len(positions))
    _rank(
        np.ascontiguousarray(positions), np.asarray(members, np.int64), lottery.sets.astype(np.int64), lottery.p, rank
    )
    return rank


@compiled
def _rank(positions, members, sets, p, rank):
    for i in range(len(positions)):
        own = positions[i]
        best = own[members[0]]
        for a in members[1:]:
            best = min(best, own[a])
        total = 0.0
        for s in range(len(sets)):
            other = own[sets[s, 0]]
            for j in range(1, sets.shape[1]):
                other = min(other, own[sets[s, j]])
            if best <= other:
                total += p[s]
        rank[i] = total


@dataclass(frozen=True, eq=False)
class Round:
    """One round of Algorithm 1.

    Attributes:
        members: the set that was chosen. added: those that were not in the committee yet, in order.
        lottery: Δ_t of the users who were unsatisfied so far.
        unsatisfied: (n,) probability that each user of the pool, when asked, turns out not to be satisfied by the set.
        found: share of the users drawn who were unsatisfied; 1 in the first round.
    """

    members: np.ndarray
    added: tuple[int, ...]
    lottery: Lottery
    unsatisfied: np.ndarray
    found: float


@dataclass(frozen=True, eq=False)
class Committee:
    """What Algorithm 1 chose.

    Attributes:
        members: models in the order in which they were added.
        trace: its rounds.
        rest: how many of them, at the end, got a seat after hardly anybody was unsatisfied (`Budget.rest`).
    """

    members: tuple[int, ...]
    trace: tuple[Round, ...]
    rest: int = 0


def paper_schedule(k: int, eps: float) -> tuple[int, ...]:
    """Sizes k_t = max(1, ⌊(1 − α) α^(t−1) k⌋) of rounds t = 1 … ⌈10 ln(k/ε)⌉, α = ½ + 4ε."""
    alpha = 0.5 + 4 * eps
    return tuple(max(1, int((1 - alpha) * alpha**t * k)) for t in range(math.ceil(10 * math.log(k / eps))))


def select_committee(
    users: Users, k: int, eps: float, schedule: Sequence[int] | None = None, budget: Budget | None = None
) -> Committee:
    """Algorithm 1: rounds over the users whom no earlier round satisfied, each with a lottery made for them.

    A round finds unsatisfied users by rejection, computes a stable lottery for them, and adds the set of its support
    that leaves the fewest of them unsatisfied. Rounds end when all k seats are taken, or when fewer than one in
    `budget.patience` users is unsatisfied, which is often so after two or three. The paper leaves open who gets the
    seats that are left: see `Budget.rest`.

    Args:
        users: who is asked.
        k: seats, from 1 to the number of models.
        eps: ε; β = ¼ + 2ε, and a user is satisfied at an estimated rank of β − ε.
        schedule: sizes of the rounds; None for the paper's.
        budget: how many users and draws; None for the paper's.

    Raises:
        ValueError: seats or ε out of range, or another `rest`.
    """
    theoretical_factor(eps)
    if not 1 <= k <= users.models:
        raise ValueError(f"k: got {k}; expected 1 to {users.models} seats.")
    asked = budget or Budget()
    if asked.rest not in RESTS:
        raise ValueError(f"rest: got {asked.rest!r}; expected one of {', '.join(RESTS)}.")
    chosen: list[int] = []
    trace: list[Round] = []
    current: list[Round] = []  # of this pass
    first_pass = 0  # models that the first pass chose
    for size in paper_schedule(k, max(eps, 1e-9)) if schedule is None else schedule:
        if len(chosen) == k:
            break
        own = min(size, k - len(chosen))
        found = one_round(users, own, eps, asked, current, chosen if first_pass else [])
        if found is None:
            first_pass = first_pass or len(chosen)
            if asked.rest == "greedy":
                break
            current = []
            found = one_round(users, own, eps, asked, current, chosen)
            assert found is not None, "nobody is satisfied at the start of a pass"
        added = tuple(int(a) for a in dict.fromkeys(found.members.tolist()) if a not in chosen)
        found = replace(found, added=added)
        chosen += added
        trace.append(found)
        current.append(found)
    missing = k - len(chosen)
    first_pass = first_pass or len(chosen)
    if missing:
        chosen += fill(users, chosen, missing, asked.eval_users)
    return Committee(tuple(chosen), tuple(trace), k - first_pass)


def one_round(
    users: Users, size: int, eps: float, budget: Budget, past: Sequence[Round], taken: Sequence[int]
) -> Round | None:
    """A lottery over sets of models that are not taken, for users whom no past round satisfied, and its best set."""
    crowd = Unsatisfied(users, past, budget)
    drawn = crowd.draw(budget.rounds * budget.round_users)
    if drawn is None:
        return None
    free = np.setdiff1d(np.arange(users.models), np.asarray(taken, int))
    positions = users.positions[drawn] if len(free) == users.models else users.positions[np.ix_(drawn, free)]
    found = stable_lottery(
        lambda _: positions, size, users.rng, rounds=budget.rounds, round_users=budget.round_users, draws=budget.draws
    )
    lottery = Lottery(free[found.sets], found.p)
    # each set that the oracle tries costs |S| + 1 questions, the one that it returns |S| + (m − |S|)
    crowd.note((budget.draws * (size + 1) if budget.draws > 1 else 0) + users.models)
    judges = crowd.draw(len(lottery.sets) * budget.eval_users)
    if judges is None:
        return None
    crowd.note(budget.rank_draws * 2 * size)
    masses = []
    for number, own in enumerate(lottery.sets):  # each set has judges of its own
        panel = judges[number * budget.eval_users : (number + 1) * budget.eval_users]
        missed = unsatisfied_by(users.positions[panel], own, lottery, eps, budget.rank_draws)
        masses.append(int((users.rng.random(len(panel)) < missed).sum()))
    members = lottery.sets[int(np.argmin(masses))]
    missed = unsatisfied_by(users.positions, members, lottery, eps, budget.rank_draws)
    return Round(members, (), lottery, missed, crowd.found)


def unsatisfied_by(positions: np.ndarray, members: np.ndarray, lottery: Lottery, eps: float, draws: int) -> np.ndarray:
    """(n,) probability that a user's estimated rank falls short of β − ε = ¼ + ε.

    The estimate is the mean over `draws` sets of the lottery: how many of them the set is at least as good as is
    binomial with the rank itself.
    """
    least = math.ceil((0.25 + eps) * draws - 1e-9)
    rank = np.clip(committee_rank(positions, members, lottery), 0, 1)
    return 1 - bdtrc(least - 1, draws, rank)


class Unsatisfied:
    """Fresh users whom no round so far has satisfied, found by asking users one after the other."""

    def __init__(self, users: Users, past: Sequence[Round], budget: Budget) -> None:
        self.users, self.past, self.budget = users, past, budget
        self.drawn = self.kept = 0
        self.spent = np.zeros(0, np.int64)

    @property
    def found(self) -> float:
        """Share of those who were asked that were unsatisfied."""
        return self.kept / self.drawn if self.drawn else 1.0

    def draw(self, count: int) -> np.ndarray | None:
        """(count,) rows of the pool; None where too few users are unsatisfied."""
        told = TOLD * self.budget.patience
        parts, spent, have, drawn = [], [], 0, 0
        while have < count:
            if drawn >= told and have * self.budget.patience < drawn:
                self.users.asked(np.concatenate(spent))
                return None
            share = max(have / drawn, 1 / self.budget.patience) if drawn else 1.0
            ahead = math.ceil(1.05 * (count - have) / share)
            if self.past and drawn < told:  # first find out whether there are any
                ahead = told - drawn
            rows, chance = self.users.draw(ahead), self.users.rng.random(ahead)
            cost, left = np.zeros(ahead, np.int64), np.ones(ahead)
            for one in self.past:  # a user is asked about the next round while no earlier one satisfied her
                cost[chance < left] += self.budget.rank_draws * (len(one.members) + one.lottery.sets.shape[1])
                left *= one.unsatisfied[rows]
            still = np.flatnonzero(chance < left)
            if have + len(still) > count:  # those who come after the last one that is needed are never asked
                still = still[: count - have]
                ahead = int(still[-1]) + 1
            rejected = np.ones(ahead, bool)
            rejected[still] = False
            self.users.asked(cost[:ahead][rejected])
            parts.append(rows[still])
            spent.append(cost[still])
            have, drawn = have + len(still), drawn + ahead
        self.drawn, self.kept = self.drawn + drawn, self.kept + have
        self.spent = np.concatenate(spent)
        return np.concatenate(parts)

    def note(self, questions: int) -> None:
        """The users who were drawn last are asked so many more questions, and go."""
        self.users.asked(self.spent + questions)


def fill(users: Users, chosen: Sequence[int], count: int, panel: int) -> list[int]:
    """So many more models, each the one that the largest group prefers to all that are in; by mean position then."""
    judges = users.positions[users.draw(max(panel, FEWEST_JUDGES))]
    users.asked(np.full(len(judges), users.models))
    own = np.array([*chosen, *[-1] * count], np.int64)
    _fill(np.ascontiguousarray(judges), judges.mean(0) / (users.models + 1), own, len(chosen))
    return own[len(chosen) :].tolist()


@compiled
def _fill(positions, mean, own, have):
    n, m = positions.shape
    best = np.full(n, m + 1, np.int16)
    taken = np.zeros(m, np.bool_)
    for a in own[:have]:
        taken[a] = True
        for i in range(n):
            best[i] = min(best[i], positions[i, a])
    support = np.empty(m, np.int32)
    for turn in range(have, own.size):
        support[:] = 0
        for i in range(n):
            row, least = positions[i], best[i]
            for a in range(m):
                support[a] += row[a] < least
        chosen, most = -1, -np.inf
        for a in range(m):
            if not taken[a] and support[a] - mean[a] > most:
                chosen, most = a, support[a] - mean[a]
        own[turn], taken[chosen] = chosen, True
        for i in range(n):
            best[i] = min(best[i], positions[i, chosen])
