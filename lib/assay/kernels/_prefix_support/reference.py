"""The count of supporters in plain PyTorch: what the other forms are compared with."""

import torch
from torch import Tensor

__all__ = ["prefix_support_reference"]


def prefix_support_reference(orders: Tensor, place: Tensor, weights: Tensor | None) -> Tensor:
    """Counts (models, models, columns) from orders (users, models), place (models,) and weights (users, columns)."""
    models = len(place)
    ranked = orders >= 0
    own = orders.clamp(min=0).long()
    # the first place of the leaderboard that is met at or above each model of an order
    first = torch.where(ranked, place.long()[own], models + 1).cummin(1).values
    given = torch.ones_like(orders[:, :1], dtype=torch.int64) if weights is None else weights.long()
    counts = torch.zeros((models * (models + 1), given.shape[1]), dtype=torch.int64, device=orders.device)
    cells = (own * (models + 1) + first - 1)[ranked]
    counts.index_add_(0, cells, given[:, None].expand(-1, models, -1)[ranked])
    counts = counts.view(models, models + 1, -1)
    return counts.flip(1).cumsum(1).flip(1)[:, 1:]  # a place beyond the cut supports every cut before it
