"""The effective-rank study: its views say what the library computes, and the gauge leaves what it must."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from assay.geometry import effective_rank, gauge, gauge_move, singular_values
from assay.models import Decoder, DecoderShape, read_suite
from assay.models.kept_suite import SUITE_FOLDER
from workbench.claims import Verdict, judge
from workbench.registry import registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle
from workbench.study import ControlError


@pytest.fixture(scope="module")
def study():
    return registry().get("effective-rank")


def at(study, preset="quick", results=None, **values):
    return Snapshot(study, settle(study, values, preset), results)


def stats(shown):
    return {s.label: s.value for s in shown.content}


@settings(max_examples=12)
@given(st.floats(-1, 1), st.sampled_from(["raw", "centred", "folded", "centred and folded", "centred and whitened"]))
def test_the_spectrum_is_that_of_the_moved_matrix_in_its_gauge(study, move, name):
    snapshot = at(study, move=move, gauge=name)
    own, states = snapshot.value("matrix"), snapshot.value("final")
    m, inverse = snapshot.value("maps")
    weight = own.weight.double().numpy()
    changed = gauge(weight, center="centred" in name, gain=own.gain if "folded" in name else None)
    changed = changed @ np.linalg.inv(m)
    np.testing.assert_allclose(m @ inverse, np.eye(len(m)), atol=1e-9)
    if "whitened" in name:
        changed = gauge(changed, hidden_cov=m @ np.cov(states.hidden, rowvar=False, bias=True) @ m.T)
    theirs = np.linalg.svd(changed, compute_uv=False)
    np.testing.assert_allclose(snapshot.value("spectrum"), theirs, rtol=1e-5, atol=1e-9 * theirs[0])


def test_the_gauge_moves_the_rank_and_neither_text_nor_loss(study):
    full, still, one = (at(study, move=move) for move in (-1.0, 0.0, 1.0))
    ranks = [float(effective_rank(s.value("spectrum"))) for s in (full, still, one)]
    assert ranks[0] == pytest.approx(48, rel=1e-6) and ranks[2] < 1.2 < 10 < ranks[1]
    words = {s.show("text").content for s in (full, still, one)}
    assert len(words) == 1 and "The same text at every gauge" in words.pop()
    for snapshot in (full, one):
        told = stats(snapshot.show("unmoved"))
        assert told["likeliest token stays"] == "100" and told["loss before"] == told["loss after"]
        assert float(told["largest change of a logit"].replace("−", "-")) < 1e-6


def test_whitened_it_does_not_move(study):
    ranks = [
        float(effective_rank(at(study, move=m, gauge="centred and whitened").value("spectrum")))
        for m in (-1, 0, 0.7, 1)
    ]
    assert ranks == pytest.approx([ranks[1]] * 4, rel=1e-4), "a covariance of moved states loses digits at 10⁶"
    assert at(study, move=0.7, gauge="whitened").show("gauge_spectrum").title.endswith("the gauge does not move it")


def test_loss_of_the_model_is_that_of_its_own_forward_pass(study):
    snapshot = at(study)
    decoder = snapshot.value("decoder")
    with torch.no_grad():
        values = decoder.model(decoder.held_out[:, :-1])[:, 16:].flatten(0, 1)[:256]
    expected = torch.nn.functional.cross_entropy(values, decoder.held_out[:, 17:].flatten()[:256])
    assert float(stats(snapshot.show("unmoved"))["loss before"]) == pytest.approx(float(expected), abs=1e-4)


def test_every_metric_answers_a_change_by_hand(study):
    cut = at(study, kept=0.5).show("hand_metrics").content.set_index("metric")
    assert cut.loc["numerical rank, 10⁻³ s₁", "after"] <= 24
    flat = at(study, gamma=0.0).show("hand_metrics").content.set_index("metric")
    assert (flat.loc[["R (s)", "R₂ (s²)", "participation ratio (s²)", "stable rank (s²)"], "after"] == 48).all()
    spiked = at(study, spike=100.0).show("hand_metrics").content.set_index("metric")
    assert spiked.loc["stable rank (s²)", "after"] == pytest.approx(1, abs=1e-3)
    assert (at(study).show("hand_metrics").content["change"] == "+0 %").all()


def test_a_checkpoint_of_the_users_is_measured_and_named(study, tmp_path):
    matrix = np.random.default_rng(0).standard_normal((500, 20)).astype(np.float32)
    np.save(tmp_path / "mine.npy", matrix)
    snapshot = at(study, model=str(tmp_path / "mine.npy"))
    shown = snapshot.show("gauge_spectrum")
    assert f"R = {float(effective_rank(singular_values(matrix))):.4g} of 20" in shown.title
    assert "mine.npy" in shown.subtitle and "comes along" in snapshot.show("text").content
    marks = snapshot.show("cloud").content["layout"]["annotations"]
    assert any("mine.npy" in mark["text"] for mark in marks)
    with pytest.raises(ControlError, match="needs states of the model"):
        at(study, model=str(tmp_path / "mine.npy"), gauge="whitened").show("gauge_spectrum")
    with pytest.raises(ControlError, match="needs the gain"):
        at(study, model=str(tmp_path / "mine.npy"), gauge="folded").show("gauge_spectrum")
    np.save(tmp_path / "states.npy", np.random.default_rng(1).standard_normal((80, 20)))
    whitened = at(study, model=str(tmp_path / "mine.npy"), states=str(tmp_path / "states.npy"), gauge="whitened")
    assert whitened.show("gauge_spectrum").kind == "figure"
    np.save(tmp_path / "wrong.npy", np.ones((80, 3)))
    with pytest.raises(ControlError, match=r"expected finite numbers, \(n, 20\)"):
        at(study, model=str(tmp_path / "mine.npy"), states=str(tmp_path / "wrong.npy")).show("unmoved")


def test_of_a_large_vocabulary_some_logits_are_followed(study, tmp_path):
    np.save(tmp_path / "tall.npy", np.random.default_rng(0).standard_normal((3000, 8)).astype(np.float32))
    told = at(study, model=str(tmp_path / "tall.npy"), move=1.0).show("unmoved").content
    assert any("among 1,024 of 3,000 tokens" in stat.unit for stat in told)
    assert float(told[0].value.replace("−", "-")) < 1e-6 and told[1].value == "100"


def test_two_checkpoints_stand_beside_each_other(study, tmp_path):
    np.save(tmp_path / "other.npy", np.random.default_rng(0).standard_normal((300, 12)).astype(np.float32))
    snapshot = at(study, other=str(tmp_path / "other.npy"))
    assert {"raw", "whitened", "other.npy: raw", "other.npy: centred"} <= set(snapshot.show("gauge_table").content)
    names = [trace["name"] for trace in snapshot.show("gauge_spectrum").content["data"]]
    assert any(name.startswith("other.npy, R = ") and name.endswith(" of 12") for name in names)
    marks = [mark["text"].split()[0] for mark in snapshot.show("cloud").content["layout"]["annotations"]]
    assert marks == ["small-decoder", "other.npy"]
    whitened = at(study, other=str(tmp_path / "other.npy"), gauge="whitened").show("gauge_spectrum").content["data"]
    assert not any(trace["name"].startswith("other.npy") for trace in whitened), "it has no states"


def test_an_encoder_is_shown_as_one(study, tmp_path):
    weight = torch.randn(60, 16, generator=torch.Generator().manual_seed(0)).numpy()
    np.savez(tmp_path / "encoder.npz", **{"bert.embeddings.word_embeddings.weight": weight,
                                         "bert.embeddings.position_embeddings.weight": weight[:8]})  # fmt: skip
    snapshot = at(study, model=str(tmp_path / "encoder.npz"))
    assert "the input embedding of an encoder" in snapshot.show("gauge_spectrum").subtitle
    own = snapshot.value("matrix")
    assert own.embedding and any("no unembedding" in note for note in own.notes)


def test_rounding_adds_rank(study, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "low.npy", (rng.standard_normal((2000, 8)) @ rng.standard_normal((8, 64))).astype(np.float32))
    ranks = {}
    for precision in ("stored", "bfloat16", "8", "4"):
        snapshot = at(study, model=str(tmp_path / "low.npy"), precision=precision)
        ranks[precision] = float(effective_rank(snapshot.value("spectrum")))
    assert ranks["stored"] < 8.01 and ranks["stored"] < ranks["bfloat16"] < ranks["8"] < ranks["4"]
    assert "Rounded to 4 bits" in snapshot.show("gauge_table").subtitle
    told = stats(at(study, precision="3").show("unmoved")), stats(at(study).show("unmoved"))
    assert float(told[0]["loss before"]) > float(told[1]["loss before"]) + 1e-3


def test_a_share_of_the_rows_and_rows_at_length_one(study, tmp_path):
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((400, 16)) * np.exp(rng.standard_normal((400, 1)))
    weight[3] = 0
    np.save(tmp_path / "w.npy", weight)
    own = str(tmp_path / "w.npy")
    some = at(study, model=own, row_share=0.25)
    np.testing.assert_allclose(some.value("spectrum"), np.linalg.svd(weight[:100], compute_uv=False), rtol=1e-6)
    assert "The first 100 of 400 rows." in some.show("gauge_table").subtitle
    unit = at(study, model=own, unit_rows=True).value("matrix").weight.numpy()
    lengths = np.linalg.norm(unit, axis=1)
    assert lengths[3] == 0 and np.allclose(np.delete(lengths, 3), 1)
    assert "Rank is capped by these 8 rows." in at(study, model=own, row_share=0.02).show("gauge_table").subtitle
    np.save(tmp_path / "short.npy", weight[:20])
    with pytest.raises(ControlError, match=r"row_share: got 0.05, 1 of 20 rows; expected a share that leaves 2"):
        at(study, model=str(tmp_path / "short.npy"), row_share=0.05).value("matrix")
    for values in ({"row_share": 0.5}, {"unit_rows": True}):  # no longer the model that came along
        snapshot = at(study, **values)
        assert "loss before" not in stats(snapshot.show("unmoved"))
        assert "The same text" not in snapshot.show("text").content


def test_views_of_the_suite_show_one_size_where_it_is_asked_for(study):
    names = list(at(study).value("size_names"))
    assert names[0] == "all" and len(names) == 7
    one = at(study, size=names[1])
    assert len(one.value("shown_grid")) == 18 and set(one.value("shown_grid")["size"]) == {names[1]}
    assert "in this size" in one.show("cloud").title and "18 runs of one size" in one.show("cloud").subtitle
    for view in ("residuals", "factors", "agreement"):
        assert one.show(view).content["data"]
    with pytest.raises(ControlError, match="size: got '7 wide'"):
        at(study, size="7 wide")


def test_checkpoints_of_steps_are_drawn_over_steps(study, tmp_path):
    for step in (1000, 20, 300):
        model = Decoder(DecoderShape(40, 16, 1, spread=0.01 * step), torch.Generator().manual_seed(step))
        (tmp_path / "run" / f"step{step}").mkdir(parents=True)
        weights = {name: value.numpy() for name, value in model.named_weights().items()}
        np.savez(tmp_path / "run" / f"step{step}.npz", **weights)
        (tmp_path / "run" / f"step{step}").rmdir()
    snapshot = at(study, steps_folder=str(tmp_path / "run"))
    assert [step for step, _ in snapshot.value("own_steps")] == [20, 300, 1000]
    traces = [t for t in snapshot.show("training").content["data"] if t["name"] == "your checkpoints"]
    assert list(traces[0]["x"]) == [20, 300, 1000]
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "readme").write_text("no number")
    with pytest.raises(ControlError, match="nothing with a number"):
        at(study, steps_folder=str(tmp_path / "none")).show("training")


def test_raw_and_partial_correlation_are_those_of_scipy(study):
    snapshot = at(study)
    grid = snapshot.value("grid")
    assert len(grid) == 108
    raw = spearmanr(grid["effective rank"], grid["loss prose"]).statistic
    assert f"ρ = {raw:+.2f}".replace("-", "−") in snapshot.show("cloud").title
    design = pd.get_dummies(
        grid[["size", "batch", "weight_decay", "rate", "final_share"]].astype(str), drop_first=True
    ).to_numpy(float)
    design = np.column_stack([np.ones(108), design])

    def left(name):
        ranks = grid[name].rank().to_numpy()
        return ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]

    partial = pearsonr(left("effective rank"), left("loss prose")).statistic
    assert snapshot.show("residuals").title.endswith(f"{partial:+.2f}".replace("-", "−"))
    result = snapshot.perform("analyse", LocalRun(0, study.experiments["analyse"].tables))
    rows = result["metrics"].set_index(["metric", "outcome"])
    one = rows.loc[("effective rank", "loss prose")]
    assert one["raw"] == pytest.approx(raw, abs=1e-9) and one["partial"] == pytest.approx(partial, abs=1e-9)
    effects = result["effects"].set_index("effect")
    assert effects.loc["raw correlation", "estimate"] == pytest.approx(raw, abs=1e-9)
    low, high = grid["batch"].min(), grid["batch"].max()
    means = grid.groupby("batch")["effective rank"].mean()
    assert effects.loc["batch on rank", "estimate"] == pytest.approx(means[high] - means[low], abs=1e-9)
    suite, long = read_suite(), result["long"]
    assert len(long) == sum(row["kind"] == "long" for row in suite.rows)
    assert (long["drop_step"] - long["best_step"] == long["lag"]).all()
    assert ((long["lag_low"] <= long["lag"]) & (long["lag"] <= long["lag_high"])).mean() > 0.5
    traces = at(study, results={"analyse": result}).show("training").content["data"]
    falls, lowest = (next(t for t in traces if t["name"] == n) for n in ("steepest fall of the rank", "lowest loss"))
    assert list(falls["x"]) == list(long["drop_step"]) and list(lowest["x"]) == list(long["best_step"])
    runs = [i for i, row in enumerate(suite.rows) if row["kind"] == "long"]
    for place, run in enumerate(runs):
        assert lowest["y"][place] == pytest.approx(np.interp(lowest["x"][place], suite.step[run], suite.loss[run]))
    assert [s == "diamond" for s in lowest["marker"]["symbol"]] == list(long["degraded"])


def test_a_table_of_runs_of_the_users_takes_the_place_of_the_kept_one(study, tmp_path):
    table = pd.read_csv(SUITE_FOLDER / "runs.csv")
    table = table[table["kind"] == "grid"].head(60)
    table.to_csv(tmp_path / "runs.csv", index=False)
    assert at(study, runs_table=str(tmp_path / "runs.csv")).show("cloud").subtitle.startswith("60 runs")
    table.drop(columns="isoscore").to_csv(tmp_path / "short.csv", index=False)
    with pytest.raises(ControlError, match="has no column isoscore"):
        at(study, runs_table=str(tmp_path / "short.csv")).show("cloud")


def test_runs_of_the_users_own_are_held_fixed_by_their_columns(study, tmp_path):
    """Of the suite's grid, under other names, the numbers are those of the suite."""
    mine = pd.read_csv(SUITE_FOLDER / "runs.csv").query("kind == 'grid'")
    mine = mine.rename(columns={"effective rank": "erank", "loss prose": "val loss", "batch": "bs", "config": "recipe"})
    mine["erank"] = 100 * mine["erank"] / mine["width"]
    mine.loc[mine.index[3], "erank"] = np.nan
    mine.to_parquet(tmp_path / "mine.parquet")
    names = {"own_runs": str(tmp_path / "mine.parquet"), "own_metric": "erank", "own_outcome": "val loss",
             "own_held": "width, layers, bs, weight_decay, rate, final_share", "own_group": "recipe"}  # fmt: skip
    snapshot = at(study, **names)
    result = snapshot.perform("own_statistics", LocalRun(0, study.experiments["own_statistics"].tables))
    (row,) = result["own"].to_dict("records")
    whole = mine.dropna(subset="erank")
    assert row["raw"] == pytest.approx(spearmanr(whole["erank"], whole["val loss"]).statistic, abs=1e-9)
    assert (row["n"], row["groups"], row["gaps"]) == (107, 18, 1)
    shown = snapshot.with_results({"own_statistics": result}).show("own_residuals")
    assert f"to {row['partial']:+.2f}".replace("-", "−") in shown.title and "1 with gaps" in shown.subtitle
    for change, sentence in (
        ({"own_metric": "eranc"}, "no column 'eranc'; expected one as erank"),
        ({"own_held": "width, erank"}, "got erank twice"),
        ({"own_metric": "kind"}, "column kind holds 'grid'; expected numbers"),
        ({"own_held": "width, tied"}, "column tied has the same value"),
        ({"own_group": "layers"}, "got 2 groups; expected at least 4"),
    ):
        with pytest.raises(ControlError, match=sentence):
            at(study, **(names | change)).show("own_residuals")
    mine.head(15).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(ControlError, match="got 14 rows without gaps; expected at least 20"):
        at(study, **(names | {"own_runs": str(tmp_path / "few.csv")})).show("own_residuals")


