"""What the paper claims, as tests that can fail, on models whose causal graph is known.

Numbers of the paper are of GPT-2, Llama and Qwen on GSM8K, CommonsenseQA and StrategyQA; what is judged here is whether
the measurements behind them say what they seem to say.
"""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import numpy as np

from workbench.studies.language.latent_cot.controls import study
from workbench.study import Above, Evidence, NeedsScale, Result, Within

SEEDS = ("chain", "chain-1", "chain-2")
UNUSED = "The model’s latents act on nothing, so there is no influence to speak of."


def between(row: object, value: str, low: str = "low", high: str = "high") -> tuple[float, float]:
    """The interval of a row, around its value."""
    middle = float(row[value])
    return min(float(row[low]), middle), max(float(row[high]), middle)


@study.claim(
    "1", "Steps differ: zeroing one changes predictions very unevenly over steps",
    expects=Above(5.0, "largest minus smallest flip over steps, less what chance adds", unit="%", at_least=100),
)  # fmt: skip
def uneven(reach: Result) -> Evidence:
    row = reach["spread"].set_index("operation").loc["zero"]
    steps = reach["steps"]
    own = steps[steps["operation"] == "zero"]
    note = f"Flips from {own['flip'].min():.1f} to {own['flip'].max():.1f} %; of equal flips p = {row['p']:.2g}."
    return Evidence(float(row["range"]), between(row, "range"), "prompts", int(own["prompts"].iloc[0]), note)


study.needs_scale(
    "2", "Flip rates are 0.1–0.2 on GSM8K and below 0.1 on CommonsenseQA, Coconut’s above CODI’s",
    reason="The rates are of trained GPT-2, Llama and Qwen checkpoints; open one with its questions to measure them.",
    command="assay run latent-cot --set model=FOLDER --set questions=test.jsonl --preset full",
)  # fmt: skip


@study.claim(
    "3a", "The solve rate rises until the last latent",
    expects=Above(5.0, "prompts that the last latent solves", unit="%", at_least=100),
)  # fmt: skip
def rises_until_the_end(answers: Result) -> Evidence:
    row = answers["last"].iloc[0]
    rows = answers["answers"]
    note = f"Right after T − 1 latents {rows['accuracy'].iloc[-2]:.1f} %, after T {rows['accuracy'].iloc[-1]:.1f} %."
    return Evidence(float(row["gain"]), between(row, "gain"), "prompts", int(row["prompts"]), note)


study.needs_scale(
    "3b", "On CommonsenseQA the solve rate saturates within two or three steps",
    reason="It takes a model that was trained on CommonsenseQA, which is not here.",
)  # fmt: skip


@study.claim(
    "4a", "Latent steps are less local than an explicit chain of thought",
    expects=Above(0.05, "locality of words minus locality of latents, same estimand", at_least=100),
)  # fmt: skip
def less_local(influences: Result) -> Evidence | NeedsScale:
    rows = influences["local_gap"]
    if rows.empty:
        return NeedsScale(
            "Only the six-letter chain has an explicit twin of the same task; choose it, or a seed of it."
        )
    row = rows.set_index("effect").loc["total"]
    direct = rows.set_index("effect")["gap"].get("direct", np.nan)
    return Evidence(
        float(row["gap"]), between(row, "gap"), "prompts", int(row["prompts"]), f"By direct effects {direct:+.3f}."
    )  # fmt: skip


@study.claim(
    "4b", "Information jumps over steps: influence between steps that are not neighbours is direct",
    expects=Above(0.1, "share of direct influence that skips a step", at_least=100),
)  # fmt: skip
def jumps(influences: Result) -> Evidence | NeedsScale:
    rows = influences["structure"]
    rows = rows[rows["model"] == "this"].set_index("effect")
    if "direct" not in rows.index:
        return NeedsScale(UNUSED)
    row, total = rows.loc["direct"], rows.loc["total"]
    low, high = 1 - float(row["high"]), 1 - float(row["low"])
    far = float(row["far"])
    note = (
        f"Of total influence {total['far']:.2f} skips a step, where equal influence gives {1 - 2 / row['latents']:.2f}."
    )
    return Evidence(far, (min(low, far), max(high, far)), "prompts", int(row["prompts"]), note)


@study.claim(
    "4c", "Direct effects recover the planted graph",
    expects=Above(0.949, "F1 of edges above the threshold", at_least=100),
)  # fmt: skip
def recovered(influences: Result) -> Evidence | NeedsScale:
    rows = influences["structure"]
    rows = rows[rows["model"] == "this"].set_index("effect")
    if "direct" not in rows.index:
        return NeedsScale(UNUSED)
    if float(rows["f1"].max()) == 0.0:
        return NeedsScale("No graph is planted in this model.")
    note = f"Total effects: {rows.loc['total', 'f1']:.2f}."
    return Evidence.exact(float(rows.loc["direct", "f1"]), note, n=int(rows.loc["direct", "prompts"]))


