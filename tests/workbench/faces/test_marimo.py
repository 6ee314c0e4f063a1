"""The marimo face: a notebook run as a script, with parameters that are overridden, and values that are read."""

import importlib.util
from pathlib import Path

import pytest

from workbench.controls import ControlError
from workbench.faces.marimo import Page

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "kitchen_sink.py"


@pytest.fixture
def page(kitchen, runner):
    return Page("kitchen-sink", preset="quick", runner=runner)


def notebook():
    spec = importlib.util.spec_from_file_location("kitchen_sink_notebook", NOTEBOOK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app


def test_elements_hold_what_is_set_within_the_bounds(page):
    page.session.update({"amplitude": 2.5, "shape": "saw", "noisy": True})
    dials = page.dials()
    assert set(dials.elements) == set(page.session.study.moving)
    assert dials.value["amplitude"] == 2.5 and dials["amplitude"].start == 0 and dials["amplitude"].stop == 4
    assert dials.value["shape"] == "saw" and dials.value["noisy"] is True
    assert dials.value["levels"] == "0.25,0.5"
    assert dials.value["recording"]["name"] == "sample:synthetic-low"
    assert page.at(dials.value).refused == {}
    assert page.session.query().keys() == {"amplitude", "shape", "noisy", "preset"}, "what was not moved is not set"


def test_what_is_set_is_shown(page):
    assert "The wave reaches 3.00 V" in page.at({"amplitude": 3}).view("curve").text
    here = page.at({"frequency": 4})
    assert "T 0.25 s" in here.readouts("frequency").text
    assert "Waits for “Climb the wave”." in here.view("progress").text
    for name in page.session.study.views:
        assert here.view(name).text


def test_a_view_is_drawn_again_only_when_something_that_it_reaches_moved(page):
    first = page.at({"amplitude": 2}).view("curve")
    assert page.at({"caption": "other"}).view("curve") is first
    assert page.at({"amplitude": 3}).view("curve") is not first


def test_bad_input_is_a_sentence_and_the_rest_is_set(page):
    here = page.at({"caption": "BAD", "amplitude": 2})
    assert here.refused == {"caption": "caption: got 'BAD'; expected 1 to 20 small letters"}
    assert "expected 1 to 20 small letters" in here.notes().text
    assert page.session.value("caption") == "wave" and page.session.value("amplitude") == 2.0
    with pytest.raises(ControlError, match="amplitude: got 9; expected a number from 0 to 4 V"):
        Page("kitchen-sink", controls={"amplitude": 9}, runner=page.session.runner)


def test_a_run_is_judged(page):
    page.run("climb")
    here = page.at({})
    assert [str(judgement.verdict) for judgement in here.judgements()][:2] == ["holds", "holds"]
    assert here.claims("2").text.count("as-claim") == 1
    assert "Done in" in here.job("climb").text and "heights" in here.tables("climb").text
    assert "5 steps done" in here.view("progress").text
    page.at({"amplitude": 2})
    assert "Made with Amplitude 1.0; it is 2.0 now." in here.view("progress").text


def test_the_notebook_runs_with_other_parameters(kitchen):
    _, values = notebook().run(defs={"controls": {"amplitude": 2}, "preset": "quick", "seed": 3})
    here = values["here"]
    here.page.session.runner.close()
    assert here.page.session.query() == {"seed": "3", "amplitude": "2.0", "preset": "quick"}
    assert len(here.results["climb"]["heights"]) == 5
