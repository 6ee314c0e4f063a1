"""Balancing: against its reference over tiles and settings, and where a large mean would drown the deviations."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.back_ends import back_ends
from assay.kernels import balance
from assay.kernels._balance.reference import balance_reference


def drawn(seed, height, width, dtype):
    rng = torch.Generator().manual_seed(seed)
    spread = (0.7 * torch.randn(width, generator=rng, dtype=dtype)).exp()
    return 0.02 * torch.randn(height, width, generator=rng, dtype=dtype) * spread


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(2, 70), st.sampled_from([2, 3, 16, 33]), st.integers(1, 3), st.integers(1, 3),
    st.integers(0, 9), st.booleans(), st.sampled_from([torch.float32, torch.float64]),
)  # fmt: skip
def test_it_is_the_reference(seed, rows, columns, down, across, iterations, stop, dtype):
    weight = drawn(seed, rows * down, columns * across, dtype)
    found = balance(weight, rows, columns, iterations=iterations, stop=stop)
    want = balance_reference(weight.double(), rows, columns, iterations, 0.7, 2.0, stop)
    close = {"rtol": 2e-5 if dtype is torch.float32 else 1e-10, "atol": 0.0}
    assert found.trace.shape == (down, across, iterations) and found.columns.dtype is dtype
    order = want[2].sort(2).values
    apart = iterations < 2 or bool((order[..., 1:] > order[..., :-1] * (1 + 1e-4)).all())
    if apart:  # two imbalances alike to the last digit may be told apart in either order
        for mine, other in zip(found, want, strict=True):
            torch.testing.assert_close(mine.double(), other, **close)
    scaled = (weight / found.columns.repeat_interleave(rows, 0) / found.rows.repeat_interleave(columns, 1)).double()
    tiles = scaled.unflatten(1, (across, columns)).unflatten(0, (down, rows)).permute(0, 2, 1, 3)
    both = torch.cat([tiles.std(2), tiles.std(3)], 2)
    imbalance = both.amax(2) / both.amin(2)
    if iterations:
        torch.testing.assert_close(imbalance, found.trace.double().amin(2), rtol=1e-3, atol=0.0)


@pytest.mark.parametrize("mean", [0.3, 3.0, 300.0])
def test_a_large_mean_costs_no_digits(mean):
    weight = drawn(0, 200, 64, torch.float32) + mean
    found = balance(weight, 200, 64)
    want = balance_reference(weight.double(), 200, 64, 16, 0.7, 2.0, True)
    for mine, other in zip(found, want, strict=True):
        torch.testing.assert_close(mine.double(), other, rtol=1e-4, atol=0)


def test_any_number_of_threads_gives_the_same():
    weight = drawn(1, 700, 512, torch.float32)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(balance(weight, 700, 64))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for one in found[1:] for a, b in zip(found[0], one, strict=True))


def test_other_floats_and_orders_of_memory_will_do_and_it_says_which_form_served():
    weight = drawn(2, 32, 16, torch.float32)
    with back_ends() as served:
        wanted = balance(weight, 32, 16)
    assert served == {"balance": {"cpu"}}
    for other in (weight.T.contiguous().T, weight.clone().requires_grad_()):
        assert torch.equal(balance(other, 32, 16).columns, wanted.columns)
    assert balance(weight.half(), 32, 16).columns.dtype is torch.float32


def test_constant_rows_and_columns_end():
    weight = drawn(3, 20, 16, torch.float32)
    weight[4], weight[:, 2] = 0.0, 1.0
    found = balance(weight, 20, 16)
    assert all(bool(torch.isfinite(x).all()) for x in found)


@pytest.mark.parametrize(
    ("weight", "rows", "settings", "sentence"),
    [
        (torch.zeros(4), 2, {}, r"weight: got torch.float32 of shape \(4,\); expected a matrix of floats"),
        (torch.zeros(4, 4, dtype=torch.int8), 2, {}, "weight: got torch.int8"),
        (torch.full((4, 4), float("inf")), 2, {}, "weight: holds NaN or infinite"),
        (torch.zeros(4, 4), 3, {}, "rows: got 3 for 4; expected a divisor"),
        (torch.zeros(4, 4), 1, {}, "rows: got 1 for 4"),
        (torch.zeros(4, 4), 2, {"iterations": -1}, "iterations: got -1"),
        (torch.zeros(4, 4), 2, {"clamp": (0.0, 2.0)}, "clamp: got 0.0 to 2.0"),
    ],
)
def test_what_cannot_be_balanced_is_refused(weight, rows, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        balance(weight, rows, 4, **settings)
