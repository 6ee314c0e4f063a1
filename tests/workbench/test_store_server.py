"""The store on a real `mlflow server`, with SQLite and a folder of artifacts, as a team would run it.

The server comes out of the MLflow that is installed here; the few packages that only a server needs lie under
`.bench/mlflow`, and are put there when they are not.
"""

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from small_runs import keep, record

from workbench.controls import ControlError
from workbench.job import State
from workbench.store import NeededRun, Store, StoreError, UnknownRun

pytestmark = pytest.mark.slow
PLACE = Path(__file__).parents[2] / ".bench" / "mlflow"
SERVER = ["flask==3.1.3", "flask-cors==6.0.5", "graphene==3.4.3", "huey==3.5.4", "aiohttp==3.14.5"]


@pytest.fixture(scope="module")
def packages():
    """The folder of what a server needs beside MLflow."""
    if not (PLACE / "flask").is_dir():
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # pip asks PyPI
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(PLACE), *SERVER]
        subprocess.run(command, env=outside, check=True)
    return PLACE


@pytest.fixture(scope="module")
def server(packages, tmp_path_factory):
    """The address of a server."""
    place = tmp_path_factory.mktemp("server")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [
        sys.executable, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{place}/mlflow.db",
        "--artifacts-destination", str(place / "artifacts"), "--host", "127.0.0.1", "--port", str(port),
        "--workers", "1",
    ]  # fmt: skip
    path = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])
    with (place / "log").open("wb") as log:
        process = subprocess.Popen(
            command, env=os.environ | {"PYTHONPATH": path}, cwd=place, stdout=log, stderr=log, start_new_session=True
        )
        deadline = time.monotonic() + 240
        while True:
            assert process.poll() is None and time.monotonic() < deadline, (place / "log").read_text()[-3000:]
            try:
                socket.create_connection(("127.0.0.1", port), 0.2).close()
                break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
        os.killpg(process.pid, 15)
        process.wait(30)


def test_runs_are_kept_there_and_found_from_another_machine(server, tmp_path):
    here, there = Store(tmp_path / "here", server), Store(tmp_path / "there", server)
    ended = keep(here, tmp_path / "work", "shared", owner="ada")
    assert here.find("a-study", "climb", "shared").record == ended
    kept = there.find("a-study", "climb", "shared")
    assert kept.record == ended and kept.result.digest == ended.digest
    assert kept.result.files["note.txt"].is_relative_to(tmp_path / "there")
    assert there.get(ended.run[:10]) == ended and there.files(ended.run) == kept.folder
    assert there.verdicts("a-study", "t1")["1"]["run"] == ended.run
    (kept.folder / "files" / "note.txt").write_text("changed")
    assert there.find("a-study", "climb", "shared").result.digest == ended.digest, "damage is mended from the server"
    with pytest.raises(UnknownRun, match="run: got 'ffff"):
        there.get("f" * 32)
    assert there.find("a-study", "climb", "nothing") is None


BEGINS = """
import sys
from pathlib import Path
from workbench.job import State
from workbench.record import Record
from workbench.store import Store
store = Store(Path(sys.argv[1]), sys.argv[2])
print(store.begin(Record("b-study", "climb", "far", state=State.RUNNING, started=1.0)).run, flush=True)
sys.stdin.readline()
"""


def test_a_run_of_another_machine_is_seen_until_it_gives_no_sign_of_life(server, tmp_path, monkeypatch):
    mine = Store(tmp_path / "mine", server)
    command = [sys.executable, "-c", BEGINS, tmp_path / "theirs", server]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        run = process.stdout.readline().strip()
        monkeypatch.setattr("platform.node", lambda: "my-own-machine")
        while "beat" not in mine.open().get_run(run).data.tags:
            time.sleep(0.1)
        assert mine.get(run).state is State.RUNNING
        found = mine.elsewhere("b-study", "climb", "far")
        assert found is not None and found.run == run
        process.kill()
    killed = time.monotonic()
    while mine.get(run).state is not State.LOST:
        assert time.monotonic() - killed < 10
        time.sleep(0.2)
    assert mine.elsewhere("b-study", "climb", "far") is None


def test_a_run_is_forgotten_there_too(server, tmp_path, capfd):
    here, there = Store(tmp_path / "here", server), Store(tmp_path / "there", server)
    older = keep(here, tmp_path / "older", "gone", heights=(0.1,))
    ended = keep(here, tmp_path / "work", "gone", heights=(0.2,))
    there.pin(ended.run, "report.html")
    with pytest.raises(NeededRun, match=r"which report\.html refers to; expected one that nothing needs"):
        here.forget(ended.run)
    there.unpin(ended.run, "report.html")
    here.forget(ended.run)
    assert not (here.folder / "artifacts" / ended.run).exists()
    assert here.find("a-study", "climb", "gone").record == older, "the one before it stands again"
    here.forget(older.run)
    assert here.find("a-study", "climb", "gone") is None and there.find("a-study", "climb", "gone") is None
    with pytest.raises(UnknownRun):
        there.get(ended.run)
    assert here.open().list_artifacts(ended.run) == []
    assert capfd.readouterr().out == ""


def test_a_server_that_is_away_is_one_sentence_and_keeps_nobody_waiting(tmp_path):
    store = Store(tmp_path, "http://ada:secret@127.0.0.1:1")
    with pytest.raises(StoreError, match=r"^The store at http://127\.0\.0\.1:1 cannot be used: it does not answer\.$"):
        store.begin(replace(record(), state=State.RUNNING))
    assert store.find("a-study", "climb", "k1") is None
    started = time.monotonic()
    for _ in range(20):
        assert store.find("a-study", "climb", "k1") is None and store.elsewhere("a-study", "climb", "k1") is None
    assert time.monotonic() - started < 1
    assert store.verdicts("a-study") == {}


@pytest.mark.parametrize(
    "uri", ["there", "ftp://there", "http://", "sqlite://", "file:///there", "sqlite:///", "http//x"]
)
def test_what_is_no_address_is_refused(uri):
    with pytest.raises(ControlError, match=r"store: got .*; expected the address of an MLflow tracking store"):
        Store(uri=uri)
