"""What is run on a model: attacks on its bounds and on its robustness, constants, and training one here."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false

from __future__ import annotations

import math
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay.dynamics.state_space import (
    CHANGES,
    METHODS,
    Admissible,
    CopyingRun,
    Driven,
    Logged,
    SSMLayer,
    adversarial_changes,
    adversarial_inputs,
    answer_accuracy,
    bibo_bound,
    change_of,
    channel_states,
    check_violations,
    hand_made_inputs,
    interval_constants,
    load_ssm,
    merge,
    observe,
    random_inputs,
    robustness_bound,
    scan_layer,
    train_copying,
    write_mamba,
)
from workbench.studies.dynamics.ssm_stability.controls import study
from workbench.studies.dynamics.ssm_stability.survey import LayerSurvey, Survey
from workbench.study import Run, exact, note, numeric, statistical, timing

SIZES = (1e-3, 1e-2, 1e-1)
PARTS = ("x_max", "B_max", "C_max", "dt_max", "z_max")


def aimed_at(layer: SSMLayer, count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """States that attacks are aimed at: half of them the slowest of their channel, half anywhere."""
    channels = rng.choice(layer.channels, size=min(count, layer.channels), replace=False)
    slowest = layer.rates.argmin(1)
    found = [(int(d), int(slowest[d])) for d in channels[: (len(channels) + 1) // 2]]
    found += [(int(d), int(rng.integers(layer.states))) for d in channels[(len(channels) + 1) // 2 :]]
    return found


@study.experiment(
    "Attack the bounds",
    tables={
        "layers": {
            "layer": exact("str"),
            "method": exact("str"),
            "attack": exact("str", doc="data, random, hand-made or ascent"),
            "samples": exact("int", doc="Pairs of a state and a step."),
            "violations": exact("int", doc="States, outputs and block outputs above the bound from weights alone."),
            "tightness": numeric(doc="Largest measured over certified, from weights alone."),
            "conditional": numeric(doc="The same over the bound given the data; above 1 for inputs that leave them."),
            "without_rho": numeric(doc="Largest |h| a over sup|B x|: above 1 where the bound of a hold is broken."),
            "constants": numeric(doc="Largest of x, B, C, step and gate over what the weights allow."),
        },
        "channels": {
            "layer": exact("str"),
            "method": exact("str"),
            "channel": exact("int"),
            "reached": numeric(doc="Largest |h| of the channel."),
            "certified": numeric(doc="From weights alone."),
        },
    },
    cost={"quick": 3, "standard": 25, "full": 900},
)
def attack(run: Run, survey: Survey, targets: int, steps: int, window: int) -> None:
    """Data, random, hand-made and ascended inputs against the bounds of every layer, in both discretisations."""
    for layer in run.progress(survey.layers, "layers"):
        space = Admissible.of(layer.layer, layer.radius)
        for method in METHODS:
            own = aimed_at(layer.layer, targets, run.rng("targets", layer.name))
            generator = run.generator("ascent", layer.name, method)
            alone, inside = (layer.bound(grade, method) for grade in ("a-priori", "conditional"))
            total = None
            for kind in run.progress(("data", "random", "hand-made", "ascent"), f"{layer.name}, {method}"):
                if kind == "data":
                    seen = layer.data[method]
                else:
                    if kind == "random":
                        u = random_inputs(space, 2 * max(4, len(own) // 4), window, generator)
                    elif kind == "hand-made":
                        u = hand_made_inputs(space, own, window)
                    else:
                        u = adversarial_inputs(space, own, window, steps=steps, generator=generator, method=method)
                    seen = observe(layer.layer, u, method=method)
                total = seen if total is None else merge(total, seen)
                found = check_violations(layer.layer, seen, alone)
                drive = seen.constants.v_max.clamp(min=1e-300)
                over = max(
                    float((getattr(seen.constants, p) / getattr(layer.alone, p).clamp(min=1e-300)).max()) for p in PARTS
                )
                run.row(
                    "layers", layer=layer.name, method=method, attack=kind, samples=found.samples,
                    violations=found.violations, tightness=found.worst,
                    conditional=float((seen.h_max / inside.h_max.clamp(min=1e-300)).max()),
                    without_rho=float((seen.h_max * layer.layer.rates / drive).max()), constants=over,
                )  # fmt: skip
            assert total is not None
            for channel, (reached, certified) in enumerate(
                zip(total.h_max.amax(1).tolist(), alone.h_max.amax(1).tolist(), strict=True)
            ):
                run.row("channels", layer=layer.name, method=method, channel=channel, reached=reached,
                        certified=certified)  # fmt: skip


@study.experiment(
    "Attack the robustness",
    tables={
        "changes": {
            "layer": exact("str"),
            "change": exact("str"),
            "size": exact(doc="Of the change, at every step."),
            "samples": exact("int"),
            "measured": numeric(doc="Largest |dh|."),
            "over_uniform": numeric(doc="Largest measured over the bound for any length."),
            "over_linear": numeric(doc="The same over the linear bound, at each step."),
            "output_over": numeric(doc="Largest |dy| over its bound."),
            "vacuous": numeric("%", "States whose bound is no less than twice their largest."),
        }
    },
    cost={"quick": 2, "standard": 15, "full": 300},
)
def perturb(run: Run, survey: Survey, targets: int, steps: int, window: int, method: str) -> None:
    """Changes of input, step, B, C and weights in every layer, ascended where a gradient leads, against both bounds."""
    for layer in run.progress(survey.layers, "layers"):
        space = Admissible.of(layer.layer, layer.radius)
        own = aimed_at(layer.layer, max(2, targets // 3), run.rng("targets", layer.name))
        generator = run.generator("changes", layer.name)
        u = adversarial_inputs(space, own, window, steps=max(2, steps // 2), generator=generator, method=method)
        for kind in run.progress(CHANGES, layer.name):
            for size in SIZES:
                try:
                    change_of(layer.layer, layer.alone, size, kind)
                except ValueError:
                    continue  # Reach says why no bound exists
                found = changed_by(layer, u, own, kind, size, space, steps, generator, method)
                run.row("changes", layer=layer.name, change=kind, size=size, **found)


def changed_by(
    layer: LayerSurvey, u: torch.Tensor, own: list[tuple[int, int]], kind: str, size: float, space: Admissible,
    steps: int, generator: torch.Generator, method: str,
) -> dict[str, Any]:  # fmt: skip
    """One change of one size: run with and without it, channel by channel, and compare with both bounds."""
    with torch.no_grad():
        one = layer.layer.drive(u)
    two = changed(layer.layer, u, one, own, kind, size, space, steps, generator, method)
    uniform, each = (
        robustness_bound(layer.layer, layer.alone, size, 1, form=form, kind=kind, method=method)
        for form in ("uniform", "linear")
    )
    top = np.zeros(4)
    samples = 0
    group = layer.layer.group_of()
    for b, (d, _) in enumerate(own):
        g = int(group[d])
        states, outputs = [], []
        for driven in (one, two):
            v = (driven.B[b, :, g] * driven.x[b, :, d, None]).numpy()
            h = channel_states(v, driven.delta[b, :, d].numpy(), layer.layer.rates[d].numpy(), method=method)
            states.append(h)
            skip = float(layer.layer.skip[d])
            outputs.append((h * driven.C[b, :, g].numpy()).sum(1) + skip * driven.x[b, :, d].numpy())
        error, out = np.abs(states[1] - states[0]), np.abs(outputs[1] - outputs[0])
        grown = each.injection[d].numpy() + np.arange(1, len(error) + 1)[:, None] * each.selectivity[d].numpy()
        parts = (
            error.max(), over(error, uniform.total[d].numpy()), over(error, grown),
            float(out.max()) / max(float(uniform.output[d]), 1e-300),
        )  # fmt: skip
        top = np.maximum(top, parts)
        samples += error.size
    keys = ("measured", "over_uniform", "over_linear", "output_over")
    vacuous = 100 * float(uniform.vacuous.double().mean())
    return dict(zip(keys, top.tolist(), strict=True)) | {"samples": samples, "vacuous": vacuous}


def over(error: np.ndarray, bound: np.ndarray) -> float:
    """Largest ratio; where nothing is allowed nothing may move."""
    return float((error / np.maximum(bound, 1e-300)).max()) if error.any() else 0.0


def changed(
    layer: SSMLayer, u: torch.Tensor, one: Driven, own: list[tuple[int, int]], kind: str, size: float,
    space: Admissible, steps: int, generator: torch.Generator, method: str,
) -> Driven:  # fmt: skip
    """What the scan is given after a change: ascended for inputs, all one way for steps, random signs elsewhere."""

    def signs(shape: torch.Size) -> torch.Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=generator).sign()

    if kind == "input":
        moved = adversarial_changes(space, u, own, size, steps=steps, generator=generator, method=method)
        with torch.no_grad():
            return layer.drive(moved)
    if kind == "pre":
        pre = one.pre + size
        delta = torch.nn.functional.softplus(pre, threshold=700.0).clamp(*layer.limits)
        return one._replace(pre=pre, delta=delta)
    if kind == "weights":
        parts = {name: getattr(layer, name) for name in ("B", "C", "step", "step_low")}
        with torch.no_grad():
            return replace(layer, **{n: w * (1 + size * signs(w.shape)) for n, w in parts.items()}).drive(u)
    value = getattr(one, kind)
    return one._replace(**{kind: value + size * (value.sign() + (value == 0))})


@study.experiment(
    "Train a Mamba here",
    tables={
        "log": {"seed": exact("int"), "step": exact("int"), "loss": statistical("nats"), "right": statistical("%")},
        "models": {
            "seed": exact("int"),
            "steps": exact("int"),
            "right": statistical("%", "Of answers on fresh sequences."),
            "decades": statistical(doc="Middle bound from weights alone over what data reach, last layer."),
            "largest": statistical(doc="Largest certified |h|, last layer."),
            "violations": exact("int"),
            "took": timing(),
            "remark": note("How far training went."),
        },
    },
    cost={"quick": 2, "standard": 120, "full": 4000},
)
def retrain(run: Run, training: int, seeds: int) -> None:
    """The model that comes along, trained from other seeds: what it learns, and what becomes of its certificates."""
    count = seeds if training > 2 else 1
    items = [{"seed": seed, "training": training} for seed in range(1, 1 + count)]
    for item, found in zip(items, run.map(trained, items, "models"), strict=True):
        for line in found["log"]:
            run.row("log", seed=item["seed"], step=line[0], loss=line[1], right=100 * line[2])
        run.row("models", seed=item["seed"], **found["model"])


def trained(run: Run, item: dict[str, Any]) -> dict[str, Any]:
    """One model: its log, its certificates."""
    started = time.perf_counter()
    seed, training = int(item["seed"]), int(item["training"])
    batch = 32 if training > 2 else 4
    every = max(1, min(100, training // 10))
    settings = CopyingRun(steps=training, seed=seed, batch=batch, every=every)
    model, log = train_copying(settings, progress=lambda steps: run.progress(steps, f"seed {seed}"))
    with tempfile.TemporaryDirectory() as folder:
        write_mamba(model, Path(folder))
        layers = load_ssm(folder)
    tokens, _ = settings.task.draw(8, torch.Generator().manual_seed(99))
    with torch.no_grad():
        h = model.backbone["embeddings"](tokens).double()
    violations, decades, largest = 0, 0.0, 0.0
    for layer in layers:
        u = layer.normed(h)
        seen, bound = observe(layer, u), bibo_bound(layer, interval_constants(layer))
        violations += check_violations(layer, seen, bound).violations
        decades = math.log10(float((bound.h_max / seen.h_max.clamp(min=1e-300)).median()))
        largest = float(bound.h_max.max())
        with torch.no_grad():
            driven = layer.drive(u)
            h = h + layer.output(scan_layer(layer, driven).y, driven.z)
    right = answer_accuracy(model, settings.task, sequences=64)
    return {
        "log": [[line.step, line.loss, line.accuracy] for line in log],
        "model": {
            "steps": log[-1].step, "right": 100 * right, "decades": decades, "largest": largest,
            "violations": violations, "took": time.perf_counter() - started, "remark": told(log[-1], training),
        },
    }  # fmt: skip


def told(last: Logged, training: int) -> str:
    return f"stopped after {last.step} steps, right often enough" if last.step < training else f"all {training} steps"
