"""What the paper claims, as tests that can fail, on a suite of small models; and what a gauge says about any of them.

Intervals are over configurations of training, never over runs: runs of one configuration are not independent.
"""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import pandas as pd

from workbench.studies.geometry.effective_rank.controls import METRICS, study
from workbench.study import Above, Below, Evidence, NeedsScale, Result, Within

CONFIGURATIONS = 12  # that a verdict needs, at least
R = "effective rank"


def of_effect(analyse: Result, name: str, note: str = "") -> Evidence | NeedsScale:
    """A quantity of the suite with its interval; what is missing where the table of runs does not hold it."""
    rows = analyse["effects"]
    rows = rows[rows["effect"] == name]
    if rows.empty:
        return NeedsScale("The table of runs has no repeats, tied runs, or pairs that differ by more than their noise.")
    row = rows.iloc[0]
    return Evidence(row["estimate"], (row["low"], row["high"]), row["over"], row["n"], note)


def estimate_of(analyse: Result, name: str) -> float:
    """The estimate of a quantity that every table of runs has."""
    rows = analyse["effects"]
    return float(rows.loc[rows["effect"] == name, "estimate"].iloc[0])


def of_metric(analyse: Result, metric: str, outcome: str) -> pd.Series:
    """The row of a metric and an outcome."""
    rows = analyse["metrics"]
    return rows[(rows["metric"] == metric) & (rows["outcome"] == outcome)].iloc[0]


def partial(analyse: Result, outcome: str) -> Evidence:
    """Partial correlation of R(W) with an outcome."""
    row = of_metric(analyse, R, outcome)
    return Evidence(
        row["partial"], (row["partial_low"], row["partial_high"]), "configurations", row["configurations"],
        f"Raw {row['raw']:.2f}; p = {row['p']:.3g}.",
    )  # fmt: skip


def gain(analyse: Result, metric: str, outcome: str) -> Evidence:
    """Incremental R² of a metric."""
    row = of_metric(analyse, metric, outcome)
    note = f"Size and training choices alone reach R² = {row['base']:.2f}."
    return Evidence(row["gain"], (row["gain_low"], row["gain_high"]), "configurations", row["configurations"], note)


@study.claim(
    "1a", "The best models often have a high effective rank",
    expects=Below(0.0, "Spearman’s ρ of R(W) and loss", at_least=CONFIGURATIONS), printed=-0.699,
)  # fmt: skip
def high_rank_is_common(analyse: Result) -> Evidence | NeedsScale:
    return of_effect(analyse, "raw correlation")


@study.claim(
    "1b", "The trend has counter-examples both ways",
    expects=Within(0.1, 0.9, "share of pairs of one size in which the higher rank has the higher loss",
                   at_least=CONFIGURATIONS),
)  # fmt: skip
def counter_examples(analyse: Result) -> Evidence | NeedsScale:
    return of_effect(analyse, "discordant pairs", "Pairs that differ by more than twice the noise of seeds in both.")


@study.claim(
    "2a", "A low rank does not cause late degradation",
    expects=Above(0.0, "long runs of low rank that do not degrade", at_least=4),
)  # fmt: skip
def low_rank_without_degradation(analyse: Result) -> Evidence | NeedsScale:
    runs = analyse["long"]
    low = runs[runs["low"]]
    if low.empty:
        return NeedsScale(f"None of {len(runs)} long runs ends with a low rank, so none can be a counter-example.")
    note = (
        f"{len(low)} of {len(runs)} long runs end below the middle rank of their size, {int(low['degraded'].sum())} of "
        "them degrade. A counter-example refutes that a low rank is enough, and no more."
    )
    return Evidence.exact(int((~low["degraded"]).sum()), note, n=len(runs))


study.needs_scale(
    "2b", "Pythia-14M degrades late with an abrupt fall of rank, a matched OLMo-14M does not",
    reason="Needs checkpoints over the training of both; the bench’s own long runs are toys.",
)  # fmt: skip


