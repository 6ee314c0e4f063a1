"""What the cable kernels take: a forest with its membrane, what drives it, and how a step is made."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Cable", "Drive", "Synapses"]


def _none(dtype: type = float) -> np.ndarray:
    return np.zeros(0, dtype)


@dataclass(frozen=True, eq=False)
class Cable:
    """A forest of nodes with the coefficients of its implicit step. All per node; conductances in S/cm².

    Attributes:
        parent: (n,) each before its children, −1 at roots.
        a, b: (n,) −axial conductance over the area of the parent and of the node itself.
        axial: (n,) what the axial terms add to the diagonal.
        capacitance: (n,) µF/cm²; 0 where a node has no membrane.
        leak, sodium, potassium: (n,) largest conductances.
        leak_reversal: (n,) mV.
        per_area: (n,) S/cm² that 1 µS makes there; mA/cm² that 1 nA makes.
        sodium_reversal, potassium_reversal: mV.
        quicker: q, factor of all gates' rates at the temperature.
    """

    parent: np.ndarray
    a: np.ndarray
    b: np.ndarray
    axial: np.ndarray
    capacitance: np.ndarray
    leak: np.ndarray
    sodium: np.ndarray
    potassium: np.ndarray
    leak_reversal: np.ndarray
    per_area: np.ndarray
    sodium_reversal: float = 50.0
    potassium_reversal: float = -77.0
    quicker: float = 1.0

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def active(self) -> np.ndarray:
        """(n,) nodes that have gates."""
        return (self.sodium > 0) | (self.potassium > 0)


@dataclass(frozen=True, eq=False)
class Synapses:
    """Graded synapses and gap junctions between nodes. Conductances in µS.

    s∞ = 1 / (1 + exp((V_th − V_pre)/δ)), τ = (1 − s∞)/k, current g s (V − E) into the node after it; a gap junction
    has g (V − V_pre), one entry for each direction.

    Attributes:
        pre, post: (s,) nodes. conductance: (s,) g, weight included. reversal: (s,) E, mV. rate: (s,) k, 1/ms.
        threshold, slope: V_th and δ, mV.
        gap_pre, gap_post, gap: (g,) nodes, and conductance.
    """

    pre: np.ndarray = field(default_factory=lambda: _none(np.int64))
    post: np.ndarray = field(default_factory=lambda: _none(np.int64))
    conductance: np.ndarray = field(default_factory=_none)
    reversal: np.ndarray = field(default_factory=_none)
    rate: np.ndarray = field(default_factory=_none)
    threshold: float = -20.0
    slope: float = 5.0
    gap_pre: np.ndarray = field(default_factory=lambda: _none(np.int64))
    gap_post: np.ndarray = field(default_factory=lambda: _none(np.int64))
    gap: np.ndarray = field(default_factory=_none)


@dataclass(frozen=True, eq=False)
class Drive:
    """What is injected, and how a step is made.

    Attributes:
        nodes: (k,) where. current: (T, k, cells) nA, held during a step.
        dt: ms. theta: 1 for implicit Euler, ½ for Crank–Nicolson with gates half a step ahead.
    """

    nodes: np.ndarray
    current: np.ndarray
    dt: float
    theta: float = 1.0

    @property
    def steps(self) -> int:
        """T."""
        return len(self.current)

    @property
    def cells(self) -> int:
        """Cells, or replicas of a circuit, side by side."""
        return self.current.shape[2]
