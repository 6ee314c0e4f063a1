"""What the views share: figures as plain dicts, factions in colours, and words for shares."""

from __future__ import annotations

import numpy as np

from assay.decisions import Ballots

COLOURS = 8


def percent(share: float) -> str:
    """A share in words: `34 %`, `0.4 %`."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def short(name: str, length: int = 22) -> str:
    """A name that fits beside an axis."""
    return name if len(name) <= length else name[: length - 1] + "…"


def colour_groups(ballots: Ballots) -> list[tuple[str, np.ndarray]]:
    """Names and masks of the factions that get a colour each, the largest first; beyond eight the rest share one."""
    counts = np.bincount(ballots.faction, minlength=len(ballots.factions))
    order = [g for g in np.argsort(-counts, kind="stable") if counts[g]]
    kept = order if len(order) <= COLOURS else order[: COLOURS - 1]
    found = [(short(ballots.factions[g], 28), ballots.faction == g) for g in kept]
    if len(order) > len(kept):
        rest = np.isin(ballots.faction, order[len(kept) :])
        found.append((f"{len(order) - len(kept)} other factions", rest))
    return found


def whose(ballots: Ballots) -> str:
    """Whose preferences these are, in words."""
    return f"{len(ballots):,} {'simulated users' if ballots.simulated else 'users'}"
