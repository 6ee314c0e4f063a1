"""What takes longer: schedules over many trees, times of solvers, gradients against differences, spikes of a crowd."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from assay.data import NEURONS
from assay.dynamics.cables import (
    Membrane,
    cable_of,
    crossings,
    discretise,
    drive_of,
    made_tree,
    read_swc,
    trace_loss,
)
from assay.kernels import (
    Cable,
    cable_adjoint,
    cable_steps,
    cable_torch,
    dhs_schedule,
    node_depth,
    optimal_rounds,
    tree_solve,
    tree_solve_rounds,
)
from workbench.studies.dynamics.heliox.controls import THRESHOLD, study
from workbench.study import Run, exact, numeric, statistical, timing

THREADS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
NAMED = ("ca1_n120.swc", "PVDR.swc", "AVAL.swc")


def random_parent(rng: np.random.Generator, n: int) -> np.ndarray:
    """Parents of a tree that is bushy, long or between."""
    reach = int(rng.choice([1, 2, 4, 16, n]))
    return np.array([-1, *(int(rng.integers(max(0, i - reach), i)) for i in range(1, n))], np.int64)


def system_of(parent: np.ndarray, cells: int, rng: np.random.Generator) -> tuple[torch.Tensor, ...]:
    """a, b, d and rhs of a tree with a dominant diagonal, (n, cells)."""
    a, b = -rng.random((2, len(parent), cells)) - 0.1
    d = 0.5 + rng.random((len(parent), cells))
    below = np.flatnonzero(parent >= 0)
    d[below] -= b[below]
    np.add.at(d, parent[below], -a[below])
    return tuple(torch.from_numpy(v) for v in (a, b, d, rng.normal(size=d.shape)))


@study.experiment(
    "Compare schedules with the optimum",
    tables={
        "trees": {
            "tree": exact("str"), "nodes": exact("int"), "depth": exact("int"), "k": exact("int"),
            "rounds": exact("int"), "optimum": exact("int"), "waste": exact("float", unit="%"),
        },
        "solutions": {
            "nodes": exact("int"), "k": exact("int"),
            "apart": numeric(doc="Largest difference to the dense solution, over its largest value."),
        },
    },
    cost={"quick": 1, "standard": 3, "full": 15},
)  # fmt: skip
def schedules(run: Run, tree: Any, trees: int) -> None:
    """Rounds of random trees, of reconstructions and of the neuron that is set, and solutions in their order."""
    rng = run.rng("trees")
    cases = [("yours", tree.parent)]
    cases += [(name.removesuffix(".swc"), discretise(read_swc(NEURONS / name), 40.0).parent) for name in NAMED]
    for name, parent in cases:
        depth = int(node_depth(parent).max()) + 1
        for k in THREADS:
            found = dhs_schedule(parent, k)
            run.row("trees", tree=name, nodes=len(parent), depth=depth, k=k, rounds=len(found),
                    optimum=optimal_rounds(parent, k), waste=100 * found.waste)  # fmt: skip
    for number in run.progress(range(trees), "random trees"):
        parent = random_parent(rng, int(rng.integers(2, 300)))
        k = int(rng.integers(1, 33))
        found = dhs_schedule(parent, k)
        run.row("trees", tree="random", nodes=len(parent), depth=int(node_depth(parent).max()) + 1, k=k,
                rounds=len(found), optimum=optimal_rounds(parent, k), waste=100 * found.waste)  # fmt: skip
        if number % 10 == 0:
            a, b, d, rhs = system_of(parent, 1, rng)
            matrix = torch.diag(d[:, 0])
            below = np.flatnonzero(parent >= 0)
            matrix[parent[below], below], matrix[below, parent[below]] = a[below, 0], b[below, 0]
            want = torch.linalg.solve(matrix, rhs)
            apart = (tree_solve_rounds(a, b, d, rhs, found) - want).abs().max() / want.abs().max()
            run.row("solutions", nodes=len(parent), k=k, apart=float(apart))


def least(turns: int, function: Callable[[], object]) -> list[float]:
    """Seconds of each turn, after one that is not counted."""
    function()
    found = []
    for _ in range(turns):
        began = time.perf_counter()
        function()
        found.append(time.perf_counter() - began)
    return found


def passive_cable(parent: np.ndarray) -> Cable:
    """A squid axon's membrane on a tree given by its parents alone, all compartments alike."""
    n, g = len(parent), 0.01
    axial = np.where(parent >= 0, g, 0.0)
    np.add.at(axial, parent[parent >= 0], g)
    whole = np.ones(n)
    return Cable(parent, -g * whole, -g * whole, axial, whole, 3e-4 * whole, 0.12 * whole, 0.036 * whole,
                 -54.3 * whole, 0.1 * whole)  # fmt: skip


