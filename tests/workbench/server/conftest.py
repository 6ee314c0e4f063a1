"""A server of a test's own, in a thread of this process, and pages without a browser."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import socket
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

from workbench.server.serving import bound
from workbench.visitors import LOCAL, by_default, visitor

ROOT = Path(__file__).parents[3]


@contextmanager
def served(app):
    """The address of a server that answers with an application."""
    with bound("127.0.0.1", 0) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        until = time.monotonic() + 30
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        yield f"http://localhost:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(15)
        assert not thread.is_alive()


@contextmanager
def home(folder):
    """A home, and the kitchen-sink study, for whatever is served meanwhile."""
    from workbench.runner import default_runner

    before = visitor()  # another server may be open around this one
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_HOME", str(folder))
        own = (ROOT / "tests" / "studies", Path(__file__).parent / "studies")
        patch.setenv("ASSAY_STUDIES", os.pathsep.join(map(str, own)))
        patch.setenv("ASSAY_WORKERS", "1")
        try:
            yield
        finally:
            default_runner().close()
            by_default(before)


def ready(address, headers=None):
    """Wait until a server is ready."""
    until = time.monotonic() + 60
    while httpx.get(f"{address}/readyz", headers=headers).status_code != 200:
        assert time.monotonic() < until, "it does not get ready"
        time.sleep(0.1)


@pytest.fixture(scope="module", autouse=True)
def local_after():
    """An application with sign-in lets nobody act by default; the tests of the next file are on their own machine."""
    yield
    by_default(LOCAL)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Starts a server with the settings that `application` takes; gives its address, once it is ready."""

    @contextmanager
    def begin(**settings):
        from workbench.server.site import application

        with home(tmp_path_factory.mktemp("home")), served(application(**settings)) as address:
            ready(address)
            yield address

    return begin


@pytest.fixture(scope="session")
def serving():
    """Serves an application of a test's own."""
    return served


@pytest.fixture(scope="module")
def pages():
    """The client that opens pages without a browser."""
    place = ROOT / "tests" / "benchmarks" / "page_client.py"
    spec = importlib.util.spec_from_file_location("assay_page_client", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PageClient


@pytest.fixture
def nginx(tmp_path):
    """Starts nginx in front of an address, below a path that it takes away or leaves; gives its own address."""
    program = next((p for p in ("/usr/sbin/nginx", "/usr/bin/nginx") if os.access(p, os.X_OK)), None)
    if program is None:
        pytest.skip("nginx is not installed")

    @contextmanager
    def begin(address, prefix, *, stripped):
        import subprocess

        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        config = tmp_path / f"nginx-{port}.conf"
        config.write_text(
            f"""
            daemon off; pid {tmp_path}/{port}.pid; error_log {tmp_path}/error.log; worker_processes 1;
            events {{ worker_connections 64; }}
            http {{
              access_log off;
              client_body_temp_path {tmp_path}/body; proxy_temp_path {tmp_path}/proxy;
              fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;
              map $http_upgrade $connection_upgrade {{ default upgrade; '' close; }}
              server {{
                listen 127.0.0.1:{port};
                location {prefix}/ {{
                  proxy_pass {address}{"/" if stripped else ""};
                  proxy_http_version 1.1;
                  proxy_set_header Host $http_host;
                  proxy_set_header X-Forwarded-For $remote_addr;
                  proxy_set_header X-Forwarded-Proto $scheme;
                  proxy_set_header Upgrade $http_upgrade;
                  proxy_set_header Connection $connection_upgrade;
                  proxy_buffering off;
                  proxy_request_buffering off;
                  client_max_body_size 0;
                }}
              }}
            }}"""
        )
        with subprocess.Popen([program, "-c", str(config), "-p", str(tmp_path)], stderr=subprocess.DEVNULL) as process:
            until = time.monotonic() + 10
            while True:
                assert process.poll() is None and time.monotonic() < until, (tmp_path / "error.log").read_text()
                try:
                    socket.create_connection(("127.0.0.1", port), 0.2).close()
                    break
                except OSError:
                    time.sleep(0.05)
            yield f"http://localhost:{port}{prefix}"
            process.terminate()
            process.wait(10)

    return begin


@pytest.fixture
def run():
    """Runs a coroutine to its end."""
    return lambda coroutine: asyncio.run(asyncio.wait_for(coroutine, 60))
