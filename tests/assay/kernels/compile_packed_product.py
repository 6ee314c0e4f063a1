"""Run in a process of its own: compile the packed product for two architectures without a card, and ask ptxas."""

from ptxas import spills

from assay.kernels._packed_product import gpu
from assay.kernels._packed_product.layout import WIDTHS

SIGNATURE = {
    "x": "*fp16", "packed": "*u8", "scale": "*fp16", "zero": "*fp16", "levels": "*fp32", "out": "*fp16",
    **dict.fromkeys(("height", "width", "nbytes", "second", "groups", "size"), "i32"),
}  # fmt: skip

for architecture in (80, 90):
    for bits, widths in WIDTHS.items():
        for size in (16, 64, 256):
            constants = {"LOW": widths[0], "HIGH": widths[1] if len(widths) > 1 else 0, "CODEBOOK": bits in (3, 4),
                         "ROWS": gpu.CELLS // size, "SIZE": size}  # fmt: skip
            assert spills(gpu.product_kernel, SIGNATURE, constants, architecture) == 0, (bits, size)
    print(f"sm_{architecture}: nothing spills")
