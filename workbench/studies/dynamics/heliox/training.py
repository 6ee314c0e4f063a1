"""What gradients are for: densities of a neuron fitted to a trace, and weights of a circuit fitted to its voltages."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.dynamics.cables import (
    Circuit,
    adam,
    discretise,
    drive_of,
    fit_weights,
    made_tree,
    trace_loss,
    weight_gradient,
)
from assay.kernels import Cable, cable_adjoint, cable_steps
from workbench.studies.dynamics.heliox.controls import cable_of, off_by, study
from workbench.study import Run, exact, statistical

FIT_MS = 8.0
HELD_OUT = 1.25  # the current of the trace that judges a fit, over the one that was fitted
MODES = ("exact", "frozen", "differences")
DT = 0.1  # ms, of circuits


@study.experiment(
    "Fit the densities",
    tables={
        "fits": {
            "mode": exact("str"), "repeat": exact("int"), "step": exact("int"), "loss": statistical("mV²"),
        },
        "ends": {
            "mode": exact("str"), "repeat": exact("int"), "first": statistical("mV²"), "last": statistical("mV²"),
            "held_out": statistical("mV²", doc="At 1.25 times the current."),
            "sodium": statistical(doc="Over the teacher's."), "potassium": statistical(), "leak": statistical(),
        },
    },
    cost={"quick": 2, "standard": 25, "full": 300},
)  # fmt: skip
def fit(
    run: Run, morphology: Any, neuron: Any, membrane: Any, recorded: np.ndarray | None, current: float, dt: float,
    scheme: str, rate: float, clip: float, steps: int, seeds: int, seed: int,
) -> None:  # fmt: skip
    """Adam on three densities with exact gradients, frozen ones and differences, from starts within a factor of 1.5.

    The neuron is cut into compartments of 200 µm, and 8 ms are fitted; a recording of yours takes the teacher's place.
    """
    base = (
        made_tree(neuron.name, 200.0, np.random.default_rng([seed, 1])) if morphology is None
        else discretise(morphology, 200.0)
    )  # fmt: skip
    teacher = cable_of(base, membrane)
    record = np.array([base.soma])
    count = min(round(FIT_MS / dt), len(recorded) - 1 if recorded is not None else 10**9)
    drive, other = (
        drive_of(base.soma, np.where(np.arange(count) * dt >= 1.0, factor * current, 0.0), dt, scheme)
        for factor in (1.0, HELD_OUT)
    )
    goal = cable_steps(teacher, drive, record=record).v if recorded is None else recorded[: count + 1]
    judged = cable_steps(teacher, other, record=record).v
    for repeat in run.progress(range(seeds), "repeats"):
        start = run.rng("fit", repeat).uniform(-np.log(1.5), np.log(1.5), 3)
        for mode in run.progress(MODES, "gradients"):
            found = adam(
                lambda u, m=mode: log_gradient(teacher, u, drive, goal, record, m, clip), start, steps, rate,
                each=lambda step, loss, m=mode, r=repeat: told(run, m, r, step, loss),
            )  # fmt: skip
            factor = np.exp(found.values)
            held = trace_loss(cable_steps(off_by(teacher, factor), other, record=record).v, judged)[0].mean()
            run.row("ends", mode=mode, repeat=repeat, first=found.losses[0], last=float(found.losses.min()),
                    held_out=float(held), sodium=factor[0], potassium=factor[1], leak=factor[2])  # fmt: skip


def told(run: Run, mode: str, repeat: int, step: int, loss: float) -> None:
    run.check()
    run.row("fits", mode=mode, repeat=repeat, step=step, loss=loss)


def log_gradient(
    teacher: Cable, u: np.ndarray, drive: Any, goal: np.ndarray, record: np.ndarray, mode: str, clip: float
) -> tuple[float, np.ndarray]:
    """Loss and its gradient by logarithms of three factors on the densities."""
    u = np.clip(u, -3, 3)
    own = off_by(teacher, np.exp(u))
    if mode == "differences":
        h, values = 1e-4, []
        for sign in (1, -1):
            values.append([
                float(trace_loss(cable_steps(off_by(teacher, np.exp(u + sign * h * e)), drive, record=record).v,
                                 goal)[0].mean())
                for e in np.eye(3)
            ])  # fmt: skip
        loss = float(trace_loss(cable_steps(own, drive, record=record).v, goal)[0].mean())
        return loss, (np.array(values[0]) - np.array(values[1])) / (2 * h)
    run = cable_steps(own, drive, record=record, tape="exact")
    loss, slope = trace_loss(run.v, goal)
    g = cable_adjoint(own, drive, run, slope, mode=mode, clip=clip)  # pyright: ignore[reportArgumentType]
    parts = ((own.sodium, g.sodium), (own.potassium, g.potassium), (own.leak, g.leak))
    return float(loss.mean()), np.array([float((x * y).sum()) if len(y) else 0.0 for x, y in parts])


def patterns(circuit: Circuit, count: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """(steps, cells, count) nA: a fifteenth of the neurons driven from 2 ms on, by 20 to 60 mV over their leak."""
    cells = len(circuit.names)
    leak = np.add.reduceat(circuit.cable.leak / circuit.cable.per_area, circuit.soma)
    found = np.zeros((steps, cells, count))
    for r in range(count):
        own = rng.choice(cells, max(1, cells // 15), replace=False)
        found[round(2.0 / DT) :, own, r] = rng.uniform(20, 60, len(own)) * leak[own]
    return found


@study.experiment(
    "Train the circuit",
    tables={
        "fits": {
            "mode": exact("str"), "repeat": exact("int"), "step": exact("int"), "loss": statistical("mV²"),
        },
        "ends": {
            "mode": exact("str"), "repeat": exact("int"), "first": statistical("mV²"), "last": statistical("mV²"),
            "held_first": statistical("mV²", doc="On other patterns, before."),
            "held_last": statistical("mV²", doc="And after."),
            "recovered": statistical(doc="Correlation of log weights with the teacher's."),
            "cosine": statistical(doc="Of the two gradients at the start."), "tape": exact("float", unit="MB"),
            "synapses": exact("int"), "cells": exact("int"),
        },
        "traces": {
            "neuron": exact("str"), "t": exact("float", unit="ms"), "teacher": statistical("mV"),
            "before": statistical("mV"), "after": statistical("mV"),
        },
    },
    cost={"quick": 3, "standard": 45, "full": 1800},
)  # fmt: skip
def train(
    run: Run, circuit: Circuit, driven_place: int, rate: float, steps: int, horizon: float, stimuli: int, seeds: int
) -> None:
    """Weights of all graded synapses, drawn anew within a factor of two, fitted to the voltages of the given ones.

    What is learned is judged on other patterns: many sets of weights fit the same traces.
    """
    count = round(horizon / DT)
    for repeat in run.progress(range(seeds), "repeats"):
        rng = run.rng("circuit", repeat)
        drives = [drive_of(circuit.soma, patterns(circuit, stimuli, count, rng), DT) for _ in range(2)]
        goals = [cable_steps(circuit.cable, d, circuit.synapses, record=circuit.soma).v for d in drives]
        start = rng.normal(0, np.log(2), len(circuit.weight))
        first = [weight_gradient(circuit, circuit.scaled(np.exp(start)), d, g, "exact")
                 for d, g in zip(drives, goals, strict=True)]  # fmt: skip
        other = weight_gradient(circuit, circuit.scaled(np.exp(start)), drives[0], goals[0], "frozen")[1]
        cosine = float(first[0][1] @ other / max(np.linalg.norm(first[0][1]) * np.linalg.norm(other), 1e-300))
        for mode in run.progress(("exact", "frozen"), "adjoints"):

            def each(step: int, loss: float, mode: str = mode, repeat: int = repeat) -> None:
                told(run, mode, repeat, step, loss)

            found = fit_weights(circuit, drives[0], goals[0], start, steps=steps, rate=3 * rate, mode=mode, each=each)
            learnt = circuit.scaled(np.exp(found.values))
            end = cable_steps(circuit.cable, drives[1], learnt, record=circuit.soma).v
            held = float(trace_loss(end, goals[1])[0].mean())
            moved = np.corrcoef(np.log(circuit.weight) + found.values, np.log(circuit.weight))[0, 1]
            run.row("ends", mode=mode, repeat=repeat, first=found.losses[0], last=float(found.losses.min()),
                    held_first=first[1][0], held_last=held, recovered=float(moved), cosine=cosine,
                    tape=first[0][2] / 1e6, synapses=len(circuit.weight), cells=len(circuit.names))  # fmt: skip
            if repeat == 0 and mode == "exact":
                before = cable_steps(circuit.cable, drives[1], circuit.scaled(np.exp(start)), record=circuit.soma).v
                spread = np.abs(before - goals[1]).max((0, 2))
                for place in [driven_place, *np.argsort(-spread)[:2].tolist()]:
                    for t in range(0, count + 1, max(1, count // 100)):
                        run.row("traces", neuron=circuit.names[place], t=t * DT, teacher=goals[1][t, place, 0],
                                before=before[t, place, 0], after=end[t, place, 0])  # fmt: skip
