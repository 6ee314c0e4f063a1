"""The API: studies, jobs, sweeps and runs for scripts, with progress as server-sent events.

Everything is asked for in the visitor's name: they see and cancel their own jobs, admins all; they see the runs whose
data they may read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from importlib.metadata import version
from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, StreamingResponse
from prometheus_client import Counter
from pydantic import BaseModel

from workbench.controls import ControlError
from workbench.job import Job
from workbench.record import Record
from workbench.registry import UnknownStudy, registry
from workbench.result_files import DamagedResult, read_result
from workbench.runner import default_runner
from workbench.server.api_models import (
    JobSeen,
    Let,
    Problem,
    ResultSeen,
    RunSeen,
    StudyCard,
    Submission,
    SweepSeen,
    SweepSubmission,
    VisitorSeen,
)  # fmt: skip
from workbench.server.api_page import api_page
from workbench.server.permission import may_run
from workbench.server.upload_routes import upload_routes
from workbench.session import Session
from workbench.store import Store, StoreError, UnknownRun
from workbench.study import StudyError
from workbench.sweep import Sweep
from workbench.visitors import Visitor, visitor

__all__ = ["api_routes"]

HEARTBEAT = 10.0  # seconds after which a stream says that it lives
SWEEPS_REMEMBERED = 50
REFUSALS = {
    401: {"model": Problem, "description": "Nobody is signed in."},
    403: {"model": Problem, "description": "The visitor's role does not allow it."},
    404: {"model": Problem, "description": "There is no such thing, or it is not the visitor's to see."},
    422: {"model": Problem, "description": "A value that cannot be, in one sentence."},
    503: {"model": Problem, "description": "The store cannot be used."},
}


def problem(status: int, detail: str, field: str = "") -> JSONResponse:
    return JSONResponse(Problem(detail=detail, field=field).model_dump(), status_code=status)


def refusals(app: FastAPI) -> None:
    """Turn what is raised below into one sentence each."""
    handle = app.exception_handler

    @handle(ControlError)
    async def _(_: Request, error: ControlError) -> JSONResponse:
        return problem(422, str(error), error.field)

    @handle(RequestValidationError)
    async def _(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        field = ".".join(part for part in first["loc"][1:] if isinstance(part, str))
        return problem(422, f"{field or 'body'}: {first['msg'].removeprefix('Value error, ')}.", field)

    for kind, status in ((UnknownStudy, 404), (UnknownRun, 404), (StudyError, 503), (StoreError, 503)):

        @handle(kind)
        async def _(_: Request, error: Exception, status: int = status) -> JSONResponse:
            return problem(status, str(error))


def holder(who: Visitor) -> str:
    """What a job that is asked for here is held by."""
    return f"{who.name}/api"


def is_theirs(job: Job, who: Visitor) -> bool:
    return who.may_follow(job.request.owner, job.holders)


def job_of(id: str) -> Job:
    """A job of the visitor's."""
    try:
        job = default_runner().job(id)
    except KeyError:
        job = None
    if job is None or not is_theirs(job, visitor()):
        raise HTTPException(404, f"job: got {id[:40]!r}; expected the id of a job of yours")
    return job


def let_go(job: Job, who: Visitor) -> bool:
    """Stop a job for whom it is asked: all of it by an admin who does not hold it, else what the visitor holds."""
    own = [h for h in list(job.holders) if h.startswith(f"{who.name}/")]
    if not own:
        return job.cancel()
    return [job.cancel(h) for h in own][-1]


async def events(
    seen: Callable[[], BaseModel], listen: Callable[..., Any], ended: Callable[[], bool]
) -> AsyncIterator[str]:
    """Server-sent events: how something stands, at once and whenever it changed, until it has ended."""
    loop, news = asyncio.get_running_loop(), asyncio.Event()
    stop = listen(lambda: loop.call_soon_threadsafe(news.set))
    try:
        while True:
            news.clear()
            over = ended()
            yield f"event: {'end' if over else 'progress'}\ndata: {seen().model_dump_json()}\n\n"
            if over:
                return
            while not news.is_set():
                try:
                    await asyncio.wait_for(news.wait(), HEARTBEAT)
                except TimeoutError:
                    yield ": still here\n\n"
    finally:
        stop()


