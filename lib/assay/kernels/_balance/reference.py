"""Balancing in plain PyTorch: what the other forms are compared with, the scaled tiles made at every iteration."""

import torch
from torch import Tensor

__all__ = ["FIRST_CLAMP", "LOG_RANGE", "SLACK", "balance_reference"]

FIRST_CLAMP = (1e-3, 1e3)  # deviations are held in this range before they become a step
LOG_RANGE = (-0.3, 10.0)  # logarithms of scales stay in it
SLACK = 1e-6  # added to the target
LEAST = 1e-12  # of a deviation, where an imbalance divides by it


def balance_reference(
    weight: Tensor, rows: int, columns: int, iterations: int, low: float, high: float, stop: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Column scales (H / rows, D), row scales (H, D / columns), imbalances (H / rows, D / columns, iterations)."""
    height, width = weight.shape
    down, across = height // rows, width // columns
    m = weight.view(down, rows, across, columns).permute(0, 2, 1, 3).reshape(down * across, rows, columns)
    of_rows, of_columns = m.std(2).clamp(*FIRST_CLAMP), m.std(1).clamp(*FIRST_CLAMP)
    target = torch.minimum(of_rows.amin(1), of_columns.amin(1))[:, None] + SLACK
    l1, l2 = m.new_zeros(len(m), columns), m.new_zeros(len(m), rows)
    best1, best2 = torch.ones_like(l1), torch.ones_like(l2)
    least = m.new_full((len(m), 1), float("inf"))
    opened = torch.ones_like(least, dtype=torch.bool)
    seen = []
    for _ in range(iterations):
        c = m / l1.exp()[:, None, :] / l2.exp()[:, :, None]
        of_rows, of_columns = c.std(2), c.std(1)
        both = torch.cat([of_rows, of_columns], 1)
        imbalance = both.amax(1, keepdim=True) / both.amin(1, keepdim=True).clamp(min=LEAST)
        better = imbalance <= least
        least = torch.where(better, imbalance, least)
        best1, best2 = torch.where(better, l1.exp(), best1), torch.where(better, l2.exp(), best2)
        if stop:
            opened = opened & better
        steps = [(s.clamp(*FIRST_CLAMP) / target).clamp(low, high).log() for s in (of_columns, of_rows)]
        l1 = torch.where(opened, l1 + steps[0], l1).clamp(*LOG_RANGE)
        l2 = torch.where(opened, l2 + steps[1], l2).clamp(*LOG_RANGE)
        seen.append(imbalance)
    trace = torch.cat(seen, 1) if seen else m.new_zeros(len(m), 0)
    best1 = best1.view(down, width)
    best2 = best2.view(down, across, rows).permute(0, 2, 1).reshape(height, across)
    return best1, best2, trace.view(down, across, iterations)
