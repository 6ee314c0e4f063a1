"""How fast products of matrices can grow: bounds on the joint spectral radius from below and above.

Source: Gripenberg, Computing the joint spectral radius (Linear Algebra and its Applications 234, 1996): a product is
continued only while its norm allows it to beat what was found; the norm is that of the best quadratic function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.dynamics.state_space.lyapunov import vertices

__all__ = ["JointRadius", "joint_spectral_radius"]

WIDEST = 20_000


@dataclass(frozen=True)
class JointRadius:
    """What a search over products found.

    Attributes:
        lower: the largest ρ(product)^(1/length); no growth rate of the system is smaller.
        word: indices of that product, the leftmost factor first.
        upper: no growth rate is larger; infinite where the search was cut off before it could say.
        length: up to which products were looked at. looked_at: how many.
        whole: no product was left out for want of room.
    """

    lower: float
    word: tuple[int, ...]
    upper: float
    length: int
    looked_at: int
    whole: bool


def joint_spectral_radius(
    matrices: Any, max_length: int = 14, *, P: np.ndarray | None = None, tolerance: float = 1e-3, widest: int = WIDEST
) -> JointRadius:
    """Search products of up to a length for the one that grows fastest.

    Args:
        matrices: (m, n, n).
        max_length: longest product, 1 to 30; the search is exponential where nothing can be pruned.
        P: (n, n) positive definite; its norm prunes. None for the Euclidean norm.
        tolerance: of the upper bound over the lower one, absolute.
        widest: most products of a length that are continued; of more, those of largest norm are.

    Raises:
        ValueError: as for `vertices`; a length that is not from 1 to 30; P that is not positive definite.
    """
    A = vertices(matrices)
    if not 1 <= max_length <= 30:
        raise ValueError(f"max_length: got {max_length}; expected 1 to 30.")
    n, m = A.shape[1], len(A)
    norm_of = A
    if P is not None:
        try:
            S = np.linalg.cholesky(P).T
        except np.linalg.LinAlgError:
            raise ValueError("P: is not positive definite; expected a matrix of a quadratic norm.") from None
        norm_of = S @ A @ np.linalg.inv(S)
    products, words, least = np.eye(n)[None], np.zeros((1, 0), dtype=np.int64), np.full(1, np.inf)
    lower, word, pruned, looked, whole, length = 0.0, (0,), 0.0, 0, True, 0
    for length in range(1, max_length + 1):
        # A change of basis keeps spectral radii, so products are made in that of the norm alone.
        made = (norm_of[None] @ products[:, None]).reshape(-1, n, n)
        spelled = np.concatenate(
            [np.tile(np.arange(m), len(words))[:, None], np.repeat(words, m, axis=0)], axis=1
        )  # fmt: skip
        looked += len(made)
        radii = spectral_radii(made) ** (1 / length)
        top = int(radii.argmax())
        if radii[top] > lower * (1 + 1e-12):
            lower, word = float(radii[top]), tuple(int(i) for i in spelled[top])
        bounds = np.minimum(np.repeat(least, m), spectral_norms(made) ** (1 / length))
        keep = bounds > lower + tolerance
        pruned = max(pruned, float(bounds[~keep].max(initial=0.0)))
        products, words, least = made[keep], spelled[keep], bounds[keep]
        if not len(products):
            break
        if len(products) > widest:
            whole = False
            chosen = np.argsort(-least)[:widest]
            products, words, least = products[chosen], words[chosen], least[chosen]
    rest = float(least.max(initial=0.0)) if len(products) else 0.0
    upper = max(lower + tolerance, pruned, rest) if whole else math.inf
    return JointRadius(lower, word, upper, length, looked, whole)


def spectral_radii(M: np.ndarray) -> np.ndarray:
    """(k,) spectral radii of (k, n, n); of two states in closed form."""
    if M.shape[1] == 2:
        half = (M[:, 0, 0] + M[:, 1, 1]) / 2
        det = M[:, 0, 0] * M[:, 1, 1] - M[:, 0, 1] * M[:, 1, 0]
        gap = half**2 - det
        real = np.abs(half) + np.sqrt(np.maximum(gap, 0))
        return np.where(gap >= 0, real, np.sqrt(np.maximum(det, 0)))
    return np.abs(np.linalg.eigvals(M)).max(axis=1)


def spectral_norms(M: np.ndarray) -> np.ndarray:
    """(k,) Euclidean norms of (k, n, n); of two states in closed form."""
    if M.shape[1] == 2:
        squares = np.square(M).sum(axis=(1, 2))
        det = M[:, 0, 0] * M[:, 1, 1] - M[:, 0, 1] * M[:, 1, 0]
        return np.sqrt((squares + np.sqrt(np.maximum(squares**2 - 4 * det**2, 0))) / 2)
    return np.linalg.norm(M, 2, axis=(1, 2))