@study.claim(
    "3a", "A larger batch gives a higher rank",
    expects=Above(0.0, "R at the largest batch less that at the smallest", unit="% of d", at_least=CONFIGURATIONS),
)  # fmt: skip
def batch_raises_rank(analyse: Result) -> Evidence | NeedsScale:
    return of_effect(analyse, "batch on rank", "At a fixed number of tokens: a larger batch takes fewer steps.")


@study.claim(
    "3b", "Loss is U-shaped in batch size",
    expects=Above(0.0, "least of the two rises from the middle batch", unit="nats", at_least=CONFIGURATIONS),
)  # fmt: skip
def loss_is_u_shaped(analyse: Result) -> Evidence:
    rows = analyse["effects"]
    ends = rows[rows["effect"].isin(["batch below", "batch above"])]
    below, above = (estimate_of(analyse, name) for name in ("batch below", "batch above"))
    return Evidence(
        min(below, above), (float(ends["low"].min()), float(ends["high"].min())), "configurations", ends["n"].min(),
        f"From the middle batch, loss changes by {below:+.2f} below and {above:+.2f} above.",
    )  # fmt: skip


@study.claim(
    "3c", "Stronger weight decay keeps rank",
    expects=Above(0.0, "R at the strongest decay less that at none", unit="% of d", at_least=CONFIGURATIONS),
)  # fmt: skip
def decay_keeps_rank(analyse: Result) -> Evidence | NeedsScale:
    loss = estimate_of(analyse, "decay on loss")
    return of_effect(analyse, "decay on rank", f"Loss changes by {loss:+.3f} nats.")


@study.claim(
    "3d", "Weaker annealing keeps rank",
    expects=Above(0.0, "R at a last rate of a tenth less that at 0", unit="% of d", at_least=CONFIGURATIONS),
)  # fmt: skip
def annealing_costs_rank(analyse: Result) -> Evidence | NeedsScale:
    return of_effect(analyse, "final rate on rank")


@study.claim(
    "3e", "Weaker annealing gives a worse loss",
    expects=Above(0.0, "loss at a last rate of a tenth less that at 0", unit="nats", at_least=CONFIGURATIONS),
)  # fmt: skip
def annealing_helps_loss(analyse: Result) -> Evidence | NeedsScale:
    return of_effect(analyse, "final rate on loss")


@study.claim(
    "4a", "With training choices held fixed, rank and loss are hardly related",
    expects=Within(-0.3, 0.3, "partial rank correlation", at_least=CONFIGURATIONS), printed=-0.130,
)  # fmt: skip
def hardly_related(analyse: Result) -> Evidence:
    return partial(analyse, "loss prose")


@study.claim(
    "4b", "Rank adds nothing to a prediction of loss from training choices",
    expects=Below(0.02, "incremental R²", at_least=CONFIGURATIONS), printed=-0.003,
)  # fmt: skip
def adds_nothing(analyse: Result) -> Evidence:
    return gain(analyse, R, "loss prose")


@study.claim(
    "5a", "For quantised models a small signal of rank remains",
    expects=Below(0.0, "partial rank correlation with the loss after GPTQ", at_least=CONFIGURATIONS), printed=-0.210,
)  # fmt: skip
def quantised_signal(analyse: Result) -> Evidence:
    return partial(analyse, "loss gptq 2")


@study.claim(
    "5b", "Loss on known text predicts fine-tuned loss better than rank does",
    expects=Above(0.0, "incremental R² of loss less that of R(W)", at_least=CONFIGURATIONS),
)  # fmt: skip
def loss_predicts_better(analyse: Result) -> Evidence:
    loss, rank = (gain(analyse, name, "loss code tuned") for name in ("loss prose", R))
    interval = (loss.interval[0] - rank.interval[1], loss.interval[1] - rank.interval[0])
    note = f"{loss.estimate:.3f} and {rank.estimate:.3f}; the interval takes the far ends of both, so it is wide."
    return Evidence(loss.estimate - rank.estimate, interval, loss.over, loss.n, note)


