"""The selective scan against its reference and closed forms; gradients against autograd through the reference."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter
from torch.nn.functional import softplus

from assay.kernels import selective_scan, selective_scan_norms
from assay.kernels._selective_scan import cpu
from assay.kernels._selective_scan.reference import scan_norms_reference, selective_scan_reference

NAMES = ("u", "delta", "A", "B", "C", "D", "z", "initial_state")


@pytest.fixture
def poisoned():
    """What is allocated and not written is NaN."""
    before = torch.are_deterministic_algorithms_enabled(), torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    assert torch.empty(9).isnan().all()
    yield
    torch.use_deterministic_algorithms(before[0])
    torch.utils.deterministic.fill_uninitialized_memory = before[1]


def drawn(batch, length, channels, states, *, dtype=torch.float64, seed=0, gated=True, slow=0.1):
    """A layer's tensors: step sizes and rates spread over four decades, some steps that nearly stand still."""
    rng = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(shape, generator=rng, dtype=dtype)

    row, column = (batch, length, channels), (batch, length, states)
    rates = -torch.exp(torch.log(torch.tensor(10.0, dtype=dtype)) * normal(channels, states))
    return [
        normal(*row), softplus(2 * normal(*row) + np.log(slow)), rates, normal(*column), normal(*column),
        normal(channels), normal(*row) if gated else None, normal(batch, channels, states),
    ]  # fmt: skip


def ours(*values):
    return selective_scan(*values, return_state=True)


def gradients(scan, values, seed=1):
    values = [None if v is None else v.detach().clone().requires_grad_() for v in values]
    y, state = scan(*values)
    rng = torch.Generator().manual_seed(seed)
    weights = [torch.randn(o.shape, generator=rng).to(o.dtype) for o in (y, state)]
    loss = (y * weights[0]).sum() + (state * weights[1]).sum()
    return (y, state), torch.autograd.grad(loss, [v for v in values if v is not None])


