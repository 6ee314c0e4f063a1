"""Spiking and leaky networks step by step, their seeding and their gradients."""

import numpy as np
import pytest
import torch
from scipy.signal import lfilter

from assay.dynamics import LeakyMLP, LIFLayer, NeuronOptions, SpikingMLP


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def spikes(current, beta, threshold=1.0, reset="subtract"):
    """A LIF layer over (T, ...) written out in float64."""
    u = torch.zeros_like(current[0])
    out = []
    for value in current:
        v = beta * u + (1 - beta) * value
        s = (v >= threshold).to(v.dtype)
        u = v - threshold * s if reset == "subtract" else v * (1 - s)
        out.append(s)
    return torch.stack(out)


@pytest.mark.parametrize("reset", ["subtract", "zero"])
@pytest.mark.parametrize("repeats", [1, 3])
def test_forward_is_the_recurrence(reset, repeats):
    model = SpikingMLP(
        6, 3, beta=0.7, generator=generator(), widths=(20, 11), repeats=repeats,
        neuron=NeuronOptions(reset=reset, threshold=0.5, current_gain=2.0),
    ).double()  # fmt: skip
    x = torch.randn(5, 9, 6, generator=generator(1), dtype=torch.float64) * 3
    beta = float(model.lif1.beta)
    held = x.transpose(0, 1).repeat_interleave(repeats, dim=0)
    hidden = spikes(2 * model.encoder(held), beta, 0.5, reset)
    second = spikes(2 * model.hidden(hidden), beta, 0.5, reset)
    assert hidden.mean() > 0.05
    assert second.mean() > 0.01
    assert torch.allclose(model(x), model.head(second.mean(dim=0)), atol=1e-12)


def test_leaky_network_is_filter_and_rectifier():
    model = LeakyMLP(4, 2, beta=0.8, generator=generator(), widths=(7, 5)).double()
    x = torch.randn(3, 12, 4, generator=generator(1), dtype=torch.float64)

    def filtered(h):
        return torch.from_numpy(lfilter([1 - beta], [1, -beta], h.detach().numpy(), axis=1))

    beta = float(model.membrane1.beta)
    h = torch.relu(filtered(model.encoder(x)))
    h = torch.relu(filtered(model.hidden(h)))
    assert torch.allclose(model(x), model.head(h.mean(dim=1)), atol=1e-12)


@pytest.mark.parametrize("kind", [SpikingMLP, LeakyMLP])
def test_weights_come_from_the_generator_alone(kind):
    state = torch.random.get_rng_state()
    one, two, other = (kind(8, 3, generator=generator(seed)) for seed in (4, 4, 5))
    assert torch.equal(torch.random.get_rng_state(), state)
    for name, value in one.named_parameters():
        assert torch.equal(value, two.get_parameter(name))
        assert not torch.equal(value, other.get_parameter(name))
        fan_in = {"encoder": 8, "hidden": 128, "head": 64}[name.split(".")[0]]
        assert value.abs().max() <= fan_in**-0.5


def test_every_weight_receives_a_gradient():
    model = SpikingMLP(8, 3, beta=0.5, generator=generator(), neuron=NeuronOptions(current_gain=3.0))
    model(torch.randn(16, 20, 8, generator=generator(1))).logsumexp(dim=1).sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in model.parameters())


def test_state_holds_the_decay():
    model = SpikingMLP(8, 3, beta=0.25, generator=generator())
    assert float(model.state_dict()["lif1.beta"]) == 0.25
    assert model.classes == 3
    assert "beta=0.25" in repr(model)


def test_input_without_scaling_is_the_plain_recurrence():
    layer = LIFLayer(0.5, NeuronOptions(scale_input=False))
    current = torch.tensor([0.6, 0.6, 0.6, 0.6])[:, None]
    # 0.6, 0.9, 1.05 fires and leaves 0.05, 0.625.
    assert layer(current).flatten().tolist() == [0, 0, 1, 0]
    assert np.array_equal(LIFLayer(0.5)(current).flatten(), [0, 0, 0, 0])


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: SpikingMLP(8, 3, beta=1.0, generator=generator()), r"beta must lie in \[0, 1\); got 1"),
        (lambda: LeakyMLP(8, 3, beta=-0.1, generator=generator()), "beta must"),
        (lambda: SpikingMLP(8, 3, generator=generator(), repeats=0), "repeats must"),
        (lambda: NeuronOptions(current_gain=0.0), "current_gain must"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
