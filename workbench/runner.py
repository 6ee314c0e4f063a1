"""Jobs: experiments that run in a worker process, with progress, rows as they come, and a cancel that works."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Request", "State"]


class State(StrEnum):
    """The states of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True)
class Request:
    """What to run: a study's experiment under what a person set.

    Attributes:
        study: slug.
        experiment: its name.
        values: what was set, as text, without paths.
        preset: `quick`, `standard` or `full`.
        device: `cpu` or `cuda`.
        fresh: run again even if the result is kept.
    """

    study: str
    experiment: str
    values: dict[str, str] = field(default_factory=dict)
    preset: str = "standard"
    device: str = "cpu"
    fresh: bool = False

    def as_json(self) -> dict[str, Any]:
        """The request as plain data."""
        return {
            "study": self.study, "experiment": self.experiment, "values": self.values, "preset": self.preset,
            "device": self.device,
        }  # fmt: skip