def close(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        assert (a - b).abs().max() <= tolerance * max(1.0, float(b.detach().abs().max()))


sizes = st.tuples(
    st.sampled_from([1, 2]), st.sampled_from([1, 2, 31, 32, 33, 100]), st.sampled_from([1, 7, 16, 65, 130]),
    st.one_of(st.integers(1, 17), st.just(35)),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(sizes, st.booleans(), st.integers(0, 99))
def test_backward_is_autograd_through_the_reference(size, gated, seed):
    values = drawn(*size, gated=gated, seed=seed)
    outputs, found = gradients(ours, values)
    expected_outputs, expected = gradients(selective_scan_reference, values)
    close(outputs, expected_outputs, 1e-13)
    close(found, expected, 1e-12)


@settings(max_examples=25, deadline=None)
@given(sizes, st.booleans(), st.integers(0, 99))
def test_float32_is_as_close_to_the_truth_as_float32_allows(size, gated, seed):
    values = drawn(*size, gated=gated, seed=seed, dtype=torch.float32)
    outputs, found = gradients(ours, values)
    wide = [None if v is None else v.double() for v in values]
    expected_outputs, expected = gradients(selective_scan_reference, wide)
    close(outputs, expected_outputs, 2e-6)
    close(found, expected, 1e-5)


@pytest.mark.parametrize("gated", [False, True])
def test_every_value_is_written(poisoned, gated):
    values = drawn(2, 70, 67, 5, gated=gated)
    outputs, found = gradients(ours, values)
    expected_outputs, expected = gradients(selective_scan_reference, values)
    close(outputs, expected_outputs, 1e-13)
    close(found, expected, 1e-12)
    assert all(torch.isfinite(part).all() for part in selective_scan_norms(*values))
    y, state = torch.full_like(values[0], torch.nan), torch.full_like(values[-1], torch.nan)
    cpu.forward(*values, y, state)
    assert torch.equal(y, outputs[0])
    assert torch.equal(state, outputs[1])


@pytest.mark.parametrize("gated", [False, True])
def test_gradcheck(gated):
    values = [v if v is None else v.requires_grad_() for v in drawn(2, 5, 3, 2, gated=gated, slow=1)]
    assert torch.autograd.gradcheck(ours, values)


def test_a_gradient_of_one_output_alone_and_for_one_input_alone():
    values = drawn(1, 40, 9, 3)
    for index, name in enumerate(NAMES):
        for output in (0, 1):
            leaves = [v.clone().requires_grad_(i == index) for i, v in enumerate(values)]
            found = ours(*leaves)[output].sum()
            want = selective_scan_reference(*leaves)[output].sum()
            if not want.requires_grad or (output == 1 and name in "CDz"):  # the state knows nothing of outputs
                continue
            close(*([torch.autograd.grad(o, leaves[index])[0]] for o in (found, want)), 1e-12)


def test_what_is_not_contiguous_gives_the_same():
    values = drawn(2, 20, 6, 4)
    want = gradients(ours, values)

    def strided(v):
        wider = torch.stack([v, torch.full_like(v, torch.nan)], -1)[..., 0]
        return wider.transpose(0, -1).contiguous().transpose(0, -1)

    same = [strided(v) if v.dim() > 1 else v for v in values]
    assert not any(v.is_contiguous() for v in same if v.dim() > 1)
    y, state = ours(*same)
    assert torch.equal(y, want[0][0])
    assert torch.equal(state, want[0][1])
    leaves = [v.detach().requires_grad_() for v in same]
    spread = torch.ones((), dtype=y.dtype).expand(y.shape)  # a gradient without memory of its own
    found = torch.autograd.grad(ours(*leaves)[0], leaves, spread)
    plain = [v.clone().requires_grad_() for v in values]
    close(found, torch.autograd.grad(selective_scan_reference(*plain)[0].sum(), plain, materialize_grads=True), 1e-12)


@pytest.mark.parametrize("at", [1, 32, 69])
def test_the_last_state_is_where_the_next_window_goes_on(at):
    u, delta, A, B, C, D, z, start = drawn(2, 70, 9, 3)
    y, state = selective_scan(u, delta, A, B, C, D, z, start, return_state=True)
    first, between = selective_scan(
        u[:, :at], delta[:, :at], A, B[:, :at], C[:, :at], D, z[:, :at], start, return_state=True
    )
    second, last = selective_scan(
        u[:, at:], delta[:, at:], A, B[:, at:], C[:, at:], D, z[:, at:], between, return_state=True
    )
    assert torch.allclose(torch.cat([first, second], 1), y, rtol=0, atol=1e-14)
    assert torch.allclose(last, state, rtol=0, atol=1e-14)


def test_what_is_left_out_is_zero_and_no_gate():
    u, delta, A, B, C, *_ = drawn(2, 9, 5, 3)
    zeros = torch.zeros(5, dtype=u.dtype), torch.zeros(2, 5, 3, dtype=u.dtype)
    assert torch.equal(selective_scan(u, delta, A, B, C), selective_scan(u, delta, A, B, C, zeros[0], None, zeros[1]))


def test_with_constant_steps_it_is_a_sum_of_first_order_filters():
    u, _, A, B, C, D, _, _ = drawn(1, 200, 4, 3, seed=3)
    A, B, C = A.clamp(min=-20), B[:, :1].expand_as(B), C[:, :1].expand_as(C)
    pace = 0.03
    y = selective_scan(u, torch.full_like(u, pace), A, B, C, D)
    for d in range(4):
        want = D[d].item() * u[0, :, d].numpy()
        for n in range(3):
            gain = pace * (B[0, 0, n] * C[0, 0, n]).item()
            want = want + lfilter([gain], [1, -np.exp(pace * A[d, n].item())], u[0, :, d].numpy())
        np.testing.assert_allclose(y[0, :, d], want, rtol=0, atol=1e-12)


def test_a_constant_drive_ends_at_the_bound_of_eulers_rule():
    """h = v delta / (1 - exp(-delta a)), which no input of that size can pass."""
    a = torch.tensor([[0.5, 2.0, 40.0]], dtype=torch.float64)
    ones, pace, size = torch.ones(1, 400, 1, dtype=torch.float64), 0.2, 1.7
    column = torch.ones(1, 400, 3, dtype=torch.float64)
    found = selective_scan_norms(size * ones, pace * ones, -a, column, column)
    np.testing.assert_allclose(found.peak[0], size * pace / -torch.expm1(-pace * a), rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(sizes, st.sampled_from(["2", "inf"]), st.integers(0, 99))
def test_norms_are_those_of_the_trajectory(size, order, seed):
    values = drawn(*size, seed=seed)
    found = selective_scan_norms(*values, order=order)
    y, state = ours(*values)
    peak, norm = scan_norms_reference(*values[:4], values[-1], order == "inf")
    close(found[:4], (y, state, peak, norm), 1e-13)
    decay = torch.exp(values[1][..., None] * values[2]).amax(-1)
    torch.testing.assert_close(found.contraction, decay, rtol=1e-12, atol=0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 999), st.sampled_from([0.001, 0.1, 3.0]))
def test_no_state_passes_the_bound_of_a_sampled_system(seed, slow):
    """|h| <= |h_0| + sup|B u| rho(delta_max a) / a, rho(x) = x / (1 - exp(-x)), whatever the steps are."""
    values = drawn(2, 60, 5, 4, seed=seed, slow=slow)
    u, delta, A, B, *_, start = values
    top = selective_scan_norms(*values).peak
    v = torch.einsum("btn,btd->btdn", B, u).abs().amax(1)
    x = delta.amax(1)[..., None] * -A
    assert (top <= (start.abs() + v * x / -torch.expm1(-x) / -A) * (1 + 1e-9)).all()


def test_a_channel_shrinks_by_the_contraction_when_nothing_drives_it():
    values = drawn(2, 30, 6, 5)
    values[0] = torch.zeros_like(values[0])
    found = selective_scan_norms(*values)
    before = torch.cat([values[-1].norm(dim=-1)[:, None], found.norm[:, :-1]], 1)
    assert (found.norm <= found.contraction * before * (1 + 1e-12)).all()


@pytest.mark.parametrize("order", ["2", "inf"])
def test_a_nan_shows(order):
    values = drawn(1, 20, 3, 4)
    values[2][1, 2] = torch.nan
    found = selective_scan_norms(*values, order=order)
    assert found.y[:, :, 1].isnan().all() and found.norm[:, :, 1].isnan().all()
    assert found.peak.isnan().sum() == 1 and found.peak[0, 1, 2].isnan()
    assert not found.norm[:, :, [0, 2]].isnan().any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_do_not_depend_on_threads(dtype):
    values = drawn(3, 40, 300, 6, dtype=dtype)
    found, threads = [], torch.get_num_threads()
    try:
        for number in (1, 2, 5):
            torch.set_num_threads(number)
            found.append(gradients(ours, values))
    finally:
        torch.set_num_threads(threads)
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(one, same, strict=True))


def test_calls_from_several_threads_do_not_disturb_each_other():
    given = [drawn(2, 64, 130, 8, seed=seed) for seed in range(8)]
    alone = [gradients(ours, values) for values in given]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda values: gradients(ours, values), given))
    for one, other in zip(alone, together, strict=True):
        assert all(torch.equal(a, b) for pair in zip(one, other, strict=True) for a, b in zip(*pair, strict=True))


