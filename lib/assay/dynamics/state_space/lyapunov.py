"""Common quadratic Lyapunov functions of switching linear systems, by semidefinite programming, then checked.

Source: Cao, Liu, Chen and Qin (ICML 2026) ask for them of linear parameter-varying recurrences; the inequalities are
those of Boyd, El Ghaoui, Feron and Balakrishnan (1994), sections 5.1 and 9.1. What the solver says is never believed:
its P is checked by `lyapunov_check`.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import linalg

from assay.dynamics.state_space.lyapunov_check import EXACT_STATES, Kind, verify_certificate

__all__ = ["LARGEST_SYSTEM", "Certificate", "Solver", "common_lyapunov", "l2_gain", "rate_of", "vertices"]

Solver = Literal["CLARABEL", "SCS"]
LARGEST_SYSTEM = 64
AHEAD = (1e-7, 1e-3)
REBASINGS = 4
ROUND_ENOUGH = 1e6  # a flatter P says nothing useful of the Euclidean norm, and its check drowns in rounding
SLACKS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is known of a switching system from one quadratic function.

    Attributes:
        status: CERTIFIED, a P was found and holds under the check; or OPEN: none was found, which proves nothing.
        P: (n, n), the best that was found, scaled so that its smallest eigenvalue is about 1.
        rate: r with A'PA < r² P for all A (discrete) or A'P + PA < -2 r P (continuous), as it was checked.
        kappa: condition number of P, a little above; ||h_t|| <= sqrt(kappa) r^t ||h_0||.
        margin: of the check, over the largest entry of P, after outward rounding.
        exact: the check was made in rational numbers too.
        kind: discrete or continuous.
        assumptions: what it holds for, in words.
    """

    status: Literal["CERTIFIED", "OPEN"]
    P: np.ndarray
    rate: float
    kappa: float
    margin: float
    exact: bool
    kind: Kind
    assumptions: tuple[str, ...]


def vertices(matrices: Any, name: str = "A") -> np.ndarray:
    """Matrices as an array (m, n, n), float64 and finite.

    Raises:
        ValueError: another shape, more than 64 states, or an entry that is not finite.
    """
    A = np.asarray(matrices)
    if A.ndim == 2:
        A = A[None]
    if np.iscomplexobj(A):
        raise ValueError(f"{name}: holds complex numbers; expected real ones: write a complex state as two real ones.")
    if A.ndim != 3 or A.shape[1] != A.shape[2] or 0 in A.shape or A.dtype.kind not in "fiu":
        raise ValueError(f"{name}: got shape {A.shape} of {A.dtype}; expected real numbers [m, n, n].")
    A = A.astype(np.float64)
    if not np.isfinite(A).all():
        first = int(np.argwhere(~np.isfinite(A))[0][0])
        raise ValueError(f"{name}[{first}]: holds NaN or infinity; expected finite numbers.")
    if A.shape[1] > LARGEST_SYSTEM:
        n = A.shape[1]
        minutes = len(A) / 3 * 0.3 * (n / 16) ** 6 / 60
        raise ValueError(
            f"{name}: got {n} states; expected at most {LARGEST_SYSTEM}: the program would take about {minutes:,.0f} "
            "minutes."
        )
    return A


def rate_of(matrices: np.ndarray, P: np.ndarray, kind: Kind) -> float:
    """The best rate that a given P shows, in plain float64: the largest norm of all A, or least decay."""
    if kind == "discrete":
        values = [float(linalg.eigh(A.T @ P @ A, P, eigvals_only=True)[-1]) for A in matrices]
        return math.sqrt(max(0.0, *values))
    return min(float(-linalg.eigh(A.T @ P + P @ A, P, eigvals_only=True)[-1]) / 2 for A in matrices)


def shown_by(matrices: np.ndarray, P: np.ndarray, kind: Kind) -> float:
    """The rate that a P shows, NaN where it is too near to singular to say."""
    try:
        return rate_of(matrices, P, kind)
    except linalg.LinAlgError:
        return math.nan


def best_function(
    matrices: np.ndarray, kind: Kind, solver: Solver, goal: float | None
) -> tuple[np.ndarray, float]:  # fmt: skip
    """The best P that trials find from the identity on, and the rate that it shows."""
    best = np.eye(matrices.shape[1])
    rate = rate_of(matrices, best, kind)
    program = MarginProgram(matrices, kind, solver)
    tried = 0
    for _ in range(60):
        if tried == len(AHEAD) or (goal is not None and (rate <= goal if kind == "discrete" else rate >= goal)):
            break
        # Where the margin has become as small as the solver's tolerance, it may still find better ones further ahead.
        P = program.solve(rate * (1 - AHEAD[tried]) if kind == "discrete" else rate + AHEAD[tried])
        found = math.nan if P is None else shown_by(matrices, P, kind)
        better = found < rate * (1 - 1e-6) if kind == "discrete" else found > rate + 1e-6
        if P is not None and better:
            best, rate, tried = P, found, 0
        else:
            tried += 1
    return best, rate


