"""Battles: who won when two models met, and the users who are made of them when nobody cast a whole ballot.

Source of simulated users: Haghtalab et al. (arXiv 2606.02547), experiments on LMArena: one Bradley–Terry order for each
category, and users around it by Mallows' law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assay.data import InputError
from assay.decisions.ballots import Ballots, ballots_of
from assay.decisions.mallows import mallows_mixture
from assay.decisions.model_strengths import bradley_terry, ranking_of

__all__ = ["Battles", "Category", "battle_categories", "battle_users", "simulated_users", "wins_of"]

FEWEST_BATTLES = 30  # of a category
FEWEST_USERS = 30  # with whole orders, before they stand for themselves
SMALL = "small categories"
MOST_PAIRS = 2**27  # users × models²: beyond it nobody looks for users who compared all pairs


@dataclass(frozen=True, eq=False)
class Battles:
    """B meetings of two of m models; made by `assay.decisions.read_votes`. Arrays are read-only.

    Attributes:
        models: names.
        a, b: (B,) the two that met, index into `models`.
        won: (B,) 1 where a won, 0 where b won, ½ for a tie.
        weight: (B,) above 0.
        category: (B,) index into `categories`.
        user: (B,) index into `users`, or None.
        notes: sentences on what was dropped.
    """

    models: tuple[str, ...]
    a: np.ndarray
    b: np.ndarray
    won: np.ndarray
    weight: np.ndarray
    category: np.ndarray
    categories: tuple[str, ...]
    user: np.ndarray | None = None
    users: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.a)

    @property
    def ties(self) -> float:
        """Share of battles without a winner."""
        return float((self.won == 0.5).mean())


def wins_of(battles: Battles, *, ties: str = "half", even: bool = False, only: np.ndarray | None = None) -> np.ndarray:
    """(m, m) how often each model (row) won against each other (column).

    Args:
        battles: what was fought.
        ties: `half` gives each half a win, `drop` leaves them out.
        even: every pair counts as much as any other, however often it met (weights 1/P of the pair).
        only: (B,) mask of the battles to count.

    Raises:
        ValueError: another name for ties.
    """
    if ties not in ("half", "drop"):
        raise ValueError(f"ties: got {ties!r}; expected half or drop.")
    m = len(battles.models)
    kept = np.ones(len(battles), bool) if only is None else np.asarray(only, bool).copy()
    if ties == "drop":
        kept &= battles.won != 0.5
    a, b, won, weight = battles.a[kept], battles.b[kept], battles.won[kept], battles.weight[kept]
    wins = np.zeros((m, m))
    np.add.at(wins, (a, b), weight * won)
    np.add.at(wins, (b, a), weight * (1 - won))
    if even:
        games = wins + wins.T
        wins = np.divide(wins * games[games > 0].mean() if games.any() else wins, games, out=wins, where=games > 0)
    return wins


@dataclass(frozen=True, eq=False)
class Category:
    """Battles of one kind.

    Attributes:
        name: its name. share: of all battles, by weight. theta: (m,) strengths. order: (m,) int16 by them.
    """

    name: str
    share: float
    theta: np.ndarray
    order: np.ndarray


def battle_categories(
    battles: Battles, *, ties: str = "half", even: bool = False, fewest: int = FEWEST_BATTLES, prior: float = 1.0
) -> tuple[tuple[Category, ...], tuple[str, ...]]:
    """Strengths of each category; where few battles say little, they stay near the strengths over all battles.

    Categories of fewer than 30 battles are merged; when all of these together have too few, they join the largest.

    Args:
        battles, ties, even: as for `wins_of`.
        fewest: battles of a category.
        prior: precision of a category's strengths around those over all.

    Returns:
        The categories, largest first, and sentences on what was merged.

    Raises:
        InputError: models that no battles connect, or one that never lost or never won.
    """
    try:
        overall = bradley_terry(wins_of(battles, ties=ties, even=even), names=battles.models).theta
    except ValueError as error:
        raise InputError(f"battles: {str(error).removeprefix('wins: ').removesuffix(', or a prior.')}.") from None
    counts = np.bincount(battles.category, minlength=len(battles.categories))
    own = battles.category.copy()
    names = list(battles.categories)
    notes = ()
    small = np.flatnonzero((counts < fewest) & (counts > 0))
    if small.size and len(names) > 1:
        large = counts >= fewest
        into = (
            len(names) if counts[small].sum() >= fewest or not large.any() else int(np.where(large, counts, 0).argmax())
        )
        names.append(SMALL)
        own[np.isin(own, small)] = into
        notes = (f"{len(small)} categories of fewer than {fewest} battles were merged into {names[into]}.",)
    found = []
    for c in np.unique(own):
        mask = own == c
        theta = bradley_terry(wins_of(battles, ties=ties, even=even, only=mask), prior, centre=overall).theta
        found.append(
            Category(names[c], float(battles.weight[mask].sum() / battles.weight.sum()), theta, ranking_of(theta))
        )
    return tuple(sorted(found, key=lambda one: -one.share)), notes


def battle_users(battles: Battles) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Users whose battles leave one order: each pair of models decided, and no circle.

    Returns:
        Orders (u, m) int16, the category (u,) that most of each one's battles are in, and how many users were
        `whole`, `incomplete` (a pair is missing or tied) and `circular` (all pairs, but a beats b beats c beats a).
    """
    m = len(battles.models)
    told = {"whole": 0, "incomplete": 0, "circular": 0}
    if battles.user is None:
        return np.zeros((0, m), np.int16), np.zeros(0, np.int64), told
    count = len(battles.users)
    lead = np.zeros((count, m, m), np.float32)
    np.add.at(lead, (battles.user, battles.a, battles.b), (battles.won - 0.5) * battles.weight)
    lead = lead - lead.transpose(0, 2, 1)
    decided = (np.sign(lead) != 0).sum((1, 2)) == m * (m - 1)
    beaten = (lead > 0).sum(2)
    whole = decided & (np.sort(beaten, 1) == np.arange(m)).all(1)
    told = {"whole": int(whole.sum()), "incomplete": int((~decided).sum()), "circular": int((decided & ~whole).sum())}
    kinds = np.zeros((count, len(battles.categories)), np.int64)
    np.add.at(kinds, (battles.user, battles.category), 1)
    return np.argsort(-beaten[whole], 1).astype(np.int16), kinds[whole].argmax(1), told


