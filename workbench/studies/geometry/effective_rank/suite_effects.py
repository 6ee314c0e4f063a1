"""Quantities of the suite that claims rest on, each with an interval over configurations or seeds."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from assay.geometry import saturation
from assay.models import KeptSuite
from assay.statistics import Interval, cluster_bootstrap
from assay.statistics.partial_rank import Ranks, partial
from workbench.studies.geometry.effective_rank.controls import grid_of

Row = dict[str, Any]
CLOUD = ("effective rank", "average cosine", "isotropy", "isoscore")
FEWEST_PAIRS = 20
WINDOW = 4  # entries of a log that are averaged


def effect(name: str, found: Interval, over: str) -> Row:
    """A row: an estimate with its interval, which holds the estimate."""
    estimate, (low, high) = float(found.estimate), found.around
    return {"effect": name, "estimate": estimate, "low": low, "high": high, "over": over, "n": found.clusters}


def rank_correlation(one: Ranks, other: Ranks) -> Callable[[np.ndarray], np.ndarray]:
    """Spearman's correlation of resampled rows."""
    return lambda weights: partial(weights, [one, other], np.zeros((weights.shape[1], 0)))


def agreement(rows: pd.DataFrame) -> Callable[[np.ndarray], np.ndarray]:
    """Median of the absolute correlations among metrics of W."""
    ranked = [Ranks(rows[name].to_numpy(float)) for name in CLOUD]
    pairs = [rank_correlation(one, other) for one, other in itertools.combinations(ranked, 2)]
    return lambda weights: np.median([np.abs(pair(weights)) for pair in pairs], axis=0)


def mean_difference(
    rows: pd.DataFrame, column: str, factor: str, high: float, low: float
) -> Callable[[np.ndarray], np.ndarray]:
    """Mean at one level of a factor less that at another; in an orthogonal array nothing else differs."""
    values, level = rows[column].to_numpy(float), rows[factor].to_numpy(float)
    one, other = np.isclose(level, high), np.isclose(level, low)
    if not one.any() or not other.any():
        raise ValueError(f"runs_table: {factor} is never {high if not one.any() else low:g}; expected both levels.")

    def difference(weights: np.ndarray) -> np.ndarray:
        return (weights[:, one] @ values[one]) / weights[:, one].sum(axis=1) - (
            weights[:, other] @ values[other]
        ) / weights[:, other].sum(axis=1)

    return difference


def discordant_share(
    rows: pd.DataFrame, rank_noise: float, loss_noise: float
) -> Callable[[np.ndarray], np.ndarray] | None:
    """Of pairs of one size that differ by more than twice the noise of seeds in both, the share in which the higher
    rank has the higher loss; None where there are fewer than 20 such pairs."""
    rank, loss = rows["effective rank"].to_numpy(float), rows["loss prose"].to_numpy(float)
    size = rows["size"].to_numpy()
    a, b = np.triu_indices(len(rows), 1)
    apart_rank, apart_loss = rank[a] - rank[b], loss[a] - loss[b]
    decided = (size[a] == size[b]) & (np.abs(apart_rank) > 2 * rank_noise) & (np.abs(apart_loss) > 2 * loss_noise)
    a, b, against = a[decided], b[decided], (apart_rank * apart_loss > 0)[decided]
    if len(a) < FEWEST_PAIRS:
        return None

    def share(weights: np.ndarray) -> np.ndarray:
        both = weights[:, a] * weights[:, b]
        return (both @ against) / both.sum(axis=1)

    return share


def seed_noise(table: pd.DataFrame, column: str) -> float:
    """Standard deviation of a difference of two runs that differ in their seed alone, pooled over sizes."""
    repeats = table[table["kind"] == "repeat"]
    groups = [own[column].to_numpy(float) for _, own in repeats.groupby("size")]
    squares = sum(((own - own.mean()) ** 2).sum() for own in groups)
    return float(np.sqrt(2 * squares / max(1, sum(len(own) - 1 for own in groups))))


