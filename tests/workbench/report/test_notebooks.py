"""Notebooks of one's own: what they show becomes blocks, wherever it stands; what goes wrong is a sentence."""

from __future__ import annotations

from pathlib import Path

import nbformat
import numpy as np
import pytest

from workbench.controls import ControlError
from workbench.report.document import Aside, Controls, Drawing, Fold, Heading, Numbers, Plain, Prose, TableBlock, walk
from workbench.report.figures import numbers
from workbench.report.jupyter_cells import run_notebook
from workbench.report.narrative import tell_notebook
from workbench.runner import Runner

HERE = Path(__file__).parent / "notebooks"

pytestmark = pytest.mark.slow


def quiet(what, fraction):
    pass


@pytest.fixture(scope="module")
def own():
    runner = Runner(None)
    yield tell_notebook(HERE / "own.py", None, runner=runner, say=quiet)
    runner.close()


def of_kind(narrative, kind):
    return [block for block in walk(narrative.blocks) if isinstance(block, kind)]


def test_a_marimo_notebook_becomes_blocks_in_its_own_order(own):
    assert own.title == "A study of mine" and own.notebook == HERE / "own.py"
    assert own.blocks[0] == Heading(1, "A study of mine")
    prose = own.blocks[1]
    assert isinstance(prose, Prose) and '<span class="tex">E = mc^2</span>' in prose.html
    assert '<span class="tex" data-display="1">\n\\frac{dE}{dt} = 0' in prose.html or "data-display" in prose.html
    assert of_kind(own, Controls)[0].rows == (("Gain", "", "3", ""),)


def test_figures_and_frames_survive_inside_stacks_tabs_and_accordions(own):
    top, inner = of_kind(own, Drawing)
    assert top.title == inner.title == "It is a line" and "title" not in top.content["layout"]
    np.testing.assert_allclose(numbers(top.content["data"][0]["y"]), 3 * np.linspace(0, 1, 50))
    folds = of_kind(own, Fold)
    assert [fold.title for fold in folds] == ["One", "Two", "Rows"]
    (table,) = folds[2].blocks
    assert isinstance(table, TableBlock) and list(table.frame.name) == list("abcde")


def test_marimos_own_elements_become_ours_and_what_runs_is_gone(own):
    assert any(s.label == "Steps" and s.value == 3 for n in of_kind(own, Numbers) for s in n.values)
    (aside,) = of_kind(own, Aside)
    assert aside.kind == "open" and '<span class="tex">x>0</span>'.replace(">0", "&gt;0") in aside.blocks[0].html
    text = "".join(block.html for block in of_kind(own, Prose))
    assert "alert" not in text and "example.org" not in text and "onclick" not in text and "<b>bold</b>" in text


def test_what_it_names_is_kept(own):
    (named,) = own.quantities
    assert (named.name, named.value, named.unit, named.rtol) == ("mean", pytest.approx(0.5), "V", 1e-9)


def test_it_takes_no_values_without_a_cell_for_them():
    with pytest.raises(ControlError, match=r"notebook: got own\.py, whose values cannot be set"):
        tell_notebook(HERE / "own.py", {"controls": {}, "preset": "quick", "seed": 0}, runner=None, say=quiet)


NOTEBOOK = """
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
    return (mo,)

@app.cell
def _(mo):
    {line}
    return (later,)

@app.cell
def _(later):
    later
    return
"""


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("mo.stop(True); later = 1", "of which 1 of 3 cells did not run"),
        ("later = 1; raise RuntimeError('the glass broke')", "which failed: RuntimeError: the glass broke"),
        ("later = 1 / 0", "which failed: ZeroDivisionError"),
    ],
)
def test_a_cell_that_stops_or_fails_is_a_sentence(tmp_path, line, sentence):
    path = tmp_path / f"broken_{abs(hash(line))}.py"
    path.write_text(NOTEBOOK.format(line=line))
    with pytest.raises(ControlError, match=sentence):
        tell_notebook(path, None, runner=None, say=quiet)


def test_a_jupyter_notebook_becomes_blocks():
    named = []
    title, cells, executed = run_notebook(HERE / "mine.ipynb", named)
    blocks = [block for cell in cells for block in cell.blocks]
    assert title == "Mine" and blocks[0] == Heading(1, "Mine")
    assert [type(b) for b in blocks[2:]] == [Plain, Prose, Drawing, Numbers]
    assert blocks[2] == Plain("hello") and blocks[4].title == "Bars"
    assert [q.name for q in named] == ["two"] and named[0].value == 2.0
    nbformat.validate(executed)
    assert nbformat.read(HERE / "mine.ipynb", 4).cells[1].outputs == [], "the file is left as it is"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "expected a notebook of Jupyter"),
        ('{"cells": 3}', "expected a notebook of Jupyter"),
        (None, "whose cell 2 failed: ValueError: no light"),
    ],
)
def test_a_broken_jupyter_notebook_is_a_sentence(tmp_path, content, sentence):
    path = tmp_path / "broken.ipynb"
    if content is None:
        cells = [nbformat.v4.new_markdown_cell("x"), nbformat.v4.new_code_cell("raise ValueError('no light')")]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    else:
        path.write_text(content)
    with pytest.raises(ControlError, match=sentence):
        run_notebook(path, [])
