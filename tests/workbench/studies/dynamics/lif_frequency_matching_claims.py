"""Evidence fixtures of the LIF frequency-matching study: claim -> verdict -> what the claim's function is given."""

import functools
from types import SimpleNamespace

import numpy as np
from given_results import given_result

from workbench.registry import registry

result = functools.partial(given_result, registry().get("lif-frequency-matching"))
CHANCE = float(np.log(5))
RECORDINGS, WINDOWS = 40, 50
LEARNED = 0.2  # nats
UNEVEN = 20 * np.cos(np.arange(RECORDINGS))  # what differs from recording to recording, in windows of 50


def scores(by, accuracies, *, recordings=RECORDINGS, uneven=(), losses=LEARNED):
    """Rows of `runs` and `recordings`: windows correct in each recording, of 50, under each value of a column."""
    runs, rows = [], []
    for value, accuracy in accuracies.items():
        extra = UNEVEN if value in uneven else np.zeros(RECORDINGS)
        correct = np.clip(np.round(accuracy * WINDOWS + extra), 0, WINDOWS).astype(int)
        for seed in range(3):
            runs.append(
                {by: value, "seed": seed, "accuracy": 100 * accuracy, "validation": 100 * accuracy, "loss": losses}
            )
            for part in ("test", "validation"):
                for i in range(recordings):
                    rows.append(
                        {by: value, "seed": seed, "part": part, "recording": f"r{i:02}", "windows": WINDOWS,
                         "correct": int(correct[i])}
                    )  # fmt: skip
    return {"runs": runs, "recordings": rows}


def sweep(accuracies, **traits):
    return result("sweep", **scores("beta", accuracies, **traits))


def lengths(accuracies, **traits):
    return result("lengths", **scores("frames", accuracies, **traits))


def models(spiking=0.7, low_pass=0.7, frame=0.7, **traits):
    accuracies = {"Spiking net": spiking, "Low-pass + ANN": low_pass, "ANN per frame": frame, "GRU": 0.5}
    return result("baselines", **scores("model", accuracies, **traits))


def energies(rates, *, active=1.0):
    """Rows of `operations`: a layer of the spiking net at the firing rates of its seeds, and the GRU's."""
    rows = []
    for seed, rate in enumerate(rates):
        layer = {"seed": seed, "layer": "hidden", "dense": 1e6, "rate": rate}
        rows.append({**layer, "model": "Spiking net", "kind": "spike", "active": rate * 1e6})
        rows.append({**layer, "model": "GRU", "kind": "analog", "active": active * 1e6, "rate": active})
    runs = [{"model": m, "seed": s, "loss": LEARNED} for m in ("Spiking net", "GRU") for s in range(len(rates))]
    return result("baselines", operations=rows, runs=runs)


def tones(error, count=24):
    rows = [{"reset": "none", "analytic": 0.5, "membrane": 0.5 + error} for _ in range(count)]
    return result("gain", tones=rows)


def matched(threshold, *, shuffled=(0.69, 0.78), resampled=None, betas=None):
    return SimpleNamespace(
        betas=np.arange(0.05, 1, 0.01) if betas is None else np.asarray(betas),
        threshold=threshold,
        flat=0.71,
        shuffled=np.linspace(*shuffled, 200),
        resampled=np.linspace(*(resampled or (threshold - 0.005, threshold + 0.005)), 200),
    )


HZ = np.linspace(0.5, 15, 30)
LOW, HIGH, FLAT = HZ < 7, HZ > 8, np.ones(30, dtype=bool)


def drawn(where, spread=0.05, seed=0):
    noise = 1 + spread * np.random.default_rng(seed).normal(size=(200, 30))
    di = where * np.abs(noise)
    return di / di.sum(axis=1, keepdims=True)


def spectrum(where, recordings=100):
    omega = np.pi * HZ / 15
    return SimpleNamespace(di_norm=where / where.sum(), frequency_hz=HZ, omega=omega, recordings=recordings)


def spectra(resampled, shuffled, spread=0.05):
    return SimpleNamespace(resampled=drawn(resampled, spread), shuffled=drawn(shuffled, spread, 1))


