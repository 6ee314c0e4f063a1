"""Constants, bounds and their tightness: closed forms, a model small enough for pencil and paper, and adversaries."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_layers import random_layer

from assay.data import model_file
from assay.dynamics.state_space import (
    METHODS,
    Admissible,
    CopyingTask,
    adversarial_inputs,
    bibo_bound,
    calibrate,
    channel_states,
    check_violations,
    find_ssm,
    hand_made_inputs,
    interval_constants,
    last_state,
    load_ssm,
    merge,
    observe,
    random_inputs,
    scan_layer,
    silu_range,
    softplus_bounds,
    vocabulary_inputs,
    watch,
    zoh_ratio,
)
from assay.dynamics.state_space.ranges import SILU_LIPSCHITZ, linear_range

REAL = st.floats(-30, 30)
SEEDS = st.integers(0, 2**31)
SMALL = settings(max_examples=25, deadline=None)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@given(REAL, REAL)
@settings(max_examples=200, deadline=None)
def test_silu_and_softplus_stay_in_their_ranges_and_reach_their_ends(a, b):
    low, high = (torch.tensor([v], dtype=torch.float64) for v in sorted((a, b)))
    x = torch.linspace(float(low), float(high), 2001, dtype=torch.float64)
    for function, (least, most) in (
        (torch.nn.functional.silu, silu_range(low, high)),
        (torch.nn.functional.softplus, softplus_bounds(low, high)),
    ):
        y = function(x)
        assert float(least) <= float(y.min()) and float(y.max()) <= float(most)
        assert float(most) - float(y.max()) < 1e-3 and float(y.min()) - float(least) < 1e-3


def test_the_least_silu_is_where_the_card_says():
    least, _ = silu_range(torch.tensor([-5.0]).double(), torch.tensor([0.0]).double())
    assert float(least) == pytest.approx(-0.27846, abs=1e-5)
    x = torch.linspace(-20, 20, 400_001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(torch.nn.functional.silu(x).sum(), x)
    assert slope.abs().max() <= SILU_LIPSCHITZ and slope.max() > SILU_LIPSCHITZ - 1e-7


@given(st.floats(0, 1e6))
@settings(max_examples=100, deadline=None)
def test_eulers_excess_lies_between_one_and_one_plus_z(z):
    rho = float(zoh_ratio(torch.tensor(z, dtype=torch.float64)))
    assert 1 - 1e-12 <= rho <= 1 + z + 1e-9 * z
    if z > 1e-3:
        assert rho == pytest.approx(z / (1 - math.exp(-z)), rel=1e-12)


@given(st.lists(st.floats(0, 50), min_size=1, max_size=30), st.floats(-30, 30), st.floats(0, 5))
@settings(max_examples=200, deadline=None)
def test_the_two_inequalities_of_the_uniform_bound(z, x, s):
    """sum_t z_t e^(-sum_(s>=t) z_s) <= 1; softplus(x + s) / softplus(x) in [1, e^s]; sigmoid <= softplus."""
    z = np.array(z)
    assert (z * np.exp(-np.cumsum(z[::-1])[::-1])).sum() <= 1 + 1e-12
    soft = [float(torch.nn.functional.softplus(torch.tensor(v, dtype=torch.float64))) for v in (x, x + s)]
    assert 1 - 1e-12 <= soft[1] / soft[0] <= math.exp(s) * (1 + 1e-12)
    assert float(torch.sigmoid(torch.tensor(x, dtype=torch.float64))) <= soft[0] * (1 + 1e-12)


def test_constant_input_reaches_the_bound_of_either_discretisation():
    """ZOH: h = v/a exactly; Euler: v Δ/(1 - e^(-aΔ)) = v ρ/a."""
    rates, v, step = np.array([0.01, 1.0, 30.0]), np.array([2.0, -1.0, 0.5]), 0.7
    T = 4000
    for method in METHODS:
        h = channel_states(np.tile(v, (T, 1)), np.full(T, step), rates, method=method)
        z = step * rates
        want = v / rates * (1.0 if method == "zoh" else z / -np.expm1(-z))
        assert np.abs(h[-1] / want - 1).max() < 1e-9
        assert (np.abs(h) <= np.abs(want) * (1 + 1e-12)).all()


def test_the_bound_of_an_exact_hold_is_false_for_the_public_code():
    """The pitfall: without ρ the bound is broken once Δ a is large."""
    h = channel_states(np.ones((5, 1)), np.full(5, 3.0), np.array([4.0]))
    assert h.max() > 1 / 4.0 and h.max() == pytest.approx(3.0, rel=1e-4)


@given(SEEDS, st.floats(0.01, 3), st.floats(0.0, 1.0))
@SMALL
def test_a_hold_may_be_split_and_eulers_step_may_not(seed, step, share):
    """One exact step is two shorter ones of the same input; Euler's differ by about the square of the step."""
    rng = np.random.default_rng(seed)
    rates, v, start = rng.uniform(0.1, 3, 3), rng.normal(size=(1, 3)), rng.normal(size=3)
    parts = np.array([share * step, (1 - share) * step])
    one, two = (
        [channel_states(np.repeat(v, len(p), 0), p, rates, method=m, initial=start)[-1] for m in METHODS]
        for p in (np.array([step]), parts)
    )
    euler, zoh = (METHODS.index(m) for m in ("euler", "zoh"))
    assert np.abs(one[zoh] - two[zoh]).max() < 1e-12
    apart = np.abs(one[euler] - two[euler])
    assert (apart <= np.abs(v[0]) * rates * step**2).all()


