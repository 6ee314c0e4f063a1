"""γ̂ of sets and prefixes: its definition, its invariants, and its interval."""

import itertools

import numpy as np
import pytest
from drawn_profiles import PROFILES, WHOLE, drawn_orders
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.decisions import (
    Users,
    best_committee,
    bootstrap_stability,
    borda_order,
    bradley_terry,
    mallows_sample,
    pairwise_wins,
    positions_of,
    rank_monotone,
    ranking_of,
    sixty_forty,
    stability_curve,
    stability_ratio,
    support_of_prefixes,
    twin_profiles,
)


def by_hand(orders, members):
    """k · max over outsiders of the share of users who put the outsider above all members."""
    worst = 0
    for a in set(range(orders.shape[1])) - set(members):
        count = 0
        for order in orders.tolist():
            if a in order:
                count += not set(order[: order.index(a)]) & set(members)
        worst = max(worst, count)
    return len(members) * worst / len(orders)


@settings(max_examples=60, deadline=None)
@given(PROFILES, st.integers(0, 10**6))
def test_every_prefix_is_counted_as_the_definition_does(orders, seed):
    ranking = np.random.default_rng(seed).permutation(orders.shape[1])
    curve, blocker = stability_curve(orders, ranking)
    for k in range(1, orders.shape[1]):
        gamma, worst = stability_ratio(orders, ranking[:k])
        assert curve[k - 1] == pytest.approx(gamma, abs=1e-12) == pytest.approx(by_hand(orders, ranking[:k]), abs=1e-12)
        if gamma > 0:
            assert blocker[k - 1] not in ranking[:k] and worst not in ranking[:k]
            assert support_of_prefixes(orders, ranking)[blocker[k - 1], k - 1] * k / len(orders) == pytest.approx(gamma)


@settings(max_examples=30, deadline=None)
@given(WHOLE, st.integers(0, 10**6))
def test_names_and_doubled_users_change_nothing(orders, seed):
    m = orders.shape[1]
    rng = np.random.default_rng(seed)
    ranking, names = rng.permutation(m), rng.permutation(m).astype(np.int16)
    curve = stability_curve(orders, ranking)[0]
    np.testing.assert_allclose(stability_curve(names[orders], names[ranking])[0], curve)
    np.testing.assert_allclose(stability_curve(np.repeat(orders, 3, 0), ranking)[0], curve)
    weights = rng.integers(0, 4, len(orders))
    if weights.any():
        doubled = stability_ratio(np.repeat(orders, weights, 0), ranking[:1])[0]
        assert stability_ratio(orders, ranking[:1], weights)[0] == pytest.approx(doubled)


def test_one_mind_all_models_and_everybodys_top_leave_nobody_out():
    orders = np.tile(np.arange(7, dtype=np.int16), (50, 1))
    bt = ranking_of(bradley_terry(pairwise_wins(orders), 1e-3).theta)
    assert bt.tolist() == list(range(7)) and not stability_curve(orders, bt)[0].any()
    built = rank_monotone(Users(positions_of(orders), np.random.default_rng(0)), 0.05).ranking
    assert not stability_curve(orders, built)[0].any()
    mixed = drawn_orders(1, 30, 6)
    assert stability_ratio(mixed, np.arange(6)) == (0.0, -1)
    assert stability_ratio(mixed, np.unique(mixed[:, 0]))[0] == 0


def test_the_sixty_forty_profile_and_the_twins():
    orders = sixty_forty().expanded()
    gamma, worst = stability_ratio(orders, np.array([0, 1, 2]))
    assert gamma == pytest.approx(1.2) and worst == 5
    assert borda_order(orders)[:3].tolist() == [0, 1, 2]
    out, fair = (p.expanded() for p in twin_profiles())
    np.testing.assert_array_equal(pairwise_wins(out), pairwise_wins(fair))
    theta = bradley_terry(pairwise_wins(out), 1e-6).theta
    assert set(np.argsort(-theta)[:3]) == {0, 1, 2}
    assert stability_ratio(out, np.array([0, 1, 2]))[0] == pytest.approx(1.2)
    assert stability_ratio(fair, np.array([0, 1, 2]))[0] == 0


@settings(max_examples=20, deadline=None)
@given(WHOLE, st.integers(1, 3))
def test_no_set_is_below_the_best_committee(orders, k):
    k = min(k, orders.shape[1])
    least, own = best_committee(orders, k)
    assert stability_ratio(orders, own)[0] == pytest.approx(least)
    every = [stability_ratio(orders, np.array(s))[0] for s in itertools.combinations(range(orders.shape[1]), k)]
    assert min(every) == pytest.approx(least)
    assert least <= 16, "Jiang, Munagala and Wang: a 16-stable committee exists"


def test_too_many_committees_are_refused():
    with pytest.raises(ValueError, match="expected at most 200,000"):
        best_committee(drawn_orders(0, 5, 40), 8)


@pytest.mark.parametrize("members", [[], [0, 0], [9], [-1]])
def test_sets_that_are_none_are_refused(members):
    with pytest.raises(ValueError, match=r"members: got .*; expected different models"):
        stability_ratio(drawn_orders(0, 5, 4), np.array(members, int))


def test_the_interval_holds_what_it_is_about(rng):
    """A law with a known γ: nine in ten of 95 % intervals at least hold it, on samples of 400."""
    law = mallows_sample(np.arange(6), 0.7, 200_000, rng)
    ranking = np.array([2, 0, 1, 3, 5, 4])
    true = stability_curve(law, ranking)[0]
    held = []
    for i in range(60):
        band = bootstrap_stability(law[rng.integers(len(law), size=400)], ranking, np.random.default_rng(i), 200)
        held.append((band.low <= true) & (true <= band.high))
        assert (band.low <= band.gamma).all() and (band.gamma <= band.high).all() and (band.low >= 0).all()
    assert np.mean(held, 0).min() > 0.85
    with pytest.raises(ValueError, match="at least 20"):
        bootstrap_stability(law[:50], ranking, rng, 5)