@study.claim(
    "5", "The representation commits later than the output",
    expects=Above(0.2, "decision of a probe minus decision of the output, selector first", unit="steps", at_least=20),
)  # fmt: skip
def commits_later(commit: Result) -> Evidence | NeedsScale:
    rows = commit["gaps"].set_index(["model", "readout"])
    if "early" not in rows.index.get_level_values("model"):
        return NeedsScale("No model with the selector first comes along.")
    row, null = rows.loc[("early", "probe")], rows.loc[("early", "random")]
    note = f"Random directions show a gap of {null['gap']:+.1f} steps, by their scale alone."
    return Evidence(float(row["gap"]), between(row, "gap"), "prompts", int(row["prompts"]), note)


@study.claim(
    "5b", "Where both answers are needed, both are held to the end",
    expects=Above(90.0, "prompts whose worse product a probe reads right at the last step, selector last", unit="%"),
)  # fmt: skip
def both_held(commit: Result) -> Evidence:
    rows = commit["steps"]
    own = rows[rows["readout"] == "probe"]
    ends_at = {str(model): group.sort_values("step").iloc[-1] for model, group in own.groupby("model")}
    late = ends_at["late"]
    note = f"Selector first: {ends_at['early']['worse']:.0f} %." if "early" in ends_at else ""
    ends = between(late, "worse", "worse_low", "worse_high")
    return Evidence(float(late["worse"]), ends, "prompts", int(late["prompts"]), note)


@study.claim(
    "6", "Six kinds of intervention give the same picture",
    expects=Above(0.5, "mean Kendall’s τ of flips over steps, between kinds", at_least=6),
)  # fmt: skip
def same_picture(reach: Result) -> Evidence:
    tau = reach["agreement"]["tau"].to_numpy(float)
    steps = reach["steps"]
    levels = steps.groupby("operation")["flip"].mean()
    note = f"Mean flips from {levels.min():.0f} % ({levels.idxmin()}) to {levels.max():.0f} % ({levels.idxmax()})."
    mean = float(tau.mean())
    half = 1.96 * float(tau.std(ddof=1)) / np.sqrt(len(tau)) if len(tau) > 1 else 1.0
    return Evidence(mean, (mean - half, mean + half), "pairs of kinds", len(tau), note)


@study.claim(
    "B1", "On the bench, latents are used: a swapped latent gives the exact counterfactual answer",
    expects=Above(99.0, "exact answers at the worst step, the chain", unit="%"),
)  # fmt: skip
def used(compare: Result) -> Evidence:
    row = compare["models"].set_index("model").loc["chain"]
    note = f"Right {row['accuracy']:.1f} %; zeroing flips {row['zero_flip']:.1f} %; (C − 1)/C is {100 * 23 / 24:.1f} %."
    return Evidence(
        float(row["exact"]), between(row, "exact", "exact_low", "exact_high"), "prompts", int(row["prompts"]), note
    )


@study.claim(
    "B2", "Without latents the same budget stays at chance",
    expects=Within(0.0, 8.0, "right with pause tokens, six-letter words", unit="%"),
)  # fmt: skip
def controls_fail(compare: Result) -> Evidence:
    rows = compare["models"].set_index("model")
    row = rows.loc["pause"]
    other = f" Answer at once: {rows.loc['none', 'accuracy']:.1f} %." if "none" in rows.index else ""
    note = f"Chance is {100 / 24:.1f} %.{other} Zeroing a pause flips {row['most_flip']:.0f} %."
    return Evidence(float(row["accuracy"]), between(row, "accuracy"), "prompts", int(row["prompts"]), note)


@study.claim(
    "B3", "Three trainings give the same picture",
    expects=Above(99.0, "exact answers at the worst step, least of three seeds", unit="%", at_least=3),
)  # fmt: skip
def three_seeds(compare: Result) -> Evidence:
    rows = compare["models"]
    rows = rows[rows["model"].isin(SEEDS)]
    worst = rows.loc[rows["exact"].idxmin()]
    note = f"Zeroing flips {rows['least_flip'].min():.1f} to {rows['most_flip'].max():.1f} %, over seeds and steps."
    return Evidence(float(worst["exact"]), between(worst, "exact", "exact_low", "exact_high"), "seeds", len(rows), note)