def test_a_long_scan_of_an_exact_hold_stays_under_its_bound():
    """A hundred thousand steps at the largest input, with steps of any size."""
    rng = np.random.default_rng(3)
    rates = np.geomspace(1e-4, 1e2, 8)
    h = channel_states(np.ones((100_000, 8)), rng.lognormal(-3, 3, 100_000), rates, method="zoh")
    assert (np.abs(h) <= (1 + 1e-12) / rates).all() and (h[-1] * rates > 0.999).all()


@given(seed=SEEDS, method=st.sampled_from(METHODS))
@SMALL
def test_the_scan_the_loop_and_the_closed_form_agree(seed, method, tmp_path_factory):
    layer = random_layer(tmp_path_factory.mktemp("m"), seed % 5)
    u = torch.randn(2, 13, 16, dtype=torch.float64, generator=generator(seed))
    driven = layer.drive(u)
    scanned = scan_layer(layer, driven, method)
    d, n = seed % layer.channels, seed % layer.states
    v = (driven.B[:, :, 0, n] * driven.x[..., d])[..., None]
    for b in range(2):
        h = channel_states(
            v[b].numpy(), driven.delta[b, :, d].numpy(), layer.rates[d, n : n + 1].numpy(), method=method
        )
        assert float(scanned.state[b, d, n]) == pytest.approx(h[-1, 0], rel=1e-9, abs=1e-14)
        assert float(scanned.peak[b, d, n]) == pytest.approx(np.abs(h).max(), rel=1e-9, abs=1e-14)
    closed = last_state(v[..., 0], driven.delta[..., d], layer.rates[d, n].expand(2), method)
    assert torch.allclose(closed, scanned.state[:, d, n], rtol=1e-9, atol=1e-14)


def test_the_scan_is_the_loop_of_the_published_code(tmp_path):
    """`selective_scan_ref`: deltaA = exp(delta A), deltaB_u = delta B u, h = deltaA h + deltaB_u, y = C h + D u."""
    layer = random_layer(tmp_path)
    driven = layer.drive(torch.randn(3, 17, 16, dtype=torch.float64, generator=generator(1)))
    h, ys = torch.zeros(3, layer.channels, layer.states, dtype=torch.float64), []
    for t in range(17):
        step = driven.delta[:, t, :, None]
        h = torch.exp(step * layer.A) * h + step * driven.B[:, t] * driven.x[:, t, :, None]
        ys.append((h * driven.C[:, t]).sum(-1) + layer.skip * driven.x[:, t])
    torch.testing.assert_close(scan_layer(layer, driven).y, torch.stack(ys, 1), rtol=1e-10, atol=1e-13)


