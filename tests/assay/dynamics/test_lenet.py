"""LeNet and SpikingLeNet: the printed counts, and the order of their layers."""

import pytest
import torch

from assay.dynamics import MINI, LeNet, NeuronOptions, SpikingLeNet


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", [LeNet, SpikingLeNet])
def test_full_backbone_has_the_printed_parameters(kind):
    model = kind(1, 64, 64, 5, generator=generator())
    assert sum(parameter.numel() for parameter in model.parameters()) == 4_190_565


def test_frames_are_averaged_before_the_last_layer():
    model = LeNet(2, 8, 4, 5, generator=generator(), backbone=MINI).eval()
    x = torch.randn(3, 6, 2, 8, 4, generator=generator(1))
    h = x.flatten(0, 1)
    for stage, pool in zip(model.stages, (True, False), strict=True):
        h = torch.relu(stage["norm"](stage["conv"](h)))
        h = torch.nn.functional.max_pool2d(h, 2) if pool else h
    h = torch.relu(model.dense(h.flatten(1))).unflatten(0, (3, 6))
    assert torch.allclose(model(x), model.head(h.mean(dim=1)), atol=1e-5)


def test_mean_input_does_not_see_time():
    model = LeNet(1, 8, 8, 3, generator=generator(), backbone=MINI, time="mean_input").eval()
    x = torch.randn(2, 7, 1, 8, 8, generator=generator(1))
    prepared = model.prepare(x)
    assert prepared.shape == (2, 1, 1, 8, 8)
    assert torch.allclose(prepared, model.prepare(x.flip(1)), atol=1e-6)


def test_spiking_twin_is_driven_by_spikes_after_the_first_layer():
    model = SpikingLeNet(
        2, 8, 4, 5, beta=0.5, generator=generator(), backbone=MINI, neuron=NeuronOptions(current_gain=6.0)
    )
    seen = {}
    for name in ("stages.0.conv", "stages.1.conv", "dense", "head"):
        model.get_submodule(name).register_forward_hook(lambda m, i, o, name=name: seen.update({name: i[0]}))
    model(torch.randn(4, 10, 2, 8, 4, generator=generator(1)) * 3)
    binary = {name for name, x in seen.items() if set(x.unique().tolist()) <= {0.0, 1.0}}
    assert binary == model.spike_fed == {"stages.1.conv", "dense"}
    assert all(seen[name].sum() > 0 for name in (*binary, "head"))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: LeNet(1, 12, 64, 5, generator=generator()), "height and width must leave a map after 2"),
        (lambda: LeNet(1, 64, 64, 5, generator=generator(), time="last"), "time must be frames or mean_input"),
        (lambda: SpikingLeNet(1, 64, 64, 5, beta=2.0, generator=generator()), "beta must"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
