"""Checks of stability certificates that trust no solver: float64 with outward rounding, and exact rational numbers.

A floating-point number is a rational number, so a matrix of floats can be tested without any rounding at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

__all__ = ["EXACT_STATES", "Kind", "positive_definite", "product_exceeds_one", "verify_certificate"]

Kind = Literal["discrete", "continuous"]
UNIT = np.finfo(float).eps / 2
EXACT_STATES = 8  # up to which rational arithmetic is quick
Rational = list[list[Fraction]]


def verify_certificate(
    matrices: Sequence[np.ndarray], P: np.ndarray, rate: float, *, kind: Kind = "discrete", exact: bool = False
) -> float:
    """A lower bound on the margin by which P certifies a rate: positive means that it does.

    Discrete: r² P - A'PA > 0 for all A, so that every step shrinks the norm h'Ph by r² at least. Continuous:
    -(A'P + PA) - 2 r P > 0, so that exp(ΔA) shrinks it by exp(-2 r Δ) for every Δ >= 0. And P > 0. Both are linear in
    P and, by Schur's complement, hold for every convex combination of the matrices as well (Boyd et al., Linear Matrix
    Inequalities in System and Control Theory, 1994, section 5.1).

    Args:
        matrices: (n, n) each, float64, taken as exact numbers.
        P: (n, n) symmetric.
        rate: r; 0 <= r in discrete time, any sign in continuous.
        exact: decide in rational numbers whether the margin is positive, n <= 8; the number returned is then that of
            float64 or, where rounding hid its sign, the smallest positive float.

    Returns:
        the smallest eigenvalue of all the matrices above over the largest entry of P, less all that rounding could
        have added to it.

    Raises:
        ValueError: shapes that do not fit, entries that are not finite, P that is not symmetric, or `exact` with
            n > 8.
    """
    P = np.asarray(P, dtype=np.float64)
    n = len(P)
    if P.shape != (n, n) or not np.isfinite(P).all() or not np.array_equal(P, P.T):
        raise ValueError(f"P: got shape {P.shape}; expected a symmetric matrix of finite numbers.")
    if exact and n > EXACT_STATES:
        raise ValueError(f"exact: got {n} states; expected at most {EXACT_STATES}.")
    scale = float(np.abs(P).max()) or 1.0
    margin = bounded_below(P, UNIT * np.abs(P))
    size = np.abs(P)
    for A in matrices:
        A = np.asarray(A, dtype=np.float64)
        if A.shape != (n, n) or not np.isfinite(A).all():
            raise ValueError(f"matrices: got shape {A.shape}; expected ({n}, {n}) of finite numbers.")
        if kind == "discrete":
            M = rate * rate * P - A.T @ P @ A
            sizes = rate * rate * size + np.abs(A).T @ size @ np.abs(A)
        else:
            M = -(A.T @ P + P @ A) - 2 * rate * P
            sizes = np.abs(A).T @ size + size @ np.abs(A) + 2 * abs(rate) * size
        # A product of three has an error of at most (2n + 2) units of the product of sizes; two more for the rest.
        margin = min(margin, bounded_below((M + M.T) / 2, 1.01 * (2 * n + 6) * UNIT * sizes))
    margin /= scale * (1 + 4 * UNIT) if margin > 0 else scale
    if exact:
        holds = exactly_certified(matrices, P, rate, kind)
        return max(margin, float(np.nextafter(0, 1))) if holds else min(margin, 0.0)
    return margin


def bounded_below(M: np.ndarray, error: np.ndarray) -> float:
    """A number below the smallest eigenvalue of every symmetric matrix within the error of M, entry by entry."""
    n = len(M)
    smallest = float(np.linalg.eigvalsh(M)[0])
    # LAPACK's symmetric solver is backward stable: its eigenvalues are those of a matrix within a small multiple of
    # n units of the norm. Weyl's inequality adds the two.
    return smallest - float(np.linalg.norm(error)) - 16 * n * UNIT * float(np.linalg.norm(M))


def rational(M: np.ndarray) -> Rational:
    return [[Fraction(float(x)) for x in row] for row in np.asarray(M)]


def times(A: Rational, B: Rational) -> Rational:
    columns = list(zip(*B, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in A]


def positive_definite(M: Rational) -> bool:
    """Whether a symmetric rational matrix is positive definite: all pivots of its elimination are."""
    M = [list(row) for row in M]
    n = len(M)
    for k in range(n):
        if M[k][k] <= 0:
            return False
        for i in range(k + 1, n):
            factor = M[i][k] / M[k][k]
            for j in range(k, n):
                M[i][j] -= factor * M[k][j]
    return True


def exactly_certified(matrices: Sequence[np.ndarray], P: np.ndarray, rate: float, kind: Kind) -> bool:
    """The inequalities of `verify_certificate`, in rational numbers."""
    p, r = rational(P), Fraction(float(rate))
    if not positive_definite(p):
        return False
    n = len(p)
    for A in matrices:
        a = rational(A)
        pa = times(p, a)
        at = [list(column) for column in zip(*a, strict=True)]
        if kind == "discrete":
            apa = times(at, pa)
            M = [[r * r * p[i][j] - apa[i][j] for j in range(n)] for i in range(n)]
        else:
            M = [[-(pa[j][i] + pa[i][j]) - 2 * r * p[i][j] for j in range(n)] for i in range(n)]
        if not positive_definite(M):
            return False
    return True


def product_exceeds_one(matrices: Sequence[np.ndarray], word: Sequence[int]) -> bool:
    """Whether the product of matrices in a word has a spectral radius above 1, decided in rational numbers.

    The characteristic polynomial follows by Faddeev and LeVerrier's recursion, and the steps of Schur and Cohn tell
    whether a root lies outside the closed unit disc. A word repeated for ever then grows without bound.

    Args:
        matrices: (n, n) each, n <= 8.
        word: indices, the first factor stands leftmost.

    Raises:
        ValueError: an empty word, an index that is not there, or more than 8 states.
    """
    if not word or any(not 0 <= i < len(matrices) for i in word):
        raise ValueError(f"word: got {list(word)}; expected indices from 0 to {len(matrices) - 1}.")
    n = len(matrices[word[0]])
    if n > EXACT_STATES:
        raise ValueError(f"matrices: got {n} states; expected at most {EXACT_STATES}.")
    M = rational(matrices[word[0]])
    for i in word[1:]:
        M = times(M, rational(matrices[i]))
    # det(x - M) = x^n + c[1] x^(n-1) + …
    c = [Fraction(1)]
    power = [[Fraction(0)] * n for _ in range(n)]
    for k in range(1, n + 1):
        for i in range(n):
            power[i][i] += c[-1]
        power = times(M, power)
        c.append(-sum((power[i][i] for i in range(n)), Fraction(0)) / k)
    while len(c) > 1:
        ratio = c[-1] / c[0]  # up to its sign, the product of the roots
        if abs(ratio) > 1:
            return True
        if abs(ratio) == 1:
            return False  # a root on the circle, or a symmetric pair: not decided
        c = [a - ratio * b for a, b in zip(c[:-1], c[:0:-1], strict=True)]
    return False
