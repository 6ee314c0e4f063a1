"""A suite of small language models, trained so that every choice varies by itself: what rank and loss depend on.

Six sizes, each in 18 configurations of batch, weight decay, learning rate, its last value, and seed. The configurations
are the rows of an orthogonal array, L18 (Taguchi): every level of a factor meets every level of another equally often,
so that no factor stands in for another. Beside this grid there are repeats of its middle with other seeds, the same
with tied embeddings, and long runs of the smallest model, with blocks in sequence and in parallel.

All runs of the grid see the same number of tokens, as in arXiv 2602.20433; a larger batch then means fewer steps.
Weight decay acts through rate x decay x steps; as there are few steps here, its grid reaches higher than the paper's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from assay.geometry import effective_rank, measure_matrix, measure_spectrum, singular_values
from assay.geometry.isotropy import anisotropy, average_cosine, isoscore
from assay.models.byte_pairs import BytePairs
from assay.models.decoder import Decoder, DecoderShape
from assay.models.language_training import (
    Budget,
    TrainingLog,
    final_states,
    loss_by_window,
    train_language_model,
    windows,
)
from assay.models.quantisation import quantised
from assay.models.texts import Corpus, installed_text, split_documents

__all__ = ["Recipe", "SuiteText", "suite_recipes", "suite_row", "suite_text", "train_recipe"]

Array = NDArray[np.float64]
Progress = Callable[[Iterable[Any]], Iterable[Any]]

TOKENS = 1024  # of the vocabulary
CONTEXT = 64
WIDTHS, DEPTHS = (16, 32, 48), (1, 3)
BATCHES, DECAYS, RATES, FINAL_SHARES = (4, 16, 64), (0.0, 0.5, 4.0), (1e-3, 3e-3, 9e-3), (0.0, 0.1)
BUDGET = 2**17  # tokens a run
LONG = 6  # times as many, on a text of a sixth
ENTRIES = 16
EVALUATED = {"prose": 256, "reference": 128, "code": 128}  # windows
LOGGED = 32
TUNING = Budget(steps=24, batch=8, rate=1e-3, final_share=0.1)

# Levels of the final share (2) and of batch, decay, rate and seed (3 each): five columns of L18.
L18 = (
    (0, 0, 0, 0, 0), (0, 0, 1, 1, 1), (0, 0, 2, 2, 2), (0, 1, 0, 0, 1), (0, 1, 1, 1, 2), (0, 1, 2, 2, 0),
    (0, 2, 0, 1, 0), (0, 2, 1, 2, 1), (0, 2, 2, 0, 2), (1, 0, 0, 2, 2), (1, 0, 1, 0, 0), (1, 0, 2, 1, 1),
    (1, 1, 0, 1, 2), (1, 1, 1, 2, 0), (1, 1, 2, 0, 1), (1, 2, 0, 2, 1), (1, 2, 1, 0, 2), (1, 2, 2, 1, 0),
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """How one model of the suite is made.

    Attributes:
        kind: `grid`, `repeat`, `tied` or `long`.
        config: number of its configuration, the same in every size; -1 outside the grid.
        width, layers, tied, parallel: of the decoder.
        batch, rate, final_share, weight_decay: of the budget.
        tokens: that are trained on. share: of the training text, in which they are drawn; below 1 they come again.
        seed: of weights and order.
    """

    kind: str
    config: int
    width: int
    layers: int
    batch: int
    rate: float
    final_share: float
    weight_decay: float
    seed: int
    tied: bool = False
    parallel: bool = False
    tokens: int = BUDGET
    share: float = 1.0

    @property
    def name(self) -> str:
        """Names it among all of the suite, and a file of it."""
        what = f"{self.config:02d}" if self.kind == "grid" else f"wd{self.weight_decay:g}-s{self.seed}"
        return f"{self.kind}-w{self.width}-l{self.layers}-{what}{'-parallel' if self.parallel else ''}"

    @property
    def shape(self) -> DecoderShape:
        """Of the decoder."""
        return DecoderShape(TOKENS, self.width, self.layers, context=CONTEXT, tied=self.tied, parallel=self.parallel)

    @property
    def budget(self) -> Budget:
        """Of its training."""
        steps = max(ENTRIES, self.tokens // (CONTEXT * self.batch))
        return Budget(steps, self.batch, self.rate, self.final_share, self.weight_decay)


def suite_recipes() -> tuple[Recipe, ...]:
    """All models of the suite: 108 of the grid first, then 9 repeats, 9 tied and 8 long ones."""
    sizes = [(width, layers) for layers in DEPTHS for width in WIDTHS]
    grid = [
        Recipe("grid", i, width, layers, BATCHES[batch], RATES[rate], FINAL_SHARES[final], DECAYS[decay], seed)
        for i, (final, batch, decay, rate, seed) in enumerate(L18)
        for width, layers in sizes
    ]
    middle = (BATCHES[1], RATES[1], FINAL_SHARES[0], DECAYS[1])
    others = [
        Recipe(kind, -1, width, DEPTHS[0], *middle, seed, tied=kind == "tied")
        for kind in ("repeat", "tied")
        for width in WIDTHS
        for seed in (10, 11, 12)
    ]
    slow = {"rate": RATES[1], "final_share": FINAL_SHARES[1], "tokens": LONG * BUDGET, "share": 1 / LONG}
    long = [
        Recipe("long", -1, WIDTHS[0], DEPTHS[0], BATCHES[1], weight_decay=decay, seed=seed, parallel=parallel, **slow)
        for decay in DECAYS[1:]
        for parallel in (False, True)
        for seed in (0, 1)
    ]
    return (*grid, *others, *long)


@dataclass(frozen=True, eq=False)
class SuiteText:
    """Text of the suite, as windows.

    Attributes:
        pairs: the vocabulary, of the training documents.
        train: (N, 65) windows of prose.
        trained_on: the corpus of these.
        held_out: windows that nothing was trained on, by corpus, that one included.
        tune: windows of code to fine-tune on.
        sources: package and version, and SHA-256, of each corpus.
    """

    pairs: BytePairs
    train: Tensor
    trained_on: str
    held_out: Mapping[str, Tensor]
    tune: Tensor
    sources: Mapping[str, Mapping[str, str]]


def suite_text(
    merges: NDArray[np.integer[Any]] | None = None, *, short: bool = False, progress: Progress | None = None
) -> SuiteText:
    """Read and tokenise the text of the suite.

    Args:
        merges: of a vocabulary that was kept; by default it is found in the training documents, in seconds.
        short: train on the reference manual alone, which is read in half a second, and measure on it alone.
        progress: wraps files and merges; raising in it stops the work.

    Raises:
        ValueError: text is missing on this machine.
    """
    corpora: tuple[Corpus, ...] = ("reference",) if short else ("prose", "reference", "code")
    texts = {name: installed_text(name, progress=progress) for name in corpora}
    parts = {name: split_documents(text) for name, text in texts.items()}
    train, held = parts[corpora[0]]
    pairs = BytePairs.trained(train, TOKENS, progress=progress) if merges is None else BytePairs(merges)
    tuning, held_code = parts[corpora[-1]]
    held_out = {corpora[0]: held} | ({} if short else {"reference": texts["reference"].documents, "code": held_code})
    needed = TUNING.steps * TUNING.batch + 1
    return SuiteText(
        pairs=pairs,
        train=windows(pairs.encode_documents(train), CONTEXT),
        trained_on=corpora[0],
        held_out={name: few(pairs, documents, EVALUATED[name]) for name, documents in held_out.items()},
        tune=few(pairs, tuning, needed),
        sources={name: {"source": text.source, "sha256": text.sha256} for name, text in texts.items()},
    )


def few(pairs: BytePairs, documents: tuple[str, ...], count: int) -> Tensor:
    """At most so many windows, from the first part of every document."""
    share = max(CONTEXT, 2 * count * CONTEXT // max(1, len(documents)))
    parts = [pairs.encode(text[: 4 * share])[:share] for text in documents]
    found = windows(np.concatenate(parts), CONTEXT)
    return found[torch.linspace(0, len(found) - 1, min(count, len(found))).long()]


def train_recipe(
    recipe: Recipe, text: SuiteText, *, state: Path | None = None, progress: Progress | None = None
) -> tuple[Decoder, TrainingLog]:
    """Train one model; loss on held-out text and the effective rank of the unembedding are logged 16 times.

    Args:
        recipe: how.
        text: what on.
        state: where an interrupted run is kept.
        progress: wraps the steps; raising in it stops the work.
    """
    model = Decoder(recipe.shape, torch.Generator().manual_seed(1000 + recipe.seed))
    held = text.held_out[text.trained_on]
    logged = held[:: max(1, len(held) // LOGGED)]

    def measure(model: Decoder) -> dict[str, float]:
        weight = model.unembedding.weight.detach()
        return {
            "loss": float(loss_by_window(model, logged).mean()),
            "effective rank": float(effective_rank(singular_values(weight))),
        }

    log = train_language_model(
        model,
        text.train[: max(1, int(recipe.share * len(text.train)))],
        recipe.budget,
        generator=torch.Generator().manual_seed(2000 + recipe.seed),
        measure=measure,
        entries=ENTRIES * (3 if recipe.kind == "long" else 1),
        state=state,
        progress=progress,
    )
    return model, log


def suite_row(
    recipe: Recipe, text: SuiteText, *, state: Path | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Train one model and measure it: recipe, losses, measures of W and H, spectra and the log.

    Returns:
        Numbers by name, and arrays: `spectrum` (d,) of W, `states` (d,) singular values of centred H over sqrt(n),
        `step`, `loss by step` and `rank by step` (L,).
    """
    began = time.process_time()
    model, log = train_recipe(recipe, text, state=state, progress=progress)
    weight = model.unembedding.weight.detach()
    by_window = {name: loss_by_window(model, held) for name, held in text.held_out.items()}
    hidden = final_states(model, text.held_out["prose"][::4])
    return {
        **asdict(recipe),
        "steps": recipe.budget.steps,
        "parameters": recipe.shape.non_embedding,
        **{f"loss {name}": float(values.mean()) for name, values in by_window.items()},
        "loss error": float(by_window["prose"].std(ddof=1) / np.sqrt(len(by_window["prose"]))),
        **quantised_losses(model, text),
        "loss code tuned": tuned_loss(model, text, recipe.seed),
        **of_unembedding(weight, model.final_norm.weight.detach().double().numpy(), hidden.double().numpy()),
        **of_states(hidden),
        "spectrum": singular_values(weight),
        "states": singular_values(hidden.double() - hidden.double().mean(dim=0)) / np.sqrt(len(hidden)),
        "step": log.step,
        "loss by step": log.column("loss"),
        "rank by step": log.column("effective rank"),
        "seconds": time.process_time() - began,
    }


