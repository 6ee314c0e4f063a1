"""What is seen of steps: who needs them, what they say, and what a donor's latent makes of an answer."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from assay.language import OPERATIONS, interchange_answers
from assay.statistics import wilson_interval
from workbench.studies.language.latent_cot.bench import Acted
from workbench.studies.language.latent_cot.controls import study
from workbench.studies.language.latent_cot.subject import Bench, Subject, shown_subset
from workbench.study import Result, Stat
from workbench.theme import Figure, axis, drawn, styled

SENDS = ("swap", "counterfactual", "patch")


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def nothing_live(subject: Subject) -> Figure:
    """What a view shows for a model that it cannot run at once."""
    if not subject.latents:
        said = "This model has no latents: it answers at once"
        below = "It is the baseline that a latent model must beat; choose another model to reach into its steps."
    elif subject.recorded is not None:
        said = "Recorded trajectories cannot be reached into"
        below = "Sufficiency and Trajectories show what was recorded."
    else:
        said = "Run “Reach into every step” to see this model’s steps"
        below = "A checkpoint of yours takes longer than a view may."
    return drawn(
        [], said, below, xaxis=axis("Step t", range=[0, 1]), yaxis=axis("Answers that flip (%)", range=[0, 100])
    )


@study.view("Steps", tab="Steps", selects={"x": "step"}, equation=r"\mathrm{Flip}(t) = P(\tilde y^{(t)} \ne y)")
def strip(
    subject: Subject, bench: Bench | None, acted: Acted | None, operation: str, prompt: int, subset: str,
    reach: Result | None,
) -> Figure:  # fmt: skip
    """Answers that flip when a step is reached into, and what the steps of one prompt say before and after."""
    if bench is None or acted is None:
        return of_run(reach, operation) if reach is not None else nothing_live(subject)
    T = bench.task.latents
    kept = shown_subset(bench.base.correct.numpy(), subset)
    n = int(kept.sum())
    flips = acted.outcome.flipped.numpy()[:, kept].mean(axis=1)
    ends = np.array([wilson_interval(float(f), n) for f in flips])
    steps = list(range(1, T + 1))
    before, after = (one[min(prompt, len(bench.words) - 1)] for one in acted.lens)
    names = bench.task.token_names()
    columns = [*steps, T + 1]
    chosen = [t in acted.steps for t in columns]
    texts: list[str] = []
    tops: list[str] = []
    number = min(prompt, len(bench.words) - 1)
    for t, old, new in zip(columns, before, after, strict=True):
        if t in acted.steps:  # what is put in, where it stands for a value
            put = names[int(bench.labels[int(acted.donors[number]), t - 1])] if operation in SENDS else ""
            texts.append(f"<b>h′ {put}</b>")
        else:
            texts.append(f"<b>{names[new]}</b>" if new != old else names[new])
        tops.append(top_words(bench, prompt, t, T))
    traces: list[dict[str, Any]] = [
        styled("yours_bars", type="bar", x=steps, y=100 * flips[:-1], name="answers that flip",
               marker={"opacity": [1.0 if t in acted.steps else 0.55 for t in steps]},
               error_y={"type": "data", "symmetric": False, "array": 100 * (ends[:-1, 1] - flips[:-1]),
                        "arrayminus": 100 * (flips[:-1] - ends[:-1, 0])},
               customdata=[[float((acted.outcome.log_p - acted.outcome.base_log_p)[i, kept].mean())]
                           for i in range(T)],
               hovertemplate="step %{x}: %{y:.0f} % flip, Δ log p %{customdata[0]:.2f}<extra></extra>"),
        {"type": "scatter", "mode": "text", "x": columns, "y": [2.0] * (T + 1), "yaxis": "y2", "showlegend": False,
         "text": [names[i] for i in before], "customdata": tops, "name": "before",
         "hovertemplate": "%{customdata}<extra>before</extra>"},
        {"type": "scatter", "mode": "text", "x": columns, "y": [1.0] * (T + 1), "yaxis": "y2", "showlegend": False,
         "text": texts, "name": "after", "hovertemplate": "%{text}<extra>after</extra>"},
    ]  # fmt: skip
    shapes = [
        {"type": "rect", "x0": t - 0.42, "x1": t + 0.42, "y0": 0.45, "y1": 2.55, "yref": "y2", "name": "band"}
        for t, on in zip(columns, chosen, strict=True) if on
    ]  # fmt: skip
    which = int(np.argmax(flips[:-1]))
    spread = float(flips[:-1].max() - flips[:-1].min())
    even = spread <= 2 * float((ends[:-1, 1] - ends[:-1, 0]).mean()) / 2
    found = (
        f"No step matters: {percent(flips[:-1].max())} of answers flip at most" if flips[:-1].max() < 0.05
        else f"Every step matters as much as any other: {percent(flips[:-1].min())} to {percent(flips[:-1].max())} flip"
        if even else f"Step {which + 1} matters most: {percent(flips[which])} of answers flip"
    )  # fmt: skip
    if len(acted.steps) > 1:
        found += f"; {percent(flips[-1])} with {len(acted.steps)} steps at once"
    later = [t for t in columns if t > min(acted.steps) and t not in acted.steps]
    moved = sum(int(before[t - 1] != after[t - 1]) for t in later)
    return drawn(
        traces, found,
        f"h′: {OPERATIONS[operation]}; {n} prompts, 95 % intervals. Below: prompt {prompt}, "
        f"{bench.prompt_text(prompt)}, before and after at step {', '.join(map(str, acted.steps))}: "
        f"{moved} of the {len(later)} after it change.",
        xaxis=axis("Step t", tickvals=columns, ticktext=[*map(str, steps), "answer"], range=[0.4, T + 1.6]),
        yaxis=axis("Answers that flip (%)", range=[0, 105], domain=[0.36, 1]),
        yaxis2=axis("", range=[0.4, 2.6], domain=[0, 0.22], tickvals=[1, 2], ticktext=["after", "before"],
                    anchor="x", showgrid=False),
        shapes=shapes, showlegend=False, margin={"l": 64, "r": 20},
    )  # fmt: skip


def top_words(bench: Bench, prompt: int, t: int, total: int) -> str:
    """The likeliest five tokens of a step, or of the answer."""
    logits = bench.base.answer_logits[prompt, 0] if t > total else bench.base.next_logits[prompt, t - 1]
    p, at = logits.softmax(dim=-1).topk(5)
    names = bench.task.token_names()
    return "<br>".join(f"{names[int(i)]} {100 * float(x):.1f} %" for x, i in zip(p, at, strict=True))


def of_run(reach: Result, operation: str) -> Figure:
    """The same bars from a run, for a checkpoint of the user's."""
    rows = reach["steps"]
    rows = rows[rows["operation"] == operation]
    if rows.empty:
        return drawn([], f"{OPERATIONS[operation].capitalize()} was not run on this model", "Choose another h′.",
                     xaxis=axis("Step t"), yaxis=axis("Answers that flip (%)"))  # fmt: skip
    low, high = rows["flip"].min(), rows["flip"].max()
    trace = styled(
        "yours_bars", type="bar", x=rows["step"], y=rows["flip"], name="answers that flip",
        error_y={"type": "data", "symmetric": False, "array": rows["high"] - rows["flip"],
                 "arrayminus": rows["flip"] - rows["low"]},
        hovertemplate="step %{x}: %{y:.1f} %<extra></extra>",
    )  # fmt: skip
    return drawn(
        [trace], f"{low:.0f} to {high:.0f} % of answers flip, step by step",
        f"h′: {OPERATIONS[operation]}; {int(rows['prompts'].iloc[0])} prompts, 95 % intervals over prompts.",
        xaxis=axis("Step t", dtick=1), yaxis=axis("Answers that flip (%)", rangemode="tozero"), showlegend=False,
    )  # fmt: skip


