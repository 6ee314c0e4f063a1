"""The outer guard: only our own pages may ask, and no page may ask another host for anything."""

from __future__ import annotations

from urllib.parse import urlsplit

from workbench.server.asgi import App, Message, Receive, Scope, Send, answer, headers_of, is_loopback, refuse_socket

__all__ = ["POLICY", "Guard"]

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
SAFE = ("GET", "HEAD", "OPTIONS")


class Guard:
    """Refuses what does not come from our own pages, and says in every answer that nothing else may be asked.

    Args:
        app: what is guarded.
        loopback: refuse a host name other than a loopback one, so that no other site can point its own name at a server
            that asks for no sign-in. With sign-in, a name that is not ours has no cookie of ours.
    """

    def __init__(self, app: App, *, loopback: bool) -> None:
        self.app = app
        self.loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = headers_of(scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        own = bool(host) and (not self.loopback or is_loopback(urlsplit(f"//{host}").hostname or ""))
        if own and scope["type"] == "websocket":
            own = origin is not None and urlsplit(origin).netloc == host
        elif own and origin is not None and scope["method"] not in SAFE:
            own = urlsplit(origin).netloc == host
        if not own:
            if scope["type"] == "websocket":
                await refuse_socket(receive, send, 4403)
            else:
                await answer(send, 403, "Only pages of this server may ask it.")
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        await self.app(scope, receive, guarded)
