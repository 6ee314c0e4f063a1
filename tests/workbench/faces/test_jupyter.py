"""The JupyterLab face without a browser: what is set, what is shown, what is refused, what is run."""

import base64
import time

import numpy as np
import plotly.graph_objects as go
import pytest

from workbench import explore
from workbench.batch import Outcome
from workbench.controls import ControlError
from workbench.faces.jupyter import redraw
from workbench.faces.jupyter_output import LiveFigure


@pytest.fixture
def explorer(kitchen, runner):
    explorer = explore("kitchen-sink", preset="quick", runner=runner)
    assert explorer.settle()
    yield explorer
    explorer.close()


def heading(explorer):
    return explorer.children[3].children[1].children[0].children[2].value


def drawn(values):
    """Numbers of a trace, which Plotly keeps as bytes with their type."""
    return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]) if "bdata" in values else values


def ended(explorer, job):
    job.on_change(lambda: None)
    deadline = time.monotonic() + 20
    while job.state in ("queued", "running") or explorer.jobs[job.request.experiment].button.description == "Cancel":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert explorer.settle()


def test_every_control_and_alias_has_a_handle(explorer):
    study = explorer.session.study
    assert set(explorer.handles) == set(study.moving) | set(study.aliases)


def test_a_slider_moves_the_value_the_field_and_the_figure(explorer):
    handle = explorer.handles["amplitude"]
    handle._slider.value = 60  # of 100 places from 0 to 4 V
    assert explorer.session.value("amplitude") == 2.4 and handle._field.value == "2.4"
    assert explorer.settle()
    assert "The wave reaches 2.40 V" in heading(explorer)
    assert max(drawn(explorer.live.data[0].y)) == pytest.approx(2.4, rel=1e-3)


def test_a_slider_even_in_the_logarithm_reaches_both_ends(explorer):
    handle = explorer.handles["frequency"]
    for place, value in ((0, 0.1), (200, 50.0)):
        handle._slider.value = place
        assert explorer.session.value("frequency") == value


def test_what_is_seen_can_be_taken_along(explorer):
    explorer.handles["amplitude"]._field.value = "2"
    assert explorer.controls["amplitude"] == 2.0 and set(explorer.controls) == set(explorer.session.study.moving)
    figure = explorer.figure()
    assert "2.00 V" in figure.layout.title.text and max(drawn(figure.data[0].y)) == pytest.approx(2.0, rel=1e-3)
    with pytest.raises(ControlError, match="view: got 'no such'; expected one of"):
        explorer.figure("no such")
    assert explorer.result.tables == {}
    ended(explorer, explorer.run("climb"))
    outcome = explorer.result
    assert type(outcome) is Outcome and outcome.controls["amplitude"] == 2.0
    assert len(outcome["climb/heights"]) > 0 and outcome.provenance["climb"]["seed"] == 0


def test_another_handle_sets_its_control(explorer):
    explorer.handles["period"]._field.value = "0.25"
    assert explorer.session.value("frequency") == 4.0
    assert explorer.handles["frequency"]._field.value == "4"


@pytest.mark.parametrize(
    ("name", "typed", "sentence"),
    [
        ("amplitude", "nan", "got nan; expected a number from 0 to 4 V, finite"),
        ("amplitude", "9", "got 9; expected a number from 0 to 4 V"),
        ("amplitude", "high", "got 'high'; expected a number from 0 to 4 V"),
        ("points", "10.5", "got '10.5'; expected a whole number from 10 to 2000"),
        ("caption", "BAD", "got 'BAD'; expected 1 to 20 small letters"),
        ("period", "0", "got '0'; expected a number s that gives frequency a number from 0.1 to 50 Hz"),
        ("levels", "1,99", "got 99 at place 2; expected 1 to 5 numbers from -4 to 4, such as 0.1, 0.5"),
        ("recording", "/nowhere.npz", None),
    ],
)
def test_bad_input_is_a_sentence_at_the_control(explorer, name, typed, sentence):
    before = explorer.session.query()
    handle = explorer.handles[name]
    handle._field.value = typed
    assert handle.refusal and "\n" not in handle.refusal and "Traceback" not in handle.refusal
    assert sentence is None or handle.refusal == sentence
    assert 'role="alert"' in handle._said.value
    assert explorer.session.query() == before
    handle.send(explorer.session.settings.values.get(name, 1.0))
    assert handle.refusal == ""


def test_bad_input_at_the_start_is_the_same_sentence(kitchen):
    with pytest.raises(ControlError, match="amplitude: got 9; expected a number from 0 to 4 V"):
        explore("kitchen-sink", amplitude=9)


def test_choices_follow_what_they_depend_on(explorer):
    explorer.handles["parts"]._slider.value = 5  # 6 parts
    assert len(explorer.handles["part"]._field.options) == 6


def test_every_view_is_shown(explorer):
    for name in explorer.session.study.views:
        explorer.view = name
        assert explorer.settle(), name
        assert "fault" not in explorer.said
    explorer.view = "progress"
    assert explorer.settle()
    assert "Waits for “Climb the wave”." in explorer.said


