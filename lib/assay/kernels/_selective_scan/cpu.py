"""The selective scan on processors: Numba, each thread walks over time with a block of channels in its cache.

Vector instructions go over channels, so that any number of states is as good as another; decays are made where they
are used. The way back takes the chunks between kept states from the last to the first, and walks through each again:
a chunk's decays and decayed states are in the cache, never a trajectory in memory.
"""

# What Numba compiles has the types of its arguments: one dtype of real numbers throughout. Tables are (states,
# channels), rows (channels,); rates are A log2(e) as a table. A loop touches few arrays: LLVM asks at run time whether
# those that it writes overlap with others, and past eight such pairs leaves it scalar.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.kernels.compiled import compiled, fused, inlined, summing
from assay.kernels.exponential import LOG2_E, exp2
from assay.kernels.threads import shared_out

__all__ = ["backward", "forward"]

WIDEST, NARROWEST = 256, 64  # channels of a block, forwards
BACK = 64  # channels of a block, backwards; whatever the threads, for sums over channels are made block by block

Array = NDArray[np.floating[Any]]


@fused
def _enter(u, delta, D, drive, y):
    """What drives the states, and the part of the output that passes them by."""
    for d in range(u.size):
        drive[d] = delta[d] * u[d]
        y[d] = D[d] * u[d]


@fused
def _advance(h, rate, delta, drive, y, B, C):
    for n in range(h.shape[0]):
        b, c = B[n], C[n]
        for d in range(y.size):
            h[n, d] = exp2(delta[d] * rate[n, d]) * h[n, d] + b * drive[d]
            y[d] += c * h[n, d]


@fused
def _gate(row, z, gated, one, log2_e):
    for d in range(row.size):
        gated[d] = row[d] * (z[d] / (one + exp2(-log2_e * z[d])))


@inlined
def _rise(top, h):
    """The largest size so far; NaN once there was one."""
    for d in range(h.size):
        size = abs(h[d])
        top[d] = size if size > top[d] or size != size else top[d]


