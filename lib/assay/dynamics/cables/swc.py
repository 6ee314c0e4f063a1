"""Reconstructed neurons: SWC files, checked, and cut into unbranched sections.

Format: Cannon et al., J. Neurosci. Methods 84, 49 (1998): id, type (1 soma, 2 axon, 3 basal, 4 apical dendrite), x, y,
z, radius in µm, id of the parent, −1 at the root.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["REGIONS", "Morphology", "Section", "read_swc", "sections_of"]

REGIONS = ("neurite", "soma", "axon", "basal", "apical")  # by SWC's type; others are neurites
LARGEST = 20_000_000  # bytes of a file
NOTES = 6  # ids that a sentence lists
WIDE, THIN = 100.0, 0.05  # µm: no radius of a neuron is larger, few are smaller


@dataclass(frozen=True, eq=False)
class Morphology:
    """Points of a neuron, parents before their children.

    Attributes:
        name: what people read.
        ids: (p,) as in the file. kind: (p,) into REGIONS. xyz: (p, 3) µm. radius: (p,) µm.
        parent: (p,) places of parents, −1 at the root.
        notes: what was done to the file, one sentence each.
    """

    name: str
    ids: np.ndarray
    kind: np.ndarray
    xyz: np.ndarray
    radius: np.ndarray
    parent: np.ndarray
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """An unbranched piece of a neuron.

    Attributes:
        kind: into REGIONS. xyz: (q, 3) µm. radius: (q,) µm; at least two points.
        parent: the section it hangs on, −1 for the first. middle: it hangs on its parent's middle, else on its end.
    """

    kind: int
    xyz: np.ndarray
    radius: np.ndarray
    parent: int
    middle: bool = False

    @property
    def length(self) -> float:
        """µm."""
        return float(np.linalg.norm(np.diff(self.xyz, axis=0), axis=1).sum())


def listed(ids: np.ndarray) -> str:
    """Some ids in words."""
    few = ", ".join(str(i) for i in ids[:NOTES])
    return few if len(ids) <= NOTES else f"{few} and {len(ids) - NOTES} more"


def rows_of(text: str) -> np.ndarray:
    """(p, 7) numbers of a file's rows; comments are skipped."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].replace(",", " ").split()
        if not words:
            continue
        if len(words) < 7:
            raise ValueError(
                f"swc: line {number} has {len(words)} columns; expected id, type, x, y, z, radius, parent."
            )
        try:
            row = [float(word) for word in words[:7]]
        except ValueError:
            raise ValueError(f"swc: line {number} says {line.strip()[:40]!r}; expected seven numbers.") from None
        if not np.isfinite(row).all() or any(row[i] != int(row[i]) for i in (0, 1, 6)):
            raise ValueError(f"swc: line {number} has id, type or parent {row[0]:g}, {row[1]:g}, {row[6]:g}; expected "
                             "whole numbers, and finite places.")  # fmt: skip
        rows.append(row)
    if len(rows) < 1:
        raise ValueError("swc: got no points; expected rows of id, type, x, y, z, radius, parent.")
    return np.array(rows)


def read_swc(path: Path, name: str = "") -> Morphology:
    """Points of an SWC file; children that come before their parents are sorted, which a note says.

    Raises:
        ValueError: one sentence: an id that is there twice, parents that are not there, several roots, a cycle, a
            radius that is not above 0 or beyond what a neuron in µm can have, or no text at all.
    """
    if path.stat().st_size > LARGEST:
        raise ValueError(f"swc: the file has {path.stat().st_size:,} bytes; expected at most {LARGEST:,}.")
    try:
        rows = rows_of(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("swc: the file is no text; expected rows of id, type, x, y, z, radius, parent.") from None
    ids, radius = rows[:, 0].astype(int), rows[:, 5]
    values, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"swc: id {listed(values[counts > 1])} is there more than once; expected each once.")
    up = rows[:, 6].astype(int)
    roots = ids[up < 0]
    missing = np.setdiff1d(up[up >= 0], ids)
    if len(missing):
        raise ValueError(f"swc: parent {listed(missing)} is not in the file; expected ids of its points.")
    if len(roots) > 1:
        raise ValueError(f"swc: {len(roots)} roots, ids {listed(roots)}; expected one, for a cell is one tree.")
    place = {int(i): p for p, i in enumerate(ids)}
    parent = np.array([place[int(u)] if u >= 0 else -1 for u in up])
    order = parents_first(parent, ids)
    if (bad := ids[~(radius > 0)]).size:
        raise ValueError(f"swc: radius of id {listed(bad)} is not above 0 µm; expected a positive radius everywhere.")
    if radius.max() > WIDE:
        raise ValueError(
            f"swc: the largest radius is {radius.max():.4g} µm; expected at most {WIDE:g}: is the unit nm?"
        )
    if radius.max() < THIN:
        raise ValueError(
            f"swc: the largest radius is {radius.max():.2g} µm; expected at least {THIN:g}: is the unit mm?"
        )
    notes = []
    if thin := int((radius < THIN).sum()):
        notes.append(f"{thin} points have a radius below {THIN:g} µm; is the unit µm?")
    if (order != np.arange(len(order))).any():
        notes.append("Some children came before their parents; sorted for you.")
        back = np.empty(len(order), int)
        back[order] = np.arange(len(order))
        parent = np.where(parent[order] < 0, -1, back[parent[order]])
    kind = rows[order, 1].astype(int)
    kind = np.where((kind > 0) & (kind < len(REGIONS)), kind, 0)
    return Morphology(name or path.stem, ids[order], kind, rows[order, 2:5], radius[order], parent, tuple(notes))


