"""Run in a process of its own: compile balancing for two architectures without a card, and ask ptxas what spills."""

from ptxas import spills

from assay.kernels._balance import gpu

SIGNATURE = {
    **dict.fromkeys(("weight", "mu1", "mu2", "trace", "l2", "deviations"), "*fp32"),
    **dict.fromkeys(("width", "across", "rows", "columns", "iterations"), "i32"), "low": "fp32", "high": "fp32",
}  # fmt: skip

for architecture in (80, 90):
    for columns in (16, 64, 128, 256):
        for stop in (False, True):
            constants = {"STOP": stop, "ROWS": gpu.CELLS // columns, "COLUMNS": columns}
            assert spills(gpu.balance_kernel, SIGNATURE, constants, architecture, num_warps=gpu.WARPS) == 0, (
                columns,
                stop,
            )
    print(f"sm_{architecture}: nothing spills")
