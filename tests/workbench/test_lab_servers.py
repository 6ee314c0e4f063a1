"""Dashboards and notebooks behind Jupyter: below its path, after its sign-in, and gone when it is gone."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from importlib.metadata import entry_points
from pathlib import Path

import httpx
import psutil
import pytest

from workbench.lab_servers import dashboards, notebooks

ROOT = Path(__file__).parents[2]
SIGNS = "ASSAY_TEST_LAB"


def tagged(sign):
    """Processes that a server started, and itself."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(SIGNS) == sign and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


class Lab:
    """A JupyterLab below a path, as somebody starts it who installed the project and no more."""

    def __init__(self, folder):
        self.sign = uuid.uuid4().hex
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        temporary = Path(tempfile.mkdtemp(prefix="assay-lab-"))  # the path of a socket has at most 107 bytes
        self.temporary = temporary
        variables = {
            SIGNS: self.sign, "ASSAY_HOME": str(folder / "home"), "ASSAY_STUDIES": str(ROOT / "tests" / "studies"),
            "JUPYTER_TOKEN": "let-me-in", "JUPYTER_CONFIG_DIR": str(folder / "jupyter"), "OMP_NUM_THREADS": "1",
            "TMPDIR": str(temporary),
        }  # fmt: skip
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={self.port}",
            "--ServerApp.base_url=/user/ann@lab/", f"--ServerApp.root_dir={folder}",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            command, env=os.environ | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.address = f"http://localhost:{self.port}/user/ann@lab"
        self.client = httpx.Client(timeout=120, follow_redirects=True)
        deadline = time.monotonic() + 60
        while True:
            assert self.process.poll() is None and time.monotonic() < deadline
            try:
                self.client.get(f"{self.address}/api").raise_for_status()
                break
            except httpx.HTTPError:
                time.sleep(0.1)

    def get(self, path):
        return self.client.get(f"{self.address}/{path}", params={"token": "let-me-in"})

    def end(self, how):
        """End it, and give what is left of it: processes and open ports."""
        ports = {
            connection.laddr.port
            for process in tagged(self.sign)
            for connection in process.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
        self.client.close()
        self.process.send_signal(how)
        self.process.wait(30)
        deadline = time.monotonic() + 20
        while tagged(self.sign) and time.monotonic() < deadline:
            time.sleep(0.1)
        left = tagged(self.sign)
        for process in left:
            process.kill()
        assert ports
        return left, [port for port in ports if socket.socket().connect_ex(("127.0.0.1", port)) == 0]


def test_jupyter_finds_both():
    found = {one.name: one.load() for one in entry_points(group="jupyter_serverproxy_servers")}
    assert found["assay"] is dashboards and found["assay-notebooks"] is notebooks
    for offer in (dashboards(), notebooks()):
        assert Path(offer["launcher_entry"]["icon_path"]).is_file()


def test_the_token_of_the_notebooks_is_new_each_time_and_on_no_command_line():
    one, two = notebooks(), notebooks()
    assert one["environment"] != two["environment"]
    (token,) = one["environment"].values()
    assert len(token) > 40 and token not in " ".join(one["command"])


def test_both_are_served_below_a_path_and_asked_for_by_who_signed_in_alone(tmp_path):
    lab = Lab(tmp_path)
    try:
        nobody = httpx.Client()
        for path in ("assay/gallery", "assay-notebooks/"):
            turned = nobody.get(f"{lab.address}/{path}")
            assert turned.status_code == 302 and "/login" in turned.headers["location"]
        page = lab.get("assay/")
        assert page.status_code == 200 and str(page.url).split("?")[0] == f"{lab.address}/assay/gallery"
        assert "Assay – studies" in page.text
        assert lab.get("assay/api/studies").json()
        assert len(list(lab.temporary.glob("jupyter-server-proxy-*/socket"))) == 1
        editor = lab.get("assay-notebooks/")
        assert editor.status_code == 200 and "marimo" in editor.text
        assert (tmp_path / "home" / "marimo" / "dynamics" / "ssm_stability.py").is_file()
        direct = [
            connection.laddr.port
            for process in tagged(lab.sign)
            if "marimo" in process.cmdline()
            for connection in process.net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        ]
        unasked = nobody.get(f"http://127.0.0.1:{direct[0]}/user/ann@lab/assay-notebooks/", follow_redirects=True)
        assert re.search("password|token", unasked.text.lower()) and "/auth/login" in str(unasked.url)
    finally:
        left, ports = lab.end(signal.SIGTERM)
    assert not left and not ports
    assert not list(lab.temporary.glob("jupyter-server-proxy-*"))
    shutil.rmtree(lab.temporary)


@pytest.mark.slow
def test_twenty_starts_and_stops_leave_no_process_and_no_port(tmp_path):
    for turn in range(20):
        lab = Lab(tmp_path)
        assert lab.get("assay/healthz").status_code == 200
        assert lab.get("assay-notebooks/").status_code == 200
        left, ports = lab.end((signal.SIGTERM, signal.SIGKILL)[turn % 2])
        assert not left and not ports, (turn, left, ports)
        shutil.rmtree(lab.temporary)
