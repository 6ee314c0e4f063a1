"""What takes longer: every intervention on every step, routes of both kinds, answers on their way, models compared."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.language import (
    Operation,
    Plan,
    Rollout,
    constant,
    early_stop,
    gaussian,
    graph_f1,
    influence,
    interchange_answers,
    intervene,
    kept_latents,
    mahalanobis,
    mean_of_step,
    mean_overall,
    optimal_constants,
    planted_edges,
    principal_graph,
    read_latent,
    read_questions,
    rollout,
    structure,
    swap,
    zero,
)
from assay.statistics import cluster_bootstrap, holm_adjust
from workbench.sources import Source
from workbench.studies.language.latent_cot.controls import study
from workbench.studies.language.latent_cot.subject import Bench, Subject, bench_of, donors_of, make_operations
from workbench.study import Run, exact, statistical

PAPERS_SIX = ("zero", "mean", "mean_step", "gaussian_h", "gaussian_mu", "gaussian_mu_step")
RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Measured:
    """Prompts to measure on: those of a planted task, or of a checkpoint of the user's.

    Attributes:
        base: their rollout. bench: where a truth is planted. operations: by name. chance: of a right answer.
        groups: of prompts that are resampled together.
    """

    base: Rollout
    bench: Bench | None
    operations: Mapping[str, Operation]
    donors: Tensor
    chance: float
    groups: np.ndarray


def measured(
    run: Run, subject: Subject, questions: Source | None, prompts: int, seed: int, donor_rule: str, scale: float,
    strength: float, rank: int, fit_steps: int,
) -> Measured:  # fmt: skip
    """Think through all prompts, and make all interventions.

    Raises:
        ValueError: recorded trajectories, a model without latents, or a checkpoint without questions.
    """
    if subject.recorded is not None:
        raise ValueError("model: recorded trajectories cannot be reached into; expected a model that runs.")
    if subject.language is not None:
        return measured_language(run, subject, questions, prompts, scale)
    bench = bench_of(subject.words, prompts, seed)
    donors = donors_of(bench, donor_rule, seed)
    best = optimal_constants(bench.reference, steps=fit_steps, progress=lambda x: run.progress(x, "best constants"))
    made = make_operations(bench, donors, scale=scale, strength=strength, rank=rank, seed=seed, optimal=best)
    n = len(bench.words)
    return Measured(bench.base, bench, made, donors, 1 / bench.task.group.order, np.arange(n))


def measured_language(run: Run, subject: Subject, questions: Source | None, prompts: int, scale: float) -> Measured:
    assert subject.language is not None
    if questions is None or questions.path is None:
        raise ValueError("questions: none are given; expected a .jsonl with question and answer for this checkpoint.")
    asked = read_questions(subject.language, questions.path, prompts)
    run.check()
    base = rollout(subject.language.model, asked.prompts, asked.answers, at_a_time=16)
    n = len(base)
    donors = torch.roll(torch.arange(n), 1)
    made = {
        "zero": zero(), "mean": constant(mean_overall(base)), "mean_step": constant(mean_of_step(base)),
        "gaussian_h": gaussian(base, scale, run.generator("noise"), None, add=True),
        "gaussian_mu": gaussian(base, scale, run.generator("noise"), mean_overall(base), add=False),
        "gaussian_mu_step": gaussian(base, scale, run.generator("noise"), mean_of_step(base), add=False),
        "swap": swap(base, donors),
    }  # fmt: skip
    return Measured(base, None, made, donors, 0.0, np.arange(n))


def mean_with_ends(values: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Means over prompts of (n, k) values with the ends of their 95 % intervals."""
    found = cluster_bootstrap(
        lambda w: (w @ values) / w.sum(axis=1, keepdims=True), groups, rng=rng, resamples=RESAMPLES
    )  # fmt: skip
    low = np.minimum(found.low, found.estimate)
    return np.asarray(found.estimate), low, np.maximum(found.high, found.estimate)


