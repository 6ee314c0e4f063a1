"""The inner guard: nobody who is not signed in gets beyond the sign-in page, by whatever route or socket.

It lies around the whole application, so that a page, a static file, a notebook or a route that is added later is
behind it without saying so. It tells the application who asks, closes the sockets of those who sign out, and sees that
the token of a page is used by whoever the page was made for.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

from bokeh.util.token import get_token_payload

from workbench.server.asgi import (
    App,
    Message,
    Receive,
    Scope,
    Send,
    answer,
    headers_of,
    is_loopback,
    own_path,
    refuse_socket,
)  # fmt: skip
from workbench.server.gate import Gate, Signed
from workbench.server.guard import SAFE
from workbench.visitors import Role, acting

__all__ = ["OPEN", "SignIn", "Sockets"]

OPEN = frozenset({"/login", "/login/provider", "/login/back", "/healthz", "/readyz"})
"""What is answered without sign-in; `/metrics` besides, to this machine."""

USER = b"x-user"  # Bokeh keeps it in the token of a page
LOOK = 2.0  # seconds between two looks at whether those with open sockets are still signed in
SIGNED_OUT = 4401


class Sockets:
    """What is open for those who are signed in, so that it can be closed when they no longer are."""

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self._open: dict[asyncio.Event, Signed] = {}
        self._looking: asyncio.Task[None] | None = None

    def add(self, signed: Signed) -> asyncio.Event:
        """Follow a connection; the event is set when it must end."""
        event = asyncio.Event()
        self._open[event] = signed
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return event

    def discard(self, event: asyncio.Event) -> None:
        """The connection has ended."""
        self._open.pop(event, None)

    def close(self, which: Callable[[Signed], bool]) -> None:
        """End the connections of some."""
        for event, signed in list(self._open.items()):
            if which(signed):
                event.set()

    async def _look(self) -> None:
        while self._open:
            await asyncio.sleep(LOOK)
            self.close(lambda signed: signed.seal is not None and not self.gate.holds(signed.seal))


class SignIn:
    """Lets through who is signed in."""

    def __init__(self, app: App, gate: Gate, sockets: Sockets) -> None:
        self.app = app
        self.gate = gate
        self.sockets = sockets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers, path = headers_of(scope), own_path(scope)
        signed = self.gate.who(headers)
        scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0].lower() != USER]}
        if signed is None:
            if scope["type"] == "http" and (path in OPEN or (path == "/metrics" and is_here(scope, headers))):
                await self.app(scope, receive, send)
            else:
                await turn_away(scope, headers, receive, send)
            return
        visitor = signed.visitor
        scope["headers"].append((USER, visitor.name.encode()))
        scope["user"] = visitor.as_user()  # what notebooks see
        scope["assay.signed"] = signed
        with acting(visitor):
            if scope["type"] == "websocket":
                await self._socket(scope, receive, send, signed)
            elif path == "/metrics" and signed.seal is not None and visitor.role is not Role.ADMIN:
                await answer(send, 403, "Metrics are for admins, and for scripts with a token.")
            elif signed.seal is not None and scope["method"] not in SAFE and "origin" not in headers:
                await answer(send, 403, "Only pages of this server may ask it.")  # a browser always says from where
            else:
                await self._request(scope, receive, send, signed)

    async def _request(self, scope: Scope, receive: Receive, send: Send, signed: Signed) -> None:
        """Answer a request; a stream of events ends with the sign-in."""
        over: asyncio.Event | None = None

        async def followed(message: Message) -> None:
            nonlocal over
            if message["type"] == "http.response.start" and is_stream(message):
                over = self.sockets.add(signed)
            if over is not None and over.is_set():
                raise OSError("signed out")
            await send(message)

        try:
            await self.app(scope, receive, followed)
        except Exception:  # a stream that is cut off fails in its own way
            if over is None or not over.is_set():
                raise
        finally:
            if over is not None:
                self.sockets.discard(over)

    async def _socket(self, scope: Scope, receive: Receive, send: Send, signed: Signed) -> None:
        """Serve a socket until it is closed, or the one who opened it is signed in no more."""
        if not is_bound(scope, signed.visitor.name):
            await refuse_socket(receive, send, 4403)
            return
        over = self.sockets.add(signed)
        closed = False

        async def hear() -> Message:
            nonlocal closed
            if closed:
                return {"type": "websocket.disconnect", "code": SIGNED_OUT}
            heard, ended = asyncio.ensure_future(receive()), asyncio.ensure_future(over.wait())
            try:
                await asyncio.wait((heard, ended), return_when=asyncio.FIRST_COMPLETED)
                if not over.is_set():
                    return heard.result()
            finally:
                ended.cancel()
                if over.is_set():
                    heard.cancel()
            closed = True
            await send({"type": "websocket.close", "code": SIGNED_OUT, "reason": "signed out"})
            return {"type": "websocket.disconnect", "code": SIGNED_OUT}

        async def say(message: Message) -> None:
            if closed:
                raise OSError("signed out")
            await send(message)

        try:
            await self.app(scope, hear, say)
        finally:
            self.sockets.discard(over)


def is_stream(message: Message) -> bool:
    return any(name == b"content-type" and value.startswith(b"text/event-stream") for name, value in message["headers"])


def is_bound(scope: Scope, name: str) -> bool:
    """The token of a page was made for the one who uses it; its signature is checked where it is used."""
    protocols = scope.get("subprotocols", [])
    if protocols[:1] != ["bokeh"]:
        return True
    try:
        payload: dict[str, Any] = get_token_payload(protocols[1])
        kept = {key.lower(): value for key, value in payload["headers"].items()}
    except Exception:  # whatever it is, it is no token of ours
        return False
    return kept.get(USER.decode()) == name


def is_here(scope: Scope, headers: dict[str, str]) -> bool:
    """A request comes from this machine itself, and through no proxy."""
    client = scope.get("client")
    forwarded = {"forwarded", "x-forwarded-for", "x-real-ip"} & set(headers)
    host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    return client is not None and is_loopback(client[0]) and is_loopback(host) and not forwarded


async def turn_away(scope: Scope, headers: dict[str, str], receive: Receive, send: Send) -> None:
    """Send a person to the sign-in page, and tell a script."""
    if scope["type"] == "websocket":
        await refuse_socket(receive, send, SIGNED_OUT)
        return
    if scope["method"] in ("GET", "HEAD") and "text/html" in headers.get("accept", ""):
        query = scope.get("query_string", b"").decode("latin-1")
        place = own_path(scope) + (f"?{query}" if query else "")
        where = f"{scope.get('root_path', '')}/login" + (f"?next={quote(place, safe='')}" if place != "/" else "")
        await answer(send, 303, "Sign in first.", headers={"location": where, "cache-control": "no-store"})
        return
    body = json.dumps({"detail": "Nobody is signed in; expected a cookie of the sign-in page or a token.", "field": ""})
    await answer(send, 401, body, kind="application/json", headers={"www-authenticate": "Bearer"})
