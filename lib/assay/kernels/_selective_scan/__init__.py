"""Selective state spaces over time: the scan of Mamba's layers."""

from typing import Literal, NamedTuple, overload

import torch
from torch import Tensor

from assay.back_ends import serves
from assay.kernels._selective_scan.operators import norms_operator, scan_operator
from assay.kernels._selective_scan.reference import scan_norms_reference, selective_scan_reference
from assay.kernels.dispatch import has_kernels

__all__ = ["ScanNorms", "selective_scan", "selective_scan_norms"]


class ScanNorms(NamedTuple):
    """What a certificate of a scan is compared with; see :func:`selective_scan_norms`."""

    y: Tensor
    state: Tensor
    peak: Tensor
    norm: Tensor
    contraction: Tensor


@overload
def selective_scan(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = ..., z: Tensor | None = ...,
    initial_state: Tensor | None = ..., return_state: Literal[False] = ...,
) -> Tensor: ...  # fmt: skip
@overload
def selective_scan(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None = ..., z: Tensor | None = ...,
    initial_state: Tensor | None = ..., *, return_state: Literal[True],
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
def selective_scan(
    u: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor | None = None,
    z: Tensor | None = None,
    initial_state: Tensor | None = None,
    return_state: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Scan a selective state space model (S6) over time.

    For each channel, with n states: h[t] = exp(delta[t] A) h[t-1] + delta[t] B[t] u[t], y[t] = C[t] · h[t] + D u[t],
    times silu(z[t]) where there is a gate (Gu and Dao, arXiv 2312.00752, section 3.2 and algorithm 2, with B by
    Euler's rule as in their code). No tensor (batch, length, channels, states) is made, there or back.

    Args:
        u: (batch, length, channels) inputs, floating point, length >= 1.
        delta: (batch, length, channels) step sizes as they are used: a layer's softplus and bias come before.
        A: (channels, states) diagonal of the state matrix, -exp(A_log) in a layer; negative, or states grow.
        B, C: (batch, length, states) input and output vectors.
        D: (channels,) skip; None for none.
        z: (batch, length, channels) gate before its silu; None for none.
        initial_state: (batch, channels, states) state before the first step; None for zeros.
        return_state: return the last state too, where the next window goes on.

    Returns:
        y (batch, length, channels), with the state (batch, channels, states) after the last step when asked for.
        Gradients flow to every input, once. Half precision is computed in float32.

    Raises:
        ValueError: an argument of the wrong type, shape, dtype or device.
    """
    given = checked(u, delta, A, B, C, D, z, initial_state)
    if has_kernels(given[0]):
        keep = torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in given)
        y, state, _ = scan_operator(*given, keep)
    else:
        if not torch.compiler.is_compiling():
            serves("selective_scan", "reference")
        y, state = selective_scan_reference(*given)
    return (y.to(u.dtype), state.to(u.dtype)) if return_state else y.to(u.dtype)


def selective_scan_norms(
    u: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor | None = None,
    z: Tensor | None = None,
    initial_state: Tensor | None = None,
    order: Literal["2", "inf"] = "2",
) -> ScanNorms:
    """Scan as :func:`selective_scan` does, and keep what a stability certificate is compared with.

    The trajectory of the states is not kept: memory is that of the outputs.

    Args:
        u, delta, A, B, C, D, z, initial_state: as for :func:`selective_scan`.
        order: norm over a channel's states, Euclidean or the largest size.

    Returns:
        y and state as from :func:`selective_scan`, without gradients; `peak` (batch, channels, states), the largest
        |h[t]| of each state over the steps (the first state not among them); `norm` (batch, length, channels), the
        norm of a channel's states after each step; `contraction` (batch, length, channels), the largest decay factor
        exp(delta[t] A) of a channel's states in each step, by which h[t-1] shrinks at least, in either norm.

    Raises:
        ValueError: as for :func:`selective_scan`, or another order.
    """
    if order not in ("2", "inf"):
        raise ValueError(f"order: got {order!r}; expected '2' or 'inf'.")
    given = checked(u, delta, A, B, C, D, z, initial_state)
    with torch.no_grad():
        if has_kernels(given[0]):
            y, state, peak, norm = norms_operator(*given, order == "inf")
        else:
            if not torch.compiler.is_compiling():
                serves("selective_scan", "reference")
            y, state = selective_scan_reference(*given)
            peak, norm = scan_norms_reference(*given[:4], given[-1], order == "inf")
        steps, rates = given[1], given[2]
        contraction = torch.maximum(steps * rates.amax(1), steps * rates.amin(1)).exp_()
    return ScanNorms(*(x.to(u.dtype) for x in (y, state, peak, norm, contraction)))


Given = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor]


def checked(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor | None, z: Tensor | None,
    initial_state: Tensor | None,
) -> Given:  # fmt: skip
    """The arguments, contiguous, with zeros for a skip and a state that were not given."""
    if not isinstance(u, Tensor) or not u.dtype.is_floating_point:
        got = str(u.dtype) if isinstance(u, Tensor) else type(u).__name__
        raise ValueError(f"u: got {got}; expected a floating-point tensor (batch, length, channels).")
    if u.dim() != 3 or u.shape[1] < 1:
        raise ValueError(f"u: got shape {tuple(u.shape)}; expected (batch, length, channels) with at least one step.")
    batch, length, channels = u.shape
    if not isinstance(A, Tensor) or A.dim() != 2 or A.shape[0] != channels or A.shape[1] < 1:
        got = f"shape {tuple(A.shape)}" if isinstance(A, Tensor) else type(A).__name__
        raise ValueError(f"A: got {got}; expected a tensor ({channels}, states) with at least one state.")
    states = A.shape[1]
    D = u.new_zeros(channels) if D is None else D
    initial_state = u.new_zeros((batch, channels, states)) if initial_state is None else initial_state
    shapes = (
        ("delta", delta, (batch, length, channels)), ("A", A, (channels, states)), ("B", B, (batch, length, states)),
        ("C", C, (batch, length, states)), ("D", D, (channels,)), ("z", u if z is None else z, tuple(u.shape)),
        ("initial_state", initial_state, (batch, channels, states)),
    )  # fmt: skip
    for name, x, shape in shapes:
        if not isinstance(x, Tensor) or tuple(x.shape) != shape:
            got = f"shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
            raise ValueError(f"{name}: got {got}; expected a tensor {shape}.")
        if x.dtype != u.dtype or x.device != u.device:
            raise ValueError(f"{name}: got {x.dtype} on {x.device}; expected {u.dtype} on {u.device} as u is.")
    wide = torch.float32 if u.dtype.itemsize < 4 else u.dtype
    u, delta, A, B, C, D, initial_state = (x.to(wide).contiguous() for x in (u, delta, A, B, C, D, initial_state))
    return u, delta, A, B, C, D, None if z is None else z.to(wide).contiguous(), initial_state
