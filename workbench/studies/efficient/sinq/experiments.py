"""What takes longer: every layer, methods on text, exactness, and time."""

# pandas' own types do not tell a column from a table
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportReturnType=false, reportOperatorIssue=false, reportIndexIssue=false

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from assay.efficient import (
    CALIBRATED,
    METHODS,
    Recipe,
    absorb_scales,
    dequantise,
    expected_output_error,
    kurtosis,
    llama_plan,
    output_error,
    quantise_by,
    quantise_rtn,
    quantise_sinq,
    sinkhorn_scales,
    sinq_linear,
    weight_error,
)
from assay.models import PROSE_DECODER_FOLDER, Bert, Llama, llama_of_decoder, read_decoder
from workbench.sources import Source
from workbench.studies.efficient.sinq.controls import COMPARED, short, study
from workbench.studies.efficient.sinq.subject import (
    Passage,
    Subject,
    own_inputs,
    read_passage,
    seen_inputs,
)
from workbench.study import Run, exact, note, numeric, timing

CALIBRATION_WINDOWS = 8


def spread_over(names: list[str], count: int) -> list[str]:
    """So many names, evenly over all."""
    rows = np.unique(np.linspace(0, len(names) - 1, min(count, len(names))).round().astype(int))
    return [names[i] for i in rows]


def layer_number(name: str) -> int:
    """The first number in a name; −1 where there is none."""
    return next((int(part) for part in name.split(".") if part.isdigit()), -1)


def activations_of(
    run: Run, subject: Subject, given: Source | None, text: str, own_text: Source | None, window: int
) -> Mapping[str, torch.Tensor]:
    """Inputs of layers: those that were given, or those on the text; none where the model is not run."""
    if given is not None or subject.made is not None:
        return own_inputs(given or subject.made, subject.names)
    if subject.net is None:
        return {}
    passage = read_passage(subject, text, own_text, CALIBRATION_WINDOWS, window)
    return seen_inputs(subject.net.loaded(), passage, run.check)


@study.experiment(
    "Measure every layer",
    tables={
        "layers": {
            "layer": exact("str"),
            "number": exact("int"),
            "rows": exact("int"),
            "columns": exact("int"),
            "state": exact("str", doc="quantised, gated, or why it is refused."),
            "kurtosis": numeric(),
            "before": numeric(doc="Imbalance, mean over tiles, in logarithms."),
            "after": numeric(doc="The same, after balancing."),
            "rtn_weight": numeric("%", "|W − Ŵ|² over |W|²."),
            "sinq_weight": numeric("%"),
            "rtn_output": numeric("%", "|(W − Ŵ) x|² over |W x|²; 0 where activations are not known."),
            "sinq_output": numeric("%"),
            "shuffled_output": numeric("%", "With SINQ’s column scales shuffled within tiles."),
            "oracle_output": numeric("%", "With column scales from activations."),
            "rho": numeric(doc="Spearman’s, of −ln μ₁ and ln r.m.s. x; 0 where activations are not known."),
            "rho_shuffled": numeric(doc="The same with columns shuffled."),
            "known": exact("bool", doc="Activations are known."),
            "noise": numeric(doc="Measured output error of SINQ over that of uniform noise; 0 where not known."),
        },
        "steps": {
            "layer": exact("str"),
            "iterations": exact("int"),
            "imbalance": numeric(doc="Geometric mean over tiles."),
            "error": numeric("%", "Of weights, over that of round-to-nearest."),
        },
    },
    cost={"quick": 0.5, "standard": 2, "full": 2},
)
def survey(
    run: Run, subject: Subject, recipe: Recipe, chosen_names: list[str], activations: Source | None, text: str,
    own_text: Source | None, window: int, layers: int,
) -> None:  # fmt: skip
    """Imbalance, errors and the correlation of column scales with activations, layer by layer."""
    inputs = activations_of(run, subject, activations, text, own_text, window)
    for name in run.progress(spread_over(chosen_names, layers), "layers"):
        weight = subject.weight(name)
        row: dict[str, Any] = {"layer": short(name), "number": layer_number(name), "rows": len(weight)}
        row |= {"columns": weight.shape[1], **dict.fromkeys(MEASURED, 0.0), "known": name in inputs}
        try:
            row |= one_layer(run, weight, recipe, inputs.get(name), name)
        except ValueError as error:
            run.row("layers", **{**row, "state": f"refused: {error}"})
            continue
        run.row("layers", **row)
        plain = weight_error(weight, dequantise(quantise_rtn(weight, recipe)))
        for k in (1, 2, 3, 4, 6, 8, 16, 32):
            own = replace(recipe, iterations=k, gate=None)
            trace = sinkhorn_scales(weight, own).trace.amin(-1)
            lost = weight_error(weight, dequantise(quantise_sinq(weight, own)))
            run.row("steps", layer=short(name), iterations=k, imbalance=float(trace.log().mean().exp()),
                    error=100 * lost / max(plain, 1e-30))  # fmt: skip


