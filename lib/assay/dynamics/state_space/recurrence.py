"""The state of a selective scan step by step, in float64: the ground truth of certificates, with either discretisation.

The fused kernel of `assay.kernels` computes the public code's form, Δ B x, without a trajectory. Here are an exact
hold, (1 - e^(-Δa))/a B x, over whole layers, and the trajectory of one channel in both forms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from assay.dynamics.state_space.certificates import Method
from assay.dynamics.state_space.layer import Driven, SSMLayer
from assay.kernels import selective_scan_norms
from assay.kernels.compiled import compiled

__all__ = ["Scanned", "channel_states", "last_state", "scan_layer"]


class Scanned(NamedTuple):
    """y (batch, length, D), the state (batch, D, N) at the end, and the peak (batch, D, N) of each state's size."""

    y: Tensor
    state: Tensor
    peak: Tensor


@compiled
def _hold(x, delta, rates, B, C, skip, group, state, y, peak):  # noqa: ANN001, ANN202  # pyright: ignore[reportMissingParameterType]
    batch, length, channels = x.shape
    states = rates.shape[1]
    for b in range(batch):
        for t in range(length):
            for d in range(channels):
                total = skip[d] * x[b, t, d]
                g = group[d]
                for n in range(states):
                    z = delta[b, t, d] * rates[d, n]
                    gain = -math.expm1(-z)
                    h = (1.0 - gain) * state[b, d, n] + gain / rates[d, n] * B[b, t, g, n] * x[b, t, d]
                    state[b, d, n] = h
                    total += C[b, t, g, n] * h
                    if abs(h) > peak[b, d, n]:
                        peak[b, d, n] = abs(h)
                y[b, t, d] = total


@compiled
def _channel(v, delta, rates, hold, state, out):  # noqa: ANN001, ANN202  # pyright: ignore[reportMissingParameterType]
    for t in range(len(delta)):
        for n in range(len(rates)):
            z = delta[t] * rates[n]
            gain = -math.expm1(-z)
            push = gain / rates[n] if hold else delta[t]
            state[n] = (1.0 - gain) * state[n] + push * v[t, n]
            out[t, n] = state[n]


def scan_layer(layer: SSMLayer, driven: Driven, method: Method = "euler") -> Scanned:
    """Scan what a layer's inputs have become, in float64, from a state of zeros. No trajectory is kept."""
    group = layer.group_of()
    if method == "zoh":
        batch, length, D = driven.x.shape
        y = np.empty((batch, length, D))
        state, peak = np.zeros((2, batch, D, layer.states))
        parts = (driven.x, driven.delta, layer.rates, driven.B, driven.C, layer.skip)
        x, delta, rates, B, C, skip = (np.ascontiguousarray(p.detach().numpy()) for p in parts)
        _hold(x, delta, rates, B, C, skip, group.numpy(), state, y, peak)
        return Scanned(*(torch.from_numpy(a) for a in (y, state, peak)))
    parts = []
    for g in range(layer.groups):
        own = group == g
        found = selective_scan_norms(
            driven.x[..., own].contiguous(), driven.delta[..., own].contiguous(), layer.A[own],
            driven.B[:, :, g].contiguous(), driven.C[:, :, g].contiguous(), layer.skip[own],
        )  # fmt: skip
        parts.append((found.y, found.state, found.peak))
    if len(parts) == 1:
        return Scanned(*parts[0])
    y, state, peak = (list(p) for p in zip(*parts, strict=True))
    return Scanned(torch.cat(y, 2), torch.cat(state, 1), torch.cat(peak, 1))


def channel_states(
    v: np.ndarray, delta: np.ndarray, rates: np.ndarray, *, method: Method = "euler", initial: np.ndarray | None = None
) -> np.ndarray:
    """The trajectory of one channel.

    Args:
        v: (T, N) drives B x. delta: (T,) steps, not negative. rates: (N,) a > 0.
        method: `euler` pushes with Δ, `zoh` with (1 - e^(-Δa))/a.
        initial: (N,) state before the first step; zeros by default.

    Returns:
        (T, N) states after each step.

    Raises:
        ValueError: shapes that do not fit, a step below zero or a rate that is not above it.
    """
    v, delta, rates = (np.ascontiguousarray(a, dtype=np.float64) for a in (v, delta, rates))
    if v.ndim != 2 or delta.shape != v.shape[:1] or rates.shape != v.shape[1:]:
        raise ValueError(f"v, delta, rates: got {v.shape}, {delta.shape}, {rates.shape}; expected (T, N), (T,), (N,).")
    if not (delta >= 0).all() or not (rates > 0).all():
        raise ValueError("delta, rates: hold a step below 0 or a rate that is not above it; expected Δ ≥ 0, a > 0.")
    state = np.zeros(len(rates)) if initial is None else np.array(initial, dtype=np.float64)
    out = np.empty_like(v)
    _channel(v, delta, rates, method == "zoh", state, out)
    return out


def last_state(v: Tensor, delta: Tensor, rate: Tensor, method: Method = "euler") -> Tensor:
    """The last state of single states, in closed form and with gradients: sum over s of push_s v_s e^(-a(τ_T - τ_s)).

    Args:
        v, delta: (batch, T). rate: (batch,) a.

    Returns:
        (batch,).
    """
    z = delta * rate[:, None]
    push = -torch.expm1(-z) / rate[:, None] if method == "zoh" else delta
    # Sums from the end, so that nothing large is subtracted from something large.
    after = z.flip(1).cumsum(1).flip(1) - z
    return (push * v * torch.exp(-after)).sum(1)
