"""One local server: the pages, their sockets and the notebooks on one port, for this machine alone.

No page may ask another host for anything: the header that says so is on every answer. Sockets are opened by our own
pages only.
"""

from __future__ import annotations

import ipaddress
import secrets
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import panel as pn
import uvicorn
from bokeh_fastapi.handler import WSHandler
from fastapi import FastAPI
from fastapi.responses import FileResponse, RedirectResponse
from panel.io.fastapi import add_applications

from workbench.controls import ControlError
from workbench.faces.panel.gallery import flagships, gallery_page
from workbench.faces.panel.study_page import study_page
from workbench.places import notebooks_folder
from workbench.registry import registry
from workbench.study import StudyError
from workbench.theme import STATIC

__all__ = ["application", "serve"]

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]

POLICY = "; ".join(
    (
        "default-src 'self' data: blob:",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "worker-src 'self' blob:",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' data: blob:",
        "frame-ancestors 'self'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]
MESSAGE_LIMIT = 20 * 1024**2  # bytes of one message of a page: an upload of 10 MB in base64 fits


class Guard:
    """Refuses what does not come from our own pages, and says in every answer that nothing else may be asked.

    A host name other than a loopback one is refused, so that no other site can point its own name at this server.
    """

    def __init__(self, app: Callable[[Any, Receive, Send], Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        own = is_loopback(urlsplit(f"//{host}").hostname or "")
        if own and scope["type"] == "websocket":
            own = origin is not None and urlsplit(origin).netloc == host
        elif own and origin is not None and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            own = urlsplit(origin).netloc == host
        if not own:
            await refuse(scope["type"], receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        await self.app(scope, receive, guarded)


async def refuse(kind: str, receive: Receive, send: Send) -> None:
    if kind == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4403})
        return
    await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": b"Only pages of this server may ask it."})


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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


def application() -> Callable[[Any, Receive, Send], Awaitable[None]]:
    """Pages, sockets and notebooks as one ASGI application."""
    pn.extension("plotly")
    free_closed_pages()
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_api_route("/", lambda: RedirectResponse("gallery"), include_in_schema=False)
    app.add_api_route("/favicon.ico", lambda: FileResponse(STATIC / "favicon.svg"), include_in_schema=False)
    pages: dict[str, Any] = {"/gallery": gallery_page, "/study": study_page}
    pages |= {f"/{name}": flagship(slug) for slug, name in flagships().items()}
    add_applications(
        pages, app=app, title="Assay", include_cookies=[], exclude_headers=["Cookie", "cookie"], sign_sessions=True,
        secret_key=secrets.token_hex(32),
    )  # fmt: skip
    app.add_api_route(
        "/notebooks/{family}/{name}",
        lambda family, name: RedirectResponse(f"/notebooks/{family}/{name}/"),
        include_in_schema=False,
    )
    app.mount("/notebooks", notebooks())
    return Guard(app)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens on a loopback address.

    Raises:
        ControlError: the host is not this machine, or the port is taken.
    """
    if not is_loopback(host):
        raise ControlError("host", f"got {host!r}; expected localhost or 127.0.0.1: there is no sign-in yet")
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError:
        found.close()
        raise ControlError("port", f"got {port}, which is taken; expected a free one, such as --port 0") from None
    found.listen()
    return found


def load_studies() -> None:
    """Import every study ahead of the first page that shows it; one that cannot be imported is a card that says why."""
    for card in registry().cards():
        with suppress(StudyError):
            registry().get(card.slug)


def serve(host: str = "127.0.0.1", port: int = 5006, open_browser: bool = False) -> None:
    """Serve until interrupted; prints the address once it answers.

    Args:
        host: a loopback address.
        port: 0 for a free one.
        open_browser: open the gallery.

    Raises:
        ControlError: the host is not this machine, or the port is taken.
    """
    listening = bound(host, port)
    address = f"http://localhost:{listening.getsockname()[1]}"
    config = uvicorn.Config(application(), log_level="warning", timeout_graceful_shutdown=2, ws_max_size=MESSAGE_LIMIT)
    server = uvicorn.Server(config)
    print(address, flush=True)
    if open_browser:
        webbrowser.open(address)
    threading.Thread(target=load_studies, name="assay-load", daemon=True).start()
    from workbench.runner import default_runner

    try:
        server.run(sockets=[listening])
    finally:
        default_runner().close()
