"""Named quantities: every number of a run that a report shows, with how it may differ when it is made again.

A quantity is *exact* (equal or not), *numeric* (arithmetic that another machine rounds otherwise: within
`atol + rtol·|value|`), *statistical* (it rests on random draws: within its interval) or *timing* (never compared).
Tables give a quantity a cell while they are short and a list a column above that; long arrays give a digest, which is
bound to one numeric environment, and a sample of entries, which is not.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from workbench.claims import Judgement, Verdict
from workbench.comparison import FLOOR, NUMERIC, UNREPEATED, key_columns
from workbench.controls import ControlError
from workbench.results import Column, Kind, Result, Table
from workbench.snapshot import Snapshot

__all__ = ["Quantity", "QuantityKind", "array_quantities", "plain_value", "quantities_of", "text_quantity"]

QuantityKind = Literal["exact", "numeric", "statistical", "timing"]

CELLS = 64
"""Rows of a table up to which each cell is a quantity of its own."""
LISTED = 2_000
"""Rows up to which a column is kept whole."""
ENTRIES = 64
"""Entries up to which an array is kept whole, and how many are kept of a longer one."""
DECISIVE = 1e-3
"""Share of the bound that a claim is judged by, below which a difference of an exact value means nothing."""
CONFIDENCE = 0.99
"""Of the interval that another run of a statistical quantity lies in."""
SLOWED = 1.37
"""What durations are multiplied with, at least, to see what shows them."""
GOLDEN = 0.6180339887498949


@dataclass(frozen=True)
class Quantity:
    """A named number, text, or list of them.

    Attributes:
        name: unique in a report, such as `sweep/runs/accuracy[beta=0.5,seed=0]` or `claim/3a/estimate`.
        value: a number, text, yes or no, None, or a list of these.
        unit: of the value.
        kind: how it is compared.
        rtol, atol: tolerance of a numeric one.
        interval: where a statistical one may lie; None where its spread is not known.
    """

    name: str
    value: Any
    unit: str = ""
    kind: QuantityKind = "numeric"
    rtol: float = 0.0
    atol: float = 0.0
    interval: tuple[float, float] | None = None

    @property
    def of_bytes(self) -> bool:
        """It is a digest, which another numeric environment need not give again."""
        return self.name.endswith("/digest")


def plain_value(value: Any) -> Any:
    """Numbers, text and lists as Python holds them; what is neither becomes text."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain_value(entry) for entry in (value.tolist() if isinstance(value, np.ndarray) else value)]
    return str(value)


def quantities_of(snapshot: Snapshot, results: Mapping[str, Result]) -> list[Quantity]:
    """Every quantity of a study under a setting.

    Args:
        snapshot: the study with what is set.
        results: from experiment to its complete result.

    Returns:
        results first, then claims, then views; names are unique.
    """
    snapshot = snapshot.with_results(results)
    slowed = snapshot.with_results({name: without_clock(result) for name, result in results.items()})
    found = [q for name, result in results.items() for q in result_quantities(name, result)]
    for id in snapshot.study.claims:
        found += timeless(f"claim:{id}", snapshot, slowed)
    for view in snapshot.study.views:
        found += timeless(view, snapshot, slowed)
    return numbered(found)


def numbered(quantities: Sequence[Quantity]) -> list[Quantity]:
    """Quantities whose names are unique: the second of a name gets `#2`."""
    seen: dict[str, int] = {}
    found = []
    for one in quantities:
        seen[one.name] = count = seen.get(one.name, 0) + 1
        found.append(one if count == 1 else replace(one, name=f"{one.name}#{count}"))
    return found


# what the clock shows in


def without_clock(result: Result) -> Result:
    """The result as if its durations and notes had been others."""
    tables = {}
    for name, table in result.tables.items():
        moved = [n for n, c in table.columns.items() if c.kind in (Kind.TIMING, Kind.NOTE)]
        rows = table.rows()
        for i, row in enumerate(rows):
            for j, column in enumerate(moved):
                value = row[column]
                uneven = SLOWED * (
                    1 + (i + 1) * (j + 1) * GOLDEN % 1
                )  # else a ratio of two durations would stand still
                row[column] = f"{value}." if isinstance(value, str) else value * uneven
        tables[name] = Table(table.columns, rows) if moved else table
    return replace(result, tables=tables)


def timeless(member: str, snapshot: Snapshot, slowed: Snapshot) -> list[Quantity]:
    """Quantities of a view or a claim; those that change with the clock alone are *timing*, and so is the verdict of a
    claim whose numbers do."""
    found = member_quantities(member, snapshot)
    if not reaches(member, snapshot, Kind.TIMING, Kind.NOTE):
        return found
    other = {one.name: one.value for one in member_quantities(member, slowed)}

    def moved(one: Quantity) -> bool:
        return one.name not in other or repr(other[one.name]) != repr(one.value)

    clocked = member.startswith("claim:") and any(moved(one) for one in found if isinstance(one.value, float))
    return [replace(one, kind="timing", interval=None) if clocked or moved(one) else one for one in found]


