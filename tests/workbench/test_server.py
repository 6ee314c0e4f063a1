"""The local server: who may ask it, what it may ask, and that a closed page is forgotten."""

import socket

import pytest

from workbench.controls import ControlError
from workbench.server import POLICY, Guard, bound, serve


async def answers(scope):
    """The status and headers of an answer to a request, or the code that a socket is closed with."""
    sent = []

    async def inner(scope, receive, send):
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    await Guard(inner)(scope, receive, send)
    return sent[0]


def asked(kind="http", method="GET", **headers):
    import asyncio

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return asyncio.run(answers({"type": kind, "method": method, "headers": pairs}))


@pytest.mark.parametrize("host", ["localhost:5006", "127.0.0.1:5006", "[::1]:5006"])
def test_our_own_pages_are_answered_and_may_ask_nobody_else(host):
    answer = asked(host=host)
    assert answer["status"] == 200
    assert dict(answer["headers"])[b"content-security-policy"].decode() == POLICY
    assert "http" not in POLICY and "*" not in POLICY


@pytest.mark.parametrize(
    ("kind", "method", "headers"),
    [
        ("http", "GET", {"host": "evil.example"}),
        ("http", "GET", {}),
        ("http", "POST", {"host": "localhost:5006", "origin": "http://evil.example"}),
        ("websocket", "GET", {"host": "localhost:5006", "origin": "http://evil.example"}),
        ("websocket", "GET", {"host": "localhost:5006", "origin": "http://localhost:9999"}),
        ("websocket", "GET", {"host": "localhost:5006"}),
    ],
)
def test_another_site_is_refused(kind, method, headers):
    answer = asked(kind, method, **headers)
    assert answer.get("status", answer.get("code")) in (403, 4403)


def test_a_socket_of_our_own_page_is_taken():
    answer = asked("websocket", host="localhost:5006", origin="http://localhost:5006")
    assert answer["type"] == "websocket.accept"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "example.org", ""])
def test_a_host_beyond_this_machine_is_refused_in_one_sentence(host):
    with pytest.raises(ControlError, match=r"host: got .*expected localhost or 127.0.0.1"):
        serve(host=host)


def test_a_port_that_is_taken_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ControlError, match=r"port: got .* taken"):
            bound("127.0.0.1", taken.getsockname()[1])
