"""The study of SINQ: its views say what the library computes, on every kind of model; bad input is told."""

import json

import numpy as np
import pytest
import torch

from assay import checkpoints
from assay.checkpoints.safetensors_writing import write_safetensors
from assay.efficient import Recipe, dequantise, quantise_rtn, quantise_sinq, read_quantised, sinkhorn_scales
from assay.models import PROSE_DECODER_FOLDER, llama_of_decoder, read_decoder, read_llama
from workbench.claims import Verdict
from workbench.registry import registry
from workbench.run_protocol import LocalRun
from workbench.snapshot import Snapshot, settle
from workbench.study import ControlError

EXPERIMENTS = ("survey", "quality", "checks", "times", "pack")


@pytest.fixture(scope="module")
def study():
    return registry().get("sinq")


@pytest.fixture(scope="module")
def decoder():
    return llama_of_decoder(read_decoder(PROSE_DECODER_FOLDER).model)


def at(study, preset="quick", results=None, **values):
    return Snapshot(study, settle(study, values, preset), results)


def stats(shown):
    return {s.label: s.value for s in shown.content}


def perform(study, snapshot, name, **how):
    return snapshot.perform(name, LocalRun(0, study.experiments[name].tables, **how))


@pytest.mark.parametrize("k", [0, 4, 16])
def test_the_tile_is_what_the_library_makes_of_it(study, k):
    snapshot = at(study, model="sample:made-columns", iterations=k)
    tile, pair = snapshot.value("shown_tile"), snapshot.value("quantised_tile")
    recipe = Recipe(group=64, iterations=k)
    whole = snapshot.value("weight")
    own = slice(tile.column, tile.column + 64)
    assert torch.equal(pair.dual, dequantise(quantise_sinq(whole, recipe))[:, own])
    assert torch.equal(pair.plain, dequantise(quantise_rtn(whole, recipe))[:, own])
    assert torch.equal(pair.scales.columns, sinkhorn_scales(whole, recipe).columns[:, own])
    shown = snapshot.show("before_and_after")
    assert ("nothing has moved" in shown.title) == (k == 0)
    curve = snapshot.value("curve")
    assert curve.weight[0] == pytest.approx(100)
    if k:
        change = float((pair.dual - tile.weight).square().sum() / (pair.plain - tile.weight).square().sum())
        assert curve.weight[curve.at.index(k)] == pytest.approx(100 * change, rel=1e-4)
        assert f"falls by {100 - 100 * change:.0f} %" in shown.title


def test_the_story_of_the_outlier_columns(study):
    """Spreads flatten; error leaves the other columns; weights lose again later on, outputs do not."""
    titles = [at(study, model="sample:made-columns", iterations=k).show("before_and_after").title for k in (0, 4, 16)]
    falls = [int(t.split("by ")[1].split(" ")[0]) for t in titles[1:]]
    assert "nothing has moved" in titles[0] and falls[0] > 70 and falls[1] < falls[0]
    curve = at(study, model="sample:made-columns").value("curve")
    assert curve.imbalance[0] > 20 and curve.imbalance[-1] < 1.3
    assert curve.output is not None and curve.output[-1] < 15 < curve.weight[-1]
    content = at(study, model="sample:made-columns", iterations=16).show("before_and_after").content
    spread = np.asarray(content["data"][4]["y"])
    assert spread.max() / spread.min() < 1.3 and np.asarray(content["data"][1]["y"]).max() > 5
    line = at(study, iterations=9).show("over_iterations").content["layout"]["shapes"][0]
    assert line["name"] == "yours" and line["x0"] == 9
    assert study.views["over_iterations"].selects == {"x": "iterations"}


def test_the_error_can_be_weighed_by_activations(study):
    both = [
        at(study, model="sample:made-columns", weigh=w).show("before_and_after").title for w in ("weight", "output")
    ]
    assert "of weights" not in both[1] and "weighted by activations" in both[1]


@pytest.mark.parametrize(
    "values",
    [
        {"bits": "2"}, {"bits": "8", "group": "256"}, {"levels": "symmetric"}, {"levels": "normal"}, {"tiling": "2d"},
        {"refine": True}, {"aux": True}, {"gate": "5"}, {"stop": False, "iterations": 64}, {"low": 0.3, "high": 4.0},
        {"group": "16", "tile": 5}, {"weigh": "output"},
    ],
)  # fmt: skip
def test_every_setting_shows_every_view_at_once(study, values):
    snapshot = at(study, **values)
    for view in study.views:
        snapshot.show(view)
        assert snapshot.show(view).elapsed < 0.5, view


