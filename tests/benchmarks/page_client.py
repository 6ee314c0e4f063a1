"""A study's page without a browser: opens its socket, says what a person does, and hears what the page is told."""

from __future__ import annotations

import asyncio
import json
import re
import time
import urllib.request
from collections import deque
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

TOKEN = re.compile(r'"token":"([^"]+)"')


class PageClient:
    """One open page.

    Attributes:
        told: messages that were not waited for yet, each with its size in bytes.
    """

    def __init__(self, socket: ClientConnection, root: str) -> None:
        self.socket = socket
        self.root = root
        self.told: deque[tuple[dict[str, Any], int]] = deque()
        self._count = 0

    @classmethod
    async def open(cls, address: str, headers: dict[str, str] | None = None) -> PageClient:
        """Open a page; its socket is connected and its document is there, and it has not said hello."""
        html = await asyncio.to_thread(fetch, address, headers or {})
        found = TOKEN.search(html)
        assert found, f"{address} is no page of Panel's: {html[:200]}"
        parts = urlsplit(address)
        return await cls.connect(address, found[1], f"{parts.scheme}://{parts.netloc}", headers)

    @classmethod
    async def connect(cls, address: str, token: str, origin: str, headers: dict[str, str] | None = None) -> PageClient:
        """Connect the socket of a page with its token; raises what websockets does when it is refused."""
        parts = urlsplit(address)
        place = parts._replace(scheme={"http": "ws", "https": "wss"}[parts.scheme], path=f"{parts.path}/ws").geturl()
        socket = await connect(
            place, subprotocols=["bokeh", token], origin=origin, additional_headers=headers or {}, max_size=None,
            compression=None, proxy=None,
        )  # fmt: skip
        page = cls(socket, "")
        await page._next()  # ACK
        await page._send("PULL-DOC-REQ", {})
        document = await page._next()
        page.root = next(r["id"] for r in document["doc"]["roots"] if r["name"].endswith("ReactiveESM"))
        return page

    async def _send(self, kind: str, content: dict[str, Any]) -> None:
        self._count += 1
        for part in ({"msgid": f"m{self._count}", "msgtype": kind}, {}, content):
            await self.socket.send(json.dumps(part))

    async def _next(self, timeout: float | None = None) -> dict[str, Any]:
        """Take one message of Bokeh's; the time is for its first part, so that none is left half taken."""
        header = json.loads(await asyncio.wait_for(self.socket.recv(), timeout))
        await self.socket.recv()
        text = await self.socket.recv()
        for _ in range(2 * header.get("num_buffers", 0)):
            await self.socket.recv()
        content = json.loads(text)
        for event in content.get("events", ()):
            values = dict(event.get("msg_data", {}).get("values", {}).get("entries", ()))
            if event.get("msg_data", {}).get("name") == "esm_event":
                messages = json.loads(values["data"])
                self.told += [(m, len(text) if len(messages) == 1 else len(json.dumps(m))) for m in messages]
        return content

    async def say(self, message: dict[str, Any]) -> None:
        """Say what a person does."""
        await self._send("PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {
            "type": "event", "name": "data_event", "values": {"type": "map", "entries": [
                ["model", {"id": self.root}], ["data", plain(message)]]}}}]})  # fmt: skip

    async def forget(self) -> None:
        """Drop what came already, so that what is heard next answers what is said next."""
        try:
            while True:
                await self._next(0.001)
        except TimeoutError:
            self.told.clear()

    async def hear(self, kind: str, timeout: float = 20.0, **fields: Any) -> tuple[dict[str, Any], int]:
        """The next message of a kind, with its size; those before it are dropped.

        Raises:
            TimeoutError: none came.
        """
        until = time.monotonic() + timeout
        while True:
            while self.told:
                message, size = self.told.popleft()
                if message["kind"] == kind and all(message.get(k) == v for k, v in fields.items()):
                    return message, size
            await self._next(max(0.0, until - time.monotonic()))

    async def close(self) -> None:
        """Close the page as a browser does."""
        await self.socket.close()


def plain(value: Any) -> Any:
    """A value as Bokeh writes it: maps as entries."""
    if isinstance(value, dict):
        return {"type": "map", "entries": [[k, plain(v)] for k, v in value.items()]}
    return [plain(v) for v in value] if isinstance(value, list) else value


def fetch(address: str, headers: dict[str, str]) -> str:
    """The text of a page."""
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=30) as answer:
        return answer.read().decode()
