"""Supporters of every model against every prefix of a leaderboard, in one walk down each order."""

import importlib

import torch
from torch import Tensor

from assay.back_ends import serves
from assay.kernels._prefix_support import cpu
from assay.kernels._prefix_support.reference import prefix_support_reference
from assay.kernels.dispatch import TRITON

__all__ = ["prefix_support"]

WIDEST = 2**15 - 1  # models: positions are kept in 16 bits


def prefix_support(orders: Tensor, ranking: Tensor, weights: Tensor | None = None) -> Tensor:
    """Count, for each model and each k, the users who prefer the model to every one of the first k of a leaderboard.

    Local stability asks this of every k (Haghtalab et al., arXiv 2606.02547, section 2). Counted one k after the other
    it takes users × models² steps. Here: let L(c) be the place of c on the leaderboard, and K the least L(c) among all
    c that a user puts at or above a. The user prefers a to the first k if and only if k < K. So one walk down each
    order with a running minimum, a histogram of K for each model and a cumulative sum give all cuts in users × models
    steps.

    Args:
        orders: (users, models) whole numbers, each row the models that a user ranks, best first, each at most once, and
            −1 after the last one; a model that is not ranked is preferred to none.
        ranking: (models,) the leaderboard, best first: every model once.
        weights: (users, columns) whole numbers, how often each user counts; a column is a resample. None for once.

    Returns:
        (models, models) int64, entry (a, k − 1) for the first k; (models, models, columns) with weights.

    Raises:
        ValueError: an argument of the wrong type or shape, a leaderboard that is no order of all models, or an entry
            that is no model.
    """
    given, place, own = checked(orders, ranking, weights)
    if given.numel() == 0:
        counts = torch.zeros((len(place), len(place), 1 if own is None else own.shape[1]), dtype=torch.int64)
        counts = counts.to(given.device)
    elif given.device.type == "cpu":
        serves("prefix_support", "cpu")
        counts = cpu.counted(given, place, own)
    elif given.device.type == "cuda" and TRITON:
        serves("prefix_support", "gpu")
        counts = importlib.import_module(f"{__name__}.gpu").counted(given, place, own)
    else:
        serves("prefix_support", "reference")
        counts = prefix_support_reference(given, place, own)
    return counts[:, :, 0] if weights is None else counts


def checked(orders: Tensor, ranking: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """Orders int16, places from 1 int32 and weights int32, contiguous."""
    for name, x in (("orders", orders), ("ranking", ranking), ("weights", orders if weights is None else weights)):
        if not isinstance(x, Tensor) or x.dtype.is_floating_point or x.dtype.is_complex or x.dtype is torch.bool:
            got = str(x.dtype) if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"{name}: got {got}; expected a tensor of whole numbers.")
    if orders.dim() != 2 or not 1 <= orders.shape[1] <= WIDEST:
        raise ValueError(f"orders: got shape {tuple(orders.shape)}; expected (users, models), 1 to {WIDEST:,} models.")
    models = orders.shape[1]
    if orders.dtype is not torch.int16 and orders.numel() and int(orders.max()) >= models:  # 16 bits would wrap
        raise ValueError(f"orders: got the model {int(orders.max())}; expected −1 to {models - 1}.")
    if ranking.shape != (models,) or not torch.equal(ranking.long().sort().values.cpu(), torch.arange(models)):
        raise ValueError(f"ranking: got {tuple(ranking.shape)} entries; expected each of 0 to {models - 1} once.")
    if weights is not None and (weights.dim() != 2 or len(weights) != len(orders)):
        raise ValueError(f"weights: got shape {tuple(weights.shape)}; expected ({len(orders)}, columns).")
    place = torch.empty(models, dtype=torch.int32, device=orders.device)
    place[ranking.long().to(orders.device)] = torch.arange(1, models + 1, dtype=torch.int32, device=orders.device)
    own = None if weights is None else weights.to(torch.int32).contiguous()
    return orders.to(torch.int16).contiguous(), place, own
