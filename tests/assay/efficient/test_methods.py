"""Rivals and calibrated methods: each against what it is defined by, and all under one name."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.efficient import (
    CALIBRATED,
    METHODS,
    Recipe,
    awq_scale,
    clipped_groups,
    dequantise,
    gptq_groups,
    hadamard_rotate,
    output_error,
    quantise_by,
    quantise_rtn,
    round_groups,
    weight_error,
)


@pytest.fixture(scope="module")
def layer():
    rng = torch.Generator().manual_seed(0)
    weight = 0.02 * torch.randn(96, 128, generator=rng) * (0.6 * torch.randn(128, generator=rng)).exp()
    inputs = torch.randn(300, 128, generator=rng) * (0.8 * torch.randn(128, generator=rng)).exp()
    return weight, inputs @ (torch.eye(128) + 0.05 * torch.randn(128, 128, generator=rng))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([16, 48, 96, 7, 64]))
def test_a_rotation_changes_no_product_and_no_singular_value(seed, width):
    rng = torch.Generator().manual_seed(seed)
    weight, x = torch.randn(9, width, generator=rng).double(), torch.randn(width, generator=rng).double()
    signs = 2.0 * torch.randint(0, 2, (width,), generator=rng).double() - 1
    turned = hadamard_rotate(weight, signs)
    torch.testing.assert_close(turned @ hadamard_rotate(x, signs), weight @ x)
    torch.testing.assert_close(hadamard_rotate(turned, signs, back=True), weight)
    torch.testing.assert_close(torch.linalg.svdvals(turned), torch.linalg.svdvals(weight))


def test_a_rotation_is_hadamards():
    table = hadamard_rotate(torch.eye(8), torch.ones(8)) * 8**0.5
    assert bool((table.abs() - 1).abs().max() < 1e-6) and torch.equal(table.round(), table.round().T)
    with pytest.raises(ValueError, match=r"signs: got shape \(3,\)"):
        hadamard_rotate(torch.eye(4), torch.ones(3))


def test_drawing_ends_in_never_costs_squared_error(layer):
    groups = layer[0].view(-1, 64)
    for bits in (2, 3, 4):
        lost = [
            (found.scale * (found.codes - found.zero) - groups).square().sum(1)
            for found in (round_groups(groups, bits), clipped_groups(groups, bits))
        ]
        assert bool((lost[1] <= lost[0] * (1 + 1e-5)).all()) and float(lost[1].sum()) < 0.97 * float(lost[0].sum())


def test_gptq_of_uncorrelated_inputs_is_rounding_and_of_others_loses_less(layer):
    weight, inputs = layer
    plain = dequantise(quantise_rtn(weight, Recipe(bits=3)))
    torch.testing.assert_close(gptq_groups(weight, torch.eye(128), Recipe(bits=3)), plain)
    made = gptq_groups(weight, inputs.T @ inputs, Recipe(bits=3))
    assert output_error(weight, made, inputs) < 0.8 * output_error(weight, plain, inputs)
    with pytest.raises(ValueError, match="moments: got shape"):
        gptq_groups(weight, torch.eye(3), Recipe())


def test_awq_keeps_the_exponent_that_loses_least(layer):
    weight, inputs = layer
    found = awq_scale(weight, inputs, Recipe(bits=3))
    assert found.error == pytest.approx(float(found.errors.min())) and len(found.errors) == 20
    assert found.alpha == pytest.approx(int(found.errors.argmin()) / 20)
    made = quantise_by(weight, "awq", Recipe(bits=3), inputs=inputs).weight
    wanted = float((inputs @ (made - weight).T).square().mean())
    assert wanted == pytest.approx(found.error, rel=1e-4)
    with pytest.raises(ValueError, match="inputs: got shape"):
        awq_scale(weight, inputs[:, :3], Recipe())


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_one_name(layer, method):
    weight, inputs = layer
    found = quantise_by(weight, method, Recipe(bits=4), inputs=inputs)
    assert found.weight.shape == weight.shape and bool(torch.isfinite(found.weight).all())
    assert weight_error(weight, found.weight) < 0.1 and 4 < found.bits_a_weight < 5
    again = quantise_by(weight, method, Recipe(bits=4), inputs=inputs)
    assert torch.equal(found.weight, again.weight), "draws follow from the generator alone"
    coarse = quantise_by(weight, method, Recipe(bits=3), inputs=inputs)
    assert output_error(weight, coarse.weight, inputs) > output_error(weight, found.weight, inputs)
    if method in CALIBRATED:
        with pytest.raises(ValueError, match=f"{method} needs activations"):
            quantise_by(weight, method, Recipe())


def test_scales_that_mean_something_beat_the_same_scales_shuffled(layer):
    weight, _ = layer
    lost = {m: weight_error(weight, quantise_by(weight, m, Recipe(bits=3)).weight) for m in ("rtn", "shuffled", "sinq")}
    assert lost["shuffled"] > lost["rtn"] > 0 and lost["sinq"] < lost["shuffled"]


def test_an_unknown_method_is_refused(layer):
    with pytest.raises(ValueError, match="method: got 'best'; expected one of rtn, clip"):
        quantise_by(layer[0], "best", Recipe())
