"""The local server: who may ask it, what it may ask, and that a closed page is forgotten."""

import asyncio
import socket

import pytest

from workbench.controls import ControlError
from workbench.server.guard import POLICY, Guard
from workbench.server.serving import bound, serve


async def answers(scope, loopback=True):
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

    await Guard(inner, loopback=loopback)(scope, receive, send)
    return sent[0]


def asked(kind="http", method="GET", loopback=True, **headers):
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return asyncio.run(answers({"type": kind, "method": method, "headers": pairs}, loopback))


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


def test_with_sign_in_any_name_may_be_asked_by_pages_of_that_name():
    team = {"host": "team.example", "loopback": False}
    assert asked(**team)["status"] == 200
    assert asked("http", "POST", origin="https://team.example", **team)["status"] == 200
    assert asked("websocket", origin="https://team.example", **team)["type"] == "websocket.accept"
    assert asked("http", "POST", origin="https://evil.example", **team)["status"] == 403
    assert asked("http", "POST", origin="null", **team)["status"] == 403
    assert asked("websocket", origin="https://evil.example", **team)["code"] == 4403
    assert asked("websocket", **team)["code"] == 4403


def test_a_socket_of_our_own_page_is_taken():
    answer = asked("websocket", host="localhost:5006", origin="http://localhost:5006")
    assert answer["type"] == "websocket.accept"


def test_nobody_serves_to_others_without_sign_in():
    with pytest.raises(ControlError, match=r"^host: got '0.0.0.0', which others can reach; expected localhost"):
        serve(host="0.0.0.0", port=0)


def test_a_port_that_is_taken_and_an_address_of_another_machine_are_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ControlError, match=r"port: got .* taken"):
            bound("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ControlError, match=r"host: got '203.0.113.7' and port 0, which cannot be listened on"):
        bound("203.0.113.7", 0)


def test_small_answers_are_sent_at_once():
    async def delayed():
        accepted = asyncio.get_running_loop().create_future()
        with bound("127.0.0.1", 0) as listening:
            server = await asyncio.start_server(lambda _, writer: accepted.set_result(writer), sock=listening)
            _, client = await asyncio.open_connection(*listening.getsockname())
            writer = await accepted
            found = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            for one in (writer, client, server):
                one.close()
        return found == 0

    assert not asyncio.run(delayed())
