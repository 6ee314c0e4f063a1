"""Stable lotteries: the exact one by a linear programme, the solver near it, and the law of k + 1 draws behind both."""

import itertools

import numpy as np
import pytest
from drawn_profiles import WHOLE, drawn_orders
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.decisions import (
    Lottery,
    committee_rank,
    exact_lottery,
    lottery_value,
    mallows_mixture,
    positions_of,
    random_centres,
    stable_lottery,
)


@settings(max_examples=25, deadline=None)
@given(WHOLE, st.integers(1, 3))
def test_the_exact_lottery_is_within_one_over_k_plus_1(orders, k):
    k = min(k, orders.shape[1] - 1)
    lottery, value = exact_lottery(orders, k)
    assert value <= 1 / (k + 1) + 1e-9
    assert lottery_value(orders, lottery).max() == pytest.approx(value, abs=1e-7)
    assert lottery.p.sum() == pytest.approx(1)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_solver_is_within_one_plus_eps_over_k(k):
    """The bound that Algorithm 1 uses at ε = 0.1, with enough rounds and users."""
    rng = np.random.default_rng(k)
    orders, _ = mallows_mixture(random_centres(4, 8, rng), 0.5, np.ones(4), 200, rng)
    positions = positions_of(orders)
    lottery = stable_lottery(
        lambda n: positions[rng.integers(200, size=n)], k, rng, rounds=150, round_users=200, draws=30
    )
    assert lottery_value(orders, lottery).max() <= 1.1 / k
    exact, value = exact_lottery(orders, k)
    assert value - 1e-9 <= lottery_value(orders, lottery).max()
    assert len(lottery.sets) <= 150 and lottery.p.sum() == pytest.approx(1)
    assert exact.sets.shape[1] == k


@pytest.mark.parametrize("k", [1, 2, 4])
def test_of_k_plus_1_draws_each_is_best_equally_often(k):
    """Without ties Pr[a ~ p beats k draws from p] is 1/(k + 1); on p with atoms, ties only lower it. By all draws."""
    p = np.array([0.4, 0.3, 0.2, 0.1])
    strictly = best = 0.0
    for drawn in itertools.product(range(4), repeat=k + 1):
        chance = np.prod(p[list(drawn)])
        strictly += chance * (drawn[0] < min(drawn[1:]))
        best += (
            chance * (drawn[0] <= min(drawn[1:])) / sum(d == drawn[0] for d in drawn) if min(drawn) == drawn[0] else 0
        )
    assert strictly < 1 / (k + 1) and best == pytest.approx(1 / (k + 1))
    rng = np.random.default_rng(0)
    u = rng.random((200_000, k + 1))
    assert (u[:, 0] < u[:, 1:].min(1)).mean() == pytest.approx(1 / (k + 1), abs=4e-3)


def test_the_rank_of_a_set_is_the_share_it_is_as_good_as():
    orders = drawn_orders(5, 30, 6)
    positions = positions_of(orders)
    lottery = Lottery(np.array([[0, 1], [2, 3], [4, 4]]), np.array([0.5, 0.3, 0.2]))
    members = np.array([1, 5])
    for user, rank in zip(positions, committee_rank(positions, members, lottery), strict=True):
        expected = sum(
            p * (min(user[1], user[5]) <= min(user[s])) for s, p in zip(lottery.sets, lottery.p, strict=True)
        )
        assert rank == pytest.approx(expected)
    assert committee_rank(positions, np.arange(6), lottery) == pytest.approx(1.0)


def test_numbers_below_one_and_too_many_sets_are_refused(rng):
    for name in ("k", "rounds", "round_users", "draws"):
        given = {"k": 1, "rounds": 1, "round_users": 1, "draws": 1} | {name: 0}
        with pytest.raises(ValueError, match=f"{name}: got 0"):
            stable_lottery(lambda n: np.zeros((n, 3), np.int16), given.pop("k"), rng, **given)
    with pytest.raises(ValueError, match="expected at most 5,000"):
        exact_lottery(drawn_orders(0, 3, 20), 5)