@study.claim(
    "6a", "Metrics of geometry agree with each other",
    expects=Above(0.5, "median |ρ| among rank, cosine, isotropy and IsoScore", at_least=CONFIGURATIONS),
)  # fmt: skip
def metrics_agree(analyse: Result) -> Evidence | NeedsScale:
    return of_effect(analyse, "agreement")


@study.claim(
    "6b", "No metric predicts downstream loss beyond training choices",
    expects=Below(0.05, "largest incremental R² of any metric", at_least=CONFIGURATIONS), printed=0.071,
)  # fmt: skip
def none_predicts(analyse: Result) -> Evidence:
    found = {name: gain(analyse, name, "loss code tuned") for name in METRICS}
    best = max(found, key=lambda name: found[name].estimate)
    own = found[best]
    note = f"Of {len(found)} metrics, {METRICS[best].removesuffix(', % of d')} gains most; {own.note}"
    return Evidence(own.estimate, own.interval, own.over, own.n, note)


@study.claim(
    "7a", "Tying the embeddings raises rank",
    expects=Above(0.0, "R tied less R untied", unit="% of d", at_least=6), printed=7.5,
)  # fmt: skip
def tying_raises_rank(analyse: Result) -> Evidence | NeedsScale:
    return of_effect(analyse, "tying on rank")


@study.claim(
    "7b", "Tying the embeddings worsens loss",
    expects=Above(0.0, "loss tied less loss untied", unit="nats", at_least=6), printed=0.10,
)  # fmt: skip
def tying_worsens_loss(analyse: Result) -> Evidence | NeedsScale:
    return of_effect(analyse, "tying on loss")


@study.claim(
    "G", "Rank alone cannot be a cause: the same model has almost any rank",
    expects=Above(10.0, "largest over smallest rank at logits that move by less than 10⁻⁴", at_least=3),
)  # fmt: skip
def any_rank(interventions: Result) -> Evidence:
    points = interventions["points"]
    still = points[(points["change"] == "gauge") & (points["moved"] < 1e-4)]
    if still.empty:
        return Evidence.exact(1.0, "No gauge left the logits still.")
    note = f"Loss stays within {float(still['loss'].max() - still['loss'].min()):.1e} nats."
    return Evidence.exact(float(still["rank"].max() / still["rank"].min()), note, n=len(still))


@study.claim(
    "S", "The statistics find a cause where there is one, and none where there is none",
    expects=Above(0.7, "share found less share imagined", at_least=20),
)  # fmt: skip
def statistics_tell(validate: Result) -> Evidence | NeedsScale:
    rows = validate["tables"]
    found, imagined = (
        (rows.loc[rows["world"] == world, "p"] <= 0.05).astype(float) for world in ("cause", "common cause")
    )
    if len(found) < 2 or len(imagined) < 2:
        return NeedsScale("Needs several tables of each world.", "assay run effective-rank validate --preset standard")
    estimate = float(found.mean() - imagined.mean())
    # Two shares of a few tables: an Agresti–Caffo interval, which never has zero width.
    sides = [(float(s.sum()) + 1, len(s) + 2) for s in (found, imagined)]
    centre = sides[0][0] / sides[0][1] - sides[1][0] / sides[1][1]
    half = 1.96 * sum(k / n * (1 - k / n) / n for k, n in sides) ** 0.5
    note = f"Partial correlation: found in {100 * found.mean():.0f} %, imagined in {100 * imagined.mean():.0f} %."
    low, high = min(centre - half, estimate), max(min(1.0, centre + half), estimate)
    return Evidence(estimate, (low, high), "tables", min(len(found), len(imagined)), note)