@study.experiment(
    "Reach into every step",
    tables={
        "steps": {
            "operation": exact("str"),
            "step": exact("int"),
            "prompts": exact("int"),
            "flip": statistical("%", "Answers that change."),
            "low": statistical("%", "95 % over prompts."),
            "high": statistical("%"),
            "flip_correct": statistical("%", "Right turns wrong or wrong right, as the released plots count."),
            "flip_of_correct": statistical("%", "Answers that change among those that were right."),
            "lost": statistical("nats", "Log probability of the right answer that is lost."),
            "away": statistical(doc="Mahalanobis distance from the step’s latents over √d: 1 is typical."),
            "exact": statistical("%", "Answers that exact algebra gives for a donor’s value; 0 where none is planted."),
        },
        "spread": {
            "operation": exact("str"),
            "range": statistical("%", "Largest minus smallest flip over steps."),
            "low": statistical("%"),
            "high": statistical("%"),
            "p": statistical(doc="Of equal flips at all steps: least over steps, Holm, sign flips within prompts."),
        },
        "agreement": {"first": exact("str"), "second": exact("str"), "tau": statistical(doc="Kendall’s, of flips.")},
        "jointly": {
            "step": exact("int", doc="First of the slots: those of a step, or two neighbours."),
            "single": statistical("%", "Answers that flip when one slot is zeroed, mean of the slots."),
            "joint": statistical("%", "When all of them are."),
        },
    },
    cost={"quick": 1.5, "standard": 20, "full": 120},
)
def reach(
    run: Run, subject: Subject, questions: Source | None, prompts: int, seed: int, donor_rule: str, scale: float,
    strength: float, rank: int, fit_steps: int,
) -> None:  # fmt: skip
    """Every intervention on every step alone: flips, lost log probability, exact counterfactuals, distances."""
    all_of = measured(run, subject, questions, prompts, seed, donor_rule, scale, strength, rank, fit_steps)
    base, T, n = all_of.base, all_of.base.latents.shape[1], len(all_of.base)
    right = base.correct.numpy()
    every: dict[str, np.ndarray] = {}
    for name, operation in run.progress(list(all_of.operations.items()), "interventions"):
        outcome = intervene(base, [Plan({t: operation}, T) for t in range(1, T + 1)])
        flips = outcome.flipped.numpy().T.astype(float)
        now = (outcome.predicted == base.targets).all(dim=2).numpy().T
        mean, low, high = mean_with_ends(flips, all_of.groups, run.rng("flip", name))
        every[name] = mean
        for t in range(T):
            changed = operation(base.latents[:, t].clone(), t + 1, slice(0, n))
            fit = 0.0
            if all_of.bench is not None:
                wanted = interchange_answers(all_of.bench.task, all_of.bench.words, all_of.donors, t + 1)
                fit = float((outcome.predicted[t, :, 0] == wanted).double().mean())
            run.row(
                "steps", operation=name, step=t + 1, prompts=n,
                flip=100 * mean[t], low=100 * low[t], high=100 * high[t],
                flip_correct=100 * float((now[:, t] != right).mean()),
                flip_of_correct=100 * float(flips[right, t].mean()) if right.any() else 0.0,
                lost=float((outcome.base_log_p[t] - outcome.log_p[t]).double().mean()),
                away=float(mahalanobis(base, changed, t + 1).mean()), exact=100 * fit,
            )  # fmt: skip
        run.row("spread", operation=name, **spread_of(flips, all_of.groups, run.rng("spread", name)))
    names = [name for name in PAPERS_SIX if name in every]
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            run.row("agreement", first=first, second=second, tau=kendall(every[first], every[second]))
    jointly(run, all_of)


