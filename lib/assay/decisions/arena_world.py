"""A world in the shape of LMArena's, from the aggregates of an independent run: weights and top models of categories.

Source: the results that come with github.com/kvr06-ai/pluralistic-leaderboards (Apache-2.0). It holds no votes, and
of a category only its top model; its centre is the one ranking over all battles with that model moved up.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["ArenaWorld", "read_arena_world"]

METHODS = {"bt": "bradley-terry", "a2": "checkpoints", "a3": "monotone"}


@dataclass(frozen=True, eq=False)
class ArenaWorld:
    """The aggregates.

    Attributes:
        models: (m,) names, in the order of the ranking over all battles.
        categories: names. weights: (K,) their shares of battles. centres: (K, m) int16.
        battles: how many the run used.
        curves: from φ and method (`bradley-terry`, `checkpoints`, `monotone`) to the γ̂ (m − 1,) that the run reports.
    """

    models: tuple[str, ...]
    categories: tuple[str, ...]
    weights: np.ndarray
    centres: np.ndarray
    battles: int
    curves: dict[tuple[float, str], np.ndarray]


def read_arena_world(path: Path) -> ArenaWorld:
    """The world of a results file that comes along."""
    found = json.loads(path.read_text(encoding="utf-8"))
    models = tuple(found["bt_global_ranking"])
    categories = tuple(found["categories"])
    centres = []
    for name in categories:
        top = models.index(found["category_top_models"][name])
        centres.append([top, *(a for a in range(len(models)) if a != top)])
    curves = {
        (float(run["phi"]), METHODS[method]): np.array(curve)
        for run in found["phi_runs"]
        for method, curve in run["stability_curves"].items()
    }
    weights = np.array(found["category_mixture_weights"])
    return ArenaWorld(
        models, categories, weights, np.array(centres, np.int16), int(found["config"]["max_battles_used"]), curves
    )
