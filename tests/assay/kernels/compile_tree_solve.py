"""Run in a process of its own: compile both tree solves for two architectures without a card, and ask ptxas."""

from ptxas import spills

from assay.kernels._tree_solve import gpu

for architecture in (80, 90):
    for real in ("fp32", "fp64"):
        values = dict.fromkeys(("a", "b", "d", "rhs", "pivot", "x", "left_d", "left_x"), f"*{real}")
        places = dict.fromkeys(("parent", "order", "start", "child", "sibling"), "*i64")
        sizes = dict.fromkeys(("n", "cells", "rounds", "widest"), "i32")
        everything = values | places | sizes
        for own in (False, True):
            names = ("a", "b", "d", "rhs", "parent", "order", "pivot", "x", "n", "cells")
            constants = {"A_OWN": own, "B_OWN": own, "D_OWN": True, "BLOCK": gpu.CELLS}
            assert spills(gpu.cells_kernel, {k: everything[k] for k in names}, constants, architecture) == 0, (
                real,
                own,
            )
        for atomic in (False, True):
            names = (
                "a", "b", "d", "rhs", "parent", "order", "start", "child", "sibling", "pivot", "x", "left_d", "left_x",
                "n", "rounds", "widest",
            )  # fmt: skip
            constants = {"ATOMIC": atomic, "LANES": 32}
            signature = {k: everything[k] for k in names}
            assert spills(gpu.rounds_kernel, signature, constants, architecture) == 0, (real, atomic)
    print(f"sm_{architecture}: nothing spills")