def stream(seen: Callable[[], BaseModel], listen: Callable[..., Any], ended: Callable[[], bool]) -> StreamingResponse:
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}  # a proxy must not hold events back
    return StreamingResponse(events(seen, listen, ended), media_type="text/event-stream", headers=headers)


def store() -> Store:
    found = default_runner().store
    if found is None:
        raise StoreError("This server keeps no runs.")
    return found


def record_of(run: str) -> Record:
    """A run that the visitor may see."""
    found = store().get(run)
    if not visitor().may_see(found.owner, found.controls):
        raise UnknownRun("run", f"got {run[:60]!r}; expected the id of a run that you may see")
    return found


def study_routes(routes: APIRouter) -> None:
    @routes.get("/me", tags=["visitor"], summary="Who asks")
    def me() -> VisitorSeen:
        who = visitor()
        return VisitorSeen(name=who.name, role=who.role.value)

    @routes.get("/studies", tags=["studies"], summary="All studies")
    def studies() -> list[StudyCard]:
        return [StudyCard.of(card) for card in registry().cards()]

    @routes.get("/studies/{slug}", tags=["studies"], summary="A study: controls, views, experiments, claims")
    def study(slug: str) -> dict[str, Any]:
        return registry().get(slug).schema()


def job_routes(routes: APIRouter) -> None:
    @routes.post("/jobs", tags=["jobs"], status_code=202, summary="Run an experiment")
    def submit(asked: Submission) -> JobSeen:
        """An equal request that runs already is joined; a result that is kept answers at once."""
        who = may_run()
        session = Session(registry().get(asked.study), None, values=asked.values, preset=asked.preset, visitor=who)
        request = session.request(asked.experiment, device=asked.device, fresh=asked.fresh)
        return JobSeen.of(default_runner().submit(request, holder(who)))

    @routes.get("/jobs", tags=["jobs"], summary="Jobs of this server, newest first")
    def jobs() -> list[JobSeen]:
        who = visitor()
        return [JobSeen.of(job) for job in default_runner().jobs() if is_theirs(job, who)]

    @routes.get("/jobs/{id}", tags=["jobs"], summary="How a job stands")
    def job(id: str) -> JobSeen:
        return JobSeen.of(job_of(id))

    @routes.get(
        "/jobs/{id}/events", tags=["jobs"], summary="Progress of a job, as server-sent events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}, "description": "`progress` events, then one `end`."}},
    )  # fmt: skip
    async def job_events(id: str) -> StreamingResponse:
        found = job_of(id)
        return stream(lambda: JobSeen.of(found), found.on_change, lambda: found.state.ended)

    @routes.get("/jobs/{id}/result", tags=["jobs"], summary="What a job gave so far")
    def job_result(id: str) -> ResultSeen:
        return ResultSeen.of(job_of(id).result)

    @routes.delete("/jobs/{id}", tags=["jobs"], summary="Cancel a job")
    def cancel(id: str) -> Let:
        """The job goes on while somebody else waits for it too."""
        return Let(stopped=let_go(job_of(id), may_run()))


