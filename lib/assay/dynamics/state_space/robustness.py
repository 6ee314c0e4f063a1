"""How far a change of its input moves a layer's state and output: a bound linear in length, and one for any length.

Source: Cao, Liu, Chen and Qin (ICML 2026) claim a bound of two terms that grows linearly with length. Its form here is
reconstructed: dh_t = e^(-z~_t) dh_(t-1) + (e^(-z~_t) - e^(-z_t)) h_(t-1) + Δ~_t (v~_t - v_t) + (Δ~_t - Δ_t) v_t with
z = Δ a, v = B x. Products of decays are at most 1 and softplus has slope at most 1, so with p = sup|pre~ - pre|
|dh_L| <= ρ δ_v / a + L (a h_max + sup|v|) p.

The bound for every length is our own. softplus(x + s)/softplus(x) lies in [e^-|s|, e^|s|], so Δ~/Δ lies in
[e^-p, e^p]; and sum_t w_t e^(-sum_(s>=t) w_s) <= 1 for w >= 0, a lower Riemann sum of the integral of e^-s. With
w = e^-p z~ the second term sums to e^p (e^p - 1) h_max at most, the fourth to (e^p - 1) ρ sup|v| / a. Limits on the
step (a clamp) keep both properties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from assay.dynamics.state_space.certificates import Method, bibo_bound
from assay.dynamics.state_space.constants import Constants
from assay.dynamics.state_space.layer import SSMLayer
from assay.dynamics.state_space.ranges import SILU_LIPSCHITZ, SLACK, zoh_ratio

__all__ = [
    "CHANGES", "Change", "Changed", "Form", "Terms", "change_of", "crossover", "robustness_bound", "state_terms",
]  # fmt: skip

Change = Literal["input", "pre", "B", "C", "weights"]
CHANGES: tuple[Change, ...] = ("input", "pre", "B", "C", "weights")
Form = Literal["uniform", "linear"]


@dataclass(frozen=True, eq=False)
class Changed:
    """How far what the scan is given can move.

    Attributes:
        v: (D, N) B x. p: (D,) before the softplus. C: (D, N). x: (D,), as the skip sees it.
    """

    v: Tensor
    p: Tensor
    C: Tensor
    x: Tensor


@dataclass(frozen=True, eq=False)
class Terms:
    """A bound in its two terms.

    Attributes:
        injection: (D, N) of |dh|, from what is pushed into the state. selectivity: (D, N), from steps that moved.
        total: (D, N), their sum. output: (D,) of |dy|.
        vacuous: (D, N) where the total is no less than twice the largest state: true of any two inputs.
    """

    injection: Tensor
    selectivity: Tensor
    total: Tensor
    output: Tensor
    vacuous: Tensor


def change_of(layer: SSMLayer, constants: Constants, size: float, kind: Change = "input") -> Changed:
    """How far a change moves what the scan is given.

    Args:
        layer, constants: of the inputs before the change.
        size: `input`: Euclidean length of the change of each token, after the norm. `pre`: of every value before the
            softplus. `B`, `C`: of every entry. `weights`: every entry of the projections that make step, B and C
            changes by at most this share of itself, as rounding does.
        kind: which of them.

    Raises:
        ValueError: another kind; a size that is not positive; a change that passes through a norm of step, B and C,
            whose slope has no useful bound.
    """
    if kind not in CHANGES:
        raise ValueError(f"kind: got {kind!r}; expected one of {', '.join(CHANGES)}.")
    if not size > 0:
        raise ValueError(f"size: got {size}; expected above 0.")
    D, N = layer.channels, layer.states
    zero, row = torch.zeros(D, N, dtype=torch.float64), torch.zeros(D, dtype=torch.float64)
    if kind == "pre":
        return Changed(zero, row + size, zero, row)
    if kind == "B":
        return Changed(constants.x_max[:, None].expand(D, N) * size, row, zero, row)
    if kind == "C":
        return Changed(zero, row, zero + size, row)
    if layer.inner is not None:
        raise ValueError(
            f"kind: got {kind} for {layer.name}, which normalises step, B and C: the slope of a norm has no useful "
            "bound; expected pre, B or C."
        )
    if kind == "weights":
        if layer.family != "mamba":
            raise ValueError("kind: got weights for Mamba-2; expected input, pre, B or C.")
        B, C = (((w.abs() @ constants.x_max) * size).expand(D, N) for w in (layer.B, layer.C))
        p = ((1 + size) ** 2 - 1) * (layer.step.abs() @ (layer.step_low.abs() @ constants.x_max))
        return Changed(B * constants.x_max[:, None] * (1 + SLACK), p * (1 + SLACK), C * (1 + SLACK), row)
    x = moved(layer.in_x, layer.conv, size)
    if layer.family == "mamba":
        length = float(x.norm())
        B, C = (torch.minimum(w.abs() @ x, w.norm(dim=1) * length).expand(D, N) for w in (layer.B, layer.C))
        M = layer.step @ layer.step_low
        p = torch.minimum(M.abs() @ x, M.norm(dim=1) * length)
    else:
        GN, group = layer.groups * layer.states, layer.group_of()
        B, C = (
            moved(w, layer.BC_conv[at], size).reshape(layer.groups, N)[group]
            for w, at in ((layer.B, slice(0, GN)), (layer.C, slice(GN, None)))
        )
        p = layer.step.norm(dim=1) * size
    # B~x~ - Bx = B~(x~ - x) + (B~ - B)x
    v = (constants.B_max + B) * x[:, None] + B * constants.x_max[:, None]
    return Changed(*(value * (1 + SLACK) for value in (v, p, C, x)))


def moved(weight: Tensor, taps: Tensor, size: float) -> Tensor:
    """How far SiLU of a convolution moves when each token moves by a length."""
    return SILU_LIPSCHITZ * taps.abs().sum(1) * weight.norm(dim=1) * size


def state_terms(
    a: Tensor, h_max: Tensor, v_max: Tensor, dt_max: Tensor, moved_v: Tensor, p: Tensor, length: int, *,
    form: Form, method: Method,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The two terms of |dh| for single states; all arguments of one shape."""
    # softplus has slope 1 at most, so the changed steps are no longer than this.
    ratio = zoh_ratio((dt_max + p) * a) if method == "euler" else torch.ones_like(a)
    injection = ratio * moved_v / a
    grown = torch.expm1(p)
    if form == "linear":
        selectivity = length * (a * h_max + v_max) * p
    else:
        selectivity = (1 + grown) * grown * h_max + grown * ratio * v_max / a
    return injection * (1 + SLACK), selectivity * (1 + SLACK)


