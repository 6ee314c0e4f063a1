"""Results: the tables, arrays and files that an experiment gives, and their digest.

Every column says what kind of number it holds, and everything that compares results follows the kind: *exact* values
and *numeric* ones (floating-point arithmetic), *statistical* ones (they depend on random draws), *timing* and *note*,
which no digest sees.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Column", "Kind", "Result", "Table", "exact", "note", "numeric", "statistical", "timing"]

DTYPES = {"float": np.dtype("float64"), "int": np.dtype("int64"), "bool": np.dtype("bool"), "str": np.dtype("O")}


class Kind(StrEnum):
    """How a column's values are compared."""

    EXACT = "exact"
    NUMERIC = "numeric"
    STATISTICAL = "statistical"
    TIMING = "timing"
    NOTE = "note"


@dataclass(frozen=True)
class Column:
    """What a column of a table holds: kind, dtype (`float`, `int`, `bool` or `str`), unit and one line of doc."""

    kind: Kind
    dtype: str = "float"
    unit: str = ""
    doc: str = ""

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype: got {self.dtype!r}; expected one of {', '.join(DTYPES)}.")


def exact(dtype: str = "float", unit: str = "", doc: str = "") -> Column:
    """A value that is the same on every machine: a control, a count, a name."""
    return Column(Kind.EXACT, dtype, unit, doc)


def numeric(unit: str = "", doc: str = "", dtype: str = "float") -> Column:
    """A value of deterministic floating-point arithmetic; another machine may round it otherwise."""
    return Column(Kind.NUMERIC, dtype, unit, doc)


def statistical(unit: str = "", doc: str = "", dtype: str = "float") -> Column:
    """A value that depends on random draws, such as an accuracy after training."""
    return Column(Kind.STATISTICAL, dtype, unit, doc)


def timing(unit: str = "s", doc: str = "") -> Column:
    """A duration or a speed: never compared."""
    return Column(Kind.TIMING, "float", unit, doc)


def note(doc: str = "") -> Column:
    """Text for people: never compared."""
    return Column(Kind.NOTE, "str", "", doc)


def cell(name: str, column: Column, value: Any) -> Any:
    """A value as its column holds it.

    Raises:
        ValueError: a value that the column's dtype does not take, or an infinite one.
    """
    if column.dtype == "str":
        return str(value)
    if value is None and column.dtype == "float":
        return math.nan
    if column.dtype == "bool":
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name}: got {value!r}; expected a bool.")
        return bool(value)
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name}: got {value!r}; expected a number ({column.dtype}).")
    if column.dtype == "int":
        if int(value) != value:
            raise ValueError(f"{name}: got {value!r}; expected a whole number.")
        return int(value)
    if math.isinf(float(value)):
        raise ValueError(f"{name}: got {value!r}; expected a finite number or NaN for a missing one.")
    return float(value)


