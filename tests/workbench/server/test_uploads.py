"""Uploads over HTTP: streamed, several, in their owner's name."""

import hashlib
import socket
import threading
import time
from urllib.parse import urlsplit

import httpx
import numpy as np
import psutil
import pytest

from workbench.sources import uploads_folder


@pytest.fixture(scope="module")
def api(start):
    with start() as address, httpx.Client(base_url=f"{address}/api", timeout=60) as client:
        yield client


def test_a_file_is_kept_and_a_control_takes_it(api):
    content = b"t,x\n0,1\n"
    answer = api.post("/uploads", params={"name": "mine.csv"}, content=content)
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"name": "mine.csv", "reference": f"sha256:{hashlib.sha256(content).hexdigest()}"}
    metrics = httpx.get(str(api.base_url).removesuffix("/api/") + "/metrics").text
    assert f"assay_upload_bytes_total {len(content)}.0" in metrics


def test_several_make_a_folder(api):
    sent = {}
    for name in ("a.csv", "b.csv"):
        sent[name] = api.post("/uploads", params={"name": name}, content=f"{name}\n1\n").json()["reference"]
    answer = api.post("/uploads/folder", json={"name": "both", "files": sent})
    assert answer.status_code == 201 and answer.json()["name"] == "both"
    wrong = api.post("/uploads/folder", json={"name": "both", "files": {"a.csv": "sha256:nothing"}})
    assert wrong.status_code == 422 and "no upload of yours" in wrong.json()["detail"]


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.pkl", b"\x80\x04\x95junk", "is a pickle"),
        ("a.csv", b"", "is empty"),
        ("..", b"a", "plain one"),
        ("a.exe", b"MZ\x00\x01", "no kind that is read here"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_leaves_nothing(api, name, content, says):
    answer = api.post("/uploads", params={"name": name}, content=content)
    assert answer.status_code == 422 and says in answer.json()["detail"] and answer.json()["field"] == "file"
    assert not list(uploads_folder().glob("*.part"))


def test_a_large_file_streams_through_little_memory(api, monkeypatch):
    size, piece = 200 * 2**20, np.random.default_rng(0).integers(32, 126, 2**20, dtype=np.uint8).tobytes()
    process, most = psutil.Process(), 0
    before = process.memory_info().rss

    def pieces():
        nonlocal most
        for _ in range(size // len(piece)):
            most = max(most, process.memory_info().rss - before)
            yield piece

    answer = api.post("/uploads", params={"name": "large.txt"}, content=pieces())
    assert answer.status_code == 201, answer.text
    assert most < 60 * 2**20, f"{most / 2**20:.0f} MiB for 200 MiB"


def test_too_large_is_refused_before_it_is_read(api, monkeypatch):
    monkeypatch.setenv("ASSAY_UPLOAD_LIMIT", "1 MB")
    began = time.monotonic()
    answer = api.post("/uploads", params={"name": "a.csv"}, content=b"a" * 1_000_001)
    assert answer.status_code == 422 and "more than 1,000,000 bytes" in answer.json()["detail"]
    assert time.monotonic() - began < 5


def test_a_sender_who_goes_leaves_nothing(api):
    place = urlsplit(str(api.base_url))
    with socket.create_connection((place.hostname, place.port)) as line:
        head = f"POST /api/uploads?name=a.csv HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Length: 1000000\r\n\r\n"
        line.sendall(head.encode() + b"a" * 5000)
        until = time.monotonic() + 10
        while not list(uploads_folder().glob("*.part")):
            assert time.monotonic() < until
            time.sleep(0.01)
    while list(uploads_folder().glob("*.part")):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_pages_are_answered_while_a_file_comes_in(api):
    """Nobody else waits for what is written and hashed."""
    piece, going = b"a" * 2**20, threading.Event()

    def pieces():
        while not going.is_set():
            yield piece
            time.sleep(0.001)

    sender = threading.Thread(target=lambda: api.post("/uploads", params={"name": "slow.txt"}, content=pieces()))
    sender.start()
    try:
        times = []
        for _ in range(20):
            began = time.monotonic()
            assert httpx.get(str(api.base_url).removesuffix("/api/") + "/healthz").status_code == 200
            times.append(time.monotonic() - began)
    finally:
        going.set()
        sender.join(30)
    assert sorted(times)[10] < 0.5
