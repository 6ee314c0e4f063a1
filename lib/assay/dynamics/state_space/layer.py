"""A selective state-space layer as arrays: what its weights make of normalised inputs, in float64.

Mamba (Gu and Dao, arXiv 2312.00752, section 3, and their code), Mamba-2 (Dao and Gu, arXiv 2405.21060, section 7), and
relatives that normalise the step, B and C (Falcon Mamba, Jamba). The input of a layer is what its norm gives; the norm
is not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

__all__ = ["Driven", "Family", "InnerNorms", "SSMLayer"]

Family = Literal["mamba", "mamba2"]


class Driven(NamedTuple):
    """What a layer's scan is given.

    Attributes:
        x: (batch, length, D) inputs of the scan, after convolution and SiLU.
        pre: (batch, length, D) before the softplus; delta: after it and its limits.
        B, C: (batch, length, G, N), one of each for a group of channels; G is 1 in Mamba.
        z: (batch, length, D) gate before its SiLU.
    """

    x: Tensor
    pre: Tensor
    delta: Tensor
    B: Tensor
    C: Tensor
    z: Tensor


@dataclass(frozen=True, eq=False)
class InnerNorms:
    """Root mean square norms of the low-rank step, B and C; gains are None where a norm has no weights.

    Attributes:
        epsilon: of all three.
        step: (R,) gain. B, C: (N,) gains.
    """

    epsilon: float
    step: Tensor | None
    B: Tensor | None
    C: Tensor | None


@dataclass(frozen=True, eq=False)
class SSMLayer:
    """One layer. All arrays are float64 and finite.

    D channels with N states each; d the width of the model; R the rank of Mamba's step; H heads and G groups of
    Mamba-2, where head i has the channels i D/H to (i+1) D/H and all of a head's states share A.

    Attributes:
        name: where its weights stand, such as `backbone.layers.3.mixer`. index: the number in it.
        family: `mamba` or `mamba2`.
        A: (D, N), all below zero: -exp(A_log).
        skip: (D,), the D of the papers.
        gain: (d,) of the norm in front; None where no norm was found. shift: (d,) bias of a norm that takes the mean
            away as well (LayerNorm); None for a root mean square norm.
        in_x: (D, d) rows of `in_proj` that make the scan's input. in_z: (D, d) those of the gate.
        in_x_bias, in_z_bias: (D,).
        conv: (D, K) taps of a channel, the last one for the present. conv_bias: (D,).
        B, C: Mamba: (N, D) rows of `x_proj`. Mamba-2: (G N, d) rows of `in_proj`.
        BC_bias: Mamba-2: (2 G N,) biases of those rows.
        BC_conv, BC_conv_bias: Mamba-2: (2 G N, K) and (2 G N,), the convolution's part for B and C.
        step_low: Mamba: (R, D) rows of `x_proj`. step: (D, R) `dt_proj`. Mamba-2: step is (D, d), a head's row for
            each of its channels.
        step_bias: (D,).
        out: (d, D) `out_proj`. out_bias: (d,).
        limits: least and largest step that the layer lets through.
        inner: norms of step, B and C, or None.
        gated_gain: (D,) of Mamba-2's norm after the gate, or None.
        epsilon: of the norms in front and after the gate.
        notes: sentences to show beside any result.
    """

    name: str
    index: int
    family: Family
    A: Tensor
    skip: Tensor
    gain: Tensor | None
    shift: Tensor | None
    in_x: Tensor
    in_z: Tensor
    in_x_bias: Tensor
    in_z_bias: Tensor
    conv: Tensor
    conv_bias: Tensor
    B: Tensor
    C: Tensor
    BC_bias: Tensor
    BC_conv: Tensor
    BC_conv_bias: Tensor
    step_low: Tensor
    step: Tensor
    step_bias: Tensor
    out: Tensor
    out_bias: Tensor
    groups: int = 1
    limits: tuple[float, float] = (0.0, float("inf"))
    inner: InnerNorms | None = None
    gated_gain: Tensor | None = None
    epsilon: float = 1e-5
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<SSMLayer {self.name}: {self.family}, {self.channels} channels of {self.states} states>"

    @property
    def width(self) -> int:
        """d."""
        return self.in_x.shape[1]

    @property
    def channels(self) -> int:
        """D."""
        return self.A.shape[0]

    @property
    def states(self) -> int:
        """N, of a channel."""
        return self.A.shape[1]

    @property
    def rates(self) -> Tensor:
        """(D, N) decay rates a = -A, above zero."""
        return -self.A

    def group_of(self) -> Tensor:
        """(D,) the group whose B and C a channel uses."""
        return torch.arange(self.channels) // (self.channels // self.groups)

    def normed(self, h: Tensor) -> Tensor:
        """The layer's input (…, d) from the residual stream (…, d): its norm with its gain; h itself without one."""
        if self.gain is None:
            return h
        if self.shift is not None:
            return functional.layer_norm(h, h.shape[-1:], self.gain, self.shift, self.epsilon)
        return self.gain * root_mean_square_norm(h, self.epsilon)

    def drive(self, u: Tensor) -> Driven:
        """What the scan is given for inputs (batch, length, d), float64, after the norm. Gradients flow."""
        x = functional.silu(causal(functional.linear(u, self.in_x, self.in_x_bias), self.conv, self.conv_bias))
        z = functional.linear(u, self.in_z, self.in_z_bias)
        batch, length = x.shape[:2]
        if self.family == "mamba":
            B, C = x @ self.B.T, x @ self.C.T
            low = x @ self.step_low.T
            if self.inner is not None:
                B, C, low = (
                    root_mean_square_norm(value, self.inner.epsilon) * (1.0 if gain is None else gain)
                    for value, gain in ((B, self.inner.B), (C, self.inner.C), (low, self.inner.step))
                )
            pre = low @ self.step.T + self.step_bias
        else:
            both = functional.linear(u, torch.cat([self.B, self.C]), self.BC_bias)
            B, C = functional.silu(causal(both, self.BC_conv, self.BC_conv_bias)).chunk(2, dim=-1)
            pre = u @ self.step.T + self.step_bias
        shape = (batch, length, self.groups, self.states)
        delta = functional.softplus(pre, threshold=700.0).clamp(*self.limits)
        return Driven(x, pre, delta, B.reshape(shape), C.reshape(shape), z)

    def output(self, y: Tensor, z: Tensor) -> Tensor:
        """The block's output (batch, length, d) from the scan's y and the gate, both (batch, length, D)."""
        gated = y * functional.silu(z)
        if self.gated_gain is not None:
            grouped = gated.unflatten(-1, (self.groups, -1))  # each group of channels has a norm of its own
            gated = root_mean_square_norm(grouped, self.epsilon).flatten(-2) * self.gated_gain
        return functional.linear(gated, self.out, self.out_bias)


def root_mean_square_norm(x: Tensor, epsilon: float) -> Tensor:
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + epsilon)


def causal(x: Tensor, taps: Tensor, bias: Tensor) -> Tensor:
    """Depthwise causal convolution over time: (batch, length, channels) with taps (channels, K); zeros come before."""
    K = taps.shape[1]
    padded = functional.pad(x.transpose(1, 2), (K - 1, 0))
    return functional.conv1d(padded, taps[:, None], bias, groups=taps.shape[0]).transpose(1, 2)
