"""Serving below a path of a proxy, whether the proxy takes that path away or leaves it.

Pages ask for what they need by relative addresses, so only what the server thinks its own path is matters: the whole
path, with the prefix as `root_path`. Tried with Panel, Bokeh and marimo behind nginx; FastAPI's own `root_path` and the
`prefix` of Panel break one or the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from workbench.controls import ControlError
from workbench.server.asgi import App, Receive, Scope, Send

__all__ = ["Prefix", "clean_prefix"]

PATTERN = re.compile(r"(/[A-Za-z0-9_~.@+-]+)+")


def clean_prefix(prefix: str, own: Iterable[str] = ()) -> str:
    """A prefix as it is used: `/a/b`, or nothing.

    Args:
        prefix: as typed.
        own: the first folders of our own routes, which a prefix must not begin with: a proxy that takes it away would
            make the two alike.

    Raises:
        ControlError: it is no such path.
    """
    plain = prefix.rstrip("/")
    if plain and (not PATTERN.fullmatch(plain) or {".", ".."} & set(plain.split("/"))):
        raise ControlError("prefix", f"got {prefix[:60]!r}; expected a path such as /tools/assay")
    first = plain.split("/")[1] if plain else ""
    if first and first in set(own):
        raise ControlError("prefix", f"got {prefix[:60]!r}; expected one that does not begin like a page of ours")
    return plain


class Prefix:
    """Gives every request its whole path, with the prefix, and says which part of it is the prefix."""

    def __init__(self, app: App, prefix: str) -> None:
        self.app = app
        self.prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.prefix and scope["type"] in ("http", "websocket"):
            path = scope["path"]
            if path != self.prefix and not path.startswith(self.prefix + "/"):
                path = self.prefix + path  # the proxy took it away
            scope = {**scope, "path": path, "raw_path": path.encode(), "root_path": self.prefix}
        await self.app(scope, receive, send)