def robustness_bound(
    layer: SSMLayer, constants: Constants, size: float, length: int, *, form: Form = "uniform",
    kind: Change = "input", method: Method = "euler",
) -> Terms:  # fmt: skip
    """How far states and outputs move under a change, at any step up to a length.

    Args:
        layer, constants: the constants hold for the inputs before the change.
        size, kind: of the change, as for `change_of`.
        length: L of the linear form; the uniform one does not depend on it.
        form: `linear`, the paper's as reconstructed; `uniform`, for every length.
        method: discretisation.

    Raises:
        ValueError: as for `change_of`; another form; a length below 1.
    """
    if form not in ("uniform", "linear"):
        raise ValueError(f"form: got {form!r}; expected uniform or linear.")
    if length < 1:
        raise ValueError(f"length: got {length}; expected at least 1.")
    changed = change_of(layer, constants, size, kind)
    h_max = bibo_bound(layer, constants, method=method).h_max
    a = layer.rates
    injection, selectivity = state_terms(
        a, h_max, constants.v_max, constants.dt_max[:, None].expand_as(a), changed.v,
        changed.p[:, None].expand_as(a), length, form=form, method=method,
    )  # fmt: skip
    total = injection + selectivity
    output = ((constants.C_max + changed.C) * total + changed.C * h_max).sum(1) + layer.skip.abs() * changed.x
    return Terms(injection, selectivity, total, output * (1 + SLACK), total >= 2 * h_max)


def crossover(
    a: Tensor, h_max: Tensor, v_max: Tensor, dt_max: Tensor, p: Tensor, method: Method = "euler"
) -> Tensor:  # fmt: skip
    """The length from which on the uniform bound is the smaller one; infinite where no step moves."""
    zero = torch.zeros_like(a)
    _, uniform = state_terms(a, h_max, v_max, dt_max, zero, p, 1, form="uniform", method=method)
    _, each = state_terms(a, h_max, v_max, dt_max, zero, p, 1, form="linear", method=method)
    return torch.where(each > 0, uniform / each.clamp(min=1e-300), torch.inf)
