"""Several runs beside each other: what they were asked for, what their numbers depend on, and every number.

The first run is what the others are compared with; `comparison` says how two compare.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.comparison import Quantity, Word, compare_records, compare_results, worst_first
from workbench.overlay import LETTERS
from workbench.record import Record
from workbench.results import Result

__all__ = ["Difference", "Number", "compared_numbers", "differences", "headline", "listing", "short", "why_no_numbers"]

ASKED = ("experiment", "device")
"""What `compare_records` tells among the controls and is none."""
NAMED = 2


@dataclass(frozen=True)
class Difference:
    """Something that runs say differently.

    Attributes:
        part: `asked` for the experiment and the device, `controls`, `data`, `code`, `environment` or `packages`.
        name: of the control, package or fact.
        values: one a run, in their order, as text; empty where a run says nothing of it.
    """

    part: str
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Number:
    """A number of several results.

    Attributes:
        worst: how it compares in the run that is furthest from the first.
        at: which run that is.
        values: one a run; None where a run has none, or where it is not the row that differs most in that run.
    """

    worst: Quantity
    at: int
    values: tuple[Any, ...]


def differences(records: Sequence[Record]) -> list[Difference]:
    """What two or more records say differently; in the order of `comparison.compare_records`."""
    found: dict[tuple[str, str], dict[int, tuple[str, str]]] = {}
    for i, other in enumerate(records[1:], 1):
        for change in compare_records(records[0], other):
            found.setdefault((change.part, change.name), {})[i] = change.values
    told = []
    for (part, name), by_run in found.items():
        first = next(iter(by_run.values()))[0]
        values = tuple(by_run[i][1] if i in by_run else first for i in range(len(records)))
        told.append(Difference("asked" if part == "controls" and name in ASKED else part, name, values))
    parts = list(dict.fromkeys(one.part for one in told))
    return sorted(told, key=lambda one: parts.index(one.part))


def compared_numbers(results: Sequence[Result]) -> list[Number]:
    """Every number of two or more results of one experiment, worst first."""
    by_name: dict[tuple[str, tuple[tuple[str, Any], ...]], dict[int, Quantity]] = {}
    for i, other in enumerate(results[1:], 1):
        for quantity in compare_results(results[0], other):
            by_name.setdefault((quantity.name, tuple(quantity.where.items())), {})[i] = quantity
    worst: dict[int, Number] = {}
    for found in by_name.values():
        quantity = worst_first(found.values())[0]
        at = next(i for i, one in found.items() if one is quantity)
        values = (quantity.values[0], *(found[i].values[1] if i in found else None for i in range(1, len(results))))
        worst[id(quantity)] = Number(quantity, at, values)
    return [worst[id(quantity)] for quantity in worst_first([one.worst for one in worst.values()])]


def why_no_numbers(records: Sequence[Record], results: Sequence[Result | None]) -> str:
    """Why the numbers of runs cannot be compared, in one sentence; empty where they can."""
    if len({record.study for record in records}) > 1:
        return "Numbers are compared between runs of one study."
    if len({record.experiment for record in records}) > 1:
        return "Numbers are compared between runs of one experiment."
    without = [
        f"{letter} is {record.state}" if record.state != "done" else f"the result of {letter} cannot be read"
        for letter, record, result in zip(LETTERS, records, results, strict=False)
        if result is None
    ]
    return f"There are no numbers to compare: {listing(without)}." if without else ""


def headline(records: Sequence[Record], found: Sequence[Difference], numbers: Sequence[Number] | None) -> str:
    """How runs differ, in one sentence without a full stop.

    Args:
        records: of the runs.
        found: as `differences` gives them.
        numbers: as `compared_numbers` gives them; None where there are none to compare.
    """
    who = listing(list(LETTERS[: len(records)]))
    if len({record.study for record in records}) > 1:
        return f"{who} are of different studies"
    if len({record.experiment for record in records}) > 1:
        return f"{who} are of different experiments"
    names = [one.name for one in found if one.part == "controls"]
    if names:
        return f"{who} differ in {listing(names) if len(names) <= NAMED else f'{len(names)} controls'}"
    drifting = sum(1 for one in numbers or () if one.worst.word in (Word.DRIFT, Word.MISSING))
    if numbers is None:
        return f"{who} were asked for the same"
    if not drifting:
        same = all(one.worst.word is Word.SAME for one in numbers)
        return f"{who} were asked for the same, and {'every number is equal' if same else 'agree within tolerance'}"
    return f"{who} were asked for the same, and {drifting} number{' differs' if drifting == 1 else 's differ'}"


def listing(names: Sequence[str]) -> str:
    """Names as a sentence lists them: `a`, `a and b`, `a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def short(text: str) -> str:
    """A value as it fits a cell: of a hash its first letters."""
    return re.sub(r"\b([0-9a-f]{12})[0-9a-f]{52}\b", r"\1…", text)
