"""Every run of a store, as a list that may be asked for again and again.

A thousand runs take MLflow seconds to search. In a database of ours the tables are read as they lie there, and only of
runs that are new or have changed: how a run ended never changes, and what refers to it is a small query of its own. A
tracking server is searched, its newest runs only, and not again for a while.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.record import Record
from workbench.store import PIN, Store, StoreError, UnknownRun
from workbench.store_tracking import record_of_tags

__all__ = ["Listed", "RunListing"]

AT_ONCE = 400  # ids in one query; SQLite takes 999 values
FROM_SERVER = 1000
SERVER_ASKED = 15.0  # seconds between two searches of a tracking server
Mark = tuple[str, int | None]


@dataclass(frozen=True)
class Listed:
    """A run with what refers to it.

    Attributes:
        record: of its provenance, only code and commit.
        pins: what refers to it, as `Store.pin` was told.
    """

    record: Record
    pins: tuple[str, ...] = ()


class RunListing:
    """The runs of a store.

    Args:
        store: whose runs they are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._marks: dict[str, Mark] = {}
        self._records: dict[str, Record] = {}
        self._asked = -SERVER_ASKED
        self._served: list[Listed] = []

    @property
    def version(self) -> tuple[int, ...]:
        """Changes when something was written into the store since; always, where that cannot be known."""
        database = self._store.tracking.database
        if database is None:
            return (int(time.monotonic() / SERVER_ASKED),)
        return tuple(stamp for place in (database, Path(f"{database}-wal")) for stamp in stamps(place))

    def read(self) -> list[Listed]:
        """All runs, newest first.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._lock:
            database = self._store.tracking.database
            return self._search() if database is None else self._tables(database)

    def _search(self) -> list[Listed]:
        if time.monotonic() - self._asked >= SERVER_ASKED:
            self._served = [Listed(record, pins) for record, _, pins in self._store.holdings(FROM_SERVER)]
            self._asked = time.monotonic()
        return self._served

    def _tables(self, database: Path) -> list[Listed]:
        if not database.exists():
            return []
        try:
            with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, timeout=10)) as tables:
                marks = marks_in(tables)
                new = [run for run, mark in marks.items() if mark != self._marks.get(run)]
                records = dict(records_in(tables, new))
                pins = pins_in_tables(tables)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"The store at {self._store.place} cannot be read: {error}.") from error
        self._records = {run: record for run, record in (self._records | records).items() if run in marks}
        self._marks = {run: marks[run] for run in self._records}
        for run, record in list(self._records.items()):
            if not record.state.ended:
                self._look_again(run, record)
        found = [Listed(record, pins.get(run, ())) for run, record in self._records.items()]
        return sorted(found, key=lambda one: one.record.started or 0.0, reverse=True)

    def _look_again(self, run: str, record: Record) -> None:
        """See whether the process of a run that has not ended is still there."""
        try:
            self._records[run] = self._store.get(run)
        except UnknownRun:  # forgotten just now
            self._records.pop(run)
        if self._records.get(run, record).state.ended:
            self._marks.pop(run, None)  # what is written of its end is read the next time


def stamps(place: Path) -> Iterator[int]:
    with suppress(OSError):
        found = place.stat()
        yield from (found.st_mtime_ns, found.st_size)


def marks_in(tables: sqlite3.Connection) -> dict[str, Mark]:
    """From run to what changes when it ends."""
    asked = "SELECT run_uuid, status, end_time FROM runs WHERE lifecycle_stage = 'active'"
    return {run: (status, ended) for run, status, ended in tables.execute(asked)}


def records_in(tables: sqlite3.Connection, runs: Sequence[str]) -> Iterator[tuple[str, Record]]:
    """The records of runs; other people's runs in the same database have no tag of ours."""
    for at in range(0, len(runs), AT_ONCE):
        some = runs[at : at + AT_ONCE]
        tags, params, metrics = (by_run(tables, table, some) for table in ("tags", "params", "latest_metrics"))
        for run in some:
            if "assay" in tags.get(run, {}):
                with suppress(KeyError, ValueError):  # being written just now
                    yield run, record_of_tags(run, tags[run], params.get(run, {}), metrics.get(run, {}))


def pins_in_tables(tables: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    """From run to what refers to it."""
    found: dict[str, tuple[str, ...]] = {}
    after = f"{PIN[:-1]}{chr(ord(PIN[-1]) + 1)}"  # so that the index over names is used
    asked = "SELECT run_uuid, value FROM tags WHERE key >= ? AND key < ? ORDER BY value"
    for run, text in tables.execute(asked, (PIN, after)):
        found[run] = (*found.get(run, ()), text)
    return found


def by_run(tables: sqlite3.Connection, table: str, runs: Sequence[str]) -> dict[str, dict[str, Any]]:
    asked = f"SELECT run_uuid, key, value FROM {table} WHERE run_uuid IN ({', '.join('?' * len(runs))})"
    found: dict[str, dict[str, Any]] = {}
    for run, key, value in tables.execute(asked, runs):
        found.setdefault(run, {})[key] = value
    return found
