"""What can be moved, and what is prepared from it: a model's layer, a tile of it, and its activations."""

# a choice is text, of which the type checker does not know that it is one of a few
# pyright: reportArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from assay.efficient import (
    METHODS,
    Recipe,
    dequantise,
    group_width,
    kurtosis,
    quantise_rtn,
    quantise_sinq,
    sinkhorn_scales,
    tile_height,
)
from assay.kernels import Balanced
from workbench.sources import Source
from workbench.studies.efficient.sinq.subject import (
    Subject,
    matching,
    open_subject,
    own_inputs,
    read_passage,
    seen_inputs,
)
from workbench.study import Paper, Study

LEVELS = {"uniform": "even, with a zero point", "symmetric": "even around 0", "normal": "NF quantiles"}
TEXTS = {"prose": "SciPy’s documentation", "reference": "Python’s reference", "shakespeare": "Shakespeare"}
COMPARED = {
    "few": ("rtn", "hqq", "hadamard", "sinq"),
    "claims": ("rtn", "hqq", "hadamard", "nf", "sinq", "sinq-nf", "awq", "asinq"),
    "all": tuple(METHODS),
}
LIVE_WINDOWS = 8
STEPS = (0, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64)
"""Iterations at which the curve over them is computed."""

study = Study(
    "sinq",
    paper=Paper(
        title="SINQ: Sinkhorn-Normalized Quantization for Calibration-Free Low-Precision LLM Weights",
        arxiv="2509.22944",
        authors="Müller, Bich, Zhuang, Çelik, Benfenati, Cavigelli",
    ),
    question="Does a second scale make weights of few bits better, without any data?",
    summary="Dual-scale quantisation of your own model",
)

study.group("Model")
study.checkpoint(
    "model", "sample:prose-decoder", samples=("prose-decoder", "made-columns", "minilm", "smollm2"),
    label="Checkpoint", group="Model",
    suffixes=(".safetensors", ".gguf", ".npz", ".pt", ".bin", ""), needs="a checkpoint with matrices of floats",
    doc="Whose weights are quantised; Llama-like decoders and BERT-like encoders are run as well.",
)  # fmt: skip
study.choice("layer", choices="layer_names", group="Model", doc="The matrix that is looked at.")
study.integer(
    "tile", 1, bounds="tile_range", group="Model",
    doc="Which tile of it, the most uneven first.",
)  # fmt: skip
study.flag(
    "requantise", False, label="Dequantise first", group="Model", rare=True,
    doc="Take weights that are 4-bit codes already as numbers, and quantise them again.",
)  # fmt: skip
study.text(
    "layers_filter", "*", label="Layers", group="Model", rare=True,
    doc="Names of matrices that runs quantise, with * for anything; several with commas.",
)  # fmt: skip
study.data(
    "activations", optional=True, group="Model", rare=True, suffixes=(".npz",),
    needs="an .npz with an array (tokens, D) for a layer's name",
    doc="Inputs of layers of yours, where the model is not run here.",
)  # fmt: skip

study.group("Quantiser", equation=r"\hat W = s_1 \odot (q - z) \odot s_2")
study.choice("bits", "4", choices=("2", "3", "4", "5", "6", "8"), symbol="b", group="Quantiser", doc="Bits of a code.")
study.choice(
    "group", "64", choices=("16", "32", "64", "128", "256"), symbol="g", group="Quantiser",
    doc="Weights that share a scale s₁; halved until it divides a row.",
)  # fmt: skip
study.choice(
    "levels", "uniform", choices=LEVELS, group="Quantiser",
    doc="What codes stand for; NF4 and NF3 need 4 or 3 bits.",
)  # fmt: skip
study.choice(
    "tiling", "1d", choices={"1d": "all rows × g", "2d": "g × g"}, group="Quantiser", rare=True,
    doc="What is balanced at a time: g columns with all rows, or with g rows.",
)  # fmt: skip
study.flag(
    "refine", False, label="HQQ zeros", group="Quantiser", rare=True, doc="Zero points moved by HQQ’s iteration."
)
study.flag(
    "aux", False, label="8-bit scales", group="Quantiser", rare=True,
    doc="Scales and zero points kept in 8 bits, as the released code does by default.",
)  # fmt: skip
study.choice(
    "gate", "off", choices={"off": "off", "5": "above 5"}, label="Kurtosis gate", group="Quantiser", rare=True,
    doc="Layers of higher kurtosis are rounded to nearest; the released code does so, and the paper does not say it.",
)  # fmt: skip

