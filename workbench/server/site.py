"""The application: pages, sockets, notebooks, API, health and metrics, with the layers around them."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import panel as pn
from bokeh_fastapi.handler import WSHandler
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, RedirectResponse
from panel.io.fastapi import add_applications

from workbench.faces.panel import page as frame
from workbench.faces.panel.gallery import flagships, gallery_page
from workbench.faces.panel.runs import runs_page
from workbench.faces.panel.study_page import study_page
from workbench.places import notebooks_folder
from workbench.server.api import api_routes
from workbench.server.asgi import App, Receive, Scope, Send, own_path
from workbench.server.gate import Gate
from workbench.server.guard import Guard
from workbench.server.health import Readiness, health_routes
from workbench.server.login import login_routes
from workbench.server.metrics import Meter, Metrics, metrics_routes
from workbench.server.prefix import Prefix, clean_prefix
from workbench.server.settings import Settings
from workbench.server.sign_in import SignIn, Sockets
from workbench.sources import uploads_folder
from workbench.theme import STATIC
from workbench.uploads import sweep_drafts
from workbench.visitors import LOCAL, NOBODY, by_default

__all__ = ["application"]

OPEN_HERE = Settings()


def free_closed_pages() -> None:
    """Let a page that was closed be forgotten: its handler waits for an exception that never comes."""
    if getattr(WSHandler.ws_connect, "frees", False):
        return
    connect = WSHandler.ws_connect

    async def ws_connect(self: Any, websocket: Any) -> None:
        try:
            await connect(self, websocket)
        finally:
            if self.connection is not None:
                self.on_close(1006, "gone")

    ws_connect.frees = True  # pyright: ignore[reportFunctionMemberAccess]
    WSHandler.ws_connect = ws_connect


def flagship(slug: str) -> Callable[[], Any]:
    return lambda: study_page(slug)


def notebooks() -> Any:
    """The marimo notebooks as one application, each at `<family>/<name>`."""
    import marimo

    folder = notebooks_folder()
    builder = marimo.create_asgi_app(quiet=True, html_head=(folder / "head.html").read_text(encoding="utf-8"))
    for path in sorted(folder.glob("*/*.py")):
        builder = builder.with_app(path=f"/{path.relative_to(folder).with_suffix('').as_posix()}", root=str(path))
    return builder.build()


def first_folders(routes: Iterable[Any]) -> set[str]:
    """The first part of the path of every route."""
    found: set[str] = set()
    for route in routes:
        if (router := getattr(route, "original_router", None)) is not None:  # FastAPI keeps a router that was included
            found |= first_folders(router.routes)
        else:
            found.add(str(route.path).split("/")[1])
    return found


def application(settings: Settings = OPEN_HERE) -> App:
    """Everything that is served, as one ASGI application.

    Raises:
        ControlError: the prefix cannot be, or the users file cannot be read.
    """
    from workbench.runner import default_runner

    pn.extension("plotly")
    free_closed_pages()
    metrics = Metrics(default_runner)
    readiness = Readiness(default_runner().store)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_api_route("/", lambda: RedirectResponse("gallery"), include_in_schema=False)
    app.add_api_route("/favicon.ico", lambda: FileResponse(STATIC / "favicon.svg"), include_in_schema=False)
    app.include_router(health_routes(readiness))
    app.include_router(metrics_routes(metrics))
    app.include_router(api_routes(app, metrics.uploads))
    sweep_drafts()
    frame.PLACES["api/"] = "API"
    gate = Gate(settings) if settings.sign_in else None
    sockets = Sockets(gate) if gate is not None else None
    if gate is not None and sockets is not None:
        if gate.users is not None:
            _ = gate.users.accounts  # a file that cannot be read is said now
        app.include_router(login_routes(gate, sockets, metrics))
    here = replace(LOCAL, roots=(*settings.roots, uploads_folder())) if settings.roots else LOCAL
    by_default(here if gate is None else NOBODY)
    pages: dict[str, Any] = {"/gallery": gallery_page, "/study": study_page, "/runs": runs_page}
    pages |= {f"/{name}": flagship(slug) for slug, name in flagships().items()}
    bokeh = add_applications(
        pages, app=app, title="Assay", include_cookies=[], exclude_headers=["Cookie", "cookie"], sign_sessions=True,
        secret_key=secrets.token_hex(32),
    )  # fmt: skip
    metrics.pages = bokeh

    def slashed(request: Request, family: str, name: str) -> RedirectResponse:
        return RedirectResponse(f"{request.scope['root_path']}/notebooks/{family}/{name}/")

    app.add_api_route("/notebooks/{family}/{name}", slashed, include_in_schema=False)
    app.mount("/notebooks", notebooks())
    prefix = clean_prefix(settings.prefix, first_folders(app.routes))
    bokeh._prefix = prefix  # what Panel takes for the part of a path that is not ours
    readiness.prepare()
    inner: App = Meter(Patient(app, readiness, set(pages)), metrics)
    if gate is not None and sockets is not None:
        inner = SignIn(inner, gate, sockets)
    return Prefix(Guard(inner, loopback=gate is None and not settings.signed_in), prefix)


class Patient:
    """Has pages wait until studies are imported, so that no import holds up everybody else."""

    def __init__(self, app: App, readiness: Readiness, pages: set[str]) -> None:
        self.app = app
        self.readiness = readiness
        self.pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.readiness.studies.is_set() and scope["type"] == "http" and own_path(scope) in self.pages:
            await asyncio.to_thread(self.readiness.studies.wait)
        await self.app(scope, receive, send)
