"""The study of HelioX: its views say what the library computes, on samples and on files of one's own."""

import re

import numpy as np
import pytest

from assay.kernels import node_depth, optimal_rounds
from workbench.controls import ControlError
from workbench.registry import registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle


@pytest.fixture(scope="module")
def study():
    return registry().get("heliox")


def at(study, **values):
    return Snapshot(study, settle(study, values, preset="quick"))


def test_the_chart_folds_until_it_meets_the_depth_wall(study):
    parent = at(study).value("tree").parent
    wall = int(node_depth(parent).max()) + 1
    rounds = []
    for k in (1, 2, 8, 32):
        snapshot = at(study, threads=k)
        shown = snapshot.show("gantt")
        rounds.append(len(snapshot.value("schedule")))
        assert rounds[-1] == optimal_rounds(parent, k)
        assert f"{rounds[-1]} rounds" in shown.title and str(wall) in shown.title
        lanes = next(t for t in shown.content["data"] if t.get("yaxis") == "y2")
        assert len(lanes["x"]) == len(parent) and max(lanes["y"]) == k
    assert rounds == sorted(rounds, reverse=True) and rounds[0] == len(parent) and rounds[-1] == wall
    assert "Bottleneck" in at(study, threads=32).show("gantt").subtitle
    assert f"the tree’s depth of {wall} is the wall" in at(study).show("rounds_over_threads").title


@pytest.mark.parametrize("name", ["pvdr", "aval", "ball-and-stick", "caterpillar", "binary", "random"])
def test_every_neuron_is_shown(study, name):
    snapshot = at(study, neuron=f"sample:{name}", current=1.0)
    for view in study.views:
        assert snapshot.show(view).elapsed < 1.5, view
    assert len(snapshot.value("tree")) == len(snapshot.value("schedule").parent)


@pytest.mark.parametrize(
    "values",
    [
        {"longest": 5.0, "threads": 32, "window": 100.0, "dt": 0.01},
        {"longest": 200.0, "threads": 1, "window": 2.0, "dt": 0.1, "current": 20.0},
        {"sodium": False, "potassium": False, "gleak": 0.01, "dt": 0.2},
        {"gna": 0.5, "gk": 0.0, "scheme": "crank-nicolson", "loss": "spikes", "surrogate": "rectangle", "width": 1.0},
        {"loss": "spikes", "adjoint": "frozen", "clip": 1e-6, "instant": 100.0, "drive": 200.0},
    ],
)
def test_views_answer_at_extreme_values(study, values):
    snapshot = at(study, **values)
    for view in study.views:
        for _ in range(2):
            shown = snapshot.show(view)
        assert shown.elapsed < 1, view
        assert "nan" not in shown.title.lower(), view


def test_without_channels_both_gradients_are_the_same(study):
    student = at(study, sodium=False, potassium=False).value("student")
    exact, frozen = (student.densities(g) for g in (student.exact, student.frozen))
    np.testing.assert_allclose(frozen, exact, rtol=1e-10)
    assert "no arrow" in at(study, sodium=False, potassium=False).show("arrow").title


def test_exact_lies_on_differences_and_frozen_turns_away(study):
    snapshot = at(study, neuron="sample:ball-and-stick", current=1.0, gna=0.3)
    title = snapshot.show("agreement").title
    apart = float(re.search(r"to ([\de.-]+); frozen", title).group(1))
    assert apart < 1e-5
    assert re.search(r"turns \d+° away", snapshot.show("arrow").title)
    assert "tape, frozen" in str(snapshot.show("gradient_numbers").content)