def parents_first(parent: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """An order with parents before their children, as the file has them where it can."""
    if (parent < np.arange(len(parent))).all():
        return np.arange(len(parent))
    depth = np.full(len(parent), -1)
    for p in range(len(parent)):
        chain, q = [], p
        while q >= 0 and depth[q] < 0:
            chain.append(q)
            q = int(parent[q])
            if len(chain) > len(parent):
                cycle, c = [int(ids[q])], int(parent[q])
                while c != q:
                    cycle.append(int(ids[c]))
                    c = int(parent[c])
                raise ValueError(f"swc: ids {listed(np.array(cycle))} are their own ancestors; expected no cycle.")
        base = depth[q] if q >= 0 else -1
        for step, c in enumerate(reversed(chain)):
            depth[c] = base + 1 + step
    return np.argsort(depth, kind="stable")


def sections_of(morphology: Morphology) -> tuple[list[Section], tuple[str, ...]]:
    """Sections between ends, branches and changes of kind, parents first; and what was left out, in sentences.

    A soma of one point is a cylinder as long as it is wide, which has a sphere's area. A neurite begins at its own
    first point, joined to the soma by a wire; where it has no other, at the soma's point, with its own radius. Points
    that lie where their parent lies are left out.

    Raises:
        ValueError: a section of no length, or a neuron of one point that is no soma.
    """
    parent, kind = morphology.parent, morphology.kind
    children: list[list[int]] = [[] for _ in parent]
    for p, up in enumerate(parent):
        if up >= 0:
            children[up].append(p)
    sections: list[Section] = []
    owner: dict[int, tuple[int, bool]] = {}  # of a point where sections may begin: the section that ends there
    dropped: list[int] = []
    alone = kind[0] == 1 and all(kind[c] != 1 for c in children[0])
    if alone:
        r, at = float(morphology.radius[0]), morphology.xyz[0]
        reach = np.array([0.0, r, 0.0])
        ends = np.stack([at - reach, at + reach])
        sections.append(Section(1, ends, np.array([r, r]), -1))
        owner[0] = (0, True)
    elif not children[0]:
        raise ValueError("swc: one point that is no soma; expected at least two, for a section has a length.")
    else:
        owner[0] = (-1, False)
    waiting = [(0, c) for c in reversed(children[0])]
    while waiting:
        begin, p = waiting.pop()
        run = [p]
        while len(children[run[-1]]) == 1 and kind[children[run[-1]][0]] == kind[p]:
            run.append(children[run[-1]][0])
        end = run[-1]
        from_soma = kind[begin] == 1 and kind[p] != 1
        points = run if from_soma and len(run) > 1 else [begin, *run]
        radius = morphology.radius[points].copy()
        if from_soma and len(run) == 1:
            radius[0] = radius[1]
        xyz = morphology.xyz[points]
        keep = np.append(True, np.linalg.norm(np.diff(xyz, axis=0), axis=1) > 0)
        dropped += [int(morphology.ids[points[j]]) for j in np.flatnonzero(~keep)]
        if keep.sum() < 2:
            if from_soma and np.linalg.norm(morphology.xyz[end] - morphology.xyz[begin]) > 0:
                points, keep = [begin, end], np.array([True, True])
                xyz, radius = morphology.xyz[points], morphology.radius[[end, end]]
            elif not children[end]:
                raise ValueError(
                    f"swc: the section that ends at id {morphology.ids[end]} has no length; expected points apart."
                )
            else:
                owner[end] = owner[begin]
                waiting += [(end, c) for c in reversed(children[end])]
                continue
        onto, middle = owner[begin]
        sections.append(Section(int(kind[p]), xyz[keep], radius[keep], onto, middle))
        owner[end] = (len(sections) - 1, False)
        waiting += [(end, c) for c in reversed(children[end])]
    notes = [f"{len(dropped)} points lie where their parent lies; left out."] if dropped else []
    return sections, tuple(notes)
