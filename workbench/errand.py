"""Errands: a job on its way to a worker and back, as the runner sees it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.controls import Data
from workbench.execution import BEGUN, LOG, Order
from workbench.job import Job, State, tail_of
from workbench.record import Record
from workbench.reporter import journal_tables
from workbench.snapshot import Snapshot
from workbench.store import Kept
from workbench.worker_pool import WorkerPool, end_process

__all__ = ["Errand", "answer", "death_of", "end_worker", "record_of", "take_rows"]


@dataclass(eq=False)
class Errand:
    """A job on its way: what the runner knows of it beside what people see."""

    job: Job
    snapshot: Snapshot
    order: Order
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    record: Record | None = None
    rows: int = 0

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


def record_of(snapshot: Snapshot, experiment: str, job: Job) -> Record:
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
        started=job.started,
    )


def end_worker(errand: Errand) -> None:
    """Kill the process that runs an errand; its nanny starts another."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        begun = json.loads((errand.folder / BEGUN).read_text(encoding="utf-8"))
        end_process(begun["pid"], begun["created"])


async def death_of(errand: Errand, pool: WorkerPool, error: Exception) -> str:
    """One sentence on how a worker process ended, from what its nanny saw."""
    try:
        pid = json.loads((errand.folder / BEGUN).read_text(encoding="utf-8"))["pid"]
    except (OSError, ValueError, KeyError):
        return f"{type(error).__name__}: {error}"[:500]
    for _ in range(80):
        if found := re.search(rf"Worker process {pid} (exited with status|was killed by signal) (\d+)", pool.log):
            break
        await asyncio.sleep(0.05)
    else:
        return "The worker process ended."
    number = int(found[2])
    if "status" in found[1]:
        return f"The worker process ended with status {number}."
    if number == signal.SIGKILL:
        return "The worker process was killed; perhaps the machine ran out of memory."
    return f"The worker process crashed ({signal.strsignal(number)}, signal {number})."
