"""What is run: the suite's statistics, their validation, interventions on one model, training again, a whole model."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch.nn import functional

from assay import checkpoints
from assay.geometry import (
    effective_rank,
    effective_rank_loss,
    gauge_move,
    measure_spectrum,
    reshape_spectrum,
    singular_values,
    synthetic_runs,
    truncate_spectrum,
)
from assay.models import (
    Decoder,
    KeptDecoder,
    KeptSuite,
    Recipe,
    SuiteText,
    final_states,
    loss_by_window,
    suite_recipes,
    suite_text,
    train_language_model,
    train_recipe,
)
from assay.statistics import incremental_r2, partial_spearman
from workbench.sources import Source
from workbench.studies.geometry.effective_rank.controls import (
    METRICS,
    OUTCOMES,
    held_columns,
    place_of,
    study,
)
from workbench.studies.geometry.effective_rank.suite_effects import long_runs, suite_effects
from workbench.study import Run, exact, note, numeric, statistical, timing

LOSS = "loss prose"
EFFECTS = {
    "effect": exact("str"),
    "estimate": statistical(),
    "low": statistical(),
    "high": statistical(),
    "over": exact("str"),
    "n": exact("int"),
}


@study.experiment(
    "Control for training choices",
    tables={
        "metrics": {
            "metric": exact("str"),
            "outcome": exact("str"),
            "raw": numeric(doc="Spearman’s correlation."),
            "partial": numeric(doc="With what is held fixed taken out."),
            "partial_low": statistical(),
            "partial_high": statistical(),
            "p": statistical(doc="Permuting configurations."),
            "gain": statistical(doc="Incremental R² on configurations that were held out."),
            "gain_low": statistical(),
            "gain_high": statistical(),
            "base": statistical(doc="R² of size and training choices alone."),
            "n": exact("int", doc="Runs."),
            "configurations": exact("int"),
        },
        "effects": EFFECTS,
        "long": {
            "run": exact("str"),
            "parallel": exact("bool"),
            "rank": numeric("%"),
            "middle": numeric("%", "Middle of the grid’s runs of this size."),
            "low": exact("bool"),
            "degraded": statistical(dtype="bool"),
            "rise": numeric("nats"),
            "p": statistical(),
            "drop": numeric(doc="Largest fall of R."),
            "lag": numeric("steps", "From the lowest loss to that fall."),
            "lag_low": statistical("steps", "Of its interval over resampled scatter."),
            "lag_high": statistical("steps"),
            "best_step": numeric("steps", "Middle of the window where the loss is lowest."),
            "drop_step": numeric("steps", "First step after that fall."),
        },
    },
    cost={"quick": 6, "standard": 60, "full": 150},
)
def analyse(
    run: Run, table: pd.DataFrame, suite: KeptSuite, grid: pd.DataFrame, held: str, resamples: int
) -> dict[str, Any]:
    """Raw and partial rank correlation and incremental R² of every metric with every outcome, over configurations."""
    pairs = [(metric, outcome) for metric in METRICS for outcome in OUTCOMES]
    pairs += [(LOSS, outcome) for outcome in OUTCOMES if outcome != LOSS]  # the predictor that rank is compared with
    configs = grid["config"].to_numpy()
    controls = held_columns(grid, held)
    base = held_columns(grid, "all")
    for metric, outcome in run.progress(pairs, "metrics and outcomes"):
        x, y = grid[metric].to_numpy(float), grid[outcome].to_numpy(float)
        rng = run.rng("partial", metric, outcome)
        one = partial_spearman(x, y, controls, rng=rng, clusters=configs, permutations=resamples, resamples=resamples)
        raw = partial_spearman(x, y, {}, rng=rng, clusters=configs, permutations=1, resamples=100).rho
        gain = incremental_r2(y, base, {metric: x}, configs, rng=run.rng("gain", outcome), resamples=resamples)
        (low, high), (gain_low, gain_high) = one.interval.around, gain.interval.around
        run.row(
            "metrics", metric=metric, outcome=outcome, raw=raw, partial=one.rho,
            partial_low=low, partial_high=high, p=one.p, gain=gain.delta, gain_low=gain_low, gain_high=gain_high,
            base=gain.base, n=len(x), configurations=len(np.unique(configs)),
        )  # fmt: skip
    return {
        "effects": suite_effects(table, run.rng("effects"), resamples),
        "long": long_runs(suite, run.rng("long")),
    }


@study.experiment(
    "Validate the statistics",
    tables={
        "tables": {
            "world": exact("str"),
            "draw": exact("int"),
            "raw": numeric(),
            "partial": numeric(),
            "p": statistical(),
            "gain": statistical(),
            "gain_low": statistical(),
        }
    },
    cost={"quick": 2, "standard": 30, "full": 200},
)
def validate(run: Run, draws: int) -> None:
    """Tables of 108 runs whose causes are known: is a cause found, and none where there is none?"""
    items = [{"world": world, "draw": draw} for draw in range(draws) for world in ("common cause", "cause")]
    for item, found in zip(items, run.map(analyse_synthetic, items, "synthetic tables"), strict=True):
        run.row("tables", **item, **found)


def analyse_synthetic(run: Run, item: dict[str, Any]) -> dict[str, float]:
    """The suite's statistics on one table of known causes."""
    rng = run.rng("synthetic", item["world"], item["draw"])
    made = synthetic_runs(rng, world=item["world"])
    controls = made.controls()
    one = partial_spearman(
        made.rank, made.loss, controls, rng=rng, clusters=made.config, permutations=199, resamples=100
    )
    raw = partial_spearman(made.rank, made.loss, {}, rng=rng, clusters=made.config, permutations=1, resamples=100).rho
    gain = incremental_r2(made.loss, controls, {"R": made.rank}, made.config, rng=rng, repeats=2, resamples=200)
    return {"raw": raw, "partial": one.rho, "p": one.p, "gain": gain.delta, "gain_low": float(gain.interval.low)}