def test_the_gate_is_told(study, tmp_path):
    rng = np.random.default_rng(0)
    heavy = (0.02 * rng.standard_t(2.2, (64, 64))).astype(np.float32)
    np.savez(
        tmp_path / "heavy.npz", **{"layers.0.a.weight": heavy, "layers.1.a.weight": 0.02 * rng.normal(size=(64, 64))}
    )
    snapshot = at(study, model=str(tmp_path / "heavy.npz"), gate="5")
    assert snapshot.show("before_and_after").title.startswith("The kurtosis gate rounds this layer to nearest")
    tables = perform(study, snapshot, "pack")["tensors"].set_index("tensor")
    assert (
        tables.loc["layers.0.a.weight", "state"] == "gated"
        and "is above 5" in tables.loc["layers.0.a.weight", "reason"]
    )
    assert tables.loc["layers.1.a.weight", "state"] == "quantised"
    assert "not run here" in snapshot.value("subject").why


def test_results_are_drawn_and_judged(study):
    snapshot = at(study)
    results = {name: perform(study, snapshot, name) for name in study.experiments}
    after = snapshot.with_results(results)
    for view in study.views:
        shown = after.show(view)
        assert shown.elapsed < 1 and "Appears when" not in str(shown.subtitle) + str(shown.content)[:200], view
    verdicts = {id: after.judge(id).verdict for id in study.claims}
    assert verdicts["3a"] == Verdict.HOLDS and verdicts["6"] == verdicts["7"] == Verdict.NEEDS_SCALE
    assert {verdicts[id] for id in ("3b", "3c", "3d")} == {Verdict.INCONCLUSIVE}, "two turns are too few"
    rows = results["quality"]["units"]
    mean = rows.groupby(["method", "bits"])[["value", "floating"]].mean()
    closed = 1 - (mean.loc[("sinq", 3)].diff().iloc[1] / mean.loc[("rtn", 3)].diff().iloc[1])
    assert after.judge("1b").evidence.estimate == pytest.approx(closed)
    noise = results["survey"]["layers"]["noise"]
    assert noise.between(0.85, 1.15).all(), "rounding of trained weights is nearly uniform noise"
    checks = results["checks"]["checks"]
    assert (checks["value"] < checks["bound"]).all()


def test_a_checkpoint_becomes_files_that_say_the_same(study, tmp_path, decoder):
    snapshot = at(study, bits="4")
    result = perform(study, snapshot, "pack", directory=tmp_path)
    matrices, others = read_quantised(tmp_path / "packed.safetensors")
    assert set(matrices) == set(decoder.matrices()) and "model.embed_tokens.weight" in others
    back = read_llama(checkpoints.open(folder_of(tmp_path)))
    tokens = read_decoder(PROSE_DECODER_FOLDER).held_out[:2, :-1]
    made = decoder.with_weights({n: dequantise(q) for n, q in matrices.items()})
    torch.testing.assert_close(back.logits(tokens), made.logits(tokens), rtol=0, atol=0.1)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["model_type"] == "llama" and config["tie_word_embeddings"] and config["head_dim"] == 16
    tensors = result["tensors"]
    assert (
        set(tensors["state"]) == {"quantised", "kept"} and (tensors[tensors["state"] == "kept"]["reason"] != "").all()
    )
    size = int(result["files"].set_index("file").loc["packed.safetensors", "bytes"])
    assert (
        size == (tmp_path / "packed.safetensors").stat().st_size < 0.5 * (tmp_path / "model.safetensors").stat().st_size
    )


def folder_of(folder):
    """A folder with the files that transformers takes, without the packed one."""
    place = folder / "hf"
    place.mkdir()
    for name in ("model.safetensors", "config.json"):
        (place / name).write_bytes((folder / name).read_bytes())
    return place


def test_a_filter_keeps_the_others(study, tmp_path):
    result = perform(study, at(study, layers_filter="*mlp*"), "pack", directory=tmp_path)
    tensors = result["tensors"]
    own = tensors["tensor"].str.contains("mlp")
    assert set(tensors["state"][own]) == {"quantised"} and set(tensors["state"][~own]) == {"kept"}
    with pytest.raises(ControlError, match=r"layers_filter: '\*conv\*' matches none of 28 matrices"):
        perform(study, at(study, layers_filter="*conv*"), "survey")


def test_text_and_activations_of_ones_own(study, tmp_path):
    (tmp_path / "mine.txt").write_text(
        "The quantile of a distribution is the inverse of its cumulative function.\n\n" * 200
    )
    result = perform(study, at(study, own_text=str(tmp_path / "mine.txt"), windows=4, methods="few", try_bits=(3,)),
                     "quality")  # fmt: skip
    assert result["text"]["said"].iloc[0] == "mine.txt" and len(result["methods"]) == 4
    (tmp_path / "short.txt").write_text("Too short.")
    with pytest.raises(ControlError, match=r"tokens: got .* expected at least 129, one window"):
        perform(study, at(study, own_text=str(tmp_path / "short.txt")), "quality")
    name = "model.layers.0.mlp.up_proj"
    np.savez(tmp_path / "x.npz", **{name: np.random.default_rng(0).normal(size=(40, 128)).astype(np.float32)})
    snapshot = at(study, activations=str(tmp_path / "x.npz"), layer=f"{name}.weight")
    assert "ρ" in snapshot.show("scales_and_activations").title
    other = at(study, activations=str(tmp_path / "x.npz")).show("scales_and_activations")
    assert other.kind == "text", "no activations of that layer"


