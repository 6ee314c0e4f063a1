"""What every layer of the server speaks: the types of ASGI, headers as text, and short answers of our own."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = [
    "App", "Message", "Receive", "Scope", "Send", "answer", "headers_of", "is_loopback", "own_path", "refuse_socket",
]  # fmt: skip

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
App = Callable[[Any, Receive, Send], Awaitable[None]]


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of a request, by name in small letters."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def own_path(scope: Scope) -> str:
    """The path of a request without the prefix of a proxy."""
    return scope["path"].removeprefix(scope.get("root_path", "")) or "/"


async def answer(
    send: Send, status: int, body: str, *, kind: str = "text/plain", headers: dict[str, str] | None = None
) -> None:
    """Answer a request with a text."""
    content = body.encode()
    said = {"content-type": f"{kind}; charset=utf-8", "content-length": str(len(content)), **(headers or {})}
    pairs = [(name.encode(), value.encode("latin-1")) for name, value in said.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": content})


async def refuse_socket(receive: Receive, send: Send, code: int) -> None:
    """Refuse a socket before it is opened."""
    await receive()
    await send({"type": "websocket.close", "code": code})


def is_loopback(host: str) -> bool:
    """A name or address of this machine that no other machine can reach."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
