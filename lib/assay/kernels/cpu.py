"""The LIF scan on processors: Numba, each thread walks over time with a block of neurons that stays in its cache.

A block's state lives in the first-level cache, so memory sees each current once and each output once. Backwards, a
block's membranes are computed again instead of kept: what a forward pass leaves behind is its outputs alone.
"""

# What Numba compiles has the types of its arguments: one dtype of real numbers throughout, arrays (T, N) and (N,).
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import functools
import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# compiled code goes to a folder of the user's, never beside the sources
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "numba")
)

import numba

__all__ = ["backward", "forward"]

BLOCK = 1024  # neurons of a block, forwards: six rows of them fit a first-level cache
BACK = 256  # neurons of a block at most, backwards
BUFFER = 2**17  # values of a block's membranes that are kept for its way back

SMALL = 2**16  # values below which a second thread costs more than it brings

Array = NDArray[np.floating[Any]]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _forward(x, beta, gain, threshold, initial, subtract, zero, one, nought, spikes, membrane, block, first, last):
    steps = x.shape[0]
    for start in range(first, last, block):
        size = min(block, last - start)
        u = initial[start : start + size].copy()
        b = beta[start : start + size]
        g = gain[start : start + size]
        th = threshold[start : start + size]
        for t in range(steps):
            current = x[t, start : start + size]
            fired = spikes[t, start : start + size]
            for n in range(size):
                v = b[n] * u[n] + g[n] * current[n]
                s = one if v >= th[n] else nought
                u[n] = v - (subtract * th[n] + zero * v) * s
                fired[n] = s
            if membrane is not None:
                membrane[t, start : start + size] = u


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _forward_delayed(
    x, beta, gain, threshold, initial, subtract, zero, one, nought, spikes, membrane, block, first, last
):  # fmt: skip
    steps = x.shape[0]
    for start in range(first, last, block):
        size = min(block, last - start)
        u = initial[start : start + size].copy()
        b = beta[start : start + size]
        g = gain[start : start + size]
        th = threshold[start : start + size]
        for t in range(steps):
            current = x[t, start : start + size]
            fired = spikes[t, start : start + size]
            for n in range(size):
                r = one if u[n] >= th[n] else nought
                v = b[n] * u[n] + g[n] * current[n]
                u[n] = v - (subtract * th[n] + zero * v) * r
                fired[n] = one if u[n] >= th[n] else nought
            if membrane is not None:
                membrane[t, start : start + size] = u


@numba.njit(inline="always")
def _slope(x, alpha, turn, kind, one, nought):
    """Derivative of the surrogate; the kinds are numbered in `assay.kernels.surrogates`."""
    if kind == 0:
        z = turn * x
        return alpha / (one + one) / (one + z * z)
    if kind == 1:
        p = one / (one + np.exp(-alpha * x))
        return alpha * p * (one - p)
    if kind == 2:
        z = one + alpha * abs(x)
        return one / (z * z)
    if kind == 3:
        return alpha * max(one - alpha * abs(x), nought)
    if kind == 4:
        return alpha if abs(x) * (alpha + alpha) < one else nought
    return alpha


