"""What can be moved, and what is prepared from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from assay.data import InputError, LabelledSequences, RadarOptions, add_noise, open_sequences, sample
from assay.dynamics import (
    PAPER,
    SYMMETRIC,
    Accounting,
    NeuronOptions,
    Spectrum,
    StoredNeuron,
    Threshold,
    bootstrap_spectra,
    candidate_decays,
    convert_decay,
    discriminative_spectrum,
    flat_bins_threshold,
    frequency_matching_score,
    lif_cutoff,
    noise_matched_gain,
    over_lowpass_threshold,
    read_stored_neurons,
    shuffled_spectra,
)
from assay.statistics import split_groups
from workbench.sources import Source
from workbench.study import Alias, Paper, Study

RESETS: dict[str, Literal["none", "subtract", "zero"]] = {"none": "none", "soft": "subtract", "hard": "zero"}
NULLS = 200  # label permutations and resamples of recordings

study = Study(
    "lif-frequency-matching",
    paper=Paper(
        title="Frequency Matching in Spiking Neural Networks for mmWave Sensing",
        arxiv="2605.09983",
        authors="Yu, Liao, Lv, Tong, Jiang, Ji, Du, Zhao, Zheng, Deng",
    ),
    question="Can the data’s spectrum alone choose a spiking neuron’s memory?",
    summary="Match a spiking neuron’s bandwidth to the data",
)

study.group("Neuron", equation=r"u_{t+1} = \beta u_t + (1-\beta) I_t - v_{th} O_t")
study.number(
    "beta", 0.5, bounds=(0.0, 0.995), step=0.005, symbol="β", label="Membrane decay", group="Neuron",
    doc="How much of the membrane is left after a step.",
)  # fmt: skip
study.number(
    "threshold", 1.0, bounds=(0.1, 4.0), step=0.05, symbol="vₜₕ", group="Neuron",
    doc="The neuron fires when its membrane reaches this; inputs are standardised.",
)  # fmt: skip
study.choice(
    "reset", "soft", choices={"none": "none", "soft": "soft", "hard": "hard"}, group="Neuron",
    doc="After a spike: keep the membrane, subtract the threshold, or set it to zero.",
)  # fmt: skip

study.choice(
    "drive", "paper", choices={"paper": "paper’s, (1 − β)", "matched": "noise-matched"}, label="Input gain",
    group="Neuron", rare=True,
    doc="Noise-matched input keeps the membrane’s variance as β grows, so that slow neurons do not fall silent.",
)  # fmt: skip
study.integer(
    "repeats", 1, bounds=(1, 16), label="Steps a frame", group="Neuron", rare=True,
    doc="Above 1 each frame is held so long: the neuron’s frequencies are no longer the sensor’s.",
)  # fmt: skip

study.group("Class information", equation=r"\mathrm{DI}[k] = \frac{S_B[k]}{S_W[k] + \varepsilon}")
study.choice("signal", choices="signals", group="Class information", doc="The series whose spectrum is taken.")
study.choice(
    "window", "none", choices={"none": "none", "hann": "Hann"}, group="Class information",
    doc="Taper of each window before its spectrum.",
)  # fmt: skip
study.choice(
    "dc", "drop", choices={"drop": "drop", "keep": "keep"}, label="Constant part", group="Class information", rare=True,
    doc="The paper removes each window’s mean and 0 Hz with it.",
)  # fmt: skip
study.number(
    "eps", 1e-12, bounds=(1e-12, 1e-3), log=True, symbol="ε", label="Regulariser", group="Class information", rare=True,
    doc="Added to the variance within classes.",
)  # fmt: skip

study.group("Matching rule", equation=r"\beta^\dagger = \operatorname*{arg\,max}_{\beta} |\hat{L}(\varphi) - \psi|")
study.number(
    "lowest", 0.05, bounds=(0.0, 0.9), step=0.01, label="Lowest candidate", group="Matching rule",
    doc="Smallest β that the rule may choose.",
)  # fmt: skip
study.number(
    "highest", 0.99, bounds=(0.5, 0.999), step=0.001, label="Highest candidate", group="Matching rule",
    doc="Largest β that the rule may choose; the answer follows it.",
)  # fmt: skip
study.integer("candidates", 95, bounds=(3, 500), group="Matching rule", rare=True, doc="How many candidates.")
study.choice(
    "spacing", "linear", choices={"linear": "even in β", "log_tau": "even in log τ"}, group="Matching rule", rare=True,
    doc="How candidates are spaced.",
)  # fmt: skip

study.group("Data")
study.data(
    "source", label="Recordings", group="Data",
    samples=("radhar", "radhar-full", "synthetic-low", "synthetic-high", "synthetic-none"),
    suffixes=(".npz", ".csv", ".parquet", ".txt", ""), needs="labelled sequences (npz, csv, parquet) or RadHAR logs",
    doc="Labelled sequences with a sampling rate, or RadHAR’s logs.",
)  # fmt: skip
study.number(
    "fs", 0.0, bounds=(0.0, 1e6), label="Sampling rate", unit="Hz", group="Data", rare=True,
    doc="Rate of files that do not hold one; 0 takes the file’s own.",
)  # fmt: skip
study.choice(
    "pairs", "keep", choices={"keep": "both", "one": "first only"}, label="Paired frames", group="Data",
    doc="RadHAR’s frames come in pairs about 1 ms apart.",
)  # fmt: skip
study.number(
    "resample", 0.0, bounds=(0.0, 120.0), unit="Hz", label="Resample to", group="Data", rare=True,
    doc="Put radar frames on a regular clock; 0 takes them as they came.",
)  # fmt: skip
study.flag(
    "clutter",
    False,
    label="Keep self-clutter",
    group="Data",
    rare=True,
    doc="Count radar points nearer than 0.3 m too.",
)
study.flag("noisy", False, label="Add noise", group="Data", doc="Add high-passed noise to every feature.")
study.number(
    "snr", 0.0, bounds=(-20.0, 30.0), step=1.0, unit="dB", label="Signal to noise", group="Data", rare=True,
    doc="Power of each feature over that of the added noise.",
)  # fmt: skip
study.number(
    "corner", 0.5, bounds=(0.05, 0.95), step=0.05, unit="× Nyquist", label="Noise above", group="Data", rare=True,
    doc="Corner of the added noise.",
)  # fmt: skip

study.group("Energy")
study.choice(
    "accounting", "paper", choices={"paper": "paper’s", "symmetric": "symmetric", "own": "own"}, group="Energy",
    doc="Who is spared the multiplications by zero.",
)  # fmt: skip
study.number(
    "mac_pj", 4.6, bounds=(0.0, 100.0), unit="pJ", label="Multiply and add", group="Energy", rare=True,
    doc="Price of a multiply-accumulate under your own accounting.",
)  # fmt: skip
study.number(
    "ac_pj", 0.9, bounds=(0.0, 100.0), unit="pJ", label="Add", group="Energy", rare=True,
    doc="Price of an addition under your own accounting.",
)  # fmt: skip

study.group("Training")
study.list(
    "betas", (0.1, 0.5, 0.9, 0.97), bounds=(0.0, 0.995), length=(1, 24), effort=True, symbol="β", label="Train at",
    group="Training", doc="Membrane decays that are trained.",
)  # fmt: skip
study.integer(
    "steps", 300, bounds=(1, 100_000), effort=True, group="Training", doc="Batches that each net is trained on."
)
study.integer("batch", 128, bounds=(8, 4096), group="Training", rare=True, doc="Windows of a batch.")
study.number(
    "lr", 0.01, bounds=(1e-5, 1.0), log=True, label="Learning rate", group="Training", rare=True,
    doc="Adam’s rate at the first step, falling to 0 as a cosine; the same for every net.",
)  # fmt: skip
study.integer(
    "every", 1, bounds=(1, 100), effort=True, label="Every n-th window", group="Training", rare=True,
    doc="Windows of a recording overlap; training and testing may take fewer.",
)  # fmt: skip

study.group("Your own net")
study.checkpoint(
    "net", optional=True, label="Spiking net", suffixes=(".pt",), needs="a state dict (.pt) of snnTorch, norse or Soul",
    group="Your own net", rare=True, doc="Shows the cut-offs of a net of your own, layer by layer.",
)  # fmt: skip

study.presets(
    quick={"betas": (0.5, 0.97), "steps": 8, "seeds": 1, "every": 8},
    standard={"betas": (0.1, 0.5, 0.9, 0.97), "steps": 150, "seeds": 3},
    full={"betas": (0.05, 0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.97), "steps": 600, "seeds": 5},
)


def rate(beta: float, to: Literal["tau_seconds", "cutoff_hz"], recording: LabelledSequences) -> float:
    return float(convert_decay(beta, "beta", to, fs=recording.fs))


study.alias(
    "beta",
    Alias(
        "tau", lambda beta: 1 / (1 - beta), lambda tau: 1 - 1 / tau, "steps", "τ",
        "Time constant in steps, β = 1 − 1/τ.",
    ),
    Alias(
        "tau_m", lambda beta, recording: 1e3 * rate(beta, "tau_seconds", recording),
        lambda tau_m, recording: float(convert_decay(tau_m / 1e3, "tau_seconds", "beta", fs=recording.fs)), "ms", "τₘ",
        "Membrane time constant, β = exp(−1/(fₛ τₘ)).",
    ),
    Alias(
        "cutoff", lambda beta, recording: rate(beta, "cutoff_hz", recording),
        lambda cutoff, recording: float(convert_decay(cutoff, "cutoff_hz", "beta", fs=recording.fs)), "Hz", "f_c",
        "Half-power frequency; a β below 0.172 has none.",
    ),
)  # fmt: skip


@study.prepared
def recording(source: Source, fs: float, pairs: str, resample: float, clutter: bool) -> LabelledSequences:
    """The labelled windows."""
    radar = RadarOptions(pairs=pairs, resample_hz=resample or None, keep_clutter=clutter)  # type: ignore[arg-type]
    if source.path is None:
        return sample(source.name, radar=radar)
    return open_sequences(source.path, fs=fs or None, radar=radar)


@study.prepared
def chance(recording: LabelledSequences) -> float:
    """Cross entropy, in nats, of who knows how frequent the classes are and nothing else."""
    shares = np.bincount(recording.y) / len(recording)
    return float(-(shares[shares > 0] * np.log(shares[shares > 0])).sum())


@study.prepared
def heard(recording: LabelledSequences, noisy: bool, snr: float, corner: float, seed: int) -> LabelledSequences:
    """The windows as the models hear them, with the added noise."""
    if not noisy:
        return recording
    return add_noise(recording, np.random.default_rng(seed), snr_db=snr, corner_hz=corner * recording.fs / 2)


@study.prepared
def signals(recording: LabelledSequences) -> dict[str, str]:
    """The series that a spectrum can be taken of."""
    kinds = dict.fromkeys(name.partition(",")[0] for name in recording.feature_names)
    found = {"mean": "Mean of all features"}
    if 1 < len(kinds) <= 16:
        found |= {f"only {kind}": f"Mean of {kind}" for kind in kinds}
    if recording.X.shape[2] > 1:
        found |= {"per_channel": "Every feature, averaged", "principal": "First 3 principal components"}
    return found


@study.prepared
def spectrum(heard: LabelledSequences, signal: str, window: str, dc: str, eps: float, seed: int) -> Spectrum:
    """The discriminative spectrum, with its band over recordings."""
    X, reduction = heard.X, signal
    if signal.startswith("only "):
        kind = signal.removeprefix("only ")
        chosen = [i for i, name in enumerate(heard.feature_names) if name.partition(",")[0] == kind]
        X, reduction = X[:, :, chosen], "mean"
    return discriminative_spectrum(
        X,
        heard.y,
        heard.fs,
        groups=heard.group,
        reduction=reduction,  # type: ignore[arg-type]
        components=min(3, X.shape[2]),
        drop_dc=dc == "drop",
        window=window,  # type: ignore[arg-type]
        eps=eps,
        resamples=NULLS,
        rng=np.random.default_rng([seed, 1]),
    )


@dataclass(frozen=True, eq=False)
class Spectra:
    """Resampled and label-shuffled spectra, each (NULLS, M)."""

    resampled: np.ndarray
    shuffled: np.ndarray


@study.prepared
def spectra(spectrum: Spectrum, seed: int) -> Spectra:
    """What the spectrum might have been: other recordings, and labels that say nothing."""
    resampled = bootstrap_spectra(spectrum, NULLS, np.random.default_rng([seed, 2]))
    return Spectra(resampled, shuffled_spectra(spectrum, NULLS, np.random.default_rng([seed, 3])))


@dataclass(frozen=True, eq=False)
class Matching:
    """The matching rule on the data, and where there is nothing to match.

    Attributes:
        betas: (R,) candidates. score: (R,) FMS on the data.
        rule: the elbow on the data.
        flat: β† of a flat spectrum.
        shuffled: (NULLS,) β† with labels permuted by recording. resampled: (NULLS,) β† of resampled recordings.
    """

    betas: np.ndarray
    score: np.ndarray
    rule: Threshold
    flat: float
    shuffled: np.ndarray
    resampled: np.ndarray

    @property
    def threshold(self) -> float:
        """β† on the data."""
        return float(self.rule.beta)


def match(spectrum: Spectrum, spectra: Spectra, betas: np.ndarray) -> Matching:
    """The matching rule on some candidates."""
    score = frequency_matching_score(spectrum.di_norm, spectrum.omega, betas)

    def elbows(drawn: np.ndarray) -> np.ndarray:
        return over_lowpass_threshold(betas, frequency_matching_score(drawn, spectrum.omega, betas)).beta

    return Matching(
        betas,
        score,
        over_lowpass_threshold(betas, score),
        flat_bins_threshold(spectrum.omega, betas),
        elbows(spectra.shuffled),
        elbows(spectra.resampled),
    )


@study.prepared
def matching(
    spectrum: Spectrum, spectra: Spectra, lowest: float, highest: float, candidates: int, spacing: str
) -> Matching:
    """The matching rule on the candidates that are set."""
    if lowest >= highest:
        raise InputError(f"lowest: got {lowest:g}; expected less than the highest candidate, {highest:g}.")
    return match(spectrum, spectra, candidate_decays(lowest, highest, candidates, spacing))  # type: ignore[arg-type]


@study.prepared
def ranges(spectrum: Spectrum, spectra: Spectra, lowest: float) -> dict[float, Matching]:
    """The rule under other highest candidates: does it follow the data, or its range?"""
    highest = np.array([0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998])
    return {
        float(high): match(spectrum, spectra, candidate_decays(lowest, high, 200)) for high in highest if high > lowest
    }


@dataclass(frozen=True, eq=False)
class Split:
    """Windows by recording: no recording is in two parts."""

    train: LabelledSequences
    validation: LabelledSequences
    test: LabelledSequences

    def first(self, frames: int) -> Split:
        """The first frames of every window."""
        return Split(*(replace(part, X=part.X[:, :frames]) for part in (self.train, self.validation, self.test)))


@study.prepared
def split(heard: LabelledSequences, every: int, seed: int) -> Split:
    """The official test recordings where the data name them, else a quarter of each class’s; a quarter of the rest
    validates."""
    heard = heard.take(np.arange(0, len(heard), every))
    rng = np.random.default_rng([seed, 4])
    test = heard.is_test if heard.is_test is not None else split_groups(heard.y, heard.group, 0.25, rng=rng)
    rest = np.flatnonzero(~test)
    validation = split_groups(heard.y[rest], heard.group[rest], 0.25, rng=rng)
    return Split(heard.take(rest[~validation]), heard.take(rest[validation]), heard.take(test))


@dataclass(frozen=True)
class Cell:
    """The spiking net's neuron but for its decay: threshold, reset as the kernel names it, gain, steps a frame."""

    threshold: float
    reset: Literal["none", "subtract", "zero"]
    drive: str
    repeats: int

    def options(self, beta: float) -> NeuronOptions:
        """The neuron's options at a decay."""
        gain = float(noise_matched_gain(beta)) if self.drive == "matched" else 1.0
        return NeuronOptions(threshold=self.threshold, reset=self.reset, current_gain=gain)


