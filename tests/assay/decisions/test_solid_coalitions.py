"""Solid coalitions, and two profiles that no comparisons of k models tell apart."""

import numpy as np
import pytest

from assay.decisions import WeightedProfile, comparison_law, hidden_coalition, solid_shortfall


def profile(orders, counts):
    orders = np.array(orders, np.int16)
    return WeightedProfile(tuple("abcdef"[: orders.shape[1]]), orders, np.array(counts))


def test_a_group_that_is_owed_a_seat_is_seen():
    own = profile([[0, 1, 2], [2, 1, 0]], [6, 4])
    assert solid_shortfall(own, np.array([0, 1])) == pytest.approx(0.8), "40 % of a quota of 50 %"
    assert solid_shortfall(own, np.array([0])) == pytest.approx(0.4)
    assert solid_shortfall(own, np.array([0, 2])) == pytest.approx(0.6), "two seats for a, b would take all users"
    three = profile([[0, 1, 2, 3], [3, 2, 1, 0]], [50, 50])
    assert solid_shortfall(three, np.array([0, 1])) == pytest.approx(1.0), "half of the users, solid for 3, got none"
    with pytest.raises(ValueError, match="at most 12"):
        solid_shortfall(profile([list(range(6)) * 1], [1]).__class__((), np.zeros((1, 13), np.int16), np.ones(1)),
                        np.array([0]))  # fmt: skip


def test_the_law_of_comparisons_by_hand():
    own = profile([[0, 1, 2], [2, 0, 1]], [3, 2])
    np.testing.assert_array_equal(comparison_law(own, 2), [[5, 0], [3, 2], [3, 2]])
    np.testing.assert_array_equal(comparison_law(own, 3).sum(), 5)
    np.testing.assert_array_equal(comparison_law(own, 1), [[5], [5], [5]])


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_the_twins_are_the_same_to_comparisons_of_k_and_differ_in_fairness(k):
    unfair, fair = hidden_coalition(k)
    for size in range(1, k + 1):
        np.testing.assert_array_equal(comparison_law(unfair, size), comparison_law(fair, size))
    assert not np.array_equal(unfair.counts, fair.counts) and min(unfair.counts.min(), fair.counts.min()) >= 0
    assert unfair.counts.sum() == fair.counts.sum()
    members = np.arange(k)
    assert solid_shortfall(unfair, members) > 1 > solid_shortfall(fair, members)
    with_y = np.array([*range(1, k), k])
    assert solid_shortfall(unfair, with_y) < 1, "with y in, nobody is owed more"


@pytest.mark.parametrize("k", [1, 7])
def test_sizes_out_of_range_are_refused(k):
    with pytest.raises(ValueError, match="expected 2 to 6"):
        hidden_coalition(k)
