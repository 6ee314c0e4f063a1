"""The reporter: says from inside a worker how far a job is and what rows it gave.

Every row goes to a journal at once, so that it survives the process; whoever listens hears of rows and progress in
batches, at most 20 times a second. The same thread keeps the log file within bounds.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from workbench.progress_log import ProgressLog
from workbench.results import Column, Table

__all__ = ["Reporter", "journal_tables"]

APART = 0.05
MAX_LOG = 4 * 1024**2
JOURNAL = "rows.jsonl"


class Reporter:
    """Reports on one job.

    Args:
        job: id.
        log: file that is cut when it grows beyond 4 MiB.
        send: takes a message: `job`, `stage`, and `begun`, `ended`, or `at` (rows said before), `rows` (pairs of table
            and row) and `progress` (fraction and words, or None).
    """

    def __init__(self, job: str, log: Path, send: Callable[[dict[str, Any]], None]) -> None:
        self._job = job
        self._log = log
        self._send = send
        self._stage = ""
        self._journal: IO[bytes] | None = None
        self._progress_log: ProgressLog | None = None
        self._lock = threading.Lock()
        self._rows: list[tuple[str, dict[str, Any]]] = []
        self._said = 0
        self._progress: tuple[float, str] | None = None
        self._news = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="assay-reporter", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._news.set()
        self._thread.join(2)

    @contextmanager
    def stage(self, name: str, folder: Path) -> Iterator[None]:
        """Report on a stage, whose journal lies in its folder."""
        self._stage, self._said = name, 0
        self._tell({"begun": True})
        with (folder / JOURNAL).open("ab", buffering=0) as journal:
            self._journal, self._progress_log = journal, ProgressLog(folder)
            try:
                yield
            finally:
                self._journal = None
                self._flush()

    def ended(self, name: str, folder: Path) -> None:
        """The result of a stage is on disk; its journal is needed no more."""
        (folder / JOURNAL).unlink(missing_ok=True)
        self._tell({"stage": name, "ended": True})

    def row(self, table: str, row: dict[str, Any]) -> None:
        """A finished row."""
        if self._journal is not None:
            self._journal.write(json.dumps([table, list(row.values())]).encode() + b"\n")
        with self._lock:
            self._rows.append((table, row))
        self._news.set()

    def progress(self, fraction: float, message: str) -> None:
        """How far the stage is."""
        with self._lock:
            self._progress = (fraction, message)
        self._news.set()

    def _flush(self) -> None:
        with self._lock:
            rows, self._rows = self._rows, []
            progress, self._progress = self._progress, None
            at, self._said = self._said, self._said + len(rows)
            if progress is not None and self._progress_log is not None:
                self._progress_log.note(*progress)
            if rows or progress is not None:
                self._tell({"at": at, "rows": rows, "progress": progress})

    def _tell(self, message: dict[str, Any]) -> None:
        with suppress(Exception):  # a listener that is gone must not end the job
            self._send({"job": self._job, "stage": self._stage, **message})

    def _work(self) -> None:
        while not self._closed.wait(APART):
            self._news.wait(1.0)
            self._news.clear()
            self._flush()
            self._cut_log()

    def _cut_log(self) -> None:
        with suppress(OSError):
            if self._log.stat().st_size > MAX_LOG:
                os.truncate(self._log, 0)  # writers append, so they go on from here
                with self._log.open("a") as log:
                    log.write("[earlier output was dropped]\n")


def journal_tables(folder: Path, tables: Mapping[str, Mapping[str, Column]]) -> dict[str, Table]:
    """The tables as far as a stage's journal tells of them; a last line that was cut is left out."""
    found = {name: Table(columns) for name, columns in tables.items()}
    try:
        lines = (folder / JOURNAL).read_bytes().split(b"\n")
    except OSError:
        return found
    for line in lines[:-1]:
        table, values = json.loads(line)
        found[table].append(dict(zip(found[table].columns, values, strict=True)))
    return found