def spread_of(flips: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Largest minus smallest flip over steps, its interval, and a test of equal flips.

    The range of noisy means is above 0 even where all are equal, so what resampling alone adds is taken off.
    """
    steps = flips.shape[1]
    if steps < 2:
        return {"range": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}
    found = cluster_bootstrap(
        lambda w: np.ptp((w @ flips) / w.sum(axis=1, keepdims=True), axis=1), groups, rng=rng, resamples=RESAMPLES
    )  # fmt: skip
    centred = flips - flips.mean(axis=0)
    flat = cluster_bootstrap(
        lambda w: np.ptp((w @ centred) / w.sum(axis=1, keepdims=True), axis=1), groups, rng=rng, resamples=RESAMPLES
    )  # fmt: skip
    noise = float(flat.high + flat.low) / 2
    value = max(0.0, float(found.estimate) - noise)
    low, high = max(0.0, float(found.low) - noise), max(0.0, float(found.high) - noise)
    # Each step against the mean of the others, prompt by prompt.
    p = []
    for t in range(steps):
        away = flips[:, t] - np.delete(flips, t, axis=1).mean(axis=1)
        if not away.any():
            p.append(1.0)
            continue
        signs = rng.choice([-1.0, 1.0], (RESAMPLES, len(away)))
        p.append((1 + int((np.abs(signs @ away) >= abs(away.sum()) - 1e-9).sum())) / (1 + RESAMPLES))
    return {
        "range": 100 * value, "low": 100 * min(low, value), "high": 100 * max(high, value),
        "p": float(holm_adjust(p).min()),
    }  # fmt: skip


def kendall(a: np.ndarray, b: np.ndarray) -> float:
    """Kendall's τ-a: ties count for neither."""
    i, j = np.triu_indices(len(a), 1)
    return float((np.sign(a[i] - a[j]) * np.sign(b[i] - b[j])).mean()) if len(i) else 0.0


def jointly(run: Run, all_of: Measured) -> None:
    """Slots of one step, or neighbours where a step has one slot, zeroed one by one and together."""
    T = all_of.base.latents.shape[1]
    slots = all_of.bench.task.slots if all_of.bench is not None else 1
    size = slots if slots > 1 else 2
    for first in range(1, T - size + 2, slots):
        together = range(first, first + size)
        plans = [Plan({t: zero()}, T) for t in together] + [Plan({t: zero() for t in together}, T)]
        flips = intervene(all_of.base, plans).flipped.double().mean(dim=1).numpy()
        run.row("jointly", step=first, single=100 * float(flips[:-1].mean()), joint=100 * float(flips[-1]))


@study.experiment(
    "Follow every route",
    tables={
        "edges": {
            "model": exact("str", doc="this, or explicit: the same steps in words."),
            "effect": exact("str"),
            "from": exact("int"),
            "to": exact("int", doc="One past the last step is the answer."),
            "kl": statistical("nats"),
            "low": statistical("nats"),
            "high": statistical("nats"),
        },
        "structure": {
            "model": exact("str"),
            "effect": exact("str"),
            "latents": exact("int"),
            "prompts": exact("int"),
            "locality": statistical(),
            "low": statistical(doc="95 % over prompts, of locality."),
            "high": statistical(),
            "span": statistical("steps"),
            "early_out": statistical(),
            "late_in": statistical(),
            "f1": statistical(doc="Against the planted graph; 0 where none is planted."),
            "far": statistical(doc="Share of influence between steps that are not neighbours."),
        },
        "local_gap": {
            "effect": exact("str"),
            "gap": statistical(doc="Locality of the explicit chain of thought minus that of the latents."),
            "low": statistical(),
            "high": statistical(),
            "prompts": exact("int"),
        },
    },
    cost={"quick": 1.5, "standard": 12, "full": 60},
)
def influences(
    run: Run, subject: Subject, questions: Source | None, prompts: int, seed: int, donor_rule: str, scale: float,
    strength: float, rank: int, operation: str, read: str, alpha: float,
) -> None:  # fmt: skip
    """Total and direct influence, with the same estimand for latents and for an explicit chain of thought."""
    models: dict[str, Measured] = {
        "this": measured(run, subject, questions, prompts, seed, donor_rule, scale, strength, rank, 1)
    }
    if subject.kept is not None and subject.kept.task == read_latent("explicit").task:
        other = Subject("explicit", kept=read_latent("explicit"))
        models["explicit"] = measured(run, other, None, prompts, seed, donor_rule, scale, strength, rank, 1)
    for effect in run.progress(("total", "direct"), "effects"):
        drawn_localities: dict[str, tuple[float, Any]] = {}
        for name, all_of in models.items():
            chosen = all_of.operations.get(operation, all_of.operations["zero"])
            found = influence(
                all_of.base, chosen, effect=effect, read=read if subject.kept is not None else "decode",
                progress=lambda x: run.progress(x, "prompts"),
            )  # fmt: skip
            _, low, high = mean_with_ends(found.values.T, all_of.groups, run.rng("edges", name, effect))
            W = found.matrix
            for e, (t, s) in enumerate(found.edges):
                run.row("edges", model=name, effect=effect, **{"from": t, "to": s}, kl=float(found.values[e].mean()),
                        low=max(0.0, float(low[e])), high=float(high[e]))  # fmt: skip
            if found.latents < 2 or np.nan_to_num(W).max() <= 1e-9:
                continue
            score = structure(W)
            inner = np.array([s <= found.latents for _, s in found.edges])
            near = np.array([s == t + 1 for t, s in found.edges]) & inner
            parts = np.stack([found.values[near].sum(axis=0), found.values[inner].sum(axis=0)], axis=1)
            ends = cluster_bootstrap(
                lambda w, parts=parts: (w @ parts[:, 0]) / (w @ parts[:, 1]), all_of.groups,
                rng=run.rng("locality", name, effect), resamples=RESAMPLES,
            )  # fmt: skip
            drawn_localities[name] = (score.locality, parts)
            planted = None
            if all_of.bench is not None and all_of.bench.task.slots == 1:
                planted = planted_edges(all_of.bench.task)
            run.row(
                "structure", model=name, effect=effect, latents=found.latents,
                prompts=found.values.shape[1], locality=score.locality,
                low=min(float(ends.low), score.locality), high=max(float(ends.high), score.locality), span=score.span,
                early_out=score.early_out, late_in=score.late_in, far=1 - score.locality,
                f1=graph_f1(principal_graph(W, alpha).edges, planted) if planted is not None else 0.0,
            )  # fmt: skip
        if len(drawn_localities) == 2:
            (mine, a), (words, b) = drawn_localities["this"], drawn_localities["explicit"]
            ends = cluster_bootstrap(
                lambda w, a=a, b=b: (w @ b[:, 0]) / (w @ b[:, 1]) - (w @ a[:, 0]) / (w @ a[:, 1]),
                models["this"].groups, rng=run.rng("gap", effect), resamples=RESAMPLES,
            )  # fmt: skip
            run.row("local_gap", effect=effect, gap=words - mine, low=min(float(ends.low), words - mine),
                    high=max(float(ends.high), words - mine), prompts=len(a))  # fmt: skip


@study.experiment(
    "Stop early",
    tables={
        "answers": {
            "k": exact("int"),
            "prompts": exact("int"),
            "solved": statistical("%", "Right at some k up to here."),
            "accuracy": statistical("%", "Right at k."),
            "low": statistical("%", "95 % over prompts, of accuracy."),
            "high": statistical("%"),
            "guessing": exact(unit="%", doc="S(k) of someone who guesses anew."),
        },
        "last": {
            "gain": statistical("%", "S(T) − S(T − 1): what the last latent brings."),
            "low": statistical("%"),
            "high": statistical("%"),
            "prompts": exact("int"),
        },
    },
    cost={"quick": 0.3, "standard": 1, "full": 4},
)
def answers(
    run: Run, subject: Subject, questions: Source | None, prompts: int, seed: int, donor_rule: str, scale: float,
    strength: float, rank: int,
) -> None:  # fmt: skip
    """Decode after k latents: solve rate beside accuracy and guessing."""
    all_of = measured(run, subject, questions, prompts, seed, donor_rule, scale, strength, rank, 1)
    stop = early_stop(all_of.base)
    mean, low, high = mean_with_ends(stop.right.astype(float), all_of.groups, run.rng("accuracy"))
    guess = stop.guessing(all_of.chance)
    for k in range(len(stop.solved)):
        run.row("answers", k=k, prompts=len(all_of.base), solved=100 * stop.solved[k], accuracy=100 * mean[k],
                low=100 * low[k], high=100 * high[k], guessing=100 * guess[k])  # fmt: skip
    new = (stop.first == len(stop.solved) - 1).astype(float)[:, None]
    gain, low, high = mean_with_ends(new, all_of.groups, run.rng("last"))
    run.row("last", gain=100 * gain[0], low=100 * low[0], high=100 * high[0], prompts=len(all_of.base))


@study.experiment(
    "Compare all models",
    tables={
        "models": {
            "model": exact("str"),
            "method": exact("str"),
            "latents": exact("int"),
            "prompts": exact("int"),
            "accuracy": statistical("%", "Right on held-out words."),
            "low": statistical("%", "95 % over prompts."),
            "high": statistical("%"),
            "zero_flip": statistical("%", "Answers that flip when a slot is zeroed, mean over steps."),
            "least_flip": statistical("%", "At the step that matters least."),
            "most_flip": statistical("%"),
            "exact": statistical("%", "Swaps that give the exact counterfactual answer, at the worst step."),
            "exact_low": statistical("%", "Lower end of its 95 % interval."),
            "exact_high": statistical("%"),
            "lens": statistical("%", "Slots whose own words name their step."),
            "limited": exact("int", doc="Stages of training that ended by their limit."),
            "random": statistical("%", "Right when slots are fed random vectors."),
        }
    },
    cost={"quick": 2, "standard": 8, "full": 40},
)
def compare(run: Run, prompts: int, seed: int) -> None:
    """Every model that comes along: is the task solved, and are latents used?"""
    for name in run.progress(kept_latents(), "models"):
        kept = read_latent(name)
        count = min(prompts, 2000)
        row: dict[str, Any] = {"model": name, "method": kept.recipe.method, "latents": kept.model.latents}
        row |= {"prompts": count, "limited": sum(not stage.left for stage in kept.log)}
        row |= dict.fromkeys(
            ("zero_flip", "least_flip", "most_flip", "exact", "exact_low", "exact_high", "lens", "random"), 0.0
        )
        if not kept.model.latents:
            share = kept.log[-1].accuracy
            run.row("models", **row, accuracy=100 * share, low=100 * share, high=100 * share)
            continue
        bench = bench_of(kept, count, seed)
        T = kept.model.latents
        right, low, high = mean_with_ends(
            bench.base.correct.double().numpy()[:, None], np.arange(count), run.rng("right", name)
        )
        donors = donors_of(bench, "random", seed)
        swapped = swap(bench.base, donors)
        outcome = intervene(bench.base, [Plan({t: op}, T) for op in (zero(), swapped) for t in range(1, T + 1)])
        flips = outcome.flipped[:T].double().mean(dim=1).numpy()
        fit = np.stack([
            (outcome.predicted[T + t - 1, :, 0] == interchange_answers(kept.task, bench.words, donors, t)).numpy()
            for t in range(1, T + 1)
        ], axis=1).astype(float)  # fmt: skip
        hit, hit_low, hit_high = mean_with_ends(fit, np.arange(count), run.rng("exact", name))
        worst = int(hit.argmin())
        lens = bench.base.next_logits[:, :T].argmax(dim=-1) == bench.labels
        drawn = bench_of(kept.with_mode("random"), min(count, 400), seed)
        row |= {
            "zero_flip": 100 * flips.mean(), "least_flip": 100 * flips.min(), "most_flip": 100 * flips.max(),
            "exact": 100 * hit[worst], "exact_low": 100 * hit_low[worst], "exact_high": 100 * hit_high[worst],
            "lens": 100 * float(lens.double().mean()), "random": 100 * float(drawn.base.correct.double().mean()),
        }  # fmt: skip
        run.row("models", **row, accuracy=100 * right[0], low=100 * low[0], high=100 * high[0])
