"""Connections between neurons: tables of them, checked, and names that are nearly right."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["Wiring", "neuron_place", "read_cells", "read_wiring"]

KINDS = {"chemical": 0, "excitatory": 1, "inhibitory": 2, "electrical": 3, "gap": 3}
NAMES = {"pre": ("pre", "source", "from"), "post": ("post", "target", "to"), "weight": ("weight", "count"),
         "kind": ("kind", "type")}  # fmt: skip
LARGEST = 200_000  # connections


@dataclass(frozen=True, eq=False)
class Wiring:
    """Who is connected to whom.

    Attributes:
        names: of neurons, sorted.
        pre, post: (c,) places in `names`. weight: (c,) at least 0.
        kind: (c,) 0 chemical of no given sign, 1 excitatory, 2 inhibitory, 3 electrical.
        notes: what was done, one sentence each.
    """

    names: tuple[str, ...]
    pre: np.ndarray
    post: np.ndarray
    weight: np.ndarray
    kind: np.ndarray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pre)


def read_wiring(path: Path) -> Wiring:
    """Connections from a CSV or npz of pre, post, weight, kind, and delay in ms where there is one.

    Self connections are left out; an electrical one that stands in one direction only, or with another weight in the
    other, gets the mean of both.

    Raises:
        ValueError: one sentence: a column that is missing, a name that is empty, a weight that is negative or no
            number, an unknown kind, a delay (graded synapses act at once), or no connections.
    """
    table = read_table(path)
    columns = {str(c).strip().lower(): c for c in table.columns}
    chosen = {key: next((columns[n] for n in names if n in columns), None) for key, names in NAMES.items()}
    if missing := [key for key in ("pre", "post", "weight") if chosen[key] is None]:
        raise ValueError(f"network: got columns {', '.join(columns)}; expected {', '.join(missing)} too.")
    if not 1 <= len(table) <= LARGEST:
        raise ValueError(f"network: got {len(table):,} connections; expected 1 to {LARGEST:,}.")
    pre, post = ([str(v).strip() for v in table[chosen[key]]] for key in ("pre", "post"))
    if empty := [i for i, (p, q) in enumerate(zip(pre, post, strict=True), 2) if {p, q} & {"", "nan"}]:
        raise ValueError(f"network: row {empty[0]} has no name of a neuron; expected one before and one after.")
    weight = np.asarray(pd.to_numeric(table[chosen["weight"]], errors="coerce"), float)
    if (bad := np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))).size:
        got = table[chosen["weight"]].iloc[int(bad[0])]
        raise ValueError(f"network: row {bad[0] + 2} has a weight of {got}; expected a number from 0 on: signs stand "
                         "in kind, excitatory or inhibitory.")  # fmt: skip
    words = (
        ["chemical"] * len(table) if chosen["kind"] is None else [str(v).strip().lower() for v in table[chosen["kind"]]]
    )
    if unknown := [(i, w) for i, w in enumerate(words, 2) if w not in KINDS]:
        raise ValueError(
            f"network: row {unknown[0][0]} has kind {unknown[0][1]!r}; expected one of {', '.join(KINDS)}."
        )
    if "delay" in columns and (late := np.flatnonzero(np.asarray(table[columns["delay"]], float) != 0)).size:
        raise ValueError(f"network: row {late[0] + 2} has a delay of {table[columns['delay']].iloc[int(late[0])]} ms; "
                         "expected 0, for graded synapses act at once.")  # fmt: skip
    names = tuple(sorted({*pre, *post}))
    place = {name: i for i, name in enumerate(names)}
    a, b = np.array([place[p] for p in pre]), np.array([place[q] for q in post])
    kind, notes = np.array([KINDS[w] for w in words]), []
    if own := int((a == b).sum()):
        notes.append(f"{own} connections of a neuron with itself are left out.")
    keep = (a != b) & (weight > 0)
    a, b, weight, kind = a[keep], b[keep], weight[keep], kind[keep]
    a, b, weight, kind, uneven = both_ways(a, b, weight, kind)
    if uneven:
        notes.append(f"{uneven} electrical pairs differed by direction; both get the mean.")
    return Wiring(names, a, b, weight, kind, tuple(notes))


def read_table(path: Path) -> pd.DataFrame:
    """Columns of a CSV, or of an npz whose arrays are as long as each other."""
    if path.suffix == ".npz":
        try:
            with np.load(path, allow_pickle=False) as kept:
                arrays = {name: kept[name] for name in kept.files}
        except (ValueError, OSError) as error:
            raise ValueError(f"network: the npz cannot be read ({str(error).splitlines()[0]}).") from None
        if len({v.shape for v in arrays.values()}) != 1 or next(iter(arrays.values())).ndim != 1:
            shapes = ", ".join(f"{name} {value.shape}" for name, value in arrays.items())
            raise ValueError(f"network: got {shapes}; expected arrays pre, post, weight, kind of one length.")
        return pd.DataFrame(arrays)
    try:
        return pd.read_csv(path, comment="#", keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"network: no CSV of pre, post, weight, kind ({str(error).splitlines()[0]}).") from None


def both_ways(
    pre: np.ndarray, post: np.ndarray, weight: np.ndarray, kind: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Electrical connections once in each direction, with the mean weight; chemical ones summed by pair."""
    chemical = kind != 3
    summed: dict[tuple[int, int, int], float] = {}
    for p, q, w, k in zip(pre[chemical], post[chemical], weight[chemical], kind[chemical], strict=True):
        summed[int(p), int(q), int(k)] = summed.get((int(p), int(q), int(k)), 0.0) + float(w)
    pairs: dict[tuple[int, int], list[float]] = {}
    for p, q, w in zip(pre[~chemical], post[~chemical], weight[~chemical], strict=True):
        way = pairs.setdefault((min(int(p), int(q)), max(int(p), int(q))), [0.0, 0.0])
        way[int(p > q)] += float(w)
    uneven = sum(there != back for there, back in pairs.values())
    rows = [(p, q, w, k) for (p, q, k), w in sorted(summed.items())]
    for (p, q), (there, back) in sorted(pairs.items()):
        mean = (there + back) / 2 if there and back else max(there, back)
        rows += [(p, q, mean, 3), (q, p, mean, 3)]
    table = np.array(rows, float).reshape(-1, 4)
    return table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2], table[:, 3].astype(int), uneven


def neuron_place(name: str, names: tuple[str, ...], field: str = "neuron") -> int:
    """Where a neuron stands among names.

    Raises:
        ValueError: it is not there; the nearest names are told.
    """
    lower = {n.lower(): i for i, n in enumerate(names)}
    if name.strip().lower() in lower:
        return lower[name.strip().lower()]
    near = difflib.get_close_matches(name.strip().lower(), list(lower), n=3, cutoff=0.4)
    nearest = ", ".join(names[lower[n]] for n in near) or ", ".join(names[:3])
    raise ValueError(f"{field}: {name!r} is not in the wiring; nearest are {nearest}.")


def read_cells(path: Path) -> dict[str, tuple[float, float]]:
    """From neuron to length in µm and membrane in µm², of a CSV of name, length_um, area_um2."""
    table = pd.read_csv(path)
    return {
        str(name): (float(length), float(area))
        for name, length, area in zip(table["name"], table["length_um"], table["area_um2"], strict=True)
    }