def reaches(member: str, snapshot: Snapshot, *kinds: Kind) -> bool:
    """A member rests on a result with columns of these kinds."""
    results = [snapshot.results[e] for e in snapshot.study.reached_experiments(member) if e in snapshot.results]
    return any(c.kind in kinds for result in results for t in result.tables.values() for c in t.columns.values())


def member_quantities(member: str, snapshot: Snapshot) -> list[Quantity]:
    kind = "statistical" if reaches(member, snapshot, Kind.STATISTICAL) else "numeric"
    if member.startswith("claim:"):
        return list(claim_quantities(judged(snapshot, member.removeprefix("claim:")), kind))
    from workbench.report.view_quantities import shown_quantities

    try:
        return shown_quantities(f"view/{member}", snapshot.show(member), kind)
    except ControlError as error:
        return [text_quantity(f"view/{member}/refused", str(error))]


def judged(snapshot: Snapshot, id: str) -> Judgement:
    try:
        return snapshot.judge(id)
    except ValueError as error:
        return Judgement(snapshot.study.claims[id], Verdict.NOT_JUDGED, why=str(error))


# results


def result_quantities(experiment: str, result: Result) -> Iterator[Quantity]:
    """The tables, arrays and files of an experiment."""
    yield Quantity(f"{experiment}/digest", result.digest, kind="exact")
    for name, table in result.tables.items():
        yield from table_quantities(f"{experiment}/{name}", table)
    for name, array in result.arrays.items():
        yield from array_quantities(f"{experiment}/array/{name}", array)
    for name, path in result.files.items():
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        yield Quantity(f"{experiment}/file/{name}/digest", sha256, kind="exact")


@dataclass
class Rows:
    """The rows of a table with the columns that tell them apart.

    Attributes:
        rows: as mappings.
        keys: names of those columns.
        groups: rows that differ in their seed alone, by the values of the other keys.
    """

    rows: list[dict[str, Any]]
    keys: list[str]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.rows:
            self.groups.setdefault(self.group(row), []).append(row)

    def group(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.keys if name != "seed")

    def label(self, row: Mapping[str, Any]) -> str:
        """The row in the name of a quantity."""
        return ",".join(f"{name}={row[name]}" for name in self.keys)

    def interval(self, column: str, row: Mapping[str, Any]) -> tuple[float, float] | None:
        """Where the value of a row lies when other random numbers are drawn, by the spread over seeds."""
        value = float(row[column])
        if math.isnan(value):
            return None
        values = np.array([float(other[column]) for other in self.groups[self.group(row)]])
        middle, half = spread(values[~np.isnan(values)], single=True)
        return min(value, middle - half), max(value, middle + half)


def spread(values: np.ndarray, *, single: bool) -> tuple[float, float]:
    """Mean of values (n,) and half of the interval that another value, or another mean of n, lies in."""
    middle, n = float(values.mean()), len(values)
    size = float(np.abs(values).max())
    if n < 2:
        return middle, UNREPEATED * size
    from scipy.special import stdtrit

    factor = math.sqrt(1 + 1 / n) if single else math.sqrt(2 / n)
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * float(values.std(ddof=1)) * factor
    return middle, max(half, NUMERIC * size)


def table_quantities(name: str, table: Table) -> Iterator[Quantity]:
    """The cells of a short table, the columns of a longer one."""
    known = Rows(table.rows(), key_columns(table, table))
    yield Quantity(f"{name}/rows", len(table), kind="exact")
    for column, facts in table.columns.items():
        if facts.kind is Kind.NOTE:
            continue
        label = f"{name}/{column}"
        if len(table) > CELLS:
            yield from column_quantities(label, facts, [row[column] for row in known.rows])
            continue
        if facts.kind is Kind.EXACT and column in known.keys:
            continue  # it is in every name
        largest = largest_of([row[column] for row in known.rows])
        for count, row in enumerate(known.rows):
            at = f"[{known.label(row)}]" if known.keys else f"[{count}]"
            cell = Quantity(f"{label}{at}", row[column], facts.unit, quantity_kind(facts))
            if cell.kind == "numeric":
                cell = replace(cell, rtol=NUMERIC, atol=FLOOR * largest)
            elif cell.kind == "statistical" and facts.dtype != "str":
                cell = replace(cell, interval=known.interval(column, row))
            yield cell


def quantity_kind(facts: Column) -> QuantityKind:
    """How the values of a column are compared; text that is computed is equal or not."""
    if facts.kind is Kind.NUMERIC and facts.dtype in ("str", "bool"):
        return "exact"
    return facts.kind.value  # pyright: ignore[reportReturnType]  # notes are left out before