def test_a_fast_drag_over_a_view_of_uneven_cost_ends_on_the_newest_value(explorer):
    explorer.view = "uneven"
    for place in [*range(5, 60), *range(60, 8, -1)]:
        explorer.handles["amplitude"]._slider.value = place
    assert explorer.settle()
    assert "Amplitude is 0.36 V" in heading(explorer)
    assert list(explorer.live.data[0].y) == [pytest.approx(0.36)]


def test_an_experiment_streams_is_judged_and_goes_stale(explorer):
    explorer.view = "progress"
    bar = explorer.jobs["climb"]
    bar.button.click()
    ended(explorer, bar.job)
    assert bar.button.description == "Run again" and "heights.csv" in bar._more.value
    assert "5 steps done" in heading(explorer) and len(drawn(explorer.live.data[0].x)) == 5
    assert "over 5 seeds" in explorer._ledger.value
    explorer.handles["amplitude"]._field.value = "2"
    assert explorer.settle()
    assert "Made with Amplitude 1.0; it is 2.0 now." in explorer.said
    explorer._undo.click()
    assert explorer.settle()
    assert explorer.said == ""


def test_a_run_can_be_cancelled(explorer):
    explorer.session.update({"steps": 2000, "pause": 0.05})
    bar = explorer.jobs["climb"]
    bar.button.click()
    assert bar.button.description == "Cancel"
    bar.button.click()
    ended(explorer, bar.job)
    assert bar.job.state == "cancelled" and "Cancelled; what was finished is kept." in bar._line.value


def test_a_failed_run_says_why_and_keeps_its_log(explorer):
    bar = explorer.jobs["breaks"]
    bar.button.click()
    ended(explorer, bar.job)
    assert "“Fail on purpose” failed:" in bar._line.value and "Show log" in bar._line.value


def test_code_reset_undo_and_redo(explorer):
    explorer.handles["amplitude"]._field.value = "2"
    explorer._code_button.click()
    assert "amplitude=2.0" in explorer._code.value and "assay run kitchen-sink" in explorer._code.value
    explorer._reset.click()
    assert explorer.session.query() == {"preset": "quick"} and explorer.handles["amplitude"]._field.value == "1"
    explorer._undo.click()
    assert explorer.handles["amplitude"]._field.value == "2"
    explorer._redo.click()
    assert explorer.handles["amplitude"]._field.value == "1"


def test_a_dark_theme_redraws_the_figure(explorer):
    before = explorer.live.layout.template.layout.font.color
    explorer._theme.dark = True
    assert explorer.settle()
    assert explorer.live.layout.template.layout.font.color != before


def test_a_session_without_a_front_end_prints_text(explorer, capsys):
    explorer._ipython_display_()
    said = capsys.readouterr().out
    assert said.startswith("Does a wave keep its amplitude?\n  preset: quick\n") and "amplitude=1" in said
    assert explorer._repr_mimebundle_()["text/plain"] == repr(explorer)


def test_what_a_notebook_keeps_is_what_is_shown(explorer):
    explorer.handles["amplitude"]._field.value = "2"
    assert explorer.settle()
    kept = explorer._saved_bundle()
    figure = kept["application/vnd.plotly.v1+json"]
    assert "2.00 V" in figure["layout"]["title"]["text"] and max(drawn(figure["data"][0]["y"])) == pytest.approx(
        2, rel=1e-3
    )
    explorer.view = "numbers"
    assert "<table" in explorer._saved_bundle()["text/html"] or "<dt" in explorer._saved_bundle()["text/html"]


def test_gaps_travel_as_gaps_wherever_they_stand():
    z = np.array([[1, np.nan], [np.inf, 4]], np.float32)
    figure = go.FigureWidget()
    y = np.array([1, np.nan])
    trace = {"type": "heatmap", "z": z, "customdata": [[np.float32("nan"), 2.0]]}
    redraw(figure, {"data": [trace, {"type": "scatter", "x": [1.0, float("nan")], "y": y}], "layout": {}})
    sent = figure.to_dict()["data"]
    assert [list(row) for row in sent[0]["z"]] == [[1.0, None], [None, 4.0]] and sent[0]["customdata"][0][0] is None
    assert list(sent[1]["x"]) == [1.0, None] and np.isnan(drawn(sent[1]["y"])[1])


def test_a_page_that_is_loaded_again_is_told_what_is_shown(explorer):
    explorer.handles["amplitude"]._field.value = "2"
    assert explorer.settle()
    state = explorer.live.get_state()
    assert max(drawn(state["_widget_data"][0]["y"])) == pytest.approx(2.0, rel=1e-3)
    assert "Voltage" in state["_widget_layout"]["yaxis"]["title"]["text"]


def test_the_code_is_sent_once_and_is_plotly_s_own():
    one, other = LiveFigure(), LiveFigure()
    assert one._source is other._source and one._source.text == str(go.FigureWidget._esm)
    assert len(str(one.get_state())) < 30_000
    one._source.close()
    assert LiveFigure()._source is not one._source