def test_extreme_rates_neither_overflow_nor_turn_into_nan():
    u, delta, A, B, C, D, z, start = drawn(1, 50, 20, 4, dtype=torch.float32)
    A = A * 1e30
    z = 1e4 * z
    (y, _), found = gradients(ours, [u, delta, A, B, C, D, z, start])
    assert torch.isfinite(y).all()
    assert all(torch.isfinite(g).all() for g in found)


def test_half_precision_is_computed_in_float32():
    values = drawn(2, 40, 5, 3, dtype=torch.bfloat16)
    leaves = [v.clone().requires_grad_() for v in values]
    y, state = ours(*leaves)
    assert y.dtype == state.dtype == torch.bfloat16
    want = ours(*(v.float() for v in values))
    assert torch.equal(y, want[0].bfloat16())
    y.sum().backward()
    assert all(v.grad.dtype == torch.bfloat16 and v.grad.isfinite().all() for v in leaves)


def test_nothing_to_do_is_done():
    for batch, channels in ((0, 3), (2, 0)):
        values = [v.requires_grad_() for v in drawn(batch, 4, channels, 2)]
        y, state = ours(*values)
        (y.sum() + state.sum()).backward()
        assert y.shape == (batch, 4, channels)
        assert all(v.grad.shape == v.shape for v in values)
        assert selective_scan_norms(*values).peak.shape == (batch, channels, 2)


