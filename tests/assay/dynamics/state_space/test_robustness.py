"""Two bounds on the effect of a change: neither is broken, one does not grow, and where they cross."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small_layers import random_layer

from assay.dynamics.state_space import (
    CHANGES,
    METHODS,
    Admissible,
    adversarial_changes,
    adversarial_inputs,
    bibo_bound,
    change_of,
    channel_states,
    crossover,
    interval_constants,
    random_inputs,
    robustness_bound,
    state_terms,
)


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


@given(
    st.integers(0, 2**31), st.sampled_from([1e-3, 1e-2, 0.1, 0.5]), st.sampled_from(METHODS),
    st.sampled_from(["random", "one-sided", "alternating"]), st.sampled_from([0.0, 1.0, 3.0]),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_both_bounds_hold_for_changes_before_the_softplus(seed, p, method, way, spread):
    """N = 16, L = 2000, as the card checked: random and one-sided changes."""
    rng = np.random.default_rng(seed)
    L, rates = 2000, np.geomspace(1e-3, 1e2, 16)
    pre = rng.normal(math.log(math.expm1(0.01)), spread, L)
    v = rng.normal(size=(L, 16)) if way == "random" else np.abs(rng.normal(size=(L, 16)))
    signs = {"random": rng.choice([-1, 1], L), "one-sided": 1, "alternating": (-1) ** np.arange(L)}[way]
    steps = [np.logaddexp(0, pre), np.logaddexp(0, pre + p * signs)]
    h, other = (channel_states(v, s, rates, method=method) for s in steps)
    error = np.abs(other - h)
    top, drive = np.abs(h).max(0), np.abs(v).max(0)
    a, h_max, v_max = (torch.from_numpy(x) for x in (rates, top, drive))
    dt, moved = torch.full_like(a, steps[0].max()), torch.zeros_like(a)
    totals = {}
    for form in ("uniform", "linear"):
        first, second = state_terms(a, h_max, v_max, dt, moved, torch.full_like(a, p), L, form=form, method=method)
        totals[form] = (first + second).numpy()
    assert (error.max(0) <= totals["uniform"]).all()
    # the linear one grows with every step, and must hold at each
    each = totals["linear"] / L
    assert (error <= each * np.arange(1, L + 1)[:, None] * (1 + 1e-9)).all()
    where = crossover(a, h_max, v_max, dt, torch.full_like(a, p), method).numpy()
    assert ((totals["linear"] > totals["uniform"]) == (where < L)).all()


@given(st.integers(0, 2**31), st.sampled_from(METHODS))
@settings(max_examples=15, deadline=None)
def test_an_integrator_does_grow_linearly(seed, method):
    """a Δ near 0: the regime where the linear form is the right one."""
    rng = np.random.default_rng(seed)
    L, a = 4096, np.array([1e-6])
    steps = rng.uniform(0.005, 0.02, L)
    h, other = (channel_states(np.ones((L, 1)), s, a, method=method) for s in (steps, 1.01 * steps))
    error = np.abs(other - h)[:, 0]
    slope = np.polyfit(np.log(np.arange(64, L)), np.log(error[64:]), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("method", METHODS)
def test_a_changed_layer_stays_within_both_bounds(kind, method, tmp_path):
    """Whole layers, by what is changed: states and outputs at every step."""
    layer = random_layer(tmp_path, 3)
    constants = interval_constants(layer)
    draw = torch.Generator().manual_seed(4)
    space = Admissible.of(layer)
    size, L = 0.05, 50
    u = random_inputs(space, 4, L, draw)
    one = layer.drive(u)
    sign = lambda like: torch.randn(like.shape, dtype=torch.float64, generator=draw).sign()  # noqa: E731
    if kind == "input":
        e = torch.randn(u.shape, dtype=torch.float64, generator=draw)
        two = layer.drive(u + size * e / e.norm(dim=-1, keepdim=True))
    elif kind == "pre":
        pre = one.pre + size * sign(one.pre)
        two = one._replace(pre=pre, delta=torch.nn.functional.softplus(pre))
    elif kind == "weights":
        from dataclasses import replace

        parts = {n: getattr(layer, n) for n in ("B", "C", "step", "step_low")}
        two = replace(layer, **{n: w * (1 + size * sign(w)) for n, w in parts.items()}).drive(u)
    else:
        two = one._replace(**{kind: getattr(one, kind) + size * sign(getattr(one, kind))})
    forms = {
        form: robustness_bound(layer, constants, size, L, form=form, kind=kind, method=method)
        for form in ("uniform", "linear")
    }
    for b in range(4):
        for d in range(0, layer.channels, 5):
            states, outputs = [], []
            for driven in (one, two):
                v = (driven.B[b, :, 0] * driven.x[b, :, d, None]).numpy()
                h = channel_states(v, driven.delta[b, :, d].numpy(), layer.rates[d].numpy(), method=method)
                states.append(h)
                outputs.append(
                    (h * driven.C[b, :, 0].numpy()).sum(1) + float(layer.skip[d]) * driven.x[b, :, d].numpy()
                )
            error, out = np.abs(states[1] - states[0]), np.abs(outputs[1] - outputs[0])
            if kind not in ("C",):
                assert error.max() > 0
            for terms in forms.values():
                assert (error <= terms.total[d].numpy()).all()
                assert out.max() <= float(terms.output[d]) and out.max() > 0


def test_what_cannot_matter_is_called_vacuous(tmp_path):
    """A bound of twice the largest state says nothing of any two inputs."""
    layer = random_layer(tmp_path, 3)
    constants = interval_constants(layer)
    h_max = bibo_bound(layer, constants).h_max
    small, large = (robustness_bound(layer, constants, s, 100, kind="pre") for s in (1e-6, 2.0))
    assert not small.vacuous.any() and large.vacuous.all()
    assert (large.total >= 2 * h_max).all()


def test_terms_scale_as_they_should(tmp_path):
    """The linear form doubles with length in one term alone; the uniform form knows no length."""
    layer = random_layer(tmp_path, 1)
    constants = interval_constants(layer)
    short, long = (robustness_bound(layer, constants, 0.01, L, form="linear", kind="input") for L in (100, 200))
    assert torch.allclose(2 * short.selectivity, long.selectivity) and torch.equal(short.injection, long.injection)
    same = [robustness_bound(layer, constants, 0.01, L, kind="input").total for L in (100, 10**6)]
    assert torch.equal(*same)


def test_an_ascended_change_moves_more_than_a_random_one(tmp_path):
    layer = random_layer(tmp_path, 2)
    space, draw = Admissible.of(layer), torch.Generator().manual_seed(0)
    targets = [(d, 0) for d in range(16)]
    u = adversarial_inputs(space, targets, 30, steps=20, generator=draw)
    size = 0.01
    ascended = adversarial_changes(space, u, targets, size, steps=30, generator=draw)
    assert float((ascended - u).norm(dim=-1).max()) <= size * (1 + 1e-6)
    e = torch.randn(u.shape, dtype=torch.float64, generator=draw)
    chance = u + size * e / e.norm(dim=-1, keepdim=True)
    from assay.dynamics.state_space.adversary import drives
    from assay.dynamics.state_space.recurrence import last_state

    ends = [last_state(*drives(layer, layer.drive(x), targets)) for x in (u, ascended, chance)]
    moved, by_chance = (ends[1] - ends[0]).abs(), (ends[2] - ends[0]).abs()
    assert (moved > by_chance).all() and float((moved / by_chance).median()) > 3
    terms = robustness_bound(layer, interval_constants(layer), size, 30, kind="input")
    assert (moved <= terms.total[:16, 0]).all()


def test_a_change_through_an_inner_norm_is_refused(tmp_path):
    from dataclasses import replace

    from assay.dynamics.state_space.layer import InnerNorms

    layer = replace(random_layer(tmp_path), inner=InnerNorms(1e-6, None, None, None))
    constants = interval_constants(layer)
    assert float(constants.B_max.max()) == pytest.approx(2.0, rel=1e-6)  # sqrt of 4 states
    with pytest.raises(ValueError, match="the slope of a norm has no useful bound"):
        change_of(layer, constants, 0.1)
    for bad, sentence in (((0.1, "A"), "expected one of input"), ((0.0, "pre"), "expected above 0")):
        with pytest.raises(ValueError, match=sentence):
            change_of(layer, constants, *bad)
