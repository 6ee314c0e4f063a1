"""Closed forms of passive cables, and the steady state of any tree of them."""

from __future__ import annotations

import numpy as np
import torch

from assay.kernels import Cable, tree_solve

__all__ = ["finite_cable", "length_constant", "sealed_input_resistance", "steady_state"]


def length_constant(radius: float, Rm: float, Ra: float) -> float:
    """λ = √(r R_m / (2 R_a)) in µm of a cylinder of radius r µm, R_m Ω cm², R_a Ω cm."""
    return float(np.sqrt(radius * 1e-4 * Rm / (2 * Ra)) * 1e4)


def finite_cable(x: np.ndarray, length: float, constant: float) -> np.ndarray:
    """V(x)/V(0) = cosh((L − x)/λ) / cosh(L/λ) along a cylinder that is sealed at L; all in µm."""
    return np.cosh((length - np.asarray(x)) / constant) / np.cosh(length / constant)


def sealed_input_resistance(radius: float, length: float, Rm: float, Ra: float) -> float:
    """MΩ at the end of a cylinder that is sealed at the other: R_a λ / (π r²) · coth(L/λ); µm, Ω cm², Ω cm."""
    constant = length_constant(radius, Rm, Ra)
    return float(Ra * constant / (np.pi * radius**2) / np.tanh(length / constant) * 1e-2)


def steady_state(cable: Cable, current: np.ndarray) -> np.ndarray:
    """(n, ...) mV at which a cable with its leak alone rests under currents (n, ...) in nA; channels are left out."""
    per_area, leak = (v.reshape(-1, *[1] * (current.ndim - 1)) for v in (cable.per_area, cable.leak))
    right = current * per_area + leak * cable.leak_reversal.reshape(leak.shape)
    a, b, d = (torch.from_numpy(v) for v in (cable.a, cable.b, cable.leak + cable.axial))
    return tree_solve(a, b, d, torch.from_numpy(np.ascontiguousarray(right)), torch.from_numpy(cable.parent)).numpy()
