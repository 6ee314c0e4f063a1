"""Bradley–Terry: one strength for each model, from who wins against whom.

Source: Bradley & Terry (1952); Newton's method on the log-likelihood, which is concave (Hunter 2004). The leaderboard
that pluralistic ones are compared with (Haghtalab et al., arXiv 2606.02547, section 1).
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from assay.decisions.ballots import listed
from assay.kernels.compiled import compiled

__all__ = ["Strengths", "bradley_terry", "comparison_groups", "pairwise_wins", "ranking_of"]

NEWTON_STEPS = 100


@dataclass(frozen=True, eq=False)
class Strengths:
    """Strengths of m models on the logit scale, with mean 0 where nothing else fixes it.

    Attributes:
        theta: (m,) Pr[a beats b] = 1 / (1 + exp(θ_b − θ_a)).
        se: (m,) standard errors of θ less its mean, from the inverse of the information.
    """

    theta: np.ndarray
    se: np.ndarray


def bradley_terry(
    wins: np.ndarray, reg: float = 0.0, *, centre: np.ndarray | None = None, names: tuple[str, ...] = ()
) -> Strengths:
    """Maximum likelihood, or maximum a posteriori, of strengths.

    Args:
        wins: (m, m) how often a (row) won against b (column), from 0 on, in any fractions: a tie counts half for both,
            a weighted battle as much as it weighs.
        reg: precision of a normal prior on each strength; 0 for none.
        centre: (m,) mean of that prior; None for 0.
        names: of the models, for sentences.

    Returns:
        θ and its standard errors.

    Raises:
        ValueError: counts that are negative or not finite; without a prior also models that no chain of battles
            connects, each group named, or a group that never loses to the others, whose strength is infinite.
    """
    w = np.array(wins, float)
    if w.ndim != 2 or len(w) != w.shape[1] or len(w) < 2 or not np.isfinite(w).all() or (w < 0).any():
        raise ValueError(f"wins: got shape {w.shape}; expected finite counts from 0 on, (models, models).")
    if not np.isfinite(reg) or reg < 0:
        raise ValueError(f"reg: got {reg:g}; expected a number from 0 on.")
    np.fill_diagonal(w, 0)
    m = len(w)
    if reg == 0:
        refuse_infinite(w, names or tuple(str(i) for i in range(m)))
    mean = np.zeros(m) if centre is None else np.asarray(centre, float)
    games = w + w.T
    # a shift of all strengths leaves the likelihood as it is; this only holds their mean, and moves no difference
    anchor = np.full((m, m), games.sum() / m**2 + 1.0)
    theta = mean.copy()
    value = -np.inf
    for _ in range(NEWTON_STEPS):
        won = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
        slope = w.sum(1) - (games * won).sum(1) - reg * (theta - mean)
        rate = games * won * won.T
        information = np.diag(rate.sum(1) + reg) - rate
        step = np.linalg.solve(information + (anchor if reg == 0 else 0), slope)
        size, before = 1.0, value if np.isfinite(value) else log_likelihood(w, theta, reg, mean)
        while (value := log_likelihood(w, theta + size * step, reg, mean)) < before - 1e-12 * abs(
            before
        ) and size > 1e-6:
            size /= 2
        theta = theta + size * step
        if np.abs(step).max() < 1e-11 * max(1.0, np.abs(theta).max()):
            break
    theta -= theta.mean() if reg == 0 else 0
    won = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    rate = games * won * won.T
    information = np.diag(rate.sum(1) + reg) - rate
    centred = np.eye(m) - 1 / m
    covariance = centred @ np.linalg.inv(information + (anchor if reg == 0 else 0)) @ centred
    return Strengths(theta, np.sqrt(np.clip(np.diag(covariance), 0, None)))


def log_likelihood(wins: np.ndarray, theta: np.ndarray, reg: float, mean: np.ndarray) -> float:
    return float(
        -(wins * np.logaddexp(0, theta[None, :] - theta[:, None])).sum() - reg / 2 * ((theta - mean) ** 2).sum()
    )


def comparison_groups(wins: np.ndarray, *, strong: bool = False) -> list[np.ndarray]:
    """Groups of models that battles connect, the largest first.

    Args:
        wins: (m, m), as for `bradley_terry`.
        strong: a group's models must be connected by chains of wins in both directions.
    """
    kind = "strong" if strong else "weak"
    _, group = connected_components(np.asarray(wins) > 0, directed=True, connection=kind)
    found = [np.flatnonzero(group == g) for g in np.unique(group)]
    return sorted(found, key=lambda own: (-len(own), own[0]))


def refuse_infinite(wins: np.ndarray, names: tuple[str, ...]) -> None:
    """Say why the likelihood has no maximum."""

    def words(groups: list[np.ndarray]) -> str:
        return "; ".join(listed([names[i] for i in own]) for own in groups[:4]) + ("; …" if len(groups) > 4 else "")

    apart = comparison_groups(wins)
    if len(apart) > 1:
        raise ValueError(
            f"wins: no battles connect {len(apart)} groups of models ({words(apart)}); expected one group, or a prior."
        )
    ranked = comparison_groups(wins, strong=True)
    if len(ranked) > 1:
        raise ValueError(
            f"wins: {len(ranked)} groups of models win all or lose all against the others ({words(ranked)}), so that "
            "strengths are infinite; expected wins both ways, or a prior."
        )


@compiled
def _tally(orders, wins):
    m = len(wins)
    ranked = np.empty(m, np.bool_)
    for i in range(len(orders)):
        ranked[:] = False
        last = 0
        while last < m and orders[i, last] >= 0:
            ranked[orders[i, last]] = True
            last += 1
        for p in range(last):
            own = wins[orders[i, p]]
            for q in range(p + 1, last):
                own[orders[i, q]] += 1
            if last < m:
                for b in range(m):
                    if not ranked[b]:
                        own[b] += 1


def pairwise_wins(orders: np.ndarray) -> np.ndarray:
    """(m, m) float64, how many users prefer a (row) to b (column).

    Args:
        orders: (n, m) int16, best first, −1 after the last model; a ranked model is preferred to one that is not.
    """
    wins = np.zeros((orders.shape[1],) * 2, np.int64)
    _tally(orders, wins)
    return wins.astype(float)


def ranking_of(scores: np.ndarray) -> np.ndarray:
    """(m,) models from the highest score to the lowest; equal ones in their own order."""
    return np.argsort(-np.asarray(scores), kind="stable").astype(np.int16)
