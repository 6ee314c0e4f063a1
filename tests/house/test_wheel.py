"""The wheel works by itself: outside the clone, in a home that is empty, with apps and notebooks inside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"apps": "workbench/apps", "lib/assay": "assay", "notebooks": "workbench/notebooks", "workbench": "workbench"}
"""Where each folder of the clone lies in the wheel."""

RUN_NOTEBOOK = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("notebook", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
outputs, _ = module.app.run(defs={"controls": {}, "preset": "quick", "seed": 1})
print(json.dumps(len([output for output in outputs if output is not None])))
"""


@dataclass
class Installed:
    """An environment that holds the wheel, and a home that is empty.

    Attributes:
        wheel: the file.
        bin: where its commands are.
        site: where its packages are.
        away: a folder outside the clone, to run in.
        environment: the variables of every command.
    """

    wheel: Path
    bin: Path
    site: Path
    away: Path
    environment: dict[str, str]

    def python(self, *arguments: str) -> str:
        """What a Python of this environment prints."""
        return self.ends(str(self.bin / "python"), *arguments)

    def ends(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.away, env=self.environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "home").mkdir()
    (folder / "away").mkdir()
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    place = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", place))
    # The packages that it needs are those of this environment. A path file that is reached through another one is not
    # read, so the clone, which is installed here as an editable project, stays out of sight.
    (site / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    binaries = Path(sysconfig.get_path("scripts", "venv", place))
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(binaries / "python"), "install", "--no-deps", "--no-index",
         "--ignore-installed", "--quiet", str(wheel)],
        check=True, capture_output=True,
    )  # fmt: skip
    keep = ("PATH", "LANG", "OMP_NUM_THREADS", "NUMBA_CACHE_DIR", "ASSAY_TEST_SESSION", "PYTEST_CURRENT_TEST")
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    environment |= {"HOME": str(folder / "home"), "ASSAY_HOME": str(folder / "home" / "assay")}
    return Installed(wheel, binaries, site, folder / "away", environment)


def committed() -> list[str]:
    """Files of the clone that git knows of or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *FOLDERS],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def test_it_holds_every_file_and_nothing_else(installed):
    expected = set()
    for name in committed():
        folder = next(folder for folder in FOLDERS if name.startswith(folder + "/"))
        expected.add(FOLDERS[folder] + name.removeprefix(folder))
    with zipfile.ZipFile(installed.wheel) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == expected


def test_it_is_not_the_clone_that_is_imported(installed):
    code = "import assay, workbench, json; print(json.dumps([assay.__file__, workbench.__file__]))"
    for path in json.loads(installed.python("-c", code)):
        assert Path(path).is_relative_to(installed.site)


def test_it_lists_studies(installed):
    cards = json.loads(installed.ends(str(installed.bin / "assay"), "list", "--json"))
    assert [card["slug"] for card in cards if card["broken"]] == []
    studies = ROOT / "workbench" / "studies"
    found = {path.parent.name if path.name == "__init__.py" else path.stem for path in studies.glob("*/*/__init__.py")}
    found |= {path.stem for path in studies.glob("*/*.py") if not path.name.startswith("_")}
    assert {card["slug"].replace("-", "_") for card in cards} == found


def test_it_opens_pages(installed):
    cards = json.loads(installed.ends(str(installed.bin / "assay"), "list", "--json"))
    command = [str(installed.bin / "assay"), "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=installed.away, env=installed.environment, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            assert address.startswith("http://localhost:"), address
            for page in ("gallery", *(f"study?study={card['slug']}" for card in cards)):
                with urlopen(f"{address}/{page}", timeout=60) as answer:
                    text = answer.read().decode()
                    assert answer.status == 200
                    assert "<title>" in text
        finally:
            server.send_signal(signal.SIGINT)
            assert server.wait(30) in (0, 130, -signal.SIGINT)


@pytest.mark.slow
def test_it_runs_a_notebook(installed):
    notebooks = sorted((installed.site / "workbench" / "notebooks").glob("*/*.py"))
    assert notebooks
    shown = json.loads(installed.python("-c", RUN_NOTEBOOK, str(notebooks[0])).splitlines()[-1])
    assert shown > 5
    assert not any(installed.away.iterdir()), "it wrote where it was started"
