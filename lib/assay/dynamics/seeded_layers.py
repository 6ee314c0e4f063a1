"""Layers whose first weights come from a generator that is passed in, and from nothing global.

The law is PyTorch's own default, uniform within 1 / sqrt(fan-in) (1 / sqrt(hidden) for recurrent layers), drawn
parameter by parameter in the order of creation. Construction leaves torch's global random state alone.
"""

from typing import TypeVar

import torch
from torch import nn

Layer = TypeVar("Layer", bound=nn.Module)


def linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A fully connected layer with bias."""
    return _drawn(nn.Linear(inputs, outputs, device="meta"), inputs, generator)


def conv1d(inputs: int, outputs: int, kernel: int, generator: torch.Generator, *, padding: int = 0) -> nn.Conv1d:
    """A convolution over time with bias."""
    return _drawn(nn.Conv1d(inputs, outputs, kernel, padding=padding, device="meta"), inputs * kernel, generator)


def conv2d(inputs: int, outputs: int, kernel: int, generator: torch.Generator, *, padding: int = 0) -> nn.Conv2d:
    """A convolution over height and width with bias."""
    return _drawn(nn.Conv2d(inputs, outputs, kernel, padding=padding, device="meta"), inputs * kernel**2, generator)


def gru(inputs: int, hidden: int, generator: torch.Generator) -> nn.GRU:
    """A gated recurrent layer over (time, batch, features)."""
    return _drawn(nn.GRU(inputs, hidden, device="meta"), hidden, generator)


def _drawn(layer: Layer, fan_in: int, generator: torch.Generator) -> Layer:
    # Built on the meta device, the layer draws nothing by itself.
    layer = layer.to_empty(device="cpu")
    bound = fan_in**-0.5
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(-bound, bound, generator=generator)
    return layer
