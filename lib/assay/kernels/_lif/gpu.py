"""The LIF scan on GPUs: Triton, each program walks over time with a block of neurons whose state stays in registers.

The way back runs the neurons forward again with a checkpoint every few steps, then takes the chunks between
checkpoints from the last to the first. Memory is twice the square root of T times the state, not T times.
"""

# Triton gives kernels their types.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false, reportGeneralTypeIssues=false, reportCallIssue=false

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["backward", "backward_kernel", "forward", "forward_kernel"]

BLOCK = 128
WARPS = 4
RESETS = {"subtract": 0, "zero": 1, "none": 2}


@triton.jit
def _after(v, s, threshold, RESET: tl.constexpr):
    if RESET == 0:
        return v - threshold * s
    if RESET == 1:
        return v - v * s
    return v


@triton.jit
def _fires(u, threshold):
    return tl.where(u >= threshold, 1.0, 0.0).to(u.dtype)


@triton.jit
def _slope(x, alpha, turn, KIND: tl.constexpr):
    """Derivative of the surrogate; the kinds are numbered in `assay.kernels._lif.surrogates`."""
    if KIND == 0:
        z = turn * x
        return (alpha / 2) / (1 + z * z)
    if KIND == 1:
        p = 1 / (1 + tl.exp(-alpha * x))
        return alpha * p * (1 - p)
    if KIND == 2:
        z = 1 + alpha * tl.abs(x)
        return 1 / (z * z)
    if KIND == 3:
        return alpha * tl.maximum(1 - alpha * tl.abs(x), 0.0)
    if KIND == 4:
        return tl.where(tl.abs(x) * (2 * alpha) < 1, alpha, 0.0)
    return alpha + 0 * x


@triton.jit
def _advance(u, current, b, g, threshold, RESET: tl.constexpr, DELAYED: tl.constexpr):
    """What is reset, what decides on it, and the state after."""
    v = b * u + g * current
    s = _fires(u, threshold) if DELAYED else _fires(v, threshold)
    return v, s, _after(v, s, threshold, RESET)