study.group("Balancing", equation=r"\ln \mu_j \leftarrow \ln \mu_j + \ln \mathrm{clip}\,(\sigma_j / \sigma_{\min})")
study.integer(
    "iterations", 16, bounds=(0, 64), symbol="k", group="Balancing",
    doc="Iterations over rows and columns; 0 and 1 are round-to-nearest.",
)  # fmt: skip
study.number(
    "low", 0.7, bounds=(0.3, 1.0), step=0.01, label="Least factor", group="Balancing", rare=True,
    doc="By which a scale may shrink in an iteration.",
)  # fmt: skip
study.number(
    "high", 2.0, bounds=(1.0, 4.0), step=0.05, label="Largest factor", group="Balancing", rare=True,
    doc="By which a scale may grow in an iteration.",
)  # fmt: skip
study.flag("stop", True, label="Stop when it rises", group="Balancing", rare=True,
           doc="A tile’s scales stay once its imbalance has risen.")  # fmt: skip

study.group("Error")
study.choice(
    "weigh", "weight", choices={"weight": "of weights", "output": "weighed by inputs"}, label="Error",
    group="Error",
    doc="Of a weight itself, or times the size of what it multiplies.",
)  # fmt: skip

study.group("Text")
study.choice(
    "text", "prose", choices=TEXTS, group="Text",
    doc="What perplexity is measured on and activations are taken from; WikiText2 and C4 are not on this machine.",
)  # fmt: skip
study.data(
    "own_text", optional=True, label="Your text", group="Text", rare=True, suffixes=(".txt", ".md"),
    needs="a text in UTF-8", doc="A text of yours in place of these.",
)  # fmt: skip
study.integer(
    "window", 128, bounds=(16, 1024), unit="tokens", group="Text", rare=True,
    doc="Length of a window; windows follow each other without overlap, and nothing stands before them.",
)  # fmt: skip

study.group("Effort")
study.integer(
    "layers", 40, bounds=(1, 2000), effort=True, label="Layers of a run", group="Effort", rare=True,
    doc="Matrices that are measured, evenly over the model.",
)  # fmt: skip
study.integer(
    "windows", 48, bounds=(4, 2000), effort=True, group="Effort", rare=True,
    doc="Windows of text, or sentences for an encoder.",
)  # fmt: skip
study.choice(
    "methods", "claims", choices={"few": "RTN, HQQ, Hadamard, SINQ", "claims": "and NF, AWQ, A-SINQ", "all": "all"},
    effort=True, group="Effort", rare=True, doc="What is compared on text.",
)  # fmt: skip
study.list(
    "try_bits", (2, 3, 4), bounds=(2, 8), length=(1, 6), effort=True, label="Bits compared", group="Effort", rare=True,
    doc="Bits at which methods are compared on text.",
)  # fmt: skip
study.list(
    "try_groups", (64,), bounds=(16, 256), length=(1, 5), effort=True, label="Groups compared", group="Effort",
    rare=True, doc="Groups at which methods are compared on text.",
)  # fmt: skip
study.integer(
    "alphas", 20, bounds=(1, 100), effort=True, symbol="α", label="Exponents of AWQ", group="Effort", rare=True,
    doc="How many exponents AWQ and A-SINQ try, from 0 to below 1.",
)  # fmt: skip
study.integer(
    "turns", 9, bounds=(1, 100), effort=True, label="Turns of timing", group="Effort", rare=True,
    doc="How often each time is taken.",
)  # fmt: skip
study.presets(
    quick={"layers": 6, "windows": 8, "methods": "claims", "alphas": 4, "turns": 2, "seeds": 2},
    standard={"layers": 40, "windows": 48, "methods": "claims", "alphas": 20, "turns": 9, "seeds": 3},
    full={"layers": 2000, "windows": 400, "methods": "all", "alphas": 20, "turns": 21, "seeds": 5,
          "try_groups": (32, 64, 128)},
)  # fmt: skip


