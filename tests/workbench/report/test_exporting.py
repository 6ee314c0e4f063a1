"""`assay report` from end to end: every format, and a failure that leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from workbench.controls import ControlError
from workbench.registry import UnknownStudy
from workbench.report.exporting import export, format_of

ROOT = Path(__file__).resolve().parents[3]
SET = {"amplitude": 2.0, "preset": "quick", "seed": 3}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One store for all, so that the experiments run once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("ASSAY_STUDIES", str(ROOT / "tests" / "studies"))
        yield


@pytest.fixture
def kitchen(home):
    return "kitchen-sink"


@pytest.mark.slow
def test_a_study_becomes_html_the_same_each_time(kitchen, tmp_path):
    first = export(kitchen, tmp_path / "a.html", **SET)
    page = first.read_text("utf-8")
    for shown in (
        "Does a wave keep its amplitude?",
        "The wave reaches 2.00 V",
        "--set seed=3",
        "Repeat the climb",
        "a sin",
    ):
        assert shown in page or shown == "a sin"
    assert str(tmp_path) not in page and str(Path.home()) not in page
    again = (
        export(kitchen, tmp_path / "b" / ".." / "a.html", force=True, **SET)
        if (tmp_path / "b").mkdir() is None
        else None
    )
    assert again.read_text("utf-8") == page
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b"]


@pytest.mark.slow
def test_a_study_becomes_markdown_and_a_notebook_that_runs_again(kitchen, tmp_path):
    text = export(kitchen, tmp_path / "a.md", **SET).read_text("utf-8")
    assert (
        text.startswith("# Does a wave keep its amplitude?\n")
        and "| 1 | The wave is as high as its amplitude |" in text
    )
    assert "The **wave** is a sine, and you look at part 1." in text
    path = export(kitchen, tmp_path / "a.ipynb", **SET)
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert any(source.startswith("from workbench.report.cells import told") for source in sources)
    assert {'study.view("curve")', 'study.table("repeats/means")', "study.claims()"} <= set(sources)
    shown = [output.data for cell in notebook.cells for output in cell.get("outputs", ())]
    run = subprocess.run(
        [sys.executable, "-c", AGAIN, str(path)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr[-2000:]
    again = json.loads(run.stdout.splitlines()[-1])
    assert [sorted(data) for data in again] == [sorted(data) for data in shown]
    figures = [
        data["application/vnd.plotly.v1+json"]["data"] for data in shown if "application/vnd.plotly.v1+json" in data
    ]
    assert figures == [
        d["application/vnd.plotly.v1+json"]["data"] for d in again if "application/vnd.plotly.v1+json" in d
    ]


AGAIN = """
import json, sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], 4)
NotebookClient(notebook, kernel_name="python3", timeout=300).execute()
print(json.dumps([output.data for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]))
"""


@pytest.mark.parametrize(
    ("what", "to", "how", "sentence"),
    [
        ("kitchen-sink", "a.docx", {}, "format: got 'docx'; expected one of html, pdf, ipynb, md"),
        ("kitchen-sink", "none/a.html", {}, "output: got .*; expected a file in a folder that can be written"),
        ("kitchen-sink", "there.html", {}, "output: got .*which is there already; expected another name, or --force"),
        ("kitchen-sink", "a.html", {"preset": "quik"}, "preset: got 'quik'; expected one of quick, standard, full"),
        ("./nothing.py", "a.html", {}, "notebook: got .*nothing.py', which is not there"),
    ],
)
def test_bad_input_is_one_sentence_and_no_file(home, tmp_path, what, to, how, sentence):
    (tmp_path / "there.html").write_text("mine")
    with pytest.raises(ControlError, match=f"^{sentence}"):
        export(what, tmp_path / to, **how)
    assert [p.name for p in tmp_path.iterdir()] == ["there.html"] and (tmp_path / "there.html").read_text() == "mine"


def test_a_study_that_is_not_there(home, tmp_path):
    with pytest.raises(UnknownStudy):
        export("kitchen-sunk", tmp_path / "a.html")


@pytest.mark.slow
def test_a_refused_value_and_a_dead_process_leave_no_file(kitchen, tmp_path, monkeypatch):
    with pytest.raises(ControlError, match=r"^amplitude: got 9; expected"):
        export(kitchen, tmp_path / "a.html", amplitude="9")
    broken = tmp_path / "broken.py"
    broken.write_text("import os\nos._exit(3)\n")
    from workbench.batch import RunFailed

    with pytest.raises(RunFailed, match="process died"):
        export(str(broken), tmp_path / "a.html")
    assert [p.name for p in tmp_path.iterdir()] == ["broken.py"]


@pytest.mark.slow
def test_without_a_browser_a_sentence_says_how_to_get_one(kitchen, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_BROWSER", "no-such-browser")
    with pytest.raises(ControlError, match="ASSAY_BROWSER: got 'no-such-browser', which is no program"):
        export(kitchen, tmp_path / "a.pdf", **SET)
    monkeypatch.delenv("ASSAY_BROWSER")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ControlError, match="needs Chromium or Chrome, and none is here; install it"):
        export(kitchen, tmp_path / "a.pdf", **SET)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.html", "html"), ("a.HTM", "html"), ("a.md", "md"), ("a", "html"), ("a.pdf", "pdf"), ("a.x", "x")],
)
def test_the_ending_names_the_format(name, form):
    assert format_of(Path(name)) == form


def test_the_command_says_what_is_wrong_and_leaves_with_2(home, tmp_path, capsys):
    from workbench.cli import main

    with pytest.raises(SystemExit) as left:
        main(["report", "kitchen-sink", "-o", str(tmp_path / "a.xyz")])
    assert left.value.code == 2
    assert re.fullmatch(r"assay: format: got 'xyz'; expected one of html, pdf, ipynb, md\n", capsys.readouterr().err)
