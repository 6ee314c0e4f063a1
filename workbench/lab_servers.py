"""What JupyterLab's launcher offers: the dashboards, and the studies' notebooks to edit, behind Jupyter's own sign-in.

`jupyter-server-proxy` finds the two by their entry points, starts one when somebody opens it, and sends it what lies
below its path. The dashboards listen on a socket in a folder that only this user may enter. marimo can listen on a port
alone, so it asks for a token that Jupyter knows. Both end with JupyterLab, also when that is killed. Every Jupyter
server reads the entries as it starts, so this module imports nothing heavy.
"""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from workbench.places import PACKAGE

__all__ = ["dashboards", "main", "notebooks"]

TOKEN = "ASSAY_NOTEBOOKS_TOKEN"
GRACE = 3.0  # seconds that kernels of notebooks have to end by themselves


def entry(title: str, **traits: Any) -> dict[str, Any]:
    """What both servers have in common, in the terms of jupyter-server-proxy."""
    card = {"title": title, "icon_path": str(PACKAGE / "static" / "favicon.svg"), "category": "Notebook"}
    return {"launcher_entry": card, "absolute_url": True, "timeout": 90.0, **traits}


def dashboards() -> dict[str, Any]:
    """The entry of the dashboards, at `assay/`."""
    command = [sys.executable, "-m", "workbench.lab_servers", "dashboards", "{unix_socket}", "{base_url}assay"]
    return entry("Assay dashboards", command=command, unix_socket=True)


def notebooks() -> dict[str, Any]:
    """The entry of the marimo notebooks, at `assay-notebooks/`."""
    token = secrets.token_urlsafe(32)
    command = [sys.executable, "-m", "workbench.lab_servers", "notebooks", "{port}", "{base_url}assay-notebooks"]
    signed = base64.b64encode(f"assay:{token}".encode()).decode()
    return entry(
        "Assay notebooks (marimo)", command=command, environment={TOKEN: token},
        request_headers_override={"Authorization": f"Basic {signed}"},
    )  # fmt: skip


def serve_dashboards(address: Path, prefix: str) -> None:
    """Serve the dashboards on a socket until a signal; it is taken away with its folder."""
    from workbench.server.serving import serve_on
    from workbench.server.settings import Settings

    address.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    address.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(address))
        listening.listen()
        try:
            serve_on(listening, Settings(prefix, signed_in=True))
        finally:
            address.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                address.parent.rmdir()


def serve_notebooks(port: int, prefix: str) -> None:
    """Have marimo edit the user's copies of the notebooks until a signal; its kernels end with it."""
    from workbench.notebook_copies import copy_all
    from workbench.places import home_folder

    folder = home_folder() / "marimo"
    copy_all(folder)
    command = [
        sys.executable, "-m", "marimo", "edit", str(folder), "--headless", "--host", "127.0.0.1", "--port", str(port),
        "--base-url", prefix, "--token-password-file", "-", "--skip-update-check", "--no-sandbox",
    ]  # fmt: skip
    token = os.environ.pop(TOKEN)
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True, cwd=folder
    )
    try:
        assert child.stdin is not None
        child.stdin.write(token.encode())
        child.stdin.close()
        child.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def stop(number: int, frame: object) -> None:
    sys.exit(128 + number)


def main(arguments: Sequence[str]) -> None:
    """Serve one of the two: `dashboards SOCKET PREFIX` or `notebooks PORT PREFIX`, as jupyter-server-proxy asks."""
    from workbench.worker_host import die_with_parent

    parent = os.getppid()
    die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        return
    what, place, prefix = arguments
    prefix = unquote(prefix).rstrip("/")
    signal.signal(signal.SIGTERM, stop)
    if what == "dashboards":
        serve_dashboards(Path(place), prefix)
    else:
        serve_notebooks(int(place), prefix)


if __name__ == "__main__":
    main(sys.argv[1:])