SCORE = {0.1: 0.9, 0.5: 0.7, 0.9: 0.4, 0.97: 0.2}
AGAINST = {0.1: 0.2, 0.5: 0.4, 0.9: 0.7, 0.97: 0.9}
CLAIMS = {
    "1a": {
        "holds": {"gain": tones(1e-9)},
        "fails": {"gain": tones(1e-3)},
        "inconclusive": {"gain": tones(1e-9, count=3)},
    },
    "1b": {
        "holds": {"matching": matched(0.7)},
        "fails": {"matching": matched(0.7, betas=np.arange(0.95, 0, -0.01))},
        "inconclusive": {"matching": matched(0.7, betas=[0.1, 0.5, 0.9])},
    },
    "2": {
        "holds": {"spectrum": spectrum(LOW), "spectra": spectra(LOW, FLAT)},
        "fails": {"spectrum": spectrum(HIGH), "spectra": spectra(HIGH, FLAT)},
        "inconclusive": {"spectrum": spectrum(FLAT), "spectra": spectra(FLAT, FLAT, spread=0.5)},
    },
    "3a": {
        "holds": {"matching": matched(0.95), "spectrum": spectrum(LOW)},
        "fails": {"matching": matched(0.74), "spectrum": spectrum(LOW)},
        "inconclusive": {"matching": matched(0.78, resampled=(0.7, 0.95)), "spectrum": spectrum(LOW)},
    },
    "3b": {
        "holds": {"sweep": sweep({0.5: 0.9, 0.97: 0.5}), "matching": matched(0.73), "chance": CHANCE},
        "fails": {"sweep": sweep({0.5: 0.5, 0.97: 0.9}), "matching": matched(0.73), "chance": CHANCE},
        "inconclusive": {
            "sweep": sweep({0.5: 0.5, 0.97: 0.5}, uneven=(0.97,)), "matching": matched(0.73), "chance": CHANCE,
        },
    },
    "3c": {
        "holds": {"sweep": sweep({0.5: 0.9, 0.97: 0.5}), "matching": matched(0.73), "chance": CHANCE},
        "fails": {"sweep": sweep({0.5: 0.5, 0.97: 0.9}), "matching": matched(0.73), "chance": CHANCE},
        "inconclusive": {
            "sweep": sweep({0.5: 0.5, 0.97: 0.5}, uneven=(0.97,)), "matching": matched(0.73), "chance": CHANCE,
        },
    },
    "3d": {
        "holds": {"sweep": sweep(SCORE), "spectrum": spectrum(LOW), "chance": CHANCE},
        "fails": {"sweep": sweep(AGAINST), "spectrum": spectrum(LOW), "chance": CHANCE},
        "inconclusive": {
            "sweep": sweep({0.1: 0.52, 0.5: 0.5, 0.9: 0.5, 0.97: 0.49}, uneven=(0.1,)),
            "spectrum": spectrum(LOW), "chance": CHANCE,
        },
    },
    "4b": {
        "holds": {"baselines": models(spiking=0.9), "chance": CHANCE},
        "fails": {"baselines": models(spiking=0.6), "chance": CHANCE},
        "inconclusive": {"baselines": models(spiking=0.5, low_pass=0.5, frame=0.4, uneven=("Spiking net",)),
                         "chance": CHANCE},
    },
    "5a": {
        "holds": {"baselines": energies([0.1, 0.11, 0.12]), "chance": CHANCE},
        "fails": {"baselines": energies([2.0, 2.1, 2.2]), "chance": CHANCE},
        "inconclusive": {"baselines": energies([0.1]), "chance": CHANCE},
    },
    "5b": {
        "holds": {"baselines": energies([0.1, 0.11, 0.12]), "chance": CHANCE},
        "fails": {"baselines": energies([0.9, 0.95, 1.0], active=0.01), "chance": CHANCE},
        "inconclusive": {"baselines": energies([0.1]), "chance": CHANCE},
    },
    "6a": {
        "holds": {"baselines": models(low_pass=0.9), "chance": CHANCE},
        "fails": {"baselines": models(low_pass=0.5), "chance": CHANCE},
        "inconclusive": {"baselines": models(low_pass=0.5, frame=0.5, uneven=("ANN per frame",)), "chance": CHANCE},
    },
    "6b": {
        "holds": {"baselines": models(spiking=0.9), "chance": CHANCE},
        "fails": {"baselines": models(spiking=0.5), "chance": CHANCE},
        "inconclusive": {"baselines": models(spiking=0.5, low_pass=0.5, uneven=("Spiking net",)), "chance": CHANCE},
    },
    "6c": {
        "holds": {"lengths": lengths({15: 0.5, 30: 0.7, 60: 0.8}), "chance": CHANCE},
        "fails": {"lengths": lengths({15: 0.8, 30: 0.7, 60: 0.6}), "chance": CHANCE},
        "inconclusive": {"lengths": lengths({15: 0.5, 30: 0.5, 60: 0.5}, uneven=(60,)), "chance": CHANCE},
    },
    "6d": {
        "holds": {"lengths": lengths({15: 0.5, 30: 0.7, 60: 0.8}), "chance": CHANCE},
        "fails": {"lengths": lengths({15: 0.5, 30: 0.6, 60: 0.9}), "chance": CHANCE},
        "inconclusive": {"lengths": lengths({15: 0.5, 30: 0.5, 60: 0.5}, uneven=(30,)), "chance": CHANCE},
    },
}  # fmt: skip