def suite_effects(table: pd.DataFrame, rng: np.random.Generator, resamples: int) -> list[Row]:
    """Every quantity of the grid and of the tied pairs, but for those whose runs a table does not have.

    Raises:
        ValueError: the grid lacks a level of a training choice.
    """
    grid = grid_of(table)
    configs = grid["config"].to_numpy()
    batches, decays, shares = (np.unique(grid[f].to_numpy(float)) for f in ("batch", "weight_decay", "final_share"))
    strata = {factor: strata_of(grid, factor) for factor in ("batch", "weight_decay", "final_share")}

    def over_configs(name: str, statistic: Callable[[np.ndarray], np.ndarray], factor: str = "") -> Row:
        # Levels of the factor keep their number of configurations, so that none vanishes from a resample.
        found = cluster_bootstrap(
            statistic, configs, rng=rng, resamples=resamples, strata=strata[factor] if factor else None
        )
        return effect(name, found, "configurations")

    rank, loss = (grid[c].to_numpy(float) for c in ("effective rank", "loss prose"))
    low, middle, high = batches[0], batches[len(batches) // 2], batches[-1]
    found = [
        over_configs("raw correlation", rank_correlation(Ranks(rank), Ranks(loss))),
        over_configs("agreement", agreement(grid)),
        over_configs("batch on rank", mean_difference(grid, "effective rank", "batch", high, low), "batch"),
        over_configs("batch below", mean_difference(grid, "loss prose", "batch", low, middle), "batch"),
        over_configs("batch above", mean_difference(grid, "loss prose", "batch", high, middle), "batch"),
    ]
    for column, what in (("effective rank", "rank"), ("loss prose", "loss")):
        decay = mean_difference(grid, column, "weight_decay", decays[-1], decays[0])
        annealing = mean_difference(grid, column, "final_share", shares[-1], shares[0])
        found.append(over_configs(f"decay on {what}", decay, "weight_decay"))
        found.append(over_configs(f"final rate on {what}", annealing, "final_share"))
    pairs = table[table["kind"].isin(["tied", "repeat"])]
    if not {"tied", "repeat"} <= set(pairs["kind"]):
        return found
    share = discordant_share(grid, seed_noise(table, "effective rank"), seed_noise(table, "loss prose"))
    if share is not None:
        found.append(over_configs("discordant pairs", share))
    for column, what in (("effective rank", "rank"), ("loss prose", "loss")):
        both = pairs.pivot(index=["size", "seed"], columns="kind", values=column).dropna()
        difference = (both["tied"] - both["repeat"]).to_numpy()
        interval = cluster_bootstrap(
            lambda w, d=difference: (w @ d) / w.sum(axis=1), np.arange(len(difference)), rng=rng, resamples=resamples
        )
        found.append(effect(f"tying on {what}", interval, "pairs of runs"))
    return found


def strata_of(grid: pd.DataFrame, factor: str) -> np.ndarray:
    """(n,) level of a factor, which all rows of a configuration share."""
    return grid[factor].astype(str).to_numpy()


def long_runs(suite: KeptSuite, rng: np.random.Generator) -> list[Row]:
    """For every long run: its last rank beside the middle of the grid's of its size, and whether its loss rose late."""
    middle = {
        (width, layers): float(np.median([r["effective rank"] for r in suite.rows if is_grid(r, width, layers)]))
        for width, layers in {(r["width"], r["layers"]) for r in suite.rows if r["kind"] == "grid"}
    }
    found = []
    for row, step, loss, rank in zip(suite.rows, suite.step, suite.loss, suite.rank, strict=True):
        if row["kind"] != "long":
            continue
        seen = saturation(step, loss, rank, rng=rng, window=WINDOW, resamples=1000)
        reference = middle[row["width"], row["layers"]]
        found.append({
            "run": f"{'parallel' if row['parallel'] else 'in sequence'}, decay {row['weight_decay']:g}, "
                   f"seed {row['seed']}",
            "parallel": row["parallel"], "rank": 100 * row["effective rank"] / row["width"],
            "middle": 100 * reference / row["width"], "low": row["effective rank"] < reference,
            "degraded": seen.degraded, "rise": seen.rise, "p": seen.p, "drop": seen.drop, "lag": seen.lag,
            "lag_low": seen.low, "lag_high": seen.high, "best_step": seen.best_step, "drop_step": seen.drop_step,
        })  # fmt: skip
    return found


def is_grid(row: Any, width: int, layers: int) -> bool:
    return row["kind"] == "grid" and row["width"] == width and row["layers"] == layers
