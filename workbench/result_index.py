"""The index of kept results: from content key to run, one small file each, read without MLflow in a millisecond."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from workbench.record import Record, read_record
from workbench.result_files import read_result
from workbench.results import Result

__all__ = ["ResultIndex"]


class ResultIndex:
    """The newest complete result of every content key.

    Args:
        folder: of the store; the index lies in `index` below it, and results below it are named by their place in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _path(self, study: str, experiment: str, key: str) -> Path:
        return self._folder / "index" / study / f"{experiment}-{key}.json"

    def add(self, record: Record, place: Path) -> None:
        """A result is complete and lies at a place."""
        path = self._path(record.study, record.experiment, record.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        inside = place.relative_to(self._folder) if place.is_relative_to(self._folder) else place
        try:
            draft.write_text(json.dumps({**record.as_json(), "folder": str(inside)}), encoding="utf-8")
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise

    def remove(self, record: Record) -> bool:
        """Take a run out; returns whether it was the one under its key."""
        path = self._path(record.study, record.experiment, record.key)
        found = read_record(path)
        if found is None or found.run != record.run:
            return False
        path.unlink(missing_ok=True)
        return True

    def find(self, study: str, experiment: str, key: str) -> tuple[Record, Result, Path] | None:
        """The record, the result and its folder under a content key; what is damaged is set aside."""
        path = self._path(study, experiment, key)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            folder = self._folder / data["folder"]
            return Record.from_json(data), read_result(folder), folder
        except FileNotFoundError:  # there is none, or it is forgotten just now
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            said = "A kept result of %s/%s was damaged and is set aside as %s: %s"
            aside = path.with_suffix(".damaged")
            logging.getLogger(__name__).warning(said, study, experiment, aside.name, error)
            with suppress(OSError):
                path.replace(aside)
            return None

    def older(self, record: Record) -> tuple[Record, Path] | None:
        """The newest result of what a record asks for under another key, which is that of other code or versions."""
        found = [
            other
            for other in self.records(record.study, record.experiment)
            if other.experiment == record.experiment and other.device == record.device and other.key != record.key
            and dict(other.controls) == dict(record.controls)
        ]  # fmt: skip
        newest = max(found, key=lambda other: other.started or 0.0, default=None)
        if newest is not None:
            path = self._path(newest.study, newest.experiment, newest.key)
            with suppress(OSError, ValueError, KeyError):
                return newest, self._folder / json.loads(path.read_text(encoding="utf-8"))["folder"]
        return None

    def records(self, study: str, experiment: str = "") -> Iterator[Record]:
        """The records of a study's results, or of one experiment's and of those whose names begin so."""
        for path in sorted((self._folder / "index" / study).glob(f"{experiment}*.json")):
            record = read_record(path)
            if record is not None:
                yield record
