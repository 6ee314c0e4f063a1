"""The study of stability certificates: what views say is true of what they show, and no model or system breaks them."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.checkpoints.safetensors_writing import write_safetensors
from assay.dynamics.state_space import Mamba, MambaShape, pair_has_lyapunov
from workbench.registry import registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle
from workbench.study import ControlError

PEERS = Path(__file__).parents[3] / "assay" / "dynamics" / "state_space" / "peers" / "mixers.npz"
SPIRALS = {"system": "spirals"}


@pytest.fixture(scope="module")
def study():
    return registry().get("ssm-stability")


def at(study, preset="quick", results=None, **values):
    return Snapshot(study, settle(study, values, preset), results)


def stats(shown):
    return {s.label: str(s.value) for s in shown.content}


def ran(snapshot, name):
    return snapshot.perform(name, LocalRun(0, snapshot.study.experiments[name].tables))


def named(content, part):
    return [np.asarray(t["y"], float) for t in content["data"] if part in t.get("name", "")]


# the certificate and its grades


@pytest.mark.parametrize("layer", ["0", "1"])
@pytest.mark.parametrize("method", ["euler", "zoh"])
@pytest.mark.parametrize("vocabulary", [False, True])
def test_no_dot_stands_above_its_bound_under_any_grade(study, layer, method, vocabulary):
    for grade in ("a-priori", "conditional"):
        shown = at(study, layer=layer, method=method, grade=grade, vocabulary=vocabulary).show("channels")
        bound = named(shown.content, "bound, ")[0]
        dots = named(shown.content, "reached by") + named(shown.content, "seen in the data")
        assert len(dots) == (2 if grade == "a-priori" else 1)
        assert all((own <= bound).all() and (own > 0).all() for own in dots)
        assert "no dot above it" in shown.title
    seen = at(study, layer=layer, method=method, grade="empirical").show("channels")
    assert "nothing is promised" in seen.title and not named(seen.content, "bound, ")


def test_the_grade_switch_lets_decades_collapse(study):
    gaps = {}
    for grade in ("a-priori", "conditional"):
        snapshot = at(study, layer="1", grade=grade)
        chosen = snapshot.value("chosen")
        bound, data = chosen.bound(grade, "euler").h_max, chosen.data["euler"].h_max
        top, seen = bound.amax(1).numpy(), data.amax(1).numpy()
        gaps[grade] = float(np.log10(np.median(top / seen)))
        said = re.search(r"lies ([\d.]+) decades above", snapshot.show("channels").title)
        assert float(said[1]) == pytest.approx(gaps[grade], abs=0.01) if said else gaps[grade] < 0.1
    assert gaps["a-priori"] > 3 + gaps["conditional"] and 0 < gaps["conditional"] < 1.5
    boards = [float(np.max(at(study, grade=g).show("board").content["data"][0]["z"])) for g in gaps]
    assert boards[0] > 5 and boards[0] > boards[1] + 3


def test_the_table_lists_every_channel_the_least_certain_first(study):
    rows = at(study).show("worst_first").content
    assert len(rows) == 256 and (np.diff(rows["|h| certified"]) <= 0).all()
    assert (rows["|h| data"] <= rows["|h| adversary"]).all() and (rows["|h| adversary"] <= rows["|h| certified"]).all()
    vacuous = rows["tightness %"] < 1
    assert (rows["verdict"] == np.where(vacuous, "holds, vacuous", "holds")).all()
    assert rows.attrs["title"].startswith(f"{100 * vacuous.mean():.0f} % of 256 bounds")
    assert f"{int((rows['|h| certified'] > 65504).sum())} are above" in rows.attrs["title"]


def test_what_an_ascent_reached_enters_table_and_figure(study):
    snapshot = at(study)
    after = snapshot.with_results({"attack": ran(snapshot, "attack")})
    before, now = (s.show("worst_first").content.sort_values(["layer", "channel"]) for s in (snapshot, after))
    gained = now["|h| adversary"].to_numpy() - before["|h| adversary"].to_numpy()
    assert (gained >= 0).all() and gained.max() > 0
    assert "no dot above it" in after.show("channels").title


def test_decays_are_shares_and_memories_are_those_of_the_steps(study):
    snapshot = at(study)
    content, survey = snapshot.show("decay_map").content, snapshot.value("survey")
    shares = [t["y"] for t in content["data"] if "xaxis" not in t]
    assert [sum(s) for s in shares] == pytest.approx([100.0] * len(survey.layers))
    middles = [float(np.median(layer.horizons)) for layer in survey.layers]
    assert snapshot.show("decay_map").title.startswith(f"The middle state of layer {int(np.argmax(middles))} remembers")


@pytest.mark.parametrize("layer", ["0", "1"])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_in_its_own_time_the_scan_is_one_exponential(study, layer, scale):
    shown = at(study, layer=layer, channel=3, method="zoh", step_scale=scale).show("time_warp")
    tokens, curve, warped = (t for t in shown.content["data"])
    np.testing.assert_allclose(warped["y"], -np.expm1(-np.asarray(warped["x"])), atol=1e-12)
    np.testing.assert_array_equal(tokens["y"], warped["y"])
    np.testing.assert_allclose(curve["y"], -np.expm1(-np.asarray(curve["x"])), atol=1e-12)
    assert shown.title.startswith("Every step lands on one exponential")
    euler = at(study, layer=layer, channel=3, step_scale=scale).show("time_warp")
    gap = np.abs(np.asarray(euler.content["data"][2]["y"]) - warped["y"]).max()
    assert ("leave the exponential" in euler.title) == (gap >= 1e-9)


# changes over length


@pytest.mark.parametrize("change", ["input", "pre", "B", "weights"])
@pytest.mark.parametrize("rates", ["real", "spread", "integrator"])
@pytest.mark.parametrize("method", ["euler", "zoh"])
def test_errors_stay_below_both_bounds(study, change, rates, method):
    snapshot = at(study, change=change, rates=rates, method=method, size=0.1, length=1024)
    shown = snapshot.show("error_length")
    assert "neither bound is broken" in shown.title
    measured = max(own.max() for own in named(shown.content, "adversary") + named(shown.content, "random"))
    assert measured <= min(own[-1] for own in named(shown.content, "any length") + named(shown.content, "linear in L"))
    errors = snapshot.value("errors")
    assert 0 < max(errors.worst.values()) <= 1
    terms = snapshot.show("error_terms").content
    stacked = [np.asarray(t["y"]) for t in terms["data"]]
    np.testing.assert_allclose(stacked[0] + stacked[1], named(shown.content, "linear in L")[0])


@pytest.mark.parametrize("norm", ["inf", "2"])
def test_the_bounds_cross_where_the_figure_says(study, norm):
    snapshot = at(study, length=16_384, norm=norm)
    shown, errors = snapshot.show("error_length"), snapshot.value("errors")
    linear, uniform = (named(shown.content, part)[0] for part in ("linear in L", "any length"))
    assert linear[0] < uniform[0] and linear[-1] > 5 * uniform[-1]
    assert 10 < errors.crossing < 16_384 and shown.content["layout"]["shapes"][0]["x0"] == errors.crossing
    assert shown.content["layout"]["annotations"][0]["text"].startswith("L* = ")
    past, before = errors.at > errors.crossing, errors.at < errors.crossing
    assert (linear[past] >= uniform[past]).all() and (linear[before] <= uniform[before]).all()
    always = at(study, rates="real", norm=norm).show("error_length")
    assert "the linear bound is never the smaller one" in always.subtitle and not always.content["layout"]["shapes"]


def test_a_change_of_c_moves_no_state(study):
    snapshot = at(study, change="C")
    assert snapshot.show("error_length").title == snapshot.show("error_terms").title == "A change of C moves no state"
    assert (snapshot.show("reach").content["|dy| any length"] > 0).all()


def test_reach_calls_vacuous_what_is_no_less_than_twice_the_state(study):
    small, large = (at(study, size=size).show("reach").content for size in (1e-4, 1.0))
    assert not any(small["verdict"].str.startswith("vacuous")) and (large["verdict"] == "vacuous").all()
    assert (small["|dh| any length"] < small["|dh| linear in L"]).all()


# the switching lab


def test_the_status_agrees_with_the_exact_criterion_of_two_states(study):
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(12):
        A = rng.standard_normal((2, 2, 2)) - 0.8 * np.eye(2)
        if np.linalg.eigvals(A).real.max() > -0.05:
            continue
        snapshot = at(study, first=A[0].round(3).tolist(), second=A[1].round(3).tolist())
        told = stats(snapshot.show("lab_numbers"))
        known = pair_has_lyapunov(*snapshot.value("switching").A)
        assert told["exact criterion of two states"] == ("has one" if known else "has none")
        assert (told["status"] == "CERTIFIED") == known
        assert snapshot.show("lab").title.startswith(told["status"])
        seen.add(told["status"])
    assert "CERTIFIED" in seen


def test_spirals_are_refuted_by_the_quarter_turn_and_a_trajectory_leaves(study):
    snapshot = at(study, **SPIRALS)
    assert stats(snapshot.show("lab_numbers"))["status"] == "REFUTED"
    shown = snapshot.show("lab")
    assert "multiplies a state by 9.05 each time" in shown.subtitle
    path = next(t for t in shown.content["data"] if t["name"] == "the product that refutes")
    size = np.hypot(path["x"], path["y"])
    assert size[-1] > 10 * size[0] and snapshot.show("matrices").title == "Each matrix alone decays"


def test_certified_trajectories_never_leave_the_ellipse(study):
    values = {"time": "discrete", "first": [[0.9, 0.3], [0, 0.5]], "second": [[0.5, 0], [0.3, 0.9]]}
    snapshot = at(study, **values)
    content, P = snapshot.show("lab").content, snapshot.value("judged").certificate.P
    edge = next(t for t in content["data"] if t["name"].startswith("ellipse"))
    inside = np.einsum("it,ij,jt->t", np.stack([edge["x"], edge["y"]]), P, np.stack([edge["x"], edge["y"]]))
    np.testing.assert_allclose(inside, inside[0])
    paths = [np.stack([t["x"], t["y"]]) for t in content["data"] if t["name"] == "switched to grow most"]
    assert len(paths) == 3
    for path in paths:
        size = np.einsum("it,ij,jt->t", path, P, path)
        assert (np.diff(size) <= 1e-12).all() and size[0] <= inside[0] * (1 + 1e-9)


def test_a_missing_function_is_open_and_not_unstable(study):
    """Ando and Shih (1998): the joint radius is 1, yet a common quadratic function exists below 1/√2 alone."""
    A = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 1.0], [0.0, -1.0]])
    found = {}
    for scale in (0.7, 0.9, 1.1):
        snapshot = at(study, time="discrete", first=(A[0] * scale).tolist(), second=(A[1] * scale).tolist())
        found[scale] = stats(snapshot.show("lab_numbers"))["status"]
        if found[scale] == "OPEN":
            shown = snapshot.show("lab")
            assert "proves nothing either way" in shown.subtitle and "unstable" not in shown.title.lower()
    assert found == {0.7: "CERTIFIED", 0.9: "OPEN", 1.1: "REFUTED"}


def test_handles_stand_on_the_columns_and_name_their_entries(study):
    shown = at(study, first=[[1, 2], [3, 4]], second=[[-5, 0], [0, 6]]).show("matrices").content
    held = {tuple(t["meta"]["held"]["x"]): (t["x"][0], t["y"][0]) for t in shown["data"] if "held" in t["meta"]}
    assert held == {
        ("first", 0, 0): (1, 3), ("first", 0, 1): (2, 4), ("second", 0, 0): (-5, 0), ("second", 0, 1): (0, 6),
    }  # fmt: skip
    limits = shown["layout"]["xaxis"]["range"]
    assert limits == [-7.5, 7.5]
    assert not any("held" in t["meta"] for t in at(study, **SPIRALS).show("matrices").content["data"])


def test_a_large_system_takes_a_run_and_its_trajectory_is_compared(study, tmp_path):
    rng = np.random.default_rng(0)
    A = np.stack([0.6 * np.linalg.qr(rng.standard_normal((5, 5)))[0] for _ in range(3)])
    h = [np.ones(5)]
    for t in range(40):
        h.append(A[t % 3] @ h[-1])
    np.savez(tmp_path / "mine.npz", A=A, kind="discrete", h=np.array(h))
    snapshot = at(study, vertices=str(tmp_path / "mine.npz"))
    assert snapshot.show("lab").title.startswith("With 3 matrices of 5 states this takes a run")
    after = snapshot.with_results({"judge": ran(snapshot, "judge")})
    told = stats(after.show("verdict"))
    assert told["status"] == "CERTIFIED"
    assert float(told["rate of P, checked"]) == pytest.approx(0.6, abs=2e-3)
    assert told["your trajectory"].startswith("0 of 40 steps")
    assert after.show("matrices").title == "Each matrix alone decays"


# models of one's own


def peer_weights(name):
    held = np.load(PEERS, allow_pickle=False)
    start = f"{name}|weight|"
    weights = {k.removeprefix(start): torch.from_numpy(held[k]) for k in held.files if k.startswith(start)}
    return weights, str(held[f"{name}|config"])


@pytest.mark.parametrize("layout", ["transformers", "original", "alone"])
@pytest.mark.parametrize("family", ["mamba", "mamba2", "falcon", "jamba"])
def test_checkpoints_of_every_family_and_layout_show_every_view(study, tmp_path, family, layout):
    weights, config = peer_weights(family)
    if layout == "original":
        weights = {k.replace("embeddings.", "embedding."): v for k, v in weights.items()}
    if layout == "transformers":
        (tmp_path / "config.json").write_text(config)
    place = tmp_path / "model.safetensors"
    write_safetensors(place, weights)
    given = str(place if layout == "alone" else tmp_path)
    for grade in ("a-priori", "conditional"):
        snapshot = at(study, model=given, grade=grade, layer="1")
        for view in ("channels", "board", "worst_first", "decay_map", "reach", "numbers", "covered", "time_warp"):
            shown = snapshot.show(view)
            assert shown.title, view
        assert "no dot above it" in snapshot.show("channels").title
    assert stats(snapshot.show("numbers"))["family"] == ("Mamba-2" if family == "mamba2" else "Mamba")
    skipped = snapshot.show("covered").content
    assert ("Left out: 1 (attention)" in skipped or "(attention)" in skipped) == (family == "jamba")


def test_a_large_model_is_looked_at_layer_by_layer_and_attacked_as_a_whole(study, tmp_path):
    model = Mamba(MambaShape(vocabulary=12, width=96, layers=6, states=4), torch.Generator().manual_seed(1))
    write_safetensors(tmp_path / "model.safetensors", model.state_dict())
    snapshot = at(study, model=str(tmp_path), layer="4", targets=2, steps=2, window=8)
    rows = snapshot.show("worst_first")
    assert set(rows.content["layer"]) == {"4"} and "of 6: all of them take a run" in rows.subtitle
    assert snapshot.show("board").content["data"][0]["y"] == ["layer 4"]
    after = snapshot.with_results({"attack": ran(snapshot, "attack")})
    rows = after.show("worst_first")
    assert len(set(rows.content["layer"])) > 1 and "1,152 bounds" in rows.title and "take a run" not in rows.subtitle
    assert (rows.content["|h| adversary"] <= rows.content["|h| certified"]).all()


def test_without_a_norm_a_radius_is_asked_for_and_said(study, tmp_path):
    weights, _ = peer_weights("mamba")
    write_safetensors(tmp_path / "m.safetensors", {k: v for k, v in weights.items() if not k.endswith(".norm.weight")})
    tops = []
    for radius in (1.0, 10.0):
        snapshot = at(study, model=str(tmp_path / "m.safetensors"), radius=radius)
        assert f"inputs no longer than {radius:.3g}" in snapshot.show("covered").content
        tops.append(float(snapshot.value("chosen").alone.x_max.max()))
    assert tops[1] > 5 * tops[0]


@pytest.mark.parametrize("kind", ["tokens", "activations"])
def test_calibration_of_ones_own_moves_the_conditional_grade_alone(study, tmp_path, kind):
    rng = np.random.default_rng(0)
    given = rng.integers(0, 16, (2, 20)) if kind == "tokens" else 0.01 * rng.standard_normal((2, 20, 64))
    np.save(tmp_path / "mine.npy", given)
    own, shipped = (at(study, inputs=place).value("chosen") for place in (str(tmp_path / "mine.npy"), ""))
    assert torch.equal(own.alone.x_max, shipped.alone.x_max)
    assert not torch.equal(own.inside.x_max, shipped.inside.x_max)
    said = at(study, inputs=str(tmp_path / "mine.npy")).show("board").subtitle
    assert ("40 given tokens" if kind == "tokens" else "40 given activations") in said


BAD_INPUTS = {
    "token outside": (np.array([[0, 99]]), "token id 99 is not in a vocabulary of 16"),
    "negative token": (np.array([[0, -1]]), "token id -1 is not in a vocabulary of 16"),
    "empty": (np.zeros((0, 4), dtype=int), "inputs: the array is empty"),
    "another width": (np.zeros((1, 4, 7)), r"expected finite activations \(B, L, 64\)"),
    "NaN": (np.full((1, 4, 64), np.nan), "expected finite activations"),
    "one dimension": (np.arange(4), r"expected token ids \(B, L\), whole numbers"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_bad_calibration_is_refused_in_a_sentence(study, tmp_path, case):
    array, sentence = BAD_INPUTS[case]
    np.save(tmp_path / "bad.npy", array)
    with pytest.raises(ControlError, match=sentence) as refused:
        at(study, inputs=str(tmp_path / "bad.npy")).show("channels")
    assert "\n" not in str(refused.value)


def with_rows(weights):
    weights["backbone.layers.1.mixer.x_proj.weight"] = weights["backbone.layers.1.mixer.x_proj.weight"].repeat(2, 1)


def with_inf(weights):
    weights["backbone.layers.1.mixer.A_log"][12, 0] = float("inf")


def with_positive(weights):
    weights["backbone.layers.1.mixer.A"] = -weights.pop("backbone.layers.1.mixer.A_log").exp()
    weights["backbone.layers.1.mixer.A"][5, 1] = 0.25


BAD_MODELS = {
    "rows": (with_rows, r"layers\.1\.mixer\.x_proj\.weight: expected \[R\+2N, D\] = \[9, 32\] .*, got \[18, 32\]"),
    "inf": (with_inf, r"A_log: contains inf \(channel 12\): fp16 load\? cast before exp"),
    "positive A": (with_positive, r"A: gives A = 0\.25 in channel 5; expected −exp\(A_log\), below 0"),
    "no layer": (dict.clear, "."),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_MODELS)
def test_bad_models_are_refused_in_a_sentence(study, tmp_path, case):
    spoil, sentence = BAD_MODELS[case]
    weights, _ = peer_weights("mamba")
    weights = {k: v.clone() for k, v in weights.items()}
    spoil(weights)
    write_safetensors(tmp_path / "m.safetensors", weights or {"lm_head.weight": torch.zeros(2, 2)})
    with pytest.raises(ControlError, match=sentence) as refused:
        at(study, model=str(tmp_path / "m.safetensors"), layer="1").show("channels")
    assert "\n" not in str(refused.value)


BAD_SYSTEMS = {
    "not square": ({"A": np.zeros((2, 2, 3))}, "A: "),
    "no A": ({"B": np.zeros((2, 2, 2))}, "expected A"),
    "kind": ({"A": np.zeros((2, 2, 2)), "kind": "sampled"}, "expected discrete or continuous"),
    "NaN": ({"A": np.full((2, 2, 2), np.nan)}, "finite"),
    "trajectory": ({"A": np.zeros((2, 2, 2)), "h": np.zeros((4, 3))}, r"h: got shape \(4, 3\)"),
    "too large": ({"A": np.zeros((2, 80, 80))}, "64"),
}


@pytest.mark.parametrize("case", BAD_SYSTEMS)
def test_bad_systems_are_refused_in_a_sentence(study, tmp_path, case):
    arrays, sentence = BAD_SYSTEMS[case]
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ControlError, match=sentence) as refused:
        at(study, vertices=str(tmp_path / "bad.npz")).show("lab")
    assert "\n" not in str(refused.value)


def test_an_unstable_vertex_is_named(study, tmp_path):
    np.savez(tmp_path / "u.npz", A=np.array([-np.eye(2), 0.03 * np.eye(2)]), kind="continuous")
    snapshot = at(study, vertices=str(tmp_path / "u.npz"))
    notes = [s.value for s in snapshot.show("lab_numbers").content if s.label == "note"]
    assert notes == ["A[1] has spectral abscissa +0.03: vertex not Hurwitz, no CQLF exists."]
    assert snapshot.show("lab").title.startswith("REFUTED")


# extremes, and what runs give


EXTREMES = [
    {"length": 100_000, "size": 1.0},
    {"length": 16, "size": 1e-4},
    {"rate_scale": 100.0, "step_scale": 100.0, "spread": 4.0},
    {"rate_scale": 0.01, "step_scale": 0.01, "spread": 0.0},
    {"products": 14, "system": "delta"},
    {"system": "legs"},
    {"first": [[100, -100], [100, 100]], "second": [[0, 0], [0, 0]]},
    {"layer": "1", "channel": 127, "state": 15},
    {"target": 100.0},
    {"time": "discrete", "products": 1},
    {"norm": "2", "change": "weights", "length": 100_000},
]


@pytest.mark.parametrize("values", EXTREMES, ids=str)
def test_views_answer_in_time_at_extreme_values(study, values):
    snapshot = at(study, **values)
    for view in study.views:
        shown = snapshot.show(view)
        shown = min((at(study, **values).show(view) for _ in range(2)), key=lambda s: s.elapsed)
        assert shown.elapsed < 1.0, f"{view} took {shown.elapsed:.2f} s"
        if shown.kind == "figure" and view not in ("sizes",):
            numbers = [v for t in shown.content["data"] for v in t.get("y", ()) if isinstance(v, (int, float))]
            assert np.isfinite(numbers).all(), view
            assert "nan" not in f"{shown.title} {shown.subtitle}".lower() and "inf " not in f"{shown.title} "


def test_runs_are_drawn_and_their_verdicts_follow_from_their_tables(study):
    snapshot = at(study)
    results = {}
    for name in ("attack", "perturb", "lengths", "switch", "sample_system", "certify", "judge"):
        results[name] = ran(snapshot, name)
    after = snapshot.with_results(results)
    for view in study.views:
        assert after.show(view).elapsed < 1 and "Appears when" not in str(after.show(view).content), view
    verdicts = {id: str(after.judge(id).verdict) for id in study.claims}
    attack, lengths = results["attack"]["layers"], results["lengths"]["regimes"]
    assert attack["violations"].sum() == 0 and attack["samples"].sum() > 1e6
    assert (verdicts["2b"] == "holds") == (attack["tightness"].max() < 1)
    assert (verdicts["2c"] == "fails") == (attack["without_rho"].max() > 1)
    assert attack.loc[attack["method"] == "zoh", "without_rho"].max() <= 1 + 1e-12, (
        "the bound of a hold holds for a hold"
    )
    assert lengths["over_uniform"].max() <= 1 and lengths["over_linear"].max() <= 1
    known = results["switch"]["known"].set_index("system")["growth"]
    assert known["two spirals"] == pytest.approx(9.054, abs=1e-3)
    assert known["a shear and its transpose"] == pytest.approx(2.1180340**2)
    legs = results["certify"]["systems"]
    legs = legs[legs["system"] == "HiPPO-LegS"]
    assert (legs["rate"] >= 0.5 - 1e-3).all() and (legs["status"] == "CERTIFIED").all()
    assert {verdicts[id] for id in ("1a", "1b", "2a", "3a", "3c", "4a", "4b", "5a")} == {"holds"}
    assert {verdicts[id] for id in ("2c", "3b", "5b")} == {"fails"} and verdicts["6"] == "needs scale"
