"""MLflow: how a tracking store is opened, and what of a run is written into it and read from it.

MLflow takes seconds to import and to open, so nothing here touches it before it must.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from workbench.controls import ControlError
from workbench.file_systems import network_file_system
from workbench.job import State
from workbench.record import Record, process_mark

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun
    from mlflow.tracking import MlflowClient

__all__ = ["FORMAT", "StoreError", "Tracking", "first_line", "record_in", "record_of_tags", "tracking_uri"]

FORMAT = "1"
SCHEMES = ("http", "https", "sqlite", "postgresql", "mysql", "mssql")
LOCK_PATIENCE = 60
OPENING = threading.Lock()  # two threads that import MLflow at once trip over its circular imports
MAX_TAG = 5000
MLFLOW_STATE = {
    State.QUEUED: "SCHEDULED", State.RUNNING: "RUNNING", State.DONE: "FINISHED", State.FAILED: "FAILED",
    State.CANCELLED: "KILLED", State.LOST: "FAILED",
}  # fmt: skip


class StoreError(RuntimeError):
    """The store cannot be used: one sentence that says why."""


class Tracking:
    """A tracking store of MLflow's.

    Args:
        uri: its address; see `tracking_uri`.
        folder: where files lie that it cannot hold itself.
        place: what people are told that it is.
    """

    def __init__(self, uri: str, folder: Path, place: str) -> None:
        self.uri = uri
        self.folder = folder
        self.place = place
        self.remote = uri.partition(":")[0] in ("http", "https")
        self.database = Path(uri.removeprefix("sqlite:///")) if uri.startswith("sqlite:///") else None
        self._client: MlflowClient | None = None
        self._experiments: dict[str, str] = {}

    def open(self) -> MlflowClient:
        """The client; its first call takes seconds.

        Raises:
            StoreError: it cannot be opened or written to.
        """
        with OPENING:
            if self._client is None:
                with self.sentences():
                    self._client = opened(self.uri) if self.database is None else self._open_database(self.database)
            return self._client

    def _open_database(self, database: Path) -> MlflowClient:
        if kind := network_file_system(database.parent):
            raise StoreError(
                f"The store at {self.place} lies on a network file system ({kind}), where SQLite loses data; "
                "set ASSAY_HOME to a folder on a disk of this machine, or name a tracking server with --store."
            )
        database.parent.mkdir(parents=True, exist_ok=True)
        with locked(database.with_name("open.lock")):  # first starts at once would run migrations twice
            if not database.exists():
                make_database(database)
            return opened(self.uri)

    @contextmanager
    def sentences(self) -> Iterator[None]:
        """Turn what goes wrong in MLflow or on the disk into one sentence."""
        try:
            yield
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(f"The store at {self.place} cannot be used: {first_line(error)}") from error

    def _experiment(self, client: MlflowClient, study: str) -> str:
        from mlflow.exceptions import MlflowException

        if study in self._experiments:
            return self._experiments[study]
        for _ in range(2):
            found = client.get_experiment_by_name(study)
            if found is not None:
                if found.lifecycle_stage == "deleted":
                    client.restore_experiment(found.experiment_id)
                return self._experiments.setdefault(study, found.experiment_id)
            beside = self.folder if self.database is None else self.database.parent
            try:
                client.create_experiment(study, None if self.remote else (beside / "artifacts").resolve().as_uri())
            except MlflowException:
                continue  # another process was quicker
        raise StoreError(f"The store at {self.place} has no place for runs of {study}.")

    def begin(self, record: Record) -> str:
        """Note that a run has begun; returns its id."""
        client = self.open()
        from mlflow.entities import Param

        with self.sentences():
            tags = {**tags_of(record), "process": process_mark(), "mlflow.source.name": "assay"}
            run = client.create_run(
                self._experiment(client, record.study),
                start_time=int((record.started or time.time()) * 1000), tags=tags, run_name=record.experiment,
            )  # fmt: skip
            params = [Param(name, value[:MAX_TAG]) for name, value in record.controls.items()]
            client.log_batch(run.info.run_id, params=params)
            return run.info.run_id

    def end(self, record: Record) -> None:
        """Note how a run has ended."""
        client = self.open()
        from mlflow.entities import Metric, RunTag

        with self.sentences():
            tags = {**tags_of(record), **{f"claim.{id}": json.dumps(j) for id, j in record.claims.items()}}
            ended = int(((record.started or time.time()) + (record.took or 0)) * 1000)
            client.log_batch(
                record.run,
                metrics=[Metric(name, value, ended, 0) for name, value in metrics_of(record).items()],
                tags=[RunTag(name, value[:MAX_TAG]) for name, value in tags.items()],
            )
            client.set_terminated(record.run, MLFLOW_STATE[record.state], end_time=ended)

    def lose(self, run: str) -> None:
        """Note that a run is lost."""
        client = self.open()
        client.set_tag(run, "state", str(State.LOST))
        client.set_terminated(run, MLFLOW_STATE[State.LOST])

    def set_tag(self, run: str, name: str, value: str) -> None:
        """Write a tag, or take it away where the value is empty."""
        client = self.open()
        with self.sentences():
            if value:
                client.set_tag(run, name, value[:MAX_TAG])
            elif name in client.get_run(run).data.tags:
                client.delete_tag(run, name)

    def get(self, run: str) -> MlflowRun | None:
        """The run of an id; None where there is none of ours."""
        client = self.open()
        from mlflow.exceptions import MlflowException
        from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode

        with self.sentences():
            try:
                found = client.get_run(run)
            except MlflowException as error:
                if error.error_code == ErrorCode.Name(RESOURCE_DOES_NOT_EXIST):
                    return None
                raise
            return found if "assay" in found.data.tags and found.info.lifecycle_stage == "active" else None

    def search(self, study: str | None, wanted: str, limit: int) -> list[MlflowRun]:
        """Runs, newest first.

        Args:
            study: slug; of all studies when left out.
            wanted: a condition in MLflow's words.
            limit: how many at most.
        """
        client = self.open()
        with self.sentences():
            found = [e for e in client.search_experiments() if study is None or e.name == study]
            if not found:
                return []
            ours = f"tags.assay = '{FORMAT}'" + (f" and {wanted}" if wanted else "")
            runs: list[MlflowRun] = []
            token = None
            while len(runs) < limit:
                page = client.search_runs(
                    [e.experiment_id for e in found], ours, max_results=min(limit - len(runs), 1000), page_token=token,
                    order_by=["attributes.start_time DESC"],
                )  # fmt: skip
                runs += page
                token = page.token
                if not token:
                    break
            return runs

    def files(self, run: MlflowRun) -> Path | None:
        """Where the files of a run lie on this machine by the store's own account; None where a server has them."""
        return local_path(run.info.artifact_uri or "")

    def send(self, run: str, folder: Path) -> None:
        """Send a folder to a server."""
        client = self.open()
        with self.sentences():
            client.log_artifacts(run, str(folder))

    def fetch(self, run: str, folder: Path) -> None:
        """Fetch the files of a run from a server into a folder."""
        client = self.open()
        with self.sentences():
            folder.mkdir(parents=True, exist_ok=True)
            client.download_artifacts(run, "", str(folder))

    def delete(self, run: MlflowRun) -> None:
        """Forget a run: for good in a database of ours, else as the server does it."""
        client = self.open()
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        with self.sentences():
            uri = run.info.artifact_uri or ""
            if uri and local_path(uri) is None:
                get_artifact_repository(uri, tracking_uri=self.uri).delete_artifacts()
            client.delete_run(run.info.run_id)
            if self.database is not None:
                client._tracking_client.store._hard_delete_run(run.info.run_id)  # as `mlflow gc` does


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock that other processes on this machine see; none in a folder that may only be read."""
    import locket

    try:
        path.touch()
    except OSError:
        if not path.parent.is_dir():
            raise
        yield
        return
    with locket.lock_file(str(path), timeout=LOCK_PATIENCE):
        yield


def quiet() -> None:
    """Have MLflow say nothing, here and to nobody else, and give up soon on a server that is away."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")
    import mlflow.store.db.utils  # noqa: F401  # sets up its loggers

    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in ("mlflow.store.db.utils", "urllib3.connectionpool"):  # they log what is raised besides
        logging.getLogger(name).setLevel(logging.CRITICAL)