GAUGES_TRIED = (-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0)
KEPT_TRIED = (1, 2, 4, 8, 16, 24, 32, 40, 48)
GAMMAS_TRIED = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


@study.experiment(
    "Change the rank by hand",
    tables={
        "points": {
            "change": exact("str", doc="gauge, cut or reshaped"),
            "value": exact(),
            "rank": numeric(doc="Effective rank of W."),
            "loss": numeric("nats"),
            "moved": numeric(doc="Largest change of a logit over the largest logit."),
            "same": numeric("%", "States whose likeliest token stays."),
        }
    },
    cost={"quick": 1, "standard": 1, "full": 1},
)
def interventions(run: Run, decoder: KeptDecoder) -> None:
    """Gauge moves, cuts and reshaped spectra of the model that comes along: what happens to its rank, and its loss?"""
    text = decoder.held_out
    hidden = final_states(decoder.model, text, from_position=0).double()
    targets = text[:, 1:].reshape(-1)
    weight = decoder.model.unembedding.weight.detach().double()
    reference = hidden @ weight.T
    items = [("gauge", v) for v in GAUGES_TRIED]
    items += [("cut", float(v)) for v in KEPT_TRIED if v <= weight.shape[1]]
    items += [("reshaped", v) for v in GAMMAS_TRIED]
    for change, value in run.progress(items, "changes"):
        states, other = hidden, weight
        if change == "gauge":
            found, move = gauge_move(weight, value)
            other, states = torch.as_tensor(found), hidden @ torch.as_tensor(move).T
        elif change == "cut":
            other = torch.as_tensor(truncate_spectrum(weight, int(value)))
        else:
            other = torch.as_tensor(reshape_spectrum(weight, value))
        logits = states @ other.T
        run.row(
            "points", change=change, value=value, rank=float(effective_rank(singular_values(other))),
            loss=float(functional.cross_entropy(logits, targets)),
            moved=float((logits - reference).abs().max() / reference.abs().max()),
            same=100 * float((logits.argmax(1) == reference.argmax(1)).double().mean()),
        )  # fmt: skip


@study.experiment(
    "Train models again",
    tables={
        "runs": {
            "run": exact("str"),
            "tokens": exact("int"),
            "rank": statistical("%"),
            "kept_rank": exact(unit="%", doc="Of the kept run; 0 where another budget was set."),
            "loss": statistical("nats"),
            "kept_loss": exact(unit="nats"),
            "took": timing(),
        },
        "log": {"run": exact("str"), "step": exact("int"), "loss": statistical("nats"), "rank": statistical("%")},
    },
    cost={"quick": 4, "standard": 60, "full": 1600},
)
def retrain(run: Run, suite: KeptSuite, runs: int, tokens: int) -> None:
    """Models of the suite, trained here; at the suite's own budget they are compared with the kept ones.

    Up to 8,192 tokens a run, the reference manual alone is read, and nothing is compared.
    """
    recipes = suite_recipes()
    chosen = [recipes[i] for i in np.unique(np.linspace(0, len(recipes) - 1, min(runs, len(recipes))).astype(int))]
    own = [r for r in chosen if r.kind != "long"] if runs < len(recipes) else chosen
    items = [with_tokens(recipe, tokens) for recipe in own]
    kept = {kept_name(row): i for i, row in enumerate(suite.rows)}
    read = functools.cache(functools.partial(suite_text, suite.merges, short=tokens <= 8192))
    for item, found in zip(items, run.map(functools.partial(train_again, read=read), items, "models"), strict=True):
        recipe = Recipe(**item)
        same = recipe in recipes and recipe.name in kept
        place = kept.get(recipe.name, 0)
        percent = 100 / recipe.width
        run.row(
            "runs", run=recipe.name, tokens=recipe.tokens, rank=percent * found["rank"][-1],
            kept_rank=percent * float(suite.rank[place][-1]) if same else 0.0, loss=found["loss"][-1],
            kept_loss=float(suite.loss[place][-1]) if same else 0.0, took=found["took"],
        )  # fmt: skip
        for step, loss, rank in zip(found["step"], found["loss"], found["rank"], strict=True):
            run.row("log", run=recipe.name, step=step, loss=loss, rank=percent * rank)


