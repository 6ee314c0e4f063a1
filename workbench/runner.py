"""Jobs: experiments that run in a worker process, with progress, rows as they come, and a cancel that works.

Workers start with the first job, or with `warm`. A job's data go through the disk: the worker writes each stage into
the job's folder, the runner takes it into the store, and nothing that is finished is lost when a process dies.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.controls import ControlError
from workbench.errand import Errand, answer, answered_elsewhere, attempt, end_worker, record_of, snapshot_of, take_rows
from workbench.execution import BEGUN, CANCEL, LOG, OWN_VARIABLES, Order, Stage, read_stage
from workbench.job import Bell, Job, JobFailed, Request, State, tail_of
from workbench.record import Record
from workbench.reporter import journal_tables
from workbench.result_files import read_result
from workbench.results import Result, Table
from workbench.snapshot import Snapshot
from workbench.store import Store, StoreError
from workbench.worker_cluster import ClusterPool
from workbench.worker_pool import Pool, PoolError, WorkerPool, aside, unless

__all__ = ["Job", "JobFailed", "Request", "Runner", "State", "default_runner"]

PATIENCE = 0.8
MOST_AT_ONCE = 256
JOBS_REMEMBERED = 200


class Runner:
    """Runs experiments in worker processes.

    Args:
        store: where results are looked for and kept; None keeps nothing beyond this process.
        workers: how many processes at most; a job has one for itself, and each is started when it is first needed.
            With a scheduler, how many jobs are handed out at once.
        scheduler: address of a Dask scheduler whose workers run the jobs, in the place of processes of our own.
        warm: start them now.
    """

    def __init__(
        self, store: Store | None, *, workers: int = 1, scheduler: str | None = None, warm: bool = False
    ) -> None:
        self.store = store
        self.workers = workers
        self._scheduler = scheduler
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._errands: dict[str, Errand] = {}
        self._results: dict[str, Path] = {}  # without a store: folders of complete results, for later stages
        self._tasks: set[asyncio.Future[None]] = set()
        self._bell = Bell()
        self._closed = False
        self._place: Path | None = None
        self._pool: Pool | None = None
        self._loop = asyncio.new_event_loop()
        self._slots = asyncio.Semaphore(workers)
        self._at_once = 0
        self._starting = asyncio.Lock()
        self._thread: threading.Thread | None = None
        if warm:
            self.warm()

    # what others call

    def submit(self, request: Request, by: str = "") -> Job:
        """Ask for an experiment.

        An equal request that is queued or running is joined; a result that is kept answers at once unless the request
        is fresh. Earlier stages that are not kept are run first.

        Args:
            request: what to run.
            by: who holds the job from now on; see `Job.cancel`.

        Raises:
            ControlError: no such experiment, or a value or input that cannot be.
        """
        snapshot = snapshot_of(request)
        key = snapshot.key(request.experiment)
        with self._lock:
            if self._closed:
                raise RuntimeError("The runner is closed.")
            for job in self._jobs.values():
                if job.key == key and not job.state.ended:
                    job.holders.add(by)
                    return job
            job = Job(request, key, self._cancel, self._bell)
            job.holders.add(by)
            self._remember(job)
        try:
            self._answer(job, snapshot)
        except BaseException:
            self._forget(job)
            raise
        return job

    def recall(self, request: Request) -> Job | None:
        """The job of a result that is kept, ended; None where there is none. Nothing is run.

        Where none is kept of the code and packages of now, the newest that others gave stands in, as long as it has
        the tables that the experiment declares now; its job says `older`.

        Raises:
            ControlError: no such experiment, or a value or input that cannot be.
        """
        if self.store is None:
            return None
        snapshot = snapshot_of(request)
        asked = record_of(snapshot, request.experiment)
        kept = self.store.find(request.study, request.experiment, asked.key) or self.store.older(asked)
        if kept is None or not kept.result.fits(snapshot.study.experiments[request.experiment].tables):
            return None
        job = Job(request, kept.record.key, self._cancel, self._bell)
        job.older = kept.record.key != asked.key
        with self._lock:
            self._remember(job)
        answer(job, kept)
        return job

    def jobs(self) -> list[Job]:
        """The jobs of this process, newest first."""
        with self._lock:
            return list(reversed(self._jobs.values()))

    def job(self, id: str) -> Job:
        """The job of an id; raises KeyError when there is none."""
        with self._lock:
            return self._jobs[id]

    def warm(self) -> None:
        """Start the workers now, in the background, so that the first job need not wait for them."""
        asyncio.run_coroutine_threadsafe(self._warm(), self._running())

    def close(self) -> None:
        """Cancel what runs, end the workers, and forget what was not kept."""
        with self._lock:
            closed, self._closed = self._closed, True
            thread = self._thread
        if closed:
            return
        if thread is not None and thread is not threading.current_thread():
            with contextlib.suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(10)
            if self._pool is not None:
                self._pool.kill()
            self._loop.call_soon_threadsafe(self._loop.stop)
            thread.join(2)
        self._bell.close()
        if self._place is not None and self.store is not None:
            shutil.rmtree(self._place, ignore_errors=True)

    # answering a request

    def _answer(self, job: Job, snapshot: Snapshot) -> None:
        """End the job with what is kept, or send it on its way."""
        name, study = job.request.experiment, snapshot.study
        earlier = [stage for stage in study.reached_experiments(name) if stage != name]
        earlier.sort(key=lambda stage: len(study.reached_experiments(stage)))
        keys = {stage: snapshot.key(stage) for stage in earlier}
        given: dict[str, str] = {}
        for stage in earlier:
            if (found := self._find(snapshot, stage, keys[stage])) is not None:
                job.stages[stage], given[stage] = found
        if not job.request.fresh and self.store is not None:
            kept = self.store.find(study.slug, name, job.key)
            if kept is not None:
                answer(job, kept)
                return
        job.result.tables.update({n: Table(c) for n, c in study.experiments[name].tables.items()})
        place = self._workplace()
        folder = place / job.id
        stages = [Stage(stage, keys[stage]) for stage in earlier if stage not in given]
        order = Order(
            job=job.id,
            folder=str(folder),
            study=study.slug,
            values=dict(job.request.values),
            preset=job.request.preset,
            device=job.request.device,
            stages=(*stages, Stage(name, job.key, fresh=job.request.fresh)),
            given=given,
            items=str(self.store.items if self.store is not None else place / "items"),
            variables={v: os.environ[v] for v in OWN_VARIABLES if v in os.environ},
        )
        for stage in order.stages:
            (folder / stage.experiment).mkdir(parents=True)
        errand = Errand(job, snapshot, order)
        if self.store is not None and not job.request.fresh:  # here and not in the loop, where jobs keep their order
            errand.elsewhere = self.store.elsewhere(study.slug, name, job.key) is not None
        loop = self._running()
        self._errands[job.id] = errand
        asyncio.run_coroutine_threadsafe(self._carry_out(errand), loop)

    def _find(self, snapshot: Snapshot, stage: str, key: str) -> tuple[Result, str] | None:
        if self.store is not None:
            kept = self.store.find(snapshot.study.slug, stage, key)
            return None if kept is None else (kept.result, str(kept.folder))
        folder = self._results.get(key)
        return None if folder is None else (read_result(folder), str(folder))

    def _remember(self, job: Job) -> None:
        self._jobs[job.id] = job
        ended = [other.id for other in self._jobs.values() if other.state.ended]
        for id in ended[: max(0, len(ended) - JOBS_REMEMBERED)]:
            del self._jobs[id]

    def _forget(self, job: Job) -> None:
        with self._lock:
            self._jobs.pop(job.id, None)
        job.error, job.fault = "It could not be started.", True
        job.end(State.FAILED)  # for those who joined it meanwhile

    def _workplace(self) -> Path:
        """A folder for this runner's jobs; beside the store, so that results are moved and not copied."""
        with self._lock:
            if self._place is None:
                try:
                    if self.store is None:
                        raise StoreError("There is no store.")
                    self._place = self.store.workplace() / uuid.uuid4().hex[:8]
                    self._place.mkdir()
                except (StoreError, OSError):
                    self._place = Path(tempfile.mkdtemp(prefix="assay-jobs-"))
                    atexit.register(shutil.rmtree, self._place, ignore_errors=True)
            return self._place

    def _running(self) -> asyncio.AbstractEventLoop:
        """The loop, in its thread."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop.run_forever, name="assay-runner", daemon=True)
                self._thread.start()
            return self._loop

    def _cancel(self, job: Job) -> None:
        errand = self._errands.get(job.id)
        if errand is not None and not job.state.ended:
            with contextlib.suppress(OSError):
                (errand.folder / CANCEL).touch()
            self._loop.call_soon_threadsafe(errand.stop.set)

    # in the loop

    async def _warm(self) -> None:
        try:
            await self._workers_ready()
        except PoolError as error:
            logging.getLogger(__name__).warning("%s", error)

    async def _workers_ready(self) -> Pool:
        async with self._starting:
            if self._pool is None or not self._pool.alive:
                if self._pool is not None:
                    await self._pool.stop()
                if self.store is not None:
                    opening = asyncio.ensure_future(aside(self._open_store, self.store))
                    self._tasks.add(opening)
                    opening.add_done_callback(self._tasks.discard)
                folder = self._workplace() / "host"
                pool = (
                    WorkerPool(1, folder, self._heard)
                    if self._scheduler is None
                    else ClusterPool(self._scheduler, folder, self._heard)
                )
                await pool.start()
                self._pool = pool
            return self._pool

    @staticmethod
    def _open_store(store: Store) -> None:
        """Have the store ready by the time that it is written to."""
        with contextlib.suppress(StoreError):  # a job that cannot be kept says so
            store.open()
            store.sweep()

    async def _carry_out(self, errand: Errand) -> None:
        job = errand.job
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        job.log_file = errand.folder / LOG
        try:
            if errand.elsewhere and self.store is not None and await answered_elsewhere(errand, self.store):
                return
            if await unless(self._slots.acquire(), errand.stop):
                self._at_once += 1
                try:
                    begun = asyncio.ensure_future(aside(self._begin, errand))
                    receipt = await self._perform(errand)
                    await self._settle(errand, receipt, begun)
                finally:
                    self._at_once -= 1
                    self._slots.release()
            else:
                job.end(State.CANCELLED)
        except Exception as error:
            logging.getLogger(__name__).exception("the runner failed at %r", job)
            if not job.state.ended:
                job.error, job.fault = f"{type(error).__name__}: {error}", True
                job.end(State.FAILED, log=tail_of(errand.folder / LOG))
        finally:
            self._errands.pop(job.id, None)
            self._tasks.discard(task)
            if self.store is not None and not job.notice:
                shutil.rmtree(errand.folder, ignore_errors=True)

    async def _perform(self, errand: Errand) -> dict[str, Any]:
        """Have a worker run the order; returns its receipt, or one that says why there is none."""
        starting = asyncio.ensure_future(self._workers_ready())
        try:
            if not await unless(asyncio.shield(starting), errand.stop):
                return {"state": "cancelled"}
            starting.result().grow(self._at_once)
            receipt = await attempt(errand, starting.result(), 1, self._patience)
            if receipt["state"] == "stale":  # the worker holds code from before an edit: a new one reads it anew
                await end_worker(errand, starting.result())
                (errand.folder / BEGUN).unlink(missing_ok=True)
                receipt = await attempt(errand, starting.result(), 2, self._patience)
        except PoolError as error:
            return {"state": "failed", "error": str(error), "fault": True}
        if receipt["state"] == "stale":
            sentence = (
                f"The code of {errand.order.study} has changed on disk since it was loaded here; restart to use it."
            )
            return {"state": "failed", "error": sentence, "fault": True}
        return receipt

    def _patience(self) -> float:
        """Seconds that a job has to stop by itself."""
        return 0.1 if self._closed else PATIENCE

    def _heard(self, message: dict[str, Any]) -> None:
        """A worker says how far a job is."""
        errand = self._errands.get(message["job"])
        if errand is None or errand.job.state.ended:
            return
        job, stages = errand.job, [stage.experiment for stage in errand.order.stages]
        if message.get("begun") and job.state is State.QUEUED:
            job.state, job.started = State.RUNNING, time.time()
            job.changed()
        last = message["stage"] == job.request.experiment
        if last and message.get("rows"):
            take_rows(errand, message["at"], message["rows"])
            job.changed()
        if message.get("progress"):
            fraction, words = message["progress"]
            if not last:
                words = f"{errand.snapshot.study.experiments[message['stage']].title}: {words}".removesuffix(": ")
            job.report((stages.index(message["stage"]) + fraction) / len(stages), words)

    async def _settle(self, errand: Errand, receipt: dict[str, Any], begun: Awaitable[None]) -> None:
        """Keep what there is and end the job."""
        job = errand.job
        log = tail_of(errand.folder / LOG)
        if job.started is not None:
            job.took = time.time() - job.started
        state = State(receipt["state"])
        if state is State.DONE:
            await begun
            await aside(self._keep, errand)
            job.end(state, log=log)
            return
        job.error, job.fault = receipt.get("error", ""), bool(receipt.get("fault", False))
        name = job.request.experiment
        columns = errand.snapshot.study.experiments[name].tables
        found = journal_tables(errand.folder / name, columns)
        if sum(map(len, found.values())) > errand.rows:
            job.result.tables.update(found)
        job.end(state, log=log)  # first of all: nobody waits for the store
        await begun
        await aside(self._keep, errand)
        job.changed()

    # with the store, in a thread of its own

    def _begin(self, errand: Errand) -> None:
        """Note in the store that the job has begun."""
        if self.store is None:
            return
        job = errand.job
        record = replace(record_of(errand.snapshot, job.request.experiment, job.started), state=State.RUNNING)
        try:
            errand.record = self.store.begin(replace(record, started=time.time()))
        except StoreError as error:
            job.notice = f"This run could not be kept: {error}"

    def _keep(self, errand: Errand) -> None:
        """Take every stage that is complete into the store, and note how the job ended."""
        job, name = errand.job, errand.job.request.experiment
        complete = False
        for stage in errand.order.stages:
            folder = errand.folder / stage.experiment
            facts = read_stage(folder)
            if facts is None:
                continue
            record = record_of(errand.snapshot, stage.experiment, job.started)
            record = replace(
                record, state=State.DONE, started=facts["started"], took=facts["took"], digest=facts["digest"],
                claims=facts["claims"], provenance=facts["provenance"],
            )  # fmt: skip
            if stage.experiment == name:
                complete = True
                record = replace(record, run=errand.record.run if errand.record else "")
            with contextlib.suppress(OSError):
                shutil.copyfile(errand.folder / LOG, folder / LOG)
            record, folder = self._into_store(job, record, folder)
            self._results[stage.key] = folder
            result = read_result(folder)
            if stage.experiment == name:
                job.provenance = {"run": record.run, **record.provenance}
                job.took = record.took
                job.result.tables.update(result.tables)
                job.result.arrays.update(result.arrays)
                job.result.files.update(result.files)
                job.result.complete = True
            else:
                job.stages[stage.experiment] = result
        if not complete and errand.record is not None and self.store is not None:
            told = errand.folder / "told"
            told.mkdir()
            with contextlib.suppress(OSError):
                shutil.copyfile(errand.folder / LOG, told / LOG)
            ended = replace(errand.record, state=job.state, took=job.took, error=job.error)
            with contextlib.suppress(StoreError):
                self.store.finish(ended, told)

    def _into_store(self, job: Job, record: Record, folder: Path) -> tuple[Record, Path]:
        if self.store is None or job.notice:
            return record, folder
        try:
            if not record.run:
                record = self.store.begin(record)
            return record, self.store.finish(record, folder) or folder
        except StoreError as error:
            job.notice = f"This run could not be kept: {error}"
            return record, folder

    async def _shut(self) -> None:
        for errand in list(self._errands.values()):
            errand.job.cancel()
        await asyncio.sleep(0)
        if self._tasks:
            await asyncio.wait(set(self._tasks), timeout=8)
        async with self._starting:  # a pool that is on its way is ended too
            if self._pool is not None:
                await self._pool.stop()


_default: tuple[Path, Runner] | None = None
_default_lock = threading.Lock()


def default_runner() -> Runner:
    """The runner of this process, with the user's store; another one when the user's folder is another."""
    global _default
    with _default_lock:
        store = Store()
        if _default is not None and _default[0] == store.folder:
            return _default[1]
        if _default is not None:
            _default[1].close()
        scheduler = os.environ.get("ASSAY_SCHEDULER") or None
        _default = store.folder, Runner(store, workers=worker_count(scheduler), scheduler=scheduler)
        return _default[1]


def worker_count(scheduler: str | None) -> int:
    """How many jobs run at once: `ASSAY_WORKERS`, or one a core; all that come where a cluster shares them out.

    Raises:
        ControlError: the variable is no such number.
    """
    given = os.environ.get("ASSAY_WORKERS", "")
    if not given:
        return len(os.sched_getaffinity(0)) if scheduler is None else MOST_AT_ONCE
    if not given.isdigit() or not 1 <= int(given) <= MOST_AT_ONCE:
        raise ControlError("workers", f"got {given[:40]!r}; expected a whole number from 1 to {MOST_AT_ONCE}")
    return int(given)


@atexit.register
def close_default() -> None:
    """Leave no worker behind."""
    if _default is not None:
        _default[1].close()