@numba.njit(inline="always")
def _slopes(v, th, alpha, turn, kind, one, nought, slopes):
    """Derivatives of the surrogate along a row: a loop for each kind, for a choice inside would keep it scalar."""
    size = slopes.size
    if kind == 0:
        half = alpha / (one + one)
        for n in range(size):
            z = turn * (v[n] - th[n])
            slopes[n] = half / (one + z * z)
    else:
        for n in range(size):
            slopes[n] = _slope(v[n] - th[n], alpha, turn, kind, one, nought)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _backward(
    x, beta, gain, threshold, initial, subtract, zero, one, nought, kind, alpha, turn, keep, scaled, d_spikes,
    d_membrane, d_x, d_beta, d_threshold, d_initial, block, workspace, first, last,
):  # fmt: skip
    steps = x.shape[0]
    for start in range(first, last, block):
        size = min(block, last - start)
        # what a row of neurons carries lies in one array at fixed distances, which leaves few overlaps to rule out
        rows = np.zeros(8 * BACK, x.dtype)
        carry = rows[0:size]
        to_beta = rows[BACK : BACK + size]
        to_threshold = rows[2 * BACK : 2 * BACK + size]
        slopes = rows[3 * BACK : 3 * BACK + size]
        to_v = rows[4 * BACK : 4 * BACK + size]
        b = rows[5 * BACK : 5 * BACK + size]
        g = rows[6 * BACK : 6 * BACK + size]
        th = rows[7 * BACK : 7 * BACK + size]
        b[:] = beta[start : start + size]
        g[:] = gain[start : start + size]
        th[:] = threshold[start : start + size]
        v = workspace  # before the reset
        u = initial[start : start + size].copy()
        for t in range(steps):
            current = x[t, start : start + size]
            row = v[t, 0:size]
            for n in range(size):
                new = b[n] * u[n] + g[n] * current[n]
                s = one if new >= th[n] else nought
                row[n] = new
                u[n] = new - (subtract * th[n] + zero * new) * s
        for t in range(steps - 1, -1, -1):
            row = v[t, 0:size]
            into = d_x[t, start : start + size]
            from_spikes = d_spikes[t, start : start + size]
            if d_membrane is not None:
                from_membrane = d_membrane[t, start : start + size]
                for n in range(size):
                    carry[n] += from_membrane[n]
            _slopes(row, th, alpha, turn, kind, one, nought, slopes)
            for n in range(size):
                now = row[n]
                whole = carry[n]
                s = one if now >= th[n] else nought
                to_spike = (from_spikes[n] - keep * (subtract * th[n] + zero * now) * whole) * slopes[n]
                to_v[n] = whole - zero * s * whole + to_spike
            if d_beta is not None:
                current = x[t, start : start + size]
                before = v[t - 1, 0:size] if t > 0 else initial[start : start + size]
                came = one if t > 0 else nought  # the first state is taken as it is
                for n in range(size):
                    s = one if row[n] >= th[n] else nought
                    to_threshold[n] -= to_v[n] - carry[n] + (zero + subtract) * s * carry[n]
                    past = before[n]
                    r = came if past >= th[n] else nought
                    past = past - (subtract * th[n] + zero * past) * r
                    to_beta[n] += to_v[n] * (past - scaled * current[n])
            for n in range(size):
                into[n] = g[n] * to_v[n]
                carry[n] = b[n] * to_v[n]
        if d_beta is not None:
            d_beta[start : start + size] = to_beta
            d_threshold[start : start + size] = to_threshold
        d_initial[start : start + size] = carry


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _backward_delayed(
    x, beta, gain, threshold, initial, subtract, zero, one, nought, kind, alpha, turn, keep, scaled, d_spikes,
    d_membrane, d_x, d_beta, d_threshold, d_initial, block, first, last,
):  # fmt: skip
    steps = x.shape[0]
    for start in range(first, last, block):
        size = min(block, last - start)
        b = beta[start : start + size]
        g = gain[start : start + size]
        th = threshold[start : start + size]
        u = np.empty((steps + 1, size), x.dtype)  # the membrane, its first state in front
        u[0] = initial[start : start + size]
        for t in range(steps):
            current = x[t, start : start + size]
            for n in range(size):
                r = one if u[t, n] >= th[n] else nought
                base = b[n] * u[t, n] + g[n] * current[n]
                u[t + 1, n] = base - (subtract * th[n] + zero * base) * r
        carry = np.zeros(size, x.dtype)
        to_beta = np.zeros(size, x.dtype)
        to_threshold = np.zeros(size, x.dtype)
        for t in range(steps - 1, -1, -1):
            current = x[t, start : start + size]
            into = d_x[t, start : start + size]
            for n in range(size):
                fired = d_spikes[t, start + n] * _slope(u[t + 1, n] - th[n], alpha, turn, kind, one, nought)
                whole = carry[n] + fired
                if d_membrane is not None:
                    whole = whole + d_membrane[t, start + n]
                past = u[t, n]
                r = one if past >= th[n] else nought
                base = b[n] * past + g[n] * current[n]
                to_base = whole - zero * r * whole
                to_reset = (
                    -keep
                    * (subtract * th[n] + zero * base)
                    * whole
                    * _slope(past - th[n], alpha, turn, kind, one, nought)
                )
                to_threshold[n] -= fired + subtract * r * whole + to_reset
                to_beta[n] += to_base * (past - scaled * current[n])
                into[n] = g[n] * to_base
                carry[n] = b[n] * to_base + to_reset
        d_beta[start : start + size] = to_beta
        d_threshold[start : start + size] = to_threshold
        d_initial[start : start + size] = carry


