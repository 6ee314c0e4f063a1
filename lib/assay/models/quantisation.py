"""Weights of few bits: rounding to the nearest, and GPTQ.

Source: Frantar et al. (2023), "GPTQ", algorithm 1: columns are rounded one after the other, and what rounding lost is
made up for in the columns that are left, as the inverse of the inputs' second moments says.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from assay.models.decoder import Decoder

__all__ = ["gptq", "quantised", "round_to_nearest"]

DAMPING = 0.01  # of the mean diagonal


def round_to_nearest(weight: Tensor, bits: int) -> Tensor:
    """(O, I) weights on 2^bits evenly spaced values between the smallest and the largest of each row, 0 among them.

    Raises:
        ValueError: no matrix, or bits outside 2 to 8.
    """
    step, zero = grid(weight, bits)
    return on_grid(weight, step, zero, bits)


def gptq(weight: Tensor, moments: Tensor, bits: int) -> Tensor:
    """(O, I) weights on the grid of `round_to_nearest`, so that |(W - Q) x|² is small for inputs with these moments.

    Args:
        weight: (O, I).
        moments: (I, I) X^T X of the layer's inputs; inputs that are always 0 keep rounded weights.
        bits: from 2 to 8.

    Raises:
        ValueError: shapes that do not fit, bits out of range, or moments that are not finite.
    """
    step, zero = grid(weight, bits)
    size = weight.shape[1]
    if moments.shape != (size, size) or not torch.isfinite(moments).all():
        raise ValueError(f"moments: got shape {tuple(moments.shape)}; expected finite numbers, ({size}, {size}).")
    hessian = moments.double().clone()
    dead = hessian.diagonal() == 0
    hessian[dead, dead] = 1.0
    hessian.diagonal().add_(DAMPING * hessian.diagonal().mean())
    inverse = torch.linalg.cholesky(torch.cholesky_inverse(torch.linalg.cholesky(hessian)), upper=True)
    left = weight.double().clone()
    result = torch.empty_like(left)
    for i in range(size):
        column = left[:, i]
        result[:, i] = on_grid(column[:, None], step, zero, bits)[:, 0]
        lost = (column - result[:, i]) / inverse[i, i]
        left[:, i:] -= lost[:, None] * inverse[i, i:]
    return result.to(weight.dtype)


@torch.no_grad()
def quantised(model: Decoder, bits: int, text: Tensor | None = None) -> Decoder:
    """A copy whose matrices within blocks have few bits; embedding, unembedding and norms stay.

    Args:
        model: trained.
        bits: from 2 to 8.
        text: (N, T + 1) windows to calibrate GPTQ on, layer after layer; without them weights are rounded.

    Raises:
        ValueError: bits out of range.
    """
    result = copy.deepcopy(model).eval()
    for block in result.blocks:
        for layer in [module for module in block.modules() if isinstance(module, nn.Linear)]:
            if text is None:
                layer.weight.copy_(round_to_nearest(layer.weight, bits))
            else:
                layer.weight.copy_(gptq(layer.weight, second_moments(result, layer, text), bits))
    return result


def second_moments(model: Decoder, layer: nn.Linear, text: Tensor) -> Tensor:
    """(I, I) sum of x x^T over what reaches a layer."""
    total = torch.zeros(layer.in_features, layer.in_features, dtype=torch.float64)

    def add(_: nn.Module, given: tuple[Tensor, ...]) -> None:
        flat = given[0].flatten(0, -2).double()
        total.add_(flat.T @ flat)

    handle = layer.register_forward_pre_hook(add)
    try:
        model.states(text[:, :-1])
    finally:
        handle.remove()
    return total


def grid(weight: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """(O, 1) distance of two values, and the number of the one that is 0."""
    if weight.ndim != 2:
        raise ValueError(f"weight: got shape {tuple(weight.shape)}; expected (outputs, inputs).")
    if isinstance(bits, bool) or int(bits) != bits or not 2 <= bits <= 8:
        raise ValueError(f"bits: got {bits}; expected a whole number from 2 to 8.")
    low = weight.double().amin(dim=1, keepdim=True).clamp(max=0)
    high = weight.double().amax(dim=1, keepdim=True).clamp(min=0)
    step = (high - low) / (2**bits - 1)
    step = torch.where(step > 0, step, 1.0)
    return step, (-low / step).round()


def on_grid(weight: Tensor, step: Tensor, zero: Tensor, bits: int) -> Tensor:
    places = (weight.double() / step + zero).round().clamp(0, 2**bits - 1)
    return (step * (places - zero)).to(weight.dtype)
