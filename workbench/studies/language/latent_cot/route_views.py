"""What is seen of influence: the matrix, total or direct; the graph that is left; one cell, replayed."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from assay.language import (
    OPERATIONS,
    Influence,
    Plan,
    graph_f1,
    intervene,
    planted_edges,
    principal_graph,
    structure,
    uniform_structure,
)
from workbench.studies.language.latent_cot.bench import Acted
from workbench.studies.language.latent_cot.controls import study
from workbench.studies.language.latent_cot.step_views import nothing_live
from workbench.studies.language.latent_cot.subject import Bench, Subject, donors_of, make_operations, shown_subset
from workbench.study import Result
from workbench.theme import Figure, axis, drawn, styled

SCORES = {"locality": "locality", "span": "span (steps)", "early_out": "out of first", "late_in": "into last"}
READ_WORDS = {"lens": "each step read by itself", "decode": "thinking ended at each step", "next": "what comes next"}


def matrix_of(routes: Influence, bench: Bench, subset: str) -> np.ndarray:
    return routes.of(shown_subset(bench.base.correct.numpy(), subset).astype(float))


def from_run(influences: Result | None, effect: str) -> np.ndarray | None:
    """The matrix of a run on a checkpoint of the user's."""
    if influences is None:
        return None
    rows = influences["edges"]
    rows = rows[(rows["effect"] == effect) & (rows["model"] == "this")]
    if rows.empty:
        return None
    T = int(rows["to"].max()) - 1
    out = np.full((T, T + 1), np.nan)
    for t, s, value in zip(rows["from"], rows["to"], rows["kl"], strict=True):
        out[int(t) - 1, int(s) - 1] = value
    return out


@study.view("Influence of step on step", tab="Influence", selects={"y": "step", "x": "target"},
            equation=r"W_{t,s}: \mathrm{do}(h_t \leftarrow h'), h_r = h_r^{\mathrm{base}}, t<r<s")  # fmt: skip
def influence_matrix(
    subject: Subject, bench: Bench | None, routes: Influence | None, effect: str, read: str, operation: str,
    subset: str, metric: str, influences: Result | None,
) -> Figure:  # fmt: skip
    """How much acting on step t moves what step s says, by total effects or direct ones."""
    W = matrix_of(routes, bench, subset) if routes is not None and bench is not None else from_run(influences, effect)
    if W is None:
        return nothing_live(subject)
    T = len(W)
    size = float(np.nan_to_num(W).max())
    unit = "%" if metric == "flip" else "nats"
    columns = [*map(str, range(2, T + 1)), "answer"]
    trace: dict[str, Any] = {
        "type": "heatmap", "x": list(range(2, T + 2)), "y": list(range(1, T + 1)), "z": nulls(W[:, 1:]),
        "zmin": 0, "zmax": max(size, 1e-3), "xgap": 2, "ygap": 2,
        "colorbar": {"title": {"text": f"Flips ({unit})" if metric == "flip" else "KL (nats)", "side": "right"},
                     "thickness": 10},
        "hovertemplate": "act on %{y}, read %{x}: %{z:.3f} " + unit + "<extra></extra>",
    }  # fmt: skip
    if size <= 1e-6:
        title = "Nothing acts on anything"
    elif T < 2:
        title = f"One step acts on the answer by {size:.2f} {unit}"
    else:
        own, null = structure(W), uniform_structure(T)
        if own.locality > 0.95:
            title = f"{effect.capitalize()} effects: each step acts on the next alone, locality {own.locality:.2f}"
        else:
            title = f"{effect.capitalize()} effects: locality {own.locality:.2f}, if all equal {null.locality:.2f}"
            alike = abs(own.locality - null.locality) < 0.12
            title += "; it looks like long-range jumps" if effect == "total" and alike else ""
    return drawn(
        [trace], title,
        f"h′: {OPERATIONS[operation]}; {READ_WORDS[read]}. Effect switches total and direct; click a cell to see it.",
        xaxis=axis("Step s that is read", tickvals=list(range(2, T + 2)), ticktext=columns),
        yaxis=axis("Step t that is acted on", autorange="reversed", dtick=1), margin={"r": 20},
    )  # fmt: skip


@study.view("Scores of structure", tab="Scores")
def scores(
    subject: Subject, bench: Bench | None, routes: Influence | None, effect: str, subset: str, influences: Result | None
) -> Figure:
    """Locality, span, what leaves the first step and enters the last, beside those of equal influence everywhere."""
    W = matrix_of(routes, bench, subset) if routes is not None and bench is not None else from_run(influences, effect)
    if W is None:
        return nothing_live(subject)
    if len(W) < 2 or np.nan_to_num(W[:, : len(W)]).max() <= 1e-6:
        return drawn(
            [], "There is no influence between steps to score", f"{effect.capitalize()} effects.",
            xaxis=axis("Score", range=[0, 1]), yaxis=axis(""),
        )  # fmt: skip
    own, null = structure(W), uniform_structure(len(W))
    labels = list(SCORES.values())
    return drawn(
        [
            styled("yours_bars", type="bar", orientation="h", y=labels, x=[getattr(own, k) for k in SCORES],
                   name="measured", hovertemplate="%{y}: %{x:.2f}<extra>measured</extra>"),
            styled("reference", type="scatter", mode="markers", y=labels, x=[getattr(null, k) for k in SCORES],
                   name="equal influence everywhere", marker={"symbol": "line-ns-open", "size": 18},
                   hovertemplate="%{y}: %{x:.2f}<extra>equal influence</extra>"),
        ],
        f"Locality {own.locality:.2f}, span {own.span:.2f} steps; equal influence gives {null.locality:.2f} and "
        f"{null.span:.2f}",
        f"{effect.capitalize()} effects between the {len(W)} steps; a chain has 1 and 1.",
        xaxis=axis("Score (shares; span in steps)", rangemode="tozero"),
        yaxis=axis("", type="category", automargin=True),
    )  # fmt: skip


