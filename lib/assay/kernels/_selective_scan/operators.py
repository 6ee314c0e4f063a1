"""The selective scan as PyTorch operators: chosen by device, differentiable, and known to `torch.compile`."""

from typing import Any

import torch
from torch import Tensor

from assay.kernels._selective_scan import cpu
from assay.kernels.dispatch import kernels_for
from assay.kernels.registration import differentiable, operator

__all__ = ["norms_operator", "scan_operator"]


def every(u: Tensor, states: int) -> int:
    """Steps from one kept state to the next: a chunk that fits a cache, or what a program of a GPU walks through."""
    return 256 if u.device.type == "cuda" else max(32, states)


def kept_shape(u: Tensor, states: int) -> tuple[int, int, int, int]:
    chunk = every(u, states)
    return u.shape[0], (u.shape[1] + chunk - 1) // chunk, states, u.shape[2]


def fake_selective_scan(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, initial: Tensor,
    keep: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    kept = u.new_empty(kept_shape(u, A.shape[1]) if keep else 0)
    return torch.empty_like(u), torch.empty_like(initial), kept


@operator("selective_scan", fake=fake_selective_scan)
def scan_operator(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, initial: Tensor,
    keep: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Outputs, last state, and the states (batch, chunks, states, channels) that the way back starts from, or (0,)."""
    y, state = torch.empty_like(u), torch.empty_like(initial)
    kept = u.new_empty(kept_shape(u, A.shape[1]) if keep else 0)
    if u.numel() == 0:
        return y, initial.clone(), kept
    kernels = kernels_for(u, cpu)
    assert kernels is not None, "tensors without kernels never reach the operator"
    chunk = every(u, A.shape[1])
    kernels.forward(u, delta, A, B, C, D, z, initial, y, state, every=chunk, kept=kept if keep else None)
    return y, state, kept


def fake_selective_scan_backward(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, kept: Tensor, d_y: Tensor,
    d_state: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    found = (torch.empty_like(u), torch.empty_like(delta), torch.empty_like(A), torch.empty_like(B))
    gate = u.new_empty(0) if z is None else torch.empty_like(z)
    return (*found, torch.empty_like(C), torch.empty_like(D), gate, torch.empty_like(d_state))


@operator("selective_scan_backward", fake=fake_selective_scan_backward)
def backward_operator(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, kept: Tensor, d_y: Tensor,
    d_state: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of u, delta, A, B, C, D, z and the first state; z's is (0,) without z."""
    without = u.new_empty(0)
    if u.numel() == 0:
        nothing = (torch.zeros_like(u), torch.zeros_like(delta), torch.zeros_like(A), torch.zeros_like(B))
        gate = without if z is None else torch.zeros_like(z)
        return (*nothing, torch.zeros_like(C), torch.zeros_like(D), gate, d_state.clone())
    kernels = kernels_for(u, cpu)
    assert kernels is not None, "tensors without kernels never reach the operator"
    assert kept.numel() > 0, "a scan without kept states has no way back"
    chunk = every(u, A.shape[1])
    *found, d_z, d_initial = kernels.backward(u, delta, A, B, C, D, z, kept, chunk, d_y, d_state)
    return (*found, without if d_z is None else d_z, d_initial)


def keep_for_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    u, delta, A, B, C, D, z, _, _ = inputs
    ctx.save_for_backward(u, delta, A, B, C, D, z, output[2])
    ctx.set_materialize_grads(False)  # zeros for the kept states would be as large as they are


def differentiate(ctx: Any, d_y: Tensor | None, d_state: Tensor | None, d_kept: None) -> tuple[Tensor | None, ...]:
    u, A = ctx.saved_tensors[0], ctx.saved_tensors[2]
    d_y = torch.zeros_like(u) if d_y is None else d_y.contiguous()
    d_state = u.new_zeros((u.shape[0], *A.shape)) if d_state is None else d_state.contiguous()
    found = backward_operator(*ctx.saved_tensors, d_y, d_state)
    wanted = [gradient if needed else None for gradient, needed in zip(found, ctx.needs_input_grad, strict=False)]
    return (*wanted, None)


differentiable("selective_scan", differentiate, keep=keep_for_backward)


def fake_selective_scan_norms(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, initial: Tensor,
    largest: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    return torch.empty_like(u), torch.empty_like(initial), torch.empty_like(initial), torch.empty_like(u)


@operator("selective_scan_norms", fake=fake_selective_scan_norms)
def norms_operator(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, initial: Tensor,
    largest: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Outputs, last state, and peaks and norms of the states, without a way back."""
    y, norm = torch.empty_like(u), torch.empty_like(u)
    state, peak = torch.empty_like(initial), torch.empty_like(initial)
    if u.numel() == 0:
        return y, initial.clone(), peak, norm
    kernels = kernels_for(u, cpu)
    assert kernels is not None, "tensors without kernels never reach the operator"
    kernels.forward(
        u, delta, A, B, C, D, z, initial, y, state, every=every(u, A.shape[1]), peak=peak, norm=norm, largest=largest
    )
    return y, state, peak, norm
