"""Layers of every layout give what the transformers library's mixers give, and what is wrong is said in a sentence."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from assay.checkpoints.safetensors_writing import write_safetensors
from assay.dynamics.state_space import find_ssm, load_ssm, read_ssm_layer, scan_layer

PEERS = np.load(Path(__file__).parent / "peers" / "mixers.npz", allow_pickle=False)


def weights_of(name):
    start = f"{name}|weight|"
    return {key.removeprefix(start): torch.from_numpy(PEERS[key]) for key in PEERS.files if key.startswith(start)}


def saved(folder, weights, config=None):
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", weights)
    if config is not None:
        (folder / "config.json").write_text(config if isinstance(config, str) else json.dumps(config))
    return folder


def block_output(layer, u):
    driven = layer.drive(u)
    return layer.output(scan_layer(layer, driven).y, driven.z)


@pytest.mark.parametrize("name", ["mamba", "mamba2", "falcon", "jamba"])
def test_a_layer_gives_what_transformers_gives(name, tmp_path):
    stack = find_ssm(saved(tmp_path / name, weights_of(name), str(PEERS[f"{name}|config"])))
    layer = next(iter(stack.layers()))
    y = block_output(layer, torch.from_numpy(PEERS[f"{name}|u"]).double())
    torch.testing.assert_close(y, torch.from_numpy(PEERS[f"{name}|y"]).double(), rtol=2e-4, atol=2e-5)
    assert layer.family == ("mamba2" if name == "mamba2" else "mamba")
    assert (layer.inner is not None) == (name in ("falcon", "jamba"))
    assert layer.gain is not None and (layer.A < 0).all()


def test_layers_of_attention_are_listed_and_left_out(tmp_path):
    stack = find_ssm(saved(tmp_path / "j", weights_of("jamba"), str(PEERS["jamba|config"])))
    assert [place.index for place in stack.places] == [0, 2, 3]
    assert any("1 (attention)" in text for text in stack.skipped)
    assert any("feed-forward part" in text for text in stack.skipped)


def test_the_original_layout_reads_alike(tmp_path):
    """`embedding` for `embeddings`, torch.save for safetensors, no configuration."""
    weights = weights_of("mamba")
    theirs = {key.replace("embeddings.", "embedding."): value for key, value in weights.items()}
    torch.save(theirs, tmp_path / "pytorch_model.bin")
    stack = find_ssm(tmp_path / "pytorch_model.bin")
    ours = load_ssm(saved(tmp_path / "hf", weights))
    for a, b in zip(stack.layers(), ours, strict=True):
        for name in ("A", "in_x", "conv", "B", "step", "out"):
            assert torch.equal(getattr(a, name), getattr(b, name))
    embedding = stack.embedding()
    assert embedding is not None and embedding.shape == (11, 16)


def test_without_a_configuration_what_is_inferred_is_said(tmp_path):
    layer = load_ssm(saved(tmp_path / "m2", weights_of("mamba2")))[0]
    assert any("1 group of 8 states is assumed" in note for note in layer.notes)
    weights = {k: v for k, v in weights_of("mamba").items() if "conv1d.bias" not in k}
    layer = load_ssm(saved(tmp_path / "m", weights))[0]
    assert any("convolution has no bias" in note for note in layer.notes) and not layer.conv_bias.any()


def test_a_stored_a_is_taken_where_it_is_negative(tmp_path):
    weights = weights_of("mamba")
    key = "backbone.layers.0.mixer.A_log"
    direct = {k: v for k, v in weights.items() if k != key} | {key.replace("A_log", "A"): -weights[key].exp()}
    one, two = (load_ssm(saved(tmp_path / n, w))[0] for n, w in (("a", weights), ("b", direct)))
    torch.testing.assert_close(one.A, two.A, rtol=1e-6, atol=0)
    direct[key.replace("A_log", "A")][5, 1] = 0.25
    with pytest.raises(ValueError, match=r"A: gives A = 0\.25 in channel 5; expected −exp\(A_log\), below 0"):
        load_ssm(saved(tmp_path / "c", direct))


def changed(key, change):
    def made():
        weights = weights_of("mamba")
        full = f"backbone.layers.1.mixer.{key}"
        weights[full] = change(weights[full].clone())
        return weights

    return made


def with_inf(value):
    value[12, 0] = float("inf")
    return value


BAD = {
    "rows of x_proj": (
        changed("x_proj.weight", lambda w: torch.cat([w, w[:4]])),
        r"layers\.1\.mixer\.x_proj\.weight: expected \[R\+2N, D\] = \[9, 32\] \(R=1, N=4\), got \[13, 32\]\.",
    ),
    "inf in A_log": (
        changed("A_log", with_inf),
        r"A_log: contains inf \(channel 12\): fp16 load\? cast before exp",
    ),
    "NaN in A_log": (changed("A_log", lambda w: w * torch.nan), r"A_log: contains NaN \(channel 0\)"),
    "in_proj of one half": (changed("in_proj.weight", lambda w: w[:32]), r"in_proj\.weight: expected \[2D, d\]"),
    "flat convolution": (changed("conv1d.weight", lambda w: w[:, 0]), r"conv1d\.weight: expected \[D, 1, K\]"),
    "exponent too large": (changed("A_log", lambda w: w + 800), r"gives A = -inf in channel 0"),
    "complex A": (changed("A_log", lambda w: w.to(torch.complex64)), r"complex numbers; expected real ones"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_layer_is_refused_in_one_sentence(case, tmp_path):
    make, sentence = BAD[case]
    torch.save(make(), tmp_path / "model.pt")
    with pytest.raises(ValueError, match=sentence) as refused:
        load_ssm(tmp_path / "model.pt")
    assert "\n" not in str(refused.value)


def test_a_missing_weight_and_a_model_without_selective_layers(tmp_path):
    weights = {k: v for k, v in weights_of("mamba").items() if "dt_proj.weight" not in k}
    with pytest.raises(ValueError, match=re.escape("layers.0.mixer.dt_proj.weight: is missing")):
        load_ssm(saved(tmp_path / "m", weights))
    with pytest.raises(ValueError, match="has no layer with A_log"):
        find_ssm(saved(tmp_path / "n", {"model.layers.0.q_proj.weight": torch.zeros(2, 2)}))


def test_layers_are_read_one_at_a_time(tmp_path, monkeypatch):
    stack = find_ssm(saved(tmp_path / "m", weights_of("mamba")))
    read = []
    whole = stack.opened.tensor
    monkeypatch.setattr(stack.opened, "tensor", lambda name, **k: (read.append(name), whole(name, **k))[1])
    read_ssm_layer(stack.opened, stack.places[1])
    assert read and all(".layers.1." in name for name in read)
