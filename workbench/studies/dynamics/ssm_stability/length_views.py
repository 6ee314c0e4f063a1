"""What is seen of time: steps as they warp it, and the effect of a change as a sequence grows longer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from assay.dynamics.state_space import Method, channel_states, state_terms
from workbench.studies.dynamics.ssm_stability.controls import CHANGE_WORDS, METHOD_WORDS, study
from workbench.studies.dynamics.ssm_stability.model_views import digits, log_axis
from workbench.studies.dynamics.ssm_stability.survey import LayerSurvey
from workbench.study import Result
from workbench.theme import Figure, axis, drawn, styled

STATES = 16
MIDDLE = math.log(math.expm1(0.01))
STEPS_IN_ALL = 130_000  # of all sequences of a view, so that it answers in time
POINT = {"size": 6, "symbol": "circle", "line": {"width": 0}}
SHOWN = 160  # lengths of a curve


def rates_of(kind: str, scale: float, count: int = STATES) -> np.ndarray:
    """(N,) decay rates of a synthetic channel."""
    made = {
        "real": np.arange(1.0, count + 1),
        "spread": np.geomspace(1e-4, 1e2, count),
        "integrator": np.full(count, 1e-6),
    }[kind]
    return made * scale


@dataclass(frozen=True, eq=False)
class Errors:
    """How far changes move the states of a synthetic channel.

    Attributes:
        at: (K,) lengths. middle, largest, adversary: (K,) running maxima of the error: of the middle one of the inputs,
            of all random ones, and of one-sided changes chosen against the state.
        terms: for each form, injection and selectivity (K,), of the state whose bound is the largest, or over all.
        crossing: length from which the uniform bound is the smaller one; below 1 where it always is.
        worst: largest measured over bound, by form.
        samples: pairs of a state and a step.
    """

    at: np.ndarray
    middle: np.ndarray
    largest: np.ndarray
    adversary: np.ndarray
    terms: dict[str, tuple[np.ndarray, np.ndarray]]
    crossing: float
    worst: dict[str, float]
    samples: int


def synthetic_errors(
    rates: np.ndarray, spread: float, step_scale: float, change: str, size: float, length: int, method: Method,
    norm: str, rng: np.random.Generator, sequences: int,
) -> Errors:  # fmt: skip
    """Run a channel twice, with and without a change at every step, and compare with both bounds.

    x is uniform in [-1, 1], B and C are normal, the step is softplus(μ + σ ξ) with its middle at 0.01. A change of the
    input is taken as one of x; of weights, as one of B and of what is before the softplus, in proportion.
    """
    T = np.arange(length)
    errors = np.zeros((sequences + 2, length))
    worst = {"uniform": 0.0, "linear": 0.0}
    top: dict[str, Any] = {}
    runs = []
    for i in range(sequences + 2):
        hard = i >= sequences
        pre = MIDDLE + spread * rng.standard_normal(length)
        x, B = rng.uniform(-1, 1, length), rng.standard_normal((length, len(rates)))
        # An adversary pushes one way throughout, and lengthens or shortens all steps.
        if hard:
            x, B = np.ones(length), np.full((length, len(rates)), 2.0)
        sign = rng.choice([-1.0, 1.0], length) if not hard else np.full(length, 1.0 if i == sequences else -1.0)
        p = np.zeros(length)
        v, other = B * x[:, None], B * x[:, None]
        if change in ("pre", "weights"):
            p = size * sign * (1.0 if change == "pre" else np.abs(pre))
        if change == "input":
            other = B * (x + size * sign)[:, None]
        elif change in ("B", "weights"):
            moved = size * sign[:, None] * (1.0 if change == "B" else B)
            other = (B + moved) * x[:, None]
        steps = [step_scale * np.logaddexp(0, pre), step_scale * np.logaddexp(0, pre + p)]
        h, changed = (channel_states(w, s, rates, method=method) for w, s in ((v, steps[0]), (other, steps[1])))
        gap = np.abs(changed - h)
        errors[i] = gap.max(1) if norm == "inf" else np.sqrt(np.square(gap).sum(1))
        own: dict[str, Any] = {
            "h": np.abs(h).max(0), "v": np.abs(v).max(0), "dt": max(s.max() for s in steps),
            "dv": np.abs(other - v).max(0), "p": np.abs(p).max(), "gap": gap,
        }  # fmt: skip
        runs.append(own)
        for name in ("h", "v", "dt", "dv", "p"):
            top[name] = np.maximum(top.get(name, 0.0), own[name])
    a, h_max, v_max, dv = (torch.from_numpy(np.asarray(x)) for x in (rates, top["h"], top["v"], top["dv"]))
    dt, p_max = torch.full_like(a, float(top["dt"])), torch.full_like(a, float(top["p"]))
    at = np.unique(np.geomspace(1, length, SHOWN).astype(int)) - 1
    terms, ends = {}, {}
    for form in ("uniform", "linear"):
        # Steps that are multiplied by a number move by as much more: the linear form sees it, their ratio does not.
        slope = p_max * step_scale if form == "linear" else p_max
        injection, selectivity = state_terms(a, h_max, v_max, dt, dv, slope, 1, form=form, method=method)
        grows = (T + 1.0)[:, None] if form == "linear" else np.ones((length, 1))
        bound = injection.numpy() + grows * selectivity.numpy()
        worst[form] = max(float((run["gap"] / np.maximum(bound, 1e-300)).max()) for run in runs)
        parts = (np.broadcast_to(injection.numpy(), (length, len(rates))), grows * selectivity.numpy())
        which = bound[at].argmax(1)
        if norm == "inf":
            terms[form] = (parts[0][at, which], parts[1][at, which])
        else:
            whole = np.sqrt(np.square(bound[at]).sum(1))
            share = np.sqrt(np.square(parts[0][at]).sum(1))
            terms[form] = (share, whole - share)
        ends[form] = (injection.numpy(), selectivity.numpy())
    running = np.maximum.accumulate(errors, axis=1)[:, at]
    return Errors(
        at + 1, np.median(running[:sequences], axis=0), running[:sequences].max(0), running[sequences:].max(0), terms,
        crossing_of(ends["linear"], sum(part[-1] for part in terms["uniform"]), norm), worst,
        (sequences + 2) * length * len(rates),
    )  # fmt: skip


def crossing_of(linear: tuple[np.ndarray, np.ndarray], uniform: float, norm: str) -> float:
    """Length L at which injection + L selectivity, in a norm over states, reaches the bound for any length."""
    injection, selectivity = linear
    if not selectivity.any():
        return math.inf
    if norm == "inf":
        grows = selectivity > 0
        return float(((uniform - injection[grows]) / selectivity[grows]).min())
    square, cross = float(selectivity @ selectivity), float(injection @ selectivity)
    rest = float(injection @ injection) - uniform**2
    return (-cross + math.sqrt(max(cross**2 - square * rest, 0.0))) / square


@study.view(
    "The selective scan in its own time", tab="Time warp",
    equation=r"\tau_t = \sum_{s \le t} \Delta_s,\qquad \frac{dh}{d\tau} = -a h + v(\tau)",
)  # fmt: skip
def time_warp(
    chosen: LayerSurvey, first_steps: np.ndarray, channel: int, state: int, method: Method, rate_scale: float,
    step_scale: float,
) -> Figure:  # fmt: skip
    """One state under a constant push, with the steps that the model chose: over tokens, and over its own time."""
    d, n = min(channel, chosen.layer.channels - 1), min(state, chosen.layer.states - 1)
    steps = first_steps[:, d] * step_scale
    a = float(chosen.layer.rates[d, n]) * rate_scale
    h = channel_states(np.ones((len(steps), 1)), steps, np.array([a]), method=method)[:, 0] * a
    tau = np.cumsum(steps) * a
    t = np.arange(1, len(steps) + 1)
    end = max(float(tau[-1]), 1e-6)
    smooth = np.linspace(0, end, 300)
    gap = float(np.abs(h - -np.expm1(-tau)).max())
    traces = [
        styled("yours", type="scatter", mode="lines+markers", x=t, y=h, name="state", marker=POINT,
               line={"width": 1},
               hovertemplate="token %{x}: %{y:.4f}<extra></extra>"),
        styled("reference", type="scatter", mode="lines", x=smooth, y=-np.expm1(-smooth), xaxis="x2", yaxis="y2",
               name="one linear system", hovertemplate="%{y:.4f}<extra>one linear system</extra>"),
        styled("yours", type="scatter", mode="markers", x=tau, y=h, xaxis="x2", yaxis="y2", name="state",
               showlegend=False, marker=POINT, customdata=t,
               hovertemplate="token %{customdata}, aτ = %{x:.3g}: %{y:.4f}<extra></extra>"),
    ]  # fmt: skip
    exact = gap < 1e-9
    title = (
        f"Every step lands on one exponential: the largest distance is {digits(max(gap, 1e-17))}"
        if exact
        else f"Euler’s steps leave the exponential by up to {digits(gap)} of the final state"
    )
    top = float(h.max()) * 1.08
    return drawn(
        traces,
        title,
        f"{chosen.name}, channel {d}, state {n}, a = {digits(a)}; push of 1, {METHOD_WORDS[method]}. "
        "Steps times moves the points along the curve.",
        xaxis=axis("Token t", domain=[0, 0.46]),
        yaxis=axis("a h (final state 1)", range=[0, top]),
        xaxis2=axis("a τ (time constants)", domain=[0.54, 1], anchor="y2"),
        yaxis2=axis("", anchor="x2", range=[0, top], showticklabels=False),
        margin={"r": 20},
    )


@study.prepared
def errors(
    rates: str, rate_scale: float, spread: float, step_scale: float, change: str, size: float, length: int,
    method: Method, norm: str, seed: int,
) -> Errors:  # fmt: skip
    """Errors of a synthetic channel, over as many inputs as a view has time for."""
    sequences = max(1, min(14, STEPS_IN_ALL // (2 * length) - 2))
    rng = np.random.default_rng([seed, length])
    made = rates_of(rates, rate_scale)
    if length > STEPS_IN_ALL // 6:
        made = made[:: STATES // 4]
    return synthetic_errors(made, spread, step_scale, change, size, length, method, norm, rng, sequences)


@study.view(
    "Error over length", tab="Error and L",
    equation=r"\rho\,\frac{\delta_v}{a} + L\,(a h + |v|)\,p \quad\text{and}\quad "
    r"e^{p}(e^{p}-1)h + \frac{\rho}{a}\big(\delta_v + (e^{p}-1)|v|\big)",
)  # fmt: skip
def error_length(errors: Errors, change: str, size: float, length: int, lengths: Result | None) -> Figure:
    """What a change does to the states of a synthetic layer, under the linear bound and the one for any length."""
    uniform, linear = (np.add(*errors.terms[f]) for f in ("uniform", "linear"))
    if change == "C":
        return drawn(
            [], "A change of C moves no state", "It moves the output alone: see Reach.",
            xaxis=log_axis("Length L (tokens, log)"), yaxis=log_axis("Largest |dh| so far (log)"),
        )  # fmt: skip
    traces = [
        styled("predicted", type="scatter", mode="lines", x=errors.at, y=linear, name="linear in L",
               hovertemplate="L %{x}: %{y:.3g}<extra>linear in L</extra>"),
        styled("yours", type="scatter", mode="lines", x=errors.at, y=uniform, name="for any length",
               hovertemplate="%{y:.3g}<extra>for any length</extra>"),
        styled("series_1", type="scatter", mode="lines", x=errors.at, y=errors.adversary, name="adversary",
               hovertemplate="L %{x}: %{y:.3g}<extra>adversary</extra>"),
        styled("series_2", type="scatter", mode="lines", x=errors.at, y=errors.largest, name="largest of random inputs",
               hovertemplate="L %{x}: %{y:.3g}<extra>largest</extra>"),
        styled("series_3", type="scatter", mode="lines", x=errors.at, y=errors.middle, name="middle of random inputs",
               hovertemplate="L %{x}: %{y:.3g}<extra>middle</extra>"),
    ]  # fmt: skip
    shapes, notes = [], []
    crossing = errors.crossing
    if 1 < crossing < length:
        shapes.append({"type": "line", "name": "dagger", "x0": crossing, "x1": crossing, "y0": 0, "y1": 1,
                       "yref": "paper"})  # fmt: skip
        notes.append({"text": f"L* = {digits(crossing)}", "x": math.log10(crossing), "y": 0.02, "yref": "paper",
                      "showarrow": False, "xanchor": "left", "yanchor": "bottom", "xshift": 4})  # fmt: skip
    if crossing <= 1:
        ahead = "the linear bound is never the smaller one"
    elif crossing < length:
        ahead = f"from L* = {digits(crossing)} on the linear bound is the larger one"
    else:
        ahead = "the linear bound is the smaller one throughout"
    half = errors.at >= max(8, length // 16)
    grown = np.maximum(errors.adversary[half], 1e-300)
    slope = float(np.polyfit(np.log(errors.at[half]), np.log(grown), 1)[0]) if half.sum() > 2 else 0.0
    last = float(uniform[-1] / max(errors.adversary[-1], 1e-300))
    over = max(errors.worst.values())
    safe = "neither bound is broken" if over <= 1 else "a bound is broken"
    positive = np.concatenate([c[c > 0] for c in (errors.middle, uniform, linear, errors.adversary)])
    low, high = np.log10(positive.min()), np.log10(positive.max())
    return drawn(
        traces,
        f"The error grows as L to the {digits(round(slope, 2) + 0.0)}; {safe}",
        f"ε = {digits(size)} in {CHANGE_WORDS[change]}; the bound for any length is {digits(last)}× the adversary’s "
        f"error; {ahead}. {errors.samples:,} states and steps.",
        xaxis=log_axis("Length L (tokens, log)"),
        yaxis=log_axis("Largest |dh| so far (log)", range=[max(low, high - 12) - 0.2, high + 0.2]),
        shapes=shapes,
        annotations=notes,
    )


@study.view("The two terms", tab="Terms")
def error_terms(errors: Errors, change: str) -> Figure:
    """Injection and selectivity of both bounds, stacked, for the state whose bound is the largest."""
    traces = []
    for number, form in enumerate(("linear", "uniform")):
        place = "" if number == 0 else "2"
        for role, name, values in zip(("series_1", "series_2"), ("injection", "selectivity"), errors.terms[form],
                                      strict=True):  # fmt: skip
            traces.append(
                styled(role, type="scatter", mode="lines", x=errors.at, y=values, name=name, stackgroup=form,
                       xaxis=f"x{place}", yaxis=f"y{place}", legendgroup=name, showlegend=number == 0,
                       hovertemplate="L %{x}: %{y:.3g}<extra>" + name + "</extra>")
            )  # fmt: skip
    injection, selectivity = (float(part[-1]) for part in errors.terms["linear"])
    total = injection + selectivity
    share = 100 * selectivity / total if total else 0.0
    title = (
        f"At L = {errors.at[-1]:,} selectivity is {share:.0f} % of the linear bound"
        if total
        else "A change of C moves no state"
    )
    return drawn(
        traces,
        title,
        "Left: linear in L. Right: for any length. A change of steps has no injection, one of B or x no selectivity.",
        xaxis=axis("Length L (tokens)", domain=[0, 0.44], nticks=3, tickangle=0),
        yaxis=axis("Bound on |dh|", rangemode="tozero"),
        xaxis2=axis("Length L (tokens)", domain=[0.56, 1], anchor="y2", nticks=3, tickangle=0),
        yaxis2=axis("", anchor="x2", rangemode="tozero"),
        margin={"r": 20},
    )