class Table:
    """Rows under declared columns.

    Args:
        columns: from name to column, in order.
        rows: mappings that hold every column and nothing else.
    """

    def __init__(self, columns: Mapping[str, Column], rows: Iterable[Mapping[str, Any]] = ()) -> None:
        self.columns = dict(columns)
        self._data: dict[str, list[Any]] = {name: [] for name in self.columns}
        for row in rows:
            self.append(row)

    def __len__(self) -> int:
        return len(self._last)

    @property
    def _last(self) -> list[Any]:
        """The column that is filled last: a row is there once this column has it, whoever reads meanwhile."""
        return next(reversed(self._data.values()), [])

    def _filled(self) -> list[list[Any]]:
        n = len(self)
        return [values[:n] for values in self._data.values()]

    def append(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Add a row; other threads may read the table meanwhile.

        Returns:
            the row as its columns hold it.

        Raises:
            ValueError: a column is missing, unknown, or holds what it cannot.
        """
        if row.keys() != self.columns.keys():
            missing, extra = self.columns.keys() - row.keys(), row.keys() - self.columns.keys()
            said = "; ".join(
                f"{what} {', '.join(sorted(names))}"
                for what, names in (("missing", missing), ("unknown", extra))
                if names
            )
            raise ValueError(f"row: {said}; expected the columns {', '.join(self.columns)}.")
        cells = {name: cell(name, column, row[name]) for name, column in self.columns.items()}
        for name, value in cells.items():
            self._data[name].append(value)
        return cells

    def rows(self) -> list[dict[str, Any]]:
        """The rows as mappings."""
        return [dict(zip(self.columns, values, strict=True)) for values in zip(*self._filled(), strict=True)]

    @property
    def frame(self) -> pd.DataFrame:
        """The table as a data frame of the declared dtypes."""
        filled = zip(self.columns.items(), self._filled(), strict=True)
        return pd.DataFrame({name: pd.Series(values, dtype=DTYPES[c.dtype]) for (name, c), values in filled})

    def as_json(self) -> dict[str, Any]:
        """Columns, kinds, units and rows as plain data; NaN becomes None."""
        rows = [
            [None if isinstance(v, float) and math.isnan(v) else v for v in values]
            for values in zip(*self._filled(), strict=True)
        ]
        return {
            "columns": list(self.columns),
            "kinds": [str(c.kind) for c in self.columns.values()],
            "dtypes": [c.dtype for c in self.columns.values()],
            "units": [c.unit for c in self.columns.values()],
            "docs": [c.doc for c in self.columns.values()],
            "rows": rows,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Table:
        """The table that `as_json` wrote."""
        columns = {
            name: Column(Kind(kind), dtype, unit, doc)
            for name, kind, dtype, unit, doc in zip(
                data["columns"], data["kinds"], data["dtypes"], data["units"], data["docs"], strict=True
            )
        }
        return cls(columns, (dict(zip(columns, row, strict=True)) for row in data["rows"]))

    def update_digest(self, digest: Any) -> None:
        """Feed the columns that are compared into a hash."""
        for name, column in self.columns.items():
            if column.kind in (Kind.TIMING, Kind.NOTE):
                continue
            digest.update(f"{name}\0{column.kind}\0{column.dtype}\0{len(self)}\0".encode())
            if column.dtype == "str":
                digest.update(json.dumps(self._data[name], ensure_ascii=True).encode())
            else:
                values = np.asarray(self._data[name], dtype=DTYPES[column.dtype])
                if column.dtype == "float":
                    values = np.where(np.isnan(values), np.nan, values + 0.0)
                digest.update(np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).tobytes())


@dataclass
class Result:
    """What an experiment gave so far.

    Attributes:
        tables: from name to table.
        arrays: from name to array, compared as numeric.
        files: from name to path.
        complete: False while the experiment runs or when it was cancelled.
    """

    tables: dict[str, Table] = field(default_factory=dict)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    complete: bool = False

    def __getitem__(self, name: str) -> pd.DataFrame:
        """A table as a data frame."""
        if name not in self.tables:
            raise KeyError(f"no table {name!r}; there are {', '.join(self.tables) or 'none'}.")
        return self.tables[name].frame

    def fits(self, declared: Mapping[str, Mapping[str, Column]]) -> bool:
        """It has the tables that an experiment declares, with their columns; docs may differ."""

        def plain(columns: Mapping[str, Column]) -> dict[str, Column]:
            return {name: replace(column, doc="") for name, column in columns.items()}

        own = {name: plain(table.columns) for name, table in self.tables.items()}
        return own == {name: plain(columns) for name, columns in declared.items()}

    @property
    def digest(self) -> str:
        """SHA-256 over all that is compared: tables without timing and notes, arrays, and files."""
        digest = hashlib.sha256()
        for name, table in sorted(self.tables.items()):
            digest.update(f"table\0{name}\0".encode())
            table.update_digest(digest)
        for name, array in sorted(self.arrays.items()):
            array = np.asarray(array)
            digest.update(f"array\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        for name, path in sorted(self.files.items()):
            digest.update(f"file\0{name}\0".encode())
            digest.update(hashlib.sha256(Path(path).read_bytes()).digest())
        return digest.hexdigest()


def tables_of(returned: Any, declared: Mapping[str, Mapping[str, Column]], streamed: Mapping[str, Table]) -> Result:
    """The result of an experiment from what it returned and what it streamed.

    Raises:
        ValueError: a table that was not declared, declared but never filled, or filled twice.
    """
    result = Result(tables=dict(streamed))
    for name, value in (returned or {}).items():
        if isinstance(value, np.ndarray):
            result.arrays[name] = value
        elif name not in declared:
            raise ValueError(
                f"the experiment returned the table {name!r}; it declares {', '.join(declared) or 'none'}."
            )
        elif len(streamed.get(name, ())) > 0:
            raise ValueError(f"the table {name!r} was both streamed and returned.")
        else:
            rows: Sequence[Mapping[str, Any]]
            rows = value.to_dict("records") if isinstance(value, pd.DataFrame) else value
            result.tables[name] = Table(declared[name], rows)
    for name, columns in declared.items():
        result.tables.setdefault(name, Table(columns))
    result.complete = True
    return result
