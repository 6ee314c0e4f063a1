"""Inputs that try to break a bound: chosen by hand and by projected gradient ascent, inside what the norm lets through.

A bound that random inputs respect has hardly been tested; what is quoted is the largest value over all of these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from assay.dynamics.state_space.certificates import Method
from assay.dynamics.state_space.layer import Driven, SSMLayer
from assay.dynamics.state_space.recurrence import last_state

__all__ = ["Admissible", "Target", "adversarial_changes", "adversarial_inputs", "hand_made_inputs", "random_inputs"]

Target = tuple[int, int]  # channel, state


@dataclass(frozen=True)
class Admissible:
    """The inputs that a certificate speaks of: gain ∘ n + shift with |n| <= radius.

    Attributes:
        layer: whose norm it is. radius: of n; sqrt(d) behind a norm.
    """

    layer: SSMLayer
    radius: float

    @classmethod
    def of(cls, layer: SSMLayer, input_radius: float | None = None) -> Admissible:
        """Those of a layer.

        Raises:
            ValueError: no norm stands in front and no radius is given.
        """
        if layer.gain is not None:
            return cls(layer, math.sqrt(layer.width))
        if input_radius is None or not input_radius > 0:
            raise ValueError(
                f"input_radius: got {input_radius}; expected a length above 0, for {layer.name} has no norm."
            )
        return cls(layer, float(input_radius))

    def project(self, n: Tensor) -> Tensor:
        """The nearest n that is allowed."""
        if self.layer.shift is not None:
            n = n - n.mean(-1, keepdim=True)
        return n * (self.radius / n.norm(dim=-1, keepdim=True).clamp(min=1e-30)).clamp(max=1.0)

    def outermost(self, n: Tensor) -> Tensor:
        """n made as long as is allowed."""
        return self.project(n * (2 * self.radius / n.norm(dim=-1, keepdim=True).clamp(min=1e-30)))

    def inputs(self, n: Tensor) -> Tensor:
        """What the layer is given."""
        if self.layer.gain is None:
            return n
        u = self.layer.gain * n
        return u if self.layer.shift is None else u + self.layer.shift


def random_inputs(space: Admissible, batch: int, length: int, generator: torch.Generator) -> Tensor:
    """(batch, length, d) inputs in random directions, as long as is allowed."""
    n = torch.randn(batch, length, space.layer.width, dtype=torch.float64, generator=generator)
    return space.inputs(space.outermost(n))


def hand_made_inputs(space: Admissible, targets: Sequence[Target], length: int) -> Tensor:
    """(6 targets, length, d) inputs of the kinds that break loose bounds, aimed at a channel each.

    In turns: a constant extreme; the same of the other sign; alternating signs; one long step that forgets all, then a
    push with short ones; a single spike in silence; the token that opens the gate of the step, repeated.
    """
    layer = space.layer
    found = []
    for channel, _ in targets:
        push = layer.in_x[channel] * torch.sign(layer.conv[channel].sum() + 1e-300)
        slow, fast = step_direction(layer, channel)
        silence = torch.zeros_like(push)
        signs = torch.where(torch.arange(length) % 2 == 0, 1.0, -1.0).double()[:, None]
        reset = torch.cat([fast.expand(1, -1), (push + slow).expand(length - 1, -1)])
        spike = silence.repeat(length, 1)
        spike[length // 2] = push
        for rows in (push.expand(length, -1), -push.expand(length, -1), push * signs, reset, spike,
                     fast.expand(length, -1)):  # fmt: skip
            own = rows if layer.gain is None else rows * layer.gain
            active = own.norm(dim=-1, keepdim=True) > 0
            found.append(space.inputs(torch.where(active, space.outermost(own), 0.0)))
    return torch.stack(found)


def step_direction(layer: SSMLayer, channel: int) -> tuple[Tensor, Tensor]:
    """Input directions (d,) that make a channel's step short and long, to first order."""
    if layer.family == "mamba":
        row = layer.step[channel] if layer.inner is None or layer.inner.step is None else (
            layer.step[channel] * layer.inner.step
        )  # fmt: skip
        direction = (row @ layer.step_low * layer.conv.sum(1)) @ layer.in_x
    else:
        direction = layer.step[channel]
    return -direction, direction


