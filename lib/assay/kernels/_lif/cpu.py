"""The LIF scan on processors: Numba, each thread walks over time with a block of neurons that stays in its cache.

A block's state lives in the cache, so memory sees each current once and each output once. Backwards, a
block's membranes are computed again instead of kept: what a forward pass leaves behind is its outputs alone.
"""

# What Numba compiles has the types of its arguments: one dtype of real numbers throughout, arrays (T, N) and (N,).
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import math
from typing import Any

import numba
import numpy as np
import torch
from numba.extending import overload
from numpy.typing import NDArray
from torch import Tensor

from assay.kernels.compiled import compiled, inlined
from assay.kernels.threads import shared_out

__all__ = ["backward", "forward"]

BLOCK = (
    16384  # neurons of a block, forwards: long rows stream from memory, and a row of state fits a second-level cache
)
BACK = 1024  # neurons of a block at most, backwards
BUFFER = 2**17  # values of a block's membranes that are kept for its way back
NEURONS = 64  # worth a thread

Array = NDArray[np.floating[Any]]


def _at(values, n):
    """A neuron's own value of an array, or the number that all neurons share."""
    raise NotImplementedError("compiled code only")


def _part(values, start, stop):
    """Values of a block's neurons, or the number that they share."""
    raise NotImplementedError("compiled code only")


@overload(_at)
def _(values, n):
    own = isinstance(values, numba.types.Array)
    return (lambda values, n: values[n]) if own else (lambda values, n: values)


@overload(_part)
def _(values, start, stop):
    own = isinstance(values, numba.types.Array)
    return (lambda values, start, stop: values[start:stop]) if own else (lambda values, start, stop: values)


@compiled
def _step(u, current, b, g, th, subtract, zero, one, nought, delayed):
    """State after a step, and its spike; what is None is left out when compiled."""
    v = b * u + g * current
    if delayed is None:
        s = one if v >= th else nought
        return v - (subtract * th + zero * v) * s, s
    r = one if u >= th else nought
    u = v - (subtract * th + zero * v) * r
    return u, one if u >= th else nought


@compiled
def _forward(x, beta, gain, threshold, initial, subtract, zero, one, nought, delayed, spikes, membrane, first, last):
    for start in range(first, last, BLOCK):
        stop = min(last, start + BLOCK)
        b, g, th = _part(beta, start, stop), _part(gain, start, stop), _part(threshold, start, stop)
        u = initial[start:stop].copy()
        before = u
        for t in range(x.shape[0]):
            current = x[t, start:stop]
            fired = spikes[t, start:stop]
            if membrane is None:
                for n in range(stop - start):
                    u[n], fired[n] = _step(
                        u[n], current[n], _at(b, n), _at(g, n), _at(th, n), subtract, zero, one, nought, delayed
                    )
            else:
                after = membrane[t, start:stop]
                for n in range(stop - start):
                    after[n], fired[n] = _step(
                        before[n], current[n], _at(b, n), _at(g, n), _at(th, n), subtract, zero, one, nought, delayed
                    )
                before = after


@inlined
def _slope(kind, x, alpha, turn, one, nought):
    """Derivative of the surrogate; the kinds are numbered in `assay.kernels._lif.surrogates`."""
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


@inlined
def _fill(kind, v, th, alpha, turn, one, nought, slopes):
    for n in range(slopes.size):
        slopes[n] = _slope(kind, v[n] - _at(th, n), alpha, turn, one, nought)


@compiled
def _slopes(kind, v, th, alpha, turn, one, nought, slopes):
    """Derivatives of the surrogate along a row: a loop for each kind, for a choice inside would keep it scalar."""
    if kind == 0:
        _fill(0, v, th, alpha, turn, one, nought, slopes)
    elif kind == 1:
        _fill(1, v, th, alpha, turn, one, nought, slopes)
    elif kind == 2:
        _fill(2, v, th, alpha, turn, one, nought, slopes)
    elif kind == 3:
        _fill(3, v, th, alpha, turn, one, nought, slopes)
    elif kind == 4:
        _fill(4, v, th, alpha, turn, one, nought, slopes)
    else:
        _fill(5, v, th, alpha, turn, one, nought, slopes)