def nulls(values: np.ndarray) -> list[list[float | None]]:
    return [[None if np.isnan(v) else float(v) for v in row] for row in values]


@study.view("The graph that is left", tab="Graph")
def graph(
    subject: Subject, bench: Bench | None, routes: Influence | None, effect: str, alpha: float, top: int, subset: str
) -> Figure:
    """Edges above the threshold, against those that the task plants."""
    if bench is None or routes is None:
        return nothing_live(subject)
    W = matrix_of(routes, bench, subset)
    T = len(W)
    found = principal_graph(W, alpha, top).edges
    planted = planted_edges(bench.task) if bench.task.slots == 1 else None
    traces: list[dict[str, Any]] = []
    groups = {
        "series_1": ("found and planted" if planted is not None else "found", found & (planted or found)),
        "series_2": ("found, not planted", found - planted if planted is not None else set()),
        "null": ("planted, not found", planted - found if planted is not None else set()),
    }
    for role, (name, edges) in groups.items():
        x: list[float | None] = []
        y: list[float | None] = []
        for t, s in sorted(edges):
            turn = np.linspace(0, np.pi, 30)
            x += [*((t + s) / 2 - (s - t) / 2 * np.cos(turn)), None]
            y += [*((s - t) / 2 * np.sin(turn)), None]
        if edges:
            traces.append(styled(role, type="scatter", mode="lines", x=x, y=y, name=name, hoverinfo="skip"))
    nodes = list(range(1, T + 2))
    names = [*map(str, range(1, T + 1)), "answer"]
    traces.append(styled("reference", type="scatter", mode="markers+text", x=nodes, y=[0] * (T + 1), text=names,
                         textposition="bottom center", showlegend=False, name="step",
                         hovertemplate="step %{text}<extra></extra>"))  # fmt: skip
    if planted is None:
        title = f"{len(found)} edges are left of {T * (T + 1) // 2}; with two slots a step no graph is planted"
    elif not found:
        title = "No edge is left: nothing acts on anything"
    else:
        title = (
            f"F1 {graph_f1(found, planted):.2f} against the planted graph: {len(found)} edges, {len(planted)} planted"
        )
    return drawn(
        traces, title, f"{effect.capitalize()} effects above {alpha:.2g} of the largest"
        + (f", the {top} strongest out of each step." if top else "."),
        xaxis=axis("Step", range=[0.5, T + 1.5], showticklabels=False, showgrid=False),
        yaxis=axis("Distance of an edge (half steps)", range=[-0.35, (T + 1) / 2 + 0.2], showgrid=False),
    )  # fmt: skip


@study.view("One cell, replayed", tab="Replay")
def replay(
    subject: Subject, bench: Bench | None, acted: Acted | None, operation: str, effect: str, read: str, step: int,
    target: int, prompt: int, scale: float, strength: float, rank: int, donor_rule: str, donor: int, seed: int,
) -> Figure:  # fmt: skip
    """What is read at step s of one prompt, before and after acting on step t; the eight likeliest of both."""
    if bench is None or acted is None:
        return nothing_live(subject)
    T = bench.task.latents
    step = min(step, T)
    s = max(step + 1, min(target, T + 1))
    made = make_operations(
        bench, donors_of(bench, donor_rule, seed, prompt, donor), scale=scale, strength=strength, rank=rank, seed=seed
    )[operation]
    between = frozenset(range(step + 1, s)) if effect == "direct" else frozenset()
    where = T if s > T else s - 1 if read == "lens" else s
    plan = Plan({step: made}, where, hold=between - {where + 1}, end=read == "decode")
    outcome = intervene(bench.base, [plan], keep_logits=True)
    assert outcome.logits is not None
    ends = where == T or plan.end
    base = bench.base.answer_logits[prompt, 0] if where == T else bench.base.next_logits[prompt, where]
    if ends and where < T:
        untouched = intervene(bench.base, [Plan({step: lambda h, t, rows: h}, where, end=True)], keep_logits=True)
        assert untouched.logits is not None
        base = untouched.logits[0, prompt, 0]
    p, q = base.softmax(dim=-1), outcome.logits[0, prompt, 0].softmax(dim=-1)
    kl = float((p * (p.clamp(min=1e-30).log() - q.clamp(min=1e-30).log())).sum().clamp(min=0))
    order = torch.maximum(p, q).argsort(descending=True)[:8]
    names = bench.names(order)
    old, new = (bench.names(d.argmax()[None])[0] for d in (p, q))
    node = "The answer" if s > T else f"Step {s}"
    return drawn(
        [
            styled("reference_bars", type="bar", x=names, y=100 * p[order].numpy(), name="before",
                   hovertemplate="%{x}: %{y:.1f} %<extra>before</extra>"),
            styled("yours_bars", type="bar", x=names, y=100 * q[order].numpy(), name="after",
                   hovertemplate="%{x}: %{y:.1f} %<extra>after</extra>"),
        ],
        f"{node} stays {old}: {kl:.2g} nats" if old == new else f"{node} turns from {old} to {new}: {kl:.3g} nats",
        f"Prompt {prompt}: {bench.prompt_text(prompt)}; h′ at step {step}: {OPERATIONS[operation]}, {effect} effect.",
        xaxis=axis("Token", type="category"), yaxis=axis("Probability (%)", range=[0, 105]), barmode="group",
    )  # fmt: skip
