"""Run in a process of its own: compile the count of supporters for two architectures without a card, and ask ptxas."""

from ptxas import spills

from assay.kernels._prefix_support import gpu

SIGNATURE = {
    "orders": "*i16", "place": "*i32", "weights": "*i32", "counts": "*i64",
    **dict.fromkeys(("users", "models", "columns", "tables"), "i32"),
}  # fmt: skip

for architecture in (80, 90):
    for size in (2, 32, 128, 256):
        for weighted in (False, True):
            signature = SIGNATURE if weighted else SIGNATURE | {"weights": "*i16"}
            constants = {"WEIGHTED": weighted, "ROWS": max(1, gpu.CELLS // size), "SIZE": size}
            assert spills(gpu.count_kernel, signature, constants, architecture) == 0, (size, weighted)
    print(f"sm_{architecture}: nothing spills")
