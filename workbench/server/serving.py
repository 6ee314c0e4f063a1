"""Serving: the socket that is listened on, and one process that answers until it is interrupted."""

from __future__ import annotations

import errno
import socket
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from workbench.controls import ControlError
from workbench.server.asgi import is_loopback
from workbench.server.settings import Settings, settings_of
from workbench.server.site import application

__all__ = ["serve", "serve_on"]

MESSAGE_LIMIT = 4 * 1024**2  # bytes of one message of a page, which says what somebody did; files come by HTTP


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens on an address.

    Raises:
        ControlError: the address is none of this machine, or the port is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # named, or asyncio leaves Nagle's delay on
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRINUSE:
            raise ControlError("port", f"got {port}, which is taken; expected a free one, such as --port 0") from None
        raise ControlError(
            "host", f"got {host!r} and port {port}, which cannot be listened on: {error.strerror}"
        ) from None
    found.listen()
    return found


def serve(
    host: str = "127.0.0.1",
    port: int = 5006,
    *,
    prefix: str = "",
    users: Path | None = None,
    oidc: Path | None = None,
    roots: tuple[Path, ...] = (),
    warm: bool = False,
    open_browser: bool = False,
) -> None:
    """Serve until interrupted; prints the address once it answers.

    Args:
        host: address to listen on; one that others can reach needs users or a provider.
        port: 0 for a free one.
        prefix: path of a proxy that everything lies below, whether the proxy takes it away or leaves it.
        users: the users file.
        oidc: the file of an OpenID provider.
        roots: folders whose files may be named by their path; where nobody signs in, none means all.
        warm: start the workers now, not with the first job.
        open_browser: open the gallery.

    Raises:
        ControlError: a setting that cannot be, in one sentence.
    """
    settings = settings_of(host, prefix, users, oidc, roots)
    with bound(host, port) as listening:
        here = "localhost" if is_loopback(host) or host in ("0.0.0.0", "::") else host
        address = f"http://{here}:{listening.getsockname()[1]}{prefix.rstrip('/')}"

        def say() -> None:
            print(address, flush=True)
            if not is_loopback(host):
                print("assay: put a proxy with TLS in front: passwords travel as they are typed", file=sys.stderr)
            if open_browser:
                webbrowser.open(address)

        serve_on(listening, settings, warm=warm, ready=say)


def serve_on(
    listening: socket.socket, settings: Settings, *, warm: bool = False, ready: Callable[[], None] | None = None
) -> None:
    """Serve on a socket until interrupted.

    Args:
        listening: a socket that listens.
        settings: what is served, and to whom.
        warm: start the workers now.
        ready: called when what is served is made.
    """
    from workbench.runner import default_runner

    app = application(settings)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2, ws_max_size=MESSAGE_LIMIT)
    )
    if ready is not None:
        ready()
    try:
        if warm:
            default_runner().warm()
        server.run(sockets=[listening])
    finally:
        default_runner().close()
