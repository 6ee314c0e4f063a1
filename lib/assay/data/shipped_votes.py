"""Votes by name: sets that come along, and worlds that are made from a recipe."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.data.references import content_sha256
from assay.data.sequences import InputError

__all__ = ["VOTES", "VOTE_LINES", "vote_file", "vote_sample_version"]

VOTES = Path(__file__).parent / "samples" / "votes"
RECIPES = {
    "factions": "Factions of made-up users, each around an order of its own.",
    "sixty-forty": "60 % with one order, 40 % who put its last model first.",
    "twin": "40 % put y on top; on every pair the shares are those of twin-fair.",
    "twin-fair": "Nobody puts y on top; on every pair the shares are those of twin.",
}
FILES = {
    "arena": ("arena.json", "A world shaped as LMArena’s: 12 categories, from kept aggregates; no votes."),
    "arena-expert": ("arena-expert.json", "The same from 605 expert battles in 19 categories."),
    "trust": ("trust.csv", "2,058 personas of a language model rate 18 institutions."),
    "pandalm": ("pandalm.csv", "4,970 verdicts of three people and two models on five models’ answers."),
    "football": ("football.csv", "3,172 matches of 34 football teams since 1990, by decade."),
}
VOTE_LINES = RECIPES | {name: line for name, (_, line) in FILES.items()}


def vote_file(name: str) -> Path | None:
    """The file of a set that comes along; None for a world that is made.

    Raises:
        InputError: no such name.
    """
    if name not in VOTE_LINES:
        raise InputError(f"sample: got {name!r}; expected one of {', '.join(VOTE_LINES)}.")
    return VOTES / FILES[name][0] if name in FILES else None


def vote_sample_version(name: str) -> str:
    """SHA-256 of the file of a set, or of the name of a world whose recipe stands in the code.

    Raises:
        InputError: no such name.
    """
    place = vote_file(name)
    return hashlib.sha256(f"votes {name}".encode()).hexdigest() if place is None else content_sha256(place)
