"""Errands: a job on its way to a worker and back, as the runner sees it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.controls import ControlError, Data
from workbench.execution import BEGUN, LOG, Order
from workbench.job import Job, Request, State, tail_of
from workbench.limits import in_words
from workbench.record import Record
from workbench.registry import registry
from workbench.reporter import journal_tables
from workbench.snapshot import Snapshot, settle
from workbench.store import Kept, Store
from workbench.worker_pool import Pool, aside

__all__ = ["Errand", "answer", "answered_elsewhere", "attempt", "end_worker", "record_of", "snapshot_of", "take_rows"]

DEVICES = ("cpu", "cuda")
WATCHED_EVERY = 0.25  # seconds
ASKED_EVERY = 0.5


def snapshot_of(request: Request) -> Snapshot:
    """A study under what a request asks for.

    Raises:
        ControlError: no such experiment or device, or a value that cannot be.
    """
    study, name = registry().get(request.study), request.experiment
    if name not in study.experiments:
        known = ", ".join(study.experiments) or "none"
        raise ControlError("experiment", f"got {name!r}; expected one of {known}")
    if request.device not in DEVICES:
        raise ControlError("device", f"got {request.device!r}; expected one of {', '.join(DEVICES)}")
    return Snapshot(study, settle(study, request.values, request.preset), device=request.device)


@dataclass(eq=False)
class Errand:
    """A job on its way: what the runner knows of it beside what people see."""

    job: Job
    snapshot: Snapshot
    order: Order
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    record: Record | None = None
    rows: int = 0
    elsewhere: bool = False  # another process computed the same when it was asked for

    @property
    def folder(self) -> Path:
        return Path(self.order.folder)


def answer(job: Job, kept: Kept) -> None:
    """End a job with a result that is kept."""
    job.result = kept.result
    job.kept = True
    job.started, job.took = kept.record.started, kept.record.took
    job.provenance = {"run": kept.record.run, **kept.record.provenance}
    job.end(State.DONE, log=tail_of(kept.folder / LOG))


def take_rows(errand: Errand, at: int, rows: list[tuple[str, dict[str, Any]]]) -> None:
    """Append rows that follow the first `at`; where some in between were lost, take all from the journal."""
    job = errand.job
    if at > errand.rows:
        name = job.request.experiment
        found = journal_tables(errand.folder / name, errand.snapshot.study.experiments[name].tables)
        job.result.tables.update(found)
        errand.rows = sum(map(len, found.values()))
    for table, row in rows[max(0, errand.rows - at) :]:
        job.result.tables[table].append(row)
        errand.rows += 1


def record_of(snapshot: Snapshot, experiment: str, started: float | None = None) -> Record:
    """What is remembered of a run before it has begun; inputs by their hash, never by a path."""
    study, settings = snapshot.study, snapshot.settings

    def text(name: str) -> str:
        control, value = settings.controls[name], settings.values[name]
        if isinstance(study.controls[name], Data):
            found = snapshot.source(name)
            if isinstance(found, tuple):
                value = tuple(source.reference for source in found)
            else:
                value = found.reference if found is not None else value
        return control.text(value)

    return Record(
        study.slug,
        experiment,
        snapshot.key(experiment),
        controls={name: text(name) for name in study.reached_controls(experiment)},
        values={name: text(name) for name in settings.user},
        preset=settings.preset,
        device=snapshot.device,
        seed=settings.values["seed"],
        terms_hash=study.terms_hash,
        started=started,
    )


def begun_of(errand: Errand) -> dict[str, Any] | None:
    """What the process that runs an errand said of itself; None before it began."""
    try:
        return json.loads((errand.folder / BEGUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


async def answered_elsewhere(errand: Errand, store: Store) -> bool:
    """Wait while another process computes the same; returns whether that ended the job.

    A result that comes of it is the job's; where none does, the job is to be run here after all.
    """
    job = errand.job
    asked = (job.request.study, job.request.experiment, job.key)
    while (other := await aside(store.elsewhere, *asked)) is not None:
        since = time.strftime("%H:%M", time.localtime(other.started))
        job.report(0.0, f"Running elsewhere since {since}; its result is waited for")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(errand.stop.wait(), ASKED_EVERY)
            job.end(State.CANCELLED)
            return True
    kept = await aside(store.find, *asked)
    if kept is not None:
        answer(job, kept)
    return kept is not None


async def attempt(errand: Errand, pool: Pool, number: int, patience: Callable[[], float]) -> dict[str, Any]:
    """Have a worker run an errand once; returns its receipt, or one that says why there is none.

    Args:
        errand: what to run; its `stop` cancels it.
        pool: where it runs.
        number: tells attempts apart.
        patience: seconds that a job has to stop by itself before its process is ended.
    """
    future = pool.submit(f"{errand.job.id}-{number}", errand.order.as_text())

    async def outcome() -> str:
        return await future

    result = asyncio.ensure_future(outcome())
    asked = asyncio.ensure_future(errand.stop.wait())
    watch = Watch(errand, pool)
    try:
        while not result.done():
            waiting = {result} if errand.stop.is_set() else {result, asked}
            await asyncio.wait(waiting, timeout=WATCHED_EVERY, return_when=asyncio.FIRST_COMPLETED)
            if errand.stop.is_set() and pool.can_end:
                await asyncio.wait({result}, timeout=patience())
                if not result.done():
                    await end_worker(errand, pool)
                    return {"state": "cancelled"}
            elif errand.stop.is_set():
                errand.job.report(errand.job.fraction, "It stops at its next step: its worker has no nanny to end it.")
            if not pool.alive:
                return {"state": "failed", "error": "The process that holds the workers ended.", "fault": True}
            if not result.done() and (sentence := await watch.exceeded()):
                await end_worker(errand, pool)
                return {"state": "failed", "error": sentence, "fault": True}
        try:
            return json.loads(result.result())
        except Exception as error:
            if errand.stop.is_set():
                return {"state": "cancelled"}
            return {"state": "failed", "error": await pool.death(begun_of(errand), error), "fault": True}
    finally:
        asked.cancel()
        if not result.done():
            result.cancel()
            with contextlib.suppress(Exception):
                await asyncio.wait_for(future.cancel(), 0.5)


class Watch:
    """Whether a job is within its limits."""

    def __init__(self, errand: Errand, pool: Pool) -> None:
        self._errand = errand
        self._pool = pool
        self._since = 0.0

    async def exceeded(self) -> str:
        """One sentence on the limit that the job went beyond; empty while it is within."""
        limits, begun = self._errand.job.request.limits, begun_of(self._errand)
        if begun is None:
            return ""
        self._since = self._since or time.monotonic()
        if time.monotonic() - self._since > limits.seconds:
            return f"It took more than {in_words(limits.seconds)}, its limit of time."
        held = await self._pool.memory(begun)
        if held > limits.bytes:
            return f"It held {held / 2**30:.2g} GiB of memory; its limit is {limits.bytes / 2**30:.2g} GiB."
        return ""


async def end_worker(errand: Errand, pool: Pool) -> None:
    """End the process that runs an errand."""
    if (begun := begun_of(errand)) is not None:
        await pool.end(begun)
