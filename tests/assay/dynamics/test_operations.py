"""Operation counts against hand counts and brute force."""

import numpy as np
import pytest
import torch

from assay.dynamics import (
    EMAANN,
    MINI,
    FrameANN,
    GRUClassifier,
    LeNet,
    NeuronOptions,
    SpikingLeNet,
    SpikingMLP,
    Standardiser,
    TemporalCNN,
    operation_counts,
)

L, F, K = 10, 6, 3


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def rows(model, x, **options):
    return {row.layer: row for row in operation_counts(model, x, **options).layers}


def test_dense_lenet_pass_has_the_printed_count():
    counts = operation_counts(LeNet(1, 64, 64, 5, generator=generator()), torch.rand(1, 1, 1, 64, 64))
    assert counts.macs == 53_916_672
    assert sum(row.dense for row in counts.layers if row.kind == "normalisation") == 32 * 60**2 + 64 * 26**2 + 96 * 9**2


def test_counts_of_a_small_spiking_network_by_brute_force():
    model = SpikingMLP(F, K, beta=0.4, generator=generator(), widths=(8, 5), neuron=NeuronOptions(current_gain=4.0))
    with torch.no_grad():
        model.hidden.weight[1, 2] = 0
    x = torch.randn(7, L, F, generator=generator(1)).relu()
    inputs = {}
    for name in ("encoder", "hidden", "head"):
        model.get_submodule(name).register_forward_hook(lambda m, i, o, name=name: inputs.update({name: i[0]}))
    seen = rows(model, x)
    for name, value in inputs.items():
        weight = model.get_submodule(name).weight
        active = sum(int(((frame != 0) & (weight != 0)).sum()) for frame in value.reshape(-1, value.shape[-1]))
        assert seen[name].active == pytest.approx(active / 7), name
        assert seen[name].dense == weight.numel() * value.numel() / value.shape[-1] / 7
    assert {name: seen[name].kind for name in inputs} == {"encoder": "analog", "hidden": "spike", "head": "analog"}
    assert seen["lif1"].kind == "neuron"
    assert seen["lif1"].dense == L * 8
    assert seen["lif1"].state_words == 2 * L * 8
    assert seen["lif1"].rate == pytest.approx(float(inputs["hidden"].mean()))
    counts = operation_counts(model, x)
    assert counts.sops == seen["hidden"].active
    assert counts.firing_rates == {name: seen[name].rate for name in ("lif1", "lif2")}
    assert 0 < counts.firing_rates["lif1"] < 1


def test_convolutions_by_brute_force():
    model = SpikingLeNet(2, 6, 5, K, beta=0.3, generator=generator(), backbone=MINI)
    x = (torch.rand(3, 4, 2, 6, 5, generator=generator(1)) < 0.3).float()
    seen = rows(model, x)
    padded = torch.nn.functional.pad(x.flatten(0, 1), (1, 1, 1, 1))
    patches = padded.unfold(2, 3, 1).unfold(3, 3, 1)
    assert seen["stages.0.conv"].active == pytest.approx(int((patches != 0).sum()) * 16 / 3)
    assert seen["stages.0.conv"].dense == 4 * 6 * 5 * 16 * 2 * 9
    assert seen["stages.1.conv"].kind == "spike"
    temporal = rows(TemporalCNN(F, K, generator=generator()), torch.ones(2, L, F))
    # Kernel 5 with padding 2: 3 + 4 + 5 (L - 4) + 4 + 3 positions hold data.
    assert temporal["conv1"].active == (14 + 5 * (L - 4)) * F * 64
    assert temporal["conv1"].dense == 5 * L * F * 64


def test_whole_numbers_at_the_input_do_not_make_it_spikes():
    counts = operation_counts(FrameANN(F, K, generator=generator()), torch.ones(2, L, F))
    assert counts.sops == 0
    assert not counts.spiking
    silent = operation_counts(SpikingMLP(F, K, generator=generator()), torch.zeros(2, L, F))
    assert [row.kind for row in silent.layers] == ["analog", "neuron", "spike", "neuron", "analog"]


def test_standardising_does_not_hide_the_zeros_of_the_input():
    x = (torch.rand(5, L, F, generator=generator()) < 0.2).float()
    model = SpikingMLP(F, K, generator=generator())
    standardiser = Standardiser.fit(x)
    seen = rows(model, x, standardiser=standardiser)
    assert seen["encoder"].active == pytest.approx(float(x.sum()) * 128 / 5)
    dense = rows(model, standardiser(x))
    assert dense["encoder"].active == dense["encoder"].dense
    assert seen["lif1"].rate == dense["lif1"].rate


def test_gru_and_filters():
    seen = rows(GRUClassifier(F, K, generator=generator(), hidden=9), torch.randn(4, L, F, generator=generator(1)))
    assert seen["recurrent"].dense == L * (27 * (F + 9) + 27)
    assert seen["recurrent"].active == L * 27 * F + (L - 1) * 27 * 9 + L * 27
    assert seen["recurrent"].state_words == 2 * L * 9
    ema = rows(EMAANN(F, K, beta=0.5, generator=generator()), torch.randn(4, L, F, generator=generator(1)))
    assert (ema["prepare"].dense, ema["prepare"].state_words) == (2 * L * F, 2 * L * F)


def test_the_model_is_left_as_it_was():
    model = SpikingLeNet(1, 4, 4, K, generator=generator(), backbone=MINI).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    operation_counts(model, torch.rand(2, 3, 1, 4, 4))
    assert model.training
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not any(module._forward_hooks for module in model.modules())


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"X must have shape \(N, L, F\)"):
        operation_counts(FrameANN(F, K, generator=generator()), np.ones((3, F)))
