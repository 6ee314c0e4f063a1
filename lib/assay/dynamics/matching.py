"""The matching criterion: how much of the discriminative spectrum a membrane passes, and where it begins to pass too
little.

Source: Yu et al. (2026), arXiv 2605.09983: FMS_avg(beta) = sum_k DI_norm[k] Htilde(omega_k; beta), and the elbow of
that curve over log tau (Prop. 3.5). The elbow beta-dagger marks the onset of over-low-pass behaviour; it is not
claimed to be the best beta. It depends on the candidates as well as on the data: read it beside
:mod:`assay.dynamics.threshold_nulls`.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.dynamics.low_pass import lif_response

Array = NDArray[np.float64]


def candidate_decays(
    low: float = 0.05, high: float = 0.99, count: int = 48, spacing: Literal["linear", "log_tau"] = "linear"
) -> Array:
    """Candidate decays from ``low`` to ``high``, both included.

    Args:
        low, high: 0 <= low < high < 1.
        count: at least 3.
        spacing: ``linear`` in beta, or ``log_tau``: equal steps of log tau, tau = 1 / (1 - beta), the axis that the
            elbow rule uses.

    Returns:
        (count,) ascending.

    Raises:
        ValueError: bounds out of order or range, fewer than 3 candidates, an unknown spacing.
    """
    if not 0 <= low < high < 1:
        raise ValueError(f"low and high must satisfy 0 <= low < high < 1; got {low:g} and {high:g}.")
    if isinstance(count, bool) or int(count) != count or count < 3:
        raise ValueError(f"count must be a whole number of at least 3; got {count}.")
    if spacing == "linear":
        return np.linspace(low, high, count)
    if spacing == "log_tau":
        betas = -np.expm1(np.linspace(np.log1p(-low), np.log1p(-high), count))
        betas[0], betas[-1] = low, high
        return betas
    raise ValueError(f"spacing must be linear or log_tau; got {spacing!r}.")


def frequency_matching_score(di_norm: ArrayLike, omega: ArrayLike, betas: ArrayLike) -> Array:
    """FMS_avg: the share of the discriminative spectrum that the membrane passes at each decay.

    Args:
        di_norm: (..., M), non-negative, each row summing to 1.
        omega: (M,), rad/sample.
        betas: (R,) in [0, 1).

    Returns:
        (..., R), in [0, 1], not increasing in beta.

    Raises:
        ValueError: shapes that do not fit, negative weights, or rows that do not sum to 1.
    """
    di_norm, omega = np.asarray(di_norm, dtype=np.float64), np.asarray(omega, dtype=np.float64)
    if omega.ndim != 1 or di_norm.shape[-1:] != omega.shape:
        raise ValueError(
            f"di_norm must have one value for each of {omega.shape} frequencies; got shape {di_norm.shape}."
        )
    if not (np.all(di_norm >= 0) and np.allclose(di_norm.sum(axis=-1), 1, atol=1e-6)):
        raise ValueError("di_norm must be non-negative and sum to 1 over frequency.")
    betas = np.atleast_1d(np.asarray(betas, dtype=np.float64))
    return di_norm @ lif_response(omega[:, None], betas)


@dataclass(frozen=True, eq=False)
class Threshold:
    """The elbow of a matching curve over candidates.

    Attributes:
        beta: (...) beta-dagger. index: (...) its place among the candidates.
        log_tau: (R,) phi, minmax-scaled log tau. score: (..., R) psi, minmax-scaled matching score. chord: (..., R)
            the straight line between the first and the last point. deviation: (..., R) |chord - score|, largest at
            beta-dagger.
    """

    beta: Array
    index: NDArray[np.intp]
    log_tau: Array
    score: Array
    chord: Array
    deviation: Array


def over_lowpass_threshold(betas: ArrayLike, score: ArrayLike) -> Threshold:
    """The elbow rule: the candidate whose point lies farthest from the chord of the curve over log tau.

    Args:
        betas: (R,) ascending, in [0, 1), R at least 3.
        score: (..., R) matching scores, not constant along a row.

    Raises:
        ValueError: fewer than 3 candidates, not ascending or out of range, shapes that do not fit, or a constant row.
    """
    betas, score = np.asarray(betas, dtype=np.float64), np.asarray(score, dtype=np.float64)
    if betas.ndim != 1 or len(betas) < 3:
        raise ValueError(f"betas must be a list of at least 3 candidates; got shape {betas.shape}.")
    if not (np.all(np.diff(betas) > 0) and betas[0] >= 0 and betas[-1] < 1):
        raise ValueError("betas must ascend within [0, 1).")
    if score.shape[-1:] != betas.shape or not np.all(np.isfinite(score)):
        raise ValueError(
            f"score must hold one finite value for each of {len(betas)} candidates; got shape {score.shape}."
        )
    spread = np.ptp(score, axis=-1, keepdims=True)
    if not np.all(spread > 0):
        raise ValueError("score must change over the candidates; got a constant curve, which has no elbow.")
    log_tau = -np.log1p(-betas)
    phi = (log_tau - log_tau[0]) / (log_tau[-1] - log_tau[0])
    psi = (score - score.min(axis=-1, keepdims=True)) / spread
    chord = psi[..., :1] + (psi[..., -1:] - psi[..., :1]) * phi
    deviation = np.abs(chord - psi)
    index = np.argmax(deviation, axis=-1)
    return Threshold(betas[index], index, phi, psi, chord, deviation)
