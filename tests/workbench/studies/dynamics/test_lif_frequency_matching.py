"""The LIF frequency-matching study: what its views say is what the library computes, and its splits leak nothing."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.dynamics import lif_cutoff, lif_response
from workbench.claims import Verdict
from workbench.registry import registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle
from workbench.study import ControlError


@pytest.fixture(scope="module")
def study():
    return registry().get("lif-frequency-matching")


def at(study, preset="quick", results=None, **values):
    return Snapshot(study, settle(study, values, preset), results)


def traces(shown):
    return {t.get("name", str(i)): t for i, t in enumerate(shown.content["data"])}


@pytest.fixture(scope="module")
def trained(study):
    """A sweep of few steps on the smallest data."""
    snapshot = at(study, source="sample:synthetic-low", betas="0.2,0.6,0.9,0.97", steps=30, seeds=2)
    experiment = study.experiments["sweep"]
    return snapshot, snapshot.perform("sweep", LocalRun(0, experiment.tables))


def test_the_hero_says_how_much_of_the_information_the_filter_keeps(study):
    snapshot = at(study, beta=0.8)
    spectrum = snapshot.value("spectrum")
    kept = 100 * spectrum.di_norm @ lif_response(spectrum.omega, 0.8)
    shown = snapshot.show("overlay")
    assert shown.title == f"At β = 0.8 the filter keeps {kept:.0f} % of the class information"
    bars = traces(shown)
    assert np.sum(bars["information in a frequency bin"]["y"]) == pytest.approx(100)
    assert np.sum(bars["what your filter keeps"]["y"]) == pytest.approx(kept)
    (cutoff,) = [s for s in shown.content["layout"]["shapes"] if s["name"] == "cutoff"]
    assert cutoff["x0"] == pytest.approx(lif_cutoff(0.8, fs=snapshot.value("recording").fs))


def test_a_neuron_without_a_cutoff_says_so(study):
    snapshot = at(study, beta=0.1)
    assert not snapshot.show("overlay").content["layout"]["shapes"]
    stats = {s.label: s for s in snapshot.show("numbers").content}
    assert stats["cut-off of a neuron"].value == "none"


def test_the_rule_follows_what_is_known_of_the_data_and_where_it_is_not_it_shows(study):
    low, high, none = (
        at(study, source=f"sample:synthetic-{kind}").value("matching") for kind in ("low", "high", "none")
    )
    # closed form: a flat spectrum has its elbow at 0.711 between the candidates 0.05 and 0.99
    assert low.flat == high.flat == none.flat == pytest.approx(0.71, abs=0.011)
    assert high.threshold < none.threshold < low.threshold
    assert np.percentile(none.shuffled, 2.5) <= none.threshold <= np.percentile(none.shuffled, 97.5)
    assert at(study, source="sample:synthetic-low").judge("2").verdict == Verdict.HOLDS
    assert at(study, source="sample:synthetic-high").judge("2").verdict == Verdict.FAILS
    assert at(study, source="sample:synthetic-none").judge("2").verdict == Verdict.INCONCLUSIVE


@settings(max_examples=30, deadline=None)
@given(beta=st.floats(0.2, 0.99))
def test_every_handle_of_beta_leads_back_to_it(study, beta):
    first = at(study, source="sample:synthetic-low", beta=beta)
    for alias in study.aliases:
        handle = first.handle(alias)
        again = at(study, source="sample:synthetic-low", **{alias: handle})
        assert again.settings.values["beta"] == pytest.approx(beta, rel=1e-6), alias


def test_no_recording_is_in_two_parts(study):
    for source in ("sample:radhar", "sample:synthetic-low"):
        parts = at(study, source=source).value("split")
        names = [
            {part.group_names[g] for g in np.unique(part.group)} for part in (parts.train, parts.validation, parts.test)
        ]
        assert not (names[0] & names[1] or names[0] & names[2] or names[1] & names[2])
        assert all(
            len(np.unique(part.y)) == len(parts.train.classes) for part in (parts.train, parts.validation, parts.test)
        )


def test_a_sweep_counts_what_it_says(trained):
    snapshot, result = trained
    runs, rows = result["runs"], result["recordings"]
    assert sorted(runs.beta.unique()) == [0.2, 0.6, 0.9, 0.97] and len(runs) == 8
    test = rows[rows.part == "test"].groupby(["beta", "seed"])[["correct", "windows"]].sum()
    accuracy = 100 * test.correct / test.windows
    assert accuracy.to_numpy() == pytest.approx(runs.set_index(["beta", "seed"]).accuracy.sort_index().to_numpy())
    assert (test.windows == len(snapshot.value("split").test)).all()


def test_points_appear_where_they_are_done_and_the_rest_waits(study, trained):
    snapshot, result = trained
    before = traces(snapshot.show("regions"))
    assert "spiking net" not in before and len(before["to be trained"]["x"]) == 4
    part = type(result)({name: type(t)(t.columns, t.frame.to_dict("records")[:n]) for (name, t), n in
                         zip(result.tables.items(), (1, 20), strict=True)})  # fmt: skip
    some = traces(snapshot.with_results({"sweep": part}).show("regions"))
    assert len(some["spiking net"]["x"]) == 1 and len(some["to be trained"]["x"]) == 3
    done = traces(snapshot.with_results({"sweep": result}).show("regions"))
    assert len(done["spiking net"]["x"]) == 4 and "to be trained" not in done
    error = done["spiking net"]["error_y"]
    assert np.all(np.asarray(error["array"]) >= 0) and np.all(np.asarray(error["arrayminus"]) >= 0)


def test_nets_that_learned_nothing_are_not_compared(study):
    snapshot = at(study, source="sample:synthetic-none", betas="0.5,0.97", steps=2, seeds=1)
    result = snapshot.perform("sweep", LocalRun(0, study.experiments["sweep"].tables))
    judged = snapshot.with_results({"sweep": result}).judge("3b")
    assert judged.verdict == Verdict.NEEDS_SCALE and "half of guessing" in judged.why


def test_a_net_of_ones_own_shows_its_cutoffs(study, tmp_path):
    path = tmp_path / "net.pt"
    torch.save({"lif1.beta": torch.tensor([0.5, 0.99]), "fc.weight": torch.zeros(2, 2)}, path)
    table = at(study, source="sample:synthetic-low", net=str(path)).show("own_net").content
    assert list(table["layer"]) == ["lif1"] and list(table["past β†"]) == [1]
    bad = tmp_path / "bad.pt"
    bad.write_bytes(b"not weights")
    with pytest.raises(ControlError):
        at(study, source="sample:synthetic-low", net=str(bad)).show("own_net")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"X": np.zeros((20, 16)), "y": np.zeros(20, int), "fs": 10.0}, "y: has one class"),
        ({"X": np.zeros(128), "y": np.zeros(128, int), "fs": 10.0}, r"X: .*\(128,\)"),
        ({"X": np.random.default_rng(0).normal(size=(20, 16)), "y": np.arange(20) % 2}, "fs"),
        ({"X": np.full((20, 16), np.nan), "y": np.arange(20) % 2, "fs": 10.0}, "X: .*non-finite|NaN"),
    ],
)
def test_data_that_cannot_be_used_gets_one_sentence(study, tmp_path, arrays, sentence):
    path = tmp_path / "mine.npz"
    np.savez(path, **arrays)
    with pytest.raises(ControlError, match=sentence) as caught:
        at(study, source=str(path)).show("overlay")
    assert str(caught.value).count("\n") == 0


def test_candidates_that_leave_no_range_are_refused(study):
    with pytest.raises(ControlError, match=r"^lowest: got 0.9; expected less than the highest candidate, 0.5"):
        at(study, lowest=0.9, highest=0.5).show("overlay")