def train_again(run: Run, item: dict[str, Any], *, read: Callable[[], SuiteText]) -> dict[str, Any]:
    """One model of the suite: its log, and how long it took."""
    recipe, text = Recipe(**item), read()
    started = time.perf_counter()
    _, log = train_recipe(recipe, text, progress=lambda steps: run.progress(steps, recipe.name))
    logged = {name: log.column(column).tolist() for name, column in (("loss", "loss"), ("rank", "effective rank"))}
    return {"step": [int(step) for step in log.step], **logged, "took": time.perf_counter() - started}


def with_tokens(recipe: Recipe, tokens: int) -> dict[str, Any]:
    """A recipe of the grid with another budget, as plain data; long ones keep theirs."""
    plain = dict(vars(recipe))
    return plain if recipe.kind == "long" else plain | {"tokens": tokens}


def kept_name(row: Any) -> str:
    return Recipe(**{name: row[name] for name in Recipe.__dataclass_fields__}).name


@study.experiment(
    "Hold the rank down while training",
    tables={
        "runs": {
            "seed": exact("int"),
            "penalised": exact("bool"),
            "target": exact(unit="%"),
            "rank": statistical("%"),
            "loss": statistical("nats"),
            "took": timing(),
        }
    },
    cost={"quick": 3, "standard": 40, "full": 70},
)
def penalised(run: Run, suite: KeptSuite, seeds: int, tokens: int) -> None:
    """The same model, seed and order of text, with and without a penalty that holds R(W) at half of d."""
    text = suite_text(suite.merges, short=tokens <= 8192)
    base = suite_recipes()[0]
    for seed in run.progress(range(seeds), "seeds"):
        for held in (False, True):
            started = time.perf_counter()
            recipe = Recipe(**dict(vars(base)) | {"batch": 16, "rate": 3e-3, "seed": 100 + seed, "tokens": tokens})
            model = Decoder(recipe.shape, torch.Generator().manual_seed(recipe.seed))
            train_language_model(
                model, text.train, recipe.budget, generator=torch.Generator().manual_seed(recipe.seed),
                penalty=functools.partial(toward, target=recipe.width / 2) if held else None,
                progress=lambda steps, s=seed: run.progress(steps, f"seed {s + 1}"),
            )  # fmt: skip
            weight = model.unembedding.weight.detach()
            run.row(
                "runs", seed=seed, penalised=held, target=50.0,
                rank=100 / recipe.width * float(effective_rank(singular_values(weight))),
                loss=float(loss_by_window(model, text.held_out[text.trained_on]).mean()),
                took=time.perf_counter() - started,
            )  # fmt: skip


def toward(model: Decoder, *, target: float) -> torch.Tensor:
    """The penalty: a tenth of the squared distance of R(W) from its target."""
    return 0.1 * effective_rank_loss(model.unembedding.weight, target)


@study.experiment(
    "Measure every matrix",
    tables={
        "matrices": {
            "tensor": exact("str"),
            "layer": exact("int", doc="−1 outside layers."),
            "rows": exact("int"),
            "columns": exact("int"),
            "stored": exact("str"),
            "rank": numeric("%", "Effective rank over the shorter side."),
            "variance_rank": numeric("%"),
            "stable_rank": numeric(),
            "decay": numeric(doc="Exponent over ranks; 0 where there is none."),
            "tail": numeric(doc="Exponent of the density; 0 where there is none."),
            "remark": note("Why a tensor was left out."),
        }
    },
    cost={"quick": 1, "standard": 1, "full": 1},
)
def whole_model(run: Run, model: Source) -> None:
    """Every matrix of the checkpoint, one at a time."""
    opened = checkpoints.open(place_of(model))
    layer_of = {name: layer.index for layer in opened.layers() for name in layer.names.values()}
    for name in run.progress(opened.names(), "tensors"):
        stored = opened.stored(name)
        if len(stored.shape) != 2 or min(stored.shape) < 2 or not stored.read_as.is_floating_point:
            continue
        row: dict[str, Any] = {
            "tensor": name, "layer": layer_of.get(name, -1),
            "rows": stored.shape[0], "columns": stored.shape[1], "stored": stored.dtype,
            "rank": 0.0, "variance_rank": 0.0, "stable_rank": 0.0, "decay": 0.0, "tail": 0.0, "remark": "",
        }  # fmt: skip
        try:
            found = measure_spectrum(singular_values(opened.tensor(name)))
        except ValueError as error:
            run.row("matrices", **row | {"remark": str(error)})
            continue
        short = min(stored.shape)
        row |= {
            "rank": 100 * found.effective_rank / short, "variance_rank": 100 * found.variance_effective_rank / short,
            "stable_rank": found.stable_rank,
        }  # fmt: skip
        row |= {"decay": found.decay.alpha if found.decay else 0.0, "tail": found.tail.alpha if found.tail else 0.0}
        run.row("matrices", **row)