MEASURED = (
    "kurtosis", "before", "after", "rtn_weight", "sinq_weight", "rtn_output", "sinq_output", "shuffled_output",
    "oracle_output", "rho", "rho_shuffled", "noise",
)  # fmt: skip


def one_layer(
    run: Run, weight: torch.Tensor, recipe: Recipe, given: torch.Tensor | None, name: str
) -> dict[str, Any]:  # fmt: skip
    """A layer's row.

    Raises:
        ValueError: it cannot be quantised.
    """
    scales = sinkhorn_scales(weight, replace(recipe, iterations=max(recipe.iterations, 1)))
    generator = run.generator("shuffled", name)
    made = {m: quantise_by(weight, m, recipe, generator=generator) for m in ("rtn", "sinq", "shuffled")}
    row: dict[str, Any] = {
        "state": "gated" if made["sinq"].gated else "quantised", "kurtosis": kurtosis(weight),
        "before": float(scales.trace[..., 0].log().mean().exp()),
        "after": float(scales.trace.amin(-1).log().mean().exp()),
        "rtn_weight": 100 * weight_error(weight, made["rtn"].weight),
        "sinq_weight": 100 * weight_error(weight, made["sinq"].weight),
    }  # fmt: skip
    if given is None:
        return row
    made["oracle"] = quantise_by(weight, "oracle", recipe, inputs=given)
    row |= {f"{m}_output": 100 * output_error(weight, made[m].weight, given) for m in made}
    strength = given.double().square().mean(0).sqrt().clamp(min=1e-12).log().numpy()
    mu = -scales.columns.double().log().mean(0).numpy()
    row["rho"] = rank_correlation(mu, strength)
    row["rho_shuffled"] = rank_correlation(run.rng("columns", name).permutation(mu), strength)
    if recipe.levels != "normal":
        quantised = quantise_sinq(weight, recipe)
        off = (given.double() @ (dequantise(quantised) - weight).double().T).square().sum(1).mean()
        row["noise"] = float(off) / expected_output_error(quantised, given.square().mean(0))
    return row


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's; 0 where a side is constant."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    first, second = (np.argsort(np.argsort(v, kind="stable"), kind="stable") for v in (a, b))
    return float(np.corrcoef(first, second)[0, 1])


@study.experiment(
    "Compare methods on text",
    tables={
        "units": {
            "method": exact("str"),
            "bits": exact("int"),
            "group": exact("int"),
            "unit": exact("int", doc="Window, or sentence of an encoder."),
            "block": exact("int", doc="What is resampled."),
            "value": numeric(doc="Nats a token, or for an encoder 1 − cosine with the float model."),
            "floating": numeric(doc="The same of the float model."),
        },
        "methods": {
            "method": exact("str"),
            "bits": exact("int"),
            "group": exact("int"),
            "bits_a_weight": exact(),
            "measure": exact("str", doc="perplexity, or retrieval of an encoder."),
            "value": numeric(doc="exp of the mean loss; share of sentences whose nearest is that of the float model."),
            "floating": numeric(),
            "gated": exact("int", doc="Layers that the kurtosis gate rounded to nearest."),
            "exact": exact("bool", doc="Weights came back as they were: they lay on such a grid before."),
            "took": timing(),
        },
        "text": {
            "said": exact("str"),
            "units": exact("int"),
            "tokens": exact("int"),
            "again": exact("str", doc="Stored type, where weights were codes before."),
        },
    },
    cost={"quick": 4, "standard": 15, "full": 500},
)
def quality(
    run: Run, subject: Subject, recipe: Recipe, chosen_names: list[str], text: str, own_text: Source | None,
    window: int, windows: int, methods: str, try_bits: tuple[float, ...], try_groups: tuple[float, ...], alphas: int,
) -> None:  # fmt: skip
    """Loss on held-out text, or fidelity of embeddings, of each method at each number of bits."""
    passage = read_passage(subject, text, own_text, windows, window)
    assert subject.net is not None
    net = subject.net.loaded()
    calibration = read_passage(subject, text, own_text, windows + CALIBRATION_WINDOWS, window)
    inputs = seen_inputs(net, held_apart(calibration, passage), run.check)
    floating, _ = judged(net, passage, None, run.check)
    tokens = int(passage.windows[:, 1:].numel()) if passage.windows is not None else sum(map(len, passage.sentences))
    run.row("text", said=passage.said, units=len(passage.blocks), tokens=tokens, again=subject.coded)
    settings = [(int(b), int(g)) for b in try_bits for g in try_groups if int(b) in (2, 3, 4, 5, 6, 8)]
    for bits, group in run.progress(settings, "bits and groups"):
        own = replace(recipe, bits=bits, group=power_of_two(group), levels="uniform", refine=False)
        names = [m for m in COMPARED[methods] if bits in (3, 4) or "nf" not in m]
        for method in run.progress(names, "methods"):
            began = time.perf_counter()
            changed, gated, same, size = quantised_weights(run, net, chosen_names, method, own, inputs, alphas)
            took = time.perf_counter() - began
            values, total = judged(net.with_weights(changed), passage, net, run.check)
            for unit, (value, base, block) in enumerate(zip(values, floating, passage.blocks, strict=True)):
                run.row("units", method=method, bits=bits, group=own.group, unit=unit, block=block, value=value,
                        floating=base)  # fmt: skip
            encoder = isinstance(net, Bert)
            run.row("methods", method=method, bits=bits, group=own.group, bits_a_weight=size,
                    measure="retrieval" if encoder else "perplexity",
                    value=total if encoder else float(np.exp(np.mean(values))),
                    floating=1.0 if encoder else float(np.exp(np.mean(floating))), gated=gated, exact=same,
                    took=took)  # fmt: skip


