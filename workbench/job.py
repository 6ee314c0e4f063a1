"""Jobs as those who asked for them see them: state, progress, rows as they come, and how to wait or cancel."""

from __future__ import annotations

import logging
import math
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from workbench.limits import Limits
from workbench.results import Result
from workbench.run_protocol import Cancelled

__all__ = ["Bell", "Countdown", "Job", "JobFailed", "Request", "State", "tail_of"]

LOG_SHOWN = 64 * 1024
RINGS_APART = 0.05


class State(StrEnum):
    """The states of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    LOST = "lost"

    @property
    def ended(self) -> bool:
        """Nothing follows."""
        return self not in (State.QUEUED, State.RUNNING)


@dataclass(frozen=True)
class Request:
    """What to run: a study's experiment under what a person set.

    Attributes:
        study: slug.
        experiment: its name.
        values: what was set, as text, without paths.
        preset: `quick`, `standard` or `full`.
        device: `cpu` or `cuda`.
        fresh: run again even if the result is kept; earlier stages that are kept are not run again.
        owner: who asks; empty where nobody signs in.
        limits: time and memory after which it is ended; no part of what is computed.
    """

    study: str
    experiment: str
    values: dict[str, str] = field(default_factory=dict)
    preset: str = "standard"
    device: str = "cpu"
    fresh: bool = False
    owner: str = ""
    limits: Limits = field(default_factory=Limits.chosen)

    def as_json(self) -> dict[str, Any]:
        """The request as plain data."""
        return {
            "study": self.study, "experiment": self.experiment, "values": self.values, "preset": self.preset,
            "device": self.device,
        }  # fmt: skip


class JobFailed(RuntimeError):
    """A job ended without a result: one sentence; `fault` is False when the input was at fault."""

    def __init__(self, sentence: str, *, fault: bool = True, log: str = "") -> None:
        super().__init__(sentence)
        self.fault = fault
        self.log = log


class Countdown:
    """Seconds left, from fractions as they come in: smoothed, and counting down between two of them.

    A fraction that falls back starts a new count: another loop has begun.
    """

    SMOOTHING = 2.0

    def __init__(self) -> None:
        self._from = (0.0, 0.0)
        self._fraction = -1.0
        self._said = (0.0, math.nan)

    def report(self, fraction: float, now: float) -> None:
        """A fraction done, from 0 to 1, at a time in seconds."""
        if fraction < self._fraction or self._fraction < 0:
            self._from = (fraction, now)
            self._said = (now, math.nan)
        self._fraction = fraction
        gained, spent = fraction - self._from[0], now - self._from[1]
        if gained < 0.01 or spent < 0.5:
            return
        raw = spent * (1 - fraction) / gained
        before = self.left(now)
        if before is not None:
            weight = 1 - math.exp(-(now - self._said[0]) / self.SMOOTHING)
            raw = before + weight * (raw - before)
        self._said = (now, raw)

    def left(self, now: float) -> float | None:
        """Seconds left; None while that is anybody's guess."""
        at, left = self._said
        return None if math.isnan(left) else max(0.0, left - (now - at))


