"""Battles: counts, categories, users who compared all, and users who are simulated."""

import numpy as np
import pandas as pd
import pytest

from assay.data import InputError, vote_file
from assay.decisions import (
    battle_categories,
    battle_users,
    borda_order,
    bradley_terry,
    mallows_mixture,
    read_arena_world,
    read_votes,
    simulated_users,
    stability_curve,
    wins_of,
)


@pytest.fixture
def battles_of(tmp_path, rng):
    def made(rows, columns="model_a model_b winner category"):
        pd.DataFrame(rows, columns=columns.split()).to_csv(tmp_path / "b.csv", index=False)
        return read_votes(tmp_path / "b.csv", rng)

    return made


def test_wins_ties_and_even_pairs(battles_of):
    found = battles_of([("p", "q", "a", "x")] * 6 + [("q", "p", "a", "x")] * 2 + [("p", "r", "tie", "x")] * 4)
    np.testing.assert_allclose(wins_of(found), [[0, 6, 2], [2, 0, 0], [2, 0, 0]])
    np.testing.assert_allclose(wins_of(found, ties="drop"), [[0, 6, 0], [2, 0, 0], [0, 0, 0]])
    even = wins_of(found, even=True)
    np.testing.assert_allclose((even + even.T)[0, 1:], [6, 6])
    np.testing.assert_allclose(even[0, 1] / even[1, 0], 3)
    with pytest.raises(ValueError, match="ties: got 'half a win'"):
        wins_of(found, ties="half a win")


def test_categories_have_orders_of_their_own_and_small_ones_are_merged(battles_of):
    rows = [("p", "q", "a", "x")] * 40 + [("p", "q", "b", "y")] * 40 + [("p", "q", "a", "tiny")] * 5
    found, notes = battle_categories(battles_of(rows))
    assert [one.name for one in found] == ["x", "y"] and "1 categories of fewer than 30" in notes[0]
    assert found[0].order.tolist() == [0, 1] and found[1].order.tolist() == [1, 0]
    assert sum(one.share for one in found) == pytest.approx(1) and found[0].share == pytest.approx(45 / 85)


def test_models_that_never_meet_are_named(battles_of):
    rows = [("p", "q", "a", "x"), ("q", "p", "a", "x"), ("r", "s", "a", "x"), ("s", "r", "a", "x")] * 10
    with pytest.raises(InputError, match=r"battles: no battles connect 2 groups of models \(p, q; r, s\)"):
        battle_categories(battles_of(rows))
    with pytest.raises(InputError, match="win all or lose all"):
        battle_categories(battles_of([("p", "q", "a", "x")] * 40))


def test_users_who_compared_every_pair_stand_for_themselves(battles_of):
    rows = []
    for user in range(40):
        first, second, third = ("p", "q", "r") if user < 30 else ("r", "p", "q")
        rows += [(user, first, second, "a"), (user, third, first, "b"), (user, second, third, "a")]
    rows += [("circle", "p", "q", "a"), ("circle", "q", "r", "a"), ("circle", "r", "p", "a"), ("few", "p", "q", "b")]
    found = battles_of(rows, "user model_a model_b winner")
    orders, _, told = battle_users(found)
    assert told == {"whole": 40, "incomplete": 1, "circular": 1}
    names = np.array(found.models)[orders]
    assert (names[:30] == ["p", "q", "r"]).all() and (names[30:] == ["r", "p", "q"]).all()
    ballots = simulated_users(found, 0.5, 100, np.random.default_rng(0))
    assert not ballots.simulated and len(ballots) == 40 and "1 went round in a circle" in ballots.notes[-1]


def test_others_are_simulated_and_it_is_said(battles_of):
    rows = [("p", "q", "a", "x")] * 40 + [("p", "q", "b", "y")] * 60
    ballots = simulated_users(battles_of(rows), 0.0, 5000, np.random.default_rng(0))
    assert ballots.simulated and "Simulated users" in ballots.notes[-1] and ballots.factions == ("y", "x")
    assert np.mean(ballots.orders[:, 0] == 1) == pytest.approx(0.6, abs=0.03)


def test_the_samples_are_what_their_sources_say():
    rng = np.random.default_rng(0)
    pandalm = read_votes(vote_file("pandalm"), rng)
    people = np.isin(pandalm.category, [pandalm.categories.index(f"human{i}") for i in (1, 2, 3)])
    wins = wins_of(pandalm, only=people)
    share = dict(zip(pandalm.models, wins.sum(1) / (wins + wins.T).sum(1), strict=True))
    printed = {"llama-7b": 0.704, "pythia-6.9b": 0.526, "bloom-7b": 0.491, "opt-7b": 0.430, "cerebras-gpt-6.7B": 0.333}
    assert share == pytest.approx(printed, abs=5e-4)
    football = read_votes(vote_file("football"), rng)
    assert len(football) == 3172 and len(football.models) == 34
    best = [football.models[i] for i in np.argsort(-bradley_terry(wins_of(football)).theta)[:6]]
    assert {"Brazil", "France", "Spain"} <= set(best)
    trust = read_votes(vote_file("trust"), rng)
    assert len(trust) == 2058 and len(trust.models) == 18


def test_the_arena_shaped_world_is_near_the_independent_runs_curves():
    """Its weights and top models alone give Bradley–Terry's largest γ̂ within 0.1 at all three dispersions."""
    world = read_arena_world(vote_file("arena"))
    assert len(world.models) == 20 and len(world.categories) == 12 and world.weights.sum() == pytest.approx(1, abs=1e-3)
    assert world.curves[0.9, "checkpoints"].max() == pytest.approx(1.1403)
    for phi in (0.1, 0.5, 0.9):
        orders, _ = mallows_mixture(world.centres, phi, world.weights, 20_000, np.random.default_rng(1))
        largest = stability_curve(orders, borda_order(orders))[0].max()
        assert largest == pytest.approx(world.curves[phi, "bradley-terry"].max(), abs=0.1)
