"""Records: what is remembered of a run, and whether the process that began it is still there."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import psutil

from workbench.job import State

__all__ = ["Record", "is_gone", "is_here", "process_mark", "read_record"]


@dataclass(frozen=True)
class Record:
    """What is remembered of a run.

    Attributes:
        study, experiment: what ran.
        key: its content key.
        controls: canonical values of the controls that it reaches, as text; names and hashes of data, never a path.
        values: what a person had set, as text; opens the same page again.
        preset, device, seed: as asked for.
        terms_hash: hash of the expectations and presets in force.
        run: id in the store; empty until it is there.
        state: see `State`.
        started: seconds since the epoch.
        took: seconds.
        digest: of the result.
        claims: from claim to its judgement as plain data, for those that could be judged.
        provenance: what the numbers depend on.
        error: one sentence when it failed.
        owner: who asked for it; empty where nobody signs in.
        origin: the run elsewhere that it was imported from; empty for one that was run here.
    """

    study: str
    experiment: str
    key: str
    controls: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    preset: str = "standard"
    device: str = "cpu"
    seed: int = 0
    terms_hash: str = ""
    run: str = ""
    state: State = State.QUEUED
    started: float | None = None
    took: float | None = None
    digest: str = ""
    claims: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    owner: str = ""
    origin: str = ""

    def as_json(self) -> dict[str, Any]:
        """The record as plain data."""
        return asdict(self) | {"state": str(self.state)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Record:
        """The record that `as_json` wrote; fields of later versions are dropped."""
        known = {f.name for f in fields(cls)}
        given: dict[str, Any] = {k: v for k, v in data.items() if k in known}
        return cls(**{**given, "state": State(data["state"])})


def read_record(path: Path) -> Record | None:
    """The record in a file; None where there is none that can be read."""
    try:
        return Record.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def process_mark() -> str:
    """This process, told apart from a later one of the same number: host, number, start time."""
    me = psutil.Process()
    return f"{platform.node()}~{me.pid}~{me.create_time():.2f}"


def is_here(mark: str) -> bool:
    """The process of a mark ran on this machine."""
    return mark.count("~") >= 2 and mark.rsplit("~", 2)[0] == platform.node()


def is_gone(mark: str) -> bool:
    """The process of a mark ran on this machine and has ended."""
    if not is_here(mark):
        return False
    _, number, started = mark.rsplit("~", 2)
    try:
        process = psutil.Process(int(number))
        return abs(process.create_time() - float(started)) > 5 or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    except (psutil.Error, ValueError):
        return False
