"""The LIF scan against its reference, spike for spike; gradients against autograd through the reference."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from assay.kernels import lif
from assay.kernels._lif.reference import lif_reference
from assay.kernels._lif.surrogates import SURROGATES

RESETS = ("subtract", "zero", "none")


def reference(x, beta, threshold, initial, **kinds):
    """The reference with the arguments of `lif`."""
    name, alpha = kinds.pop("surrogate", "atan"), kinds.pop("alpha", None)
    found = SURROGATES[name]
    kinds = {"scale_input": False, "reset": "subtract", "detach_reset": True, "delayed_reset": False} | kinds
    return lif_reference(
        x, beta, threshold, initial, surrogate=found, alpha=found.alpha if alpha is None else alpha, **kinds
    )


def drawn(steps, neurons, dtype=torch.float64, seed=0):
    """Currents that make about every third neuron fire, with decays, thresholds and first states of their own."""
    rng = torch.Generator().manual_seed(seed)
    real = {"dtype": dtype, "generator": rng}
    return (
        1.5 * torch.randn(steps, neurons, **real), torch.rand(neurons, **real), 0.3 + torch.rand(neurons, **real),
        torch.randn(neurons, **real),
    )  # fmt: skip


def leaves(values):
    return [v.detach().clone().requires_grad_() for v in values]


def gradients(scan, values, seed=1):
    values = leaves(values)
    spikes, membrane = scan(*values)
    rng = torch.Generator().manual_seed(seed)
    weights = [torch.randn(o.shape, dtype=o.dtype, generator=rng) for o in (spikes, membrane)]
    loss = (spikes * weights[0]).sum() + (membrane * weights[1]).sum()
    return (spikes, membrane), torch.autograd.grad(loss, values, allow_unused=True)


def ours(**kinds):
    return lambda x, beta, threshold, initial: lif(x, beta, threshold=threshold, initial=initial, **kinds)


def theirs(**kinds):
    return lambda *values: reference(*values, **kinds)


kinds = st.fixed_dictionaries(
    {
        "scale_input": st.booleans(), "reset": st.sampled_from(RESETS), "detach_reset": st.booleans(),
        "delayed_reset": st.booleans(), "surrogate": st.sampled_from(list(SURROGATES)),
    }
)  # fmt: skip


@settings(max_examples=15, deadline=None)
@given(kinds, st.sampled_from([1, 2, 63, 500]), st.sampled_from([1, 7, 33]), st.integers(0, 99))
def test_backward_is_autograd_through_the_reference(kinds, steps, neurons, seed):
    values = drawn(steps, neurons, seed=seed)
    outputs, found = gradients(ours(**kinds), values)
    expected_outputs, expected = gradients(theirs(**kinds), values)
    for a, b in zip(outputs, expected_outputs, strict=True):
        assert torch.equal(a, b)
    for a, b in zip(found, expected, strict=True):
        b = torch.zeros_like(a) if b is None else b
        scale = b.abs().reshape(-1, neurons).amax(0)  # of a neuron
        bounded = scale < 1e100  # a reset that is not detached lets some explode over 500 steps
        assert ((a - b).abs() <= 1e-12 * scale.clamp(min=1))[..., bounded].all()


@settings(max_examples=25, deadline=None)
@given(kinds, st.sampled_from([1, 63, 500]), st.sampled_from([(1,), (5,), (3, 5), (2, 3, 7)]), st.integers(0, 99))
def test_float32_spikes_are_the_same_and_gradients_close(kinds, steps, shape, seed):
    neurons = int(np.prod(shape))
    x, beta, threshold, initial = drawn(steps, neurons, torch.float32, seed)
    outputs, found = gradients(
        ours(**kinds), (x.view(steps, *shape), *(v.view(shape) for v in (beta, threshold, initial)))
    )
    expected_outputs, expected = gradients(theirs(**kinds), (x, beta, threshold, initial))
    for a, b in zip(outputs, expected_outputs, strict=True):
        assert torch.equal(a.reshape(b.shape), b)
    for a, b in zip(found, expected, strict=True):
        a, b = a.reshape(-1, neurons), torch.zeros_like(a) if b is None else b
        b = b.reshape(-1, neurons)
        bounded = b.abs().amax(0) < 1e20  # a reset that is not detached lets some neurons explode
        scale = b[:, bounded].abs().amax() if bounded.any() else 0.0
        assert ((a - b)[:, bounded].abs() <= 1e-5 * max(1.0, float(scale))).all()


@pytest.mark.parametrize("reset", RESETS)
def test_what_is_not_contiguous_or_has_one_decay_for_all_gives_the_same(reset):
    x, *_ = drawn(40, 12, torch.float32)
    want = lif(x.clone(), torch.full((12,), 0.7), reset=reset)
    for same in (x.t().contiguous().t(), torch.stack([x, x], dim=2)[..., 0]):
        assert not same.is_contiguous()
        for a, b in zip(lif(same, 0.7, reset=reset), want, strict=True):
            assert torch.equal(a, b)
    assert torch.equal(lif(x, torch.tensor(0.7), reset=reset, return_membrane=False), want[0])


@pytest.mark.parametrize("delayed", [False, True])
def test_the_last_membrane_is_where_the_next_window_goes_on(delayed):
    x, beta, threshold, initial = drawn(50, 9)
    spikes, membrane = lif(x, beta, threshold=threshold, initial=initial, delayed_reset=delayed)
    first = lif(x[:20], beta, threshold=threshold, initial=initial, delayed_reset=delayed)
    second = lif(x[20:], beta, threshold=threshold, initial=first[1][-1], delayed_reset=delayed)
    assert torch.equal(torch.cat([first[0], second[0]]), spikes)
    assert torch.equal(torch.cat([first[1], second[1]]), membrane)


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize("reset", RESETS)
def test_a_number_for_all_neurons_is_an_array_of_it(reset, delayed):
    x, _, _, initial = drawn(9, 33)
    shared = [torch.tensor(v, dtype=x.dtype) for v in (0.7, 0.9)]
    own = [v.expand(33).contiguous() for v in shared]
    own[0] = own[0] + torch.linspace(0, 1e-13, 33)  # what is not quite the same takes the other way
    kinds = {"reset": reset, "delayed_reset": delayed, "detach_reset": False}
    for of_neurons in (shared, own):
        (spikes, membrane), found = gradients(ours(**kinds), [x, *of_neurons, initial])
        (expected, level), truth = gradients(theirs(**kinds), [x, *(v.expand(33) for v in of_neurons), initial])
        assert torch.equal(spikes, expected)
        assert torch.allclose(membrane, level, atol=1e-12)
        assert torch.allclose(found[0], truth[0], atol=1e-12)
        for one, other in zip(found[1:3], truth[1:3], strict=True):
            assert torch.allclose(one.sum(), other.sum(), atol=1e-10)


@pytest.mark.parametrize("neurons", [1, 1025, 40_001])
def test_every_value_is_written_however_the_neurons_are_shared_out(neurons):
    x, beta, threshold, initial = drawn(5, neurons, torch.float32)
    out = torch.full_like(x, torch.nan), torch.full_like(x, torch.nan)
    spikes, membrane = lif(x, beta, threshold=threshold, initial=initial, out=out)
    expected = reference(x, beta, threshold, initial)
    assert torch.equal(spikes, expected[0])
    assert torch.allclose(membrane, expected[1], atol=1e-5)


def test_calls_from_several_threads_do_not_disturb_each_other():
    given = [drawn(64, 2048, seed=seed) for seed in range(8)]
    alone = [gradients(ours(), values) for values in given]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda values: gradients(ours(), values), given))
    for one, other in zip(alone, together, strict=True):
        assert all(torch.equal(a, b) for pair in zip(one, other, strict=True) for a, b in zip(*pair, strict=True))


def test_without_reset_it_is_a_first_order_filter():
    x, *_ = drawn(300, 4)
    for beta in (0.0, 0.5, 0.99):
        _, membrane = lif(x, beta, scale_input=True, reset="none")
        np.testing.assert_allclose(membrane, lfilter([1 - beta], [1, -beta], x, axis=0), atol=1e-12)


@pytest.mark.parametrize("delayed", [False, True])
def test_gradcheck_without_reset(delayed):
    """Of the membrane; the spikes are steps."""
    values = leaves(drawn(6, 3))
    scan = ours(reset="none", scale_input=True, delayed_reset=delayed)
    assert torch.autograd.gradcheck(lambda *v: scan(*v)[1], values)


@pytest.mark.parametrize("name", list(SURROGATES))
@pytest.mark.parametrize("reset", RESETS)
def test_gradcheck_of_the_reference_with_the_smooth_step_in_the_place_of_the_spike(name, reset):
    found = SURROGATES[name]
    alpha = 2.0 if name == "fast_sigmoid" else found.alpha

    def scan(*values):
        return reference(*values, reset=reset, detach_reset=False, spike=lambda above: found.step(above, alpha))

    assert torch.autograd.gradcheck(scan, leaves(drawn(5, 3, seed=3)))


@pytest.mark.parametrize("name", list(SURROGATES))
def test_the_gradient_of_a_spike_is_the_surrogates(name):
    """One step, one neuron at a time: ds/dx is the derivative of the smooth step, and it is not zero."""
    found = SURROGATES[name]
    above = torch.linspace(-0.45, 0.45, 19, dtype=torch.float64)
    x = (1 + above)[None].requires_grad_()
    lif(x, 0.5, surrogate=name, return_membrane=False).sum().backward()
    smooth = above.clone().requires_grad_()
    found.step(smooth, found.alpha).sum().backward()
    np.testing.assert_allclose(x.grad[0], smooth.grad, rtol=1e-12)
    assert (x.grad != 0).all()
    if name != "straight_through":
        far = torch.tensor([-1e6, 1e6], dtype=torch.float64)
        assert found.step(far, found.alpha) == pytest.approx([0, 1] if name != "fast_sigmoid" else [0, 0.08], abs=1e-5)


def test_it_compiles_without_a_break():
    x, beta, threshold, initial = drawn(16, 8, torch.float32)
    scan = ours(scale_input=True)
    compiled = torch.compile(scan, fullgraph=True, backend="aot_eager")
    (spikes, membrane), found = gradients(compiled, (x, beta, threshold, initial))
    (want_spikes, want_membrane), want = gradients(scan, (x, beta, threshold, initial))
    assert torch.equal(spikes, want_spikes)
    assert torch.equal(membrane, want_membrane)
    for a, b in zip(found, want, strict=True):
        torch.testing.assert_close(a, b)


def test_the_operator_is_well_formed():
    x, beta, threshold, initial = leaves(drawn(5, 3))
    torch.library.opcheck(
        torch.ops.assay.lif.default,
        (x, beta, threshold, initial, True, "subtract", False, False, "atan", 2.0, True),
        test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
    )


def test_it_writes_where_it_is_told():
    x, *_ = drawn(30, 5, torch.float32)
    spikes, membrane = torch.empty_like(x), torch.empty_like(x)
    assert lif(x, 0.9, out=(spikes, membrane))[0] is spikes
    want = lif(x, 0.9)
    assert torch.equal(spikes, want[0])
    assert torch.equal(membrane, want[1])
    assert lif(x, 0.9, return_membrane=False, out=spikes) is spikes


def test_other_floating_types_go_through_the_reference():
    x, *_ = drawn(20, 6, torch.float64)
    half = x.to(torch.bfloat16)
    spikes, _ = lif(half, 0.5)
    assert spikes.dtype == torch.bfloat16
    half.requires_grad_()
    lif(half, 0.5, return_membrane=False).sum().backward()
    assert torch.isfinite(half.grad).all()


def test_nothing_to_do_is_done():
    assert lif(torch.zeros(3, 0), 0.5)[0].shape == (3, 0)
    x = torch.zeros(3, 0, requires_grad=True)
    lif(x, 0.5)[1].sum().backward()
    assert x.grad.shape == (3, 0)


GOOD = torch.zeros(4, 3)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"x": [1, 2]}, r"x: got list; expected a floating-point tensor \(T, \.\.\.\)\."),
        ({"x": torch.zeros(3, dtype=torch.int64)}, "x: got torch.int64; expected a floating-point tensor"),
        ({"x": torch.zeros(0, 3)}, r"x: got shape \(0, 3\); expected \(T, \.\.\.\) with at least one step"),
        ({"beta": 1.5}, "beta: got 1.5; expected decays from 0 to 1"),
        ({"beta": float("nan")}, "beta: got nan; expected decays from 0 to 1"),
        ({"beta": True}, "beta: got True; expected a number or a tensor"),
        ({"beta": torch.zeros(4)}, r"beta: got shape \(4,\); expected one that broadcasts to \(3,\)"),
        ({"beta": torch.tensor([0.5, 0.5, -1])}, "beta: got -1.0 to 0.5; expected decays from 0 to 1"),
        ({"threshold": 0}, "threshold: got 0.0; expected finite numbers above 0"),
        ({"initial": torch.full((3,), torch.nan)}, "initial: got nan; expected no NaN"),
        ({"reset": "soft"}, "reset: got 'soft'; expected one of subtract, zero, none"),
        ({"surrogate": "relu"}, "surrogate: got 'relu'; expected one of atan"),
        ({"alpha": 0}, "alpha: got 0; expected a finite number above 0"),
        ({"out": torch.zeros(4, 3)}, "out: got 1 tensors; expected 2"),
        ({"out": (torch.zeros(3, 3), torch.zeros(4, 3))}, r"out: got \(3, 3\) of torch.float32; expected contiguous"),
        (
            {"x": GOOD.clone().requires_grad_(), "out": (GOOD.clone(), GOOD.clone())},
            "out: got inputs that ask for grad",
        ),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence):
    arguments = {"x": GOOD, "beta": 0.5} | arguments
    with pytest.raises(ValueError, match=f"^{sentence}"):
        lif(arguments.pop("x"), arguments.pop("beta"), **arguments)
