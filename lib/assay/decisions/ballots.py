"""Ballots: what every user of a population prefers, as orders over the same models."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from assay.data import InputError

__all__ = ["Ballots", "ballots_of", "merge_clones", "orders_of_scores", "positions_of"]

MOST_MODELS = 1000
SHOWN = 5  # names of a long list in a sentence


@dataclass(frozen=True, eq=False)
class Ballots:
    """Orders of n users over m models; made by `ballots_of`. Arrays are read-only.

    Attributes:
        models: (m,) names.
        orders: (n, m) int16, the models that a user ranks, best first, and −1 after the last one.
        faction: (n,) int16 index into `factions`: a group that is known, or found; zeros where there is none.
        factions: names of the groups.
        simulated: the users were drawn from a model of them; nobody cast these ballots.
        notes: sentences on what was dropped, broken or drawn, to show beside any result.
    """

    models: tuple[str, ...]
    orders: np.ndarray
    faction: np.ndarray
    factions: tuple[str, ...] = ("all",)
    simulated: bool = False
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.orders)

    @property
    def complete(self) -> bool:
        """Every user ranks every model."""
        return bool((self.orders[:, -1] >= 0).all()) if len(self) else True

    @functools.cached_property
    def positions(self) -> np.ndarray:
        """(n, m) int16, as `positions_of` gives them."""
        return positions_of(self.orders)

    def take(self, which: ArrayLike) -> Ballots:
        """Some of the users, by index or mask; as often as they are named."""
        index = np.asarray(which)
        return replace(self, orders=sealed(self.orders[index]), faction=sealed(self.faction[index]))

    def halves(self, rng: np.random.Generator) -> tuple[Ballots, Ballots]:
        """Users who build a leaderboard, and the others, who judge it; a user is in one of them.

        Raises:
            InputError: fewer than four users.
        """
        if len(self) < 4:
            raise InputError(f"users: got {len(self)}; expected at least 4, two to build with and two to judge.")
        mixed = rng.permutation(len(self))
        return self.take(np.sort(mixed[: len(self) // 2])), self.take(np.sort(mixed[len(self) // 2 :]))


def ballots_of(
    models: tuple[str, ...],
    orders: ArrayLike,
    *,
    faction: ArrayLike | None = None,
    factions: tuple[str, ...] = ("all",),
    simulated: bool = False,
    notes: tuple[str, ...] = (),
) -> Ballots:
    """Check and wrap orders.

    Args:
        models: names, at least two, all different.
        orders: (n, m) whole numbers, best first, −1 after the last model that is ranked.
        faction: (n,) index into `factions`.
        factions, simulated, notes: kept as given.

    Raises:
        InputError: one sentence that names the field: a model that is not there, one twice on a ballot, a gap.
    """
    m = len(models)
    if not 2 <= m <= MOST_MODELS or len(set(models)) != m:
        raise InputError(f"models: got {len(set(models))} different names of {m}; expected 2 to {MOST_MODELS:,}.")
    given = np.asarray(orders)
    if given.ndim != 2 or given.shape[1] != m or given.dtype.kind not in "iu" or not len(given):
        raise InputError(f"orders: got {given.dtype} of shape {given.shape}; expected whole numbers (users, {m}).")
    if given.min() < -1 or given.max() >= m:
        raise InputError(f"orders: got the model {given.max() if given.max() >= m else given.min()}; expected 0 to "
                         f"{m - 1}, or −1 after the last.")  # fmt: skip
    ranked = given >= 0
    gap = ~ranked[:, :-1] & ranked[:, 1:]
    if gap.any():
        raise InputError(
            f"orders: user {int(gap.any(1).argmax()) + 1} has a gap; expected −1 after the last model only."
        )
    kept = np.ascontiguousarray(given, np.int16)
    ordered = np.sort(kept, 1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        user = int(twice.any(1).argmax())
        name = models[int(ordered[user, 1:][twice[user]][0])]
        raise InputError(f"orders: user {user + 1} ranks {name} twice; expected every model at most once.")
    group = np.zeros(len(kept), np.int16) if faction is None else np.asarray(faction)
    if group.shape != (len(kept),) or group.dtype.kind not in "iu" or group.min() < 0 or group.max() >= len(factions):
        raise InputError(f"faction: got shape {group.shape}; expected ({len(kept)},) indices of {len(factions)} names.")
    return Ballots(models, sealed(kept.copy() if kept is orders else kept), sealed(group.astype(np.int16)),
                   tuple(factions), simulated, tuple(notes))  # fmt: skip


def positions_of(orders: np.ndarray) -> np.ndarray:
    """Where each model stands in each order.

    Args:
        orders: (n, m) as `Ballots.orders`.

    Returns:
        (n, m) int16 from 0, best; m for every model that is not ranked: they are tied, below all ranked ones.
    """
    n, m = orders.shape
    positions = np.full((n, m + 1), m, np.int16)
    np.put_along_axis(positions, orders.astype(np.intp), np.arange(m, dtype=np.int16)[None], 1)  # −1: the last column
    return np.ascontiguousarray(positions[:, :m])


def orders_of_scores(scores: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Strict orders from scores; ties are broken at random, each user's anew.

    Args:
        scores: (n, m) finite, higher is better.
        rng: breaks ties.

    Returns:
        orders (n, m) int16, and the share of all pairs of models that were tied.
    """
    n, m = scores.shape
    at_random = rng.random((n, m))
    orders = np.lexsort((at_random, -scores), axis=1).astype(np.int16)
    ordered = np.take_along_axis(scores, orders.astype(np.intp), 1)
    starts = np.concatenate([np.ones((n, 1), bool), ordered[:, 1:] != ordered[:, :-1]], 1)
    sizes = np.diff(np.append(np.flatnonzero(starts.ravel()), n * m))
    return orders, float((sizes * (sizes - 1) / 2).sum() / (n * m * (m - 1) / 2))


def merge_clones(ballots: Ballots, share: float) -> Ballots:
    """Models that stand side by side on more than a share of the ballots become one, at the better place of theirs.

    Near-duplicates split the support of those who like them: each may stay below 1/k where one would not.

    Args:
        ballots: complete or not.
        share: from 0 to 1; at 1 nothing is merged. Chains merge whole.
    """
    n, m = ballots.orders.shape
    beside = np.zeros((m, m), np.int64)
    first, second = ballots.orders[:, :-1].ravel(), ballots.orders[:, 1:].ravel()
    both = second >= 0
    np.add.at(beside, (first[both], second[both]), 1)
    _, group = connected_components(beside + beside.T > share * n, directed=False)
    kept = [np.flatnonzero(group == g) for g in np.unique(group)]
    if len(kept) == m or len(kept) < 2:
        return ballots
    names = tuple(" + ".join(ballots.models[a] for a in own) for own in kept)
    best = np.stack([ballots.positions[:, own].min(1) for own in kept], 1)
    orders = np.argsort(best, 1, kind="stable").astype(np.int16)
    orders[np.take_along_axis(best, orders.astype(np.intp), 1) >= m] = -1
    said = "; ".join(name for name, own in zip(names, kept, strict=True) if len(own) > 1)
    note = f"Models side by side on more than {100 * share:.0f} % of ballots are one: {said}."
    return replace(ballots, models=names, orders=sealed(orders), notes=(*ballots.notes, note))


def sealed(array: np.ndarray) -> np.ndarray:
    """The array, read-only."""
    array.flags.writeable = False
    return array


def listed(names: list[str]) -> str:
    """A few names of a list, in words."""
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
