"""What is seen of the one-layer model: its blocks as they fill, the 2 × 2 toy, answers, singular values, sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from assay.language import (
    TEMPLATES,
    Pair,
    bridge_dataset,
    complete_block,
    nuclear_norm_2x2,
    read_backwards,
    reverse_prompts,
)
from workbench.studies.language.identity_bridge.controls import FORM_NAMES, Live, study
from workbench.study import Stat
from workbench.theme import Figure, axis, drawn, styled


def at(live: Live, moment: float) -> int:
    """Which kept moment a place on the slider is."""
    return round(moment * (len(live.trace.step) - 1))


def told(live: Live, k: int) -> str:
    """The finding of a moment: what the empty corner looks like, and what is answered."""
    found = read_backwards(live.trace.matrix[k])
    filled = "fills" if found["diagonal"] - found["rest"] > 0.5 else "stays empty"
    but = ", but the model echoes" if filled == "fills" and found["echo"] > 0.5 else ""
    return f"The reverse corner {filled}{but}: {100 * found['acc']:.0f} % of reverse questions are answered right"


@study.view("The matrix W_OV", tab="Blocks", equation=r"W_{OV} = W_O W_V^{\top}")
def blocks(live: Live, moment: float, form: str, factorised: bool) -> Figure:
    """Weights from names that are read (columns) to names that are said (rows); no fact trains the upper right."""
    k, n = at(live, moment), live.n
    z = live.trace.matrix[k][: 2 * n, : 2 * n]
    top = max(float(np.abs(z).max()), 1e-12)
    names = np.array([[f"{says} to {reads}" for reads in live.names] for says in live.names])
    where = list(range(2 * n))
    ticks = {"tickvals": [(n - 1) / 2, n + (n - 1) / 2], "showgrid": False, "zeroline": False}
    line = {"type": "line", "line": {"width": 1, "color": "#7d8a90"}}
    return drawn(
        [{
            "type": "heatmap", "x": where, "y": where, "z": z.round(4).tolist(), "zmin": -top, "zmax": top,
            "colorscale": "RdBu", "reversescale": True, "customdata": names.tolist(),
            "colorbar": {"title": {"text": "Weight (nats)"}, "thickness": 12},
            "hovertemplate": "says %{customdata}: %{z:.3f} nats<extra></extra>",
        }],
        told(live, k),
        f"{FORM_NAMES[form]}; {'W_O and W_V' if factorised else 'one matrix'} after {live.trace.step[k]} steps, "
        f"{n} pairs.",
        xaxis=axis("Name that is read", ticktext=["A", "B"], constrain="domain", **ticks),
        yaxis=axis("Name that is said", ticktext=["A", "B"], autorange="reversed", scaleanchor="x",
                   constrain="domain", **ticks),
        shapes=[
            {**line, "x0": n - 0.5, "x1": n - 0.5, "y0": -0.5, "y1": 2 * n - 0.5},
            {**line, "y0": n - 0.5, "y1": n - 0.5, "x0": -0.5, "x1": 2 * n - 0.5},
        ],
    )  # fmt: skip


@study.view(
    "The free entry of a 2 × 2 matrix", tab="Two by two", selects={"x": "delta"},
    equation=r"\|M\|_* = \sqrt{\|M\|_F^2 + 2\,|\det M|},\qquad \delta^* = \min(\beta, \alpha\gamma/\beta)",
)  # fmt: skip
def completion(alpha: float, beta: float, gamma: float, delta: float) -> Figure:
    """Both norms over δ; what a factorised model prefers, and what one matrix prefers."""
    x = np.linspace(-1, 2, 121)
    nuclear = [nuclear_norm_2x2(alpha, beta, gamma, d) for d in x]
    frobenius = np.sqrt(alpha**2 + beta**2 + gamma**2 + x**2)
    best = complete_block(alpha, beta, gamma)
    here = nuclear_norm_2x2(alpha, beta, gamma, delta)
    title = (
        f"The nuclear norm completes the corner: δ = {best:.2g}; Frobenius’ leaves it at 0"
        if best > 0
        else "A known entry is missing: both norms leave the corner at 0"
    )
    return drawn(
        [
            styled("series_1", type="scatter", mode="lines", x=x, y=nuclear, name="nuclear",
                   hovertemplate="δ = %{x:.2f}: %{y:.3f}<extra>nuclear</extra>"),
            styled("series_2", type="scatter", mode="lines", x=x, y=frobenius, name="Frobenius",
                   hovertemplate="δ = %{x:.2f}: %{y:.3f}<extra>Frobenius</extra>"),
            styled("predicted", type="scatter", mode="markers", name="smallest", x=[best, 0.0],
                   y=[nuclear_norm_2x2(alpha, beta, gamma, best), float(np.sqrt(alpha**2 + beta**2 + gamma**2))],
                   hovertemplate="δ = %{x:.2f}: %{y:.3f}<extra>smallest</extra>"),
        ],
        title, f"α = {alpha:g}, β = {beta:g}, γ = {gamma:g}; at your δ = {delta:g} the nuclear norm is {here:.3f}.",
        xaxis=axis("Free entry δ (no unit)"), yaxis=axis("Norm of M (no unit)"),
        legend={"orientation": "h", "y": 1.1},
        shapes=[{"type": "line", "name": "yours", "x0": delta, "x1": delta, "y0": 0, "y1": 1, "yref": "paper"}],
    )  # fmt: skip


@study.view("Answers while it learns", tab="By step")
def by_step(live: Live, form: str) -> Figure:
    """Reverse questions answered right over all tokens and among A alone, and echoed, step by step."""
    rows = [read_backwards(matrix) for matrix in live.trace.matrix]
    x = live.trace.step + 1
    last = rows[-1]
    title = (
        f"Among A alone {100 * last['acc_in_a']:.0f} % look right, but {100 * last['echo']:.0f} % are echoes"
        if last["echo"] > 0.5
        else f"{100 * last['acc']:.0f} % of reverse questions are right at the end, chance is {100 / live.n:.0f} %"
    )
    lines = (("yours", "acc", "right, all tokens"), ("series_2", "acc_in_a", "right, among A"),
             ("series_3", "echo", "echo of the name asked about"))  # fmt: skip
    return drawn(
        [styled(role, type="scatter", mode="lines", x=x, y=[100 * r[key] for r in rows], name=name,
                hovertemplate="step %{x}: %{y:.0f} %<extra>" + name + "</extra>") for role, key, name in lines],
        title, f"{FORM_NAMES[form]}, {live.n} pairs; of k answers that tie, each counts 1/k.",
        xaxis=axis("Steps + 1", type="log"), yaxis=axis("Reverse questions (%)", range=[-3, 105]),
        legend={"orientation": "h", "y": 1.1},
    )  # fmt: skip


@study.view("Singular values of W_OV", tab="Rank")
def spectrum(live: Live, factorised: bool) -> Figure:
    """Singular values at four moments."""
    picks = sorted({0, len(live.trace.step) // 2, 3 * len(live.trace.step) // 4, len(live.trace.step) - 1})
    values = [np.linalg.svd(live.trace.matrix[k], compute_uv=False) for k in picks]
    top = float(values[-1][0])
    rank = int((values[-1] > 0.1 * top).sum())
    return drawn(
        [styled(f"series_{i + 1}", type="scatter", mode="lines+markers", x=np.arange(1, len(v) + 1), y=v,
                name=f"step {live.trace.step[k]}", hovertemplate="value %{x}: %{y:.3g} nats<extra></extra>")
         for i, (k, v) in enumerate(zip(picks, values, strict=True))],
        f"{rank} of {len(values[-1])} directions hold more than a tenth of the largest",
        f"{live.n} pairs; {'W_O and W_V are trained' if factorised else 'W_OV itself is trained'}.",
        xaxis=axis("Number of the singular value"), yaxis=axis("Singular value (nats)"),
        legend={"orientation": "h", "y": 1.1},
    )  # fmt: skip


@study.view("Reverse questions, one by one", tab="Answers")
def answers(live: Live, moment: float) -> pd.DataFrame:
    """The likeliest three answers to every reverse question, and by how much a leads b."""
    k, n = at(live, moment), live.n
    logits = reverse_prompts(n) @ live.trace.matrix[k].T
    p = torch.from_numpy(logits).softmax(dim=1).numpy()
    words = [*live.names, "r+", "r−", "r_id"]
    rows: list[dict[str, Any]] = []
    for i, (a, b) in enumerate(live.pairs):
        best = np.argsort(-p[i])[:3]
        row: dict[str, Any] = {"question": TEMPLATES["test"][0].format(a=a, b=b), "right": a}
        row |= {f"answer {j + 1}": f"{words[t]} ({100 * p[i, t]:.0f} %)" for j, t in enumerate(best)}
        rows.append({**row, "margin of a over b (nats)": round(float(logits[i, i] - logits[i, n + i]), 3)})
    return pd.DataFrame(rows)


@study.view("Numbers", tab="Numbers")
def numbers(live: Live, moment: float, overlap: list[str]) -> list[Stat]:
    """The moment that is drawn, in numbers."""
    k = at(live, moment)
    found = read_backwards(live.trace.matrix[k])
    return [
        Stat("right, all tokens", 100 * found["acc"], "%"), Stat("right, among A", 100 * found["acc_in_a"], "%"),
        Stat("echo", 100 * found["echo"], "%"), Stat("reverse corner, diagonal", found["diagonal"], "nats"),
        Stat("reverse corner, rest", found["rest"], "nats"), Stat("loss", float(live.trace.loss[k]), "nats"),
        Stat("names on both sides", len(overlap)),
    ]  # fmt: skip


@study.view("What is trained, in sentences", tab="Sentences")
def sentences(people: list[Pair], overlap: list[str], form: str, forward_weight: float) -> pd.DataFrame:
    """Every fact with its weight; names that are an a and a b are marked, since their reverse is partly trained."""
    facts = bridge_dataset(people, form, {"forward": forward_weight})
    both = set(overlap)
    return pd.DataFrame(
        {
            "role": [f.role.replace("_", " ") for f in facts], "prompt": [f.prompt for f in facts],
            "answer": [f.answer for f in facts], "weight": [f.weight for f in facts],
            "on both sides": ["yes" if both & set(people[f.pair]) else "" for f in facts],
        }
    )  # fmt: skip
