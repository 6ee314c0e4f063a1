"""Ballots of PrefLib's files of strict orders, `.soc` and `.soi` (Mattei & Walsh, preflib.org)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from assay.data import InputError
from assay.decisions.ballots import Ballots, ballots_of

__all__ = ["read_preflib"]

NAME = re.compile(r"#\s*ALTERNATIVE NAME\s+(\d+)\s*:\s*(.*)", re.I)
NUMBER = re.compile(r"#\s*NUMBER ALTERNATIVES\s*:\s*(\d+)\s*", re.I)
ORDER = re.compile(r"(\d+)\s*:\s*(\S.*)")


def read_preflib(path: Path, *, most_models: int, most_votes: int) -> Ballots:
    """Ballots of a `.soc` or `.soi` file: lines `count: 3,1,2` below a header of `# ALTERNATIVE NAME i: …`.

    Raises:
        InputError: one sentence that names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path.name}: is not UTF-8 text; expected PrefLib’s orders.") from None
    names: dict[int, str] = {}
    declared, rows, counts = 0, [], []
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("#") or not text:
            if found := NAME.fullmatch(text):
                names[int(found[1])] = found[2].strip() or found[1]
            elif found := NUMBER.fullmatch(text):
                declared = int(found[1])
            continue
        rows.append((number, order_of(path.name, number, text)))
        counts.append(int(text.partition(":")[0]))
    if not rows:
        raise InputError(f"{path.name}: has no orders; expected lines such as 12: 3,1,2.")
    m = declared or len(names) or max(max(own) for _, own in rows)
    if not 2 <= m <= most_models:
        raise InputError(f"{path.name}: holds {m} alternatives; expected 2 to {most_models}.")
    if sum(counts) > most_votes:
        raise InputError(f"{path.name}: holds {sum(counts):,} votes; expected at most {most_votes:,}.")
    models = tuple(names.get(i + 1, str(i + 1)) for i in range(m))
    if len(set(models)) < m:
        twice = next(name for name in models if models.count(name) > 1)
        raise InputError(f"{path.name}: two alternatives are called {twice}; expected different names.")
    orders = np.full((len(rows), m), -1, np.int64)
    for i, (number, own) in enumerate(rows):
        if max(own) > m or min(own) < 1:
            strange = max(own) if max(own) > m else min(own)
            raise InputError(f"{path.name}: line {number} names alternative {strange}; expected 1 to {m}.")
        if len(set(own)) < len(own):
            twice = next(a for a in own if own.count(a) > 1)
            raise InputError(f"{path.name}: line {number} ranks {models[twice - 1]} twice; expected each at most once.")
        if path.suffix.lower() == ".soc" and len(own) < m:
            raise InputError(
                f"{path.name}: line {number} ranks {len(own)} of {m} alternatives; expected all in a .soc file."
            )
        orders[i, : len(own)] = np.array(own) - 1
    every = np.repeat(orders, counts, axis=0)
    short = float((every[:, -1] < 0).mean()) if len(every) else 0.0
    if not len(every):
        raise InputError(f"{path.name}: every order has the count 0; expected votes.")
    notes = (f"{100 * short:.0f} % of ballots rank only some models; the others are tied below, and support nothing.",)
    return ballots_of(models, every, notes=notes if short else ())


def order_of(file: str, number: int, text: str) -> list[int]:
    """The alternatives of a line, best first."""
    found = ORDER.fullmatch(text)
    if found is None:
        raise InputError(f"{file}: line {number} is {text[:40]!r}; expected a count and an order, such as 12: 3,1,2.")
    if "{" in found[2]:
        raise InputError(f"{file}: line {number} holds a tie in braces; expected strict orders.")
    entries = [entry.strip() for entry in found[2].rstrip(",").split(",")]
    if not all(entry.isdigit() for entry in entries):
        strange = next(entry for entry in entries if not entry.isdigit())
        raise InputError(f"{file}: line {number} holds {strange[:20]!r}; expected numbers of alternatives.")
    return [int(entry) for entry in entries]
