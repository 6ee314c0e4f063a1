"""What the paper claims, as tests that can fail.

Accuracies are compared over test recordings, never over windows: the windows of a recording overlap. Models are
paired by recording and seed. What is chosen (the best β, the best baseline) is chosen on validation recordings.
"""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false, reportOptionalSubscript=false
# pyright: reportAssignmentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import numpy as np
import pandas as pd

from assay.dynamics import (
    PAPER,
    SYMMETRIC,
    Accounting,
    LayerOperations,
    OperationCounts,
    Spectrum,
    lif_response,
    spectral_mass_below,
    theoretical_energy,
)
from assay.statistics import cluster_bootstrap, cluster_mean, paired_difference
from workbench.studies.dynamics.lif_frequency_matching.controls import Matching, Spectra, study
from workbench.studies.dynamics.lif_frequency_matching.experiments import SPIKING
from workbench.study import Above, Below, Evidence, NeedsScale, Result

RECORDINGS = 20  # test recordings that a verdict needs, at least
LEARNED = 0.5  # share of the loss of guessing that a net must get below before it is compared
FULL = "assay run lif-frequency-matching {} --preset full"


def draws() -> np.random.Generator:
    """The stream of every interval here: the same result always gets the same interval."""
    return np.random.default_rng(2605_09983)


def windows(rows: pd.DataFrame, by: str, part: str = "test") -> pd.DataFrame:
    """Accuracy of each recording (rows, mean over seeds) under each value of a column, with its windows."""
    rows = rows[rows.part == part]
    counts = rows.groupby(["recording", by], as_index=False)[["correct", "windows"]].sum()
    return counts.assign(accuracy=100 * counts.correct / counts.windows).pivot(
        index="recording", columns=by, values="accuracy"
    )


def weights(rows: pd.DataFrame, part: str = "test") -> np.ndarray:
    """Windows of each recording, in the order of `windows`."""
    rows = rows[rows.part == part]
    return rows.groupby("recording").windows.max().to_numpy()


def mean_over_recordings(values: np.ndarray, size: np.ndarray, note: str = "") -> Evidence:
    """The mean over windows of a value that each recording has once, with its interval over recordings."""
    found = cluster_mean(np.repeat(values, size), np.repeat(np.arange(len(values)), size), rng=draws())
    return Evidence(
        float(found.estimate), (float(found.low), float(found.high)), "recordings", len(values), note or found.note
    )


def paired(first: pd.Series, second: pd.Series, size: np.ndarray, said: str) -> Evidence:
    """How much the first scores above the second on the same recordings, in points."""
    which = np.repeat(np.arange(len(first)), size)
    found = paired_difference(np.repeat(first.to_numpy(), size), np.repeat(second.to_numpy(), size), which, rng=draws())
    interval = found.interval
    note = f"{said} A true difference of {found.detectable:.1f} points would be found four times in five."
    low, high = sorted((float(interval.low), float(interval.high)))
    estimate = float(interval.estimate)
    return Evidence(estimate, (min(low, estimate), max(high, estimate)), "recordings", len(first), note)


def untrained(losses: pd.Series, chance: float) -> NeedsScale | None:
    """Why nets with these losses (nats) cannot be compared yet; None when all have learned something."""
    worst = float(losses.max())
    if worst <= LEARNED * chance:
        return None
    return NeedsScale(
        f"A net has a loss of {worst:.2f} nats; nets are compared once below {LEARNED * chance:.2f}, half of guessing.",
        "assay run lif-frequency-matching --preset full",
    )


@study.claim(
    "1a", "Below threshold the membrane is a first-order low-pass.",
    expects=Below(1e-6, "largest error of the measured gain", at_least=8),
)  # fmt: skip
def low_pass(gain: Result) -> Evidence:
    tones = gain["tones"]
    still = tones[tones.reset == "none"]
    return Evidence.exact(float((still.membrane - still.analytic).abs().max()), f"{len(still)} tones.", n=len(still))


@study.claim(
    "1b", "Its gain is 1 at rest and falls with frequency and with β.",
    expects=Below(1e-12, "largest violation", at_least=10),
)  # fmt: skip
def inverse_bandwidth(matching: Matching) -> Evidence:
    omega = np.linspace(0, np.pi, 200)
    response = lif_response(omega[:, None], matching.betas[None, :])
    rises = max(float(np.diff(response, axis=0).max()), float(np.diff(response, axis=1).max()))
    outside = max(float(response.max()) - 1, float(np.abs(response[0] - 1).max()))
    note = f"200 frequencies at each of {len(matching.betas)} candidate β."
    return Evidence.exact(max(rises, outside, 0.0), note, n=len(matching.betas))


