"""What the paper claims, as tests that can fail on any model."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from assay.efficient import METHODS
from assay.statistics import cluster_bootstrap, cluster_mean
from workbench.studies.efficient.sinq.controls import study
from workbench.study import Above, Below, Evidence, NeedsScale, Result

SMALLEST = 1e-3  # nats a token: a gap below it is no gap to close
STANDARD = "assay run sinq --preset standard"


def gap(quality: Result, rival: str, method: str, bits: tuple[int, ...]) -> Evidence | NeedsScale:
    """1 − (gap of a method) / (gap of its rival), gaps to the float model summed over bits, over blocks of text."""
    rows = quality["units"]
    rows = rows[rows["bits"].isin(bits).to_numpy() & rows["method"].isin([rival, method]).to_numpy()]
    group = 64 if 64 in rows["group"].tolist() else (int(rows["group"].iloc[0]) if len(rows) else 64)
    rows = rows[(rows["group"] == group).to_numpy()].assign(gap=lambda r: r["value"] - r["floating"])
    wide = rows.pivot_table(index=["unit", "block"], columns="method", values="gap", aggfunc="sum").reset_index()
    if wide.empty or rival not in wide or method not in wide:
        return NeedsScale(
            f"Needs {METHODS[rival]} and {METHODS[method]} at {' and '.join(map(str, bits))} bits.", STANDARD
        )
    a, b, blocks = (wide[name].to_numpy() for name in (method, rival, "block"))
    again = str(quality["text"]["again"].iloc[0])
    if float(b.mean()) < SMALLEST and quality["methods"]["measure"].iloc[0] == "perplexity":
        why = f"; its weights were {again} codes before" if again else ""
        return NeedsScale(
            f"{METHODS[rival]} loses {1000 * b.mean():.2f} thousandths of a nat here{why}: no gap to close."
        )
    if len(np.unique(blocks)) < 2:
        return NeedsScale("Needs at least two blocks of text.", STANDARD)

    def closed(weights: np.ndarray) -> np.ndarray:
        return 1 - (weights @ a) / np.where(np.abs(weights @ b) < 1e-9, 1e-9, weights @ b)

    found = cluster_bootstrap(closed, blocks, rng=np.random.default_rng(0), resamples=2000)
    said = "Re-quantised: weights were codes before. " if again else ""
    unit = "nats" if quality["methods"]["measure"].iloc[0] == "perplexity" else "of cosine"
    note = f"{said}Mean gap {a.mean():.3g} {unit} with {METHODS[method]}, {b.mean():.3g} with {METHODS[rival]}."
    return Evidence(float(found.estimate), found.around, "blocks", found.clusters, note)


@study.claim(
    "1a", "At 4 bits the second scale closes more than half of round-to-nearest’s gap to the float model",
    expects=Above(0.5, "share of the gap that is closed", at_least=4),
)  # fmt: skip
def four_bits(quality: Result) -> Evidence | NeedsScale:
    return gap(quality, "rtn", "sinq", (4,))


@study.claim(
    "1b", "At 3 bits the second scale closes more than half of round-to-nearest’s gap",
    expects=Above(0.5, "share of the gap that is closed", at_least=4),
)  # fmt: skip
def three_bits(quality: Result) -> Evidence | NeedsScale:
    return gap(quality, "rtn", "sinq", (3,))


@study.claim(
    "1c", "At 2 bits the second scale closes more than half of round-to-nearest’s gap",
    expects=Above(0.5, "share of the gap that is closed", at_least=4),
)  # fmt: skip
def two_bits(quality: Result) -> Evidence | NeedsScale:
    return gap(quality, "rtn", "sinq", (2,))


@study.claim(
    "1d", "SINQ closes more than half of HQQ’s gap, at 3 and 4 bits together",
    expects=Above(0.5, "share of the gap that is closed", at_least=4),
)  # fmt: skip
def beside_hqq(quality: Result) -> Evidence | NeedsScale:
    return gap(quality, "hqq", "sinq", (3, 4))


@study.claim(
    "1e", "SINQ closes more than half of the gap of Hadamard + RTN, at 3 and 4 bits together",
    expects=Above(0.5, "share of the gap that is closed", at_least=4),
)  # fmt: skip
def beside_hadamard(quality: Result) -> Evidence | NeedsScale:
    return gap(quality, "hadamard", "sinq", (3, 4))


def known(survey: Result) -> pd.DataFrame:
    rows = survey["layers"]
    return rows[rows["known"].to_numpy(bool) & rows["state"].isin(["quantised", "gated"]).to_numpy()]


def over_layers(values: np.ndarray, rows: pd.DataFrame, note: str) -> Evidence | NeedsScale:
    """A mean with its interval over blocks of the model: matrices of one block read alike inputs."""
    if len(values) < 2 or len(set(rows["number"])) < 2:
        return NeedsScale(
            "Needs activations of at least two blocks: a model that is run here, or activations.", STANDARD
        )
    found = cluster_mean(values, rows["number"].to_numpy(), rng=np.random.default_rng(0))
    return Evidence(float(found.estimate), found.around, "blocks of the model", found.clusters, note)


def sign_test(above: int, n: int) -> float:
    """Two-sided p of so many of n on one side, if both sides were alike."""
    tail = sum(math.comb(n, i) for i in range(max(above, n - above), n + 1)) / 2**n
    return min(1.0, 2 * tail)


@study.claim(
    "2a", "Column scales predict activations: columns with larger inputs get smaller scales",
    expects=Above(0.0, "mean over layers of Spearman’s ρ of −ln μ₁ and ln r.m.s. x", at_least=4),
)  # fmt: skip
def scales_predict(survey: Result) -> Evidence | NeedsScale:
    rows = known(survey)
    rho = rows["rho"].to_numpy()
    if not len(rho):
        return NeedsScale("Needs activations: a model that is run here, or an .npz of them.", STANDARD)
    above = int((rho > 0).sum())
    p = sign_test(above, len(rho))
    note = (
        f"Above 0 in {above} of {len(rho)} layers (sign test p = {p:.2g}); with columns shuffled "
        f"{rows['rho_shuffled'].mean():.2f}."
    ).replace("-0.", "−0.")
    return over_layers(rho, rows, note)


@study.claim(
    "2b", "SINQ’s scales lower the error that activations weigh, against round-to-nearest",
    expects=Below(1.0, "output error over that of round-to-nearest, geometric mean over layers", at_least=4),
)  # fmt: skip
def outputs_gain(survey: Result) -> Evidence | NeedsScale:
    rows = known(survey)
    rows = rows[((rows["rtn_output"] > 1e-9) & (rows["sinq_output"] > 0)).to_numpy()]
    if not len(rows):
        return NeedsScale("Needs activations, and weights that rounding changes.", STANDARD)
    ratio = np.log(rows["sinq_output"].to_numpy() / rows["rtn_output"].to_numpy())
    others = {name: float(np.exp(np.log(rows[f"{name}_output"] / rows["rtn_output"]).mean()))
              for name in ("oracle", "shuffled")}  # fmt: skip
    found = over_layers(
        ratio,
        rows,
        f"With scales from activations {others['oracle']:.2f}, with SINQ’s shuffled {others['shuffled']:.2f}.",
    )
    if isinstance(found, NeedsScale):
        return found
    low, high = np.exp(found.interval)
    return Evidence(float(np.exp(found.estimate)), (float(low), float(high)), found.over, found.n, found.note)


def check(checks: Result, name: str) -> Evidence:
    rows = checks["checks"]
    row = rows[(rows["check"] == name).to_numpy()].iloc[0]
    return Evidence.exact(float(row["value"]), str(row["note"]), n=int(row["cases"]))


@study.claim(
    "3a", "Scales can be absorbed without changing the float model",
    expects=Below(1e-4, "largest difference of a logit", at_least=1000),
)  # fmt: skip
def absorbed(checks: Result) -> Evidence:
    return check(checks, "absorbed")


def over_turns(values: np.ndarray, note: str) -> Evidence:
    """A median over turns, with the order statistics that hold it with 95 %."""
    ordered = np.sort(values)
    n = len(ordered)
    skip = int(max(0, np.floor((n - 1.96 * np.sqrt(n)) / 2)))
    low, high = float(ordered[skip]), float(ordered[n - 1 - skip])
    return Evidence(float(np.median(ordered)), (low, high), "turns", n, note)


@study.claim(
    "3b", "The second scale costs next to nothing when the model runs",
    expects=Below(1.15, "time of the packed product with column scales over that without", at_least=5),
)  # fmt: skip
def running_costs(times: Result) -> Evidence:
    rows = times["products"]
    own = rows[(rows["form"] == "two scales").to_numpy()]
    extra = float(times["matrix"]["extra"].iloc[0])
    note = f"Batch 1, on this machine; one multiplication a column is {extra:.2g} % of those of the product."
    return over_turns(own["ratio"].to_numpy(), note)


@study.claim(
    "3c", "Quantising takes hardly longer than round-to-nearest",
    expects=Below(1.2, "time over that of round-to-nearest", at_least=5), printed=1.1,
)  # fmt: skip
def quantising_costs(times: Result) -> Evidence:
    rows = times["quantising"]
    own = rows[(rows["method"] == "sinq").to_numpy()]
    return over_turns(own["ratio"].to_numpy(), "One matrix, on this machine’s processor; the paper’s is on a GPU.")


@study.claim(
    "3d", "Quantising is about twice as fast as HQQ’s",
    expects=Above(1.5, "time of HQQ over that of SINQ", at_least=5), printed=2.0,
)  # fmt: skip
def faster_than_hqq(times: Result) -> Evidence:
    rows = times["quantising"]
    own = rows[(rows["method"] == "hqq").to_numpy()]
    return over_turns(own["over_sinq"].to_numpy(), "One matrix, on this machine’s processor.")


@study.claim(
    "4a", "It combines with non-uniform levels: SINQ + NF loses less than NF, at 3 and 4 bits together",
    expects=Above(0.0, "share of the gap that is closed", at_least=4),
)  # fmt: skip
def with_levels(quality: Result) -> Evidence | NeedsScale:
    return gap(quality, "nf", "sinq-nf", (3, 4))


@study.claim(
    "4b", "It combines with calibration: A-SINQ loses less than AWQ, at 3 and 4 bits together",
    expects=Above(0.0, "share of the gap that is closed", at_least=4),
)  # fmt: skip
def with_calibration(quality: Result) -> Evidence | NeedsScale:
    return gap(quality, "awq", "asinq", (3, 4))


@study.claim(
    "5", "Lower imbalance goes with lower error, iteration by iteration",
    expects=Above(0.0, "mean over layers of Spearman’s ρ of imbalance and error over iterations", at_least=4),
)  # fmt: skip
def imbalance_tells(survey: Result) -> Evidence | NeedsScale:
    found = []
    for _, part in survey["steps"].groupby("layer", sort=False):
        a, b = part["imbalance"].rank().to_numpy(), part["error"].rank().to_numpy()
        if np.ptp(a) > 0 and np.ptp(b) > 0:
            found.append(float(np.corrcoef(a, b)[0, 1]))
    if len(found) < 2:
        return NeedsScale("Needs at least two layers whose imbalance changes.", STANDARD)
    values = np.array(found)
    last = survey["steps"]
    last = last[(last["iterations"] == 16).to_numpy()]["error"]
    note = f"After 16 iterations the error of weights is {last.mean():.0f} % of round-to-nearest’s, mean over layers."
    interval = cluster_mean(values, np.arange(len(values)), rng=np.random.default_rng(0))
    return Evidence(float(interval.estimate), interval.around, "layers", len(values), note)


study.needs_scale(
    "6", "Perplexity of Qwen3 and others on WikiText2 and C4 at 3 and 4 bits",
    reason="Needs these models and texts, which are on no machine without a network; a checkpoint and a text of yours "
    "are judged by claims 1a to 1e.",
    command="assay run sinq quality --set model=FOLDER --set own_text=TEXT.txt",
)  # fmt: skip
study.needs_scale(
    "7", "A-SINQ is quantised more than 4 times as fast as AWQ; 14 B parameters in 21 s, 236 B in 5 min",
    reason="Needs a GPU, and AWQ as its own library does it; here both search the same grid.",
    command="assay run sinq times --device cuda",
)  # fmt: skip
