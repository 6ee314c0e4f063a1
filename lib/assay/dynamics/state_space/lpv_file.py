"""Switching systems of one's own, from `.npz` files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.dynamics.state_space.lyapunov import vertices
from assay.dynamics.state_space.lyapunov_check import Kind

__all__ = ["LPVSystem", "read_lpv"]


@dataclass(frozen=True, eq=False)
class LPVSystem:
    """Vertices of a linear parameter-varying system.

    Attributes:
        A: (m, n, n). kind: discrete or continuous.
        B: (m, n, p) input matrices, or None. h: (T, n) a trajectory to test against, or None.
        unstable: sentences on vertices that are unstable alone.
    """

    A: np.ndarray
    kind: Kind
    B: np.ndarray | None
    h: np.ndarray | None
    unstable: tuple[str, ...]


def read_lpv(path: Path | str) -> LPVSystem:
    """A system from an `.npz` with `A` [m, n, n], `kind`, and as one likes `B` [m, n, p] and `h` [T, n].

    Raises:
        ValueError: no such file, nothing named A, shapes that do not fit, entries that are not finite.
    """
    place = Path(path)
    try:
        with np.load(place, allow_pickle=False) as held:
            if not isinstance(held, np.lib.npyio.NpzFile):
                raise ValueError("one array alone")
            arrays = {name: held[name] for name in held.files}
    except (OSError, ValueError, EOFError) as error:
        raise ValueError(
            f"{place.name}: cannot be read as an .npz of arrays ({type(error).__name__}); expected A [m, n, n]."
        ) from None
    if "A" not in arrays:
        raise ValueError(f"{place.name}: holds {', '.join(arrays) or 'nothing'}; expected A [m, n, n] and kind.")
    A = vertices(arrays["A"])
    kind = str(arrays.get("kind", "discrete"))
    if kind not in ("discrete", "continuous"):
        raise ValueError(f"kind: got {kind[:40]!r}; expected discrete or continuous.")
    B, h = arrays.get("B"), arrays.get("h")
    if B is not None:
        if B.ndim != 3 or B.shape[:2] != A.shape[:2] or B.dtype.kind not in "fiu" or not np.isfinite(B).all():
            raise ValueError(f"B: got shape {B.shape}; expected finite numbers [{len(A)}, {A.shape[1]}, p].")
        B = B.astype(np.float64)
    if h is not None:
        if h.ndim != 2 or h.shape[1] != A.shape[1] or h.dtype.kind not in "fiu" or not np.isfinite(h).all():
            raise ValueError(f"h: got shape {h.shape}; expected finite numbers [T, {A.shape[1]}].")
        h = h.astype(np.float64)
    unstable = []
    for i, M in enumerate(A):
        values = np.linalg.eigvals(M)
        if kind == "continuous" and (worst := float(values.real.max())) >= 0:
            unstable.append(f"A[{i}] has spectral abscissa {worst:+.2g}: vertex not Hurwitz, no CQLF exists.")
        if kind == "discrete" and (worst := float(np.abs(values).max())) >= 1:
            unstable.append(f"A[{i}] has spectral radius {worst:.4g}: vertex not Schur, no CQLF exists.")
    return LPVSystem(A, "continuous" if kind == "continuous" else "discrete", B, h, tuple(unstable))
