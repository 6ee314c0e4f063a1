"""What holds for every test: one thread, a home of its own, no way out of the machine, no process left behind."""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Numeric libraries read these when they are first imported, so they are set before anything else is.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # in this process: a pool of compilers would outlive the tests
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
os.environ["DO_NOT_TRACK"] = "1"


def compiled_cache() -> Path:
    """Where compiled kernels are kept from one session to the next.

    Numba notices a change of the file that a function stands in, but not of files that it calls into; so the folder
    is named after all sources of the library.
    """
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "tests"
    sources = hashlib.sha256(sys.version.encode())
    for source in sorted((ROOT / "lib").rglob("*.py")):
        sources.update(str(source.relative_to(ROOT)).encode() + source.read_bytes())
    folder = kept / sources.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()
    for old in sorted(kept.iterdir(), key=lambda path: path.stat().st_mtime)[:-5]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


MARK = "ASSAY_TEST_SESSION"
"""Every process that a test starts inherits this variable, so that it is found even when its parent is gone."""

if "PYTEST_XDIST_WORKER" not in os.environ:
    kept = compiled_cache()
    os.environ["NUMBA_CACHE_DIR"] = str(kept / "numba")
    os.environ["TRITON_CACHE_DIR"] = str(kept / "triton")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(kept / "inductor")

HOME = Path(tempfile.mkdtemp(prefix="assay-home-"))
os.environ["HOME"] = os.environ["USERPROFILE"] = str(HOME)
os.environ["ASSAY_HOME"] = str(HOME / "assay")
for variable in [name for name in os.environ if name.startswith("XDG_")]:
    del os.environ[variable]
os.environ[MARK] = uuid.uuid4().hex

import hypothesis  # noqa: E402
import psutil  # noqa: E402
import pytest  # noqa: E402

hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "here")


# Files that take longest come first, so that of two workers none is left alone with one of them at the end.
LONG = (
    "report/test_every_study.py", "house/test_tools.py", "workbench/test_conformance.py", "kernels/test_lif.py",
    "kernels/test_selective_scan.py", "browser/test_panel.py", "browser/test_runs_page.py",
)  # fmt: skip


# Every Python that a test starts imports the guard as `sitecustomize`; it writes down what was tried and refused.
GUARD = ROOT / "tests" / "guard"
os.environ["PYTHONPATH"] = os.pathsep.join([str(GUARD), *filter(None, [os.environ.get("PYTHONPATH")])])
os.environ.setdefault("ASSAY_TEST_REACHED", str(HOME.with_suffix(".reached")))
runpy.run_path(str(GUARD / "sitecustomize.py"))


def reached_out() -> list[str]:
    """What processes of tests tried to reach beyond this machine."""
    place = Path(os.environ["ASSAY_TEST_REACHED"])
    if "PYTEST_XDIST_WORKER" in os.environ or not place.exists():
        return []
    lines = place.read_text(encoding="utf-8").splitlines()
    place.unlink()
    return [f"refused: {line}" for line in lines]


# Markers that depend on the machine


def chromium() -> str | None:
    """The browser that tests drive."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


def cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get("/".join(item.path.parts[-2:]), len(LONG)))
    lacking: dict[str, str] = {}
    marked = {marker for marker in ("data", "browser", "gpu") if any(item.get_closest_marker(marker) for item in items)}
    if "data" in marked and not os.environ.get("ASSAY_DATA"):
        lacking["data"] = "ASSAY_DATA names no folder of data sets"
    if "browser" in marked and chromium() is None:
        if os.environ.get("CI"):
            raise pytest.UsageError("Chromium is missing: tests in the browser need it.")
        lacking["browser"] = "Chromium is not installed"
    if "gpu" in marked and not cuda():
        lacking["gpu"] = "there is no CUDA device"
    for item in items:
        for marker, reason in lacking.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def assay_data() -> Path:
    """The folder of data sets that `ASSAY_DATA` names; a test that asks for it carries the marker `data`."""
    folder = Path(os.environ["ASSAY_DATA"])
    assert folder.is_dir(), f"ASSAY_DATA names {folder}, which is no folder"
    return folder


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The browser's program; a test that asks for it carries the marker `browser`."""
    found = chromium()
    assert found is not None
    return found


@pytest.fixture
def fresh_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store, uploads and card index of this test alone."""
    home = tmp_path / "assay-home"
    monkeypatch.setenv("ASSAY_HOME", str(home))
    return home


# No process is left behind


def ours() -> Iterator[psutil.Process]:
    """Processes that tests of this session started and that still live."""
    me = psutil.Process()
    family = {process.pid for process in me.children(recursive=True)}
    for process in psutil.process_iter():
        if process.pid == me.pid:
            continue
        try:
            if process.status() == psutil.STATUS_ZOMBIE and process.pid not in family:
                continue
            if process.pid in family or process.environ().get(MARK) == os.environ[MARK]:
                yield process
        except psutil.Error:
            continue


def left_behind() -> list[str]:
    """Ends what tests left running, and says what it was and which test started it."""
    own = ("multiprocessing.resource_tracker", "multiprocessing.forkserver")  # of Python itself; they end with us
    suspects = []
    for process in ours():
        try:
            line = " ".join(process.cmdline())
            if not any(name in line for name in own):
                suspects.append((process, line, process.environ().get("PYTEST_CURRENT_TEST", "an unknown test")))
        except psutil.Error:
            continue
    _, alive = psutil.wait_procs([process for process, _, _ in suspects], timeout=5)
    said = [f"{p.pid} {line[:200] or p.name()}, started in {test}" for p, line, test in suspects if p in alive]
    for process in alive:
        process.kill()
    return said


LEFT = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT] = []


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    workers = session.config.pluginmanager.hasplugin("dsession")  # with xdist, each worker looks after its own
    left = reached_out() + ([] if workers else left_behind())
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = left
    session.config.stash[LEFT] += left
    if session.config.stash[LEFT] and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    shutil.rmtree(HOME, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    output = getattr(node, "workeroutput", {})
    node.config.stash[LEFT] += output.get("left", [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if left := config.stash[LEFT]:
        terminalreporter.section("processes left behind, or hosts they tried to reach", red=True)
        for line in left:
            terminalreporter.line(line)