@study.prepared
def subject(model: Source, requantise: bool) -> Subject:
    """The model, unread."""
    return open_subject(model, requantise)


@study.prepared
def layer_names(subject: Subject) -> dict[str, str]:
    """Matrices that can be looked at, with short names."""
    return {name: short(name) for name in subject.names}


def short(name: str) -> str:
    """`layers.3.mlp.down_proj` of `model.layers.3.mlp.down_proj.weight`."""
    return name.removesuffix(".weight").removeprefix("model.").removeprefix("encoder.")


@study.prepared
def recipe(
    bits: str, group: str, levels: str, tiling: str, refine: bool, aux: bool, gate: str, iterations: int, low: float,
    high: float, stop: bool,
) -> Recipe:  # fmt: skip
    """How it is quantised."""
    return Recipe(
        bits=int(bits), group=int(group), tiling=tiling, iterations=iterations, clamp=(low, high), stop=stop,
        levels=levels, refine=refine, aux=aux, gate=None if gate == "off" else float(gate),
    )  # fmt: skip


@study.prepared
def weight(subject: Subject, layer: str) -> torch.Tensor:
    """The matrix that is looked at.

    Raises:
        ValueError: it holds NaN or infinity; with its index.
    """
    found = subject.weight(layer)
    finite = torch.isfinite(found)
    if not bool(finite.all()):
        bad = finite.logical_not().nonzero()[0].tolist()
        raise ValueError(f"layer: {short(layer)} holds {float(found[tuple(bad)])} at {bad}; expected finite weights.")
    return found


@study.prepared
def grid(weight: torch.Tensor, group: str, tiling: str) -> tuple[int, int]:
    """Height and width of a tile."""
    width = group_width(weight.shape[1], int(group))
    return tile_height(len(weight), width, tiling), width


@study.prepared
def by_unevenness(weight: torch.Tensor, grid: tuple[int, int]) -> list[tuple[int, int]]:
    """Row and column of every tile, the one of the largest imbalance first."""
    height, width = grid
    tiles = weight.unflatten(1, (-1, width)).unflatten(0, (-1, height)).permute(0, 2, 1, 3)
    both = torch.cat([tiles.std(2), tiles.std(3)], 2)
    imbalance = both.amax(2) / both.amin(2).clamp(min=1e-12)
    order = imbalance.flatten().argsort(descending=True, stable=True)
    return [divmod(int(i), imbalance.shape[1]) for i in order]


@study.prepared
def tile_range(by_unevenness: list[tuple[int, int]]) -> tuple[int, int]:
    """Which tiles there are; a matrix of one tile offers a second place that shows the same."""
    return 1, max(2, len(by_unevenness))


@dataclass(frozen=True, eq=False)
class Tile:
    """What is looked at.

    Attributes:
        weight: (h, g). row, column: where it begins.
        strength: (g,) root mean square of the inputs that its columns multiply; None where they are not known.
    """

    weight: torch.Tensor
    row: int
    column: int
    strength: torch.Tensor | None


@study.prepared
def inputs(subject: Subject, activations: Source | None) -> Mapping[str, torch.Tensor] | None:
    """Activations by layer: those that were given, or those of a small model; None where they take a run."""
    if activations is not None:
        return own_inputs(activations, subject.names)
    if subject.made is not None:
        return own_inputs(subject.made, subject.names)
    if not subject.light or subject.net is None or not subject.shipped:
        return None
    return seen_inputs(subject.net, read_passage(subject, "prose", None, LIVE_WINDOWS, 128))