class Job:
    """One experiment, asked for and on its way.

    Attributes:
        id: unique name.
        request: what was asked for.
        key: content key of the result.
        state: see `State`.
        fraction: how far it is, from 0 to 1; a further loop of the experiment begins at 0 again.
        message: what is being done, in words.
        started: when a worker began, seconds since the epoch; None before.
        took: seconds from then to the end; None before.
        result: what there is so far; its tables grow while rows come, and `complete` is True when it is done.
        stages: the results of earlier stages, once done.
        error: one sentence when it failed.
        fault: it failed by a fault in code and not by its input.
        notice: one sentence when the result could not be kept.
        kept: the result was kept from before; nothing ran.
        older: what was kept was given by older code or packages, under a key of theirs.
        holders: those who wait for it; it stops when the last of them lets go.
        provenance: run id, seed, data, code, versions, device, threads, started, took.
    """

    def __init__(self, request: Request, key: str, cancel: Callable[[Job], None], bell: Bell) -> None:
        self.id = uuid.uuid4().hex[:12]
        self.request = request
        self.key = key
        self.state = State.QUEUED
        self.fraction = 0.0
        self.message = ""
        self.started: float | None = None
        self.took: float | None = None
        self.result = Result()
        self.stages: dict[str, Result] = {}
        self.error = ""
        self.fault = False
        self.notice = ""
        self.kept = False
        self.older = False
        self.holders: set[str] = set()
        self.provenance: dict[str, Any] = {}
        self.log_file: Path | None = None
        self._log = ""
        self._cancel = cancel
        self._bell = bell
        self._countdown = Countdown()
        self._over = threading.Event()
        self.listeners: list[Callable[[], None]] = []

    def failure(self, title: str) -> str:
        """One sentence on why it failed; a refused input speaks for itself, a fault is the experiment's of a title."""
        return f"“{title}” failed: {self.error}" if self.fault else self.error

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.request.study}/{self.request.experiment}, {self.state}>"

    @property
    def eta(self) -> float | None:
        """Seconds left; None when that is not known."""
        return None if self.state is not State.RUNNING else self._countdown.left(time.monotonic())

    @property
    def log(self) -> str:
        """The end of what the worker printed, with the traceback of a fault."""
        return self._log or (tail_of(self.log_file) if self.log_file else "")

    def cancel(self, by: str | None = None) -> bool:
        """Ask the job to stop. It is cancelled within two seconds, whatever it does; nothing happens when it ended.

        Args:
            by: the holder who lets go; the job goes on while another one holds it. None stops it for all.

        Returns:
            it stops, or has ended.
        """
        if by is not None:
            self.holders.discard(by)
            if self.holders and not self.state.ended:
                return False
        self._cancel(self)
        return True

    def wait(self, timeout: float | None = None) -> Result:
        """The result, once it is there.

        Args:
            timeout: seconds; None waits for ever.

        Raises:
            TimeoutError: it is not there yet; the job goes on.
            JobFailed: the job ended without one.
            Cancelled: the job was cancelled.
        """
        if not self._over.wait(timeout):
            raise TimeoutError(f"{self.request.experiment} is {self.state} after {timeout:g} s.")
        if self.state is State.CANCELLED:
            raise Cancelled(f"{self.request.experiment} was cancelled.")
        if self.state is not State.DONE:
            raise JobFailed(self.error, fault=self.fault, log=self.log)
        return self.result

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when something changed: at most 20 times a second, always after the end, from another thread.

        Returns:
            what ends that.
        """
        self.listeners.append(callback)
        if self.state.ended:
            self._bell.ring(self)
        return lambda: self.listeners.remove(callback) if callback in self.listeners else None

    def report(self, fraction: float, message: str) -> None:
        """How far the worker is; for the runner."""
        self.fraction, self.message = fraction, message
        self._countdown.report(fraction, time.monotonic())
        self._bell.ring(self)

    def changed(self) -> None:
        """Tell those who listen; for the runner."""
        self._bell.ring(self)

    def end(self, state: State, *, log: str = "") -> None:
        """The job is over; for the runner, which has set everything else before."""
        self._log = log
        self.log_file = None
        if state is State.DONE:
            self.fraction = 1.0
        self.state = state
        self._over.set()
        self._bell.ring(self)


class Bell:
    """Calls the listeners of jobs from a thread of its own, so that a slow listener delays no job."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._waiting: dict[Job, float] = {}
        self._rang: dict[Job, float] = {}
        self._closed = False
        self._thread: threading.Thread | None = None

    def ring(self, job: Job) -> None:
        """Call a job's listeners soon."""
        with self._wake:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, name="assay-bell", daemon=True)
                self._thread.start()
            self._waiting.setdefault(job, self._rang.get(job, -math.inf) + RINGS_APART)
            self._wake.notify()

    def close(self, timeout: float = 1.0) -> None:
        """Ring what is waiting, then stop."""
        with self._wake:
            self._closed = True
            self._wake.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _next(self) -> Job | None:
        with self._wake:
            while True:
                now = time.monotonic()
                due = min(self._waiting.items(), key=lambda one: one[1], default=None)
                if due is not None and (due[1] <= now or self._closed):
                    del self._waiting[due[0]]
                    self._rang = {j: t for j, t in self._rang.items() if now - t < RINGS_APART}
                    self._rang[due[0]] = now
                    return due[0]
                if due is None and self._closed:
                    return None
                self._wake.wait(None if due is None else due[1] - now)

    def _work(self) -> None:
        while (job := self._next()) is not None:
            for listener in list(job.listeners):
                try:
                    listener()
                except Exception:
                    logging.getLogger(__name__).exception("a listener of %r failed", job)


def tail_of(path: Path) -> str:
    """The end of a text file; empty when there is none."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LOG_SHOWN))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