def simulated_users(
    battles: Battles, phi: float, n: int, rng: np.random.Generator, *, ties: str = "half", even: bool = False
) -> Ballots:
    """Ballots for battles: those of users who compared all models, or else simulated users.

    Arenas ask a user for one to three comparisons, which leave her order open. Where at least 30 users compared every
    pair without a circle, their orders are taken. Otherwise users are drawn around each category's Bradley–Terry order
    by Mallows' law, as many as the category has battles in proportion.

    Args:
        battles, ties, even: as for `wins_of`.
        phi: dispersion of simulated users, 0 to 1.
        n: how many to simulate.
        rng: where they come from.

    Raises:
        InputError: as `battle_categories`.
    """
    counted = "half a win for both" if ties == "half" else "dropped"
    told = f"{100 * battles.ties:.0f} % of {len(battles):,} battles are ties, {counted}."
    if battles.user is not None and len(battles.users) * len(battles.models) ** 2 <= MOST_PAIRS:
        orders, kinds, users = battle_users(battles)
        if users["whole"] >= FEWEST_USERS:
            said = (
                f"{users['whole']} users compared every pair; {users['incomplete']} others did not, "
                f"{users['circular']} went round in a circle, and they are left out."
            )
            return ballots_of(
                battles.models, orders, faction=kinds, factions=battles.categories, notes=(*battles.notes, told, said)
            )
    found, merged = battle_categories(battles, ties=ties, even=even)
    centres = np.stack([one.order for one in found])
    orders, faction = mallows_mixture(centres, phi, np.array([one.share for one in found]), n, rng)
    note = f"Simulated users: {n:,} drawn around the Bradley–Terry orders of {len(found)} categories at φ = {phi:g}."
    return ballots_of(
        battles.models, orders, faction=faction, factions=tuple(one.name for one in found), simulated=True,
        notes=(*battles.notes, told, *merged, note),
    )  # fmt: skip
