"""What is seen of a model: bounds over what was reached, by channel and by layer; decays; how far a change reaches."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from assay.dynamics.state_space import Constants, robustness_bound
from workbench.studies.dynamics.ssm_stability.controls import (
    CHANGE_WORDS,
    GRADE_WORDS,
    METHOD_WORDS,
    VACUOUS,
    study,
)
from workbench.studies.dynamics.ssm_stability.survey import LayerSurvey, Survey
from workbench.study import Result, Stat
from workbench.theme import Figure, axis, drawn, styled

FP16 = 65_504.0
ROWS = 400  # of the table
TINY = 1e-300


def log_axis(title: str, **traits: Any) -> dict[str, Any]:
    return axis(title, type="log", exponentformat="power", **traits)


def digits(value: float) -> str:
    """Three significant digits with a true minus sign."""
    return f"{value:.3g}".replace("-", "−")


def decades(ratio: np.ndarray) -> float:
    """log10 of the middle ratio."""
    good = ratio[np.isfinite(ratio) & (ratio > 0)]
    return float(np.log10(np.median(good))) if len(good) else 0.0


def reached(survey: LayerSurvey, method: str, vocabulary: bool, result: Result | None) -> np.ndarray:
    """(D,) the largest state of each channel that anything reached: data, hand-made inputs, and ascent where it ran.

    Of a layer that sees a finite vocabulary: what its tokens reached, for other inputs are none that it is given.
    """
    if vocabulary and survey.confined is not None:
        return survey.confined[method].h_max.amax(1).numpy()
    found = survey.attacked[method].h_max.amax(1).numpy()
    if result is not None and len(result.tables["channels"]):
        rows = result["channels"]
        own = rows[(rows["layer"] == survey.name) & (rows["method"] == method)]
        found = found.copy()
        at = own["channel"].to_numpy(int)
        inside = at < len(found)
        np.maximum.at(found, at[inside], own["reached"].to_numpy(float)[inside])
    return found


@study.view(
    "Bounds over what was reached", tab="Channels", selects={"customdata": "channel"},
    equation=r"|h_t| \le \frac{\rho(\Delta_{\max} a)}{a}\,\sup|B x|,\qquad \rho(z) = \frac{z}{1 - e^{-z}}",
)  # fmt: skip
def channels(
    chosen: LayerSurvey, grade: str, method: str, vocabulary: bool, channel: int, attack: Result | None
) -> Figure:
    """The largest state of every channel: certified, given the data, and what data and an adversary reached."""
    top = {g: chosen.bound(g, method, vocabulary).h_max.amax(1).numpy() for g in GRADE_WORDS}
    order = np.argsort(-top["a-priori"])
    at = np.arange(len(order))
    data, hard = top["empirical"], reached(chosen, method, vocabulary, attack)
    traces = [
        styled("reference", type="scatter", mode="lines", x=at, y=top[g][order], name=GRADE_WORDS[g].lower(),
               line={"shape": "hvh", "dash": {"a-priori": "solid", "conditional": "dash"}[g]}, hoverinfo="skip")
        for g in ("a-priori", "conditional") if g != grade
    ]  # fmt: skip
    allowed = top[grade]
    if grade != "empirical":
        traces.append(
            styled("yours", type="scatter", mode="lines", x=at, y=allowed[order], line={"shape": "hvh"},
                   name=f"bound, {GRADE_WORDS[grade].lower()}", customdata=order,
                   hovertemplate="channel %{customdata}<br>bound %{y:.3g}<extra></extra>")
        )  # fmt: skip
    shown = {"seen in the data": (data, "series_2")}
    if grade == "a-priori":
        shown = {"reached by an adversary": (hard, "series_1"), **shown}
    for name, (values, role) in shown.items():
        traces.append(
            styled(role, type="scatter", mode="markers", x=at, y=values[order], name=name, customdata=order,
                   marker={"size": 5},
                   hovertemplate=f"channel %{{customdata}}<br>%{{y:.3g}} {name}<extra></extra>")
        )  # fmt: skip
    mark = int(np.flatnonzero(order == min(channel, len(order) - 1))[0])
    against = hard if grade == "a-priori" else data
    above = int((against > allowed * (1 + 1e-12)).sum())
    low, high = np.log10(max(float(data[data > 0].min(initial=1.0)), TINY)), np.log10(float(top["a-priori"].max()))
    apart = decades(allowed / np.maximum(data, TINY))
    if grade == "empirical":
        title = f"The data take states up to {digits(float(data.max()))}; nothing is promised"
    else:
        said = f"{digits(apart)} decades above the data" if apart >= 0.1 else "touches the data"
        none = "no dot above it" if not above else f"{above} dots above it"
        title = f"{GRADE_WORDS[grade]}: the bound lies {said}, {none}" if apart >= 0.1 else (
            f"{GRADE_WORDS[grade]}: the bound {said}, {none}"
        )  # fmt: skip
    kept = {"a-priori": "Holds for every input that the norm lets through, of any length.",
            "conditional": "Holds for inputs inside the calibrated maxima alone; an adversary may leave them.",
            "empirical": "Maxima of a finite sample."}[grade]  # fmt: skip
    return drawn(
        traces,
        title,
        f"{chosen.name}, {METHOD_WORDS[method]}; largest |h| of {len(order)} channels. {kept}",
        xaxis=axis("Channel, in the order of its bound from weights alone"),
        yaxis=log_axis("Largest |h| of a channel (log)", range=[low - 0.3, high + 0.3], dtick=1),
        shapes=[{"type": "line", "name": "", "x0": mark, "x1": mark, "y0": 0, "y1": 1, "yref": "paper"}],
    )


QUANTITIES = {"x": "x", "B": "B", "C": "C", "Δ": "Δ", "h": "state h", "y": "output y", "out": "block output"}


def by_quantity(survey: LayerSurvey, grade: str, method: str, vocabulary: bool) -> dict[str, np.ndarray]:
    """Certified over seen, for every part of each quantity."""
    constants, bound = survey.constants(grade, vocabulary), survey.bound(grade, method, vocabulary)
    seen = survey.data[method]
    pairs = {
        "x": (constants.x_max, seen.constants.x_max), "B": (constants.B_max, seen.constants.B_max),
        "C": (constants.C_max, seen.constants.C_max), "Δ": (constants.dt_max, seen.constants.dt_max),
        "h": (bound.h_max, seen.h_max), "y": (bound.y_max, seen.y_max), "out": (bound.out_max, seen.out_max),
    }  # fmt: skip
    return {name: (a / b.clamp(min=TINY)).flatten().numpy() for name, (a, b) in pairs.items()}


@study.view("Decades between certified and seen", tab="Board")
def board(survey: Survey, chosen: LayerSurvey, grade: str, method: str, vocabulary: bool) -> Figure:
    """How far every bound lies above what the data do, layer by layer; the middle of its parts."""
    shown = survey.shown(chosen)
    z = [[decades(ratios) for ratios in by_quantity(layer, grade, method, vocabulary).values()] for layer in shown]
    names = [f"layer {layer.layer.index}" for layer in shown]
    values = np.array(z)
    at = np.unravel_index(int(values.argmax()), values.shape)
    worst = float(values[at])
    what = list(QUANTITIES.values())[at[1]]
    title = (
        f"The loosest bound, {what} of layer {shown[at[0]].layer.index}, lies {digits(worst)} decades above the data"
        if worst >= 0.1
        else "Every bound lies within a quarter of what was seen"
    )
    trace = {
        "type": "heatmap", "x": list(QUANTITIES), "y": names, "z": z, "coloraxis": "coloraxis",
        "customdata": [list(QUANTITIES.values())] * len(names),
        "hovertemplate": "%{y}<br>%{customdata}: %{z:.2f} decades<extra></extra>",
    }  # fmt: skip
    if len(names) <= 12:
        trace |= {"text": [[f"{v:.1f}".replace("-", "−") for v in row] for row in z], "texttemplate": "%{text}"}
    return drawn(
        [trace],
        title,
        f"{GRADE_WORDS[grade]}, {METHOD_WORDS[method]}; calibrated on {survey.said}.{survey.rest}",
        xaxis=axis("", tickangle=0, dtick=1),
        yaxis=axis("", autorange="reversed", type="category"),
        coloraxis={"cmin": 0, "cmax": 8, "colorbar": {"title": {"text": "decades"}, "thickness": 12}},
        margin={"l": 76},
    )


@study.view("Every channel, the least certain first", tab="Table", selects={"channel": "channel"})
def worst_first(
    survey: Survey, chosen: LayerSurvey, method: str, vocabulary: bool, attack: Result | None
) -> pd.DataFrame:
    """Bounds of all grades for every layer and channel, with how much of the bound an adversary reaches."""
    parts = []
    if survey.large and attack is not None and len(attack.tables["channels"]):
        parts = [attacked_rows(attack, method)]
    for layer in survey.shown(chosen) if not parts else ():
        alone = layer.bound("a-priori", method, vocabulary)
        state = alone.h_max.argmax(1)
        hard = reached(layer, method, vocabulary, attack)
        top = alone.h_max.amax(1).numpy()
        rates = layer.layer.rates
        parts.append(pd.DataFrame({
            "layer": str(layer.layer.index),
            "channel": np.arange(len(top)),
            "state": state.numpy(),
            "slowest a": rates.amin(1).numpy(),
            "Δ at most": layer.constants("a-priori", vocabulary).dt_max.numpy(),
            "|h| certified": top,
            "|h| given data": layer.bound("conditional", method).h_max.amax(1).numpy(),
            "|h| adversary": hard,
            "|h| data": layer.data[method].h_max.amax(1).numpy(),
            "tightness %": 100 * hard / np.maximum(top, TINY),
        }))  # fmt: skip
    rows = pd.concat(parts, ignore_index=True).sort_values("|h| certified", ascending=False, kind="stable")
    found = rows.head(ROWS).reset_index(drop=True)
    for name in found.columns:
        if found[name].dtype.kind == "f":
            found[name] = [float(f"{v:.3g}") for v in found[name]]
    found["verdict"] = np.where(found["tightness %"] < 100 * VACUOUS, "holds, vacuous", "holds")
    vacuous = float((rows["tightness %"] < 100 * VACUOUS).mean())
    whole = len(set(rows["layer"])) == len(survey.layers)
    over = int((rows["|h| certified"] > FP16).sum())
    first = ["layer", "channel", "|h| certified", "|h| adversary", "tightness %", "verdict"]
    found = found[first + [name for name in found.columns if name not in first]]
    found.attrs["title"] = (
        f"{100 * vacuous:.0f} % of {len(rows):,} bounds from weights alone are vacuous; "
        f"{over} are above what half precision holds"
    )
    found.attrs["subtitle"] = (
        f"Vacuous: nothing that data, hand-made or ascended inputs reach comes within a hundredth. "
        f"{METHOD_WORDS[method]}. Half precision ends at 65 504.{'' if whole else survey.rest}"
    )
    return found


def attacked_rows(attack: Result, method: str) -> pd.DataFrame:
    """Every layer and channel of a large model, as its run found them."""
    rows = attack["channels"]
    rows = rows[rows["method"] == method]
    reached, certified = rows["reached"].to_numpy(float), rows["certified"].to_numpy(float)
    return pd.DataFrame({
        "layer": rows["layer"].to_numpy(), "channel": rows["channel"].to_numpy(int), "|h| certified": certified,
        "|h| adversary": reached, "tightness %": 100 * reached / np.maximum(certified, TINY),
    })  # fmt: skip


@study.view("How fast the model forgets", equation=r"\bar A_t = e^{-\Delta_t a}", tab="Decay")
def decay_map(survey: Survey, chosen: LayerSurvey) -> Figure:
    """Decay factors of single steps, and memory in tokens, by layer."""
    edges = np.linspace(0, 1, 41)
    every = survey.shown(chosen)
    shown = [every[i] for i in np.unique(np.linspace(0, len(every) - 1, 8).astype(int))]
    traces, far = [], []
    for i, layer in enumerate(shown):
        share = np.histogram(layer.decays, edges)[0] / len(layer.decays) * 100
        role = f"series_{1 + i % 8}"
        hours = np.sort(layer.horizons)
        far.append(float(np.median(hours)))
        traces.append(
            styled(role, type="scatter", mode="lines", x=(edges[1:] + edges[:-1]) / 2, y=share, name=layer.name,
                   legendgroup=role, line={"shape": "hvh"},
                   hovertemplate="decay %{x:.2f}: %{y:.1f} % of steps<extra></extra>")
        )  # fmt: skip
        thin = np.linspace(0, len(hours) - 1, min(len(hours), 200)).astype(int)
        traces.append(
            styled(role, type="scatter", mode="lines", x=hours[thin], y=100 * (thin + 1) / len(hours), name=layer.name,
                   legendgroup=role, showlegend=False, xaxis="x2", yaxis="y2",
                   hovertemplate="%{y:.0f} % of states forget within %{x:.3g} tokens<extra></extra>")
        )  # fmt: skip
    most = int(np.argmax(far))
    longest = f", the longest of {len(shown)} layers" if len(shown) > 1 else ""
    return drawn(
        traces,
        f"The middle state of layer {shown[most].layer.index} remembers {digits(far[most])} tokens{longest}",
        f"On {survey.said}. Left: decay of a state in one step. Right: 1 / (Δ a) at a channel’s middle step."
        f"{survey.rest}",
        xaxis=axis("Decay factor of a step", domain=[0, 0.38]),
        yaxis=axis("Share of steps and states (%)"),
        xaxis2=log_axis("Memory (tokens, log)", domain=[0.62, 1], anchor="y2"),
        yaxis2=axis("States that forget sooner (%)", anchor="x2"),
        margin={"r": 20},
    )


@study.view(
    "How far a change can reach",
    tab="Reach",
    equation=r"|dy_t| \le \sum_n \left(C\,|dh| + \delta_C h\right) + |D|\,\delta_x",
)
def reach(
    survey: Survey, chosen: LayerSurvey, change: str, size: float, length: int, method: str, grade: str,
    perturb: Result | None,
) -> pd.DataFrame:  # fmt: skip
    """Both bounds on the effect of a change, layer by layer, with what an adversary moved and what is vacuous."""
    kept = "conditional" if grade == "conditional" else "a-priori"
    rows = []
    for layer in survey.shown(chosen):
        constants = layer.constants(kept)
        row: dict[str, Any] = {"layer": layer.name}
        try:
            uniform, linear = (
                robustness_bound(layer.layer, constants, size, length, form=form, kind=change, method=method)
                for form in ("uniform", "linear")
            )
        except ValueError as error:
            rows.append(row | {"verdict": str(error).partition(": ")[2]})
            continue
        better = torch.minimum(uniform.total, linear.total)
        twice = 2 * layer.bound(kept, method).h_max
        useless = float((better >= twice).double().mean())
        row |= {
            "injection": three(uniform.injection.max()), "selectivity": three(uniform.selectivity.max()),
            "|dh| any length": three(uniform.total.max()), "|dh| linear in L": three(linear.total.max()),
            "|dy| any length": three(uniform.output.max()),
            "verdict": vacuous_share(useless),
        }  # fmt: skip
        if perturb is not None and len(perturb.tables["changes"]):
            found = perturb["changes"]
            own = found[(found["layer"] == layer.name) & (found["change"] == change)]
            row["reached / bound"] = three(own["over_uniform"].max()) if len(own) else float("nan")
        rows.append(row)
    table = pd.DataFrame(rows)
    count = sum(str(v).startswith("vacuous") for v in table["verdict"])
    grounds = "given the data" if kept == "conditional" else "from weights alone"
    table.attrs["title"] = (
        f"A change of {digits(size)} in {CHANGE_WORDS[change]}: bounds of {count} of {len(table)} layers are vacuous"
    )
    table.attrs["subtitle"] = (
        f"{grounds.capitalize()}, {METHOD_WORDS[method]}, L = {length:,}. Vacuous: no less than twice the largest "
        f"state, which any two inputs keep. Layer by layer; products over layers promise nothing.{survey.rest}"
    )
    return table


def vacuous_share(share: float) -> str:
    """In words, of the states of a layer."""
    if share > 0.99:
        return "vacuous"
    return f"{100 * share:.0f} % vacuous" if share else "bounds all states"


def three(value: Any) -> float:
    """Three digits."""
    return float(f"{float(value):.3g}")


@study.view("The model in numbers", tab="Numbers")
def numbers(survey: Survey, chosen: LayerSurvey, method: str, vocabulary: bool) -> list[Stat]:
    """Sizes, extremes and headroom of the layer that is looked at."""
    layer = chosen.layer
    alone, inside = (chosen.bound(g, method, vocabulary) for g in ("a-priori", "conditional"))
    constants = chosen.constants("a-priori", vocabulary)
    slow = int(layer.rates.amin(1).argmin())
    found = [
        Stat("layers certified", len(survey.layers)),
        Stat("channels × states", f"{layer.channels} × {layer.states}"),
        Stat("family", {"mamba": "Mamba", "mamba2": "Mamba-2"}[layer.family]),
        Stat("slowest rate", f"{float(layer.rates.min()):.3g}", f"per unit of Δ, channel {slow}"),
        Stat("Δ from weights", range_of(constants)),
        Stat("Δ in the data", range_of(chosen.inside)),
        Stat("largest |h| certified", digits(float(alone.h_max.max()))),
        Stat("largest |h| given data", digits(float(inside.h_max.max()))),
        Stat("half precision over it", digits(FP16 / float(inside.h_max.max())), "× given data"),
        Stat("length of block output", digits(alone.out_length), "at most"),
    ]  # fmt: skip
    if chosen.finite is not None:
        ratio = float((chosen.alone.x_max / chosen.finite.x_max.clamp(min=TINY)).median())
        found.append(Stat("a finite vocabulary narrows x", f"{ratio:.2f}", "×, middle channel"))
    return found


def range_of(constants: Constants) -> str:
    """Of the steps."""
    return f"{digits(float(constants.dt_min.min()))} to {digits(float(constants.dt_max.max()))}"


COVERED = """
| what | bounded from weights alone | needs |
|---|---|---|
| state h and output y of one layer | yes: any input, any length | {norm} |
| block output | yes: last projection, y and gate | the same |
| residual stream after all layers | finite, but a sum over layers: {sum} | selective layers alone, a norm before each |
| change of one layer’s input | yes, any length: **Reach** | size of the change after the norm |
| change of the whole network’s input | no useful bound: products over layers explode | open in the paper too |
| a switching system | where a common quadratic function is found | vertices that hold it |
| a model that reads its own output | no: a bounded state does not bound a loop around it | {loop} |
"""
LOOP = "[[1, 1], [1, 0.5]] holds a block that is certified at 0.5 and grows by 1.78 a step"


@study.view("What is covered, and what is not", tab="Covered")
def covered(survey: Survey, chosen: LayerSurvey, grade: str, method: str, vocabulary: bool) -> str:
    """Assumptions of the certificate that is shown, and the limits of all of them."""
    bound = chosen.bound(grade, method, vocabulary)
    norm = "the norm in front of it" if chosen.layer.gain is not None else (
        f"inputs no longer than {digits(chosen.radius or 0.0)}: no norm stands in front"
    )  # fmt: skip
    total = sum(layer.bound("a-priori", method).out_length for layer in survey.shown(chosen))
    lines = [f"**{GRADE_WORDS[grade]}** for {chosen.name}: " + "; ".join(bound.assumptions) + "."]
    if grade != "a-priori":
        lines.append("Not a certificate off these maxima." if grade == "conditional" else "Not a certificate.")
    added = f"length {digits(total)} added at most" + (" by the layer chosen" if survey.large else "")
    lines.append(COVERED.format(norm=norm, sum=added, loop=LOOP))
    if survey.skipped:
        shown = ", ".join(survey.skipped[:8]) + (
            f" and {len(survey.skipped) - 8} more" if len(survey.skipped) > 8 else ""
        )
        lines.append(f"Left out: {shown}.")
    notes = dict.fromkeys([*survey.notes, *(f"{s.name}: {n}" for s in survey.shown(chosen) for n in s.layer.notes)])
    lines += [f"- {note}" for note in list(notes)[:12]]
    return "\n\n".join(lines)


@study.picture
def picture(survey: Survey) -> str:
    """Bounds of the last layer's channels as a step in cobalt, what inputs reach as dots below it."""
    layer = survey.layers[-1]
    top = layer.bound("a-priori", "euler").h_max.amax(1).numpy()
    hard = layer.attacked["euler"].h_max.amax(1).numpy()
    order = np.argsort(-top)[:: max(1, len(top) // 44)]
    low, high = np.log10(max(float(hard.min()), TINY)), np.log10(float(top.max()))

    def place(i: int, value: float) -> tuple[float, float]:
        return 20 + 260 * i / max(1, len(order) - 1), 98 - 84 * (np.log10(max(value, TINY)) - low) / (high - low)

    steps = [place(i, float(top[d])) for i, d in enumerate(order)]
    line = "".join(f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(steps))
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="var(--as-ref-soft, #ccd3d3)"/>'
        for x, y in (place(i, float(hard[d])) for i, d in enumerate(order))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 112">{dots}'
        f'<path d="{line}" fill="none" stroke="var(--as-accent, #2a4bd0)" stroke-width="3"/></svg>\n'
    )