def common_lyapunov(
    matrices: Any, *, kind: Kind = "discrete", target: float | None = None, solver: Solver = "CLARABEL",
    refine: bool = True,
) -> Certificate:  # fmt: skip
    """Search one quadratic function that all matrices, and all between them, shrink.

    At a trial rate, the program maximises the margin of the inequalities; what its P really shows is the next trial,
    as in Dinkelbach's method for fractional programs (1967), so a few programs find the best rate. Then the condition
    number of P is minimised at a rate a thousandth worse.

    Args:
        matrices: (m, n, n), n <= 64: vertices whose convex hull holds the system.
        kind: h[t+1] = A h[t], or dh/dt = A h.
        target: a rate to be content with; by default the best. Then `rate` is the target where it can be shown.
        solver: of cvxpy.
        refine: minimise the condition number.

    Returns:
        a certificate. CERTIFIED where the checked rate is below 1 (discrete) or above 0 (continuous).

    Raises:
        ValueError: as for `vertices`; a discrete target that is not positive.
    """
    A = vertices(matrices)
    if target is not None and kind == "discrete" and target <= 0:
        raise ValueError(f"target: got {target}; expected a rate above 0.")
    m, n = len(A), A.shape[1]
    scale = max(float(np.linalg.norm(M, 2)) for M in A) or 1.0
    scaled = A / scale
    goal = None if target is None else target / scale
    best, rate = np.eye(n), rate_of(scaled, np.eye(n), kind)
    for _ in range(REBASINGS):
        # In the basis of the best P so far the next one is near to round, whatever basis the matrices came in.
        S = np.linalg.cholesky(best).T
        P, found = best_function(S @ scaled @ np.linalg.inv(S), kind, solver, goal)
        P = S.T @ P @ S
        found = shown_by(scaled, (P + P.T) / 2, kind)
        better = found < rate * (1 - 1e-5) if kind == "discrete" else found > rate + 1e-5
        if not better or np.linalg.cond(P) > ROUND_ENOUGH:
            break
        best, rate = (P + P.T) / 2, found
    if refine:
        loose = rate * (1 + 1e-3) if kind == "discrete" else rate - 1e-3 * max(abs(rate), 1e-3)
        if goal is not None:
            loose = max(loose, goal) if kind == "discrete" else min(loose, goal)
        rounder = least_condition(scaled, kind, loose, solver)
        if rounder is not None and np.linalg.cond(rounder) < np.linalg.cond(best):
            stays = rate_of(scaled, rounder, kind)
            if stays < max(1.0 / scale, rate) if kind == "discrete" else stays > min(0.0, rate):
                best, rate = rounder, stays
    return checked(A, best, rate * scale, kind, m)


def checked(A: np.ndarray, P: np.ndarray, rate: float, kind: Kind, m: int) -> Certificate:
    """The certificate of a P at the first rate near the one computed that passes the check."""
    P = (P + P.T) / 2
    P = P / max(float(np.linalg.eigvalsh(P)[0]), 1e-300)
    exact = len(P) <= EXACT_STATES
    margin, shown = -math.inf, rate
    for slack in SLACKS:
        shown = rate * (1 + slack) + 1e-300 if kind == "discrete" else rate - slack * max(abs(rate), 1e-6)
        margin = verify_certificate(list(A), P, shown, kind=kind)
        if margin > 0 and exact:
            margin = verify_certificate(list(A), P, shown, kind=kind, exact=True)
        if margin > 0:
            break
    holds = margin > 0 and (shown < 1 if kind == "discrete" else shown > 0)
    values = np.linalg.eigvalsh(P)
    kappa = float(values[-1] / values[0]) * (1 + 1e-9)
    hull = "for every switching among the matrices, and all convex combinations of them"
    time = "at every step" if kind == "discrete" else "for every step size Δ ≥ 0"
    tested = "in float64 with outward rounding, and in rational numbers" if exact else "in float64, rounded outward"
    return Certificate(
        "CERTIFIED" if holds else "OPEN", P, shown, kappa, margin, exact and margin > 0, kind,
        (f"{m} vertices of {len(P)} states; {hull}", f"{time}; the state alone, without input", f"checked {tested}"),
    )  # fmt: skip


def solved(problem: Any, solver: Solver) -> bool:
    """Whether a program gave numbers at all; whether they are good is for the check to say."""
    from cvxpy.error import SolverError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "solution may be inaccurate": it is checked
        try:
            problem.solve(solver=solver)
        except (SolverError, ValueError, ArithmeticError):
            return False
    return problem.status in ("optimal", "optimal_inaccurate")