@study.prepared
def cell(threshold: float, reset: str, drive: str, repeats: int) -> Cell:
    """The neuron of the spiking net."""
    return Cell(threshold, RESETS[reset], drive, repeats)


@dataclass(frozen=True)
class Fit:
    """How every net is trained: batches, windows of a batch, Adam's first rate."""

    steps: int
    batch: int
    lr: float


@study.prepared
def fit(steps: int, batch: int, lr: float) -> Fit:
    """The training protocol, the same for every net."""
    return Fit(steps, batch, lr)


@study.prepared
def prices(accounting: str, mac_pj: float, ac_pj: float) -> Accounting:
    """The accounting that is set."""
    if accounting == "own":
        return Accounting(mac_pj=mac_pj, ac_pj=ac_pj, normalisation_macs=4.0)
    return PAPER if accounting == "paper" else SYMMETRIC


@study.prepared
def layers(net: Source | None, recording: LabelledSequences) -> tuple[StoredNeuron, ...]:
    """The decays of a net of the user’s."""
    return () if net is None or net.path is None else read_stored_neurons(net.path, fs=recording.fs)


def cutoff_hz(beta: float, fs: float) -> float:
    """Half-power frequency in Hz; NaN where there is none."""
    return float(lif_cutoff(beta, fs=fs))
