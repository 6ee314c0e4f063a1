"""What the API takes and gives, as types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from workbench.job import State
from workbench.results import Result
from workbench.study import PRESETS

if TYPE_CHECKING:
    from workbench.job import Job
    from workbench.record import Record
    from workbench.registry import Card
    from workbench.sources import Source
    from workbench.sweep import Sweep

__all__ = [
    "JobSeen", "Let", "Problem", "ResultSeen", "RunSeen", "StudyCard", "Submission", "SweepSeen", "SweepSubmission",
    "FolderAsked", "TableSeen", "UploadSeen", "VisitorSeen",
]  # fmt: skip

Preset = Literal["quick", "standard", "full"]
assert get_args(Preset) == PRESETS


class Problem(BaseModel):
    """Why a request was refused, in one sentence."""

    detail: str
    field: str = Field("", description="The part of the request that is at fault; empty for the whole.")


class VisitorSeen(BaseModel):
    """Who asks."""

    name: str = Field(description="Empty where nobody signs in.")
    role: Literal["viewer", "runner", "admin"]


class UploadSeen(BaseModel):
    """A file or folder that was uploaded."""

    name: str
    reference: str = Field(description="What a control takes as its value: `sha256:` and the hash of the content.")

    @classmethod
    def of(cls, source: Source) -> UploadSeen:
        """What was kept."""
        return cls(name=source.name, reference=source.reference)


class FolderAsked(BaseModel):
    """A folder to make of several uploads."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=300)
    files: dict[str, str] = Field(description="From a file's name in the folder to the reference of its upload.")


class StudyCard(BaseModel):
    """A study as it is listed."""

    slug: str
    family: str
    question: str
    summary: str
    paper: str
    arxiv: str
    claims: list[str] = Field(description="Ids, in the paper's order.")
    cost: float = Field(description="Seconds that all experiments take at the preset standard.")
    own_input: bool = Field(description="It takes data or weights of one's own.")
    broken: str = Field(description="Why it could not be imported; empty when it could.")

    @classmethod
    def of(cls, card: Card) -> StudyCard:
        """The card of the registry."""
        return cls.model_validate({k: v for k, v in asdict(card).items() if k in cls.model_fields})


class Submission(BaseModel):
    """What to run."""

    model_config = ConfigDict(extra="forbid")

    study: str
    experiment: str
    values: dict[str, Any] = Field(default_factory=dict, description="From control or other handle to its value.")
    preset: Preset = "standard"
    device: Literal["cpu", "cuda"] = "cpu"
    fresh: bool = Field(False, description="Run again even if the result is kept.")


class SweepSubmission(Submission):
    """What to run over a grid."""

    axes: dict[str, Any] = Field(
        default_factory=dict, description="From control to its values: a list, or a text such as 0.1:0.9:9."
    )
    seeds: int = Field(1, ge=1, description="How many base seeds each point is run with.")


class JobSeen(BaseModel):
    """A job as it stands now."""

    id: str
    study: str
    experiment: str
    values: dict[str, str]
    preset: str
    device: str
    owner: str
    key: str = Field(description="Content key of the result.")
    state: State
    fraction: float
    message: str
    left: float | None = Field(description="Seconds left; null when that is not known.")
    started: float | None = Field(description="Seconds since the epoch.")
    took: float | None = Field(description="Seconds.")
    kept: bool = Field(description="The result was kept from before; nothing ran.")
    error: str
    notice: str
    run: str = Field(description="Id in the store, once it is there.")

    @classmethod
    def of(cls, job: Job) -> JobSeen:
        """The job of the runner."""
        asked = job.request
        return cls(
            id=job.id, study=asked.study, experiment=asked.experiment, values=dict(asked.values), preset=asked.preset,
            device=asked.device, owner=asked.owner, key=job.key, state=job.state, fraction=job.fraction,
            message=job.message, left=job.eta, started=job.started, took=job.took, kept=job.kept, error=job.error,
            notice=job.notice, run=str(job.provenance.get("run", "")),
        )  # fmt: skip


class SweepSeen(BaseModel):
    """A sweep as it stands now."""

    id: str
    study: str
    experiment: str
    state: State
    fraction: float
    message: str
    left: float | None
    points: list[dict[str, Any]] = Field(description="What is set at each point, with its state and its job.")

    @classmethod
    def of(cls, id: str, sweep: Sweep) -> SweepSeen:
        """The sweep under an id."""
        points = [
            {"values": point.values, "state": str(point.state), "job": point.job.id if point.job else None,
             "error": point.error}
            for point in sweep.points
        ]  # fmt: skip
        return cls(
            id=id, study=sweep.study.slug, experiment=sweep.experiment, state=sweep.state, fraction=sweep.fraction,
            message=sweep.message, left=sweep.eta, points=points,
        )  # fmt: skip


class Let(BaseModel):
    """What came of a cancel."""

    stopped: bool = Field(description="It stops, or had ended; false when somebody else waits for it too.")


class RunSeen(BaseModel):
    """A run as it is remembered."""

    run: str
    study: str
    experiment: str
    key: str
    state: State
    preset: str
    device: str
    seed: int
    values: dict[str, str]
    controls: dict[str, str]
    started: float | None
    took: float | None
    digest: str
    owner: str
    error: str
    claims: dict[str, dict[str, Any]]
    provenance: dict[str, Any]

    @classmethod
    def of(cls, record: Record) -> RunSeen:
        """The record of the store."""
        found = record.as_json()
        return cls.model_validate({name: found[name] for name in cls.model_fields})


class TableSeen(BaseModel):
    """A table with what is known of its columns."""

    columns: list[str]
    kinds: list[str]
    dtypes: list[str]
    units: list[str]
    docs: list[str]
    rows: list[list[Any]]


class ResultSeen(BaseModel):
    """What came out of a run: tables whole, arrays and files by name."""

    complete: bool
    digest: str
    tables: dict[str, TableSeen]
    arrays: dict[str, dict[str, Any]] = Field(description="Shape and dtype.")
    files: list[str]

    @classmethod
    def of(cls, result: Result) -> ResultSeen:
        """A result, complete or not."""
        return cls(
            complete=result.complete,
            digest=result.digest if result.complete else "",
            tables=tables_seen(result.tables),
            arrays={n: {"shape": list(a.shape), "dtype": str(a.dtype)} for n, a in result.arrays.items()},
            files=sorted(result.files),
        )


def tables_seen(tables: Mapping[str, Any]) -> dict[str, TableSeen]:
    """Tables, by name."""
    return {name: TableSeen.model_validate(table.as_json()) for name, table in tables.items()}