@triton.jit
def forward_kernel(
    x, beta, threshold, initial, spikes, membrane, steps, neurons,
    SCALE: tl.constexpr, RESET: tl.constexpr, DELAYED: tl.constexpr, WRITE: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = n < neurons
    b = tl.load(beta + n, mask=inside, other=0.0)
    th = tl.load(threshold + n, mask=inside, other=1.0)
    u = tl.load(initial + n, mask=inside, other=0.0)
    g = 1 - b if SCALE else 0 * b + 1
    row = n.to(tl.int64)
    for _ in range(steps):
        current = tl.load(x + row, mask=inside, other=0.0)
        _v, s, u = _advance(u, current, b, g, th, RESET, DELAYED)
        tl.store(spikes + row, _fires(u, th) if DELAYED else s, mask=inside)
        if WRITE:
            tl.store(membrane + row, u, mask=inside)
        row += neurons


@triton.jit
def backward_kernel(
    x, beta, threshold, initial, d_spikes, d_membrane, d_x, d_beta, d_threshold, d_initial, checkpoints, chunk_states,
    alpha, turn, steps, neurons, chunk,
    SCALE: tl.constexpr, RESET: tl.constexpr, DETACH: tl.constexpr, DELAYED: tl.constexpr, READ: tl.constexpr,
    OF_NEURON: tl.constexpr, KIND: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = n < neurons
    b = tl.load(beta + n, mask=inside, other=0.0)
    th = tl.load(threshold + n, mask=inside, other=1.0)
    u = tl.load(initial + n, mask=inside, other=0.0)
    alpha = alpha + 0 * b
    turn = turn + 0 * b
    g = 1 - b if SCALE else 0 * b + 1
    column = n.to(tl.int64)
    chunks = (steps + chunk - 1) // chunk
    for c in range(chunks):
        tl.store(checkpoints + column + tl.cast(c, tl.int64) * neurons, u, mask=inside)
        first = c * chunk
        last = tl.minimum(first + chunk, steps)
        for t in range(first, last):
            current = tl.load(x + column + tl.cast(t, tl.int64) * neurons, mask=inside, other=0.0)
            _v, _s, u = _advance(u, current, b, g, th, RESET, DELAYED)
    carry = 0 * b
    to_beta = 0 * b
    to_threshold = 0 * b
    for back in range(chunks):
        c = chunks - 1 - back
        first = c * chunk
        last = tl.minimum(first + chunk, steps)
        u = tl.load(checkpoints + column + tl.cast(c, tl.int64) * neurons, mask=inside, other=0.0)
        for t in range(first, last):
            tl.store(chunk_states + column + tl.cast(t - first, tl.int64) * neurons, u, mask=inside)
            current = tl.load(x + column + tl.cast(t, tl.int64) * neurons, mask=inside, other=0.0)
            _v, _s, u = _advance(u, current, b, g, th, RESET, DELAYED)
        for i in range(last - first):
            t = last - 1 - i
            at = column + tl.cast(t, tl.int64) * neurons
            past = tl.load(chunk_states + column + tl.cast(t - first, tl.int64) * neurons, mask=inside, other=0.0)
            current = tl.load(x + at, mask=inside, other=0.0)
            v, s, u = _advance(past, current, b, g, th, RESET, DELAYED)
            whole = carry
            if READ:
                whole += tl.load(d_membrane + at, mask=inside, other=0.0)
            fired = tl.load(d_spikes + at, mask=inside, other=0.0)
            if DELAYED:
                fired *= _slope(u - th, alpha, turn, KIND)
                whole += fired
                to_threshold -= fired
            if RESET == 0:
                to_reset = -th * whole
                to_v = whole
                to_threshold -= s * whole
            elif RESET == 1:
                to_reset = -v * whole
                to_v = whole - s * whole
            else:
                to_reset = 0 * whole
                to_v = whole
            if DETACH:
                to_reset = 0 * whole
            if DELAYED:
                to_past = to_reset * _slope(past - th, alpha, turn, KIND)
                to_threshold -= to_past
            else:
                to_spike = (fired + to_reset) * _slope(v - th, alpha, turn, KIND)
                to_v += to_spike
                to_threshold -= to_spike
                to_past = 0 * whole
            if OF_NEURON:
                to_beta += to_v * (past - current if SCALE else past)
            tl.store(d_x + at, g * to_v, mask=inside)
            carry = b * to_v + to_past
    if OF_NEURON:
        tl.store(d_beta + n, to_beta, mask=inside)
        tl.store(d_threshold + n, to_threshold, mask=inside)
    tl.store(d_initial + n, carry, mask=inside)


def forward(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, spikes: Tensor, membrane: Tensor | None, *,
    scale_input: bool, reset: str, delayed_reset: bool,
) -> None:  # fmt: skip
    """Fill spikes and membrane (T, N) from contiguous currents (T, N)."""
    steps, neurons = x.shape
    forward_kernel[(triton.cdiv(neurons, BLOCK),)](
        x, beta, threshold, initial, spikes, spikes if membrane is None else membrane, steps, neurons,
        SCALE=scale_input, RESET=RESETS[reset], DELAYED=delayed_reset, WRITE=membrane is not None, SIZE=BLOCK,
        num_warps=WARPS, enable_fp_fusion=False,
    )  # fmt: skip


def backward(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, d_spikes: Tensor, d_membrane: Tensor | None, *,
    scale_input: bool, reset: str, detach_reset: bool, delayed_reset: bool, code: int, alpha: float,
    of_neuron: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients with respect to currents (T, N), decay, threshold and first state (N,); those of decay and threshold
    mean nothing unless `of_neuron`.
    """
    steps, neurons = x.shape
    chunk = math.isqrt(steps - 1) + 1
    checkpoints = x.new_empty(((steps + chunk - 1) // chunk, neurons))
    states = x.new_empty((chunk, neurons))
    d_x = torch.empty_like(x)
    d_beta, d_threshold, d_initial = torch.empty_like(beta), torch.empty_like(beta), torch.empty_like(beta)
    backward_kernel[(triton.cdiv(neurons, BLOCK),)](
        x, beta, threshold, initial, d_spikes, d_spikes if d_membrane is None else d_membrane, d_x, d_beta,
        d_threshold, d_initial, checkpoints, states, alpha, math.pi / 2 * alpha, steps, neurons, chunk,
        SCALE=scale_input, RESET=RESETS[reset], DETACH=detach_reset, DELAYED=delayed_reset,
        READ=d_membrane is not None, OF_NEURON=of_neuron, KIND=code, SIZE=BLOCK, num_warps=WARPS,
        enable_fp_fusion=False,
    )  # fmt: skip
    return d_x, d_beta, d_threshold, d_initial
