"""Algorithms 1 to 3: their guarantee, their limits, the count of questions, and what satisfied means."""

import itertools
import math

import numpy as np
import pytest
from drawn_profiles import drawn_orders
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.decisions import (
    Budget,
    Users,
    best_committee,
    checkpoint_factor,
    mallows_mixture,
    paper_schedule,
    positions_of,
    random_centres,
    rank_checkpoints,
    rank_monotone,
    select_committee,
    sixty_forty,
    stability_curve,
    stability_ratio,
    theoretical_factor,
)

SMALL = Budget(rounds=10, round_users=20, draws=8, eval_users=30)


def crowd(seed, m=10, factions=4, phi=0.5, n=1500):
    rng = np.random.default_rng(seed)
    return mallows_mixture(random_centres(factions, m, rng), phi, np.ones(factions), n, rng)[0]


def users_of(orders, seed=0):
    return Users(positions_of(orders), np.random.default_rng(seed))


def test_the_factor_is_what_the_paper_gives():
    assert theoretical_factor(0.01) == pytest.approx(18.9704, abs=5e-5)
    assert theoretical_factor(0.05) == pytest.approx(39.2)
    assert theoretical_factor(0) == 16
    for bad in (-0.1, 0.125, math.nan):
        with pytest.raises(ValueError, match="eps: got"):
            theoretical_factor(bad)


@given(st.floats(0, 0.12))
def test_the_factor_is_the_sum_over_rounds(eps):
    alpha, beta = 0.5 + 4 * eps, 0.25 + 2 * eps
    rounds = np.arange(4000)
    total = (((beta + 2 * eps) / alpha) ** rounds).sum() * (1 + eps) / ((beta - 2 * eps) * (1 - alpha))
    assert theoretical_factor(eps) == pytest.approx(total, rel=1e-6)


@given(st.integers(1, 200), st.floats(0.005, 0.1))
def test_the_schedule_is_the_papers(k, eps):
    sizes = paper_schedule(k, eps)
    alpha = 0.5 + 4 * eps
    assert len(sizes) == math.ceil(10 * math.log(k / eps))
    assert sizes[0] == max(1, math.floor((1 - alpha) * k)) and min(sizes) >= 1
    assert all(a >= b for a, b in itertools.pairwise(sizes))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 10), st.sampled_from(["greedy", "again"]))
def test_a_committee_has_its_seats_and_is_within_the_guarantee(seed, k, rest):
    orders = crowd(seed)
    users = users_of(orders, seed)
    found = select_committee(users, k, 0.05, budget=Budget(**(vars(SMALL) | {"rest": rest})))
    assert len(set(found.members)) == len(found.members) == k
    gamma = stability_ratio(orders, np.array(found.members))[0]
    assert best_committee(orders, k)[0] - 1e-12 <= gamma <= theoretical_factor(0.05)
    assert found.trace[0].found == 1 and set(found.trace[0].added) <= set(found.members)


def test_satisfied_is_a_rank_and_not_a_favourite():
    """A faction of 30 % with another favourite is satisfied by the first set once that is as good as enough of Δ."""
    orders = np.repeat(np.array([[0, 1, 2, 3, 4], [1, 0, 2, 3, 4]], np.int16), [70, 30], axis=0)
    found = select_committee(users_of(orders), 1, 0.05)
    second = select_committee(users_of(orders, 1), 2, 0.05)
    missed = second.trace[0].unsatisfied
    assert found.members == (0,) and second.members[0] == 0
    assert missed[:70].max() < 1e-9, "who has her favourite is never unsatisfied"
    held = float(second.trace[0].lottery.p[(second.trace[0].lottery.sets != 1).all(1)].sum())
    assert (missed[70:].mean() < 0.5) == (held > 0.3), "the others are as soon as 0.3 of the lottery is no better"