@study.claim(
    2, "Class information sits at low to middle frequencies.",
    expects=Above(0, "share below a quarter of the rate, beyond shuffled labels", at_least=RECORDINGS),
)  # fmt: skip
def low_to_middle(spectrum: Spectrum, spectra: Spectra) -> Evidence:
    limit = float(spectrum.frequency_hz[-1]) / 2

    def share(drawn: np.ndarray) -> np.ndarray:
        return spectral_mass_below(drawn, spectrum.frequency_hz, limit)

    found, null = float(share(spectrum.di_norm)), share(spectra.shuffled)
    difference = share(spectra.resampled) - null
    estimate = found - float(np.median(null))
    low, high = (float(q) for q in np.percentile(difference, [2.5, 97.5]))
    usual = 100 * float(np.median(null))
    note = f"{100 * found:.0f} % of it lies below {limit:.1f} Hz, {usual:.0f} % with shuffled labels."
    return Evidence(estimate, (min(low, estimate), max(high, estimate)), "recordings", spectrum.recordings, note)


@study.claim(
    "3a", "β† is found from the data’s spectrum.",
    expects=Above(1, "distance from shuffled labels, in half-widths of their 95 % range", at_least=RECORDINGS),
)  # fmt: skip
def from_the_spectrum(matching: Matching, spectrum: Spectrum) -> Evidence:
    low, middle, high = np.percentile(matching.shuffled, [2.5, 50, 97.5])
    half = max((high - low) / 2, float(np.diff(matching.betas).min()))
    estimate = abs(matching.threshold - middle) / half
    drawn = np.percentile(np.abs(matching.resampled - middle) / half, [2.5, 97.5])
    note = f"β† is {matching.threshold:.2f}; shuffled labels give {low:.2f} to {high:.2f}, "
    note += f"a flat spectrum {matching.flat:.2f}."
    return Evidence(
        float(estimate), (min(float(drawn[0]), estimate), max(float(drawn[1]), estimate)), "recordings",
        spectrum.recordings, note,
    )  # fmt: skip


def lowest(sweep: Result) -> pd.Series:
    """The loss of the β that learned most; a slow β that learns nothing is what the claims are about."""
    return sweep["runs"].groupby("beta").loss.mean().nsmallest(1)


@study.claim(
    "3b", "Accuracy falls once β is past β†.",
    expects=Above(0, "accuracy below β† less accuracy past it", unit="points", at_least=RECORDINGS),
)  # fmt: skip
def falls_beyond(sweep: Result, matching: Matching, chance: float) -> Evidence | NeedsScale:
    if reason := untrained(lowest(sweep), chance):
        return reason
    table = windows(sweep["recordings"], "beta")
    inside = [beta for beta in table if 0 < beta < matching.threshold]
    beyond = [beta for beta in table if beta >= matching.threshold + 0.1]
    if not inside or not beyond:
        return NeedsScale(
            f"No β was trained on both sides of β† = {matching.threshold:.2f} and 0.1 beyond.", FULL.format("sweep")
        )
    size = weights(sweep["recordings"])
    said = f"β {', '.join(f'{b:g}' for b in inside)} against {', '.join(f'{b:g}' for b in beyond)}."
    return paired(table[inside].mean(axis=1), table[beyond].mean(axis=1), size, said)


