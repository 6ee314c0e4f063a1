"""Run in a process of its own with TRITON_INTERPRET=1: both forms of the tree solve for GPUs, on the processor."""

import numpy as np
import torch

from assay.kernels._tree_solve import gpu
from assay.kernels._tree_solve.reference import tree_solve_reference
from assay.kernels._tree_solve.schedule import dhs_schedule

cases = [(1, 1, 1), (2, 3, 1), (9, 131, 1), (33, 5, 2), (40, 7, 3)]
count = 0
for number, (n, cells, roots) in enumerate(cases):
    rng = np.random.default_rng(number)
    parent = np.array([-1 if i < roots else rng.integers(max(0, i - 6), i) for i in range(n)], np.int64)
    a, b = torch.from_numpy(-rng.random((2, n, cells)))
    d, rhs = torch.from_numpy(6 + rng.random((n, cells))), torch.from_numpy(rng.normal(size=(n, cells)))
    up, order = torch.from_numpy(parent), torch.arange(n - 1, -1, -1)
    want = tree_solve_reference(a, b, d, rhs, up)
    poisoned = torch.empty_like
    torch.empty_like = lambda x: torch.full_like(x, float("nan"))  # an entry that is not written shows
    torch.testing.assert_close(gpu.solve(a, b, d, rhs, up, order), want)
    shared = [v[:, :1].expand(n, cells) for v in (a, b, d)]
    alike = gpu.solve(*(v[:, 0].contiguous() for v in shared), rhs, up, order)
    torch.testing.assert_close(alike, tree_solve_reference(*shared, rhs, up))
    count += 2
    for threads in (2, 32):
        schedule = dhs_schedule(parent, threads)
        for deterministic in (False, True):
            found = gpu.solve_rounds(a, b, d, rhs, schedule, deterministic=deterministic)
            torch.testing.assert_close(found, want)
            count += 1
    torch.empty_like = poisoned
print(f"{count} cases agree")
