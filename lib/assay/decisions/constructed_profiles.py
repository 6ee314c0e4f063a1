"""Profiles made by hand: a faction that a Bradley–Terry leaderboard shuts out, and its twin that looks the same to it.

Source: Haghtalab et al. (arXiv 2606.02547), introduction.
"""

from __future__ import annotations

import itertools

import numpy as np

from assay.decisions.solid_coalitions import WeightedProfile

__all__ = ["sixty_forty", "twin_profiles"]


def sixty_forty() -> WeightedProfile:
    """60 %: x1 > x2 > x3 > z1 > z2 > y; 40 %: y above all of these. A mean puts x1, x2, x3 on top; 40 % get nothing."""
    orders = np.array([[0, 1, 2, 3, 4, 5], [5, 0, 1, 2, 3, 4]], np.int16)
    return WeightedProfile(("x1", "x2", "x3", "z1", "z2", "y"), orders, np.array([6, 4], np.int64))


def twin_profiles() -> tuple[WeightedProfile, WeightedProfile]:
    """Two profiles with the same share of users on every pair, so with the same Bradley–Terry strengths.

    In both, all orders of x1, x2, x3 are equally frequent, z1 > z2 come last, and each x is preferred to y by 60 %. In
    the first, 40 % put y on top. In the second, 80 % put y above one x and 20 % above two: nobody above all three.
    """
    names = ("x1", "x2", "x3", "y", "z1", "z2")
    shares = ({3: 4, 0: 6}, {1: 8, 2: 2})  # how many x are below y: tenths of the users
    found = []
    for own in shares:
        orders, counts = [], []
        for x in itertools.permutations(range(3)):
            for below, count in own.items():
                orders.append([*x[: 3 - below], 3, *x[3 - below :], 4, 5])
                counts.append(count)
        found.append(WeightedProfile(names, np.array(orders, np.int16), np.array(counts, np.int64)))
    return found[0], found[1]