@study.experiment(
    "Time the solvers",
    tables={
        "speed": {
            "solver": exact("str"), "cells": exact("int"), "turn": exact("int"), "nodes": exact("int"),
            "rate": timing(doc="Millions of compartment-steps a second, one thread."),
        },
        "autodiff": {
            "nodes": exact("int"), "steps": exact("int"), "turn": exact("int"),
            "ratio": timing(doc="Seconds of autograd over seconds of the hand-written adjoint, forwards included."),
        },
        "memory": {
            "nodes": exact("int"), "steps": exact("int"), "cells": exact("int"),
            "autograd": exact("float", unit="MB", doc="Saved for the way back by autograd, each storage once."),
            "tape": exact("float", unit="MB", doc="Kept by the exact adjoint: voltages and gates."),
            "frozen": exact("float", unit="MB", doc="Kept by the frozen adjoint: voltages."),
        },
    },
    cost={"quick": 2, "standard": 15, "full": 120},
)  # fmt: skip
def solvers(run: Run, cells: int, turns: int) -> None:
    """Steps of Hodgkin–Huxley cells from one to many side by side, beside other solves; tapes against autograd.

    A tree of 50 compartments of which every fourth forks; 20 steps of 0.025 ms.
    """
    parent = np.array([-1, *((i - 1) // 2 if i % 4 == 0 else i - 1 for i in range(1, 50))], np.int64)
    cable, n, steps = passive_cable(parent), len(parent), 20
    sizes = [c for c in (1, 8, 64, 256, 1000, 4000, 16_000, 64_000) if c < cells] + [cells]
    rng = run.rng("solvers")
    for count in run.progress(sizes, "cells side by side"):
        drive = drive_of(0, np.full((steps, count), 0.3), 0.025)
        for turn, took in enumerate(least(turns, lambda d=drive: cable_steps(cable, d, record=np.array([0])))):
            run.row("speed", solver="fused steps", cells=count, turn=turn, nodes=n, rate=n * steps * count / took / 1e6)
        a, b, d, rhs = system_of(parent, count, rng)
        schedule = dhs_schedule(parent, 8)
        up = torch.from_numpy(parent)
        ways: dict[str, Callable[[], object]] = {
            "tree solve": lambda a=a, b=b, d=d, rhs=rhs, up=up: tree_solve(a, b, d, rhs, up),
            "solve in rounds": lambda a=a, b=b, d=d, rhs=rhs, s=schedule: tree_solve_rounds(a, b, d, rhs, s),
        }
        if count <= 256:
            matrix = torch.diag_embed(d.T.contiguous())
            ways["dense solve"] = lambda m=matrix, rhs=rhs: torch.linalg.solve(m, rhs.T)
        for name, way in ways.items():
            for turn, took in enumerate(least(turns, way)):
                run.row("speed", solver=name, cells=count, turn=turn, nodes=n, rate=n * count / took / 1e6)
    for length, many in ((20, 1), (40, 4), (80, 8)):
        drive = drive_of(0, np.full((length, many), 0.3), 0.025)
        saved: dict[int, int] = {}

        def keep(x: torch.Tensor, saved: dict[int, int] = saved) -> torch.Tensor:
            saved[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
            return x

        leaves = {"sodium": torch.from_numpy(cable.sodium.copy()).requires_grad_()}
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
            v = cable_torch(cable, drive, leaves=leaves)
        taped, half = (cable_steps(cable, drive, tape=mode).tape_bytes for mode in ("exact", "frozen"))
        run.row("memory", nodes=n, steps=length, cells=many, autograd=sum(saved.values()) / 1e6, tape=taped / 1e6,
                frozen=half / 1e6)  # fmt: skip
        v.sum().backward()
    drive = drive_of(0, np.full((steps, 8), 0.3), 0.025)

    def by_autograd() -> None:
        leaves = {"sodium": torch.from_numpy(cable.sodium.copy()).requires_grad_()}
        cable_torch(cable, drive, leaves=leaves).square().mean().backward()

    def by_hand() -> None:
        own = cable_steps(cable, drive, tape="exact")
        cable_adjoint(cable, drive, own, 2 * own.v / own.v.size)

    pairs = zip(least(turns, by_autograd), least(turns, by_hand), strict=True)
    for turn, (theirs, ours) in enumerate(pairs):
        run.row("autodiff", nodes=n, steps=steps, turn=turn, ratio=theirs / ours)


WINDOWS = (2.0, 5.0, 10.0)
SODIUM = (0.0, 0.06, 0.12, 0.24)


@study.experiment(
    "Check the gradients",
    tables={
        "cases": {
            "sodium": exact("float", unit="S/cm²"), "window": exact("float", unit="ms"), "repeat": exact("int"),
            "spikes": exact("int"), "apart": numeric(doc="Exact adjoint less differences, over their length."),
            "cosine": numeric(doc="Of the frozen and the exact gradient by density."),
            "longer": numeric(doc="Length of the frozen gradient over the exact one's."),
        },
        "parts": {
            "sodium": exact("float", unit="S/cm²"), "window": exact("float", unit="ms"), "repeat": exact("int"),
            "name": exact("str"), "exact": numeric("mV²"), "frozen": numeric("mV²"), "differences": numeric("mV²"),
        },
        "passive": {"repeat": exact("int"), "apart": numeric(doc="Frozen less exact where there are no channels.")},
    },
    cost={"quick": 1, "standard": 2, "full": 4},
)  # fmt: skip
def gradients(run: Run, dt: float, scheme: str, seeds: int) -> None:
    """Exact, frozen and eighth-order differences on a ball-and-stick of 16 compartments, over sodium and window.

    The loss is the mean square distance to a teacher whose densities are drawn within 30 %; gradients by logarithms.
    """
    step = min(dt, 0.1)
    base = made_tree("ball-and-stick", 40.0)
    for repeat in run.progress(range(seeds), "repeats"):
        rng = run.rng("gradients", repeat)
        for sodium in SODIUM:
            own = {("all", "leak"): 3e-4, ("all", "na"): sodium, ("all", "k"): 0.036 if sodium else 0.0}
            cable = cable_of(base, Membrane(own))
            factor = np.exp(rng.uniform(-0.3, 0.3, 3))
            teacher = replace(cable, sodium=cable.sodium * factor[0], potassium=cable.potassium * factor[1],
                              leak=cable.leak * factor[2])  # fmt: skip
            for window in WINDOWS:
                count = round(window / step)
                drive = drive_of(base.soma, np.full(count, float(rng.uniform(0.6, 1.2))), step, scheme)
                record = np.array([base.soma])
                goal = cable_steps(teacher, drive, record=record).v
                found = densities(cable, drive, goal, record)
                names = ("sodium", "potassium", "leak") if sodium else ("leak",)
                differences = np.array([by_differences(cable, drive, goal, record, name) for name in names])
                e, f = (np.array([found[mode][name] for name in names]) for mode in ("exact", "frozen"))
                size = max(float(np.linalg.norm(differences)), 1e-300)
                if sodium:
                    lengths = float(np.linalg.norm(e)), float(np.linalg.norm(f))
                    run.row(
                        "cases", sodium=sodium, window=window, repeat=repeat,
                        spikes=int(crossings(found["v"][:, 0, 0], THRESHOLD).sum()),
                        apart=float(np.linalg.norm(e - differences)) / size,
                        cosine=float(e @ f) / max(lengths[0] * lengths[1], 1e-300), longer=lengths[1] / lengths[0],
                    )  # fmt: skip
                else:
                    run.row("passive", repeat=repeat, apart=float(np.abs(f - e).max()) / size)
                for name, a, b, c in zip(names, e, f, differences, strict=True):
                    run.row("parts", sodium=sodium, window=window, repeat=repeat, name=name, exact=a, frozen=b,
                            differences=c)  # fmt: skip


def densities(cable: Cable, drive: Any, goal: np.ndarray, record: np.ndarray) -> dict[str, Any]:
    """Both gradients by logarithms of the three densities, and the voltages."""
    run = cable_steps(cable, drive, record=record, tape="exact")
    slope = trace_loss(run.v, goal)[1]
    found: dict[str, Any] = {"v": run.v}
    for mode in ("exact", "frozen"):
        g = cable_adjoint(cable, drive, run, slope, mode=mode)
        found[mode] = {
            "leak": float((cable.leak * g.leak).sum()),
            "sodium": float((cable.sodium * g.sodium).sum()) if len(g.sodium) else 0.0,
            "potassium": float((cable.potassium * g.potassium).sum()) if len(g.potassium) else 0.0,
        }
    return found


def by_differences(cable: Cable, drive: Any, goal: np.ndarray, record: np.ndarray, name: str, h: float = 1e-3) -> float:
    """∂L/∂ log ḡ by central differences of eighth order."""
    values = []
    for step in (1, 2, 3, 4):
        pair = [
            float(trace_loss(cable_steps(replace(cable, **{name: getattr(cable, name) * np.exp(s * step * h)}), drive,
                                         record=record).v, goal)[0].mean())
            for s in (1, -1)
        ]  # fmt: skip
        values.append(pair[0] - pair[1])
    return float(np.dot([4 / 5, -1 / 5, 4 / 105, -1 / 280], values) / h)


CROWDS = (1, 3, 10, 30, 100, 302)


@study.experiment(
    "Count steps without a spike",
    tables={
        "crowds": {
            "cells": exact("int"), "repeat": exact("int"), "free": statistical("%", doc="Steps at which nobody fires."),
            "hertz": statistical("Hz", doc="Mean rate of a cell."),
        },
    },
    cost={"quick": 1, "standard": 3, "full": 5},
)  # fmt: skip
def spikes(run: Run, seeds: int) -> None:
    """Ball-and-sticks under noisy currents, up to as many as a worm has neurons: how often does nobody fire?

    100 ms at 0.025 ms; each cell has a current of its own, and fires at a rate of its own.
    """
    base = made_tree("ball-and-stick", 200.0)
    cable, count = cable_of(base, Membrane()), 4000
    for repeat in run.progress(range(seeds), "repeats"):
        rng = run.rng("crowd", repeat)
        level = rng.uniform(0.2, 1.2, max(CROWDS))
        noise = np.repeat(rng.normal(0, 0.4, (count // 80, max(CROWDS))), 80, 0)
        v = cable_steps(cable, drive_of(base.soma, level + noise, 0.025), record=np.array([base.soma])).v[:, 0]
        fired = crossings(v, THRESHOLD)[1:]
        for cells in CROWDS:
            own = fired[:, :cells]
            run.row("crowds", cells=cells, repeat=repeat, free=100 * float((~own.any(1)).mean()),
                    hertz=float(own.sum()) / cells / (count * 0.025e-3))  # fmt: skip
