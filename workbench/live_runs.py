"""Runs that are on their way, told from one process to another by small files.

Each process has a folder of its own, which it touches while it has runs, so that it is known as gone also where it
cannot be looked at: in another container, or on another machine.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from workbench.record import Record, is_gone, is_here, process_mark, read_record

__all__ = ["BEAT", "SILENT", "LiveRuns", "is_silent"]

BEAT = 2.5
SILENT = 8.0
"""Seconds between two signs of life, and without one after which a process counts as gone."""


class LiveRuns:
    """The runs of this process that are on their way, and those of others.

    Args:
        folder: where all processes of a store tell of their runs.
        tell: called with the id of each run of this process every `BEAT` seconds, for those who cannot see the folder.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None] | None = None) -> None:
        self._folder = folder
        self._tell = tell
        self._runs: dict[Path, Record] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def _place(self, record: Record) -> Path:
        return self._folder / process_mark() / file_name(record.study, record.experiment, record.key)

    def add(self, record: Record) -> None:
        """A run has begun, or is known better than before. A folder that cannot be written to is passed over."""
        place = self._place(record)
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            draft = place.with_suffix(f".{threading.get_ident()}.part")
            draft.write_text(json.dumps(record.as_json()), encoding="utf-8")
            draft.replace(place)
        with self._lock:
            self._runs[place] = record
            if self._thread is None:
                self._thread = threading.Thread(target=self._live, name="assay-live", daemon=True)
                self._thread.start()

    def remove(self, record: Record) -> None:
        """A run of this process has ended."""
        place = self._place(record)
        with self._lock:
            self._runs.pop(place, None)
        with suppress(OSError):
            place.unlink()

    def elsewhere(self, study: str, experiment: str, key: str) -> Record | None:
        """The run of another process that computes a content key now."""
        for place in self._folder.glob(f"*/{file_name(study, experiment, key)}"):
            mark = place.parent.name
            if mark != process_mark() and not self.is_lost(mark):
                record = read_record(place)
                if record is not None:
                    return record
        return None

    def lives(self, record: Record, mark: str) -> bool | None:
        """Whether the process of a mark is at work on a run still; None where nothing is known of it here."""
        folder = self._folder / mark
        if folder.is_dir():
            return not self.is_lost(mark) and (folder / file_name(record.study, record.experiment, record.key)).exists()
        return not is_gone(mark) if is_here(mark) else None

    def is_lost(self, mark: str) -> bool:
        """The process of a mark is gone: it has ended on this machine, or gives no sign of life from another one."""
        if is_here(mark):
            return is_gone(mark)
        try:
            return is_silent((self._folder / mark).stat().st_mtime)
        except OSError:
            return True

    def sweep(self) -> None:
        """Remove what processes that are gone have told."""
        for place in self._folder.glob("*"):
            if self.is_lost(place.name):
                shutil.rmtree(place, ignore_errors=True)

    def _live(self) -> None:
        while True:
            time.sleep(BEAT)
            with self._lock:
                runs = [record.run for record in self._runs.values()]
                if not runs:
                    self._thread = None
                    return
            with suppress(OSError):
                os.utime(self._folder / process_mark())
            for run in filter(None, runs):
                if self._tell is not None:
                    self._tell(run)


def is_silent(when: float) -> bool:
    """The last sign of life, in seconds since the epoch, is too old for a process that lives."""
    return time.time() - when > SILENT


def file_name(study: str, experiment: str, key: str) -> str:
    return f"{study}~{experiment}~{key}.json"
