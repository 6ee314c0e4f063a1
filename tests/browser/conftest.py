"""A server on a free port with a home of its own, and a browser that lets nothing leave the machine."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(Path(__file__).parent))  # for what several tests share


def stop(process, seconds, said=None):
    """End a server; one that does not end in time says where it stands, where it has a file for that, and is ended."""
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)
        process.wait()
        raise AssertionError(f"it does not stop:\n{said.read_text()[-6000:] if said else process.args}") from None


@contextmanager
def server_at(home):
    """The address of a server with a home, which knows the kitchen-sink study."""
    environment = os.environ | {
        "ASSAY_HOME": str(home), "ASSAY_STUDIES": str(ROOT / "tests" / "studies"), "OMP_NUM_THREADS": "1"
    }  # fmt: skip
    command = [sys.executable, "-c", "from workbench.server.serving import serve; serve(port=0)"]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            assert address.startswith("http://localhost:"), address
            yield address
        finally:
            stop(process, 20)


@pytest.fixture(scope="session")
def serve_home():
    """Starts a server with a home; gives its address."""
    return server_at


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """The address of a server with an empty home."""
    with server_at(tmp_path_factory.mktemp("home")) as address:
        yield address


@pytest.fixture
def served(tmp_path):
    """Starts a server that takes `--port`, with a home of its own and the kitchen-sink study; gives its address."""

    @contextmanager
    def start(command, variables):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        environment = os.environ | {
            "ASSAY_HOME": str(tmp_path / "home"), "ASSAY_STUDIES": str(ROOT / "tests" / "studies"),
            "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1", **variables,
        }  # fmt: skip
        said = tmp_path / f"said-{port}.txt"
        with (
            said.open("wb") as out,
            subprocess.Popen(
                [*command, "--port", str(port)], env=environment, cwd=ROOT, stdout=out, stderr=out
            ) as process,
        ):
            try:
                deadline = time.monotonic() + 60
                while True:
                    assert process.poll() is None and time.monotonic() < deadline
                    try:
                        socket.create_connection(("127.0.0.1", port), 0.2).close()
                        break
                    except OSError:
                        time.sleep(0.1)
                yield f"http://127.0.0.1:{port}"
            finally:
                stop(process, 60, said)

    return start


@pytest.fixture(scope="module")
def browser(chromium_path):
    """Chromium, without a window; for one file, as its loop would stand in the way of tests that run their own."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=60_000)

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium_path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def tab(browser):
    """A page that fails its test on a request to another host, an answer of 400 or more, or an error in the console."""
    context = browser.new_context(viewport={"width": 1600, "height": 1100}, accept_downloads=True)
    found = context.new_page()
    wrong = []

    def asked(request):
        if urlsplit(request.url).scheme in ("http", "https", "ws", "wss") and urlsplit(request.url).hostname not in (
            "localhost",
            "127.0.0.1",
        ):
            wrong.append(f"asked {request.url}")

    found.on("request", asked)
    found.on("websocket", asked)
    found.on("response", lambda answer: answer.status >= 400 and wrong.append(f"{answer.status} {answer.url}"))
    found.on("console", lambda said: said.type == "error" and wrong.append(f"console: {said.text}"))
    found.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    found.set_default_timeout(60_000)
    yield found
    context.close()
    assert not wrong, wrong