def test_interventions_tell_gauge_moves_from_changes_of_the_function(study):
    snapshot = at(study)
    result = snapshot.perform("interventions", LocalRun(0, study.experiments["interventions"].tables))
    points = result["points"]
    moves = points[points["change"] == "gauge"]
    assert moves["moved"].max() < 1e-4 and np.ptp(moves["loss"]) < 1e-4
    cut = points[points["change"] == "cut"].set_index("value")
    assert cut.loc[1, "loss"] > cut.loc[48, "loss"] + 0.3 and cut.loc[48, "moved"] < 1e-6
    assert cut.loc[8, "rank"] <= 8
    shown = snapshot.with_results({"interventions": result}).show("intervened")
    assert "at one loss" in shown.title


def test_every_matrix_of_a_checkpoint_is_measured(study, tmp_path):
    rng = np.random.default_rng(0)
    held = {f"model.layers.{i}.mlp.up_proj.weight": rng.standard_normal((12, 8)) for i in (10, 2)}
    held |= {"lm_head.weight": rng.standard_normal((30, 8)), "model.norm.weight": np.ones(8)}
    held["model.layers.2.mlp.down_proj.weight"] = np.full((8, 12), np.nan)
    np.savez(tmp_path / "mine.npz", **held)
    snapshot = at(study, model=str(tmp_path / "mine.npz"))
    result = snapshot.perform("whole_model", LocalRun(0, study.experiments["whole_model"].tables))
    rows = result["matrices"].set_index("tensor")
    assert rows["layer"].to_dict() == {"lm_head.weight": -1, "model.layers.2.mlp.down_proj.weight": 2,
                                       "model.layers.2.mlp.up_proj.weight": 2,
                                       "model.layers.10.mlp.up_proj.weight": 10}  # fmt: skip
    theirs = np.linalg.svd(held["lm_head.weight"], compute_uv=False)
    p = theirs / theirs.sum()
    assert rows.loc["lm_head.weight", "rank"] == pytest.approx(100 / 8 * np.exp(-(p * np.log(p)).sum()), rel=1e-6)
    assert "not finite" in rows.loc["model.layers.2.mlp.down_proj.weight", "remark"]
    shown = snapshot.with_results({"whole_model": result}).show("layers")
    assert shown.title.startswith("The lowest rank of 3 matrices is")
    assert [list(t["x"]) for t in shown.content["data"]] == [[2, 10]]


