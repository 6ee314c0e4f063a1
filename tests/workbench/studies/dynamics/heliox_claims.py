"""Evidence fixtures of HelioX: claim -> verdict -> what the claim's function is given."""

import functools

from given_results import given_result

from workbench.registry import registry

result = functools.partial(given_result, registry().get("heliox"))


def autodiff(*ratios):
    rows = [{"nodes": 50, "steps": 20, "turn": i, "ratio": r} for i, r in enumerate(ratios)]
    return {"solvers": result("solvers", autodiff=rows)}


def speed(*gains):
    rows = [
        {"solver": "fused steps", "cells": cells, "turn": i, "nodes": 50, "rate": 5.0 * (gain if cells > 1 else 1)}
        for i, gain in enumerate(gains)
        for cells in (1, 1000)
    ]
    return {"solvers": result("solvers", speed=rows)}


def memory(*ratios):
    rows = [{"nodes": 50, "steps": 20, "cells": 1, "autograd": r, "tape": 1.0, "frozen": 0.25} for r in ratios]
    return {"solvers": result("solvers", memory=rows)}


def crowds(*shares):
    rows = [
        {"cells": cells, "repeat": i, "free": share if cells > 1 else 99.9, "hertz": 30.0}
        for i, share in enumerate(shares)
        for cells in (1, 302)
    ]
    return {"spikes": result("spikes", crowds=rows)}


def trained(*ratios):
    rows = [
        {"mode": mode, "repeat": i, "first": 10.0, "last": 1.0, "held_first": 10.0, "held_last": 10 * r,
         "synapses": 3604, "cells": 300}
        for i, r in enumerate(ratios) for mode in ("exact", "frozen")
    ]  # fmt: skip
    return {"train": result("train", ends=rows)}


def checked(apart=1e-9, cosines=(0.99, 0.98), windows=6):
    rows = [
        {"sodium": 0.12, "window": 2.0 + w, "repeat": i, "spikes": 1, "apart": apart, "cosine": c, "longer": 3.0}
        for i, c in enumerate(cosines) for w in range(windows)
    ]  # fmt: skip
    return {"gradients": result("gradients", cases=rows, passive=[{"repeat": 0, "apart": 1e-15}])}


def fitted(*ratios):
    rows = [
        {"mode": mode, "repeat": i, "first": 10.0, "last": last}
        for i, r in enumerate(ratios)
        for mode, last in (("exact", 0.01), ("frozen", 0.01 * r), ("differences", 0.01))
    ]
    return {"fit": result("fit", ends=rows)}


def rounds(extra=0, trees=400):
    rows = [
        {"tree": "random", "nodes": 10, "depth": 4, "k": 2, "rounds": 5 + (extra if i == 0 else 0), "optimum": 5}
        for i in range(trees)
    ]
    return {"schedules": result("schedules", trees=rows)}


def apart(value, trees=40):
    rows = [{"nodes": 10, "k": 2, "apart": value} for _ in range(trees)]
    return {"schedules": result("schedules", solutions=rows)}


CLAIMS = {
    "1b": {"holds": autodiff(90, 100, 95), "fails": autodiff(2, 2.1, 1.9), "inconclusive": autodiff(5, 30, 10)},
    "1c": {"holds": speed(10, 11, 10.5), "fails": speed(1, 1.1, 0.9), "inconclusive": speed(1, 9, 4)},
    "2a": {"holds": crowds(80, 81, 82), "fails": crowds(20, 21, 22), "inconclusive": crowds(20, 90, 50)},
    "3a": {"holds": memory(20, 22, 24), "fails": memory(4, 6, 8), "inconclusive": memory(20, 22)},
    "3b": {"holds": trained(0.1, 0.11, 0.1), "fails": trained(0.9, 0.91, 0.9), "inconclusive": trained(0.2, 0.9)},
    "3d": {"holds": checked(), "fails": checked(apart=0.1), "inconclusive": checked(windows=2)},
    "3e": {
        "holds": checked(),
        "fails": checked(cosines=(0.3, 0.32, 0.31)),
        "inconclusive": checked(cosines=(0.99, 0.2)),
    },
    "3f": {"holds": fitted(1.0, 1.1, 1.0), "fails": fitted(50, 60, 55), "inconclusive": fitted(0.1, 100)},
    "4a": {"holds": rounds(), "fails": rounds(extra=1), "inconclusive": rounds(trees=40)},
    "4b": {"holds": apart(1e-15), "fails": apart(1e-3), "inconclusive": apart(1e-15, trees=5)},
}
