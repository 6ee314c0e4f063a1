"""Bradley–Terry against choix, scikit-learn and arena-rank, and what it refuses."""

from pathlib import Path

import choix
import numpy as np
import pytest
from drawn_profiles import PROFILES, drawn_orders
from hypothesis import given, settings
from sklearn.linear_model import LogisticRegression

from assay.decisions import borda_order, bradley_terry, comparison_groups, pairwise_wins, ranking_of

PEERS = Path(__file__).parent / "peers"


def drawn_battles(rng, models=8, count=900):
    strength = rng.normal(0, 1.2, models)
    a = rng.integers(models, size=count)
    b = (a + rng.integers(1, models, size=count)) % models
    first = rng.random(count) < 1 / (1 + np.exp(strength[b] - strength[a]))
    pairs = np.where(first[:, None], np.stack([a, b], 1), np.stack([b, a], 1))
    wins = np.zeros((models, models))
    np.add.at(wins, (pairs[:, 0], pairs[:, 1]), 1)
    return wins, [tuple(p) for p in pairs.tolist()]


@pytest.mark.parametrize("seed", range(4))
def test_it_is_choixs_estimate(seed):
    """choix takes α θ² off the log-likelihood, a precision of 2 α."""
    wins, pairs = drawn_battles(np.random.default_rng(seed))
    theta = bradley_terry(wins).theta
    np.testing.assert_allclose(theta, choix.ilsr_pairwise(8, pairs), atol=1e-6)
    np.testing.assert_allclose(
        bradley_terry(wins, 1.4).theta, choix.opt_pairwise(8, pairs, alpha=0.7, tol=1e-10), atol=1e-6
    )


def test_it_is_a_logistic_regression_on_signs(rng):
    wins, pairs = drawn_battles(rng)
    design = np.zeros((len(pairs), 8))
    for row, (winner, loser) in enumerate(pairs):
        design[row, winner], design[row, loser] = 1, -1
    signs = np.where(rng.random(len(pairs)) < 0.5, 1, -1)
    fit = LogisticRegression(fit_intercept=False, C=1 / 2.5, tol=1e-12, max_iter=2000)
    fit.fit(design * signs[:, None], signs)
    np.testing.assert_allclose(bradley_terry(wins, 2.5).theta, fit.coef_[0], atol=1e-5)


def test_it_is_arena_ranks_rating():
    """Ratings are 1000 + 400/ln 10 · θ; intervals there are robust ones, near the ones of the information here."""
    with np.load(PEERS / "arena_rank.npz", allow_pickle=False) as kept:
        a, b, won, ratings, half = (kept[name] for name in ("a", "b", "won", "ratings", "half"))
    wins = np.zeros((9, 9))
    np.add.at(wins, (a, b), won)
    np.add.at(wins, (b, a), 1 - won)
    found = bradley_terry(wins)
    scale = 400 / np.log(10)
    np.testing.assert_allclose(found.theta * scale, ratings - ratings.mean(), atol=0.05)
    # a tie is less uncertain than half a win: the information's intervals are wider
    assert (half <= 1.96 * scale * found.se * 1.1).all() and (half >= 0.7 * 1.96 * scale * found.se).all()


def test_errors_are_those_of_repeated_battles(rng):
    strength = np.array([1.0, 0.3, -0.4, -0.9])
    chance = 1 / (1 + np.exp(strength[None] - strength[:, None]))
    estimates, errors = [], []
    for _ in range(400):
        wins = np.triu(rng.binomial(80, chance), 1)
        wins = wins + np.tril(80 - wins.T, -1)
        found = bradley_terry(wins)
        estimates.append(found.theta)
        errors.append(found.se)
    np.testing.assert_allclose(np.mean(errors, 0), np.std(estimates, 0), rtol=0.12)


@settings(max_examples=30, deadline=None)
@given(PROFILES)
def test_on_whole_orders_it_ranks_as_borda_does(orders):
    if (orders < 0).any():
        return
    assert bradley_terry(pairwise_wins(orders), 1e-2).theta[borda_order(orders)].tolist() == pytest.approx(
        sorted(bradley_terry(pairwise_wins(orders), 1e-2).theta, reverse=True), abs=1e-9
    )


def test_pairs_of_orders_are_counted_and_unranked_ones_lose():
    orders = drawn_orders(3, 40, 6, partial=True)
    wins = np.zeros((6, 6))
    for order in orders.tolist():
        own = [a for a in order if a >= 0]
        for i, a in enumerate(own):
            for b in range(6):
                wins[a, b] += b not in own[: i + 1]
    np.testing.assert_array_equal(pairwise_wins(orders), wins)


def test_equal_scores_keep_their_order():
    assert ranking_of(np.array([1.0, 2.0, 1.0, 2.0])).tolist() == [1, 3, 0, 2]


def test_infinite_strengths_are_refused_by_name():
    wins = np.array([[0, 3, 0, 0], [2, 0, 0, 0], [0, 0, 0, 4], [0, 0, 1, 0]])
    with pytest.raises(ValueError, match=r"no battles connect 2 groups of models \(p, q; r, s\)"):
        bradley_terry(wins, names=("p", "q", "r", "s"))
    assert [g.tolist() for g in comparison_groups(wins)] == [[0, 1], [2, 3]]
    wins = np.array([[0, 3, 0], [2, 0, 0], [5, 5, 0]])
    with pytest.raises(ValueError, match=r"win all or lose all against the others \(p, q; r\)"):
        bradley_terry(wins, names=("p", "q", "r"))
    assert bradley_terry(wins, 0.1).theta.argmax() == 2
    for bad in (np.ones((2, 3)), -np.ones((2, 2)), np.full((2, 2), np.nan)):
        with pytest.raises(ValueError, match="wins: got shape"):
            bradley_terry(bad)
    with pytest.raises(ValueError, match="reg: got -1"):
        bradley_terry(np.ones((2, 2)), -1)
