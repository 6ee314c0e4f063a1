"""Surrogate derivatives of the spike, and the smooth steps that they are the derivatives of.

Each is a function of x, how far the membrane is above its threshold, and of a sharpness alpha. All but
`straight_through` rise by 1 from far below to far above.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["SURROGATES", "Surrogate", "surrogate_of"]


class Surrogate(NamedTuple):
    """A surrogate: its number in the kernels, default sharpness, derivative and smooth step."""

    code: int
    alpha: float
    derivative: Callable[[Tensor, float], Tensor]
    step: Callable[[Tensor, float], Tensor]


def _triangle(x: Tensor, alpha: float) -> Tensor:
    z = (alpha * x).clamp(-1, 1)
    return 0.5 + z - 0.5 * z * z.abs()


SURROGATES = {
    # SpikingJelly, Soul: (alpha / 2) / (1 + (pi alpha x / 2)^2)
    "atan": Surrogate(
        0,
        2.0,
        lambda x, a: (a / 2) / (1 + (math.pi / 2 * a * x).square()),
        lambda x, a: torch.atan(math.pi / 2 * a * x) / math.pi + 0.5,
    ),
    "sigmoid": Surrogate(
        1,
        4.0,
        lambda x, a: a * torch.sigmoid(a * x) * (1 - torch.sigmoid(a * x)),
        lambda x, a: torch.sigmoid(a * x),
    ),
    # Zenke and Ganguli 2018 (SuperSpike): 1 / (1 + alpha |x|)^2
    "fast_sigmoid": Surrogate(
        2, 25.0, lambda x, a: 1 / (1 + a * x.abs()).square(), lambda x, a: x / (1 + a * x.abs()) + 1 / a
    ),
    "triangular": Surrogate(3, 1.0, lambda x, a: a * (1 - a * x.abs()).clamp(min=0), _triangle),
    "rectangle": Surrogate(
        4, 1.0, lambda x, a: a * (x.abs() < 0.5 / a).to(x.dtype), lambda x, a: (a * x + 0.5).clamp(0, 1)
    ),
    "straight_through": Surrogate(5, 1.0, lambda x, a: a * torch.ones_like(x), lambda x, a: a * x),
}


def surrogate_of(name: str, alpha: float | None) -> tuple[Surrogate, float]:
    """A surrogate and its sharpness.

    Raises:
        ValueError: no such surrogate, or a sharpness that is not above 0.
    """
    if name not in SURROGATES:
        raise ValueError(f"surrogate: got {name!r}; expected one of {', '.join(SURROGATES)}.")
    found = SURROGATES[name]
    sharpness = found.alpha if alpha is None else float(alpha)
    if not 0 < sharpness < math.inf:
        raise ValueError(f"alpha: got {sharpness:g}; expected a finite number above 0.")
    return found, sharpness
