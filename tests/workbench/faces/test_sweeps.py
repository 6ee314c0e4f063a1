"""What a sweep's figure shows: means over seeds at each point, with Student's interval, and its finding in words."""

import numpy as np
import pytest
from scipy import stats

from workbench.faces.sweeps import measure_names, sweep_figure
from workbench.registry import registry
from workbench.sweep import Sweep


@pytest.fixture
def swept(runner, monkeypatch):
    def run(axes, seeds=1, experiment="climb"):
        sweep = Sweep(registry().get("kitchen-sink"), experiment, runner, axes, seeds, preset="quick").start()
        assert sweep.wait(90)
        return sweep

    return run


def test_it_draws_the_mean_over_seeds_with_students_interval(swept):
    sweep = swept({"amplitude": [3.0, 1.0, 2.0]}, seeds=4)
    figure = sweep_figure(sweep)
    band, line = figure["data"]
    rows = sweep.frame("heights").groupby(["amplitude", "seed"]).height.mean()
    for i, amplitude in enumerate([1.0, 2.0, 3.0]):
        values = rows[amplitude]
        low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
        assert line["x"][i] == amplitude
        assert line["y"][i] == pytest.approx(values.mean())
        assert (band["y"][5 - i], band["y"][i]) == (pytest.approx(low), pytest.approx(high))
    assert figure["layout"]["title"]["text"].startswith("Height is highest at a 3")
    assert figure["layout"]["yaxis"]["title"]["text"] == "height (V)"
    assert "3 of 3" not in figure["layout"]["title"]["subtitle"]["text"] and "12 of 12" in str(figure["layout"])


def test_a_second_axis_becomes_lines_and_other_measures_can_be_drawn(swept):
    sweep = swept({"amplitude": "1:2:2", "shape": ["sine", "saw"]})
    figure = sweep_figure(sweep, "heights.took")
    assert [trace["name"] for trace in figure["data"]] == ["shape sine", "shape saw"]
    assert [name for name, _ in measure_names(sweep)] == ["heights.height", "heights.took"]
    assert np.isfinite([y for trace in figure["data"] for y in trace["y"]]).all()


def test_before_a_point_is_done_there_is_an_empty_figure(runner):
    sweep = Sweep(registry().get("kitchen-sink"), "climb", runner, {"shape": "*"})
    assert sweep_figure(sweep) == {
        "data": [],
        "layout": {"xaxis": {"title": {"text": "Shape"}}, "yaxis": {"title": {"text": "height (V)"}}},
    }
