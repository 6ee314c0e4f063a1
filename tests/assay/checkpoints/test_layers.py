"""Order and grouping by the numbers in names."""

from __future__ import annotations

import random

import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from assay import checkpoints
from assay.checkpoints.layers import grouped, layer_of, natural


@given(count=st.integers(1, 120), seed=st.integers(0, 9))
def test_layers_come_in_the_order_of_their_numbers(count, seed):
    names = [f"model.layers.{i}.{part}" for i in range(count) for part in ("a.weight", "b.weight")]
    mixed = random.Random(seed).sample(names, len(names))
    assert sorted(mixed, key=natural) == names
    layers = grouped(mixed)
    assert [layer.index for layer in layers] == list(range(count))
    assert all(layer.stack == "model.layers" for layer in layers)
    assert layers[-1].names["b.weight"] == f"model.layers.{count - 1}.b.weight"


@given(st.lists(st.text(max_size=12)))
def test_any_names_can_be_ordered(names):
    backwards = names[::-1]
    assert sorted(names, key=natural) == sorted(backwards, key=natural)


def test_where_the_number_of_a_layer_is():
    assert layer_of("blk.11.attn_q.weight") == ("blk", 11, "attn_q.weight")
    assert layer_of("model.layers.3.mlp.experts.7.w1.weight") == ("model.layers", 3, "mlp.experts.7.w1.weight")
    assert layer_of("h.0.ln_1.weight") == ("h", 0, "ln_1.weight")
    assert layer_of("0.weight") == ("", 0, "weight")
    assert layer_of("lm_head.weight") is layer_of("conv1.weight") is layer_of("w.0") is None


def test_the_stacks_of_an_encoder_and_a_decoder_stay_apart():
    names = [f"{side}.block.{i}.layer.0.w" for i in (0, 10, 2) for side in ("encoder", "decoder")]
    found = [(layer.stack, layer.index) for layer in grouped(names)]
    assert found == [(f"{side}.block", i) for side in ("decoder", "encoder") for i in (0, 2, 10)]


def test_mamba_weights_by_layer(tmp_path):
    """What a study of state-space models asks for: A_log, D and dt_proj of each layer."""
    save_file(
        {f"backbone.layers.{i}.mixer.{part}": torch.full((2,), float(i)) for i in range(12) for part in ("A_log", "D")},
        tmp_path / "m.safetensors",
    )
    opened = checkpoints.open(tmp_path / "m.safetensors")
    assert [float(opened.tensor(layer.names["mixer.A_log"])[0]) for layer in opened.layers()] == list(range(12))
    assert opened.names()[2] == "backbone.layers.1.mixer.A_log"
