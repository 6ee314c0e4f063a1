"""Cables against closed forms, conservation of charge, and invariance under the order of nodes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.dynamics.cables import (
    SURROGATES,
    Membrane,
    Section,
    cable_coefficients,
    cable_of,
    discretise,
    drive_of,
    finite_cable,
    length_constant,
    made_tree,
    sealed_input_resistance,
    spike_loss,
    spike_times,
    steady_state,
    surrogate,
)
from assay.kernels import Cable, cable_steps
from assay.kernels._cable.cpu import steady_gates

RM, RA = 20_000.0, 150.0
PASSIVE = Membrane({("all", "leak"): 1 / RM}, Ra=RA, leak_reversal=0.0)


def rod(length, radius, longest):
    ends = np.array([[0.0, 0, 0], [0, length, 0]])
    return discretise([Section(3, ends, np.array([radius, radius]), -1)], longest, "rod")


def test_a_sealed_cable_falls_as_its_cosh_and_its_error_is_of_second_order():
    length, radius = 1000.0, 1.5
    constant = length_constant(radius, RM, RA)
    errors, resistances = [], []
    for pieces in (50, 100):
        tree = rod(length, radius, length / pieces)
        current = np.zeros(len(tree))
        current[0] = 0.1
        v = steady_state(cable_of(tree, PASSIVE), current)
        x = tree.xyz[:, 1]
        want = 0.1 * sealed_input_resistance(radius, length, RM, RA) * finite_cable(x, length, constant)
        errors.append(np.abs(v / v[-1] - want / want[-1])[pieces // 4 :].max())
        # the current enters half a compartment from the end: carried there along the closed form
        resistances.append(abs(v[-1] / want[-1] - 1))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.2)
    assert resistances[1] < 1e-3 and resistances[0] / resistances[1] == pytest.approx(4, rel=0.3)


def test_a_single_compartment_decays_by_the_euler_factor_and_by_crank_nicolsons():
    tree = rod(20.0, 10.0, 100.0)
    dt, tau = 0.1, RM * 1e-3  # R_m C_m in ms for 1 µF/cm²
    for scheme, factor in (("euler", 1 / (1 + dt / tau)), ("crank-nicolson", (1 - dt / 2 / tau) / (1 + dt / 2 / tau))):
        v = cable_steps(cable_of(tree, PASSIVE), drive_of(0, np.zeros(50), dt, scheme), start=10.0).v[:, 0, 0]
        np.testing.assert_allclose(v, 10 * factor ** np.arange(51), rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["random", "binary", "caterpillar"]))
def test_charge_is_conserved(seed, shape):
    """Σ area (c dV/dt + I_ion) = Σ I: what flows along branches cancels."""
    rng = np.random.default_rng(seed)
    tree = made_tree(shape, 60.0, rng)
    cable = cable_of(tree, Membrane())
    dt, current = 0.025, rng.normal(1.0, 0.5, 40)
    run = cable_steps(cable, drive_of(tree.soma, current, dt), tape="exact")
    v, y = run.voltages[:, :, 0], run.gates[:, :, :, 0]
    for t in range(40):
        m, h, n = y[t]
        ion = cable.sodium * m**3 * h * (v[t + 1] - 50) + cable.potassium * n**4 * (v[t + 1] + 77)
        ion += cable.leak * (v[t + 1] - cable.leak_reversal)
        total = (tree.area * (cable.capacitance * 1e-3 * (v[t + 1] - v[t]) / dt + ion)).sum() * 1e-2  # nA
        assert total == pytest.approx(current[t], abs=1e-9)
    a, b, _ = cable_coefficients(tree, 100.0, 1.0, dt)
    below = np.flatnonzero((tree.parent >= 0) & (tree.area > 0) & (tree.area[tree.parent] > 0))
    np.testing.assert_allclose(a[below] * tree.area[tree.parent[below]], b[below] * tree.area[below], rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_any_order_of_nodes_with_parents_first_gives_the_same_voltages(seed):
    rng = np.random.default_rng(seed)
    tree = made_tree("random", 60.0, rng)
    cable = cable_of(tree, Membrane())
    n = len(tree)
    order, ready = [], [0]
    children = [np.flatnonzero(tree.parent == i) for i in range(n)]
    while ready:
        order.append(ready.pop(int(rng.integers(len(ready)))))
        ready += children[order[-1]].tolist()
    order = np.array(order)
    place = np.empty(n, int)
    place[order] = np.arange(n)
    parent = np.where(tree.parent[order] < 0, -1, place[tree.parent[order]])
    names = ("a", "b", "axial", "capacitance", "leak", "sodium", "potassium", "leak_reversal", "per_area")
    other = Cable(parent, **{name: getattr(cable, name)[order] for name in names})
    current = np.full(400, 1.0)
    one = cable_steps(cable, drive_of(0, current, 0.025)).v[:, order]
    two = cable_steps(other, drive_of(0, current, 0.025)).v
    np.testing.assert_allclose(one, two, atol=1e-7)


def test_the_squid_axon_rests_where_it_is_known_to():
    m, h, n = steady_gates(np.array([[-65.0]]))[:, 0, 0]
    assert (round(m, 4), round(h, 4), round(n, 4)) == (0.0529, 0.5961, 0.3177)
    tree = rod(20.0, 10.0, 100.0)
    v = cable_steps(cable_of(tree, Membrane()), drive_of(0, np.zeros(4000), 0.025)).v[:, 0, 0]
    assert abs(v[-1] + 65) < 0.1
    # 2.3 µA/cm² lets it fire once, about 6.3 lets it go on
    counts = []
    for density in (1.0, 4.0, 12.0):
        current = density * 1e-6 * tree.area[0] * 1e-8 * 1e9  # nA
        trace = cable_steps(cable_of(tree, Membrane()), drive_of(0, np.full(4000, current), 0.025)).v[:, 0, 0]
        counts.append(len(spike_times(trace, 0.025)))
    assert counts[0] == 0 and counts[1] == 1 and counts[2] >= 6


def test_warmth_quickens_gates_threefold_each_ten_degrees():
    tree = rod(20.0, 10.0, 100.0)
    assert cable_of(tree, Membrane(celsius=16.3)).quicker == pytest.approx(3)
    slow, quick = (
        cable_steps(cable_of(tree, Membrane(celsius=c)), drive_of(0, np.full(400, 0.2), 0.025)).v[:, 0, 0]
        for c in (6.3, 16.3)
    )
    assert np.abs(slow - quick).max() > 1


@pytest.mark.parametrize("kind", SURROGATES)
def test_surrogates_integrate_to_one_and_gather_at_the_threshold(kind):
    x = np.linspace(-4000, 4000, 4_000_001)
    for width in (1.0, 5.0, 20.0):
        area = np.trapezoid(surrogate(x, kind, width), x)
        assert area == pytest.approx(1, abs=6e-3 if kind == "fast sigmoid" else 1e-3)
    near = np.abs(x) < 1
    shares = [np.trapezoid(surrogate(x, kind, w)[near], x[near]) for w in (5.0, 0.5, 0.05)]
    assert shares[0] < shares[1] <= shares[2] + 1e-9 and shares[2] > 0.9


def test_spikes_are_counted_and_their_loss_has_the_surrogates_slope():
    v = np.array([-70.0, -20, 30, 10, -60, -10, 5, -70])[:, None]
    np.testing.assert_allclose(spike_times(v[:, 0], 0.5, 0.0), [0.5 * (1 + 20 / 50), 0.5 * (5 + 10 / 15)])
    loss, slope = spike_loss(v, 1, 0.0, "triangle", 50.0)
    assert loss[0] == 0.5
    assert slope[3, 0] == 0, "no spike can begin where the step before is above"
    assert slope[2, 0] == pytest.approx(surrogate(np.array(30.0), "triangle", 50.0))
    with pytest.raises(ValueError, match="width: got 0 mV"):
        surrogate(v, "triangle", 0)
    with pytest.raises(ValueError, match="surrogate: got 'step'"):
        surrogate(v, "step", 1)


def test_what_is_no_cable_is_refused():
    tree = rod(20.0, 10.0, 100.0)
    with pytest.raises(ValueError, match="Ra: got 0; expected above 0"):
        cable_of(tree, replace(PASSIVE, Ra=0.0))
    with pytest.raises(ValueError, match="dt: got 0; expected above 0"):
        cable_coefficients(tree, 100.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="na of all has -1 S/cm²; expected at least 0"):
        cable_of(tree, Membrane({("all", "na"): -1.0}))
    with pytest.raises(ValueError, match="scheme: got 'rk4'"):
        drive_of(0, np.zeros(3), 0.1, "rk4")
    with pytest.raises(ValueError, match="shape: got 'bush'"):
        made_tree("bush", 40.0)
    with pytest.raises(ValueError, match="length: got 0 µm"):
        made_tree("binary", 0.0)
    with pytest.raises(ValueError, match="expected at most 100,000 on a processor"):
        made_tree("binary", 0.01)