def test_a_neuron_of_ones_own_with_channels_and_a_recording(study, tmp_path):
    (tmp_path / "mine.swc").write_text(
        "1 1 0 0 0 8 -1\n3 3 0 200 0 1 2\n2 3 0 8 0 1 1\n4 4 60 260 0 0.6 3\n5 4 -60 260 0 0.6 3\n"
    )
    (tmp_path / "g.csv").write_text("region,channel,gbar\nsoma,na,0.12\nsoma,k,0.036\nall,leak,0.0003\n")
    np.savez(tmp_path / "v.npz", t=np.linspace(0, 20, 201), v=np.full((201, 2), -60.0))
    snapshot = at(study, neuron=str(tmp_path / "mine.swc"), channels=str(tmp_path / "g.csv"),
                  target=str(tmp_path / "v.npz"), current=0.3)  # fmt: skip
    cable, tree = snapshot.value("cable"), snapshot.value("tree")
    assert set(np.unique(cable.sodium)) == {0.0, 0.12} and cable.sodium[tree.soma] == 0.12
    assert "sorted for you" in str(snapshot.show("numbers").content)
    assert np.allclose(snapshot.value("student").target, -60)
    for view in study.views:
        snapshot.show(view)


def test_a_system_of_ones_own_is_solved_and_scheduled(study, tmp_path):
    np.savez(tmp_path / "s.npz", parent=np.array([-1, 0, 1, 1]), a=-np.ones(4), b=-np.ones(4), d=np.full(4, 5.0),
             rhs=np.arange(4.0))  # fmt: skip
    snapshot = at(study, system=str(tmp_path / "s.npz"), threads=2)
    assert "3 rounds" in snapshot.show("gantt").title
    assert "residual" in str(snapshot.show("numbers").content)


def test_a_circuit_of_ones_own(study, tmp_path):
    (tmp_path / "net.csv").write_text(
        "pre,post,weight,kind\nin,mid,80,excitatory\nmid,out,80,excitatory\nin,out,9,gap\n"
    )
    snapshot = at(study, network=str(tmp_path / "net.csv"), drive=80.0)
    assert snapshot.show("circuit_now").title.startswith("in moves")
    with pytest.raises(ControlError, match="'midd' is not in the wiring; nearest are mid"):
        at(study, network=str(tmp_path / "net.csv"), driven="midd").show("circuit_now")


@pytest.mark.parametrize(
    ("control", "name", "content", "view", "sentence"),
    [
        ("neuron", "x.swc", "1 1 0 0 0 1 -1\n2 1 9 0 0 1 -1\n", "gantt", "2 roots, ids 1, 2"),
        ("neuron", "x.swc", "1 1 0 0 0 0 -1\n", "gantt", "radius of id 1 is not above 0"),
        ("neuron", "x.swc", "1 1 0 0 0 8000 -1\n", "gantt", "is the unit nm"),
        ("channels", "x.csv", "region,channel,gbar\nsoma,na,-1\n", "traces", "a density of -1 S/cm²"),
        ("network", "x.csv", "pre,post,weight\na,b,-2\n", "circuit_now", "a weight of -2"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(study, tmp_path, control, name, content, view, sentence):
    (tmp_path / name).write_text(content)
    with pytest.raises(ControlError, match=sentence):
        at(study, **{control: str(tmp_path / name)}).show(view)


def test_a_step_that_loses_a_spike_is_refused(study):
    with pytest.raises(ControlError, match=r"dt: got 0\.2 ms with sodium channels; expected at most 0\.1 ms"):
        at(study, dt=0.2).show("traces")
    assert at(study, dt=0.2).show("gantt").title, "the schedule needs no step"


def test_results_are_drawn_and_judged(study):
    snapshot = at(study, neuron="sample:ball-and-stick", current=1.0)
    results = {
        name: snapshot.perform(name, LocalRun(0, experiment.tables)) for name, experiment in study.experiments.items()
    }
    after = snapshot.with_results(results)
    for view in study.views:
        shown = after.show(view)
        assert shown.elapsed < 1 and "Appears when" not in f"{shown.subtitle}{shown.content}", view
    verdicts = {id: str(after.judge(id).verdict) for id in study.claims}
    assert {verdicts[id] for id in ("3a", "3d", "4a", "4b")} == {"holds"}
    assert {verdicts[id] for id in ("1a", "2b", "3c")} == {"needs scale"}
    ends = results["fit"]["ends"].set_index(["mode", "repeat"])
    assert (ends["last"] <= ends["first"]).all()
    np.testing.assert_allclose(ends.loc["exact", "last"], ends.loc["differences", "last"], rtol=1e-3)
