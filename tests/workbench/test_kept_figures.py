"""Figures that are kept with a result: those that show it, as plain data, and never at the cost of the run."""

import base64
import json

import numpy as np
import plotly.graph_objects as go
import pytest

from workbench.kept_figures import keep_figures, listed, read_figures
from workbench.registry import registry
from workbench.results import Result, Table
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle


@pytest.fixture
def done(kitchen):
    """The kitchen-sink study with the result of its climb."""
    study = registry().get("kitchen-sink")
    snapshot = Snapshot(study, settle(study, {}, "quick"))
    result = snapshot.perform("climb", LocalRun(0, study.experiments["climb"].tables))
    return snapshot.with_results({"climb": result})


def test_the_views_that_show_the_result_are_kept_as_they_are_seen(done, tmp_path):
    assert keep_figures(done, "climb", tmp_path, 0.1) == ["progress"]
    (name, figure), = read_figures(tmp_path).items()  # fmt: skip
    shown = done.show("progress")
    assert (name, figure["title"]) == ("progress", "5 steps done") and figure["title"] == shown.title
    packed = figure["data"][0]["y"]  # as Plotly packs numbers
    heights = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    assert heights.tolist() == list(done.results["climb"]["heights"].height)
    assert "template" not in figure["layout"] and figure["layout"]["xaxis"]["title"]["text"] == "Step"
    go.Figure({"data": figure["data"], "layout": figure["layout"]})


def test_a_view_of_nothing_that_ran_is_not_kept(done, tmp_path):
    assert keep_figures(done, "repeats", tmp_path, 0.1) == [] and read_figures(tmp_path) == {}
    unfinished = Result({"heights": Table(done.study.experiments["climb"].tables["heights"])})
    assert keep_figures(done.with_results({"climb": unfinished}), "climb", tmp_path, 0.1) == []


def test_a_view_with_a_fault_or_of_great_size_is_left_out(done, tmp_path, monkeypatch, capsys):
    def fault(*_):
        raise RuntimeError("the view broke")

    monkeypatch.setattr(Snapshot, "show", fault)
    assert keep_figures(done, "climb", tmp_path, 0.1) == [] and "the view broke" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr("workbench.kept_figures.LARGEST", 100)
    assert keep_figures(done, "climb", tmp_path, 0.1) == []


def test_no_view_is_begun_when_the_time_is_over(done, tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.kept_figures.SECONDS", -1.0)
    assert keep_figures(done, "climb", tmp_path, 0.0) == []
    assert keep_figures(done, "climb", tmp_path, 1e4) == ["progress"], "a long run can afford it"


def test_figures_of_every_dtype_are_plain_json():
    values = [
        np.arange(3),
        np.float32(0.5),
        np.array([np.nan, np.inf, 1.0]),
        np.array(["a"]),
        np.datetime64("2026-01-02"),
    ]
    text = json.dumps(listed({"x": values, 3: (1, None, float("nan"))}), allow_nan=False)
    assert json.loads(text) == {"x": [[0, 1, 2], 0.5, [None, None, 1.0], ["a"], "2026-01-02"], "3": [1, None, None]}


def test_what_is_no_figure_is_not_read(tmp_path):
    (tmp_path / "figures").mkdir()
    for name, text in (("cut", '{"data": ['), ("other", "[1]"), ("shape", '{"data": {}, "layout": []}')):
        (tmp_path / "figures" / f"{name}.json").write_text(text)
    assert read_figures(tmp_path) == {}