def power_of_two(group: int) -> int:
    return max(16, 2 ** round(np.log2(group)))


def held_apart(calibration: Passage, passage: Passage) -> Passage:
    """Text for calibration that the comparison does not judge on, where there is enough of it."""
    if calibration.windows is not None and passage.windows is not None:
        judged_on = {tuple(row.tolist()) for row in passage.windows}
        rows = [i for i, row in enumerate(calibration.windows) if tuple(row.tolist()) not in judged_on]
        own = calibration.windows[rows[:CALIBRATION_WINDOWS]] if rows else calibration.windows[:CALIBRATION_WINDOWS]
        return replace(calibration, windows=own, blocks=calibration.blocks[: len(own)])
    others = tuple(one for one in calibration.sentences if one not in set(passage.sentences))
    return replace(calibration, sentences=others or calibration.sentences)


def quantised_weights(
    run: Run, net: Llama | Bert, names: list[str], method: str, recipe: Recipe, inputs: Mapping[str, torch.Tensor],
    alphas: int,
) -> tuple[dict[str, torch.Tensor], int, bool, float]:  # fmt: skip
    """Changed weights by name, gated layers, whether all came back as they were, and bits a weight over all."""
    changed, gated, same, bits, count = {}, 0, True, 0.0, 0
    for name in names:
        run.check()
        weight = net.weights[name]
        given = inputs.get(name) if method in CALIBRATED else None
        try:
            found = quantise_by(weight, method, recipe, inputs=given, generator=run.generator(method, name),
                                alphas=alphas)  # fmt: skip
        except ValueError as error:
            raise ValueError(
                f"layers_filter: {short(name)} cannot be quantised by {METHODS[method]}: {error}"
            ) from None
        changed[name] = found.weight
        gated += found.gated
        same = same and float((found.weight - weight).abs().max()) <= 1e-5 * float(weight.abs().max())
        bits, count = bits + found.bits_a_weight * weight.numel(), count + weight.numel()
    return changed, gated, same, bits / max(count, 1)


def judged(
    net: Llama | Bert, passage: Passage, floating: Llama | Bert | None, each: Callable[[], None]
) -> tuple[list[float], float]:
    """A value for each unit; of an encoder beside the float model also the share of retrievals that stay."""
    if isinstance(net, Llama):
        assert passage.windows is not None
        values: list[float] = []
        for part in passage.windows.split(4):
            each()
            logits = net.logits(part[:, :-1])
            losses = functional.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten(), reduction="none")
            values += losses.view(len(part), -1).double().mean(1).tolist()
        return values, 0.0
    own = embeddings(net, passage, each)
    if not isinstance(floating, Bert):
        return [0.0] * len(own), 1.0
    base = embeddings(floating, passage, each)
    nearest = [(m @ m.T - 2 * torch.eye(len(m))).argmax(1) for m in (own, base)]
    distance = (1 - (own * base).sum(1)).clamp(min=0)
    return distance.double().tolist(), float((nearest[0] == nearest[1]).double().mean())


def embeddings(net: Bert, passage: Passage, each: Callable[[], None]) -> torch.Tensor:
    parts = []
    for first in range(0, len(passage.sentences), 32):
        each()
        parts.append(net.embed(passage.sentences[first : first + 32]))
    return torch.cat(parts)