@compiled
def _forward(
    u, delta, rates, B, C, D, z, initial, y, state, kept, every, peak, norm, largest, one, log2_e, width, first, last
):
    steps, channels = u.shape[1:]
    blocks = -(-channels // width)
    tables, rows = np.empty((3, len(rates), width), u.dtype), np.empty((2, width), u.dtype)
    h, rate, top = tables[0], tables[1], tables[2]
    drive, straight = rows[0], rows[1]
    for item in range(first, last):
        b, start = item // blocks, item % blocks * width
        stop = min(channels, start + width)
        w = stop - start
        for n in range(len(rates)):
            rate[n, :w] = rates[n, start:stop]
            h[n, :w] = initial[b, start:stop, n]
            top[n, :w] = 0
        for t in range(steps):
            if kept.size and t % every == 0:
                kept[b, t // every, :, start:stop] = h[:, :w]
            pace = delta[b, t, start:stop]
            _enter(u[b, t, start:stop], pace, D[start:stop], drive[:w], straight[:w])
            _advance(h, rate, pace, drive[:w], straight[:w], B[b, t], C[b, t])
            if z.size:
                _gate(straight[:w], z[b, t, start:stop], y[b, t, start:stop], one, log2_e)
            else:
                y[b, t, start:stop] = straight[:w]
            if norm.size:
                size = norm[b, t, start:stop]
                size[:] = 0
                for n in range(len(rates)):
                    _rise(top[n, :w], h[n, :w])
                    if largest:
                        _rise(size, h[n, :w])
                    else:
                        _add_product(size, h[n, :w], h[n, :w])
                if not largest:
                    size[:] = np.sqrt(size)
        for n in range(len(rates)):
            state[b, start:stop, n] = h[n, :w]
            if peak.size:
                peak[b, start:stop, n] = top[n, :w]


@fused
def _to_gate(d_y, z, y, d_z, one, log2_e):
    for d in range(d_y.size):
        open_ = one / (one + exp2(-log2_e * z[d]))
        d_z[d] = d_y[d] * y[d] * open_ * (one + z[d] * (one - open_))


@fused
def _decays(delta, rate, decay):
    for n in range(rate.shape[0]):
        for d in range(delta.size):
            decay[n, d] = exp2(delta[d] * rate[n, d])


@fused
def _advance_again(h, decay, decayed, drive, B):
    for n in range(h.shape[0]):
        b = B[n]
        for d in range(drive.size):
            left = decay[n, d] * h[n, d]
            decayed[n, d] = left
            h[n, d] = left + b * drive[d]


@summing
def _products(table, row, out):
    for n in range(out.size):
        total = table[n, 0] * row[0]
        for d in range(1, row.size):
            total += table[n, d] * row[d]
        out[n] = total


@fused
def _add_scaled(total, row, by):
    for d in range(total.size):
        total[d] += by * row[d]


@fused
def _add_product(total, row, other):
    for d in range(total.size):
        total[d] += row[d] * other[d]


@fused
def _receive(carry, d_straight, to_drive, B, C):
    """What a state gets from its output, and gives to what drove it."""
    for n in range(carry.shape[0]):
        b, c = B[n], C[n]
        for d in range(to_drive.size):
            carry[n, d] += c * d_straight[d]
            to_drive[d] += b * carry[n, d]


@fused
def _to_rate(d_rate, carry, decayed, delta):
    for n in range(carry.shape[0]):
        for d in range(delta.size):
            d_rate[n, d] += carry[n, d] * decayed[n, d] * delta[d]


@fused
def _retreat(carry, decay, decayed, rate, to_pace):
    for n in range(carry.shape[0]):
        for d in range(to_pace.size):
            to_pace[d] += carry[n, d] * decayed[n, d] * rate[n, d]
            carry[n, d] *= decay[n, d]


@fused
def _to_input(d_straight, D, delta, to_drive, d_u):
    for d in range(d_u.size):
        d_u[d] = d_straight[d] * D[d] + delta[d] * to_drive[d]


@fused
def _to_delta(to_pace, u, to_drive, d_delta, log_2):
    for d in range(d_delta.size):
        d_delta[d] = log_2 * to_pace[d] + u[d] * to_drive[d]


@compiled
def _backward(
    u, delta, rates, B, C, D, z, kept, every, d_y, d_state, d_u, d_delta, d_A, d_B, d_C, d_D, d_z, d_initial,
    one, log2_e, log_2, width, first, last,
):  # fmt: skip
    steps, channels = u.shape[1:]
    states, blocks = len(rates), -(-channels // width)
    tables, rows = np.empty((4, states, width), u.dtype), np.empty((4, width), u.dtype)
    h, rate, carry, d_rate = tables[0], tables[1], tables[2], tables[3]
    straight, passed, to_drive, to_pace = rows[0], rows[1], rows[2], rows[3]
    # of a chunk
    decay, decayed = np.empty((every, states, width), u.dtype), np.empty((every, states, width), u.dtype)
    drive, d_straight = np.empty((every, width), u.dtype), np.empty((every, width), u.dtype)
    for item in range(first, last):
        b, block = item // blocks, item % blocks
        start = block * width
        stop = min(channels, start + width)
        w = stop - start
        for n in range(states):
            rate[n, :w] = rates[n, start:stop]
            carry[n, :w] = d_state[b, start:stop, n]
            d_rate[n, :w] = 0
        passed[:w] = 0
        for chunk in range(-(-steps // every) - 1, -1, -1):
            begin = chunk * every
            h[:, :w] = kept[b, chunk, :, start:stop]
            for i in range(min(every, steps - begin)):
                t = begin + i
                x, pace, given = u[b, t, start:stop], delta[b, t, start:stop], d_y[b, t, start:stop]
                row, back = drive[i, :w], d_straight[i, :w]
                _enter(x, pace, D[start:stop], row, straight[:w])
                if z.size:
                    _gate(given, z[b, t, start:stop], back, one, log2_e)
                else:
                    back[:] = given
                _decays(pace, rate, decay[i])
                _advance_again(h, decay[i], decayed[i], row, B[b, t])
                _products(h, back, d_C[block, b, t])
                if z.size:
                    for n in range(states):
                        _add_scaled(straight[:w], h[n, :w], C[b, t, n])
                    _to_gate(given, z[b, t, start:stop], straight[:w], d_z[b, t, start:stop], one, log2_e)
                _add_product(passed[:w], back, x)
            for i in range(min(every, steps - begin) - 1, -1, -1):
                t = begin + i
                x, pace, back = u[b, t, start:stop], delta[b, t, start:stop], d_straight[i, :w]
                to_drive[:w] = 0
                to_pace[:w] = 0
                _receive(carry, back, to_drive[:w], B[b, t], C[b, t])
                _products(carry, drive[i, :w], d_B[block, b, t])
                _to_rate(d_rate, carry, decayed[i], pace)
                _retreat(carry, decay[i], decayed[i], rate, to_pace[:w])
                _to_input(back, D[start:stop], pace, to_drive[:w], d_u[b, t, start:stop])
                _to_delta(to_pace[:w], x, to_drive[:w], d_delta[b, t, start:stop], log_2)
        d_D[b, start:stop] = passed[:w]
        for n in range(states):
            d_A[b, start:stop, n] = d_rate[n, :w]
            d_initial[b, start:stop, n] = carry[n, :w]


def _rates(A: Tensor) -> Array:
    a = A.detach().numpy().T
    return np.ascontiguousarray((a.astype(np.float64) * LOG2_E).astype(a.dtype))


def _array(x: Tensor | None, like: Tensor) -> Array:
    """What is not there is empty, so that there is one compiled form."""
    return np.empty((0,) * 3, like.detach().numpy().dtype) if x is None else x.detach().numpy()


def forward(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, initial: Tensor,
    y: Tensor, state: Tensor, *, kept: Tensor | None = None, every: int = 1, peak: Tensor | None = None,
    norm: Tensor | None = None, largest: bool = False,
) -> None:  # fmt: skip
    """Fill y, the last state and what else is given, from contiguous tensors, float32 or float64.

    Args:
        kept: (batch, ceil(length / every), states, channels), the state before every so manieth step.
        peak, norm: as `assay.kernels._selective_scan.reference.scan_norms_reference` gives them; both or neither.
    """
    batch, _, channels = u.shape
    real = y.numpy().dtype.type
    share = -(-batch * channels // torch.get_num_threads())
    width = max(NARROWEST, min(WIDEST, -(-share // 16) * 16))
    given = (
        u.detach().numpy(), delta.detach().numpy(), _rates(A), B.detach().numpy(), C.detach().numpy(),
        D.detach().numpy(), _array(z, u), initial.detach().numpy(), y.numpy(), state.numpy(),
        np.empty((0,) * 4, real) if kept is None else kept.numpy(), every, _array(peak, u), _array(norm, u), largest,
        real(1), real(LOG2_E), width,
    )  # fmt: skip
    values, parts = u.numel() * A.shape[1], batch * -(-channels // width)
    shared_out(values, parts, lambda first, last: _forward(*given, first, last))


def backward(
    u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Tensor, z: Tensor | None, kept: Tensor, every: int,
    d_y: Tensor, d_state: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor]:  # fmt: skip
    """Gradients of u, delta, A, B, C, D, z and the first state, all tensors contiguous."""
    batch, steps, channels = u.shape
    states = A.shape[1]
    real = u.numpy().dtype.type
    blocks = -(-channels // BACK)
    d_u, d_delta, d_initial = torch.empty_like(u), torch.empty_like(u), torch.empty_like(d_state)
    d_z = None if z is None else torch.empty_like(z)
    d_A, d_D = torch.empty_like(d_state), u.new_empty((batch, channels))
    d_B, d_C = (u.new_empty((blocks, batch, steps, states)) for _ in range(2))
    given = (
        u.numpy(), delta.numpy(), _rates(A), B.numpy(), C.numpy(), D.numpy(), _array(z, u), kept.numpy(), every,
        d_y.numpy(), d_state.numpy(), d_u.numpy(), d_delta.numpy(), d_A.numpy(), d_B.numpy(), d_C.numpy(),
        d_D.numpy(), _array(d_z, u), d_initial.numpy(), real(1), real(LOG2_E), real(math.log(2)), BACK,
    )  # fmt: skip
    shared_out(u.numel() * states, batch * blocks, lambda first, last: _backward(*given, first, last))
    # NumPy's sum: PyTorch's threads would spin for a while beside ours
    of_A, of_B, of_C, of_D = (torch.from_numpy(parts.numpy().sum(0)) for parts in (d_A, d_B, d_C, d_D))
    return d_u, d_delta, of_A, of_B, of_C, of_D, d_z, d_initial