@study.prepared
def strength(
    subject: Subject, inputs: Mapping[str, torch.Tensor] | None, layer: str, weight: torch.Tensor
) -> torch.Tensor | None:
    """(D,) root mean square of the layer's inputs.

    Raises:
        ValueError: activations of another width.
    """
    own = None if inputs is None else inputs.get(layer)
    if own is None:
        return None
    if own.shape[1] != weight.shape[1]:
        raise ValueError(f"activations: {short(layer)} has {own.shape[1]} columns; expected {weight.shape[1]}.")
    return own.square().mean(0).sqrt()


@study.prepared
def shown_tile(
    weight: torch.Tensor, by_unevenness: list[tuple[int, int]], grid: tuple[int, int], tile: int,
    strength: torch.Tensor | None,
) -> Tile:  # fmt: skip
    """The tile."""
    a, b = by_unevenness[min(tile, len(by_unevenness)) - 1]
    height, width = grid
    columns = slice(b * width, (b + 1) * width)
    own = weight[a * height : (a + 1) * height, columns].contiguous()
    return Tile(own, a * height, b * width, None if strength is None else strength[columns])


def on_tile(recipe: Recipe, tile: Tile, **changes: object) -> Recipe:
    """The recipe for one tile alone: its width is the group, and nothing cuts it further."""
    values = {**{name: getattr(recipe, name) for name in recipe.__dataclass_fields__}, **changes}
    return Recipe(**{**values, "group": tile.weight.shape[1], "tiling": "1d"})


@dataclass(frozen=True, eq=False)
class Pair:
    """A tile before and after.

    Attributes:
        plain, dual: (h, g) what round-to-nearest and SINQ make of it.
        scales: of balancing. gated: the gate rounds the whole layer to nearest.
    """

    plain: torch.Tensor
    dual: torch.Tensor
    scales: Balanced
    gated: bool


@study.prepared
def gated(weight: torch.Tensor, recipe: Recipe) -> bool:
    """The kurtosis gate closes on this layer."""
    return recipe.gate is not None and kurtosis(weight) > recipe.gate


@study.prepared
def quantised_tile(shown_tile: Tile, recipe: Recipe, gated: bool) -> Pair:
    """The tile under both."""
    own = on_tile(recipe, shown_tile, gate=None)
    plain = dequantise(quantise_rtn(shown_tile.weight, own))
    scales = sinkhorn_scales(shown_tile.weight, own)
    dual = plain if gated else dequantise(quantise_sinq(shown_tile.weight, own))
    return Pair(plain, dual, scales, gated)


@dataclass(frozen=True, eq=False)
class Curve:
    """What iterations do to a tile.

    Attributes:
        at: (n,) iterations. imbalance: of the scaled tile. weight, output: errors over those of round-to-nearest, in
            per cent; output is None where activations are not known.
    """

    at: list[int]
    imbalance: list[float]
    weight: list[float]
    output: list[float] | None


@study.prepared
def curve(
    shown_tile: Tile, bits: str, group: str, levels: str, refine: bool, aux: bool, low: float, high: float, stop: bool,
) -> Curve:  # fmt: skip
    """Imbalance and error at several iterations; does not depend on the one that is set."""
    recipe = Recipe(
        bits=int(bits), group=int(group), clamp=(low, high), stop=stop, levels=levels, refine=refine, aux=aux
    )
    errors, outputs, imbalance = [], [], []
    for k in STEPS:
        own = on_tile(recipe, shown_tile, iterations=k)
        off = dequantise(quantise_sinq(shown_tile.weight, own)) - shown_tile.weight
        errors.append(float(off.square().sum()))
        if shown_tile.strength is not None:
            outputs.append(float((off * shown_tile.strength).square().sum()))
        found = sinkhorn_scales(shown_tile.weight, on_tile(recipe, shown_tile, iterations=max(k, 1)))
        imbalance.append(float(found.trace.min()))
    first, first_output = max(errors[0], 1e-30), max(outputs[0], 1e-30) if outputs else 1.0
    return Curve(
        list(STEPS), imbalance, [100 * e / first for e in errors],
        [100 * e / first_output for e in outputs] if outputs else None,
    )  # fmt: skip


@study.prepared
def chosen_names(subject: Subject, layers_filter: str) -> list[str]:
    """Matrices that runs quantise."""
    return matching(subject.names, layers_filter)
