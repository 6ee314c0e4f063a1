"""Constants of a selective layer from its weights alone: how large its scan's inputs, steps, B and C can be.

Source: Cao, Liu, Chen and Qin (ICML 2026) say that such constants can be read off trained weights. The propagation here
is our own: a root mean square norm gives a vector of length at most sqrt(d) whatever came before it, so every row of
the first projection is bounded; intervals then go through convolution, SiLU, the projections and softplus.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from assay.dynamics.state_space.layer import SSMLayer
from assay.dynamics.state_space.ranges import SLACK, Interval, linear_range, outward, silu_range, softplus_bounds

__all__ = ["GRADES", "Constants", "Grade", "interval_constants", "joined", "vocabulary_inputs"]

Grade = Literal["a-priori", "conditional", "empirical"]
GRADES: tuple[Grade, ...] = ("a-priori", "conditional", "empirical")


@dataclass(frozen=True, eq=False)
class Constants:
    """Bounds on what a layer's scan is given, for every step.

    Attributes:
        grade: `a-priori`, from weights alone; `conditional`, maxima over calibration inputs, valid for inputs that
            stay inside them; `empirical`, maxima that were seen, no bound.
        x_max: (D,) |x|. v_max: (D, N) |B x|, the drive of a state. B_max, C_max: (D, N), of a channel's group.
        dt_min, dt_max: (D,) steps. z_max: (D,) |SiLU(z)|.
        assumptions: what they hold for, in words.
    """

    grade: Grade
    x_max: Tensor
    v_max: Tensor
    B_max: Tensor
    C_max: Tensor
    dt_min: Tensor
    dt_max: Tensor
    z_max: Tensor
    assumptions: tuple[str, ...] = ()

    def widened(self, slack: float = SLACK) -> Constants:
        """The same, a share larger, steps a share wider."""
        up = {name: getattr(self, name) * (1 + slack) for name in MAXIMA}
        return replace(self, dt_min=self.dt_min * (1 - slack), **up)


MAXIMA = ("x_max", "v_max", "B_max", "C_max", "dt_max", "z_max")


def joined(first: Constants, second: Constants) -> Constants:
    """Constants that hold for what either holds for."""
    return replace(
        first, dt_min=torch.minimum(first.dt_min, second.dt_min),
        **{name: torch.maximum(getattr(first, name), getattr(second, name)) for name in MAXIMA},
    )  # fmt: skip


def interval_constants(
    layer: SSMLayer, *, input_radius: float | None = None, tokens: Tensor | None = None
) -> Constants:
    """Constants of a layer for every input that its norm lets through, of any length.

    Args:
        layer: the layer.
        input_radius: where no norm stands in front, the largest Euclidean length of an input, a token.
        tokens: (V, d) the only inputs that ever come, such as the normalised embeddings of a first layer's
            vocabulary: then the first projection is bounded by its largest values over them, with zeros before the
            start.

    Raises:
        ValueError: no norm, no radius and no tokens; a radius that is not positive; tokens of another width.
    """
    d = layer.width
    said = [f"one layer, {layer.name}; any length, any steps; initial state 0"]
    if tokens is not None:
        if tokens.dim() != 2 or tokens.shape[1] != d or not len(tokens):
            raise ValueError(f"tokens: got shape {tuple(tokens.shape)}; expected (V, {d}).")
        said.append(f"inputs are {len(tokens):,} vectors and nothing else")
    elif layer.gain is None:
        if input_radius is None or not 0 < input_radius < math.inf:
            raise ValueError(
                f"input_radius: got {input_radius}; expected a length above 0, for no norm stands before {layer.name}."
            )
        said.append(f"inputs of Euclidean length up to {input_radius:.4g}")
    else:
        said.append("inputs are what the norm in front lets through" + (", mean taken away" if layer.shift is not None
                                                                       else ""))  # fmt: skip
    ball = Ball(layer, input_radius, tokens)
    x_low, x_high, x_length = ball.convolved(layer.in_x, layer.in_x_bias, layer.conv, layer.conv_bias)
    x_max = torch.maximum(x_low.abs(), x_high.abs())
    if layer.family == "mamba":
        B, C, pre = mamba_ranges(layer, x_low, x_high, x_length)
    else:
        GN = layer.groups * layer.states
        found = []
        for at, weight in ((slice(0, GN), layer.B), (slice(GN, None), layer.C)):
            low, high, _ = ball.convolved(weight, layer.BC_bias[at], layer.BC_conv[at], layer.BC_conv_bias[at])
            found.append(torch.maximum(low.abs(), high.abs()).reshape(layer.groups, layer.states)[layer.group_of()])
        B, C = found
        low, high = ball.rows(layer.step)
        pre = outward(low + layer.step_bias, high + layer.step_bias, torch.maximum(low.abs(), high.abs()) +
                      layer.step_bias.abs())  # fmt: skip
    dt_min, dt_max = softplus_bounds(*pre)
    least, most = layer.limits
    z_low, z_high = ball.rows(layer.in_z)
    gate = silu_range(z_low + layer.in_z_bias, z_high + layer.in_z_bias)
    return Constants(
        "a-priori", x_max, B * x_max[:, None], B, C, dt_min.clamp(least, most), dt_max.clamp(least, most),
        torch.maximum(gate[0].abs(), gate[1].abs()), tuple(said),
    ).widened()  # fmt: skip


def mamba_ranges(layer: SSMLayer, x_low: Tensor, x_high: Tensor, x_length: float) -> tuple[Tensor, Tensor, Interval]:
    """|B| and |C| (D, N), and the range (D,) before the softplus."""
    D = layer.channels
    if layer.inner is not None:
        sizes = []
        for gain in (layer.inner.B, layer.inner.C):
            radius = math.sqrt(layer.states)
            each = torch.full((layer.states,), radius, dtype=torch.float64) * (1.0 if gain is None else gain.abs())
            sizes.append(each.expand(D, -1))
        rows = layer.step if layer.inner.step is None else layer.step * layer.inner.step
        reach = math.sqrt(layer.step.shape[1]) * rows.norm(dim=1)
        return sizes[0], sizes[1], outward(layer.step_bias - reach, layer.step_bias + reach,
                                           layer.step_bias.abs() + reach)  # fmt: skip
    found = []
    for weight in (layer.B, layer.C):
        low, high = shorter(linear_range(weight, x_low, x_high), weight.norm(dim=1) * x_length)
        found.append(torch.maximum(low.abs(), high.abs()).expand(D, -1))
    M = layer.step @ layer.step_low  # (D, D): interval arithmetic through the product is never wider than in turns
    reach = M.norm(dim=1) * x_length
    low, high = shorter(linear_range(M, x_low, x_high), reach)
    bias = layer.step_bias
    return found[0], found[1], outward(low + bias, high + bias, torch.maximum(low.abs(), high.abs()) + bias.abs())


def shorter(interval: Interval, reach: Tensor) -> Interval:
    """What lies in an interval and within a reach of zero."""
    return torch.maximum(interval[0], -reach), torch.minimum(interval[1], reach)


class Ball:
    """The inputs of a layer: gain ∘ n + shift with |n| <= sqrt(d), a ball, or a list of vectors."""

    def __init__(self, layer: SSMLayer, radius: float | None, tokens: Tensor | None) -> None:
        self.tokens = tokens
        d = layer.width
        self.radius = math.sqrt(d) if layer.gain is not None else float(radius or 0.0)
        self.gain = torch.ones(d, dtype=torch.float64) if layer.gain is None else layer.gain
        self.shift = layer.shift
        self.norm_exact = layer.gain is not None

    def scaled(self, weight: Tensor) -> Tensor:
        """Rows as they act on n; a norm that takes the mean away leaves only what sums to zero."""
        own = weight * self.gain
        return own - own.mean(dim=1, keepdim=True) if self.shift is not None else own

    def rows(self, weight: Tensor) -> Interval:
        """Range (rows,) of W u."""
        if self.tokens is not None:
            values = self.tokens @ weight.T
            return outward(values.amin(0), values.amax(0), weight.abs() @ self.tokens.abs().amax(0))
        reach = self.radius * self.scaled(weight).norm(dim=1) * (1 + SLACK)
        if self.shift is None:
            return -reach, reach
        centre = weight @ self.shift
        return outward(centre - reach, centre + reach, weight.abs() @ self.shift.abs() + reach)

    def convolved(
        self, weight: Tensor, bias: Tensor, taps: Tensor, taps_bias: Tensor
    ) -> tuple[Tensor, Tensor, float]:  # fmt: skip
        """Range (rows,) of SiLU(conv(W u + b)), and a bound on the Euclidean length of all rows together."""
        low, high = self.rows(weight)
        low, high = low + bias, high + bias
        size = torch.maximum(low.abs(), high.abs()) + bias.abs()
        # Zeros stand before the first input, at every tap but the present one.
        past_low, past_high = low.clamp(max=0), high.clamp(min=0)
        least, most = taps_bias.clone(), taps_bias.clone()
        for j in range(taps.shape[1]):
            w = taps[:, j]
            a, b = (low, high) if j == taps.shape[1] - 1 else (past_low, past_high)
            least = least + torch.minimum(w * a, w * b)
            most = most + torch.maximum(w * a, w * b)
        total = taps_bias.abs() + taps.abs().sum(1) * size
        x_low, x_high = silu_range(*outward(least, most, total))
        box = float(torch.maximum(x_low.abs(), x_high.abs()).norm())
        if self.tokens is not None or self.shift is not None:
            return x_low, x_high, box * (1 + SLACK)
        # |SiLU(p)| <= |p|, and p is a sum over taps of diag(w_j) W gain n_j + b: each of spectral norm times sqrt(d).
        own = self.scaled(weight)
        inner = sum(
            self.radius * spectral_norm(taps[:, j : j + 1] * own) + float((taps[:, j] * bias).norm())
            for j in range(taps.shape[1])
        )
        return x_low, x_high, min(box, float(taps_bias.norm()) + inner) * (1 + SLACK)


def spectral_norm(weight: Tensor) -> float:
    """A number just above the largest singular value."""
    gram = weight.T @ weight if weight.shape[0] >= weight.shape[1] else weight @ weight.T
    return math.sqrt(max(0.0, float(torch.linalg.eigvalsh(gram)[-1]))) * (1 + 1e-7)


def vocabulary_inputs(layer: SSMLayer, embedding: Tensor) -> Tensor:
    """(V, d) all inputs that a first layer ever sees: the normalised embeddings of the vocabulary."""
    return layer.normed(embedding)