def column_quantities(name: str, facts: Column, values: list[Any]) -> Iterator[Quantity]:
    """A long column: whole, or as digest and sample; of a statistical one its mean with its spread too."""
    kind = quantity_kind(facts)
    if facts.dtype == "str" or kind == "exact":
        if len(values) <= LISTED:
            yield Quantity(name, values, facts.unit, kind)
        else:
            yield Quantity(f"{name}/values", hashlib.sha256(repr(values).encode()).hexdigest(), kind=kind)
        return
    array = np.asarray(values, dtype=float)
    known = array[~np.isnan(array)]
    if kind == "statistical" and len(known):
        middle, half = spread(known, single=False)
        yield Quantity(f"{name}/mean", middle, facts.unit, kind, interval=(middle - half, middle + half))
    yield from array_quantities(name, array, facts.unit, kind, whole=LISTED, floor=FLOOR)


def largest_of(values: Sequence[Any]) -> float:
    numbers = (abs(v) for v in values if isinstance(v, (int, float)) and math.isfinite(v))
    return float(max(numbers, default=0.0))


def array_quantities(
    name: str, array: np.ndarray, unit: str = "", kind: QuantityKind = "numeric", *, whole: int = ENTRIES,
    floor: float = NUMERIC,
) -> Iterator[Quantity]:  # fmt: skip
    """An array: whole when it is short, else its shape, its digest, and evenly spaced entries with first and last.

    Args:
        name: of the array.
        array: of numbers, any shape.
        unit, kind: of its entries.
        whole: how many entries are few.
        floor: tolerance of entries near 0, relative to the largest one.
    """
    array = np.asarray(array)
    if array.dtype.kind == "c":
        array = np.stack([np.real(array), np.imag(array)], axis=-1)
    if array.dtype.kind not in "fiub":
        yield Quantity(f"{name}/digest", hashlib.sha256(repr(array.tolist()).encode()).hexdigest(), kind="exact")
        return
    flat = array.reshape(-1)
    wide = flat.astype(np.float64)
    finite = np.abs(wide[np.isfinite(wide)])
    if kind == "numeric" and array.dtype.kind in "iub":
        kind = "exact"
    how: dict[str, Any] = {"unit": unit, "kind": kind}
    if kind == "numeric":
        how |= {"rtol": NUMERIC, "atol": floor * float(finite.max(initial=0.0))}
    if array.ndim != 1 or flat.size > whole:
        yield Quantity(f"{name}/shape", list(array.shape), kind="timing" if kind == "timing" else "exact")
    if flat.size <= whole:
        yield Quantity(name, flat.tolist(), **how)
        return
    digest = hashlib.sha256(f"{array.dtype.str}\0{array.shape}\0".encode() + np.ascontiguousarray(array).tobytes())
    yield Quantity(f"{name}/digest", digest.hexdigest(), kind="timing" if kind == "timing" else "exact")
    at = np.unique(np.linspace(0, flat.size - 1, ENTRIES).round().astype(int))
    yield Quantity(f"{name}/sample", flat[at].tolist(), **how)


# claims and words


def text_quantity(name: str, text: str, kind: QuantityKind = "numeric") -> Quantity:
    """A text whose words are compared exactly and whose numbers as they are printed."""
    return Quantity(name, text, kind=kind, rtol=NUMERIC if kind == "numeric" else 0.0)


def claim_quantities(judgement: Judgement, kind: QuantityKind) -> Iterator[Quantity]:
    """What is known of a claim; `kind` is that of numbers in its note."""
    name, evidence = f"claim/{judgement.claim.id}", judgement.evidence
    unit = judgement.claim.expects.unit if judgement.claim.expects else ""
    yield Quantity(f"{name}/verdict", str(judgement.verdict), kind="exact")
    if evidence is None:
        if judgement.why:
            yield text_quantity(f"{name}/note", judgement.why, kind)
        return
    (low, high), estimate = evidence.interval, evidence.estimate
    yield Quantity(f"{name}/n", evidence.n, evidence.over, "exact")
    if evidence.over == "exact":
        yield Quantity(f"{name}/estimate", estimate, unit, "numeric", NUMERIC, DECISIVE * bound_of(judgement))
    else:
        wide = high - low
        slack = NUMERIC * max(abs(low), abs(high)) if wide == 0 else 0.0
        yield Quantity(f"{name}/estimate", estimate, unit, "statistical", interval=(low - slack, high + slack))
        for end, value in (("low", low), ("high", high)):
            around = (value - wide - slack, value + wide + slack)
            yield Quantity(f"{name}/{end}", value, unit, "statistical", interval=around)
    if evidence.note:
        yield text_quantity(f"{name}/note", evidence.note, kind if evidence.over == "exact" else "statistical")


def bound_of(judgement: Judgement) -> float:
    """The largest finite bound that a claim's value is held against; 0 where there is none but 0."""
    expects = judgement.claim.expects
    bounds = (expects.low, expects.high) if expects else ()
    return max((abs(b) for b in bounds if math.isfinite(b)), default=0.0)
