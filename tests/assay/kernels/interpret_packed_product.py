"""Run in a process of its own with TRITON_INTERPRET=1: the product with packed weights for GPUs, on the processor."""

import torch

from assay.kernels._packed_product import gpu
from assay.kernels._packed_product.layout import BITS, pack_bits
from assay.kernels._packed_product.reference import packed_product_reference

cases = [(1, 16, 16, 1), (37, 48, 16, 3), (20, 128, 64, 2), (5, 24, 24, 9)]  # rows, columns, group, inputs
for bits in BITS:
    for number, (height, width, group, inputs) in enumerate(cases):
        rng = torch.Generator().manual_seed(number)
        codes = torch.randint(0, 2**bits, (height, width), generator=rng)
        x = torch.randn(inputs, width, generator=rng)
        scale, zero = torch.rand(2, height, width // group, generator=rng).unbind()
        for levels in (None, torch.randn(2**bits, generator=rng)):
            given = (pack_bits(codes, bits), scale, zero, levels, bits)
            found = gpu.multiplied(x, *given)
            want = packed_product_reference(x.double(), *given)
            torch.testing.assert_close(found.double(), want, rtol=1e-4, atol=1e-4)
print(f"{2 * len(BITS) * len(cases)} cases agree")
