"""The product with packed weights on GPUs: Triton, one program a block of rows and an input, unpacked in registers.

A group's inputs are loaded once for the rows of a program; scale and zero of a row and group meet the sum of the group.
"""

# Triton gives kernels their types, and their launchers take anything.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false, reportGeneralTypeIssues=false, reportCallIssue=false, reportArgumentType=false

import triton
import triton.language as tl
from torch import Tensor

from assay.kernels._packed_product.layout import WIDTHS, stream_bytes
from assay.kernels._packed_product.reference import packed_product_reference

__all__ = ["CELLS", "FEW", "multiplied", "product_kernel"]

FEW = 8  # inputs up to which a program serves one
CELLS = 1024  # weights that a program holds


@triton.jit
def product_kernel(
    x, packed, scale, zero, levels, out, height, width, nbytes, second, groups, size,
    LOW: tl.constexpr, HIGH: tl.constexpr, CODEBOOK: tl.constexpr, ROWS: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    given = tl.program_id(1)
    there = i < height
    k = tl.arange(0, SIZE)
    inside = k < size
    both = there[:, None] & inside[None, :]
    total = tl.zeros((ROWS,), tl.float32)
    row = packed + i[:, None].to(tl.int64) * nbytes
    for n in range(groups):
        j = n * size + k
        own = tl.load(x + given * width + j, mask=inside, other=0.0).to(tl.float32)
        low: tl.constexpr = 8 // LOW
        code = tl.load(row + (j // low)[None, :], mask=both, other=0).to(tl.int32)
        code = (code >> (LOW * (j % low))[None, :]) & ((1 << LOW) - 1)
        if HIGH > 0:
            high: tl.constexpr = 8 // HIGH
            more = tl.load(row + (second + j // high)[None, :], mask=both, other=0).to(tl.int32)
            code += ((more >> (HIGH * (j % high))[None, :]) & ((1 << HIGH) - 1)) << LOW
        value = code.to(tl.float32)
        if CODEBOOK:
            value = tl.load(levels + code, mask=both, other=0.0).to(tl.float32)
        s = tl.load(scale + i.to(tl.int64) * groups + n, mask=there, other=0.0).to(tl.float32)
        z = tl.load(zero + i.to(tl.int64) * groups + n, mask=there, other=0.0).to(tl.float32)
        part = tl.sum(tl.where(both, value * own[None, :], 0.0), 1)
        total += s * (part - z * tl.sum(own, 0))
    tl.store(out + given * height + i, total.to(out.dtype.element_ty), mask=there)


def multiplied(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, levels: Tensor | None, bits: int) -> Tensor:
    """As the reference; many inputs are multiplied with unpacked weights."""
    if len(x) > FEW:
        return packed_product_reference(x, packed, scale, zero, levels, bits)
    height, width, groups = len(packed), x.shape[1], scale.shape[1]
    size = width // groups
    side = max(2, triton.next_power_of_2(size))
    rows = max(1, CELLS // side)
    low, *high = WIDTHS[bits]
    out = x.new_empty(len(x), height)
    product_kernel[(triton.cdiv(height, rows), len(x))](
        x, packed, scale, zero, x if levels is None else levels, out, height, width, packed.shape[1],
        stream_bytes(width, low), groups, size, LOW=low, HIGH=high[0] if high else 0, CODEBOOK=levels is not None,
        ROWS=rows, SIZE=side,
    )  # fmt: skip
    return out
