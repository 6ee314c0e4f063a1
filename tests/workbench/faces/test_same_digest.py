"""The same run gives the same digest on every face, each with an empty store of its own."""

import importlib.util
import json
from pathlib import Path

import pytest

from workbench import explore
from workbench.batch import run_study
from workbench.cli import main
from workbench.runner import default_runner

TESTS = Path(__file__).parents[2]
SET = {"amplitude": 2.5, "frequency": 3.0, "seed": 4}


def on_the_command_line(home):
    target = home / "outcome.json"
    settings = [part for name, value in SET.items() for part in ("--set", f"{name}={value}")]
    with pytest.raises(SystemExit) as left:
        main(["run", "kitchen_sink", "climb", "--preset", "quick", "--device", "cpu", "--json", str(target), *settings])
    assert left.value.code == 0
    return json.loads(target.read_text("utf-8"))["digest"]


def in_a_script(home):
    return run_study("kitchen-sink", "climb", SET, preset="quick", device="cpu").digest


def in_jupyterlab(home):
    explorer = explore("kitchen-sink", preset="quick", **SET)
    digest = explorer.run("climb").wait(60).digest
    explorer.close()
    return digest


def in_marimo(home):
    spec = importlib.util.spec_from_file_location("kitchen_notebook", TESTS / "notebooks" / "kitchen_sink.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    controls = {name: value for name, value in SET.items() if name != "seed"}
    _, values = module.app.run(defs={"controls": controls, "preset": "quick", "seed": SET["seed"]})
    return values["here"].results["climb"].digest


def test_every_face_gives_the_same_digest(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_STUDIES", str(TESTS / "studies"))
    digests = {}
    for face in (on_the_command_line, in_a_script, in_jupyterlab, in_marimo):
        home = tmp_path / face.__name__
        home.mkdir()
        monkeypatch.setenv("ASSAY_HOME", str(home))
        assert default_runner().jobs() == []
        digests[face.__name__] = face(home)
        assert not default_runner().jobs()[0].kept
        default_runner().close()
    assert len(set(digests.values())) == 1, digests