@study.experiment(
    "Check what is exact",
    tables={
        "checks": {
            "check": exact("str"),
            "value": numeric(),
            "bound": exact(),
            "cases": exact("int"),
            "note": note("What was compared."),
        }
    },
    cost={"quick": 0.5, "standard": 1, "full": 1},
)
def checks(run: Run, subject: Subject, recipe: Recipe) -> None:
    """Absorbed scales leave logits, the packed product is the product, rows change no code."""
    net = subject.net if isinstance(subject.net, Llama) and subject.light else shipped()
    kept = read_decoder(PROSE_DECODER_FOLDER).held_out
    tokens = kept[:4, :-1] if len(net.weights["model.embed_tokens.weight"]) == 1024 else kept[:4, :-1] % 1024
    before = net.logits(tokens)
    after = net.with_weights(absorb_scales(net.weights, llama_plan(net))).logits(tokens)
    run.row("checks", check="absorbed", value=float((after - before).abs().max()), bound=1e-4, cases=before.numel(),
            note="Logits of a decoder whose column scales went into norms and the matrices before.")  # fmt: skip
    names = spread_over(list(net.matrices()), 6)
    worst, cases, codes = 0.0, 0, 0
    rng = run.generator("inputs")
    for name in run.progress(names, "matrices"):
        weight = net.weights[name]
        made = quantise_sinq(weight, recipe)
        x = torch.randn(2, weight.shape[1], generator=rng)
        want = x.double() @ dequantise(made).double().T
        worst = max(worst, float((sinq_linear(x, made) - want).abs().max() / want.abs().max()))
        cases += want.numel()
        if recipe.levels == "uniform" and not recipe.refine and not recipe.aux:
            rows = 2.0 ** torch.randint(-1, 2, (len(weight), 1), generator=rng)
            plain, scaled = quantise_rtn(weight, recipe), quantise_rtn(weight * rows, recipe)
            codes += int((plain.codes != scaled.codes).sum())
    run.row("checks", check="packed product", value=worst, bound=1e-5, cases=cases,
            note="y = Q (s₂ ⊙ x) from packed bytes beside the dequantised product in float64.")  # fmt: skip
    run.row("checks", check="rows change no code", value=float(codes), bound=0.5, cases=cases,
            note="Codes that differ after rows were multiplied by powers of two.")  # fmt: skip


def shipped() -> Llama:
    return llama_of_decoder(read_decoder(PROSE_DECODER_FOLDER).model)


TIMED = ("rtn", "hqq", "sinq", "awq", "asinq")


@study.experiment(
    "Take the times",
    tables={
        "quantising": {
            "method": exact("str"),
            "turn": exact("int"),
            "seconds": timing(),
            "ratio": timing(),
            "over_sinq": timing(),
        },
        "products": {"form": exact("str"), "turn": exact("int"), "seconds": timing(), "ratio": timing()},
        "matrix": {"rows": exact("int"), "columns": exact("int"), "extra": exact(doc="Multiplications by s₂, %.")},
    },
    cost={"quick": 1, "standard": 15, "full": 40},
)
def times(run: Run, recipe: Recipe, turns: int, alphas: int) -> None:
    """Seconds to quantise a matrix by each method, and of its product at batch 1, in turns on one thread."""
    rows, columns = (512, 512) if turns < 5 else (2048, 1024)
    rng = run.generator("matrix")
    weight = 0.02 * torch.randn(rows, columns, generator=rng) * (0.4 * torch.randn(columns, generator=rng)).exp()
    inputs = torch.randn(64, columns, generator=rng)
    own = replace(recipe, gate=None, levels="uniform", refine=False)
    made = quantise_sinq(weight, own)
    packed, x = made.packed, torch.randn(1, columns, generator=rng)
    plain = replace(made, column=None)
    for method in TIMED:
        quantise_by(weight, method, own, inputs=inputs, alphas=alphas)
    for turn in run.progress(range(turns), "turns"):
        seconds = {}
        for method in TIMED:
            began = time.perf_counter()
            quantise_by(weight, method, own, inputs=inputs, alphas=alphas)
            seconds[method] = time.perf_counter() - began
        for method, value in seconds.items():
            run.row(
                "quantising",
                method=method,
                turn=turn,
                seconds=value,
                ratio=value / seconds["rtn"],
                over_sinq=value / seconds["sinq"],
            )
        both = {"one scale": plain, "two scales": made}
        best = {
            form: min(timed(lambda one=one: sinq_linear(x, one, packed)) for _ in range(5))
            for form, one in both.items()
        }
        for form, value in best.items():
            run.row("products", form=form, turn=turn, seconds=value, ratio=value / best["one scale"])
    run.row("matrix", rows=rows, columns=columns, extra=100 / rows)


def timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