def make_database(path: Path) -> None:
    """Make MLflow's tables in a file aside, which then takes its place.

    SQLite does not undo a change of tables, so a process that is killed amid them would leave a database that no
    later one could open.
    """
    quiet()
    from mlflow.store.db.utils import _initialize_tables, create_sqlalchemy_engine

    draft = path.with_suffix(f".{os.getpid()}.part")
    draft.unlink(missing_ok=True)
    try:
        engine = create_sqlalchemy_engine(f"sqlite:///{draft}")
        _initialize_tables(engine)
        engine.dispose()
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def opened(uri: str) -> MlflowClient:
    """A client whose tables are there."""
    quiet()
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=uri, registry_uri=uri)
    client.search_experiments(max_results=1)
    return client


def tracking_uri(text: str) -> str:
    """The address of a tracking store as MLflow takes it, a file of SQLite by its whole path.

    Raises:
        ControlError: it is none.
    """
    scheme, colon, rest = text.strip().partition(":")
    kind = scheme.partition("+")[0]
    known = colon and kind in SCHEMES and rest.startswith("///" if kind == "sqlite" else "//")
    if not known or not rest.strip("/") or (kind != "sqlite" and not urlsplit(text).hostname):
        shown = without_credentials(text)[:200]
        raise ControlError(
            "store",
            f"got {shown!r}; expected the address of an MLflow tracking store, as http://host:5000 or "
            "sqlite:////folder/mlflow.db",
        )
    if kind == "sqlite":
        return f"sqlite:///{Path(rest.removeprefix('///')).expanduser().absolute()}"
    return text.strip()


