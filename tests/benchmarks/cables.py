"""One side of the benchmark of cables: reads a case's name a line, runs it once, answers with its seconds.

1,000 ball-and-sticks of 52 compartments with Hodgkin–Huxley channels, 10 ms at 0.025 ms, a current into each soma; both
sides in float64 on two threads, without what sets them up. NEURON looks rates up in tables, as it does by itself, or
computes them, as we do.
"""

import sys
from importlib import import_module, metadata
from pathlib import Path

import numpy as np
import torch
from answering import Case, answer

CELLS, LONGEST, DT, STEPS, THREADS = 1000, 12.0, 0.025, 400, 2
AMPLITUDE = 1.0  # nA


def ours() -> dict[str, Case]:
    from assay.dynamics.cables import Membrane, Pulse, cable_of, drive_of, made_tree, pulse_current
    from assay.kernels import cable_adjoint, cable_steps

    torch.set_num_threads(THREADS)
    tree = made_tree("ball-and-stick", LONGEST)
    cable = cable_of(tree, Membrane())
    current = pulse_current(Pulse(AMPLITUDE, 1.0, 100.0), DT, STEPS)
    record = np.array([tree.soma])
    drive = drive_of(tree.soma, np.repeat(current[:, None], CELLS, 1), DT)
    one = drive_of(tree.soma, current, DT)
    few = drive_of(tree.soma, np.repeat(current[:, None], CELLS // 10, 1), DT)
    kept = cable_steps(cable, few, record=record, tape="exact")
    # what the state of all cells weighs, read and written once a step
    state = torch.zeros(5 * len(tree) * CELLS, dtype=torch.float64)
    other = torch.empty_like(state)

    def through_memory() -> None:
        for _ in range(STEPS):
            other.copy_(state)

    return {
        "cells": lambda: cable_steps(cable, drive, record=record),
        "one cell": lambda: [cable_steps(cable, one, record=record) for _ in range(10)],
        "memory": through_memory,
        "adjoint": lambda: cable_adjoint(cable, few, kept, kept.v),
        "forward of a tenth": lambda: cable_steps(cable, few, record=record),
    }


def neurons() -> dict[str, Case]:
    sys.path.append(str(Path(__file__).parents[1] / "assay" / "dynamics" / "cables"))
    from neuron import h

    Neuron = import_module("neuron_simulator").Neuron

    from assay.dynamics.cables import made_sections

    sections = made_sections("ball-and-stick", np.random.default_rng(0))
    cells = []
    for _ in range(CELLS):
        cells.append(Neuron(sections, LONGEST, hh=(0.12, 0.036, 0.0003)))
        cells[-1].clamp(cells[-1].sections[0](0.25), AMPLITUDE, 1.0, 100.0)
    h.ParallelContext().nthread(THREADS)
    h.dt, h.steps_per_ms, h.secondorder = DT, 1 / DT, 0

    def run(tables: int) -> None:
        h.usetable_hh = tables
        h.finitialize(-65)
        peak = -65.0
        for _ in range(STEPS):
            h.fadvance()
            peak = max(peak, cells[0].sections[0](0.25).v)  # which keeps them all alive too
        assert peak > 0, "it fires"

    return {"tables": lambda: run(1), "rates": lambda: run(0)}


def serve(library: str) -> None:
    ready = ours() if library == "assay" else neurons()
    name = "numba" if library == "assay" else library
    answer(ready, f"{name} {metadata.version(name)}")


if __name__ == "__main__":
    serve(sys.argv[1])
