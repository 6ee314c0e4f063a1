"""Mallows' law: its ends, its expected distance, and every probability of a small one."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare, kendalltau

from assay.decisions import expected_kendall, mallows_mixture, mallows_sample, random_centres


def kendall(order, centre):
    """Discordant pairs, by scipy's tau between positions."""
    m = len(order)
    tau = kendalltau(np.argsort(order), np.argsort(centre)).statistic
    return round((1 - tau) * m * (m - 1) / 4)


def test_it_is_the_centre_at_0_and_uniform_at_1(rng):
    centre = rng.permutation(5)
    assert (mallows_sample(centre, 0.0, 100, rng) == centre).all()
    orders = mallows_sample(centre, 1.0, 24_000, rng)[:, :4]
    _, counts = np.unique(mallows_sample(np.arange(4), 1.0, 24_000, rng), axis=0, return_counts=True)
    assert len(counts) == 24 and chisquare(counts).pvalue > 1e-4
    assert orders.shape == (24_000, 4)


@pytest.mark.parametrize("phi", [0.2, 0.6, 0.95])
def test_each_order_is_as_likely_as_phi_to_its_distance(phi, rng):
    centre = np.array([2, 0, 3, 1])
    every = list(itertools.permutations(range(4)))
    law = np.array([phi ** kendall(order, centre) for order in every])
    orders = mallows_sample(centre, phi, 60_000, rng)
    found = {
        tuple(o): c for o, c in zip(*(x.tolist() for x in np.unique(orders, axis=0, return_counts=True)), strict=True)
    }
    counts = np.array([found.get(order, 0) for order in every])
    assert chisquare(counts, 60_000 * law / law.sum()).pvalue > 1e-4


@pytest.mark.parametrize(("m", "phi"), [(5, 0.3), (20, 0.5), (20, 0.9), (7, 1.0), (60, 0.1), (9, 0.0)])
def test_the_expected_distance(m, phi, rng):
    centre = rng.permutation(m)
    distance = [kendall(order, centre) for order in mallows_sample(centre, phi, 1500, rng)]
    spread = np.std(distance) / np.sqrt(len(distance)) + 1e-9
    assert abs(np.mean(distance) - expected_kendall(m, phi)) < 4.5 * spread


def test_a_mixture_has_its_shares_and_every_user_her_faction(rng):
    centres = random_centres(3, 6, rng)
    orders, faction = mallows_mixture(centres, 0.0, np.array([3.0, 1.0, 0.0]), 4000, rng)
    assert (orders == centres[faction]).all()
    assert np.mean(faction == 0) == pytest.approx(0.75, abs=0.03) and not (faction == 2).any()


def test_bad_laws_are_refused(rng):
    with pytest.raises(ValueError, match=r"phi: got 1.5; expected a number from 0 to 1"):
        mallows_sample(np.arange(3), 1.5, 2, rng)
    with pytest.raises(ValueError, match="centre: got 3 entries; expected each of 0 to 2 once"):
        mallows_sample(np.array([0, 0, 1]), 0.5, 2, rng)
    for weights in ([1.0], [0.0, 0.0], [1.0, -1.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="weights: got"):
            mallows_mixture(random_centres(2, 3, rng), 0.5, np.array(weights), 5, rng)
