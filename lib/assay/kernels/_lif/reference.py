"""The LIF scan as a loop over time in plain PyTorch: what the kernels must equal, spike for spike."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from assay.kernels._lif.surrogates import Surrogate

__all__ = ["lif_reference"]


class Spike(torch.autograd.Function):
    """1 where the membrane reaches its threshold; backwards, the surrogate's derivative."""

    @staticmethod
    def forward(ctx: Any, above: Tensor, surrogate: Surrogate, alpha: float) -> Tensor:
        ctx.save_for_backward(above)
        ctx.surrogate, ctx.alpha = surrogate, alpha
        return (above >= 0).to(above.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (above,) = ctx.saved_tensors
        return gradients[0] * ctx.surrogate.derivative(above, ctx.alpha), None, None


def lif_reference(
    x: Tensor,
    beta: Tensor,
    threshold: Tensor,
    initial: Tensor,
    *,
    scale_input: bool,
    reset: str,
    detach_reset: bool,
    delayed_reset: bool,
    surrogate: Surrogate,
    alpha: float,
    spike: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Spikes and membrane (T, N) of currents (T, N); decay, threshold and first state (N,).

    Args:
        spike: what to put in the place of the step, of how far the membrane is above its threshold; the surrogate's
            own smooth step makes the whole scan differentiable.
    """

    def step(above: Tensor) -> Tensor:
        return Spike.apply(above, surrogate, alpha) if spike is None else spike(above)

    def after(v: Tensor, s: Tensor) -> Tensor:
        s = s.detach() if detach_reset else s
        if reset == "subtract":
            return v - threshold * s
        return v - v * s if reset == "zero" else v

    gain = 1 - beta if scale_input else torch.ones_like(beta)
    u = initial
    spikes, membrane = [], []
    for current in x:
        v = beta * u + gain * current
        if delayed_reset:
            u = after(v, step(u - threshold))
            spikes.append(step(u - threshold))
        else:
            spikes.append(step(v - threshold))
            u = after(v, spikes[-1])
        membrane.append(u)
    return torch.stack(spikes), torch.stack(membrane)
