"""A study's notebook in a folder of one's own: whole, with what it reads, never written over."""

import ast
import subprocess
import sys

import pytest

from workbench.cli import main
from workbench.controls import ControlError
from workbench.notebook_copies import copy_all, copy_notebook
from workbench.places import notebooks_folder
from workbench.registry import UnknownStudy, registry


def test_a_copy_has_what_it_reads_and_is_a_notebook(tmp_path):
    path = copy_notebook("lif_frequency_matching", tmp_path / "new")
    assert path == tmp_path / "new" / "dynamics" / "lif_frequency_matching.py"
    ast.parse(path.read_text())
    assert (tmp_path / "new" / "head.html").read_bytes() == (notebooks_folder() / "head.html").read_bytes()
    own = {file.name for file in (notebooks_folder() / "dynamics" / "verdicts").iterdir()}
    assert {file.name for file in (path.parent / "verdicts").iterdir()} == own
    checked = subprocess.run([sys.executable, "-m", "marimo", "check", "--strict", str(path)], capture_output=True)
    assert checked.returncode == 0, checked.stderr
    assert not list(tmp_path.rglob(".*"))


def test_one_that_is_there_stays_as_it_is(tmp_path):
    path = copy_notebook("ssm-stability", tmp_path)
    path.write_text("mine")
    assert copy_notebook("ssm-stability", tmp_path).read_text() == "mine"
    copy_all(tmp_path)
    assert path.read_text() == "mine"
    assert {file.stem.replace("_", "-") for file in tmp_path.glob("*/*.py")} == set(registry().places)


def test_bad_input_is_one_sentence_and_nothing_is_written(kitchen, tmp_path):
    with pytest.raises(UnknownStudy, match="got 'nope'"):
        copy_notebook("nope", tmp_path)
    with pytest.raises(ControlError, match=r"study: got 'kitchen-sink', which has no notebook"):
        copy_notebook("kitchen-sink", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ControlError, match=r"folder: got '.*file', which cannot be written"):
        copy_notebook("ssm-stability", tmp_path / "file")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_the_command_says_how_to_open_it(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["notebook", "ssm-stability", "--folder", str(tmp_path)])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"marimo edit {tmp_path / 'dynamics' / 'ssm_stability.py'}\n"
