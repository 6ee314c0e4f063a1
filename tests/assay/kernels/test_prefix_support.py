"""The count of supporters: against its reference and a count by hand, over sizes, weights, threads and bad input."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.back_ends import back_ends
from assay.kernels import prefix_support
from assay.kernels._prefix_support.reference import prefix_support_reference


def drawn(seed, n, m, partial=False):
    rng = np.random.default_rng(seed)
    orders = np.argsort(rng.random((n, m)), 1).astype(np.int16)
    if partial and m > 1:
        orders[np.arange(m) >= rng.integers(0, m + 1, n)[:, None]] = -1
    return torch.from_numpy(orders), torch.from_numpy(rng.permutation(m))


def place_of(ranking):
    place = torch.empty(len(ranking), dtype=torch.int32)
    place[ranking] = torch.arange(1, len(ranking) + 1, dtype=torch.int32)
    return place


def by_hand(orders, ranking):
    m = len(ranking)
    counts = torch.zeros((m, m), dtype=torch.int64)
    for order in orders.tolist():
        own = [a for a in order if a >= 0]
        for k in range(1, m + 1):
            top = set(ranking[:k].tolist())
            for p, a in enumerate(own):
                counts[a, k - 1] += not top & set(own[: p + 1])
    return counts


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 30), st.integers(1, 9), st.booleans())
def test_it_is_the_count_by_hand(seed, n, m, partial):
    orders, ranking = drawn(seed, n, m, partial)
    found = prefix_support(orders, ranking)
    assert found.dtype is torch.int64
    assert torch.equal(found, by_hand(orders, ranking))
    assert torch.equal(found, prefix_support_reference(orders, place_of(ranking), None)[:, :, 0])
    assert not found[:, -1].any(), "nobody prefers a model to all of them"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(2, 7), st.sampled_from([1, 3, 64, 65, 130]))
def test_weights_count_users_as_often_as_they_say(seed, n, m, columns):
    orders, ranking = drawn(seed, n, m, True)
    weights = torch.from_numpy(np.random.default_rng(seed).integers(0, 5, (n, columns)))
    found = prefix_support(orders, ranking, weights)
    assert torch.equal(found, prefix_support_reference(orders, place_of(ranking), weights))
    for b in (0, columns - 1):
        assert torch.equal(found[:, :, b], prefix_support(orders.repeat_interleave(weights[:, b], 0), ranking))


@pytest.mark.parametrize(("n", "m"), [(4001, 33), (701, 200)])
def test_any_number_of_threads_gives_the_same(n, m):
    orders, ranking = drawn(1, n, m)
    weights = torch.from_numpy(np.random.default_rng(2).integers(0, 3, (n, 5)))
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append((prefix_support(orders, ranking), prefix_support(orders, ranking, weights)))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for one in found[1:] for a, b in zip(found[0], one, strict=True))


def test_any_whole_numbers_will_do_and_it_says_which_form_served():
    orders, ranking = drawn(3, 50, 6)
    with back_ends() as served:
        wanted = prefix_support(orders, ranking)
    assert served == {"prefix_support": {"cpu"}}
    for dtype in (torch.int8, torch.uint8, torch.int32, torch.int64):
        assert torch.equal(prefix_support(orders.to(dtype), ranking), wanted)
    assert torch.equal(prefix_support(orders.T.contiguous().T, ranking), wanted), "columns first in memory"


@pytest.mark.parametrize(
    ("orders", "ranking", "weights", "sentence"),
    [
        (torch.zeros(3, 2), torch.arange(2), None, "orders: got torch.float32; expected a tensor of whole numbers"),
        ([[0, 1]], torch.arange(2), None, "orders: got list; expected a tensor of whole numbers"),
        (torch.zeros(3, dtype=torch.int16), torch.arange(2), None, r"orders: got shape \(3,\); expected \(users, mod"),
        (torch.tensor([[0, 1]]), torch.tensor([0, 0]), None, "ranking: got .*; expected each of 0 to 1 once"),
        (torch.tensor([[0, 1]]), torch.arange(3), None, "ranking: got .*; expected each of 0 to 1 once"),
        (torch.tensor([[0, 1]]), torch.arange(2), torch.ones(2, 1, dtype=torch.int32), r"weights: got shape \(2, 1\)"),
        (torch.tensor([[0, 70000]]), torch.arange(2), None, "orders: got the model 70000; expected −1 to 1"),
        (torch.tensor([[0, 1], [2, 0]], dtype=torch.int16), torch.tensor([1, 0]), None, "orders: user 2 names a model"),
    ],
)
def test_what_is_no_profile_is_refused(orders, ranking, weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        prefix_support(orders, ranking, weights)
