"""Leaky integrate-and-fire neurons over time."""

from typing import Literal, overload

import numpy as np
import torch
from torch import Tensor

from assay.back_ends import serves
from assay.kernels._lif.operators import RESETS, lif_scan, scan_into
from assay.kernels._lif.reference import lif_reference
from assay.kernels._lif.surrogates import surrogate_of
from assay.kernels.dispatch import has_kernels

__all__ = ["lif"]

KNOWN = (torch.float32, torch.float64)  # to NumPy too
Reset = Literal["subtract", "zero", "none"]
SurrogateName = Literal["atan", "sigmoid", "fast_sigmoid", "triangular", "rectangle", "straight_through"]


@overload
def lif(
    x: Tensor, beta: float | Tensor, *, scale_input: bool = ..., threshold: float | Tensor = ..., reset: Reset = ...,
    detach_reset: bool = ..., delayed_reset: bool = ..., surrogate: str = ..., alpha: float | None = ...,
    initial: Tensor | None = ..., return_membrane: Literal[True] = ..., out: tuple[Tensor, Tensor] | None = ...,
) -> tuple[Tensor, Tensor]: ...  # fmt: skip
@overload
def lif(
    x: Tensor, beta: float | Tensor, *, return_membrane: Literal[False], scale_input: bool = ...,
    threshold: float | Tensor = ..., reset: Reset = ..., detach_reset: bool = ..., delayed_reset: bool = ...,
    surrogate: str = ..., alpha: float | None = ..., initial: Tensor | None = ..., out: Tensor | None = ...,
) -> Tensor: ...  # fmt: skip
def lif(
    x: Tensor,
    beta: float | Tensor,
    *,
    scale_input: bool = False,
    threshold: float | Tensor = 1.0,
    reset: Reset = "subtract",
    detach_reset: bool = True,
    delayed_reset: bool = False,
    surrogate: str = "atan",
    alpha: float | None = None,
    initial: Tensor | None = None,
    return_membrane: bool = True,
    out: Tensor | tuple[Tensor, Tensor] | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Scan leaky integrate-and-fire neurons over time.

    v[t] = beta u[t-1] + g x[t], s[t] = 1 where v[t] >= threshold, and u[t] is v[t] after the reset; g is 1, or
    1 - beta with `scale_input` (Yu et al., arXiv 2605.09983, section 3). The state is explicit: it starts at
    `initial`, and the last membrane is where the next window goes on.

    Args:
        x: (T, ...) currents, floating point, T >= 1.
        beta: membrane decay in [0, 1]; a number, or a tensor that broadcasts to the shape of a step (...).
        scale_input: multiply currents by 1 - beta, so that the gain at DC is 1.
        threshold: above 0; a number, or a tensor that broadcasts to a step.
        reset: after a spike, subtract the threshold, go to zero, or neither.
        detach_reset: the reset passes no gradient to the spike that caused it.
        delayed_reset: reset one step later, from whether the state before was at its threshold (snnTorch's timing
            of `subtract`; its `zero` clears the state before the decay instead);
            u[t] is then what is compared with the threshold.
        surrogate: derivative of the step in the backward pass, of v - threshold: `atan`
            (alpha / 2) / (1 + (pi alpha v / 2)^2), alpha 2; `sigmoid` alpha s (1 - s), s = 1 / (1 + exp(-alpha v)),
            alpha 4; `fast_sigmoid` 1 / (1 + alpha |v|)^2, alpha 25; `triangular` alpha max(0, 1 - alpha |v|), alpha
            1; `rectangle` alpha where |v| < 1 / (2 alpha), alpha 1; `straight_through` alpha, alpha 1.
        alpha: its sharpness; None for the one above.
        initial: state before the first step, broadcasts to a step; None for rest.
        return_membrane: return the membrane too.
        out: contiguous tensors like x to write to, as they are returned; without gradients only.

    Returns:
        spikes (T, ...) of x's dtype, with the membrane (T, ...) after the reset when asked for. Gradients flow to x,
        beta, threshold and initial.

    Raises:
        ValueError: an argument of the wrong type, shape or range.
    """
    if not isinstance(x, Tensor) or not x.dtype.is_floating_point:
        got = str(x.dtype) if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x: got {got}; expected a floating-point tensor (T, ...).")
    if x.dim() < 1 or len(x) < 1:
        raise ValueError(f"x: got shape {tuple(x.shape)}; expected (T, ...) with at least one step.")
    if reset not in RESETS:
        raise ValueError(f"reset: got {reset!r}; expected one of {', '.join(RESETS)}.")
    found, sharpness = surrogate_of(surrogate, alpha)
    decay = over_a_step("beta", beta, x)
    level = over_a_step("threshold", threshold, x)
    state = over_a_step("initial", 0.0 if initial is None else initial, x)
    currents = x.reshape(len(x), -1).contiguous()
    if out is not None:
        return into(out, currents, decay, level, state, x, scale_input, reset, delayed_reset, return_membrane)
    if not has_kernels(currents):
        if not torch.compiler.is_compiling():
            serves("lif", "reference")
        spikes, membrane = lif_reference(
            currents, decay, level, state, scale_input=scale_input, reset=reset, detach_reset=detach_reset,
            delayed_reset=delayed_reset, surrogate=found, alpha=sharpness,
        )  # fmt: skip
    else:
        spikes, membrane = lif_scan(
            currents, decay, level, state, scale_input, reset, detach_reset, delayed_reset, surrogate, sharpness,
            return_membrane,
        )  # fmt: skip
    return (spikes.view(x.shape), membrane.view(x.shape)) if return_membrane else spikes.view(x.shape)


def over_a_step(name: str, value: float | Tensor, x: Tensor) -> Tensor:
    """A number or tensor as contiguous (N,), checked against its range where that needs no look at a device."""
    step = x.shape[1:]
    if isinstance(value, Tensor):
        try:
            whole = value.to(x.dtype).expand(step)
        except RuntimeError:
            raise ValueError(
                f"{name}: got shape {tuple(value.shape)}; expected one that broadcasts to {tuple(step)}."
            ) from None
        if value.device != x.device and value.dim() > 0:
            raise ValueError(f"{name}: got a tensor on {value.device}; expected one on {x.device} as x is.")
        check = value.device.type == "cpu" and not torch.compiler.is_compiling() and value.numel() > 0
        low, high = (float(value.detach().min()), float(value.detach().max())) if check else (0.5, 0.5)
        whole = whole.to(x.device)
    else:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{name}: got {value!r}; expected a number or a tensor.")
        low = high = float(value)
        whole = torch.full((), low, dtype=x.dtype, device=x.device).expand(step)
    within = {"beta": low >= 0 and high <= 1, "threshold": 0 < low < float("inf") and high < float("inf")}
    if not within.get(name, low == low and high == high):
        expected = {"beta": "decays from 0 to 1", "threshold": "finite numbers above 0"}.get(name, "no NaN")
        got = f"{low} to {high}" if low < high else f"{low}"
        raise ValueError(f"{name}: got {got}; expected {expected}.")
    plain = whole.device.type == "cpu" and not whole.requires_grad and x.dtype in KNOWN
    if plain and not torch.compiler.is_compiling():
        # PyTorch would copy in parallel, and its threads then spin for a while beside those of the scan
        return torch.from_numpy(np.ascontiguousarray(whole.numpy()).reshape(-1))
    return whole.reshape(-1).contiguous()


def into(
    out: Tensor | tuple[Tensor, Tensor], currents: Tensor, beta: Tensor, threshold: Tensor, initial: Tensor, x: Tensor,
    scale_input: bool, reset: str, delayed_reset: bool, return_membrane: bool,
) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
    """Scan into tensors of the caller's."""
    given = out if isinstance(out, tuple) else (out,)
    if len(given) != 1 + return_membrane:
        raise ValueError(f"out: got {len(given)} tensors; expected {1 + return_membrane}, as they are returned.")
    for one in given:
        if one.shape != x.shape or one.dtype != x.dtype or one.device != x.device or not one.is_contiguous():
            raise ValueError(
                f"out: got {tuple(one.shape)} of {one.dtype}; expected contiguous {tuple(x.shape)} of {x.dtype}."
            )
    if torch.is_grad_enabled() and any(v.requires_grad for v in (currents, beta, threshold, initial)):
        raise ValueError("out: got inputs that ask for gradients; expected none, for what is written has no history.")
    rows = [one.view(currents.shape) for one in given]
    scan_into(
        currents, beta, threshold, initial, rows[0], rows[1] if return_membrane else None, scale_input=scale_input,
        reset=reset, delayed_reset=delayed_reset,
    )  # fmt: skip
    return out
