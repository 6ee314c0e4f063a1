"""The selective scan as a loop over time in plain PyTorch: what the kernels must equal."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import silu

__all__ = ["scan_norms_reference", "selective_scan_reference"]


def states(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, initial: Tensor) -> Iterator[Tensor]:
    """The state (batch, channels, states) after each step."""
    h = initial
    for t in range(u.shape[1]):
        decay = torch.exp(delta[:, t, :, None] * A)
        h = decay * h + (delta[:, t] * u[:, t])[..., None] * B[:, t, None, :]
        yield h


def selective_scan_reference(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, initial: Tensor
) -> tuple[Tensor, Tensor]:
    """Outputs (batch, length, channels) and last state (batch, channels, states); D is (channels,)."""
    outputs, h = [], initial
    for t, h in enumerate(states(u, delta, A, B, initial)):
        outputs.append((h * C[:, t, None, :]).sum(-1) + D * u[:, t])
    y = torch.stack(outputs, 1)
    return y if z is None else y * silu(z), h


def scan_norms_reference(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, initial: Tensor, largest: bool
) -> tuple[Tensor, Tensor]:
    """Peaks (batch, channels, states) of the states' sizes over the steps, and norms (batch, length, channels) of a
    channel's states after each step: the largest size, or the Euclidean norm.
    """
    peak, norms = torch.zeros_like(initial), []
    for h in states(u, delta, A, B, initial):
        peak = torch.maximum(peak, h.abs())
        norms.append(h.abs().amax(-1) if largest else h.square().sum(-1).sqrt())
    return peak, torch.stack(norms, 1)
