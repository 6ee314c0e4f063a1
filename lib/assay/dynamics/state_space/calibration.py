"""What inputs do to a layer: the largest of everything that was seen, and whether it stays below a bound."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from assay.dynamics.state_space.certificates import Bound, Method
from assay.dynamics.state_space.constants import Constants, joined
from assay.dynamics.state_space.layer import Driven, SSMLayer
from assay.dynamics.state_space.recurrence import Scanned, scan_layer

__all__ = ["Monitor", "Seen", "Violations", "calibrate", "check_violations", "merge", "observe", "watch"]


@dataclass(frozen=True, eq=False)
class Seen:
    """The largest sizes over inputs.

    Attributes:
        constants: of what the scan was given, grade `empirical`.
        h_max: (D, N). y_max: (D,). out_max: (d,).
        samples: pairs of a state and a step that were looked at.
    """

    constants: Constants
    h_max: Tensor
    y_max: Tensor
    out_max: Tensor
    samples: int


def given(layer: SSMLayer, inputs: Tensor) -> Tensor:
    """Inputs in float64.

    Raises:
        ValueError: another shape, nothing at all, or an entry that is not finite.
    """
    if inputs.dim() != 3 or inputs.shape[2] != layer.width or 0 in inputs.shape:
        raise ValueError(
            f"inputs: got shape {tuple(inputs.shape)}; expected (batch, length, {layer.width}), not empty."
        )
    if not bool(torch.isfinite(inputs).all()):
        raise ValueError("inputs: hold NaN or infinity; expected finite numbers.")
    return inputs.double()


@torch.no_grad()
def observe(layer: SSMLayer, inputs: Tensor, *, method: Method = "euler") -> Seen:
    """Run inputs (batch, length, d), as they are after the norm, and keep the largest of everything.

    Raises:
        ValueError: inputs of another shape, empty, or not finite.
    """
    driven = layer.drive(given(layer, inputs))
    return seen(layer, driven, scan_layer(layer, driven, method))


def seen(layer: SSMLayer, driven: Driven, scanned: Scanned) -> Seen:
    """Maxima of what was given and of what came out."""
    over = (0, 1)
    group = layer.group_of()
    gate = torch.nn.functional.silu(driven.z).abs().amax(over)
    constants = Constants(
        "empirical", driven.x.abs().amax(over), largest_drive(layer, driven), driven.B.abs().amax(over)[group],
        driven.C.abs().amax(over)[group], driven.delta.amin(over), driven.delta.amax(over), gate,
        (f"maxima over {driven.x.shape[0]} × {driven.x.shape[1]} tokens; no bound",),
    )  # fmt: skip
    out = layer.output(scanned.y, driven.z).abs().amax(over)
    samples = driven.x.shape[0] * driven.x.shape[1] * layer.channels * layer.states
    return Seen(constants, scanned.peak.amax(0), scanned.y.abs().amax(over), out, samples)


def largest_drive(layer: SSMLayer, driven: Driven) -> Tensor:
    """(D, N) largest |B x| of any step, a group at a time, without a tensor of all steps and states."""
    found = torch.zeros(layer.channels, layer.states, dtype=torch.float64)
    group = layer.group_of()
    x, B = driven.x.abs().flatten(0, 1), driven.B.abs().flatten(0, 1)
    for g in range(layer.groups):
        own = group == g
        for n in range(layer.states):
            found[own, n] = (x[:, own] * B[:, g, n : n + 1]).amax(0)
    return found


def calibrate(layer: SSMLayer, inputs: Tensor) -> Constants:
    """Constants that hold for inputs which stay inside those seen: the data-conditional grade.

    It is no guarantee off the range of these inputs; `watch` tells whether others stay in it.

    Raises:
        ValueError: as for `observe`.
    """
    constants = observe(layer, inputs).constants
    tokens = inputs.shape[0] * inputs.shape[1]
    said = f"inputs that stay inside the maxima of {tokens:,} calibration tokens, which is checked as they run"
    rests = (f"one layer, {layer.name}; any length; initial state 0", said)
    return Constants(
        "conditional", constants.x_max, constants.v_max, constants.B_max, constants.C_max, constants.dt_min,
        constants.dt_max, constants.z_max, rests,
    ).widened()  # fmt: skip


def merge(first: Seen, second: Seen) -> Seen:
    """What was seen in either."""
    return Seen(
        joined(first.constants, second.constants), torch.maximum(first.h_max, second.h_max),
        torch.maximum(first.y_max, second.y_max), torch.maximum(first.out_max, second.out_max),
        first.samples + second.samples,
    )  # fmt: skip


@dataclass(frozen=True)
class Violations:
    """Whether what was measured stays below a bound.

    Attributes:
        samples: pairs of a state and a step. violations: states, outputs or block outputs above their bound.
        worst: largest measured over bound. quantity, channel, state: where that was; state is -1 for outputs.
        measured, bound: the two numbers there.
    """

    samples: int
    violations: int
    worst: float
    quantity: str
    channel: int
    state: int
    measured: float
    bound: float


def check_violations(layer: SSMLayer, inputs: Tensor | Seen, bound: Bound) -> Violations:
    """Compare what inputs do with a bound, in its own discretisation.

    Args:
        inputs: (batch, length, d) after the norm, or what was seen of them already.

    Raises:
        ValueError: as for `observe`.
    """
    found = inputs if isinstance(inputs, Seen) else observe(layer, inputs, method=bound.method)
    pairs = (
        ("h", found.h_max, bound.h_max), ("y", found.y_max, bound.y_max), ("block output", found.out_max, bound.out_max)
    )  # fmt: skip
    count, worst = 0, Violations(found.samples, 0, -1.0, "h", 0, -1, 0.0, 0.0)
    for name, measured, allowed in pairs:
        count += int((measured > allowed).sum())
        # A weight of zero makes both zero: nothing is measured, nothing is allowed, nothing is wrong.
        ratio = torch.where(
            allowed > 0, measured / allowed.clamp(min=1e-300), torch.where(measured > 0, torch.inf, 0.0)
        )
        at = int(ratio.argmax())
        place = divmod(at, ratio.shape[1]) if ratio.dim() == 2 else (at, -1)
        highest = float(ratio.flatten()[at])
        if highest > worst.worst:
            own = (float(measured.flatten()[at]), float(allowed.flatten()[at]))
            worst = Violations(found.samples, 0, highest, name, *place, *own)
    return replace(worst, violations=count)


@dataclass(frozen=True)
class Monitor:
    """Whether inputs stay inside conditional constants.

    Attributes:
        inside: all of them do. leaving: share of tokens at which some channel does not.
        first: batch and step of the first that leaves; None.
    """

    inside: bool
    leaving: float
    first: tuple[int, int] | None


@torch.no_grad()
def watch(layer: SSMLayer, inputs: Tensor, constants: Constants) -> Monitor:
    """Check, as a run would, that inputs stay inside the maxima that a conditional bound rests on.

    Raises:
        ValueError: as for `observe`.
    """
    driven = layer.drive(given(layer, inputs))
    group = layer.group_of()
    out = (driven.x.abs() > constants.x_max).any(-1) | (driven.delta > constants.dt_max).any(-1)
    for n in range(layer.states):
        drive = driven.B[..., group, n].abs() * driven.x.abs()
        out |= (drive > constants.v_max[:, n]).any(-1)
        out |= (driven.C[..., group, n].abs() > constants.C_max[:, n]).any(-1)
    found = out.nonzero()
    first = (int(found[0, 0]), int(found[0, 1])) if len(found) else None
    return Monitor(not len(found), float(out.double().mean()), first)