@study.view("Swap bench", tab="Swap", selects={"x": "step"},
            equation=r"y_{\mathrm{cf}} = p'_{t+1} \circ g_{t+2} \circ \dots \circ g_K")  # fmt: skip
def swap_bench(
    subject: Subject, bench: Bench | None, acted: Acted | None, operation: str, prompt: int, step: int
) -> Figure:
    """Exact counterfactual answers beside the model's, by step and by how far the donor's value is away."""
    if bench is None or acted is None:
        return nothing_live(subject)
    T, n = bench.task.latents, len(bench.words)
    donors = torch.from_numpy(acted.donors)
    hits = np.zeros((T, n))
    apart = np.zeros((T, n), dtype=int)
    for t in range(1, T + 1):
        wanted = interchange_answers(bench.task, bench.words, donors, t)
        hits[t - 1] = (acted.outcome.predicted[t - 1, :, 0] == wanted).numpy()
        apart[t - 1] = transpositions(bench, bench.labels[:, t - 1], bench.labels[donors, t - 1])
    kinds = range(4)
    z = [
        [float(100 * hits[t][apart[t] == k].mean()) if (apart[t] == k).any() else None for t in range(T)] for k in kinds
    ]
    count = [[int((apart[t] == k).sum()) for t in range(T)] for k in kinds]
    step = min(step, T)
    wanted = interchange_answers(bench.task, bench.words, donors, step)[prompt]
    got = int(acted.outcome.predicted[step - 1, prompt, 0])
    names = bench.task.token_names()
    share = float(hits.mean())
    sends = operation in SENDS
    what = f"{names[got]}, and exact algebra says {names[int(wanted)]}" if sends else f"{names[got]}"
    found = (
        f"{percent(share)} of answers are the exact counterfactual’s" if sends
        else f"{OPERATIONS[operation].capitalize()} carries no value over: {percent(share)} fit the donor’s"
    )  # fmt: skip
    trace = {
        "type": "heatmap", "x": list(range(1, T + 1)), "y": ["same value", "1 exchange", "2 exchanges", "3 exchanges"],
        "z": z, "customdata": count, "zmin": 0, "zmax": 100, "xgap": 2, "ygap": 2,
        "colorbar": {"title": {"text": "Exact (%)", "side": "right"}, "thickness": 10},
        "hovertemplate": "step %{x}, %{y}: %{z:.0f} % of %{customdata} prompts<extra></extra>",
    }  # fmt: skip
    return drawn(
        [trace], found,
        f"Prompt {prompt} ({bench.prompt_text(prompt)}) with step {step} of prompt {acted.donors[prompt]}: the model "
        f"says {what}. {n} prompts.",
        xaxis=axis("Step t that is swapped", dtick=1), yaxis=axis("Distance of the donor’s value", type="category"),
        margin={"l": 110, "r": 20},
    )  # fmt: skip