@compiled
def _backward(
    x, beta, gain, threshold, initial, subtract, zero, one, nought, delayed, kind, alpha, turn, keep, scaled,
    d_spikes, d_membrane, d_x, d_beta, d_threshold, d_initial, block, workspace, first, last,
):  # fmt: skip
    steps = x.shape[0]
    for start in range(first, last, block):
        stop = min(last, start + block)
        size = stop - start
        b, g, th = _part(beta, start, stop), _part(gain, start, stop), _part(threshold, start, stop)
        rows = np.zeros((7, size), x.dtype)
        u, carry, slopes, earlier = rows[0], rows[1], rows[2], rows[3]
        to_base, to_beta, to_threshold = rows[4], rows[5], rows[6]
        # forwards again; what is kept is the membrane before its reset, or with a delayed reset the membrane
        u[:] = initial[start:stop]
        for t in range(steps):
            current = x[t, start:stop]
            row = workspace[t, :size]
            for n in range(size):
                if delayed is None:
                    row[n] = _at(b, n) * u[n] + _at(g, n) * current[n]
                    s = one if row[n] >= _at(th, n) else nought
                    u[n] = row[n] - (subtract * _at(th, n) + zero * row[n]) * s
                else:
                    u[n], _ = _step(
                        u[n], current[n], _at(b, n), _at(g, n), _at(th, n), subtract, zero, one, nought, delayed
                    )
                    row[n] = u[n]
        if delayed is not None:
            _slopes(kind, workspace[steps - 1, :size], th, alpha, turn, one, nought, earlier)
        for t in range(steps - 1, -1, -1):
            current = x[t, start:stop]
            row = workspace[t, :size]
            before = workspace[t - 1, :size] if t > 0 else initial[start:stop]
            into = d_x[t, start:stop]
            from_spikes = d_spikes[t, start:stop]
            if d_membrane is not None:
                from_membrane = d_membrane[t, start:stop]
                for n in range(size):
                    carry[n] += from_membrane[n]
            if delayed is None:
                _slopes(kind, row, th, alpha, turn, one, nought, slopes)
                for n in range(size):
                    now, whole, level = row[n], carry[n], _at(th, n)
                    s = one if now >= level else nought
                    to_spike = (from_spikes[n] - keep * (subtract * level + zero * now) * whole) * slopes[n]
                    to = whole - zero * s * whole + to_spike
                    into[n] = _at(g, n) * to
                    carry[n] = _at(b, n) * to
                    if d_beta is not None:
                        to_base[n] = to
                        to_threshold[n] -= to_spike + subtract * s * whole
            else:
                slopes, earlier = earlier, slopes
                _slopes(kind, before, th, alpha, turn, one, nought, earlier)
                for n in range(size):
                    past, level = before[n], _at(th, n)
                    fired = from_spikes[n] * slopes[n]
                    whole = carry[n] + fired
                    r = one if past >= level else nought
                    base = _at(b, n) * past + _at(g, n) * current[n]
                    to = whole - zero * r * whole
                    to_reset = -keep * (subtract * level + zero * base) * whole * earlier[n]
                    into[n] = _at(g, n) * to
                    carry[n] = _at(b, n) * to + to_reset
                    if d_beta is not None:
                        to_base[n] = to
                        to_threshold[n] -= fired + subtract * r * whole + to_reset
            if d_beta is not None:
                # with a delayed reset, and of the first state, what was kept is after its reset already
                came = one if delayed is None and t > 0 else nought
                for n in range(size):
                    past, level = before[n], _at(th, n)
                    r = came if past >= level else nought
                    past = past - (subtract * level + zero * past) * r
                    to_beta[n] += to_base[n] * (past - scaled * current[n])
        if d_beta is not None:
            d_beta[start:stop] = to_beta
            d_threshold[start:stop] = to_threshold
        d_initial[start:stop] = carry


def _flags(kind: type, reset: str) -> tuple[Any, Any, Any, Any]:
    return kind(reset == "subtract"), kind(reset == "zero"), kind(1), kind(0)


def _of_neurons(beta: Array, threshold: Array, scale_input: bool) -> tuple[Any, Any, Any]:
    """Decay, gain and threshold: three arrays, or three numbers that all neurons share, which is less to read."""
    gain = 1 - beta if scale_input else np.ones_like(beta)
    shared = all((values == values[0]).all() for values in (beta, threshold))
    return (beta[0], gain[0], threshold[0]) if shared else (beta, gain, threshold)


def forward(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, spikes: Tensor, membrane: Tensor | None, *,
    scale_input: bool, reset: str, delayed_reset: bool,
) -> None:  # fmt: skip
    """Fill spikes and membrane (T, N) from contiguous currents (T, N), float32 or float64."""
    b = beta.detach().numpy()
    given = (
        x.detach().numpy(), *_of_neurons(b, threshold.detach().numpy(), scale_input), initial.detach().numpy(),
        *_flags(b.dtype.type, reset), delayed_reset or None, spikes.detach().numpy(),
        None if membrane is None else membrane.detach().numpy(),
    )  # fmt: skip
    shared_out(x.numel(), x.shape[1], lambda first, last: _forward(*given, first, last), NEURONS)


def backward(
    x: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, d_spikes: Tensor, d_membrane: Tensor | None, *,
    scale_input: bool, reset: str, detach_reset: bool, delayed_reset: bool, code: int, alpha: float,
    of_neuron: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients with respect to currents (T, N), decay, threshold and first state (N,); those of decay and threshold
    are (0,) unless `of_neuron`.
    """
    b = beta.numpy()
    real = b.dtype.type
    d_x = torch.empty_like(x)
    d_beta, d_threshold = (beta.new_empty(len(beta) if of_neuron else 0) for _ in range(2))
    d_initial = torch.empty_like(beta)
    block = max(16, min(BACK, BUFFER // len(x)))
    given = (
        x.numpy(), *_of_neurons(b, threshold.numpy(), scale_input), initial.numpy(), *_flags(real, reset),
        delayed_reset or None, code, real(alpha), real(math.pi / 2 * alpha), real(not detach_reset), real(scale_input),
        d_spikes.numpy(), None if d_membrane is None else d_membrane.numpy(), d_x.numpy(),
        d_beta.numpy() if of_neuron else None, d_threshold.numpy() if of_neuron else None, d_initial.numpy(), block,
    )  # fmt: skip
    shared_out(
        x.numel(), x.shape[1],
        lambda first, last: _backward(*given, np.empty((len(x), block), real), first, last), NEURONS,
    )  # fmt: skip
    return d_x, d_beta, d_threshold, d_initial