def _flags(kind: type, reset: str) -> tuple[Any, Any, Any, Any]:
    return kind(reset == "subtract"), kind(reset == "zero"), kind(1), kind(0)


@functools.cache
def _helpers(process: int) -> ThreadPoolExecutor:
    """Threads of our own: OpenMP's spin between two calls, and PyTorch's and Numba's would do so side by side."""
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="lif")


def _share(values: int, neurons: int, scan: Callable[[int, int], None]) -> None:
    """Let as many threads as PyTorch uses scan a share of the neurons each."""
    threads = 1 if values < SMALL else max(1, min(torch.get_num_threads(), neurons // 64))
    size = -(-neurons // threads)
    shares = [(first, min(neurons, first + size)) for first in range(0, neurons, size)]
    helped = [_helpers(os.getpid()).submit(scan, *share) for share in shares[1:]]
    scan(*shares[0])
    for one in helped:
        one.result()


def forward(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, spikes: Tensor, membrane: Tensor | None, *,
    scale_input: bool, reset: str, delayed_reset: bool,
) -> None:  # fmt: skip
    """Fill spikes and membrane (T, N) from contiguous currents (T, N), float32 or float64."""
    b = beta.detach().numpy()
    gain = 1 - b if scale_input else np.ones_like(b)
    kernel = _forward_delayed if delayed_reset else _forward
    given = (
        x.detach().numpy(), b, gain, threshold.detach().numpy(), initial.detach().numpy(), *_flags(b.dtype.type, reset),
        spikes.detach().numpy(), None if membrane is None else membrane.detach().numpy(), BLOCK,
    )  # fmt: skip
    _share(x.numel(), x.shape[1], lambda first, last: kernel(*given, first, last))


def backward(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, d_spikes: Tensor, d_membrane: Tensor | None, *,
    scale_input: bool, reset: str, detach_reset: bool, delayed_reset: bool, code: int, alpha: float,
    of_neuron: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients with respect to currents (T, N), decay, threshold and first state (N,); those of decay and threshold
    may be (0,) unless `of_neuron`.
    """
    b = beta.numpy()
    real = b.dtype.type
    gain = 1 - b if scale_input else np.ones_like(b)
    d_x = torch.empty_like(x)
    of_neuron = of_neuron or delayed_reset
    d_beta, d_threshold = (beta.new_empty(len(beta) if of_neuron else 0) for _ in range(2))
    d_initial = torch.empty_like(beta)
    block = max(16, min(BACK, BUFFER // max(1, len(x))))
    given = (
        x.numpy(), b, gain, threshold.numpy(), initial.numpy(), *_flags(real, reset), code, real(alpha),
        real(math.pi / 2 * alpha), real(not detach_reset), real(scale_input), d_spikes.numpy(),
        None if d_membrane is None else d_membrane.numpy(), d_x.numpy(), d_beta.numpy() if of_neuron else None,
        d_threshold.numpy() if of_neuron else None, d_initial.numpy(), block,
    )  # fmt: skip

    def scan(first: int, last: int) -> None:
        if delayed_reset:
            _backward_delayed(*given, first, last)
        else:
            _backward(*given, np.empty((len(x), block), real), first, last)

    _share(x.numel(), x.shape[1], scan)
    return d_x, d_beta, d_threshold, d_initial