def test_without_gradients_nothing_is_kept():
    values = drawn(1, 70, 5, 3)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        ours(*values)
        assert not kept
        leaves = [v.clone().requires_grad_() for v in values]
        ours(*leaves)
    assert sum(v.numel() for v in kept) < sum(v.numel() for v in values) + values[0].numel()


@pytest.mark.slow
def test_no_trajectory_is_in_memory_on_the_way_there_or_back():
    """The benchmark's measure: an input of 4096 steps is 8 MiB, a trajectory of its states 128 MiB."""
    script = Path(__file__).parents[2] / "benchmarks" / "selective_scan.py"
    done = subprocess.run(
        [sys.executable, str(script), "assay", "4096"],
        cwd=script.parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert 24 < float(done.stdout) < 60  # outputs, gradients and kept states


def test_the_operators_are_well_formed():
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    for gated in (False, True):
        values = [v if v is None else v.requires_grad_() for v in drawn(2, 5, 3, 2, gated=gated)]
        torch.library.opcheck(torch.ops.assay.selective_scan.default, (*values, True), test_utils=tests)
        plain = [v if v is None else v.detach() for v in values]
        torch.library.opcheck(torch.ops.assay.selective_scan_norms.default, (*plain, False), test_utils=tests[:3])


GOOD = dict(zip(NAMES, drawn(2, 4, 3, 5), strict=True))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"u": [1, 2]}, r"u: got list; expected a floating-point tensor \(batch, length, channels\)\."),
        ({"u": torch.zeros(2, 4, 3, dtype=torch.int64)}, "u: got torch.int64; expected a floating-point tensor"),
        ({"u": torch.zeros(4, 3)}, r"u: got shape \(4, 3\); expected \(batch, length, channels\) with at least one"),
        ({"u": torch.zeros(2, 0, 3)}, r"u: got shape \(2, 0, 3\); expected \(batch, length, channels\) with at least"),
        ({"A": GOOD["A"].t()}, r"A: got shape \(5, 3\); expected a tensor \(3, states\) with at least one state\."),
        ({"A": GOOD["A"][:, :0]}, r"A: got shape \(3, 0\); expected a tensor \(3, states\)"),
        ({"A": -1.0}, r"A: got float; expected a tensor \(3, states\)"),
        ({"delta": GOOD["delta"][:, :1]}, r"delta: got shape \(2, 1, 3\); expected a tensor \(2, 4, 3\)\."),
        ({"B": GOOD["B"][..., :4]}, r"B: got shape \(2, 4, 4\); expected a tensor \(2, 4, 5\)\."),
        ({"C": None}, r"C: got NoneType; expected a tensor \(2, 4, 5\)\."),
        ({"D": GOOD["D"][:1]}, r"D: got shape \(1,\); expected a tensor \(3,\)\."),
        ({"z": GOOD["z"][0]}, r"z: got shape \(4, 3\); expected a tensor \(2, 4, 3\)\."),
        ({"initial_state": GOOD["C"]}, r"initial_state: got shape \(2, 4, 5\); expected a tensor \(2, 3, 5\)\."),
        ({"A": GOOD["A"].float()}, r"A: got torch.float32 on cpu; expected torch.float64 on cpu as u is\."),
        ({"z": GOOD["z"].to("meta")}, r"z: got torch.float64 on meta; expected torch.float64 on cpu as u is\."),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence):
    for scan in (selective_scan, selective_scan_norms):
        with pytest.raises(ValueError, match=f"^{sentence}"):
            scan(**(GOOD | arguments))


def test_an_unknown_norm_gets_a_sentence():
    with pytest.raises(ValueError, match=r"^order: got '1'; expected '2' or 'inf'\.$"):
        selective_scan_norms(**GOOD, order="1")
