"""Limits of a job: how long it may take and how much memory it may hold before it is ended."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import psutil

from workbench.controls import ControlError
from workbench.sizes import size_limit

__all__ = ["Limits", "in_words", "machine_memory"]

DAY = 24 * 3600.0
SHARE = 0.8  # of the machine's memory
SECONDS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3600.0, "d": DAY}
CGROUP = Path("/sys/fs/cgroup/memory.max")


def machine_memory() -> int:
    """Bytes of memory that this machine, or the container that this process is in, has."""
    total = psutil.virtual_memory().total
    try:
        return min(total, int(CGROUP.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return total


@dataclass(frozen=True)
class Limits:
    """What a job may use.

    Attributes:
        seconds: from when a worker begins it; a day when left out.
        memory: bytes that its process and those it starts may hold; four fifths of the machine's when left out.
    """

    seconds: float = DAY
    memory: int = 0

    @property
    def bytes(self) -> int:
        """The limit of memory."""
        return self.memory or int(SHARE * machine_memory())

    @classmethod
    def chosen(cls) -> Limits:
        """The limits that `ASSAY_TIME_LIMIT` and `ASSAY_MEMORY_LIMIT` say.

        Raises:
            ControlError: a limit that cannot be.
        """
        return cls.from_text(os.environ.get("ASSAY_TIME_LIMIT") or None, os.environ.get("ASSAY_MEMORY_LIMIT") or None)

    @classmethod
    def from_text(cls, time: str | None = None, memory: str | None = None) -> Limits:
        """Limits as a person writes them: `90 s`, `30 min`, `2 h`; `800 MB`, `4 GiB`.

        Raises:
            ControlError: a limit that cannot be.
        """
        given = cls()
        if time is not None:
            given = cls(seconds_typed("time-limit", time), given.memory)
        if memory is not None:
            given = cls(given.seconds, size_limit("memory-limit", memory))
        return given


def seconds_typed(field: str, text: str) -> float:
    """Seconds, more than none, from what a person types.

    Raises:
        ControlError: it is no time.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([a-zA-Z]*)\s*", text)
    unit = SECONDS.get(found[2].lower()) if found else None
    if found is None or unit is None or float(found[1]) * unit < 1e-9:
        raise ControlError(field, f"got {text[:60]!r}; expected a time above 0 such as 90 s, 30 min or 2 h")
    return float(found[1]) * unit


def in_words(seconds: float) -> str:
    """A time as a person says it."""
    for unit, size in (("days", DAY), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} seconds"
