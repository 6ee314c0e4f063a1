"""Two results, or two records, beside each other: every number by the kind of its column.

Exact values are equal or not. Numeric ones may differ as another machine rounds. Statistical ones are compared as means
over seeds, and may differ by what the seeds of both say that means differ. Timing and notes are never compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from workbench.record import Record
from workbench.results import Column, Kind, Result, Table

__all__ = ["Change", "Quantity", "Word", "compare_records", "compare_results", "worst_first"]

NUMERIC = 1e-5
"""Relative difference that arithmetic in single precision may have between machines."""
FLOOR = 1e-8
"""The same for entries near 0, relative to the largest entry of their column."""
UNREPEATED = 0.05
"""Relative difference of a statistical value that no second seed tells the spread of."""
ROWS = 200
"""Rows of a table above which only the worst of a column is named."""


class Word(StrEnum):
    """How two numbers compare."""

    SAME = "same"
    WITHIN = "within tolerance"
    DRIFT = "drift"
    MISSING = "missing"
    NOT_COMPARABLE = "not comparable"


@dataclass(frozen=True)
class Quantity:
    """A number of two results.

    Attributes:
        name: of its table and column, or of an array or file.
        where: values of the exact columns that say which row it is.
        kind: of its column.
        unit: of its column.
        values: in the one and in the other result; None where it is missing.
        word: how they compare.
        tolerance: largest difference that counts as none; 0 for exact values.
        n: rows that it stands for; of more than 200, the one that differs most.
        drifting: how many of them drift.
    """

    name: str
    where: Mapping[str, Any]
    kind: Kind
    unit: str
    values: tuple[Any, Any]
    word: Word
    tolerance: float = 0.0
    n: int = 1
    drifting: int = 0

    @property
    def difference(self) -> float | None:
        """The other less the one; None where that is no number."""
        a, b = self.values
        plain = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in self.values)
        return float(b) - float(a) if plain and math.isfinite(a) and math.isfinite(b) else None

    @property
    def label(self) -> str:
        """Its name with its row: `accuracy at beta 0.5, seed 1`."""
        row = ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                        for name, value in self.where.items())  # fmt: skip
        return f"{self.name} at {row}" if row else self.name

    def as_json(self) -> dict[str, Any]:
        """The quantity as plain data."""
        return {
            "name": self.name, "where": dict(self.where), "kind": str(self.kind), "unit": self.unit,
            "values": [None if isinstance(v, float) and math.isnan(v) else v for v in self.values],
            "difference": self.difference, "tolerance": self.tolerance, "word": str(self.word), "rows": self.n,
            "drifting": self.drifting,
        }  # fmt: skip


@dataclass(frozen=True)
class Change:
    """Something that two records say differently: of `controls`, `data`, `code`, `environment` or `packages`."""

    part: str
    name: str
    values: tuple[str, str]


# results


def compare_results(a: Result, b: Result) -> list[Quantity]:
    """Every number of two results, tables first, in their order."""
    found: list[Quantity] = []
    for name in dict.fromkeys((*a.tables, *b.tables)):
        if name in a.tables and name in b.tables:
            found += compare_tables(name, a.tables[name], b.tables[name])
        else:
            rows = tuple(len(r.tables[name]) if name in r.tables else None for r in (a, b))
            found.append(Quantity(f"{name}: rows", {}, Kind.EXACT, "", (rows[0], rows[1]), Word.MISSING))
    for name in dict.fromkeys((*a.arrays, *b.arrays)):
        found.append(compare_arrays(name, a.arrays.get(name), b.arrays.get(name)))
    for name in dict.fromkeys((*a.files, *b.files)):
        hashes = tuple(short_hash(r.files[name]) if name in r.files else None for r in (a, b))
        word = Word.MISSING if None in hashes else Word.SAME if hashes[0] == hashes[1] else Word.DRIFT
        found.append(Quantity(f"file {name}", {}, Kind.EXACT, "", (hashes[0], hashes[1]), word))
    return found


def worst_first(quantities: Iterable[Quantity]) -> list[Quantity]:
    """Drift first, the largest beside its tolerance at the top; then what is missing, and what is well."""
    order = [Word.DRIFT, Word.MISSING, Word.NOT_COMPARABLE, Word.WITHIN, Word.SAME]

    def rank(one: Quantity) -> tuple[int, float]:
        beside = math.inf if one.difference is None else abs(one.difference) / (one.tolerance or 1e-300)
        return order.index(one.word), -beside

    return sorted(quantities, key=rank)


def compare_tables(name: str, a: Table, b: Table) -> Iterator[Quantity]:
    """Every compared column of a table that two results have."""
    keys = key_columns(a, b)
    rows = (keyed(a.rows(), keys), keyed(b.rows(), keys))
    lost = len(rows[0].keys() ^ rows[1].keys())
    word = Word.MISSING if lost else Word.SAME
    yield Quantity(f"{name}: rows", {}, Kind.EXACT, "", (len(a), len(b)), word, n=max(len(a), len(b)))
    for column in dict.fromkeys((*a.columns, *b.columns)):
        one, other = a.columns.get(column), b.columns.get(column)
        known = one or other
        assert known is not None
        if known.kind in (Kind.TIMING, Kind.NOTE) or column in (*keys, "seed"):
            continue
        label = f"{name}.{column}"
        if one is None or other is None:
            yield Quantity(label, {}, known.kind, known.unit, (None, None), Word.MISSING)
        elif (one.kind, one.dtype, one.unit) != (other.kind, other.dtype, other.unit):
            said = tuple(f"{c.kind} {c.dtype} {c.unit}".strip() for c in (one, other))
            yield Quantity(label, {}, one.kind, one.unit, (said[0], said[1]), Word.NOT_COMPARABLE)
        elif one.kind is Kind.STATISTICAL and one.dtype != "str":
            yield from told(compare_means(label, column, one, rows, keys))
        else:
            yield from told(compare_rows(label, column, one, rows, keys))


def key_columns(a: Table, b: Table) -> list[str]:
    """The exact columns that tell rows apart: as few of the first ones as do, else all."""
    exact = [name for name, column in a.columns.items() if column == b.columns.get(name) and column.kind is Kind.EXACT]
    for n in range(1, len(exact) + 1):
        if all(is_unique(table, exact[:n]) for table in (a, b)):
            return exact[:n]
    return exact


def is_unique(table: Table, names: Sequence[str]) -> bool:
    rows = [tuple(row[name] for name in names) for row in table.rows()]
    return len(set(rows)) == len(rows)


Rows = dict[tuple[Any, ...], dict[str, Any]]


def keyed(rows: Iterable[dict[str, Any]], keys: Sequence[str]) -> Rows:
    """Rows by the values of their key columns, and by how many such rows were before."""
    found: Rows = {}
    before: dict[tuple[Any, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        before[key] = before.get(key, -1) + 1
        found[*key, before[key]] = row
    return found


def compare_rows(
    label: str, column: str, facts: Column, rows: tuple[Rows, Rows], keys: Sequence[str]
) -> Iterator[Quantity]:
    """An exact or numeric column, row by row where both results have the row."""
    shared = [key for key in rows[0] if key in rows[1]]
    known = [abs(side[key][column]) for side in rows for key in shared if is_number(side[key][column])]
    largest = max(known, default=0.0)
    for key in shared:
        a, b = rows[0][key][column], rows[1][key][column]
        size = max(abs(a), abs(b)) if is_number(a) and is_number(b) else 0.0
        tolerance = NUMERIC * size + FLOOR * largest if facts.kind is Kind.NUMERIC else 0.0
        where = dict(zip(keys, key, strict=False))
        yield Quantity(label, where, facts.kind, facts.unit, (a, b), word_of(a, b, tolerance), tolerance)


def compare_means(
    label: str, column: str, facts: Column, rows: tuple[Rows, Rows], keys: Sequence[str]
) -> Iterator[Quantity]:
    """A statistical column: means over the rows that differ in their seed alone."""
    names = [name for name in keys if name != "seed"]
    groups: tuple[dict[tuple[Any, ...], list[float]], ...] = ({}, {})
    for side, found in zip(rows, groups, strict=True):
        for row in side.values():
            if not math.isnan(row[column]):
                found.setdefault(tuple(row[name] for name in names), []).append(float(row[column]))
    for key in groups[0]:
        if key not in groups[1]:
            continue
        a, b = (np.sort(found[key]) for found in groups)
        tolerance = spread_of_difference(a, b)
        means = (float(a.mean()), float(b.mean()))
        word = word_of(*means, tolerance)
        yield Quantity(label, dict(zip(names, key, strict=True)), facts.kind, facts.unit, means, word, tolerance)


def spread_of_difference(a: np.ndarray, b: np.ndarray) -> float:
    """Half of the 95 % interval of a difference of two means (Welch); a share of them where no seed has a second."""
    size = max(abs(float(a.mean())), abs(float(b.mean())))
    if len(a) < 2 or len(b) < 2:
        return UNREPEATED * size
    from scipy.special import stdtrit

    counts = np.array([len(a), len(b)])
    parts = np.array([a.var(ddof=1), b.var(ddof=1)]) / counts
    total = float(parts.sum())
    if total <= (FLOOR * size) ** 2:  # the seeds agree as far as means are rounded
        return FLOOR * size
    freedom = 1 / ((parts / total) ** 2 / (counts - 1)).sum()
    return float(stdtrit(freedom, 0.975) * math.sqrt(total))


def told(quantities: Iterable[Quantity]) -> Iterable[Quantity]:
    """All of a column, or the worst of it where there are many."""
    found = list(quantities)
    if len(found) <= ROWS:
        return found
    worst = worst_first(found)[0]
    drifting = sum(one.word is Word.DRIFT for one in found)
    return [Quantity(worst.name, worst.where, worst.kind, worst.unit, worst.values, worst.word, worst.tolerance,
                     len(found), drifting)]  # fmt: skip


def compare_arrays(name: str, a: np.ndarray | None, b: np.ndarray | None) -> Quantity:
    """An array, by the entry that differs most."""
    label, unit = f"array {name}", ""
    if a is None or b is None:
        return Quantity(label, {}, Kind.NUMERIC, unit, (None, None), Word.MISSING)
    if a.shape != b.shape or a.dtype != b.dtype:
        said = tuple(f"{array.dtype} {array.shape}" for array in (a, b))
        return Quantity(label, {}, Kind.NUMERIC, unit, (said[0], said[1]), Word.NOT_COMPARABLE)
    if np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
        return Quantity(label, {}, Kind.NUMERIC, unit, (short_hash(a), short_hash(b)), Word.SAME, n=a.size)
    if a.dtype.kind not in "fc":
        drifting = int((a != b).sum())
        hashes = (short_hash(a), short_hash(b))
        return Quantity(label, {}, Kind.EXACT, unit, hashes, Word.DRIFT, 0.0, a.size, drifting)
    gap = np.where(np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
    gap = np.where(np.isnan(gap), np.inf, gap)
    finite = np.abs(np.concatenate([a[np.isfinite(a)], b[np.isfinite(b)]]))
    tolerance = NUMERIC * float(finite.max(initial=0.0))
    at = np.unravel_index(int(gap.argmax()), a.shape)
    word = Word.WITHIN if gap.max() <= tolerance else Word.DRIFT
    where = {"entry": ", ".join(str(int(i)) for i in at)}
    entries = tuple(abs(v) if a.dtype.kind == "c" else v for v in (a[at], b[at]))
    values = (float(entries[0]), float(entries[1]))
    return Quantity(label, where, Kind.NUMERIC, unit, values, word, tolerance, a.size, int((gap > tolerance).sum()))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def word_of(a: Any, b: Any, tolerance: float) -> Word:
    """How two values compare; NaN is equal to NaN."""
    if a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)):
        return Word.SAME
    return Word.WITHIN if is_number(a) and is_number(b) and abs(a - b) <= tolerance else Word.DRIFT


def short_hash(content: np.ndarray | Path) -> str:
    if isinstance(content, np.ndarray):
        return hashlib.sha256(np.ascontiguousarray(content).tobytes()).hexdigest()[:12]
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


# records


def compare_records(a: Record, b: Record) -> list[Change]:
    """What two records say differently on what was asked for, and on what the numbers depend on."""
    records, facts = (a, b), (a.provenance, b.provenance)
    here = ("python", "platform", "processor", "cores", "cpu", "threads", "thread_variables", "blas", "kernels")
    parts: dict[str, list[Mapping[str, Any]]] = {
        "controls": [{"experiment": f"{r.study}/{r.experiment}", **r.controls, "device": r.device} for r in records],
        "data": [{one["control"]: f"{one['name']} {one['sha256'][:12]}" for one in f.get("data") or ()} for f in facts],
        "code": [
            {"expectations": r.terms_hash} | {n: r.provenance.get(n, "") for n in ("code", "revision", "version")}
            for r in records
        ],
        "environment": [{n: f[n] for n in ("device", *here) if n in f} for f in facts],
        "packages": [dict(f.get("packages") or {}) | dict(f.get("versions") or {}) for f in facts],
    }
    found = []
    for part, (one, other) in parts.items():
        flat, beside = flattened(one), flattened(other)
        for name in dict.fromkeys(chain(flat, beside)):
            values = (flat.get(name, ""), beside.get(name, ""))
            if values[0] != values[1]:
                found.append(Change(part, name, values))
    return found


def flattened(facts: Mapping[str, Any]) -> dict[str, str]:
    """Nested facts as text, by names with dots."""
    found: dict[str, str] = {}
    for name, value in facts.items():
        if isinstance(value, Mapping):
            found |= {f"{name}.{inner}": text for inner, text in flattened(value).items()}
        else:
            found[name] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return found
