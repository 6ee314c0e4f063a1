"""The log of a job's progress: when it was how far, and what it was doing; a line of JSON each."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["PROGRESS", "ProgressLog"]

PROGRESS = "progress.jsonl"
APART = 0.5
STEP = 0.05
MOST = 5000


class ProgressLog:
    """Writes down how far a stage is: a line where the words change or a twentieth is done, at most two a second.

    Args:
        folder: of the stage; lines are appended to `progress.jsonl` in it: `after` (seconds), `fraction`, `message`.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / PROGRESS
        self._started = time.monotonic()
        self._said = (-1.0, -1.0, "")
        self._lines = 0

    def note(self, fraction: float, message: str) -> None:
        """The stage is so far."""
        after = time.monotonic() - self._started
        when, before, words = self._said
        news = message != words or fraction - before >= STEP or fraction < before
        if not (news and after - when >= APART) and not (fraction >= 1 > before):
            return
        self._said = (after, fraction, message)
        self._lines += 1
        if self._lines > MOST:
            return
        line = json.dumps({"after": round(after, 2), "fraction": round(fraction, 4), "message": message})
        with suppress(OSError), self._path.open("a", encoding="utf-8") as log:
            log.write(line + "\n")
