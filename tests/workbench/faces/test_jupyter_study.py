"""A study in hand: its card, and functions whose signature says what can be set."""

import inspect

import pytest

from workbench import load
from workbench.controls import ControlError
from workbench.faces.markup import number
from workbench.registry import UnknownStudy, registry


@pytest.mark.parametrize("slug", list(registry().places))
def test_every_study_has_a_card_that_names_all_that_can_be_set_run_and_claimed(slug):
    study = load(slug)
    html, text = study._repr_html_(), repr(study)
    for control in study.study.moving.values():
        assert f">{control.name}<" in html and control.name in text
        assert control.expected in study.explore.__doc__ or control.source
    for experiment in study.study.experiments:
        assert f">{experiment}<" in html and experiment in text
    assert list(study.claims["claim"]) == list(study.study.claims)
    assert slug in text


def test_signatures_name_controls_with_their_defaults(kitchen):
    study = load("kitchen-sink")
    for function in (study.explore, study.run, study.export):
        found = inspect.signature(function).parameters
        assert found["amplitude"].default == 1.0 and found["amplitude"].kind is inspect.Parameter.KEYWORD_ONLY
        assert "slug" not in found and found["period"].default is None
        assert "amplitude (a): a number from 0 to 4 V. " in function.__doc__
    assert next(iter(inspect.signature(study.run).parameters)) == "experiment"


def test_ipython_completes_controls(kitchen):
    from IPython.core.completer import provisionalcompleter
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    shell = InteractiveShell(config=settings)
    shell.user_ns["study"] = load("kitchen-sink")

    def completed(code):
        with provisionalcompleter():
            return {found.text for found in shell.Completer.completions(code, len(code))}

    assert {"amplitude=", "frequency="} <= completed("study.explore(")
    assert completed('study.run(preset="quick", amp') == {"amplitude="}
    assert "run" in completed("study.r")


def test_what_is_called_is_this_study(kitchen, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_HOME", str(tmp_path))
    study = load("kitchen_sink")
    outcome = study.run("climb", preset="quick", store=False, amplitude=2)
    assert outcome.study == "kitchen-sink" and outcome.controls["amplitude"] == 2.0
    with pytest.raises(ControlError, match="amplitude: got 9; expected a number from 0 to 4 V"):
        study.explore(amplitude=9)
    with pytest.raises(UnknownStudy, match="got 'nope'"):
        load("nope")


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (12.345, "12.3"), (999.96, "1\N{NARROW NO-BREAK SPACE}000"), (4000.0, "4\N{NARROW NO-BREAK SPACE}000"),
     (-123456.0, "−123\N{NARROW NO-BREAK SPACE}000"), (2.5e6, "2.5e+06"), (1e-7, "1e−07"), (float("nan"), ""),
     (True, "yes")],
)  # fmt: skip
def test_numbers_read_as_people_write_them(value, text):
    assert number(value) == text
