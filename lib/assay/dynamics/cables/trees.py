"""Trees of compartments: a neuron's sections cut to a largest length, and shapes whose solution is known.

Compartments have a membrane; a junction, where a section's end meets two or more others, has none. Areas and axial
resistances are integrals over the truncated cones between points, as in NEURON's three-dimensional sections.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from assay.dynamics.cables.swc import Morphology, Section, sections_of

__all__ = ["MOST", "SHAPES", "Tree", "discretise", "made_sections", "made_tree"]

MOST = 100_000  # compartments on a processor
SHAPES = ("ball-and-stick", "caterpillar", "binary", "random")


@dataclass(frozen=True, eq=False)
class Tree:
    """A neuron in compartments.

    Attributes:
        name: what people read.
        parent: (n,) each before its children, −1 at the root.
        area: (n,) µm² of membrane; 0 at junctions.
        resistance: (n,) 1/µm from a node's middle to its parent's, ∫ dl / (π r²); 0 at the root.
        kind: (n,) into `REGIONS` of `swc`. xyz: (n, 3) µm, middles. ends: (n, 2, 3) µm.
        radius, length: (n,) µm; 0 at junctions.
        section: (n,) of which section.
        notes: what was done to the file.
    """

    name: str
    parent: np.ndarray
    area: np.ndarray
    resistance: np.ndarray
    kind: np.ndarray
    xyz: np.ndarray
    ends: np.ndarray
    radius: np.ndarray
    length: np.ndarray
    section: np.ndarray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def compartments(self) -> np.ndarray:
        """Nodes that have a membrane."""
        return np.flatnonzero(self.area > 0)

    @property
    def soma(self) -> int:
        """The soma's node nearest the root, or the first compartment where there is none."""
        somatic = np.flatnonzero((self.kind == 1) & (self.area > 0))
        return int(somatic[0]) if len(somatic) else int(self.compartments[0])

    def path(self, node: int) -> np.ndarray:
        """Nodes from the root to a node."""
        found = [node]
        while self.parent[found[-1]] >= 0:
            found.append(int(self.parent[found[-1]]))
        return np.array(found[::-1])

    @functools.cached_property
    def distance(self) -> np.ndarray:
        """(n,) µm along the tree from the root's middle, as the crow flies between middles."""
        steps = np.linalg.norm(self.xyz - self.xyz[np.maximum(self.parent, 0)], axis=1)
        far = np.zeros(len(self))
        for i in range(1, len(self)):
            far[i] = far[self.parent[i]] + steps[i]
        return far


def cut(section: Section, pieces: int) -> tuple[np.ndarray, ...]:
    """Areas (m,), half resistances (m, 2), middles (m, 3), ends (m, 2, 3) and mean radii (m,) of equal pieces."""
    steps = np.linalg.norm(np.diff(section.xyz, axis=0), axis=1)
    along = np.append(0.0, np.cumsum(steps))
    marks = np.linspace(0, along[-1], 2 * pieces + 1)
    every = np.unique(np.concatenate([along, marks]))
    r = np.interp(every, along, section.radius)
    dl = np.diff(every)
    # slant of the cone that a part belongs to, not of the part: the radius falls linearly along each step
    of = np.clip(np.searchsorted(along, (every[1:] + every[:-1]) / 2) - 1, 0, len(steps) - 1)
    slope = np.diff(section.radius)[of] / steps[of]
    area = np.pi * (r[1:] + r[:-1]) * dl * np.sqrt(1 + slope**2)
    resistance = dl / (np.pi * r[1:] * r[:-1])
    half = np.clip(np.searchsorted(marks, (every[1:] + every[:-1]) / 2) - 1, 0, 2 * pieces - 1)
    areas = np.bincount(half, area, 2 * pieces).reshape(pieces, 2).sum(1)
    halves = np.bincount(half, resistance, 2 * pieces).reshape(pieces, 2)
    places = np.stack([np.interp(marks, along, section.xyz[:, k]) for k in range(3)], 1)
    ends = np.stack([places[0:-1:2], places[2::2]], 1)
    radii = np.bincount(half, dl * (r[1:] + r[:-1]) / 2, 2 * pieces).reshape(pieces, 2).sum(1) / (along[-1] / pieces)
    return areas, halves, places[1::2], ends, radii