def transpositions(bench: Bench, a: torch.Tensor, b: torch.Tensor) -> np.ndarray:
    """(n,) how many exchanges of two places lead from one permutation to another: n minus cycles of a⁻¹ ∘ b."""
    group = bench.task.group
    between = group.compose(group.inverse[a], b)
    return np.array([len(name) - cycles(name) for name in (group.names[int(i)] for i in between)])


def cycles(name: str) -> int:
    left, count = set(range(len(name))), 0
    while left:
        count += 1
        at = next(iter(left))
        while at in left:
            left.remove(at)
            at = int(name[at]) - 1
    return count


@study.view("In numbers", tab="Numbers")
def numbers(subject: Subject, bench: Bench | None, acted: Acted | None, operation: str, step: int) -> list[Stat]:
    """How good the model is, and what the intervention does."""
    stats = [Stat("latents", subject.latents)]
    if subject.kept is not None:
        last = subject.kept.log[-1]
        stats += [
            Stat("held-out words right, in training", round(100 * last.accuracy, 1), "%"),
            Stat("chance", round(100 / subject.kept.task.group.order, 1), "%"),
            Stat("training", round(sum(s.seconds for s in subject.kept.log)), "s of one core"),
            Stat("stages left by their limit", sum(not s.left for s in subject.kept.log)),
        ]  # fmt: skip
    if bench is not None and acted is not None:
        i = min(step, bench.task.latents) - 1
        outcome = acted.outcome
        stats += [
            Stat("right here", round(100 * float(bench.base.correct.double().mean()), 1), "%"),
            Stat(f"flip at step {i + 1}", round(100 * float(outcome.flipped[i].double().mean()), 1), "%"),
            Stat(f"Δ log p at step {i + 1}", round(float((outcome.log_p - outcome.base_log_p)[i].mean()), 2), "nats"),
            Stat(f"KL at step {i + 1}", round(float(outcome.kl[i].mean()), 2), "nats"),
        ]
        if float(bench.base.correct.double().mean()) < 2 / bench.task.group.order:
            stats.append(Stat("warning", "the model does not solve the task: flips are not interpretable"))
    return stats