class MarginProgram:
    """Maximise t over P with trace n, such that r² P - A'PA >= t for all A, or the continuous likeness of it."""

    def __init__(self, matrices: np.ndarray, kind: Kind, solver: Solver) -> None:
        import cvxpy as cp

        n = matrices.shape[1]
        self.kind = kind
        self.solver: Solver = solver
        self.P = cp.Variable((n, n), symmetric=True)
        self.weight = cp.Parameter()
        t = cp.Variable()
        held: list[Any] = [cp.trace(self.P) == n, t <= 1]
        identity = t * np.eye(n)
        for A in matrices:
            if kind == "discrete":
                held.append(self.weight * self.P - A.T @ self.P @ A >> identity)
            else:
                held.append(-(A.T @ self.P + self.P @ A) - self.weight * self.P >> identity)
        self.problem = cp.Problem(cp.Maximize(t), held)

    def solve(self, rate: float) -> np.ndarray | None:
        """A P for a trial rate; None where the solver failed."""
        self.weight.value = rate * rate if self.kind == "discrete" else 2 * rate
        if not solved(self.problem, self.solver) or self.P.value is None:
            return None
        P = (self.P.value + self.P.value.T) / 2
        return P if np.isfinite(P).all() and np.linalg.eigvalsh(P)[0] > 1e-12 * np.trace(P) else None


def least_condition(matrices: np.ndarray, kind: Kind, rate: float, solver: Solver) -> np.ndarray | None:
    """The roundest P between I and kappa I that shows a rate; None where the solver failed."""
    import cvxpy as cp

    n = matrices.shape[1]
    P, kappa = cp.Variable((n, n), symmetric=True), cp.Variable()
    held: list[Any] = [P >> np.eye(n), kappa * np.eye(n) - P >> 0]
    for A in matrices:
        if kind == "discrete":
            held.append(rate * rate * P - A.T @ P @ A >> 1e-8 * np.eye(n))
        else:
            held.append(-(A.T @ P + P @ A) - 2 * rate * P >> 1e-8 * np.eye(n))
    if not solved(cp.Problem(cp.Minimize(kappa), held), solver) or P.value is None:
        return None
    found = (P.value + P.value.T) / 2
    return found if np.isfinite(found).all() and np.linalg.eigvalsh(found)[0] > 0 else None


def l2_gain(
    matrices: Any, inputs: Any, outputs: Any = None, *, solver: Solver = "CLARABEL"
) -> tuple[float, np.ndarray] | None:  # fmt: skip
    """A bound on the energy that comes out of h[t+1] = A h[t] + B v[t], y[t] = C h[t], over the energy that goes in.

    The bounded real inequality with one P for all vertices (Boyd et al. 1994, section 6.3.2, in discrete time):
    A'PA - P + C'C, A'PB; B'PA, B'PB - γ² negative definite. γ is then checked in float64 with outward rounding.

    Args:
        matrices: (m, n, n). inputs: (m, n, p). outputs: (m, q, n), or None to ask for the state itself.

    Returns:
        γ and P; None where no finite γ was found.

    Raises:
        ValueError: shapes that do not fit.
    """
    import cvxpy as cp

    A = vertices(matrices)
    m, n = len(A), A.shape[1]
    B = np.asarray(inputs, dtype=np.float64)
    C = np.broadcast_to(np.eye(n), (m, n, n)) if outputs is None else np.asarray(outputs, dtype=np.float64)
    if B.ndim != 3 or B.shape[:2] != (m, n) or C.ndim != 3 or (C.shape[0], C.shape[2]) != (m, n):
        raise ValueError(f"inputs, outputs: got {B.shape} and {C.shape}; expected ({m}, {n}, p) and ({m}, q, {n}).")
    if not (np.isfinite(B).all() and np.isfinite(C).all()):
        raise ValueError("inputs, outputs: hold NaN or infinity; expected finite numbers.")
    p = B.shape[2]
    P, square = cp.Variable((n, n), symmetric=True), cp.Variable()
    held: list[Any] = [P >> 0]
    for a, b, c in zip(A, B, C, strict=True):
        block = cp.bmat([[a.T @ P @ a - P + c.T @ c, a.T @ P @ b], [b.T @ P @ a, b.T @ P @ b - square * np.eye(p)]])
        held.append((block + block.T) / 2 << -1e-9 * np.eye(n + p))
    if not solved(cp.Problem(cp.Minimize(square), held), solver) or P.value is None:
        return None
    found = (P.value + P.value.T) / 2
    for slack in SLACKS:
        gamma2 = float(square.value) * (1 + slack) + 1e-12  # type: ignore[arg-type]
        if all(gain_margin(a, b, c, found, gamma2) > 0 for a, b, c in zip(A, B, C, strict=True)):
            return math.sqrt(gamma2), found
    return None


def gain_margin(a: np.ndarray, b: np.ndarray, c: np.ndarray, P: np.ndarray, gamma2: float) -> float:
    """A number below the margin of the bounded real inequality."""
    both = np.hstack([a, b])
    n, p = b.shape
    held = np.zeros((n + p, n + p))
    held[:n, :n], held[n:, n:] = P - c.T @ c, gamma2 * np.eye(p)
    M = held - both.T @ P @ both
    sizes = np.abs(both).T @ np.abs(P) @ np.abs(both) + np.abs(held)
    sizes[:n, :n] += np.abs(P) + np.abs(c).T @ np.abs(c)
    error = (2 * (n + p) + len(c) + 8) * np.finfo(float).eps * sizes
    smallest = float(np.linalg.eigvalsh((M + M.T) / 2)[0])
    return smallest - float(np.linalg.norm(error)) - 16 * (n + p) * np.finfo(float).eps * float(np.linalg.norm(M))
