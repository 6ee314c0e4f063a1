"""Adjoints against central differences and against autograd through the same steps."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.dynamics.cables import Membrane, adam, cable_of, drive_of, made_tree, trace_gradient, trace_loss
from assay.kernels import Drive, Synapses, cable_adjoint, cable_steps, cable_torch


def driven(seed, *, active=True, scheme="euler", steps=60, cells=3):
    rng = np.random.default_rng(seed)
    tree = made_tree("ball-and-stick", 120.0)
    own = {("all", "leak"): 3e-4} | ({("all", "na"): 0.12, ("all", "k"): 0.036} if active else {})
    cable = cable_of(tree, Membrane(own))
    current = rng.normal(0.6, 0.4, (steps, 2, cells))
    drive = drive_of(np.array([0, len(tree) - 1]), current, 0.05, scheme)
    return cable, drive, rng


def wired(rng, n):
    pre, post = rng.integers(0, n, (2, 4))
    gap_pre, gap_post = np.array([0, n - 1]), np.array([n - 1, 0])
    return Synapses(
        pre, post, rng.uniform(1e-4, 5e-3, 4), np.array([30.0, -70, 30, -70]), np.array([0.5, 0.015, 0.5, 0.5]),
        gap_pre=gap_pre, gap_post=gap_post, gap=np.array([1e-3, 1e-3]),
    )  # fmt: skip


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["euler", "crank-nicolson"]))
def test_steps_and_gradients_are_those_of_autograd(seed, active, scheme):
    cable, drive, rng = driven(seed, active=active, scheme=scheme)
    synapses = wired(rng, len(cable))
    record = np.array([0, len(cable) - 1])
    run = cable_steps(cable, drive, synapses, record=record, tape="exact")
    names = ("sodium", "potassium", "leak", "conductance", "gap", "current")
    holders = {"conductance": synapses, "gap": synapses, "current": drive}
    leaves = {n: torch.from_numpy(getattr(holders.get(n, cable), n).copy()).requires_grad_() for n in names}
    v = cable_torch(cable, drive, synapses, record=record, leaves=leaves)
    np.testing.assert_allclose(run.v, v.detach().numpy(), atol=1e-8)
    weight = rng.normal(size=run.v.shape)
    wanted = torch.autograd.grad((v * torch.from_numpy(weight)).sum(), list(leaves.values()), materialize_grads=True)
    found = cable_adjoint(cable, drive, run, weight, synapses)
    for name, want in zip(names, wanted, strict=True):
        if active or name not in ("sodium", "potassium"):
            scale = max(float(want.abs().max()), 1e-12)
            np.testing.assert_allclose(getattr(found, name), want.numpy(), atol=1e-8 * scale, rtol=1e-7, err_msg=name)


@pytest.mark.parametrize("scheme", ["euler", "crank-nicolson"])
def test_exact_equals_central_differences_and_frozen_does_not(scheme):
    cable, drive, _ = driven(4, scheme=scheme, steps=160, cells=1)
    record = np.array([0])
    target = np.full((drive.steps + 1, 1, 1), -60.0)
    _, exact, run = trace_gradient(cable, drive, target, record, "exact")
    assert run.v.max() > 0, "it fires"
    _, frozen, _ = trace_gradient(cable, drive, target, record, "frozen")

    def loss(**changes):
        return float(trace_loss(cable_steps(replace(cable, **changes), drive, record=record).v, target)[0].mean())

    for place, (name, step) in enumerate((("sodium", 1e-6), ("potassium", 1e-6), ("leak", 1e-7))):
        value = getattr(cable, name)
        f = [loss(**{name: value + h}) for h in (-2 * step, -step, step, 2 * step)]
        five = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step)  # fourth order: rounding is what is left
        assert exact[place] == pytest.approx(five, rel=2e-6), name
    assert np.linalg.norm(frozen - exact) > 0.1 * np.linalg.norm(exact)


@pytest.mark.parametrize("scheme", ["euler", "crank-nicolson"])
def test_frozen_is_exact_without_channels(scheme):
    cable, drive, rng = driven(1, active=False, scheme=scheme)
    run = cable_steps(cable, drive, tape="exact")
    weight = rng.normal(size=run.v.shape)
    exact, frozen = (cable_adjoint(cable, drive, run, weight, mode=m) for m in ("exact", "frozen"))
    np.testing.assert_allclose(frozen.leak, exact.leak, rtol=1e-12)
    np.testing.assert_allclose(frozen.current, exact.current, rtol=1e-12, atol=1e-15)


def test_blocks_and_threads_change_no_bit():
    cable, drive, rng = driven(2, cells=201, steps=40)
    weight = rng.normal(size=(drive.steps + 1, len(cable), drive.cells))
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            run = cable_steps(cable, drive, tape="exact")
            found.append((run.v, cable_adjoint(cable, drive, run, weight)))
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(found[0][0], found[1][0])
    for name in ("current", "sodium", "leak", "size"):
        assert np.array_equal(getattr(found[0][1], name), getattr(found[1][1], name)), name
    alone = cable_steps(cable, Drive(drive.nodes, drive.current[:, :, 77:78].copy(), drive.dt, drive.theta))
    assert np.array_equal(alone.v[:, :, 0], found[0][0][:, :, 77]), "a cell does not depend on its neighbours"


def test_clipping_bounds_what_goes_back():
    cable, drive, _ = driven(3, steps=200, cells=2)
    run = cable_steps(cable, drive, record=np.array([0]), tape="exact")
    free = cable_adjoint(cable, drive, run, run.v)
    assert free.clipped == 0
    limit = float(free.size.max()) / 4
    bounded = cable_adjoint(cable, drive, run, run.v, clip=limit)
    assert bounded.clipped > 0 and np.isfinite(bounded.sodium).all()


def test_what_does_not_fit_is_refused():
    cable, drive, _ = driven(0)
    run = cable_steps(cable, drive)
    with pytest.raises(ValueError, match="run: it was made without a tape"):
        cable_adjoint(cable, drive, run, run.v)
    half = cable_steps(cable, drive, tape="frozen")
    assert half.tape_bytes * 4 == cable_steps(cable, drive, tape="exact").tape_bytes
    with pytest.raises(ValueError, match="run: its tape has no gates"):
        cable_adjoint(cable, drive, half, half.v)
    assert len(cable_adjoint(cable, drive, half, half.v, mode="frozen").sodium) == 0
    with pytest.raises(ValueError, match=r"gradient: got shape \(2, 2\)"):
        cable_adjoint(cable, drive, half, np.zeros((2, 2)), mode="frozen")
    with pytest.raises(ValueError, match="mode: got 'best'"):
        cable_adjoint(cable, drive, half, half.v, mode="best")
    with pytest.raises(ValueError, match="nodes: got nodes 99 to 99"):
        cable_steps(cable, Drive(np.array([99]), np.zeros((3, 1, 1)), 0.1))
    with pytest.raises(ValueError, match="current: got shape"):
        cable_steps(cable, Drive(np.array([0]), np.zeros((3, 2, 1)), 0.1))
    with pytest.raises(ValueError, match="dt: got"):
        cable_steps(cable, Drive(np.array([0]), np.zeros((3, 1, 1)), 0.0))
    with pytest.raises(ValueError, match=r"leak: got a conductance of -0\.0003; expected at least 0"):
        cable_steps(replace(cable, leak=-cable.leak), drive)


def test_adam_finds_the_bottom_of_a_bowl_and_refuses_what_diverges():
    fit = adam(lambda x: (float(((x - 3) ** 2).sum()), 2 * (x - 3)), np.zeros(2), 300, 0.1)
    assert np.allclose(fit.values, 3, atol=1e-3) and len(fit.losses) == 301
    with pytest.raises(ValueError, match="rate: the loss is no longer finite"):
        adam(lambda x: (float("inf"), x), np.zeros(2), 3, 0.1)
