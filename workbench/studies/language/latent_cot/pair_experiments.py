"""Two answers followed through the latents, and a model trained here."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from assay.language import (
    LatentRecipe,
    WordTask,
    class_means,
    commitment_gap,
    cosine_scores,
    fit_probe,
    kept_latents,
    letters_read,
    output_pairs,
    read_latent,
    running_pair,
    superposition,
    train_latent,
    windowed,
)
from assay.statistics import cluster_bootstrap, wilson_interval
from workbench.studies.language.latent_cot.controls import study
from workbench.studies.language.latent_cot.subject import Bench, bench_of
from workbench.study import Run, exact, note, statistical, timing

LEAST = 700  # prompts: a probe of 24 classes on fewer says more of itself than of the latents
WINDOW = 2  # latents that a read-out of the representation sees: one of each word
TRAINED_SHARE = 0.7


@study.experiment(
    "Follow two answers",
    tables={
        "steps": {
            "model": exact("str"),
            "readout": exact("str"),
            "step": exact("int"),
            "superposition": statistical(doc="min(p_Y, p_N), mean over held-out prompts."),
            "low": statistical(),
            "high": statistical(),
            "held": statistical("%", "Of both products, read right from the latents by the probe; 0 for cosines."),
            "worse": statistical("%", "Of the product that is read worse."),
            "worse_low": statistical("%", "95 % (Wilson), over held-out prompts."),
            "worse_high": statistical("%"),
            "prompts": exact("int", doc="Held out."),
        },
        "gaps": {
            "model": exact("str"),
            "readout": exact("str"),
            "gap": statistical("steps", "Decision of the read-out minus that of the output."),
            "low": statistical("steps"),
            "high": statistical("steps"),
            "prompts": exact("int"),
        },
    },
    cost={"quick": 4, "standard": 15, "full": 60},
)
def commit(run: Run, prompts: int, seed: int, tau: float, delta: float) -> None:
    """Superposition of two running products by output, probes and nulls, in the models with two words."""
    for name in run.progress([name for name in ("late", "early") if name in kept_latents()], "models"):
        kept = read_latent(name)
        bench = bench_of(kept, max(prompts, LEAST), seed)
        candidates = [running_pair(bench.task, bench.words, letters_read(bench.task, t)) for t in steps_of(bench)]
        apart = torch.stack([(pair[:, 0] != pair[:, 1]) for pair in candidates]).all(dim=0)
        rng = run.rng("split", name)
        train = torch.from_numpy(rng.random(len(bench.words)) < TRAINED_SHARE)
        test = (~train & apart).numpy()
        pairs = {"output": output_pairs(bench.base, bench.task, bench.words, tau).numpy()}
        held: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for readout in run.progress(("probe", "shuffled", "class means", "random"), name):
            pairs[readout], held[readout] = read_pairs(run, bench, candidates, train, readout, tau, name)
        groups = np.arange(int(test.sum()))
        for readout, scores in pairs.items():
            own = superposition(scores[test])
            for i, t in enumerate(steps_of(bench)):
                ends = cluster_bootstrap(
                    lambda w, v=own[:, i]: (w @ v) / w.sum(axis=1), groups, rng=run.rng("ss", name, readout, t),
                    resamples=500,
                )  # fmt: skip
                both, worse = held.get(readout, (np.zeros(99), np.zeros(99)))
                mean = float(own[:, i].mean())
                ends_of = wilson_interval(float(worse[i]), int((~train).sum()))
                run.row("steps", model=name, readout=readout, step=t, superposition=mean,
                        low=min(float(ends.low), mean), high=max(float(ends.high), mean),
                        held=100 * both[i], worse=100 * worse[i], worse_low=100 * ends_of[0],
                        worse_high=100 * ends_of[1], prompts=int((~train).sum()))  # fmt: skip
            if readout == "output":
                continue
            gap = commitment_gap(pairs["output"][test], scores[test], delta).astype(float)
            ends = cluster_bootstrap(
                lambda w, v=gap: (w @ v) / w.sum(axis=1), groups, rng=run.rng("gap", name, readout), resamples=500
            )  # fmt: skip
            run.row("gaps", model=name, readout=readout, gap=float(gap.mean()), low=min(float(ends.low), gap.mean()),
                    high=max(float(ends.high), gap.mean()), prompts=len(gap))  # fmt: skip


def steps_of(bench: Bench) -> range:
    return range(1, bench.task.latents + 1)


def read_pairs(
    run: Run, bench: Bench, candidates: list[torch.Tensor], train: torch.Tensor, readout: str, tau: float, name: str
) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """(n, T, 2) scores of the two running products by a read-out of the representation, and how well both are read."""
    classes = bench.task.group.order
    out, both, worse = [], [], []
    for t, pair in zip(steps_of(bench), candidates, strict=True):
        features = windowed(bench.base.latents, t, WINDOW)
        if readout in ("probe", "shuffled"):
            scores, right = [], []
            for lane in (0, 1):
                labels = pair[:, lane]
                if readout == "shuffled":
                    labels = labels[torch.randperm(len(labels), generator=run.generator("shuffle", name, t, lane))]
                probe = fit_probe(features, labels, classes, train, decay=1e-2, iterations=20)
                scores.append(probe.log_p(features).gather(1, pair[:, lane : lane + 1]))
                right.append(probe.accuracy)
            own = (torch.cat(scores, dim=1) / tau).softmax(dim=-1)
            both.append(float(np.mean(right)))
            worse.append(min(right))
        else:
            if readout == "random":
                directions = torch.randn(classes, features.shape[1], generator=run.generator("random", name, t))
            else:
                labels = pair[:, :1]
                directions = class_means(features[train][:, None], labels[train], classes)[0] - features[train].mean(
                    dim=0
                )
            own = cosine_scores(features, directions, pair)
            both.append(0.0)
            worse.append(0.0)
        out.append(own)
    return torch.stack(out, dim=1).double().numpy(), (np.array(both), np.array(worse))


@study.experiment(
    "Train a model here",
    tables={
        "stages": {
            "seed": exact("int"),
            "latent_steps": exact("int"),
            "iterations": exact("int"),
            "loss": statistical("nats"),
            "accuracy": statistical("%", "Held-out words."),
            "ended": note("By its criterion or its limit."),
            "took": timing(),
        }
    },
    cost={"quick": 0.5, "standard": 60, "full": 900},
)
def retrain(run: Run, training: int, seeds: int) -> None:
    """The chain, trained from other seeds by the staged curriculum: what each stage reached, and how it ended."""
    items = [{"seed": seed, "training": training} for seed in range(1, 1 + (seeds if training > 50 else 1))]
    for item, found in zip(items, run.map(trained, items, "seeds"), strict=True):
        for line in found["stages"]:
            run.row("stages", seed=item["seed"], latent_steps=line[0], iterations=line[1], loss=line[2],
                    accuracy=100 * line[3], ended="criterion" if line[4] else "limit", took=line[5])  # fmt: skip


def trained(run: Run, item: dict[str, Any]) -> dict[str, Any]:
    """One model: its stages."""
    recipe = LatentRecipe(WordTask("chain", 6), limit=int(item["training"]), seed=100 + int(item["seed"]))
    _, log = train_latent(recipe, progress=lambda steps: run.progress(steps, f"seed {item['seed']}"))
    return {"stages": [[s.steps, s.iterations, s.loss, s.accuracy, int(s.left), s.seconds] for s in log]}
