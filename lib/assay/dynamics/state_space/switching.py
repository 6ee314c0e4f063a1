"""Switching systems as a whole: certified, refuted, or open; what they do under a switching; systems that are known.

Source: Cao, Liu, Chen and Qin (ICML 2026): a selective layer is a linear parameter-varying one, and matrices that are
each stable may still grow when switched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg

from assay.dynamics.state_space.joint_radius import JointRadius, joint_spectral_radius
from assay.dynamics.state_space.lyapunov import Certificate, Solver, common_lyapunov, vertices
from assay.dynamics.state_space.lyapunov_check import EXACT_STATES, Kind, product_exceeds_one

__all__ = [
    "Judged", "gated_delta_vertices", "held", "judge_switching", "legs_matrix", "lyapunov_exponents", "lyapunov_matrix",
    "pair_has_lyapunov", "quarter_turn_pair", "transpose_pair",
]  # fmt: skip

EPSILON = 1e-9


@dataclass(frozen=True, eq=False)
class Judged:
    """A switching system as it is known.

    Attributes:
        status: CERTIFIED, a common quadratic function was found and checked; REFUTED, a product was found that grows;
            OPEN, neither: no statement that it is unstable.
        certificate: of the quadratic function that was found.
        radius: the search over products; of exp(Δ A) in continuous time, by step.
        word: the product that refutes it, the leftmost factor first; empty otherwise.
        durations: time that each factor is held; 1 in discrete time.
        growth: spectral radius of that product.
        exact: the refutation was decided in rational numbers.
    """

    status: Literal["CERTIFIED", "REFUTED", "OPEN"]
    certificate: Certificate
    radius: JointRadius
    word: tuple[int, ...]
    durations: tuple[float, ...]
    growth: float
    exact: bool


def judge_switching(
    matrices: Any, *, kind: Kind = "discrete", max_length: int = 10, solver: Solver = "CLARABEL",
    target: float | None = None, refine: bool = True,
) -> Judged:  # fmt: skip
    """Certify or refute the stability of a system that switches freely among matrices.

    Args:
        matrices: (m, n, n) vertices.
        kind: discrete, or continuous, where each matrix may be held for any time.
        max_length: longest product that is tried.
        solver, target, refine: of `common_lyapunov`.

    Raises:
        ValueError: as for `vertices`.
    """
    A = vertices(matrices)
    certificate = common_lyapunov(A, kind=kind, target=target, solver=solver, refine=refine)
    if kind == "discrete":
        steps, times = A, np.ones(len(A))
        owner = np.arange(len(A))
    else:
        steps, times, owner = held_for(A)
    radius = joint_spectral_radius(steps, max_length, P=certificate.P, widest=4000)
    product = spelled(steps, radius.word)
    growth = float(np.abs(np.linalg.eigvals(product)).max())
    if certificate.status == "CERTIFIED":
        return Judged("CERTIFIED", certificate, radius, (), (), growth, certificate.exact)
    exact = kind == "discrete" and A.shape[1] <= EXACT_STATES
    # exp of a matrix is rounded, so in continuous time a product must grow by more than its rounding.
    grows = product_exceeds_one(list(steps), radius.word) if exact else growth > 1 + 1e-8
    if grows:
        word, durations = tuple(int(owner[i]) for i in radius.word), tuple(float(times[i]) for i in radius.word)
        return Judged("REFUTED", certificate, radius, word, durations, growth, exact)
    return Judged("OPEN", certificate, radius, (), (), growth, False)


def spelled(matrices: np.ndarray, word: Sequence[int]) -> np.ndarray:
    """The product of a word, the leftmost factor first."""
    product = np.eye(matrices.shape[1])
    for i in word:
        product = product @ matrices[i]
    return product


def held_for(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """exp(Δ A) for some times each: quarter turns of its rotations, and spread around its slowest and fastest times."""
    steps, times, owner = [], [], []
    for i, matrix in enumerate(A):
        values = np.linalg.eigvals(matrix)
        fast = float(np.abs(values).max()) or 1.0
        own = {math.pi / (2 * float(abs(v.imag))) for v in values if abs(v.imag) > 1e-9 * fast}
        own |= {0.25 / fast, 1.0 / fast} if own else {0.1 / fast, 0.5 / fast, 2.0 / fast}
        for time in sorted(own)[:4]:
            steps.append(linalg.expm(time * matrix))
            times.append(time)
            owner.append(i)
    return np.stack(steps), np.array(times), np.array(owner)


def held(matrix: np.ndarray, time: float) -> np.ndarray:
    """exp(time · matrix), (..., n, n): what a flow does to a state while its matrix is held."""
    return linalg.expm(time * matrix)


def lyapunov_matrix(matrix: np.ndarray) -> np.ndarray:
    """P (n, n), symmetric, with AᵀP + P A = −I.

    Raises:
        ValueError: A is not Hurwitz, so that no positive P does.
    """
    worst = float(np.linalg.eigvals(matrix).real.max())
    if worst >= 0:
        raise ValueError(f"A: has spectral abscissa {worst:+.2g}; expected a Hurwitz matrix.")
    P = linalg.solve_continuous_lyapunov(matrix.T, -np.eye(len(matrix)))
    return (P + P.T) / 2


def pair_has_lyapunov(A: np.ndarray, B: np.ndarray) -> bool:
    """Whether two 2 × 2 matrices, each Hurwitz, share a quadratic function in continuous time.

    Exactly when neither A B nor A B⁻¹ has a negative real eigenvalue (Shorten and Narendra, International Journal of
    Adaptive Control and Signal Processing 16, 2002, theorem 3.1).

    Raises:
        ValueError: another size, or a matrix that is not Hurwitz.
    """
    for M in (A, B):
        if np.shape(M) != (2, 2) or np.linalg.eigvals(M).real.max() >= 0:
            raise ValueError(f"A, B: got {np.asarray(M).tolist()}; expected two 2 × 2 matrices, each Hurwitz.")
    found = [np.linalg.eigvals(A @ B), np.linalg.eigvals(A @ np.linalg.inv(B))]
    return not any(abs(v.imag) <= EPSILON * abs(v) and v.real < 0 for values in found for v in values)


def quarter_turn_pair() -> np.ndarray:
    """Two spirals, each decaying at 0.1, which grow when switched every quarter turn (Liberzon, Switching in Systems
    and Control, 2003, section 2.1; the numbers are ours): a period multiplies by 9.054."""
    return np.array([[[-0.1, 1.0], [-10.0, -0.1]], [[-0.1, 10.0], [-1.0, -0.1]]])


def transpose_pair(off: float = 2.0, diagonal: float = 0.5) -> np.ndarray:
    """A shear and its transpose, each with spectral radius `diagonal`; their joint radius is the norm of one."""
    A = np.array([[diagonal, off], [0.0, diagonal]])
    return np.stack([A, A.T])


def legs_matrix(n: int) -> np.ndarray:
    """(n, n) HiPPO-LegS (Gu et al., arXiv 2008.07669, theorem 2), up to its time scale: A + A' = -I - v v', with
    v_i = sqrt(2 i + 1), so P = I certifies a rate of 1/2 for every step size."""
    v = np.sqrt(2 * np.arange(n) + 1)
    A = -np.tril(np.outer(v, v), -1)
    return A - np.diag(np.arange(n) + 1.0)


def gated_delta_vertices(decay: np.ndarray, keys: np.ndarray, strength: float) -> np.ndarray:
    """diag(w)(I - β k k') for keys k of unit length at both ends of β, from 0 to a strength: gated DeltaNet's step.

    Args:
        decay: (n,) w. keys: (m, n). strength: largest β.

    Returns:
        (2 m, n, n).

    Raises:
        ValueError: keys that are not of unit length.
    """
    keys = np.asarray(keys, dtype=np.float64)
    if keys.ndim != 2 or not np.allclose(np.linalg.norm(keys, axis=1), 1):
        raise ValueError(f"keys: got shape {keys.shape}; expected (m, n), each of unit length.")
    w = np.asarray(decay, dtype=np.float64)[:, None]
    eye = np.eye(keys.shape[1])
    return np.stack([w * (eye - beta * np.outer(k, k)) for k in keys for beta in (0.0, strength)])


def lyapunov_exponents(jacobians: Any) -> np.ndarray:
    """Growth rates of a trajectory, largest first, per step: QR steps over its Jacobians.

    Source: Benettin et al., Meccanica 15 (1980).

    Args:
        jacobians: (T, n, n), the first step first.

    Returns:
        (n,) natural logarithms of growth a step; -inf where a direction is lost.

    Raises:
        ValueError: another shape.
    """
    J = np.asarray(jacobians, dtype=np.float64)
    if J.ndim != 3 or J.shape[1] != J.shape[2] or len(J) < 1:
        raise ValueError(f"jacobians: got shape {J.shape}; expected (T, n, n).")
    Q, total = np.eye(J.shape[1]), np.zeros(J.shape[1])
    for step in J:
        Q, R = np.linalg.qr(step @ Q)
        with np.errstate(divide="ignore"):
            total += np.log(np.abs(np.diag(R)))
    return np.sort(total / len(J))[::-1]
