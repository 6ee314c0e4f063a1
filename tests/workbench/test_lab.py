"""`assay lab` without a browser: the notebook that it puts there, and how the server is set up."""

import json

import nbformat
import pytest
from nbclient import NotebookClient

from workbench.controls import ControlError
from workbench.lab import settings, start, story, welcome
from workbench.registry import UnknownStudy, registry


@pytest.mark.slow  # the list of all studies is run below, and this one in a browser
def test_the_notebook_is_valid_and_its_cells_run(kitchen, tmp_path):
    path = welcome(tmp_path / "new" / "folder", "kitchen-sink")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    sources = {cell.id: cell.source for cell in notebook.cells}
    assert sources["explore"].endswith('seen = explore("kitchen-sink", preset="quick")\nseen')
    assert notebook.cells.pop().id == "export"  # tests of reports make one
    done = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    outputs = {cell.id: cell.outputs for cell in done.cells if cell.cell_type == "code"}
    assert "application/vnd.jupyter.widget-view+json" in outputs["explore"][0]["data"]
    assert "amplitude" in outputs["seen"][0]["data"]["text/plain"]
    assert "<table" in outputs["experiment"][-1]["data"]["text/html"]
    assert "needs scale" in outputs["verdicts"][0]["data"]["text/plain"]


@pytest.mark.parametrize("slug", list(registry().places))
def test_every_study_has_a_notebook(slug):
    cells = {name: text for name, kind, text in story(registry().get(slug))}
    assert {"question", "explore", "experiment", "verdicts", "own", "yours", "export"} <= set(cells)
    for name, kind, text in story(registry().get(slug)):
        if kind == "code":
            compile(text, name, "exec")


def test_without_a_study_all_are_listed(tmp_path):
    path = welcome(tmp_path)
    assert path.name == "welcome.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert all(f"| `{slug}` |" in notebook.cells[0].source for slug in registry().places)
    done = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "<table" in done.cells[1].outputs[0]["data"]["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in done.cells[3].outputs[0]["data"]


def test_a_notebook_that_is_there_is_left_as_it_is(kitchen, tmp_path):
    path = welcome(tmp_path, "kitchen-sink")
    path.write_text("mine")
    assert welcome(tmp_path, "kitchen-sink") == path and path.read_text() == "mine"


def test_a_folder_that_cannot_be_is_refused(kitchen, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ControlError, match=r"folder: got .*file"):
        welcome(tmp_path / "file", "kitchen-sink")


def test_the_server_keeps_to_this_machine_and_asks_nobody(kitchen, tmp_path):
    found = settings(tmp_path, tmp_path / "kitchen-sink.ipynb", None, open_browser=False)
    assert found["ServerApp"]["ip"] == "127.0.0.1" and "token" not in str(found)
    lab = found["LabApp"]
    assert lab["news_url"] is None and lab["check_for_updates_class"] == "jupyterlab.NeverCheckForUpdate"
    assert lab["extension_manager"] == "readonly"
    overrides = json.loads((tmp_path / "home" / "jupyterlab" / "overrides.json").read_text())
    assert overrides["@jupyterlab/apputils-extension:notification"]["fetchNews"] == "false"


def test_bad_input_is_one_sentence(kitchen, tmp_path):
    with pytest.raises(UnknownStudy, match="study: got 'nope'"):
        start("nope", folder=tmp_path)
    with pytest.raises(ControlError, match="port: got 70000; expected a port from 1 to 65535"):
        start("kitchen-sink", folder=tmp_path, port=70000)
    assert list(tmp_path.glob("*.ipynb")) == []