def quantised_losses(model: Decoder, text: SuiteText) -> dict[str, float]:
    """Loss on prose of copies of few bits."""
    held, calibration = text.held_out["prose"][::2], text.train[:: max(1, len(text.train) // 16)][:16]
    found = {}
    for bits in (3, 2):
        found[f"loss gptq {bits}"] = float(loss_by_window(quantised(model, bits, calibration), held).mean())
    found["loss rounded 2"] = float(loss_by_window(quantised(model, 2), held).mean())
    found["loss full"] = float(loss_by_window(model, held).mean())
    return found


def tuned_loss(model: Decoder, text: SuiteText, seed: int) -> float:
    """Loss on held-out code after fine-tuning a copy on other code."""
    copy = Decoder(model.shape, torch.Generator().manual_seed(0))
    copy.load_state_dict(model.state_dict())
    train_language_model(copy, text.tune, TUNING, generator=torch.Generator().manual_seed(3000 + seed))
    return float(loss_by_window(copy, text.held_out["code"]).mean())


def of_unembedding(weight: Tensor, gain: Array, hidden: Array) -> dict[str, float]:
    """Measures of W, raw; effective ranks under the other gauges."""
    covariance = np.cov(hidden, rowvar=False, bias=True)
    found = measure_matrix(weight, gain=gain, hidden_cov=covariance)
    raw = found.spectra["raw"]
    assert raw.decay is not None and raw.tail is not None and found.average_cosine is not None
    assert found.isoscore is not None
    return {
        "effective rank": raw.effective_rank,
        "variance effective rank": raw.variance_effective_rank,
        "participation ratio": raw.participation_ratio,
        "stable rank": raw.stable_rank,
        "nuclear rank": raw.nuclear_rank,
        "decay exponent": raw.decay.alpha,
        "tail exponent": raw.tail.alpha,
        "average cosine": found.average_cosine,
        "isotropy": found.partition.both,
        "isoscore": found.isoscore,
        "mean share": found.mean_share,
        **{f"effective rank, {name}": s.effective_rank for name, s in found.spectra.items() if name != "raw"},
    }


def of_states(hidden: Tensor) -> dict[str, float]:
    """Measures of H, (n, d) states after the final norm; spectra are centred."""
    centred = measure_spectrum(singular_values(hidden.double() - hidden.double().mean(dim=0)))
    return {
        "effective rank of H": centred.effective_rank,
        "participation ratio of H": centred.participation_ratio,
        "average cosine of H": average_cosine(hidden),
        "isoscore of H": isoscore(hidden),
        "anisotropy of H": anisotropy(hidden),
    }
