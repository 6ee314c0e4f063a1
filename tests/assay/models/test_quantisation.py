"""Rounding and GPTQ: on the grid, GPTQ no worse than rounding, and a copy that leaves the model as it was."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from assay.models import Decoder, DecoderShape, gptq, quantised, round_to_nearest


def drawn(outputs, inputs, seed):
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(400, inputs, generator=generator) @ torch.randn(inputs, inputs, generator=generator)
    return torch.randn(outputs, inputs, generator=generator), x


@given(st.integers(1, 8), st.integers(1, 12), st.integers(2, 8), st.integers(0, 1000))
def test_rounding_is_to_the_nearest_of_the_grid(outputs, inputs, bits, seed):
    weight, _ = drawn(outputs, inputs, seed)
    rounded = round_to_nearest(weight, bits)
    for row, own in zip(weight.double(), rounded.double(), strict=True):
        low, high = min(0.0, float(row.min())), max(0.0, float(row.max()))
        step = (high - low) / (2**bits - 1)
        places = own / step
        assert (places - places.round()).abs().max() < 1e-4
        assert len(places.round().unique()) <= 2**bits
        assert (row - own).abs().max() <= step * (1 + 1e-6), (
            "half a step, and half a step where 0 is moved onto the grid"
        )
    assert torch.equal(round_to_nearest(torch.zeros(2, 3), bits), torch.zeros(2, 3))


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_gptq_loses_less_than_rounding(bits):
    """Over all draws: a greedy step may lose more on a single one."""
    lost = {"gptq": 0.0, "rounded": 0.0}
    for seed in range(20):
        weight, x = drawn(64, 8, seed)
        for name, other in (("gptq", gptq(weight, x.T @ x, bits)), ("rounded", round_to_nearest(weight, bits))):
            lost[name] += float((x @ (weight - other).T).square().sum() / (x @ weight.T).square().sum())
    assert lost["gptq"] < 0.9 * lost["rounded"]


def test_gptq_of_uncorrelated_inputs_is_rounding():
    weight, _ = drawn(6, 9, 0)
    torch.testing.assert_close(gptq(weight, torch.eye(9), 3), round_to_nearest(weight, 3))


def test_two_inputs_have_the_closed_form():
    """What the first column loses is made up for by h12 / h22 of it in the second, which is rounded then."""
    weight, x = drawn(50, 2, 3)
    moments = (x.T @ x).double()
    damped = moments + 0.01 * moments.diagonal().mean() * torch.eye(2)
    first = round_to_nearest(weight, 3)[:, 0].double()
    second = weight[:, 1].double() + (weight[:, 0].double() - first) * damped[0, 1] / damped[1, 1]
    found = gptq(weight, moments, 3)
    torch.testing.assert_close(found[:, 0].double(), first)
    low, high = weight.double().amin(1).clamp(max=0), weight.double().amax(1).clamp(min=0)
    step = (high - low) / 7
    zero = (-low / step).round()
    expected = step * ((second / step + zero).round().clamp(0, 7) - zero)
    torch.testing.assert_close(found[:, 1].double(), expected, rtol=1e-5, atol=1e-6)


def test_a_model_is_copied_and_its_ends_stay():
    model = Decoder(DecoderShape(tokens=30, width=16, layers=2, context=8), torch.Generator().manual_seed(0))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    text = torch.randint(30, (6, 9), generator=torch.Generator().manual_seed(1))
    for copy in (quantised(model, 3), quantised(model, 3, text)):
        for name, value in copy.state_dict().items():
            same = torch.equal(value, before[name])
            assert same is (name.startswith(("embedding", "unembedding")) or "norm" in name), name
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_what_is_refused():
    with pytest.raises(ValueError, match="bits: got 1"):
        round_to_nearest(torch.ones(2, 2), 1)
    with pytest.raises(ValueError, match="weight: got shape"):
        round_to_nearest(torch.ones(2), 3)
    with pytest.raises(ValueError, match="moments: got shape"):
        gptq(torch.ones(2, 3), torch.eye(2), 3)