@pytest.mark.slow
def test_kept_runs_are_found_again(study):
    """The kept table is what its command makes: a run that is trained here has the kept loss and rank."""
    snapshot = at(study, preset="quick", runs=1, tokens=131_072)
    result = snapshot.perform("retrain", LocalRun(0, study.experiments["retrain"].tables))
    (row,) = result["runs"].to_dict("records")
    assert row["kept_loss"] > 0
    assert row["loss"] == pytest.approx(row["kept_loss"], abs=0.02), "other libraries round otherwise, or other text"
    assert row["rank"] == pytest.approx(row["kept_rank"], abs=0.5)


def test_moved_matrices_are_those_of_the_library(study):
    snapshot = at(study, move=0.4)
    weight = snapshot.value("matrix").weight.double().numpy()
    moved, _ = gauge_move(weight, 0.4)
    np.testing.assert_allclose(snapshot.value("spectrum"), singular_values(moved), rtol=1e-6, atol=1e-9)


def test_without_a_run_of_low_rank_nothing_is_said_of_it(study):
    claim = study.claims["2a"]
    evidence = claim.function(analyse={"long": pd.DataFrame({"low": [False] * 8, "degraded": [True, False] * 4})})
    found = judge(claim, evidence)
    assert found.verdict is Verdict.NEEDS_SCALE and "None of 8 long runs" in found.why