def without_credentials(uri: str) -> str:
    """An address that may be shown."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri.rpartition("@")[2]
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if parts.netloc else uri


def tags_of(record: Record) -> dict[str, str]:
    """What a list of runs shows and is searched by."""
    tags = {
        "assay": FORMAT, "study": record.study, "experiment": record.experiment, "key": record.key,
        "terms_hash": record.terms_hash, "preset": record.preset, "device": record.device, "seed": str(record.seed),
        "state": str(record.state), "values": json.dumps(dict(record.values)), "digest": record.digest,
        "code": str(record.provenance.get("code", "")), "revision": str(record.provenance.get("revision", "")),
        "error": record.error[:MAX_TAG], "started": "" if record.started is None else repr(record.started),
        "owner": record.owner, "origin": record.origin,
    }  # fmt: skip
    return {name: value for name, value in tags.items() if value}


def metrics_of(record: Record) -> dict[str, float]:
    """The few numbers of a run that are worth a column in a list of runs."""
    measured = {f"claim.{id}": judgement.get("measured") for id, judgement in record.claims.items()}
    facts = {**measured, "took": record.took, "peak_memory": record.provenance.get("peak_memory")}
    return {name: float(value) for name, value in facts.items() if value is not None}


def record_in(run: MlflowRun) -> Record:
    """The record that a run's tags and numbers hold; of its provenance, only the code and the commit."""
    return record_of_tags(run.info.run_id, run.data.tags, run.data.params, run.data.metrics)


def record_of_tags(
    run: str, tags: Mapping[str, str], params: Mapping[str, str], metrics: Mapping[str, float]
) -> Record:
    """The same from what a tracking store holds under the id of a run."""
    return Record(
        tags["study"], tags["experiment"], tags["key"], controls=dict(params),
        values=plain_json(tags.get("values", "")), preset=tags["preset"], device=tags["device"],
        seed=int(tags["seed"]), terms_hash=tags.get("terms_hash", ""), run=run,
        state=State(tags["state"]), started=float(tags["started"]) if "started" in tags else None,
        took=metrics.get("took"), digest=tags.get("digest", ""), claims=claims_in(tags),
        provenance={name: tags[name] for name in ("code", "revision") if name in tags},
        error=tags.get("error", ""), owner=tags.get("owner", ""), origin=tags.get("origin", ""),
    )  # fmt: skip


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
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        return f"{error.args[0][0][-1]}."  # a folder that could not be copied: what the first of its files met
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f': {error.filename}' if error.filename else ''}."
    text = str(error).strip()
    if text.startswith("API request to") and "failed with exception" in text:
        return "it does not answer."
    if of_database := re.search(r"^\(\w+\.\w+\) (.+)$", text, re.MULTILINE):
        text = of_database[1]
    line = text.partition("\n")[0][:300] or type(error).__name__
    return line if line.endswith(".") else f"{line}."