def weights():
    return {"layers.0.a.weight": np.random.default_rng(0).normal(size=(32, 64)).astype(np.float32)}


@pytest.mark.parametrize(
    ("tensors", "values", "sentence"),
    [
        ({"layers.0.a.weight": np.zeros((4, 16), np.int8)}, {}, "already quantised: type I8; dequantise explicitly"),
        ({"layers.0.a.weight": np.zeros((4, 40), np.float32)}, {}, "multiple of 16, to be cut in groups"),
        ({"layers.0.a.weight": np.zeros((1, 64), np.float32)}, {}, "got 1 row; expected at least 2"),
        ({"norm": np.ones(5, np.float32)}, {}, "has no matrix that can be quantised"),
        (
            {"layers.0.a.weight": np.full((32, 64), np.nan, np.float32)},
            {},
            r"layers.0.a holds nan at \[0, 0\]",
        ),
        (weights(), {"levels": "normal", "bits": "2"}, "got normal at 2 bits; expected 3 or 4 bits"),
        (weights(), {"bits": "7"}, "bits: got '7'; expected one of 2, 3, 4, 5, 6, 8"),
        (weights(), {"tiling": "2d"}, "height: got 32 rows; expected a multiple of 64"),
        (weights(), {"levels": "symmetric", "refine": True}, "refine: got it with symmetric levels"),
    ],
)
def test_bad_models_and_settings_are_refused_in_a_sentence(study, tmp_path, tensors, values, sentence):
    np.savez(tmp_path / "m.npz", **tensors)
    with pytest.raises(ControlError, match=sentence):
        at(study, model=str(tmp_path / "m.npz"), **values).show("before_and_after")


def test_damage_is_listed_and_the_rest_is_quantised(study, tmp_path):
    rng = torch.Generator().manual_seed(0)
    tensors = {f"layers.{i}.a.weight": torch.randn(32, 64, generator=rng) for i in range(6)}
    tensors["layers.1.a.weight"][3, 5] = float("inf")
    tensors["layers.2.a.weight"][4] = 0
    tensors["layers.2.a.weight"][:, 7] = 0
    tensors["layers.3.a.weight"] = torch.randn(32, 40, generator=rng)
    tensors["layers.4.a.weight"] = torch.randint(0, 9, (32, 64), dtype=torch.int8)
    tensors["embed_tokens.weight"] = torch.randn(20, 64, generator=rng)
    write_safetensors(tmp_path / "m.safetensors", tensors)
    snapshot = at(study, model=str(tmp_path / "m.safetensors"), requantise=True)
    planned = snapshot.show("tensors").content.set_index("tensor")["state"]
    assert planned["layers.3.a"] == "refused" and planned["embed_tokens"] == "kept"
    result = perform(
        study, snapshot, "pack", directory=tmp_path / "out" if (tmp_path / "out").mkdir() is None else None
    )
    rows = result["tensors"].set_index("tensor")
    assert rows.loc["layers.1.a.weight", "state"] == "refused"
    assert "inf at [3, 5]" in rows.loc["layers.1.a.weight", "reason"]
    assert rows.loc["layers.2.a.weight", ["zero_rows", "zero_columns"]].tolist() == [1, 1]
    assert rows.loc["layers.4.a.weight", "state"] == "refused"
    assert (
        "zeros in 1 matrices" in result["notes"]["note"].iloc[0] and "No config.json" in result["notes"]["note"].iloc[0]
    )
    matrices, others = read_quantised(tmp_path / "out" / "packed.safetensors")
    assert set(matrices) == {f"layers.{i}.a.weight" for i in (0, 2, 5)}
    assert torch.equal(others["layers.4.a.weight"], tensors["layers.4.a.weight"])
    made = checkpoints.open(tmp_path / "out" / "model.safetensors")
    assert set(made.names()) == set(tensors)


def test_activations_that_do_not_fit_are_refused(study, tmp_path):
    np.savez(tmp_path / "x.npz", **{"layers.9": np.zeros((3, 4), np.float32)})
    with pytest.raises(ControlError, match=r"activations: names layers\.9; expected names of layers"):
        at(study, activations=str(tmp_path / "x.npz")).show("before_and_after")
    np.savez(tmp_path / "y.npz", **{"model.layers.0.mlp.up_proj": np.zeros((3, 4), np.float32)})
    with pytest.raises(ControlError, match="has 4 columns; expected 128"):
        at(study, activations=str(tmp_path / "y.npz"), layer="model.layers.0.mlp.up_proj.weight").show("numbers")
