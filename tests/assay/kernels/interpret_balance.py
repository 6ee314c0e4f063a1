"""Run in a process of its own with TRITON_INTERPRET=1: balancing for GPUs, on the processor."""

import torch

from assay.kernels._balance import gpu
from assay.kernels._balance.reference import balance_reference

cases = [(2, 2, 2, 2), (63, 48, 63, 16), (96, 128, 96, 64), (64, 64, 32, 32), (130, 32, 130, 32)]
for number, (height, width, rows, columns) in enumerate(cases):
    rng = torch.Generator().manual_seed(number)
    weight = 0.02 * torch.randn(height, width, generator=rng) * torch.randn(width, generator=rng).exp()
    if number == 2:
        weight += 3.0  # a mean that drowns the deviations
    for stop in (False, True):
        for iterations in (0, 1, 5):
            found = gpu.balanced(weight, rows, columns, iterations, 0.7, 2.0, stop)
            want = balance_reference(weight.double(), rows, columns, iterations, 0.7, 2.0, stop)
            for mine, other in zip(found, want, strict=True):
                torch.testing.assert_close(mine.double(), other, rtol=2e-4 if number == 2 else 1e-5, atol=1e-6)
print(f"{6 * len(cases)} cases agree")
