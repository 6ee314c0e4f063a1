"""What is seen of answers on their way: when they are there, whether two are held, where latents lie; training."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import torch

from assay.language import early_stop
from workbench.studies.language.latent_cot.bench import Acted
from workbench.studies.language.latent_cot.controls import study
from workbench.studies.language.latent_cot.step_views import nothing_live
from workbench.studies.language.latent_cot.subject import Bench, Subject
from workbench.study import Result
from workbench.theme import Figure, axis, drawn, styled

READOUTS = {
    "output": "output", "probe": "probe, held out", "class means": "class means, cosine", "random": "random directions",
    "shuffled": "probe, labels shuffled",
}  # fmt: skip


@study.view("When the answer is there", tab="Sufficiency", equation=r"S(k) = P(\min\{k' : \hat y(\le k') = y\} \le k)")
def sufficiency(subject: Subject, bench: Bench | None, answers: Result | None) -> Figure:
    """Solve rate, accuracy and guessing over the number of latents, and prompt by prompt."""
    if subject.recorded is not None:
        right = (subject.recorded.log_p.argmax(-1) == subject.recorded.answer[:, None]).numpy()
        chance, start = 1 / subject.recorded.log_p.shape[2], 1
    elif bench is not None:
        stop = early_stop(bench.base)
        right, chance, start = stop.right, 1 / bench.task.group.order, 0
    else:
        return of_run(answers) if answers is not None else nothing_live(subject)
    k = np.arange(start, start + right.shape[1])
    solved = np.maximum.accumulate(right, axis=1).mean(axis=0)
    accuracy = right.mean(axis=0)
    guess = 1 - (1 - chance) ** np.arange(1, len(k) + 1)
    order = np.lexsort((right.sum(axis=1), np.where(right.any(axis=1), right.argmax(axis=1), 99)))[:200]
    gains = np.diff(accuracy)
    last = int(np.argmax(gains)) + 1 if len(gains) else 0
    title = (
        f"The answer comes with latent {k[last]}: {100 * accuracy[last - 1]:.0f} to {100 * accuracy[last]:.0f} % right"
        if len(gains) and gains.max() > 0.2
        else f"No latent brings the answer: {100 * accuracy[-1]:.0f} % are right at the end"
    )
    traces: list[dict[str, Any]] = [
        styled("yours", type="scatter", mode="lines+markers", x=k, y=100 * solved, name="solved by then, S(k)",
               hovertemplate="k = %{x}: %{y:.1f} %<extra>S(k)</extra>"),
        styled("series_2", type="scatter", mode="lines+markers", x=k, y=100 * accuracy, name="right at k",
               hovertemplate="k = %{x}: %{y:.1f} %<extra>right at k</extra>"),
        styled("null", type="scatter", mode="lines", x=k, y=100 * guess, name="guessing anew at each k",
               hovertemplate="k = %{x}: %{y:.1f} %<extra>guessing</extra>"),
        {"type": "heatmap", "x": k.tolist(), "z": right[order].astype(int).tolist(), "xaxis": "x2", "yaxis": "y2",
         "showscale": False, "zmin": 0, "zmax": 1, "hovertemplate": "k = %{x}<extra></extra>", "name": "right"},
    ]  # fmt: skip
    return drawn(
        traces, title,
        f"{len(right)} prompts, answered right after k latents. Right: prompt by prompt, dark where right.",
        xaxis=axis("Latents k", domain=[0, 0.62], dtick=1), yaxis=axis("Prompts (%)", range=[0, 105]),
        xaxis2=axis("Latents k", domain=[0.72, 1], anchor="y2", dtick=1),
        yaxis2=axis("Prompt", anchor="x2", showgrid=False),
        legend={"orientation": "h", "y": 1.1}, margin={"r": 20},
    )  # fmt: skip


def of_run(answers: Result) -> Figure:
    rows = answers["answers"]
    return drawn(
        [
            styled(role, type="scatter", mode="lines+markers", x=rows["k"], y=rows[column], name=name)
            for role, column, name in (("yours", "solved", "solved by k"), ("series_2", "accuracy", "right at k"))
        ],
        f"{rows['accuracy'].iloc[-1]:.0f} % are right at the end",
        f"{int(rows['prompts'].iloc[0])} questions, thinking ended after k latents.",
        xaxis=axis("Latents k", dtick=1), yaxis=axis("Prompts (%)", range=[0, 105]),
    )  # fmt: skip


@study.view("Two answers, held or not", tab="Commitment", equation=r"SS(t) = \min(p_Y, p_N)")
def commitment(commit: Result | None, delta: float) -> Figure:
    """Superposition of two running products by every read-out, the selector after the latents and before them."""
    if commit is None or not len(commit["steps"]):
        return drawn(
            [], "Run “Follow two answers” to see when the model makes up its mind",
            "It fits probes to the models with two words, and to random directions and shuffled labels.",
            xaxis=axis("Step t", range=[1, 6]), yaxis=axis("Superposition (0 to 0.5)", range=[0, 0.55]),
        )  # fmt: skip
    rows = commit["steps"]
    traces: list[dict[str, Any]] = []
    for number, model in enumerate(("late", "early")):
        place = "" if number == 0 else "2"
        for role, (name, words) in zip(
            ("yours", "series_2", "series_3", "null", "series_4"), READOUTS.items(), strict=True
        ):
            own = rows[(rows["model"] == model) & (rows["readout"] == name)]
            traces.append(styled(role, type="scatter", mode="lines+markers", x=own["step"], y=own["superposition"],
                                 name=words, legendgroup=name, showlegend=number == 0,
                                 xaxis=f"x{place}", yaxis=f"y{place}",
                                 hovertemplate=f"step %{{x}}: %{{y:.2f}}<extra>{words}</extra>"))  # fmt: skip
    gaps = {(row["model"], row["readout"]): row["gap"] for _, row in commit["gaps"].iterrows()}
    probe, null = gaps.get(("early", "probe")), gaps.get(("early", "random"))
    last = rows[(rows["model"] == "late") & (rows["readout"] == "probe")]
    title = (
        f"Selector first: the probe decides {probe:+.1f} steps after the output, random directions {null:+.1f}"
        if probe is not None and null is not None
        else f"Selector last: the probe reads both words to the end, {last['superposition'].iloc[-1]:.2f}"
        if len(last)
        else "The output alone, so far"
    )
    return drawn(
        traces,
        title,
        f"Left: selector after the latents, both words are needed. Right: selector first. δ = {delta:.2g}; a score of "
        "0.5 is also what a read-out gives that sees nothing.",
        xaxis=axis("Step t, selector last", domain=[0, 0.46], dtick=1),
        yaxis=axis("Superposition (0 to 0.5)", range=[0, 0.55]),
        xaxis2=axis("Step t, selector first", domain=[0.54, 1], anchor="y2", dtick=1),
        yaxis2=axis("", anchor="x2", range=[0, 0.55], showticklabels=False),
        legend={"orientation": "h", "y": 1.12}, margin={"r": 20},
    )  # fmt: skip


@study.view("Where latents lie", tab="Trajectories")
def trajectories(subject: Subject, bench: Bench | None, acted: Acted | None, prompt: int) -> Figure:
    """Latents of all prompts in the plane of their first two principal directions, by step; one prompt’s path."""
    if subject.recorded is not None:
        latents, prompt = subject.recorded.latents_of[:500], min(prompt, 499)
    elif bench is not None:
        latents = bench.base.latents
    else:
        return nothing_live(subject)
    n, T, d = latents.shape
    flat = latents.reshape(-1, d)
    centred = flat - flat.mean(dim=0)
    _, s, v = torch.linalg.svd(centred, full_matrices=False)
    plane = (centred @ v[:2].T).view(n, T, 2).numpy()
    share = float(s[:2].square().sum() / s.square().sum().clamp(min=1e-12))
    prompt = min(prompt, n - 1)
    traces = [
        styled(f"series_{1 + t % 8}", type="scatter", mode="markers", x=plane[:, t, 0], y=plane[:, t, 1],
               name=f"step {t + 1}", marker={"size": 6, "opacity": 0.6}, hovertemplate=f"step {t + 1}<extra></extra>")
        for t in range(T)
    ]  # fmt: skip
    traces.append(styled("yours", type="scatter", mode="lines+markers", x=plane[prompt, :, 0], y=plane[prompt, :, 1],
                         name=f"prompt {prompt}", hovertemplate="prompt’s path<extra></extra>"))  # fmt: skip
    turn = torch.nn.functional.cosine_similarity(latents[:, 1:], latents[:, :-1], dim=-1) if T > 1 else torch.ones(1)
    return drawn(
        traces,
        f"Two directions hold {100 * share:.0f} % of the latents’ variance; steps turn by {1 - float(turn.mean()):.2f}",
        f"{n} prompts, {T} latents of {d} numbers each. Turn: mean of 1 − cos of neighbouring latents.",
        xaxis=axis("First principal direction"), yaxis=axis("Second principal direction"),
    )  # fmt: skip


@study.view("How it was trained", tab="Training")
def stages(subject: Subject) -> pd.DataFrame:
    """The log of every stage of the curriculum: a stage that ended by its limit is not one that was learned."""
    log = subject.kept.log if subject.kept is not None else ()
    return pd.DataFrame(
        {
            "latent steps": [s.steps for s in log], "iterations": [s.iterations for s in log],
            "loss (nats)": [round(s.loss, 4) for s in log],
            "right, held out (%)": [round(100 * s.accuracy, 1) for s in log],
            "ended by": ["its criterion" if s.left else "its limit" for s in log],
            "core-seconds": [s.seconds for s in log],
        }
    )  # fmt: skip
