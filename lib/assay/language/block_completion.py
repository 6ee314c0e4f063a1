"""Which matrix a gradient prefers where data leave a block free: the 2 × 2 heart of the Identity Bridge.

Source: Ma et al. (2026), arXiv 2602.02470, section 3. Entity blocks of the one-layer model are M ⊗ I by symmetry, with
M = [[α, δ], [β, γ]], rows the output, columns the input, A before B; δ, the reverse block, is never trained.
"""

from __future__ import annotations

import math

__all__ = ["complete_block", "nuclear_norm_2x2"]


def nuclear_norm_2x2(alpha: float, beta: float, gamma: float, delta: float) -> float:
    """Sum of singular values of [[α, δ], [β, γ]]: √(‖M‖² + 2 |det M|), with the Frobenius norm."""
    square = alpha**2 + beta**2 + gamma**2 + delta**2
    return math.sqrt(square + 2 * abs(alpha * gamma - beta * delta))


def complete_block(alpha: float, beta: float, gamma: float, norm: str = "nuclear") -> float:
    """The δ that makes the norm smallest: min(β, αγ/β) for the nuclear norm, 0 for Frobenius'.

    Up to δ = αγ/β the nuclear norm squared is (δ − β)² + const, beyond it (δ + β)² + const; that gives the minimum.

    Raises:
        ValueError: α or γ below 0, β not above 0, or an unknown norm.
    """
    if not (alpha >= 0 and gamma >= 0 and 0 < beta < math.inf):
        raise ValueError(f"alpha, beta, gamma: got {alpha}, {beta}, {gamma}; expected α, γ ≥ 0 and β > 0.")
    if norm not in ("nuclear", "fro"):
        raise ValueError(f"norm: got {norm!r}; expected nuclear or fro.")
    return min(beta, alpha * gamma / beta) if norm == "nuclear" else 0.0
