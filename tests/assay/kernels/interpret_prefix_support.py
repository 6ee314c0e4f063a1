"""Run in a process of its own with TRITON_INTERPRET=1: the count of supporters for GPUs, on the processor."""

import numpy as np
import pytest
import torch

from assay.kernels._prefix_support import gpu
from assay.kernels._prefix_support.reference import prefix_support_reference

cases = [(1, 1), (3, 2), (37, 5), (130, 9), (9, 200), (70, 33)]
for number, (users, models) in enumerate(cases):
    rng = np.random.default_rng(number)
    orders = torch.from_numpy(np.argsort(rng.random((users, models)), 1).astype(np.int16))
    if number % 2 and models > 2:
        orders[:, models // 2 :] = -1
    place = torch.from_numpy(rng.permutation(models).astype(np.int32) + 1)
    for weights in (None, torch.from_numpy(rng.integers(0, 4, (users, 3)).astype(np.int32))):
        found = gpu.counted(orders, place, weights)
        assert torch.equal(found, prefix_support_reference(orders, place, weights)), (users, models, weights is None)
with pytest.raises(ValueError, match="user 1 names a model"):
    gpu.counted(torch.tensor([[0, 2]], dtype=torch.int16), torch.tensor([1, 2], dtype=torch.int32), None)
print(f"{2 * len(cases)} cases agree")
