"""The store: runs in MLflow, and the results that they gave.

MLflow is the memory of runs: what ran, on what, what came out. Results lie in the folder of their run's artifacts, and
beside the database stands an index from content key to run, so that a result that is kept is found in a millisecond,
without MLflow. MLflow takes seconds to import and to open, so nothing here touches it before it must; call `open` from
a thread when a face must stay quick.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from workbench.claims import Verdict
from workbench.job import State
from workbench.places import home_folder
from workbench.record import Record, is_gone, process_mark, read_record
from workbench.result_files import read_result
from workbench.results import Result
from workbench.study import PRESETS

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

__all__ = ["Kept", "Store", "StoreError", "UnknownRun"]

FORMAT = "1"
RECORD = "record.json"
DATABASE = "mlflow.db"
LOCK_PATIENCE = 60
OPENING = threading.Lock()  # two threads that import MLflow at once trip over its circular imports
ITEMS_KEPT = 30 * 24 * 3600.0
MAX_TAG = 5000
MLFLOW_STATE = {
    State.QUEUED: "SCHEDULED", State.RUNNING: "RUNNING", State.DONE: "FINISHED", State.FAILED: "FAILED",
    State.CANCELLED: "KILLED", State.LOST: "FAILED",
}  # fmt: skip


class StoreError(RuntimeError):
    """The store cannot be used: one sentence that says why."""


class UnknownRun(ValueError):
    """There is no run of that id."""


@dataclass(frozen=True)
class Kept:
    """A complete result from the store, verified, with the record and the folder of its run."""

    record: Record
    result: Result
    folder: Path


class Store:
    """Runs and their results.

    Args:
        folder: where results and, by default, the database lie; `home_folder()/store` when left out.
        uri: MLflow tracking URI; the environment variable `ASSAY_STORE` when left out, else SQLite in the folder.
    """

    def __init__(self, folder: Path | None = None, uri: str | None = None) -> None:
        self.folder = Path(folder) if folder is not None else home_folder() / "store"
        chosen = uri or (os.environ.get("ASSAY_STORE") if folder is None else None)
        self.uri = chosen or f"sqlite:///{self.folder / DATABASE}"
        self.own = chosen is None
        self._client: MlflowClient | None = None

    # MLflow

    def open(self) -> MlflowClient:
        """The client of the tracking store; its first call takes seconds.

        Raises:
            StoreError: it cannot be opened or written to.
        """
        with OPENING:
            if self._client is None:
                try:
                    self.folder.mkdir(parents=True, exist_ok=True)
                    with locked(self.folder / "open.lock"):  # first starts at once would run migrations twice
                        if self.own and not (self.folder / DATABASE).exists():
                            make_database(self.folder / DATABASE)
                        self._client = opened(self.uri)
                except Exception as error:
                    raise StoreError(f"The store at {self.place} cannot be used: {first_line(error)}") from error
            return self._client

    @property
    def place(self) -> str:
        """Where the store is, without credentials."""
        if self.own:
            return str(self.folder)
        parts = urlsplit(self.uri)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def _experiment(self, client: MlflowClient, study: str) -> str:
        from mlflow.exceptions import MlflowException

        for _ in range(2):
            found = client.get_experiment_by_name(study)
            if found is not None:
                if found.lifecycle_stage == "deleted":
                    client.restore_experiment(found.experiment_id)
                return found.experiment_id
            local = self.uri.partition(":")[0] not in ("http", "https")
            try:
                location = (self.folder / "artifacts").resolve().as_uri() if local else None
                return client.create_experiment(study, artifact_location=location)
            except MlflowException:
                continue  # another process was quicker
        raise StoreError(f"The store at {self.place} has no place for runs of {study}.")

    def begin(self, record: Record) -> Record:
        """Note that a run has begun.

        Returns:
            the record with the id of its run.

        Raises:
            StoreError: the store cannot be written to.
        """
        client = self.open()
        from mlflow.entities import Param

        with sentences(self):
            tags = {**tags_of(record), "process": process_mark(), "mlflow.source.name": "assay"}
            run = client.create_run(
                self._experiment(client, record.study),
                start_time=int((record.started or time.time()) * 1000), tags=tags, run_name=record.experiment,
            )  # fmt: skip
            params = [Param(name, value[:MAX_TAG]) for name, value in record.controls.items()]
            client.log_batch(run.info.run_id, params=params)
            return replace(record, run=run.info.run_id)

    def finish(self, record: Record, folder: Path | None = None) -> Path | None:
        """Note how a run ended, and take its files into the store.

        Args:
            record: as `begin` gave it, with what is known now.
            folder: holds the files of the run; it is moved into the store.

        Returns:
            where the files lie now.

        Raises:
            StoreError: the store cannot be written to.
        """
        client = self.open()
        from mlflow.entities import Metric, RunTag

        with sentences(self):
            kept = None
            if folder is not None:
                (folder / RECORD).write_text(json.dumps(record.as_json()), encoding="utf-8")
                kept = self._take(client, record.run, folder)
            tags = {**tags_of(record), **{f"claim.{id}": json.dumps(j) for id, j in record.claims.items()}}
            ended = int(((record.started or time.time()) + (record.took or 0)) * 1000)
            client.log_batch(
                record.run,
                metrics=[Metric(name, value, ended, 0) for name, value in metrics_of(record).items()],
                tags=[RunTag(name, value[:MAX_TAG]) for name, value in tags.items()],
            )
            client.set_terminated(record.run, MLFLOW_STATE[record.state], end_time=ended)
            if record.state is State.DONE and kept is not None:
                self._index(record, kept)
            return kept

    def _take(self, client: MlflowClient, run: str, folder: Path) -> Path:
        """Move a folder to where the run's artifacts lie; to a server it is sent, and kept here too."""
        uri = client.get_run(run).info.artifact_uri or ""
        if local_path(uri) is None:
            client.log_artifacts(run, str(folder))
        place = self._place(run, uri)
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():  # some stores make the empty folder with the run
            place.rmdir()
        shutil.move(folder, place)
        return place

    def _place(self, run: str, uri: str) -> Path:
        """Where the files of a run lie on this machine."""
        return local_path(uri) or self.folder / "artifacts" / run / "artifacts"

    # what is kept

    def _index_path(self, study: str, experiment: str, key: str) -> Path:
        return self.folder / "index" / study / f"{experiment}-{key}.json"

    def _index(self, record: Record, place: Path) -> None:
        path = self._index_path(record.study, record.experiment, record.key)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        inside = place.relative_to(self.folder) if place.is_relative_to(self.folder) else place
        draft.write_text(json.dumps({**record.as_json(), "folder": str(inside)}), encoding="utf-8")
        draft.replace(path)

    def find(self, study: str, experiment: str, key: str) -> Kept | None:
        """The newest complete result under a content key; None where there is none whose files are as written."""
        path = self._index_path(study, experiment, key)
        if path.exists():
            try:
                data = json.loads(path.read_text(encoding="utf-8"))
                folder = self.folder / data["folder"]
                return Kept(Record.from_json(data), read_result(folder), folder)
            except (OSError, ValueError, KeyError, TypeError) as error:
                said = "A kept result of %s/%s was damaged and is set aside as %s: %s"
                aside = path.with_suffix(".damaged")
                logging.getLogger(__name__).warning(said, study, experiment, aside.name, first_line(error))
                with suppress(OSError):
                    path.replace(aside)
        return None if self.own else self._fetch(study, experiment, key)

    def _fetch(self, study: str, experiment: str, key: str) -> Kept | None:
        """A result that the tracking server has and this machine has not, or not whole."""
        wanted = f"tags.experiment = '{experiment}' and tags.key = '{key}' and tags.state = 'done'"
        try:
            client = self.open()
            for run in self._search(client, study, wanted, 1):
                folder = self._place(run.info.run_id, run.info.artifact_uri or "")
                if local_path(run.info.artifact_uri or "") is None:
                    shutil.rmtree(folder, ignore_errors=True)
                    folder.mkdir(parents=True)
                    client.download_artifacts(run.info.run_id, "", str(folder))
                record = read_record(folder / RECORD)
                if record is not None:
                    self._index(record, folder)
                    return Kept(record, read_result(folder), folder)
        except Exception as error:  # a server that is away must not keep anyone from running again
            logging.getLogger(__name__).warning("the store at %s: %s", self.place, first_line(error))
        return None

    # what ran

    def runs(self, study: str | None = None, limit: int = 100) -> list[Record]:
        """Records of runs, newest first, in whatever state; without their provenance, which `get` adds.

        Raises:
            StoreError: the store cannot be read.
        """
        client = self.open()
        with sentences(self):
            return [self._record(client, run) for run in self._search(client, study, "", limit)]

    def get(self, run: str) -> Record:
        """All that is remembered of a run.

        Raises:
            UnknownRun: there is none of that id.
            StoreError: the store cannot be read.
        """
        client = self.open()
        from mlflow.exceptions import MlflowException

        try:
            found = client.get_run(run)
        except MlflowException:
            raise UnknownRun(f"run: got {run[:60]!r}; expected an id from `assay runs`") from None
        with sentences(self):
            place = self._place(run, found.info.artifact_uri or "")
            return read_record(place / RECORD) or self._record(client, found)

    def _search(self, client: MlflowClient, study: str | None, wanted: str, limit: int) -> list[MlflowRun]:
        found = [e for e in client.search_experiments() if study is None or e.name == study]
        if not found:
            return []
        ours = f"tags.assay = '{FORMAT}'" + (f" and {wanted}" if wanted else "")
        ids = [e.experiment_id for e in found]
        return list(client.search_runs(ids, ours, max_results=limit, order_by=["attributes.start_time DESC"]))

    def _record(self, client: MlflowClient, run: MlflowRun) -> Record:
        tags = run.data.tags
        state = State(tags["state"])
        if not state.ended and is_gone(tags.get("process", "")):
            state = State.LOST
            client.set_tag(run.info.run_id, "state", str(state))
            client.set_terminated(run.info.run_id, MLFLOW_STATE[state])
        return Record(
            tags["study"], tags["experiment"], tags["key"], controls=dict(run.data.params),
            values=plain_json(tags.get("values", "")), preset=tags["preset"], device=tags["device"],
            seed=int(tags["seed"]), terms_hash=tags.get("terms_hash", ""), run=run.info.run_id, state=state,
            started=float(tags["started"]) if "started" in tags else None, took=run.data.metrics.get("took"),
            digest=tags.get("digest", ""), claims=claims_in(tags), error=tags.get("error", ""),
        )  # fmt: skip

    # what was judged

    def verdicts(self, study: str, terms_hash: str = "") -> dict[str, dict[str, Any]]:
        """The best evidence for each claim of a study: what was measured at all, then the highest preset, then the
        fewest controls set by hand, then the newest.

        Args:
            study: slug.
            terms_hash: of the study as it is now; judgements under other terms serve only where there is no other.

        Returns:
            from claim to its judgement as plain data, with `preset`, `run`, `when` and `values` of its run, and
            `other_terms`: it was judged under other expectations or presets than these.
        """
        best: dict[str, tuple[tuple[bool, bool, int, int, float], dict[str, Any]]] = {}
        for record in self._done(study):
            other = bool(terms_hash) and record.terms_hash != terms_hash
            for id, judgement in record.claims.items():
                if judgement.get("verdict") in (None, str(Verdict.NOT_JUDGED)):
                    continue
                measured = judgement["verdict"] != str(Verdict.NEEDS_SCALE)
                level = PRESETS.index(record.preset)
                rank = (not other, measured, level, -len(record.values), record.started or 0.0)
                if id not in best or rank > best[id][0]:
                    context = {
                        "preset": record.preset, "run": record.run, "when": record.started,
                        "values": dict(record.values), "other_terms": other,
                    }  # fmt: skip
                    best[id] = rank, {**judgement, **context}
        return {id: judgement for id, (_, judgement) in best.items()}

    def _done(self, study: str) -> Iterator[Record]:
        seen = set()
        for path in sorted((self.folder / "index" / study).glob("*.json")):
            record = read_record(path)
            if record is not None:
                seen.add(record.run)
                yield record
        if not self.own:
            try:
                client = self.open()
                found = self._search(client, study, "tags.state = 'done'", 1000)
                records = [self._record(client, run) for run in found if run.info.run_id not in seen]
            except Exception as error:
                logging.getLogger(__name__).warning("the store at %s: %s", self.place, first_line(error))
                return
            yield from records

    # what is on its way

    @property
    def items(self) -> Path:
        """Where finished items of computations that have not ended are kept, each in a folder of its key."""
        return self.folder / "items"

    def workplace(self) -> Path:
        """A folder for the jobs of this process.

        Raises:
            StoreError: it cannot be made.
        """
        with sentences(self):
            place = self.folder / "work" / process_mark()
            place.mkdir(parents=True, exist_ok=True)
            return place

    def sweep(self) -> None:
        """Remove what processes that are gone left half-done, and items that nobody came back for in a month."""
        for place in (self.folder / "work").glob("*"):
            if is_gone(place.name):
                shutil.rmtree(place, ignore_errors=True)
        for place in (self.folder / "items").glob("*"):
            try:
                if time.time() - place.stat().st_mtime > ITEMS_KEPT:
                    shutil.rmtree(place, ignore_errors=True)
            except OSError:
                continue


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes on this machine see."""
    import locket

    with locket.lock_file(str(path), timeout=LOCK_PATIENCE):
        yield


@contextmanager
def sentences(store: Store) -> Iterator[None]:
    """Turn what goes wrong in MLflow or on the disk into one sentence."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(f"The store at {store.place} cannot be used: {first_line(error)}") from error


