"""Bounds on a layer's states, outputs and block output, for inputs of any length: bounded input, bounded output.

Source: Cao, Liu, Chen and Qin (ICML 2026) for the claim; derived here. Let τ_t be the sum of steps up to t. With an
exact hold, h_t is the state at time τ_t of ONE linear system dh/dt = -a h + v(τ) with v = B x piecewise constant, so
|h_t| <= |h_0| e^(-a τ_t) + (1 - e^(-a τ_t)) sup|v| / a for any steps at all. The public code of Mamba takes Δ B x for
the input instead of (1 - e^(-Δa))/a B x, larger by ρ(Δa) = Δa / (1 - e^(-Δa)), which rises with Δa: the bound becomes
sup|v| ρ(Δ_max a) / a, at most sup|v| (1/a + Δ_max). The bound without ρ is false for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from assay.dynamics.state_space.constants import Constants, Grade
from assay.dynamics.state_space.layer import SSMLayer
from assay.dynamics.state_space.ranges import SLACK, zoh_ratio

__all__ = ["METHODS", "Bound", "Method", "bibo_bound"]

Method = Literal["euler", "zoh"]
METHODS: tuple[Method, ...] = ("euler", "zoh")


@dataclass(frozen=True, eq=False)
class Bound:
    """Bounds of a layer for every step.

    Attributes:
        grade: of the constants that it rests on. method: discretisation.
        h_max: (D, N) states. y_max: (D,) outputs of the scan. out_max: (d,) of the block, before the residual.
        out_length: Euclidean length of the block's output.
        assumptions: what they hold for, in words.
    """

    grade: Grade
    method: Method
    h_max: Tensor
    y_max: Tensor
    out_max: Tensor
    out_length: float
    assumptions: tuple[str, ...]


def bibo_bound(
    layer: SSMLayer, constants: Constants, *, method: Method = "euler", initial: Tensor | None = None
) -> Bound:
    """Bounds from constants.

    Args:
        layer: whose rates, skip and last projection are used.
        constants: of the same layer.
        method: `euler`, as the public code computes; `zoh`, an exact hold.
        initial: (D, N) sizes of the first state; zeros by default.

    Raises:
        ValueError: no such method, or constants of another layer.
    """
    if method not in METHODS:
        raise ValueError(f"method: got {method!r}; expected euler or zoh.")
    a = layer.rates
    if constants.v_max.shape != a.shape:
        raise ValueError(f"constants: got {tuple(constants.v_max.shape)} states; expected {tuple(a.shape)}.")
    ratio = zoh_ratio(constants.dt_max[:, None] * a) if method == "euler" else torch.ones_like(a)
    h_max = constants.v_max * ratio / a
    said = list(constants.assumptions)
    if initial is not None:
        h_max = torch.maximum(h_max, initial)
        said.append("an initial state of the sizes that were given")
    h_max = h_max * (1 + SLACK)
    y_max = ((constants.C_max * h_max).sum(1) + layer.skip.abs() * constants.x_max) * (1 + SLACK)
    gated = y_max * constants.z_max
    out = layer.out.abs() @ gated
    length = float(torch.linalg.matrix_norm(layer.out, 2) * gated.norm())
    if layer.gated_gain is not None:
        # A norm follows the gate: of each group's channels a vector of length at most sqrt(D / G), whatever states do.
        each = (layer.out * layer.gated_gain).unflatten(1, (layer.groups, -1)).norm(dim=2)
        out = (layer.channels / layer.groups) ** 0.5 * each.sum(1)
        length = layer.channels**0.5 * float(torch.linalg.matrix_norm(layer.out * layer.gated_gain, 2))
        said.append("the block’s output is bounded by the norm after its gate, not by its states")
    bias = layer.out_bias.abs()
    said.append("exact arithmetic in the layer; bounds in float64, rounded outward")
    return Bound(
        constants.grade, method, h_max, y_max, (out + bias) * (1 + SLACK),
        (length + float(bias.norm())) * (1 + 1e-7), tuple(said),
    )  # fmt: skip