def test_constants_by_hand(tmp_path):
    """Two channels, one state, width 2: every constant follows from a line of arithmetic."""
    from assay.checkpoints.safetensors_writing import write_safetensors

    s = "backbone.layers.0.mixer."
    write_safetensors(tmp_path / "m.safetensors", {
        "backbone.layers.0.norm.weight": torch.tensor([1.0, 2.0]),
        s + "in_proj.weight": torch.tensor([[3.0, 2.0], [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]),
        s + "conv1d.weight": torch.tensor([[[1.0, -1.0]], [[0.0, 2.0]]]), s + "conv1d.bias": torch.tensor([0.5, 0.0]),
        s + "x_proj.weight": torch.tensor([[1.0, 0.0], [0.0, -2.0], [1.0, 1.0]]),
        s + "dt_proj.weight": torch.tensor([[1.0], [0.0]]), s + "dt_proj.bias": torch.tensor([-1.0, 0.0]),
        s + "A_log": torch.tensor([[0.0], [math.log(2.0)]]), s + "D": torch.tensor([1.0, 0.0]),
        s + "out_proj.weight": torch.eye(2),
    })  # fmt: skip
    layer = load_ssm(tmp_path / "m.safetensors")[0]
    found = interval_constants(layer)
    root = math.sqrt(2)
    silu = torch.nn.functional.silu
    # rows times gain: (3, 4) of length 5, (0, 2) of length 2; convolutions: 0.5 ± 2·5√2 and ± 2·2√2
    x = [float(silu(torch.tensor(v, dtype=torch.float64))) for v in (0.5 + 10 * root, 4 * root)]
    low = -0.2784645427610738
    assert found.x_max.tolist() == pytest.approx(x, rel=1e-8)
    assert found.B_max[0].tolist() == pytest.approx([2 * x[1]], rel=1e-8)  # -2 x_1
    assert found.C_max[0].tolist() == pytest.approx([x[0] + x[1]], rel=1e-8)
    soft = [math.log1p(math.exp(v)) for v in (x[0] - 1, low - 1, 0.0)]
    assert found.dt_max.tolist() == pytest.approx([soft[0], soft[2]], rel=1e-8)
    assert found.dt_min.tolist() == pytest.approx([soft[1], soft[2]], rel=1e-7)  # rounded outward
    gate = float(silu(torch.tensor(root, dtype=torch.float64)))  # row (1, 0): ±√2
    assert found.z_max.tolist() == pytest.approx([gate, 0.0], rel=1e-8, abs=1e-8)
    drive = [2 * x[1] * x[0], 2 * x[1] * x[1]]
    for method in METHODS:
        bound = bibo_bound(layer, found, method=method)
        z = [soft[0] * 1.0, soft[2] * 2.0]
        rho = [v / -math.expm1(-v) if method == "euler" else 1.0 for v in z]
        h = [drive[0] * rho[0] / 1.0, drive[1] * rho[1] / 2.0]
        assert bound.h_max[:, 0].tolist() == pytest.approx(h, rel=1e-7)
        assert bound.y_max.tolist() == pytest.approx([(x[0] + x[1]) * h[0] + x[0], (x[0] + x[1]) * h[1]], rel=1e-7)
        assert float(bound.out_max[0]) == pytest.approx(float(bound.y_max[0]) * gate, rel=1e-7)


@given(SEEDS)
@SMALL
def test_interval_arithmetic_holds_what_it_bounds(seed):
    draw = generator(seed)
    W, bias = (
        torch.randn(5, 7, dtype=torch.float64, generator=draw),
        torch.randn(5, dtype=torch.float64, generator=draw),
    )
    ends = torch.randn(2, 7, dtype=torch.float64, generator=draw).sort(0).values
    low, high = linear_range(W, ends[0], ends[1], bias)
    x = ends[0] + torch.rand(200, 7, dtype=torch.float64, generator=draw) * (ends[1] - ends[0])
    y = x @ W.T + bias
    assert (y >= low).all() and (y <= high).all()
    corner = torch.where(W > 0, ends[1], ends[0])
    assert torch.allclose((W * corner).sum(1) + bias, high, rtol=1e-7)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", METHODS)
def test_no_input_breaks_a_bound_from_weights_alone(seed, method, tmp_path):
    """Random layers, hand-made and ascended inputs; and what was reached is a fair part of what is allowed."""
    layer = random_layer(tmp_path, seed)
    bound = bibo_bound(layer, interval_constants(layer), method=method)
    space = Admissible.of(layer)
    targets = [(d, n) for d in range(layer.channels) for n in range(layer.states)]
    inputs = torch.cat([
        random_inputs(space, 20, 40, generator(seed)), hand_made_inputs(space, targets[::4], 40),
        adversarial_inputs(space, targets, 40, steps=40, generator=generator(seed), method=method),
    ])  # fmt: skip
    found = check_violations(layer, inputs, bound)
    assert found.violations == 0 and found.samples > 800_000
    assert found.worst > 0.02  # neither is the bound so loose that nothing could break it


def test_an_adversary_does_better_than_chance(tmp_path):
    layer = random_layer(tmp_path, 2)
    space = Admissible.of(layer)
    targets = [(d, 0) for d in range(layer.channels)]
    chance = observe(layer, random_inputs(space, 64, 40, generator(0))).h_max[:, 0]
    ascended = observe(layer, adversarial_inputs(space, targets, 40, steps=60, generator=generator(0))).h_max[:, 0]
    assert (ascended > chance).double().mean() > 0.9 and (ascended / chance).median() > 2


def test_the_model_that_comes_along_breaks_no_bound_over_a_million_samples():
    """Card's own check: a bound from weights alone is never broken, and lies decades above what data do."""
    stack = find_ssm(model_file("small-mamba"))
    embedding = stack.embedding()
    assert embedding is not None
    tokens, _ = CopyingTask().draw(16, generator(5))
    h = embedding[tokens]
    samples = 0
    for i, layer in enumerate(stack.layers()):
        u = layer.normed(h)
        space = Admissible.of(layer)
        data = observe(layer, u)
        attacked = merge(data, observe(layer, hand_made_inputs(space, [(d, 0) for d in range(0, 128, 16)], 48)))
        alone, inside = interval_constants(layer), calibrate(layer, u)
        found = check_violations(layer, attacked, bibo_bound(layer, alone))
        assert found.violations == 0
        samples += found.samples
        tight = check_violations(layer, data, bibo_bound(layer, inside))
        assert tight.violations == 0 and tight.worst > 0.5
        loose = math.log10(float((bibo_bound(layer, alone).h_max / data.h_max).median()))
        assert loose > 2
        if i == 0:
            vocabulary = interval_constants(layer, tokens=vocabulary_inputs(layer, embedding))
            own = bibo_bound(layer, vocabulary)
            assert check_violations(layer, data, own).violations == 0
            assert (vocabulary.x_max <= alone.x_max * (1 + 1e-6)).all()
            assert float((alone.x_max / vocabulary.x_max).median()) > 1.5
        driven = layer.drive(u)
        h = h + layer.output(scan_layer(layer, driven).y, driven.z)
    assert samples >= 1_000_000


def test_a_monitor_sees_what_leaves_the_calibrated_range(tmp_path):
    layer = random_layer(tmp_path, 1)
    space = Admissible.of(layer)
    inside = random_inputs(space, 8, 20, generator(0)) * 0.3
    constants = calibrate(layer, inside)
    assert constants.grade == "conditional" and watch(layer, inside, constants).inside
    outside = watch(layer, hand_made_inputs(space, [(0, 0)], 20), constants)
    assert not outside.inside and outside.leaving > 0 and outside.first is not None


def test_an_initial_state_is_remembered(tmp_path):
    layer = random_layer(tmp_path, 1)
    constants = interval_constants(layer)
    start = torch.full((layer.channels, layer.states), 1e9, dtype=torch.float64)
    assert (bibo_bound(layer, constants, initial=start).h_max >= 1e9).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda layer: calibrate(layer, torch.zeros(0, 5, 16)), "not empty"),
        (lambda layer: calibrate(layer, torch.full((1, 5, 16), torch.nan)), "NaN or infinity"),
        (lambda layer: calibrate(layer, torch.zeros(1, 5, 3)), r"expected \(batch, length, 16\)"),
        (lambda layer: bibo_bound(layer, interval_constants(layer), method="rk4"), "expected euler or zoh"),  # pyright: ignore
        (lambda layer: interval_constants(layer, tokens=torch.zeros(2, 3)), r"expected \(V, 16\)"),
        (lambda layer: channel_states(np.ones((2, 1)), np.array([0.1, -0.1]), np.ones(1)), "expected Δ ≥ 0"),
    ],
)
def test_what_is_no_input_is_refused(call, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        call(random_layer(tmp_path))


def test_a_layer_without_a_norm_needs_a_radius(tmp_path):
    from dataclasses import replace

    layer = replace(random_layer(tmp_path), gain=None)
    with pytest.raises(ValueError, match="input_radius: got None; expected a length above 0"):
        interval_constants(layer)
    one, two = (interval_constants(layer, input_radius=r).x_max for r in (1.0, 2.0))
    assert (two > one).all()
    bound = bibo_bound(layer, interval_constants(layer, input_radius=2.0))
    space = Admissible.of(layer, 2.0)
    inputs = random_inputs(space, 16, 30, generator(0))
    assert float(inputs.norm(dim=-1).max()) <= 2 * (1 + 1e-9)
    assert check_violations(layer, inputs, bound).violations == 0


def test_a_layer_norm_takes_the_mean_away_and_adds_its_bias(tmp_path):
    from dataclasses import replace

    draw = generator(9)
    layer = replace(random_layer(tmp_path), shift=torch.randn(16, dtype=torch.float64, generator=draw))
    bound = bibo_bound(layer, interval_constants(layer))
    h = 10 * torch.randn(40, 30, 16, dtype=torch.float64, generator=draw)
    assert check_violations(layer, layer.normed(h), bound).violations == 0
    space = Admissible.of(layer)
    inputs = adversarial_inputs(space, [(d, 0) for d in range(32)], 30, steps=30, generator=draw)
    assert check_violations(layer, inputs, bound).violations == 0