def sweep_routes(routes: APIRouter) -> None:
    kept: dict[str, tuple[str, Sweep]] = {}

    def sweep_of(id: str) -> Sweep:
        owner, sweep = kept.get(id, ("", None))
        if sweep is None or not visitor().may_cancel(owner):
            raise HTTPException(404, f"sweep: got {id[:40]!r}; expected the id of a sweep of yours")
        return sweep

    @routes.post(
        "/sweeps", tags=["sweeps"], status_code=202, summary="Run an experiment over a grid of controls and seeds"
    )
    def submit_sweep(asked: SweepSubmission) -> SweepSeen:
        who = may_run()
        sweep = Sweep(
            registry().get(asked.study), asked.experiment, default_runner(), asked.axes, asked.seeds, asked.values,
            asked.preset, asked.device, asked.fresh, visitor=who,
        )  # fmt: skip
        id = sweep.points[0].session.id.rpartition("/")[2][:12]
        for old in [i for i, (_, other) in kept.items() if other.state.ended][: max(0, len(kept) - SWEEPS_REMEMBERED)]:
            kept.pop(old)[1].close()
        kept[id] = who.name, sweep
        return SweepSeen.of(id, sweep.start())

    @routes.get("/sweeps/{id}", tags=["sweeps"], summary="How a sweep stands")
    def sweep(id: str) -> SweepSeen:
        return SweepSeen.of(id, sweep_of(id))

    @routes.get(
        "/sweeps/{id}/events", tags=["sweeps"], summary="Progress of a sweep, as server-sent events",
        response_class=StreamingResponse,
        responses={200: {"content": {"text/event-stream": {}}, "description": "`progress` events, then one `end`."}},
    )  # fmt: skip
    async def sweep_events(id: str) -> StreamingResponse:
        found = sweep_of(id)
        return stream(lambda: SweepSeen.of(id, found), found.on_change, lambda: found.state.ended)

    @routes.get(
        "/sweeps/{id}/tables", tags=["sweeps"], summary="What a sweep gave so far: points, claims, and the tables"
    )
    def sweep_tables(id: str) -> dict[str, Any]:
        return {name: table.as_json() for name, table in sweep_of(id).tables.items()}

    @routes.delete("/sweeps/{id}", tags=["sweeps"], summary="Cancel what is left of a sweep")
    def cancel_sweep(id: str) -> Let:
        sweep_of(id).cancel()
        return Let(stopped=True)


def run_routes(routes: APIRouter) -> None:
    @routes.get("/runs", tags=["runs"], summary="Runs that are remembered, newest first")
    def runs(study: str | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> list[RunSeen]:
        who = visitor()
        found = store().runs(study and registry().slug(study), limit)
        return [RunSeen.of(record) for record in found if who.may_see(record.owner, record.controls)]

    @routes.get("/runs/{run}", tags=["runs"], summary="All that is remembered of a run")
    def run(run: str) -> RunSeen:
        return RunSeen.of(record_of(run))

    @routes.get("/runs/{run}/result", tags=["runs"], summary="What a run gave")
    def run_result(run: str) -> ResultSeen:
        record = record_of(run)
        folder = store().files(record.run)
        if folder is None:
            raise UnknownRun("run", f"got {run[:60]!r}, which kept no result; expected one that was done")
        try:
            return ResultSeen.of(read_result(folder))
        except (DamagedResult, OSError) as error:
            raise StoreError(f"The result of {run[:60]} cannot be read: {error}") from None

    @routes.get("/runs/{run}/files/{name}", tags=["runs"], summary="A file that a run wrote")
    def run_file(run: str, name: str) -> FileResponse:
        record = record_of(run)
        folder = store().files(record.run)
        try:
            found = {} if folder is None else read_result(folder).files
        except (DamagedResult, OSError) as error:
            raise StoreError(f"The files of {run[:60]} cannot be read: {error}") from None
        if name not in found:
            raise UnknownRun("file", f"got {name[:60]!r}; expected one of {', '.join(sorted(found)) or 'none'}")
        return FileResponse(found[name], media_type="application/octet-stream", filename=name)


def api_routes(app: FastAPI, uploads: Counter) -> APIRouter:
    """All of `/api`, with its description at `/api/openapi.json` and a page that shows it at `/api/`.

    Args:
        app: told how refusals are answered.
        uploads: counts the bytes of uploads.
    """
    routes = APIRouter(prefix="/api", responses=REFUSALS)  # pyright: ignore[reportArgumentType]  # int keys are allowed
    for add in (study_routes, job_routes, sweep_routes, run_routes):
        add(routes)
    upload_routes(routes, uploads)
    refusals(app)
    described = get_openapi(
        title="Assay", version=version("assay-workbench"), routes=routes.routes,
        description="Studies, jobs, sweeps and runs of this server. Scripts send `Authorization: Bearer TOKEN`.",
    )  # fmt: skip

    @routes.get("/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> dict[str, Any]:
        return described | {"servers": [{"url": request.scope["root_path"] or "/"}]}

    @routes.get("/", include_in_schema=False, response_class=HTMLResponse)
    def page() -> str:
        return api_page(described)

    return routes
