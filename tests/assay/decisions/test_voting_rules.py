"""Older rules: by hand on small profiles, and what each is known for."""

import numpy as np
import pytest
from drawn_profiles import WHOLE, drawn_orders
from hypothesis import given, settings

from assay.decisions import (
    alternative_vote_order,
    borda_order,
    borda_scores,
    coverage_order,
    find_factions,
    group_tops_order,
    mallows_mixture,
    phragmen_order,
    plurality_order,
    positions_of,
    stability_ratio,
)

RULES = [
    borda_order, plurality_order, alternative_vote_order, coverage_order, lambda o: phragmen_order(o, 2),
    lambda o: group_tops_order(o, np.arange(len(o)) % 2),
]  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(WHOLE)
def test_every_rule_orders_all_models_and_agrees_with_one_mind(orders):
    m = orders.shape[1]
    for rule in RULES:
        assert sorted(rule(orders).tolist()) == list(range(m))
    one = np.tile(orders[:1], (20, 1))
    for rule in (RULES[0], RULES[3], RULES[5]):
        assert rule(one).tolist() == one[0].tolist()
    assert plurality_order(one)[0] == alternative_vote_order(one)[0] == one[0, 0]


def test_borda_and_plurality_by_hand():
    orders = np.array([[0, 1, 2]] * 4 + [[1, 2, 0]] * 3 + [[2, 1, 0]] * 2, np.int16)
    assert borda_scores(orders) * 9 == pytest.approx([8, 12, 7])
    assert borda_order(orders).tolist() == [1, 0, 2] and plurality_order(orders).tolist() == [0, 1, 2]
    assert alternative_vote_order(orders).tolist() == [1, 0, 2], "2 goes first, its votes go to 1"
    partial = np.array([[0, -1, -1], [1, 0, -1]], np.int16)
    assert borda_scores(partial) == pytest.approx([(2 + 1) / 2, (0.5 + 2) / 2, (0.5 + 0) / 2])


@settings(max_examples=20, deadline=None)
@given(WHOLE)
def test_coverage_takes_the_model_that_raises_the_best_scores_most(orders):
    m = orders.shape[1]
    scores = m - positions_of(orders).astype(int)
    order = coverage_order(orders).tolist()

    def covered(chosen):
        return scores[:, chosen].max(1).sum()

    for k in range(1, m):
        best = max(covered([*order[: k - 1], a]) for a in set(range(m)) - set(order[: k - 1]))
        assert covered(order[:k]) == best


def test_phragmen_is_the_textbooks():
    """Two thirds approve of 0, 1 and one third of 3, 4: of three seats the smaller group gets one."""
    orders = np.array([[0, 1, 2, 3, 4]] * 6 + [[3, 4, 0, 1, 2]] * 3, np.int16)
    found = phragmen_order(orders, 2).tolist()
    assert found[0] in (0, 1) and sum(a in (3, 4) for a in found[:3]) == 1
    whole = phragmen_order(np.array([[0, 1]] * 6 + [[1, 0]] * 3, np.int16), 1).tolist()
    assert whole == [0, 1]


def test_groups_take_turns_by_size():
    orders = np.array([[0, 1, 2, 3, 4, 5]] * 6 + [[5, 4, 3, 2, 1, 0]] * 3, np.int16)
    faction = np.array([0] * 6 + [1] * 3)
    assert group_tops_order(orders, faction)[:4].tolist() == [0, 1, 5, 2]
    assert stability_ratio(orders, group_tops_order(orders, faction)[:3])[0] == 0


def test_factions_that_are_there_are_found(rng):
    centres = np.stack([np.arange(10), np.arange(10)[::-1], np.r_[5:10, 0:5]])
    orders, faction = mallows_mixture(centres, 0.3, np.array([0.5, 0.3, 0.2]), 900, rng)
    found = find_factions(orders, 3, rng)
    agree = np.array([[np.mean(found[faction == g] == h) for h in range(3)] for g in range(3)])
    assert (agree.max(1) > 0.95).all() and (np.diff(np.bincount(found)) <= 0).all()
    assert not find_factions(np.tile(orders[:1], (9, 1)), 4, rng).any(), "one order makes one group"
    assert len(np.unique(find_factions(drawn_orders(1, 5, 4), 12, rng))) <= 5
