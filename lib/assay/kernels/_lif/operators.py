"""The LIF scan as PyTorch operators: chosen by device, differentiable, and known to `torch.compile`."""

from typing import Any

import torch
from torch import Tensor

from assay.kernels._lif import cpu
from assay.kernels._lif.reference import lif_reference
from assay.kernels._lif.surrogates import SURROGATES
from assay.kernels.dispatch import kernels_for
from assay.kernels.registration import differentiable, operator

__all__ = ["RESETS", "lif_scan", "scan_into"]

RESETS = ("subtract", "zero", "none")


def scan_into(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, spikes: Tensor, membrane: Tensor | None, *,
    scale_input: bool, reset: str, delayed_reset: bool,
) -> None:  # fmt: skip
    """Fill spikes and membrane (T, N); decay, threshold and first state are (N,)."""
    kinds = {"scale_input": scale_input, "reset": reset, "delayed_reset": delayed_reset}
    if x.numel() == 0:
        return
    if kernels := kernels_for(x, cpu):
        kernels.forward(x, beta, threshold, initial, spikes, membrane, **kinds)
    else:
        atan = SURROGATES["atan"]
        with torch.no_grad():
            found = lif_reference(
                x, beta, threshold, initial, detach_reset=True, surrogate=atan, alpha=atan.alpha, **kinds
            )
        spikes.copy_(found[0])
        if membrane is not None:
            membrane.copy_(found[1])


def fake_lif(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, scale_input: bool, reset: str, detach_reset: bool,
    delayed_reset: bool, surrogate: str, alpha: float, return_membrane: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return torch.empty_like(x), torch.empty_like(x) if return_membrane else x.new_empty((0, x.shape[1]))


@operator("lif", fake=fake_lif)
def lif_scan(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, scale_input: bool, reset: str, detach_reset: bool,
    delayed_reset: bool, surrogate: str, alpha: float, return_membrane: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Spikes (T, N) and membrane (T, N), or (0, N) when it is not asked for."""
    spikes = torch.empty_like(x)
    membrane = torch.empty_like(x) if return_membrane else None
    scan_into(
        x, beta, threshold, initial, spikes, membrane, scale_input=scale_input, reset=reset,
        delayed_reset=delayed_reset,
    )  # fmt: skip
    return spikes, x.new_empty((0, x.shape[1])) if membrane is None else membrane


def fake_lif_backward(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, d_spikes: Tensor, d_membrane: Tensor,
    scale_input: bool, reset: str, detach_reset: bool, delayed_reset: bool, surrogate: str, alpha: float,
    of_neuron: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    small = beta.shape[0] if of_neuron else 0
    return torch.empty_like(x), beta.new_empty(small), beta.new_empty(small), torch.empty_like(initial)


@operator("lif_backward", fake=fake_lif_backward)
def lif_scan_backward(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, d_spikes: Tensor, d_membrane: Tensor,
    scale_input: bool, reset: str, detach_reset: bool, delayed_reset: bool, surrogate: str, alpha: float,
    of_neuron: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of currents (T, N), decay, threshold and first state (N,); the membrane's may be (0, N).

    Decay's and threshold's are (0,) unless `of_neuron`: most nets train neither, and they are a third of the work.
    """
    kinds = {"scale_input": scale_input, "reset": reset, "detach_reset": detach_reset, "delayed_reset": delayed_reset}
    small = len(beta) if of_neuron else 0
    if x.numel() == 0:
        return torch.zeros_like(x), beta.new_zeros(small), beta.new_zeros(small), torch.zeros_like(beta)
    kernels = kernels_for(x, cpu)
    assert kernels is not None, "tensors without kernels never reach the operator"
    d_x, d_beta, d_threshold, d_initial = kernels.backward(
        x, beta, threshold, initial, d_spikes, d_membrane if len(d_membrane) else None,
        code=SURROGATES[surrogate].code, alpha=alpha, of_neuron=of_neuron, **kinds,
    )  # fmt: skip
    return d_x, d_beta[:small], d_threshold[:small], d_initial


def keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    x, beta, threshold, initial, *kinds, return_membrane = inputs
    ctx.save_for_backward(x, beta, threshold, initial)
    ctx.kinds, ctx.return_membrane = kinds, return_membrane


def differentiate(ctx: Any, d_spikes: Tensor, d_membrane: Tensor) -> tuple[Tensor | None, ...]:
    x, beta, threshold, initial = ctx.saved_tensors
    of_membrane = d_membrane.contiguous() if ctx.return_membrane else x.new_empty((0, x.shape[1]))
    of_neuron = ctx.needs_input_grad[1] or ctx.needs_input_grad[2]
    found = lif_scan_backward(x, beta, threshold, initial, d_spikes.contiguous(), of_membrane, *ctx.kinds, of_neuron)
    wanted = [gradient if needed else None for gradient, needed in zip(found, ctx.needs_input_grad, strict=False)]
    return (*wanted, *[None] * 7)


differentiable("lif", differentiate, keep=keep)