def drives(layer: SSMLayer, driven: Driven, targets: Sequence[Target]) -> tuple[Tensor, Tensor, Tensor]:
    """v and delta (batch, length) and rates (batch,) of the state that each sequence of a batch is aimed at."""
    which = torch.arange(len(targets))
    channel, state = (torch.tensor(part) for part in zip(*targets, strict=True))
    group = layer.group_of()[channel]
    x, delta = driven.x[which, :, channel], driven.delta[which, :, channel]
    return driven.B[which, :, group, state] * x, delta, layer.rates[channel, state]


def adversarial_inputs(
    space: Admissible, targets: Sequence[Target], length: int, *, steps: int = 60, generator: torch.Generator,
    method: Method = "euler",
) -> Tensor:  # fmt: skip
    """Sequences that make the last state of a target as large as ascent can, each from a start of its own.

    Signs of gradients with a step that falls from a tenth of the radius, projected back after each (Madry et al.,
    arXiv 1706.06083, section 2.1). Half of the starts repeat one random token; the best point of each path is kept.

    Args:
        space: the inputs that are allowed.
        targets: channel and state that each sequence is aimed at; repeat one for restarts.
        length: tokens of a sequence.
        steps: of the ascent.
        generator: for the starts.
        method: discretisation.

    Returns:
        (len(targets), length, d) inputs after the norm.
    """
    d = space.layer.width
    n = torch.randn(len(targets), length, d, dtype=torch.float64, generator=generator)
    n[::2] = n[::2, :1]
    n = space.outermost(n)
    best, reached = n, torch.full((len(targets),), -1.0, dtype=torch.float64)
    for step in range(steps + 1):
        n = n.detach().requires_grad_()
        v, delta, rate = drives(space.layer, space.layer.drive(space.inputs(n)), targets)
        value = last_state(v, delta, rate, method).abs()
        better = value.detach() > reached
        reached = torch.where(better, value.detach(), reached)
        best = torch.where(better[:, None, None], n.detach(), best)
        if step == steps:
            break
        (gradient,) = torch.autograd.grad(value.sum(), n)
        size = 0.1 * space.radius * (1 - step / steps) / math.sqrt(d) + 1e-3
        n = space.project(n.detach() + size * gradient.sign())
    return space.inputs(best).detach()


def adversarial_changes(
    space: Admissible, inputs: Tensor, targets: Sequence[Target], size: float, *, steps: int = 30,
    generator: torch.Generator, method: Method = "euler",
) -> Tensor:  # fmt: skip
    """Changed inputs, each token moved by at most `size` after the norm, whose last target state moves most.

    Args:
        inputs: (batch, length, d), one target each.

    Returns:
        (batch, length, d) changed inputs; they may leave the ball of the norm by as much as they are moved.
    """
    layer = space.layer
    with torch.no_grad():
        before = last_state(*drives(layer, layer.drive(inputs), targets), method)
    e = torch.randn(inputs.shape, dtype=torch.float64, generator=generator)
    e = e / e.norm(dim=-1, keepdim=True) * size
    best, reached = e, torch.full((len(targets),), -1.0, dtype=torch.float64)
    for step in range(steps + 1):
        e = e.detach().requires_grad_()
        after = last_state(*drives(layer, layer.drive(inputs + e), targets), method)
        value = (after - before).abs()
        better = value.detach() > reached
        reached = torch.where(better, value.detach(), reached)
        best = torch.where(better[:, None, None], e.detach(), best)
        if step == steps:
            break
        (gradient,) = torch.autograd.grad(value.sum(), e)
        e = e.detach() + 0.5 * size * (1 - step / steps) * gradient / gradient.norm(dim=-1, keepdim=True).clamp(1e-300)
        e = e * (size / e.norm(dim=-1, keepdim=True).clamp(min=1e-300)).clamp(max=1.0)
    return (inputs + best).detach()
