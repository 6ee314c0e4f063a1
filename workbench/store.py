"""The store: runs in MLflow, and the results that they gave.

MLflow is the memory of runs: what ran, on what, what came out. Results lie in the folder of their run's artifacts, and
beside the database stands an index from content key to run, so that a result that is kept is found in a millisecond,
without MLflow. Call `open` from a thread when a face must stay quick.

A run's files are taken in by one rename, and a run is complete once they are: what a killed process leaves is either
whole or not seen.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.best_evidence import best_evidence
from workbench.controls import ControlError
from workbench.disk_quota import Room
from workbench.job import State
from workbench.live_runs import LiveRuns, is_silent
from workbench.places import home_folder
from workbench.record import Record, is_gone, process_mark, read_record
from workbench.result_files import DamagedResult, read_result
from workbench.result_index import ResultIndex
from workbench.results import Result
from workbench.store_tracking import StoreError, Tracking, first_line, record_in, tracking_uri, without_credentials

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

__all__ = ["PIN", "Kept", "NeededRun", "Store", "StoreError", "UnknownRun"]

RECORD = "record.json"
ITEMS_KEPT = 30 * 24 * 3600.0
LEAST_FREE = 64 * 1024**2  # bytes on the disk below which no job works in the store's folder
AWAY = 30.0  # seconds that a server which did not answer is not asked again for results
PIN = "pin."


class UnknownRun(ControlError):
    """There is no run of that id."""


class NeededRun(ControlError):
    """A run that may not go: it has not ended, or something refers to it."""


@dataclass(frozen=True)
class Kept:
    """A complete result from the store, verified, with the record and the folder of its run."""

    record: Record
    result: Result
    folder: Path


class Store:
    """Runs and their results.

    Args:
        folder: where results and, by default, the database lie; in `home_folder()` when left out, each tracking store
            with a folder of its own.
        uri: MLflow tracking URI; the environment variable `ASSAY_STORE` when left out, else SQLite in the folder.

    Raises:
        ControlError: the URI is none.
    """

    def __init__(self, folder: Path | None = None, uri: str | None = None) -> None:
        chosen = uri or (os.environ.get("ASSAY_STORE") if folder is None else None)
        self.own = not chosen
        address = tracking_uri(chosen) if chosen else ""
        self.folder = Path(folder) if folder is not None else home_folder() / folder_name(address)
        self.uri = address or f"sqlite:///{self.folder.absolute() / 'mlflow.db'}"
        self.place = without_credentials(address) if address else str(self.folder)
        self.tracking = Tracking(self.uri, self.folder, self.place)
        self.index = ResultIndex(self.folder)
        self.live = LiveRuns(self.folder / "live", None if self.own else self._beat)
        self.room = Room(self.folder)
        self._away = 0.0

    def open(self) -> MlflowClient:
        """The client of the tracking store; its first call takes seconds.

        Raises:
            StoreError: it cannot be opened or written to.
        """
        return self.tracking.open()

    # what runs

    def begin(self, record: Record) -> Record:
        """Note that a run has begun.

        Returns:
            the record with the id of its run.

        Raises:
            StoreError: the store cannot be written to, or holds as much as it may.
        """
        if not self.tracking.remote:
            self.room.check(self.place)
        self.live.add(record)
        try:
            begun = replace(record, run=self.tracking.begin(record))
        except BaseException:
            self.live.remove(record)
            raise
        self.live.add(begun)
        return begun

    def finish(self, record: Record, folder: Path | None = None) -> Path | None:
        """Note how a run ended, and take its files into the store: all of it, or nothing.

        Args:
            record: as `begin` gave it, with what is known now.
            folder: holds the files of the run; it is moved into the store, and stays where that fails.

        Returns:
            where the files lie now.

        Raises:
            StoreError: the store cannot be written to.
        """
        place = None
        try:
            with self.tracking.sentences():
                if folder is not None:
                    (folder / RECORD).write_text(json.dumps(record.as_json()), encoding="utf-8")
                    place = self._take(record.run, folder)
                if record.state is State.DONE and place is not None:
                    self.index.add(record, place)
                self.tracking.end(record)
            return place
        except BaseException:
            if folder is not None and place is not None:
                with suppress(OSError, StoreError):
                    if self.index.remove(record):
                        self._index_next(record)
                with suppress(OSError):
                    shutil.move(place, folder)
            raise
        finally:
            self.live.remove(record)

    def _take(self, run: str, folder: Path) -> Path:
        """Move a folder to where the run's files lie, by one rename; to a server it is sent, and kept here too."""
        found = self.tracking.get(run)
        uri = None if found is None else self.tracking.files(found)
        if uri is None:
            self.tracking.send(run, folder)
        place = uri or self._copy(run)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():  # some stores make the empty folder with the run
            place.rmdir()
        try:
            folder.rename(place)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            draft = place.with_name(f"{place.name}.part")
            try:
                shutil.copytree(folder, draft)
                draft.rename(place)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)
        return place

    def _copy(self, run: str) -> Path:
        """Where the files of a run that a server has are copied to."""
        return self.folder / "artifacts" / run / "artifacts"

    def _beat(self, run: str) -> None:
        with suppress(StoreError):
            self.tracking.set_tag(run, "beat", repr(time.time()))

    def elsewhere(self, study: str, experiment: str, key: str) -> Record | None:
        """The run of another live process that computes a content key now.

        In the user's own store it is known from a small file, without MLflow; a tracking store that others share is
        asked, and then it may take as long as the server does.
        """
        found = self.live.elsewhere(study, experiment, key)
        if found is not None or self.own or time.monotonic() < self._away:
            return found
        wanted = f"tags.experiment = '{experiment}' and tags.key = '{key}' and tags.state = 'running'"
        try:
            for run in self.tracking.search(study, wanted, 5):
                record = self._seen(run)
                if not record.state.ended and run.data.tags.get("process") != process_mark():
                    return record
        except StoreError as error:
            self._is_away(error)
        return None

    # what is kept

    def find(self, study: str, experiment: str, key: str) -> Kept | None:
        """The newest complete result under a content key; None where there is none whose files are as written."""
        found = self.index.find(study, experiment, key)
        if found is not None:
            return Kept(*found)
        return None if self.own else self._fetch(study, experiment, key)

    def _fetch(self, study: str, experiment: str, key: str) -> Kept | None:
        """A result that the tracking store has and this machine has not, or not whole."""
        if time.monotonic() < self._away:
            return None
        wanted = f"tags.experiment = '{experiment}' and tags.key = '{key}' and tags.state = 'done'"
        try:
            for run in self.tracking.search(study, wanted, 1):
                folder = self._files(run)
                record = read_record(folder / RECORD)
                if record is not None:
                    result = read_result(folder)
                    self.index.add(record, folder)
                    return Kept(record, result, folder)
        except (StoreError, DamagedResult, OSError) as error:  # it must not keep anyone from running again
            self._is_away(error)
        return None

    def _is_away(self, error: Exception) -> None:
        self._away = time.monotonic() + AWAY
        logging.getLogger(__name__).warning("the store at %s: %s", self.place, first_line(error))

    def _files(self, run: MlflowRun) -> Path:
        """The folder of a run's files, fetched anew when a server has them."""
        place = self.tracking.files(run)
        if place is None:
            place = self._copy(run.info.run_id)
            draft = place.with_name(f"fetched-{os.getpid()}-{time.monotonic_ns()}.part")
            try:
                self.tracking.fetch(run.info.run_id, draft)
                shutil.rmtree(place, ignore_errors=True)
                draft.rename(place)
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        return place

    def older(self, record: Record) -> Kept | None:
        """The newest result of what a record asks for that other code, or other versions of packages, gave.

        Args:
            record: of what is asked for now, as `errand.record_of` makes it.
        """
        found = self.index.older(record)
        if found is None:
            return None
        try:
            return Kept(found[0], read_result(found[1]), found[1])
        except DamagedResult:
            return None

    # what ran

    def runs(self, study: str | None = None, limit: int = 100) -> list[Record]:
        """Records of runs, newest first, in whatever state; of their provenance only code and commit: `get` adds it.

        Raises:
            StoreError: the store cannot be read.
        """
        with self.tracking.sentences():
            return [self._seen(run) for run in self.tracking.search(study, "", limit)]

    def get(self, run: str) -> Record:
        """All that is remembered of a run.

        Args:
            run: its id, or a beginning of it that no other has.

        Raises:
            UnknownRun: there is none of that id, or several that begin so.
            StoreError: the store cannot be read.
        """
        found = self._named(run)
        with self.tracking.sentences():
            record = self._seen(found)
            if not record.state.ended or record.state is State.LOST:
                return record
            place = self.tracking.files(found) or self._copy(record.run)
            if self.tracking.remote and not (place / RECORD).exists():
                place = self._files(found)
            return read_record(place / RECORD) or record

    def files(self, run: str) -> Path | None:
        """The folder of a run's files on this machine; None where it has none.

        Raises:
            UnknownRun, StoreError: as `get`.
        """
        found = self._named(run)
        with self.tracking.sentences():
            if record_in(found).state not in (State.DONE, State.FAILED, State.CANCELLED):
                return None
            place = self.tracking.files(found) or self._copy(found.info.run_id)
            if self.tracking.remote and not (place / RECORD).exists():
                place = self._files(found)
            return place if (place / RECORD).exists() else None

    def _named(self, run: str) -> MlflowRun:
        """The one run whose id begins so."""
        if re.fullmatch(r"[0-9a-f]{32}", run):
            found = self.tracking.get(run)
            matching = [] if found is None else [found]
        elif re.fullmatch(r"[0-9a-f]{1,31}", run):
            matching = self.tracking.search(None, f"attributes.run_id LIKE '{run}%'", 3)
        else:
            matching = []
        if not matching:
            raise UnknownRun("run", f"got {run[:60]!r}; expected an id from `assay runs`")
        if len(matching) > 1:
            ids = ", ".join(one.info.run_id[:12] for one in matching[:2])
            raise UnknownRun("run", f"got {run!r}, which several begin with ({ids}, …); expected more of it")
        return matching[0]

    def _seen(self, run: MlflowRun) -> Record:
        """The record of a run as it is now: one whose process is gone is lost, or done where its files are whole."""
        record, tags = record_in(run), run.data.tags
        if record.state.ended or self._lives(record, tags.get("process", ""), tags.get("beat", "")):
            return record
        again = self.tracking.get(record.run)  # it may have ended since the list was read
        if again is None or record_in(again).state.ended:
            return record if again is None else record_in(again)
        place = self.tracking.files(run) or self._copy(record.run)
        whole = read_record(place / RECORD)
        with suppress(Exception):  # a store that cannot be written to can still be read
            if whole is not None and whole.state is State.DONE:
                self.tracking.end(whole)
                self.index.add(whole, place)
                return whole
            if self.own or is_gone(tags.get("process", "")):
                self.tracking.lose(record.run)
        return replace(record, state=State.LOST)

    def _lives(self, record: Record, mark: str, beat: str) -> bool:
        lives = self.live.lives(record, mark)
        if lives is not None or self.own:
            return bool(lives)
        return not is_silent(float(beat or record.started or 0.0))

    # what goes and what stays

    def forget(self, run: str) -> Record:
        """Remove a run with its files, for good.

        Returns:
            what was remembered of it.

        Raises:
            UnknownRun: as `get`.
            NeededRun: it has not ended, or something refers to it.
            StoreError: the store cannot be written to.
        """
        found = self._named(run)
        record = self._seen(found)
        if not record.state.ended:
            raise NeededRun("run", f"got {record.run[:8]}, which is {record.state}; expected one that has ended")
        if pins := pins_in(found):
            by = ", ".join(pins)
            raise NeededRun("run", f"got {record.run[:8]}, which {by} refers to; expected one that nothing needs")
        with self.tracking.sentences():
            indexed = self.index.remove(record)
            place = self.tracking.files(found)
            self.tracking.delete(found)
            for folder in {self._copy(record.run).parent, *([place.parent] if place is not None else [])}:
                if folder.name == record.run:
                    shutil.rmtree(folder, ignore_errors=True)
            if indexed:
                self._index_next(record)
        return record

    def forget_copy(self, record: Record) -> None:
        """Remove the copy of a run's files that a server has; they are fetched again when they are asked for."""
        self.index.remove(record)
        shutil.rmtree(self._copy(record.run).parent, ignore_errors=True)

    def _index_next(self, gone: Record) -> None:
        """Have the newest of the other runs of a content key stand for it."""
        wanted = f"tags.experiment = '{gone.experiment}' and tags.key = '{gone.key}' and tags.state = 'done'"
        for run in self.tracking.search(gone.study, wanted, 10):
            place = self.tracking.files(run) or self._copy(run.info.run_id)
            record = read_record(place / RECORD)
            if record is not None:
                self.index.add(record, place)
                return

    def pin(self, run: str, by: str) -> None:
        """Have a run stay as long as something refers to it.

        Args:
            run: as in `get`.
            by: what refers to it, in a few words, such as a report's file name.

        Raises:
            UnknownRun, StoreError: as `get`.
        """
        self.tracking.set_tag(self._named(run).info.run_id, pin_tag(by), by)

    def unpin(self, run: str, by: str) -> None:
        """What referred to a run does so no more."""
        self.tracking.set_tag(self._named(run).info.run_id, pin_tag(by), "")

    def holdings(self, limit: int = 1_000_000) -> list[tuple[Record, Path, tuple[str, ...]]]:
        """Runs with the folder of their files on this machine and what refers to them, newest first."""
        found = []
        with self.tracking.sentences():
            for run in self.tracking.search(None, "", limit):
                place = self.tracking.files(run) or self._copy(run.info.run_id)
                found.append((self._seen(run), place, pins_in(run)))
        return found

    # what was judged

    def verdicts(self, study: str, terms_hash: str = "") -> dict[str, dict[str, Any]]:
        """The best evidence for each claim of a study, as `best_evidence` chooses it.

        Args:
            study: slug.
            terms_hash: of the study as it is now.
        """
        return best_evidence(self._done(study), terms_hash)

    def _done(self, study: str) -> Iterator[Record]:
        seen = set()
        for record in self.index.records(study):
            seen.add(record.run)
            yield record
        if not self.own and time.monotonic() >= self._away:
            try:
                found = self.tracking.search(study, "tags.state = 'done'", 1000)
            except StoreError as error:
                self._is_away(error)
                return
            yield from (record_in(run) for run in found if run.info.run_id not in seen)

    # what is on its way

    @property
    def items(self) -> Path:
        """Where finished items of computations that have not ended are kept, each in a folder of its key."""
        return self.folder / "items"

    def workplace(self) -> Path:
        """A folder for the jobs of this process.

        Raises:
            StoreError: it cannot be made, or the disk is almost full.
        """
        with self.tracking.sentences():
            place = self.folder / "work" / process_mark()
            place.mkdir(parents=True, exist_ok=True)
            if shutil.disk_usage(place).free < LEAST_FREE:
                raise StoreError(f"The store at {self.place} cannot be used: its disk is full.")
            if not os.access(place, os.W_OK):
                raise StoreError(f"The store at {self.place} cannot be used: it may not be written to.")
            return place

    def sweep(self) -> None:
        """Remove what processes that are gone left half-done, and items that nobody came back for in a month."""
        self.live.sweep()
        for place in (self.folder / "work").glob("*"):
            if is_gone(place.name):
                shutil.rmtree(place, ignore_errors=True)
        for place in (self.folder / "items").glob("*"):
            try:
                if time.time() - place.stat().st_mtime > ITEMS_KEPT:
                    shutil.rmtree(place, ignore_errors=True)
            except OSError:
                continue


def folder_name(address: str) -> str:
    """The folder of a store below the user's own: a tracking store's is named after its address."""
    if not address:
        return "store"
    shown = re.sub(r"[^a-z0-9]+", "-", without_credentials(address).lower()).strip("-")[-40:].strip("-")
    return f"stores/{shown}-{hashlib.sha256(without_credentials(address).encode()).hexdigest()[:8]}"


def pin_tag(by: str) -> str:
    return PIN + hashlib.sha256(by.encode()).hexdigest()[:16]


def pins_in(run: MlflowRun) -> tuple[str, ...]:
    return tuple(sorted(text for name, text in run.data.tags.items() if name.startswith(PIN)))