def quiet() -> None:
    """Have MLflow say nothing, here and to nobody else."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    import mlflow.store.db.utils  # noqa: F401  # sets up its loggers

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)


def make_database(path: Path) -> None:
    """Make MLflow's tables in a file aside, which then takes its place.

    SQLite does not undo a change of tables, so a process that is killed amid them would leave a database that no
    later one could open.
    """
    quiet()
    from mlflow.store.db.utils import _initialize_tables, create_sqlalchemy_engine

    draft = path.with_suffix(f".{os.getpid()}.part")
    draft.unlink(missing_ok=True)
    engine = create_sqlalchemy_engine(f"sqlite:///{draft}")
    _initialize_tables(engine)
    engine.dispose()
    draft.replace(path)


def opened(uri: str) -> MlflowClient:
    """A client whose tables are there."""
    quiet()
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    client.search_experiments(max_results=1)
    return client


def tags_of(record: Record) -> dict[str, str]:
    """What a list of runs shows and is searched by."""
    tags = {
        "assay": FORMAT, "study": record.study, "experiment": record.experiment, "key": record.key,
        "terms_hash": record.terms_hash, "preset": record.preset, "device": record.device, "seed": str(record.seed),
        "state": str(record.state), "values": json.dumps(dict(record.values)), "digest": record.digest,
        "revision": str(record.provenance.get("revision", "")), "error": record.error[:MAX_TAG],
        "started": "" if record.started is None else repr(record.started),
    }  # fmt: skip
    return {name: value for name, value in tags.items() if value}


def metrics_of(record: Record) -> dict[str, float]:
    """The few numbers of a run that are worth a column in a list of runs."""
    measured = {f"claim.{id}": judgement.get("measured") for id, judgement in record.claims.items()}
    facts = {**measured, "took": record.took, "peak_memory": record.provenance.get("peak_memory")}
    return {name: float(value) for name, value in facts.items() if value is not None}


def claims_in(tags: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    found = {name.removeprefix("claim."): plain_json(text) for name, text in tags.items() if name.startswith("claim.")}
    return {id: judgement for id, judgement in found.items() if judgement}


def plain_json(text: str) -> dict[str, Any]:
    """What a tag holds; empty when it was cut at the length of a tag, for the record beside the result has it whole."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


def local_path(uri: str) -> Path | None:
    """The path of an artifact location on this machine; None for one on a server."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return Path(uri) if parts.scheme == "" and uri else None


def first_line(error: BaseException) -> str:
    """What went wrong, in a line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}."
    line = str(error).strip().partition("\n")[0][:300] or type(error).__name__
    return line if line.endswith(".") else f"{line}."