@study.claim(
    "3c", "Accuracy is best at a β* below β†.",
    expects=Above(0, "β† less β*", at_least=RECORDINGS // 2),
)  # fmt: skip
def best_below(sweep: Result, matching: Matching, chance: float) -> Evidence | NeedsScale:
    if reason := untrained(lowest(sweep), chance):
        return reason
    rows = sweep["recordings"]
    table, size = windows(rows, "beta", "validation"), weights(rows, "validation")
    values, betas = table.to_numpy(), table.columns.to_numpy(dtype=float)

    def best(drawn: np.ndarray) -> np.ndarray:
        totals = drawn * size
        return betas[np.argmax((totals @ values) / totals.sum(axis=1, keepdims=True), axis=1)]

    found = cluster_bootstrap(best, np.arange(len(values)), rng=draws(), method="percentile")
    tails = np.percentile(matching.resampled, [2.5, 97.5])
    star = float(found.estimate)
    low, high = float(tails[0] - found.high), float(tails[1] - found.low)
    estimate = matching.threshold - star
    note = f"β* is {star:g}, chosen on {len(values)} validation recordings among {len(betas)} β; "
    note += f"β† is {matching.threshold:.2f}."
    return Evidence(estimate, (min(low, estimate), max(high, estimate)), "recordings", len(values), note)


@study.claim(
    "3d", "The matching score goes with accuracy.",
    expects=Above(0.7, "correlation of score and accuracy over β", at_least=RECORDINGS),
)  # fmt: skip
def score_goes_with_accuracy(sweep: Result, spectrum: Spectrum, chance: float) -> Evidence | NeedsScale:
    if reason := untrained(lowest(sweep), chance):
        return reason
    table, size = windows(sweep["recordings"], "beta"), weights(sweep["recordings"])
    betas = table.columns.to_numpy(dtype=float)
    if len(betas) < 4:
        return NeedsScale(f"A correlation over {len(betas)} β says nothing; 4 are needed.", FULL.format("sweep"))
    score = spectrum.di_norm @ lif_response(spectrum.omega[:, None], betas[None, :])
    centred = (score - score.mean()) / score.std()
    values = table.to_numpy()

    def correlation(drawn: np.ndarray) -> np.ndarray:
        totals = drawn * size
        accuracy = (totals @ values) / totals.sum(axis=1, keepdims=True)
        accuracy = accuracy - accuracy.mean(axis=1, keepdims=True)
        spread = np.sqrt((accuracy**2).mean(axis=1))
        return (accuracy @ centred) / len(betas) / np.where(spread > 0, spread, 1)

    found = cluster_bootstrap(correlation, np.arange(len(values)), rng=draws(), method="percentile")
    return Evidence(float(found.estimate), found.around, "recordings", len(values), f"Over {len(betas)} β.")


study.needs_scale(
    "4a",
    "The spiking net is 6.22 points above ANNs on average over four data sets.",
    reason="Needs AOPHand, mmFiT and Pantomime with the paper’s loaders; here there is one of the four sets.",
    command="assay run lif-frequency-matching baselines --preset full --set source=YOUR_DATA.npz",
)


def losses(baselines: Result, *models: str) -> pd.Series:
    return baselines["runs"].groupby("model").loss.mean()[list(models)]


def compared(baselines: Result, chance: float, first: str, second: str, said: str) -> Evidence | NeedsScale:
    """How much a model scores above another on the same recordings, in points."""
    if reason := untrained(losses(baselines, first, second), chance):
        return reason
    rows = baselines["recordings"]
    table = windows(rows, "model")
    return paired(table[first], table[second], weights(rows), said)


@study.claim(
    "4b", "On the same frames the spiking net beats the best net without spikes.",
    expects=Above(0, "spiking net less the best baseline", unit="points", at_least=RECORDINGS),
    printed=6.22,
)  # fmt: skip
def beats_anns(baselines: Result, chance: float) -> Evidence | NeedsScale:
    validation = baselines["runs"].groupby("model").validation.mean().drop(SPIKING)
    best = str(validation.idxmax())
    said = f"The best of {len(validation)} on validation recordings is “{best}”."
    return compared(baselines, chance, SPIKING, best, said)


def counts_of(model: str, rows: pd.DataFrame) -> OperationCounts:
    """The operations of one model and seed, from its rows."""
    layers = (LayerOperations(r.layer, r.kind, r.dense, r.active, r.rate, r.state_words) for r in rows.itertuples())
    return OperationCounts(tuple(layers), model == SPIKING, 1)


def energies(rows: pd.DataFrame, accounting: Accounting) -> pd.DataFrame:
    """Energy of a window in µJ, a row a model and seed."""
    found = []
    for (model, seed), part in rows.groupby(["model", "seed"], sort=False):
        energy = theoretical_energy(counts_of(model, part), accounting)
        found.append({"model": model, "seed": seed, "uj": energy.total_uj})
    return pd.DataFrame(found)


def energy_ratio(baselines: Result, chance: float, accounting: Accounting) -> Evidence | NeedsScale:
    """Energy of the GRU over that of the spiking net, seed by seed."""
    if reason := untrained(losses(baselines, SPIKING, "GRU"), chance):
        return reason
    table = energies(baselines["operations"], accounting).pivot(index="seed", columns="model", values="uj")
    ratio = (table["GRU"] / table[SPIKING]).to_numpy()
    note = f"{table['GRU'].mean():.3g} µJ against {table[SPIKING].mean():.3g} µJ a window."
    if len(ratio) < 2:
        return Evidence(float(ratio[0]), (float(ratio[0]), float(ratio[0])), "seeds", 1, note)
    found = cluster_mean(ratio, np.arange(len(ratio)), rng=draws())
    return Evidence(float(found.estimate), found.around, "seeds", len(ratio), note)


@study.claim(
    "5a", "The spiking net needs 3.64 times less energy than the next best, a recurrent net, as the paper counts.",
    expects=Above(3.64, "energy of the GRU over the spiking net’s", unit="×", at_least=3),
    printed=3.64,
)  # fmt: skip
def energy_as_the_paper_counts(baselines: Result, chance: float) -> Evidence | NeedsScale:
    return energy_ratio(baselines, chance, PAPER)


@study.claim(
    "5b", "It needs less energy when the same rule holds for both.",
    expects=Above(1, "energy of the GRU over the spiking net’s", unit="×", at_least=3),
)  # fmt: skip
def energy_by_one_rule(baselines: Result, chance: float) -> Evidence | NeedsScale:
    return energy_ratio(baselines, chance, SYMMETRIC)


@study.claim(
    "6a", "An explicit low-pass in front of an ANN helps.",
    expects=Above(0, "low-pass + ANN less ANN per frame", unit="points", at_least=RECORDINGS),
)  # fmt: skip
def low_pass_helps(baselines: Result, chance: float) -> Evidence | NeedsScale:
    return against_low_pass(baselines, chance, "Low-pass + ANN", "ANN per frame")


@study.claim(
    "6b", "It stays behind the spiking net.",
    expects=Above(0, "spiking net less low-pass + ANN", unit="points", at_least=RECORDINGS),
)  # fmt: skip
def low_pass_stays_behind(baselines: Result, chance: float) -> Evidence | NeedsScale:
    return against_low_pass(baselines, chance, SPIKING, "Low-pass + ANN")


def against_low_pass(baselines: Result, chance: float, first: str, second: str) -> Evidence | NeedsScale:
    if "Low-pass + ANN" not in set(baselines["runs"].model):
        return NeedsScale("This β has no cut-off to match; take one above 0.172.")
    return compared(baselines, chance, first, second, "Butterworth of order 4 at the neuron’s cut-off.")


@study.claim(
    "6c", "More time steps help.",
    expects=Above(0, "all frames less a quarter of them", unit="points", at_least=RECORDINGS),
)  # fmt: skip
def more_steps_help(lengths: Result, chance: float) -> Evidence | NeedsScale:
    if reason := untrained(lengths["runs"].groupby("frames").loss.mean().nsmallest(1), chance):
        return reason
    table, size = windows(lengths["recordings"], "frames"), weights(lengths["recordings"])
    shortest, longest = min(table), max(table)
    return paired(table[longest], table[shortest], size, f"{longest} frames against {shortest}.")


@study.claim(
    "6d", "Their help saturates.",
    expects=Above(0, "gain of the first doubling less that of the second", unit="points", at_least=RECORDINGS),
)  # fmt: skip
def steps_saturate(lengths: Result, chance: float) -> Evidence | NeedsScale:
    if reason := untrained(lengths["runs"].groupby("frames").loss.mean().nsmallest(1), chance):
        return reason
    table, size = windows(lengths["recordings"], "frames"), weights(lengths["recordings"])
    if table.shape[1] < 3:
        return NeedsScale("The windows are too short to be halved twice.")
    shortest, middle, longest = sorted(table)
    bend = 2 * table[middle] - table[shortest] - table[longest]
    return mean_over_recordings(bend.to_numpy(), size, f"{shortest}, {middle} and {longest} frames.")


study.needs_scale(
    7,
    "It is about four times slower than LeNet on a Jetson GPU and near parity on the Darwin3 chip.",
    reason="Needs a Jetson board and a Darwin3 chip.",
)
