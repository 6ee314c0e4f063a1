"""What is run: the neuron's gain, training over β, the baselines at a matched cut-off, and training over time steps."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from assay.data import LabelledSequences
from assay.dynamics import (
    EMAANN,
    ButterworthANN,
    FrameANN,
    GRUClassifier,
    LeakyMLP,
    SequenceClassifier,
    SpectralLinear,
    SpikingMLP,
    StaticANN,
    TemporalCNN,
    TimeMeanANN,
    TrainedClassifier,
    lif_cutoff,
    operation_counts,
    tone_response,
    train_classifier,
)
from workbench.studies.dynamics.lif_frequency_matching.controls import RESETS, Cell, Fit, Split, study
from workbench.study import Run, exact, numeric, statistical, timing

COUNTED = 64  # windows that operations are counted on
RUNS = {
    "beta": exact(doc="Membrane decay factor."),
    "seed": exact("int"),
    "accuracy": statistical("%", "On the test recordings."),
    "validation": statistical("%", "On the validation recordings; β is chosen by it."),
    "rate_1": statistical("spikes/step", "Spikes of a neuron of the first layer in a step."),
    "rate_2": statistical("spikes/step", "Spikes of a neuron of the second layer in a step."),
    "loss": statistical("nats", "Cross entropy over the last tenth of the steps."),
    "took": timing(),
}
RECORDINGS = {
    "seed": exact("int"),
    "part": exact("str", doc="test or validation"),
    "recording": exact("str"),
    "windows": exact("int"),
    "correct": statistical(dtype="int"),
}


def by_recording(data: LabelledSequences, correct: np.ndarray) -> Iterator[dict[str, Any]]:
    """Windows and correct windows of each recording."""
    windows = np.bincount(data.group)
    hits = np.bincount(data.group, weights=correct)
    for group in np.flatnonzero(windows):
        yield {
            "recording": data.group_names[group], "windows": int(windows[group]), "correct": int(hits[group])
        }  # fmt: skip


def train(
    run: Run, model: SequenceClassifier, split: Split, seed: int, fit: Fit, what: str
) -> tuple[TrainedClassifier, float]:
    """Train a model on the split's training part; the batches of a seed are the same for every model.

    `what` is being trained, in words, for whoever waits.
    """
    started = time.perf_counter()
    trained = train_classifier(
        model,
        split.train.X,
        split.train.y,
        steps=fit.steps,
        batch_size=fit.batch,
        lr=fit.lr,
        generator=run.generator("batches", seed),
        held_out={"validation": (split.validation.X, split.validation.y), "test": (split.test.X, split.test.y)},
        progress=lambda steps: run.progress(steps, f"{what}, seed {seed + 1}"),
        device=run.device,
    )
    return trained, time.perf_counter() - started


def outcome(split: Split, trained: TrainedClassifier, took: float) -> dict[str, Any]:
    """What is kept of a trained model."""
    tail = max(1, len(trained.loss) // 10)
    return {
        "accuracy": 100 * trained.held_out["test"].accuracy,
        "validation": 100 * trained.held_out["validation"].accuracy,
        "loss": float(trained.loss[-tail:].mean()),
        "took": took,
        "recordings": [
            {"part": part, **row}
            for part, data in (("test", split.test), ("validation", split.validation))
            for row in by_recording(data, trained.held_out[part].correct)
        ],
    }


def stream(
    run: Run, function: Callable[[Run, dict[str, Any]], dict[str, Any]], items: list[dict[str, Any]], label: str
) -> None:
    """Rows of each item as it is done: lists go to the table of their name, the rest to `runs`."""
    for item, found in zip(items, run.map(function, items, label), strict=True):
        tables = {name: rows for name, rows in found.items() if isinstance(rows, list)}
        values = {name: value for name, value in found.items() if name not in tables}
        for name, rows in tables.items():
            for row in rows:
                run.row(name, **item, **row)
        if values:
            run.row("runs", **item, **values)


def firing(trained: TrainedClassifier, X: np.ndarray) -> list[float]:
    """Spikes of a neuron in a step, layer by layer."""
    return list(operation_counts(trained.model, X[:COUNTED], standardiser=trained.standardiser).firing_rates.values())


def spiking(data: LabelledSequences, run: Run, seed: int, beta: float, cell: Cell) -> SpikingMLP:
    """The spiking net of a seed; the first weights of a seed are the same for every β."""
    weights = run.generator("weights", seed)
    return SpikingMLP(
        data.X.shape[2],
        len(data.classes),
        beta=beta,
        generator=weights,
        repeats=cell.repeats,
        neuron=cell.options(beta),
    )


def train_spiking(run: Run, item: dict[str, Any], *, split: Split, cell: Cell, fit: Fit) -> dict[str, Any]:
    """One spiking net at one β and seed."""
    model = spiking(split.train, run, item["seed"], item["beta"], cell)
    trained, took = train(run, model, split, item["seed"], fit, f"β {item['beta']:g}")
    rates = firing(trained, split.test.X)
    return outcome(split, trained, took) | {"rate_1": rates[0], "rate_2": rates[1]}


@study.experiment(
    "Train over β",
    tables={"runs": RUNS, "recordings": {"beta": exact(), **RECORDINGS}},
    cost={"quick": 2, "standard": 50, "full": 1500},
)
def sweep(
    run: Run,
    split: Split,
    betas: tuple[float, ...],
    cell: Cell,
    seeds: int,
    fit: Fit,
) -> None:
    """Train the spiking net at each β and seed; accuracy on recordings that no training saw."""
    items = [{"beta": beta, "seed": seed} for seed in range(seeds) for beta in sorted(betas)]
    function = functools.partial(train_spiking, split=split, cell=cell, fit=fit)
    stream(run, function, items, "β and seeds")


# the ladder: what each rung is called, and whether it is the strong simple kind
SPIKING = "Spiking net"
LADDER = {
    SPIKING: "LIF neurons",
    "Same filter, no spikes": "the membrane's filter, rectified",
    "EMA + ANN": "the membrane's filter before an ANN",
    "Low-pass + ANN": "Butterworth of order 4 at the same cut-off",
    "ANN per frame": "mean over frames before the last layer",
    "ANN on the time mean": "sees no time at all",
    "ANN on the still scene": "sees the median frame",
    "GRU": "64 units",
    "CNN over time": "two convolutions",
    "Linear on |FFT|": "one layer on magnitudes",
    "Linear on low |FFT|": "magnitudes up to the same cut-off",
}


def ladder_model(
    name: str, data: LabelledSequences, beta: float, cell: Cell, run: Run, seed: int
) -> SequenceClassifier | None:
    """A rung of the ladder at a membrane decay; None where the decay has no cut-off to match."""
    length, features, classes = *data.X.shape[1:], len(data.classes)
    weights = run.generator("weights", seed)
    if name == SPIKING:
        return spiking(data, run, seed, beta, cell)
    if name == "Same filter, no spikes":
        return LeakyMLP(features, classes, beta=beta, generator=weights)
    if name == "EMA + ANN":
        return EMAANN(features, classes, beta=beta, generator=weights)
    plain = {
        "ANN per frame": FrameANN,
        "ANN on the time mean": TimeMeanANN,
        "ANN on the still scene": StaticANN,
        "GRU": GRUClassifier,
        "CNN over time": TemporalCNN,
    }
    if name in plain:
        return plain[name](features, classes, generator=weights)
    if name == "Linear on |FFT|":
        return SpectralLinear(length, features, classes, generator=weights)
    cutoff = float(lif_cutoff(beta))
    if not np.isfinite(cutoff) or cutoff >= np.pi:
        return None
    if name == "Low-pass + ANN":
        return ButterworthANN(features, classes, cutoff=cutoff, generator=weights)
    return SpectralLinear(length, features, classes, cutoff=cutoff, generator=weights)


def train_rung(run: Run, item: dict[str, Any], *, split: Split, beta: float, cell: Cell, fit: Fit) -> dict[str, Any]:
    """One rung at one seed, with its operations."""
    model = ladder_model(item["model"], split.train, beta, cell, run, item["seed"])
    if model is None:
        return {"recordings": [], "operations": []}
    trained, took = train(run, model, split, item["seed"], fit, item["model"])
    counts = operation_counts(trained.model, split.test.X[:COUNTED], standardiser=trained.standardiser)
    operations = [
        {"layer": row.layer, "kind": row.kind, "dense": row.dense, "active": row.active, "rate": row.rate,
         "state_words": row.state_words}
        for row in counts.layers
    ]  # fmt: skip
    parameters = sum(p.numel() for p in model.parameters())
    return outcome(split, trained, took) | {"operations": operations, "parameters": parameters}


@study.experiment(
    "Train the baselines",
    tables={
        "runs": {
            "model": exact("str"),
            "seed": exact("int"),
            "parameters": exact("int"),
            "accuracy": statistical("%", "On the test recordings."),
            "validation": statistical("%", "On the validation recordings; the best baseline is chosen by it."),
            "loss": statistical("nats"),
            "took": timing(),
        },
        "recordings": {"model": exact("str"), **RECORDINGS},
        "operations": {
            "model": exact("str"),
            "seed": exact("int"),
            "layer": exact("str"),
            "kind": exact("str"),
            "dense": statistical("operations", "Multiply positions of a window."),
            "active": statistical("operations", "Positions whose input and weight are not zero."),
            "rate": statistical("", "Share of inputs, or spikes of a neuron in a step, that are not zero."),
            "state_words": statistical("words", "State read and written."),
        },
        "cutoff": {"beta": exact(), "hz": exact(unit="Hz", doc="Matched cut-off; missing where there is none.")},
    },
    cost={"quick": 3, "standard": 60, "full": 900},
)
def baselines(
    run: Run,
    split: Split,
    beta: float,
    cell: Cell,
    seeds: int,
    fit: Fit,
) -> None:
    """Train what sees the same frames without spikes, at the cut-off of β."""
    cutoff = float(lif_cutoff(beta, fs=split.train.fs))
    run.row("cutoff", beta=beta, hz=cutoff)
    items = [{"model": model, "seed": seed} for seed in range(seeds) for model in LADDER]
    function = functools.partial(train_rung, split=split, beta=beta, cell=cell, fit=fit)
    stream(run, function, items, "models and seeds")


def train_length(run: Run, item: dict[str, Any], *, split: Split, beta: float, cell: Cell, fit: Fit) -> dict[str, Any]:
    """The spiking net on the first frames of every window."""
    short = split.first(item["frames"])
    model = spiking(short.train, run, item["seed"], beta, cell)
    trained, took = train(run, model, short, item["seed"], fit, f"{item['frames']} frames")
    return outcome(short, trained, took)


@study.experiment(
    "Train over time steps",
    tables={
        "runs": {
            "frames": exact("int"),
            "seed": exact("int"),
            "accuracy": statistical("%"),
            "validation": statistical("%"),
            "loss": statistical("nats"),
            "took": timing(),
        },
        "recordings": {"frames": exact("int"), **RECORDINGS},
    },
    cost={"quick": 1, "standard": 20, "full": 300},
)
def lengths(
    run: Run,
    split: Split,
    beta: float,
    cell: Cell,
    seeds: int,
    fit: Fit,
) -> None:
    """Train on a quarter, a half and all of each window's frames, one LIF step a frame."""
    whole = split.train.length
    frames = sorted({max(8, whole // 4), max(8, whole // 2), whole})
    items = [{"frames": count, "seed": seed} for seed in range(seeds) for count in frames]
    function = functools.partial(train_length, split=split, beta=beta, cell=cell, fit=fit)
    stream(run, function, items, "frames and seeds")


@study.experiment(
    "Measure the neuron’s gain",
    tables={
        "tones": {
            "reset": exact("str"),
            "omega": exact(unit="rad/step"),
            "hz": exact(unit="Hz"),
            "analytic": numeric("", "Power gain by formula, 1 at rest."),
            "membrane": numeric("", "Measured power gain of the membrane before reset."),
            "spikes": numeric("", "Measured power gain of the spikes, threshold times spike over current."),
            "rate": numeric("spikes/step"),
        }
    },
    cost={"quick": 0.5, "standard": 1, "full": 1},
)
def gain(run: Run, recording: LabelledSequences, beta: float, threshold: float) -> None:
    """Drive one neuron with 24 tones, without and with each reset."""
    omega = np.pi * np.arange(1, 25) / 24
    for reset, name in run.progress(list(RESETS.items()), "resets"):
        # without a reset the tone stays below threshold; with one it rides on a current that makes the neuron fire
        bias = 0.0 if name == "none" else 1.5 * threshold
        amplitude = 0.5 * threshold
        found = tone_response(omega, beta, amplitude=amplitude, bias=bias, threshold=threshold, reset=name)
        for i in range(len(omega)):
            run.row(
                "tones",
                reset=reset,
                omega=float(omega[i]),
                hz=float(omega[i] * recording.fs / (2 * np.pi)),
                analytic=float(found.analytic[i]),
                membrane=float(found.membrane[i]),
                spikes=float(found.spikes[i]),
                rate=float(found.rate[i]),
            )