def discretise(source: Morphology | list[Section], longest: float, name: str = "") -> Tree:
    """Cut every section into equal compartments, none longer than asked.

    Args:
        source: a morphology, or its sections, parents first.
        longest: µm.

    Raises:
        ValueError: a length that is not above 0, or more than 100,000 compartments.
    """
    if not longest > 0:
        raise ValueError(f"length: got {longest:g} µm; expected above 0.")
    notes: tuple[str, ...] = ()
    if isinstance(source, Morphology):
        sections, left = sections_of(source)
        name, notes = name or source.name, (*source.notes, *left)
    else:
        sections = source
    pieces = [max(1, int(np.ceil(s.length / longest - 1e-9))) for s in sections]
    if sum(pieces) > MOST:
        raise ValueError(f"length: {longest:g} µm makes {sum(pieces):,} compartments; expected at most {MOST:,} on a "
                         "processor: cut it more coarsely.")  # fmt: skip
    below: list[list[int]] = [[] for _ in sections]
    first = []
    for number, section in enumerate(sections):
        if section.parent >= 0:
            if not section.middle:
                below[section.parent].append(number)
        else:
            first.append(number)
    nodes: list[dict[str, object]] = []

    def add(parent: int, resistance: float, **values: object) -> int:
        nodes.append({"parent": parent, "resistance": resistance, **values})
        return len(nodes) - 1

    def junction(parent: int, resistance: float, at: np.ndarray, number: int) -> int:
        return add(parent, resistance, area=0.0, kind=sections[number].kind, xyz=at, ends=np.stack([at, at]),
                   radius=0.0, length=0.0, section=number)  # fmt: skip

    tail: dict[int, tuple[int, float]] = {}  # of a section: the node at its end, and the resistance to the end itself
    centre: dict[int, int] = {}
    root = (-1, 0.0)
    if len(first) > 1:
        root = (junction(-1, 0.0, sections[first[0]].xyz[0], first[0]), 0.0)
    for number, section in enumerate(sections):
        areas, halves, middles, ends, radii = cut(section, pieces[number])
        if section.parent < 0:
            before, left = root
        elif section.middle:
            before, left = centre[section.parent], 0.0
        else:
            before, left = tail[section.parent]
        for j in range(pieces[number]):
            resistance = left + halves[j, 0] if before >= 0 else 0.0
            before = add(before, resistance, area=areas[j], kind=section.kind, xyz=middles[j], ends=ends[j],
                         radius=radii[j], length=section.length / pieces[number], section=number)  # fmt: skip
            left = halves[j, 1]
            if j == (pieces[number] - 1) // 2:
                centre[number] = before
        if len(below[number]) > 1:
            before, left = junction(before, left, section.xyz[-1], number), 0.0
        tail[number] = (before, left)
    columns = {key: np.array([node[key] for node in nodes]) for key in nodes[0]}
    return Tree(
        name, columns["parent"].astype(np.int64), columns["area"], columns["resistance"], columns["kind"],
        columns["xyz"], columns["ends"], columns["radius"], columns["length"], columns["section"], notes,
    )  # fmt: skip


def stick(start: np.ndarray, way: np.ndarray, length: float, radius: float, parent: int, kind: int = 3) -> Section:
    """A straight cylinder."""
    return Section(kind, np.array([start, start + length * way]), np.array([radius, radius]), parent)


def turned(way: np.ndarray, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * way[0] - s * way[1], s * way[0] + c * way[1], way[2]])


def made_sections(shape: str, rng: np.random.Generator) -> list[Section]:
    """Sections of a shape by name, in a plane; only `random` draws."""
    up = np.array([0.0, 1.0, 0.0])
    soma = Section(1, np.array([[0.0, -10, 0], [0.0, 10, 0]]), np.array([10.0, 10.0]), -1)
    top = np.array([0.0, 10, 0])
    if shape == "ball-and-stick":
        return [soma, stick(top, up, 600, 1.0, 0)]
    sections = [soma]
    if shape == "caterpillar":
        at, onto = top, 0
        for step in range(16):
            sections.append(stick(at, up, 40, 1.2, onto))
            at, onto = at + 40 * up, len(sections) - 1
            side = turned(up, (1 if step % 2 else -1) * np.pi / 2.5)
            sections.append(stick(at, side, 60, 0.5, onto, 3))
        return sections
    if shape == "binary":
        waiting = [(top, up, 0, 160.0, 1.6, 0)]
        while waiting:
            at, way, onto, length, radius, level = waiting.pop(0)
            sections.append(stick(at, way, length, radius, onto))
            if level < 6:
                number, tip = len(sections) - 1, at + length * way
                spread = 0.75 * 0.72**level
                waiting += [
                    (tip, turned(way, sign * spread), number, 0.82 * length, radius * 0.63, level + 1)
                    for sign in (-1, 1)
                ]
        return sections
    if shape != "random":
        raise ValueError(f"shape: got {shape!r}; expected one of {', '.join(SHAPES)}.")
    tips = [(top, turned(up, a), 0, 1.5) for a in (-2.0, -0.5, 0.6, 2.2)]
    while tips and len(sections) < 80:
        at, way, onto, radius = tips.pop(int(rng.integers(len(tips))))
        length = float(rng.gamma(4.0, 22.0))
        sections.append(stick(at, way, length, radius, onto))
        if rng.random() < 0.62 or len(tips) < 2:
            number, tip = len(sections) - 1, at + length * way
            tips += [(tip, turned(way, float(rng.normal(sign * 0.5, 0.2))), number, max(0.3, 0.75 * radius))
                     for sign in (-1, 1)]  # fmt: skip
    return sections


def made_tree(shape: str, longest: float, rng: np.random.Generator | None = None) -> Tree:
    """A shape by name, cut to a largest length in µm.

    Raises:
        ValueError: no such shape.
    """
    return discretise(made_sections(shape, rng or np.random.default_rng(0)), longest, shape)
