"""Ballots: what is checked, positions and ties, halves, and near-duplicates that become one."""

import numpy as np
import pytest
from drawn_profiles import PROFILES, drawn_orders
from hypothesis import given, settings

from assay.data import InputError
from assay.decisions import ballots_of, merge_clones, orders_of_scores, positions_of, stability_ratio

NAMES = ("a", "b", "c", "d")


@settings(max_examples=30, deadline=None)
@given(PROFILES)
def test_positions_are_where_models_stand_and_unranked_ones_are_last(orders):
    positions = positions_of(orders)
    m = orders.shape[1]
    for order, own in zip(orders.tolist(), positions, strict=True):
        assert own.tolist() == [order.index(a) if a in order else m for a in range(m)]


@pytest.mark.parametrize(
    ("orders", "sentence"),
    [
        ([[0, 1, 1, 2]], "user 1 ranks b twice; expected every model at most once"),
        ([[0, 1, 2, 3], [0, -1, 2, 3]], "user 2 has a gap; expected −1 after the last"),
        ([[0, 1, 2, 4]], "got the model 4; expected 0 to 3"),
        ([[0, 1, 2, -2]], "got the model -2"),
        ([[0.0, 1.0, 2.0, 3.0]], "got float64"),
        ([[0, 1, 2]], r"expected whole numbers \(users, 4\)"),
        (np.zeros((0, 4), int), r"expected whole numbers \(users, 4\)"),
    ],
)
def test_orders_that_are_none_are_refused(orders, sentence):
    with pytest.raises(InputError, match=sentence):
        ballots_of(NAMES, np.array(orders))


def test_names_and_factions_are_checked():
    with pytest.raises(InputError, match="models: got 1 different names of 2"):
        ballots_of(("a", "a"), np.array([[0, 1]]))
    with pytest.raises(InputError, match="faction: got shape"):
        ballots_of(NAMES, np.array([[0, 1, 2, 3]]), faction=[3], factions=("x", "y"))


def test_halves_share_nobody_and_arrays_cannot_be_written(rng):
    given_orders = drawn_orders(1, 21, 4)
    given_orders[:, 0].flags.writeable = True
    ballots = ballots_of(NAMES, given_orders, faction=np.arange(21) % 3, factions=("x", "y", "z"))
    first, second = ballots.halves(rng)
    assert (len(first), len(second)) == (10, 11)
    both = np.vstack([np.c_[h.orders, h.faction] for h in (first, second)])
    assert sorted(map(tuple, both.tolist())) == sorted(map(tuple, np.c_[given_orders, np.arange(21) % 3].tolist()))
    with pytest.raises(ValueError, match="read-only"):
        ballots.orders[0, 0] = 1
    given_orders[0, 0] = given_orders[0, 0]
    with pytest.raises(InputError, match="users: got 3; expected at least 4"):
        ballots.take([0, 1, 2]).halves(rng)


def test_scores_become_orders_and_ties_are_broken_evenly(rng):
    orders, tied = orders_of_scores(np.tile([2.0, 5.0, 2.0, 1.0], (4000, 1)), rng)
    assert (orders[:, 0] == 1).all() and (orders[:, 3] == 3).all() and tied == pytest.approx(1 / 6)
    assert np.mean(orders[:, 1] == 0) == pytest.approx(0.5, abs=0.04)
    assert orders_of_scores(np.ones((5, 3)), rng)[1] == 1.0


def test_clones_split_support_until_they_are_one():
    """45 % like c1 and c2 alike: neither has 45 % against the top two others, together they do."""
    orders = np.array([[0, 1, 2, 3]] * 55 + [[2, 3, 0, 1]] * 23 + [[3, 2, 0, 1]] * 22, np.int16)
    ballots = ballots_of(("x", "y", "c1", "c2"), orders)
    assert stability_ratio(orders, np.array([0, 1]))[0] == pytest.approx(0.9)
    merged = merge_clones(ballots, 0.9)
    assert merged.models == ("x + y", "c1 + c2") and "side by side" in merged.notes[0]
    assert stability_ratio(merged.orders, np.array([0]))[0] == pytest.approx(0.45)
    assert merge_clones(ballots, 1.0) is ballots
