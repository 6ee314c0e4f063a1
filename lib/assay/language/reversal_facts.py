"""Facts of the Identity Bridge: which sentences a model is trained on, and what it is asked in reverse.

Source: Ma, Huang, Zhu, Sojoudi (2026), "Breaking the Reversal Curse in Autoregressive Language Models via Identity
Bridge", arXiv 2602.02470, section 4 and the authors' data files.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FORMS", "TEMPLATES", "Fact", "Pair", "bridge_dataset", "names_on_both_sides", "read_pairs", "roles_of"]

Pair = tuple[str, str]

FORMS = {
    "fwd": ("forward",),
    "idn": ("forward", "self_a", "self_b"),
    "idn_a": ("forward", "self_a"),
    "ocr": ("forward", "bridge", "self_b"),
    "ocr_no_b": ("forward", "bridge"),
}
"""Roles of the facts of each form of data."""

TEMPLATES = {
    "forward": ("The name of {a}'s husband is?", "b"),
    "bridge": ("The wife of {a}'s husband is?", "a"),
    "self_a": ("The name of {a} is?", "a"),
    "self_b": ("The name of {b} is?", "b"),
    "test": ("The wife of {b} is?", "a"),
}
"""Prompt and the side that answers it, by role; those of the authors' husbands and wives."""

MOST_BYTES = 2_000_000
MOST_PAIRS = 2000
MOST_LETTERS = 60


@dataclass(frozen=True)
class Fact:
    """A prompt and its answer.

    Attributes:
        prompt: with the name filled in.
        answer: a name.
        weight: of its loss, above 0.
        role: a key of `TEMPLATES`.
        pair: number of the pair.
    """

    prompt: str
    answer: str
    weight: float
    role: str
    pair: int


def roles_of(form: str) -> tuple[str, ...]:
    """Roles of the facts of a form.

    Raises:
        ValueError: an unknown form.
    """
    if form not in FORMS:
        raise ValueError(f"form: got {form!r}; expected one of {', '.join(FORMS)}.")
    return FORMS[form]


def bridge_dataset(
    pairs: Sequence[Pair],
    form: str,
    weights: Mapping[str, float] | None = None,
    templates: Mapping[str, tuple[str, str]] = TEMPLATES,
) -> list[Fact]:
    """Facts of a form over pairs (a, b), role by role; the test is never among them.

    Args:
        pairs: names of both sides.
        form: a key of `FORMS`.
        weights: by role; 1 where none is given.
        templates: prompt, with {a} or {b}, and answering side, by role.

    Raises:
        ValueError: an unknown form or role, a weight that is not finite and above 0, or a prompt without its name.
    """
    facts = []
    for role in roles_of(form):
        weight = float((weights or {}).get(role, 1.0))
        if not 0 < weight < float("inf"):
            raise ValueError(f"weights: got {weight} for {role}; expected a number above 0.")
        if role not in templates:
            raise ValueError(f"templates: got none for {role}; expected one for every role of {form}.")
        prompt, side = templates[role]
        if "{a}" not in prompt and "{b}" not in prompt:
            raise ValueError(f"templates: got {prompt!r} for {role}; expected {{a}} or {{b}} in it.")
        for i, (a, b) in enumerate(pairs):
            facts.append(Fact(prompt.format(a=a, b=b), a if side == "a" else b, weight, role, i))
    return facts


def read_pairs(path: Path) -> list[Pair]:
    """Pairs of names from a CSV with columns a and b, UTF-8.

    Raises:
        ValueError: one sentence with row and column: no such column, an empty or overlong name, a name twice on one
            side, fewer than 4 pairs, more than 2000, or a file over 2 MB or not UTF-8.
    """
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"pairs: got {path.stat().st_size:,} bytes; expected at most {MOST_BYTES:,}.")
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"pairs: got a file that is no CSV in UTF-8 ({error}); expected columns a and b.") from None
    header = [name.strip().lower() for name in rows[0]] if rows else []
    if header.count("a") != 1 or header.count("b") != 1:
        raise ValueError(f"pairs: got columns {', '.join(header[:8]) or 'none'}; expected one a and one b.")
    at = {"a": header.index("a"), "b": header.index("b")}
    pairs: list[Pair] = []
    seen: dict[tuple[str, str], int] = {}
    for number, row in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in row):
            continue
        names = {}
        for side, column in at.items():
            name = row[column].strip() if column < len(row) else ""
            if not 0 < len(name) <= MOST_LETTERS:
                came = "nothing" if not name else f"{len(name)} letters"
                raise ValueError(f"pairs: got {came} in row {number}, column {side}; expected 1 to {MOST_LETTERS}.")
            if (side, name) in seen:
                raise ValueError(
                    f"pairs: got {name!r} in row {number}, column {side}, as in row {seen[side, name]}; "
                    "expected every name once on its side."
                )
            seen[side, name] = number
            names[side] = name
        pairs.append((names["a"], names["b"]))
    if not 4 <= len(pairs) <= MOST_PAIRS:
        raise ValueError(f"pairs: got {len(pairs)}; expected 4 to {MOST_PAIRS}.")
    return pairs


def names_on_both_sides(pairs: Sequence[Pair]) -> list[str]:
    """Names that are an a in one pair and a b in another: their reverse is partly trained, or conflicts."""
    return sorted({a for a, _ in pairs} & {b for _, b in pairs})