def test_questions_are_the_sizes_of_what_is_compared():
    """One round, nobody to reject: 30 sets of the oracle at |S| + 1, m to weigh all models, 2 |S| a draw of a rank."""
    orders = crowd(3, m=12)
    users = users_of(orders)
    budget = Budget(rounds=4, round_users=25, draws=30, eval_users=50, rank_draws=20)
    found = select_committee(users, 1, 0.05, budget=budget)
    counts, many = np.unique(users.counts, return_counts=True)
    asked = dict(zip(counts.tolist(), many.tolist(), strict=True))
    sets = len(found.trace[0].lottery.sets)
    assert asked == {30 * 2 + 12: 100, 20 * 2: 50 * sets}


def test_later_rounds_ask_those_whom_earlier_ones_left():
    """0.4 of the users put y first; when others are chosen first, they come back until y is in."""
    orders = np.repeat(sixty_forty().expanded(), 40, 0)
    found = select_committee(users_of(orders), 3, 0.05)
    assert 5 in found.members and stability_ratio(orders, np.array(found.members))[0] <= 1
    later = [one.found for one in found.trace[1:]]
    assert all(0 < share < 1 for share in later)


@pytest.mark.parametrize("lam", [1.5, 2.0, 3.0])
def test_algorithm_2_loses_no_more_than_its_factor(lam):
    for seed in range(4):
        orders = crowd(seed, m=16)
        board = rank_checkpoints(users_of(orders, seed), lam, 0.05, SMALL)
        assert sorted(board.ranking.tolist()) == list(range(16))
        largest = max(stability_ratio(orders, np.array(c.members))[0] for c in board.committees if len(c.members) < 16)
        factor = checkpoint_factor(lam) if lam == int(lam) else checkpoint_factor(lam) * 1.5  # ⌊λ^r⌋ loses some
        assert stability_curve(orders, board.ranking)[0].max() <= factor * largest + 1e-9


def test_algorithm_2_is_its_committees_one_below_the_other():
    board = rank_checkpoints(users_of(crowd(1, m=16)), 2.0, 0.05, SMALL)
    assert [len(c.members) for c in board.committees] == [1, 2, 4, 8]
    order = list(dict.fromkeys(a for c in board.committees for a in c.members))
    assert board.ranking[: len(order)].tolist() == order
    with pytest.raises(ValueError, match="lam: got 1; expected more than 1"):
        checkpoint_factor(1)
    assert checkpoint_factor(2) == 4 and min(checkpoint_factor(x) for x in np.linspace(1.1, 4, 300)) >= 4


def test_algorithm_3_is_one_run_in_order_of_addition():
    orders = crowd(2, m=12)
    board = rank_monotone(users_of(orders, 7), 0.05, SMALL)
    again = rank_monotone(users_of(orders, 7), 0.05, SMALL)
    assert board.ranking.tolist() == again.ranking.tolist() == list(board.committees[0].members)
    assert 1 <= board.chosen <= 12 and sorted(board.ranking.tolist()) == list(range(12))
    every = rank_monotone(users_of(orders, 7), 0.05, Budget(**(vars(SMALL) | {"rest": "again"})))
    assert len(every.committees[0].trace) >= 12, "each pass chooses anew, so rounds choose every place"


def test_names_do_not_matter():
    """Only draws depend on names: on a profile of one mind, any names give the renamed order."""
    names = np.array([3, 1, 4, 0, 2], np.int16)
    orders = np.tile(names, (60, 1))
    assert rank_monotone(users_of(orders), 0.05, SMALL).ranking[0] == 3


def test_what_cannot_be_asked_is_refused():
    users = users_of(drawn_orders(0, 20, 5))
    with pytest.raises(ValueError, match="k: got 6; expected 1 to 5 seats"):
        select_committee(users, 6, 0.05)
    with pytest.raises(ValueError, match=r"eps: got 0.2"):
        select_committee(users, 2, 0.2)
    with pytest.raises(ValueError, match="rest: got 'none'"):
        select_committee(users, 2, 0.05, budget=Budget(rest="none"))
    with pytest.raises(ValueError, match="positions: got shape"):
        Users(np.zeros((0, 3)), np.random.default_rng(0))
