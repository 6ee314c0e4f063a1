"""What a membrane conducts: Hodgkin–Huxley channels by region, and the coefficients of a cable's implicit step."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from assay.dynamics.cables.swc import REGIONS
from assay.dynamics.cables.trees import Tree
from assay.kernels import Cable

__all__ = ["CHANNELS", "Membrane", "cable_coefficients", "cable_of", "read_channels"]

CHANNELS = {"na": "sodium of the squid axon", "k": "potassium of the squid axon", "leak": "leak"}
SQUID = {"na": 0.12, "k": 0.036, "leak": 0.0003}  # S/cm², Hodgkin and Huxley (1952)
EVERYWHERE = "all"
NO_MEMBRANE = 100.0  # µm² that a junction's row is scaled with, as NEURON does


@dataclass(frozen=True)
class Membrane:
    """A membrane by region.

    Attributes:
        densities: from (region, channel) to S/cm²; region `all` holds where a region has no entry of its own.
        cm: µF/cm². Ra: Ω cm. leak_reversal: mV. celsius: °C; rates are those of 6.3 °C, times 3 each 10 °C.
    """

    densities: dict[tuple[str, str], float] = field(
        default_factory=lambda: {(EVERYWHERE, name): value for name, value in SQUID.items()}
    )
    cm: float = 1.0
    Ra: float = 100.0
    leak_reversal: float = -54.3
    celsius: float = 6.3

    def density(self, region: str, channel: str) -> float:
        """S/cm² of a channel in a region; 0 where none is named."""
        return self.densities.get((region, channel), self.densities.get((EVERYWHERE, channel), 0.0))


def read_channels(path: Path) -> dict[tuple[str, str], float]:
    """Densities from a CSV of region, channel, gbar (S/cm²).

    Raises:
        ValueError: one sentence: a column that is missing, an unknown region or channel, a density that is negative, no
            number or far beyond a membrane's, or an entry that is there twice.
    """
    try:
        table = pd.read_csv(path, comment="#", skipinitialspace=True, keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"channels: no CSV of region, channel, gbar ({str(error).splitlines()[0]}).") from None
    table.columns = [str(c).strip().lower() for c in table.columns]
    if missing := [c for c in ("region", "channel", "gbar") if c not in table.columns]:
        raise ValueError(f"channels: got columns {', '.join(table.columns)}; expected {', '.join(missing)} too.")
    found: dict[tuple[str, str], float] = {}
    for number, (region, channel, gbar) in enumerate(zip(*(table[c] for c in ("region", "channel", "gbar")),
                                                         strict=True), 2):  # fmt: skip
        key = (str(region).strip().lower(), str(channel).strip().lower())
        if key[0] not in (*REGIONS, EVERYWHERE):
            raise ValueError(
                f"channels: row {number} has region {key[0]!r}; expected one of {', '.join(REGIONS)}, all."
            )
        if key[1] not in CHANNELS:
            raise ValueError(f"channels: row {number} has channel {key[1]!r}; expected one of {', '.join(CHANNELS)}.")
        try:
            value = float(gbar)
        except (TypeError, ValueError):
            value = float("nan")
        if not 0 <= value <= 10:
            raise ValueError(f"channels: row {number} has a density of {gbar} S/cm²; expected 0 to 10.")
        if key in found:
            raise ValueError(f"channels: row {number} names {key[1]} of {key[0]} again; expected each once.")
        found[key] = value
    if not found:
        raise ValueError("channels: got no rows; expected region, channel, gbar.")
    return found


def coupling(tree: Tree, Ra: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """a, b, what axial terms add to the diagonal, and S/cm² of 1 µS, all (n,)."""
    scale = np.where(tree.area > 0, tree.area, NO_MEMBRANE)
    per_area = 100 / scale  # 1 µS on 1 µm² is 100 S/cm²
    below = tree.parent >= 0
    up = np.maximum(tree.parent, 0)
    # Ω cm times 1/µm is 10⁴ Ω: 1 µS is its inverse times 100
    g = np.where(below, 100 / (Ra * np.where(below, tree.resistance, 1.0)), 0.0)
    a, b = -g * per_area[up], -g * per_area
    axial = -b
    np.add.at(axial, up[below], -a[below])
    return a, b, axial, per_area


def cable_coefficients(tree: Tree, Ra: float, cm: float, dt: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix of an implicit Euler step of a cable without channels.

    Args:
        tree: n nodes. Ra: Ω cm. cm: µF/cm². dt: ms.

    Returns:
        a, b, d0: (n,) S/cm²: entry of row p(i) and column i, of row i and column p(i), and the diagonal.

    Raises:
        ValueError: a value that is not above 0.
    """
    for name, value in (("Ra", Ra), ("cm", cm), ("dt", dt)):
        if not value > 0:
            raise ValueError(f"{name}: got {value:g}; expected above 0.")
    a, b, axial, _ = coupling(tree, Ra)
    return a, b, axial + np.where(tree.area > 0, cm * 1e-3 / dt, 0.0)


def cable_of(tree: Tree, membrane: Membrane) -> Cable:
    """A tree with its membrane, as the kernels step it.

    Raises:
        ValueError: a value that is not above 0, or a negative density.
    """
    for name in ("Ra", "cm"):
        if not getattr(membrane, name) > 0:
            raise ValueError(f"{name}: got {getattr(membrane, name):g}; expected above 0.")
    for (region, channel), value in membrane.densities.items():
        if not value >= 0:
            raise ValueError(f"channels: {channel} of {region} has {value:g} S/cm²; expected at least 0.")
    a, b, axial, per_area = coupling(tree, membrane.Ra)
    here = tree.area > 0
    g = {
        channel: np.where(here, np.array([membrane.density(r, channel) for r in REGIONS])[tree.kind], 0.0)
        for channel in CHANNELS
    }
    return Cable(
        tree.parent, a, b, axial, np.where(here, membrane.cm, 0.0), g["leak"], g["na"], g["k"],
        np.full(len(tree), float(membrane.leak_reversal)), per_area,
        quicker=float(3.0 ** ((membrane.celsius - 6.3) / 10)),
    )  # fmt: skip
