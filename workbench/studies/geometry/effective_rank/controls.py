"""What can be moved, and what is prepared from it: a matrix with its gauge, and the suite of trained models."""

# pandas' own types do not tell a column from a table
# pyright: reportReturnType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from assay import checkpoints
from assay.data import model_file
from assay.geometry import RowFactor, factor_rows, gauge_maps
from assay.models import KeptDecoder, KeptSuite, final_states, read_decoder, read_suite, round_to_nearest
from workbench.sources import Source
from workbench.study import Paper, Study

GAUGES = {
    "raw": "raw",
    "centred": "centred",
    "folded": "gain folded in",
    "centred and folded": "centred, gain folded in",
    "whitened": "whitened by states",
    "centred and whitened": "centred, whitened by states",
}
METRICS = {
    "effective rank": "R(W), % of d",
    "variance effective rank": "R₂(W), % of d",
    "participation ratio": "Participation ratio, % of d",
    "stable rank": "Stable rank, % of d",
    "average cosine": "Average cosine",
    "isotropy": "Isotropy I(W)",
    "isoscore": "IsoScore(W)",
    "effective rank of H": "R(H), % of d",
    "average cosine of H": "Average cosine of H",
    "isoscore of H": "IsoScore(H)",
}
RANKS = tuple(name for name, words in METRICS.items() if "%" in words)
OUTCOMES = {
    "loss prose": "Loss on held-out prose",
    "loss code": "Loss on code, out of distribution",
    "loss gptq 2": "Loss after GPTQ, 2 bits",
    "loss code tuned": "Loss on code after fine-tuning",
}
FACTORS = {
    "batch": "Batch (windows)", "weight_decay": "Weight decay", "rate": "Peak learning rate",
    "final_share": "Last rate over peak",
}  # fmt: skip
PRECISIONS = {"stored": "as stored", "bfloat16": "bfloat16", "8": "8 bits a weight", "4": "4 bits a weight",
              "3": "3 bits a weight"}  # fmt: skip
RANDOM_STATES = 256

study = Study(
    "effective-rank",
    paper=Paper(
        title="Disentangling Geometry, Performance, and Training in Language Models",
        arxiv="2602.20433",
        authors="Kulkarni, Springer, Subramonian, Swayamdipta",
    ),
    question="Does the effective rank of the unembedding say how good a language model is?",
    summary="Effective rank of your own checkpoint",
)

study.group("Model")
study.checkpoint(
    "model", "sample:small-decoder", samples=("small-decoder", "smollm2", "minilm"), label="Checkpoint", group="Model",
    suffixes=(".safetensors", ".gguf", ".pt", ".bin", ".npz", ".npy", ""),
    needs="a checkpoint of a language model, or a matrix (npy)",
    doc="Whose unembedding is measured; every view shows it.",
)  # fmt: skip
study.checkpoint(
    "other", optional=True, label="Beside it", group="Model",
    suffixes=(".safetensors", ".gguf", ".pt", ".bin", ".npz", ".npy", ""), needs="another checkpoint",
    doc="A second checkpoint, to compare with the first.",
)  # fmt: skip
study.data(
    "states", optional=True, label="Final states", group="Model", rare=True, suffixes=(".npy",),
    needs="an array (n, d) of states that the unembedding multiplies",
    doc="States of your model after the final norm; whitening needs them.",
)  # fmt: skip
study.text(
    "key", "", label="Tensor", group="Model", rare=True,
    doc="Name of the matrix to measure; empty takes the unembedding, or an encoder’s embedding.",
)  # fmt: skip
study.choice(
    "precision", "stored", choices=PRECISIONS, label="Precision", group="Model", rare=True,
    doc="The matrix is rounded to it first; rounding adds rank.",
)  # fmt: skip
study.number(
    "row_share", 1.0, bounds=(0.01, 1.0), step=0.01, label="Rows measured", group="Model", rare=True,
    doc="Share of the vocabulary, first ids first: in byte-pair encodings the bytes, then common tokens, rare last.",
)  # fmt: skip
study.flag(
    "unit_rows", False, label="Rows at length 1", group="Model", rare=True,
    doc="Rows are scaled to one length first: frequent and rare tokens then weigh the same.",
)  # fmt: skip
study.checkpoint(
    "steps_folder", optional=True, label="Folder of steps", group="Model", rare=True, suffixes=("",),
    needs="a folder with a checkpoint for each step, such as step1000",
    doc="Checkpoints over training: their rank is drawn over steps.",
)  # fmt: skip

study.group("Gauge", equation=r"z = W h = (W M^{-1})(M h)")
study.number(
    "move", 0.0, bounds=(-1.0, 1.0), step=0.01, symbol="M", label="Gauge", group="Gauge",
    doc="An invertible map between final states and unembedding: 0 none, 1 one direction stretched a million times.",
)  # fmt: skip
study.choice("gauge", "raw", choices=GAUGES, label="Measured in", group="Gauge", doc="The form W is brought to first.")
study.choice(
    "power", "1", choices={"1": "s, the paper’s", "2": "s², variance"}, label="Exponent", group="Gauge",
    doc="What effective rank takes shares of; papers mix the two under one name.",
)  # fmt: skip

study.group("Spectrum by hand", equation=r"s_i \to b_i\, s_i^{\gamma}")
study.number(
    "kept", 1.0, bounds=(0.01, 1.0), step=0.01, label="Directions kept", group="Spectrum by hand",
    doc="Share of the largest singular values that stay; the rest are cut.",
)  # fmt: skip
study.number(
    "gamma", 1.0, bounds=(0.0, 4.0), step=0.05, symbol="γ", label="Flatten or sharpen", group="Spectrum by hand",
    doc="Singular values are raised to this power.",
)  # fmt: skip
study.number(
    "spike", 1.0, bounds=(1.0, 100.0), log=True, label="Spike", group="Spectrum by hand",
    doc="The largest singular value is multiplied by this.",
)  # fmt: skip

study.group("Suite")
study.data(
    "runs_table", samples=("rank-suite",), label="Table of runs", group="Suite", rare=True, suffixes=(".csv",),
    needs="a table of runs with the columns of runs.csv",
    doc="Trained models, one a row; a copy of runs.csv with rows of your own may take its place.",
)  # fmt: skip
study.choice(
    "size", "all", choices="size_names", group="Suite", rare=True,
    doc="Which sizes of model the views of the suite show; experiments and claims take them all.",
)  # fmt: skip
study.choice("metric", "effective rank", choices=METRICS, group="Suite", doc="What is compared with loss.")
study.choice("outcome", "loss prose", choices=OUTCOMES, group="Suite", doc="What it should say something about.")
study.choice(
    "colour", "batch", choices=FACTORS, label="Coloured by", group="Suite", doc="Training choice to colour by."
)
study.choice(
    "held", "all", choices={"all": "size and training choices", "size": "size alone", "none": "nothing"},
    label="Hold fixed", group="Suite", doc="What the partial correlation holds fixed.",
)  # fmt: skip

study.group("Effort")
study.integer(
    "resamples", 2000, bounds=(100, 20_000), effort=True, group="Effort", rare=True,
    doc="Resamples of configurations, and permutations.",
)  # fmt: skip
study.integer(
    "draws", 40, bounds=(2, 1000), effort=True, group="Effort", rare=True,
    doc="Synthetic tables of each world that the statistics are tried on.",
)  # fmt: skip
study.integer(
    "runs", 3, bounds=(1, 134), effort=True, label="Models to train", group="Effort",
    doc="Models of the suite that are trained again; 134 trains all.",
)  # fmt: skip
study.integer(
    "tokens", 131_072, bounds=(4096, 1_048_576), effort=True, label="Tokens a run", group="Effort", rare=True,
    doc="A run of the suite sees 131,072; fewer only show that it works.",
)  # fmt: skip

study.presets(
    quick={"resamples": 100, "draws": 2, "runs": 2, "tokens": 8192, "seeds": 2},
    standard={"resamples": 2000, "draws": 40, "runs": 3, "tokens": 131_072, "seeds": 3},
    full={"resamples": 5000, "draws": 200, "runs": 134, "tokens": 131_072, "seeds": 5},
)


@dataclass(frozen=True, eq=False)
class OwnMatrix:
    """A matrix of a checkpoint.

    Attributes:
        name: of the checkpoint. key: of the tensor. dtype: as it is stored.
        weight: (V, d); rows of padding are left out.
        gain: (d,) of the final norm, or None.
        embedding: it is an encoder's input embedding: there is no unembedding.
        tied: it is the input embedding as well.
        notes: sentences to show.
    """

    name: str
    key: str
    dtype: str
    weight: torch.Tensor
    gain: np.ndarray | None
    embedding: bool
    tied: bool
    notes: tuple[str, ...]


def place_of(source: Source) -> Path:
    return model_file(source.name) if source.path is None else source.path


def read_matrix(source: Source, key: str) -> OwnMatrix:
    """The unembedding of a checkpoint; the embedding of an encoder; or the tensor that is named.

    Raises:
        ValueError: neither is there, or it cannot be read.
    """
    opened = checkpoints.open(place_of(source))
    parts = opened.parts
    encoder = not key and parts.unembedding is None and parts.embedding is not None and bool(parts.refusal)
    found = checkpoints.find_unembedding(opened, key=parts.embedding if encoder else key or None)
    named = bool(key) and key != parts.unembedding
    gain = None if found.gain is None or encoder or named else found.gain.double().numpy()
    notes = (
        (*found.notes, "An encoder: its input embedding is shown, for there is no unembedding.")
        if encoder
        else found.notes
    )
    if gain is not None and not gain.all():
        gain, notes = None, (*notes, "The final norm’s gain holds zeros; it is not folded in.")
    weight = found.weight[: found.vocab_used]
    return OwnMatrix(source.name, found.key, found.dtype, weight, gain, encoder, found.tied, notes)


def chosen_rows(found: OwnMatrix, row_share: float, unit_rows: bool) -> OwnMatrix:
    """The first rows of a matrix, at length 1 if so wished; a row of zeros stays one.

    Raises:
        ValueError: fewer than two rows would be left.
    """
    weight, notes = found.weight, found.notes
    if row_share < 1:
        count = round(row_share * len(weight))
        if count < 2:
            raise ValueError(
                f"row_share: got {row_share:g}, {count} of {len(weight)} rows; expected a share that leaves 2 or more."
            )
        weight, notes = weight[:count], (*notes, f"The first {count:,} of {len(weight):,} rows.")
        if count < weight.shape[1]:
            notes = (*notes, f"Rank is capped by these {count:,} rows.")
    if unit_rows:
        weight = torch.nn.functional.normalize(weight.double(), dim=1, eps=1e-300).float()
        notes = (*notes, "Rows at length 1.")
    return replace(found, weight=weight, notes=notes)


@study.prepared
def matrix(model: Source, key: str, precision: str, row_share: float, unit_rows: bool) -> OwnMatrix:
    """The matrix that is measured."""
    return chosen_rows(rounded_matrix(read_matrix(model, key), precision), row_share, unit_rows)


def rounded_matrix(found: OwnMatrix, precision: str) -> OwnMatrix:
    """A matrix on the grid of a precision."""
    if precision == "stored":
        return found
    if precision == "bfloat16":
        rounded = found.weight.bfloat16().float()
    else:
        rounded = round_to_nearest(found.weight.float(), int(precision))
    said = f"Rounded to {PRECISIONS[precision]}, each row on a grid of its own." if precision.isdigit() else "Rounded."
    return replace(found, weight=rounded, dtype=PRECISIONS[precision], notes=(*found.notes, said))


@study.prepared
def second(other: Source | None, row_share: float, unit_rows: bool) -> OwnMatrix | None:
    """The matrix beside it."""
    return None if other is None else chosen_rows(read_matrix(other, ""), row_share, unit_rows)


@study.prepared
def factor(matrix: OwnMatrix) -> RowFactor:
    """The matrix without its rows: what spectra under every gauge follow from."""
    return factor_rows(matrix.weight)


@study.prepared
def decoder() -> KeptDecoder:
    """The model that comes along."""
    return read_decoder()


@dataclass(frozen=True, eq=False)
class States:
    """What the unembedding multiplies.

    Attributes:
        hidden: (n, d) float64. targets: (n,) the next token of each, or None where it is not known.
        real: they are states of a model, not random directions.
        said: what they are, in words.
    """

    hidden: np.ndarray
    targets: np.ndarray | None
    real: bool
    said: str

    @property
    def covariance(self) -> np.ndarray | None:
        """(d, d), of real states."""
        return np.cov(self.hidden, rowvar=False, bias=True) if self.real else None


@study.prepared
def final(
    model: Source, states: Source | None, matrix: OwnMatrix, decoder: KeptDecoder, unit_rows: bool
) -> States:  # fmt: skip
    """Final states of the model: its own where it came along or they were given, random directions elsewhere."""
    d = matrix.weight.shape[1]
    if states is not None and states.path is not None:
        with states.path.open("rb") as file:
            given = np.load(file, allow_pickle=False)
        if given.ndim != 2 or given.shape[1] != d or len(given) < 2 or not np.isfinite(given).all():
            raise ValueError(f"states: got an array {given.shape}; expected finite numbers, (n, {d}).")
        few = f"; fewer than {2 * d} say little of a covariance" if len(given) < 2 * d else ""
        return States(given.astype(np.float64), None, True, f"of {len(given):,} given states{few}")
    if model.path is None and model.name == "small-decoder" and matrix.key == "lm_head.weight":
        text = decoder.held_out
        hidden = final_states(decoder.model, text, from_position=16).double().numpy()
        whole = len(matrix.weight) == decoder.model.shape.tokens and not unit_rows
        targets = text[:, 17:].reshape(-1).numpy() if whole else None
        return States(hidden, targets, True, f"of {len(hidden):,} states, at positions from 16 on in unseen text")
    rng = np.random.default_rng(0)
    return States(rng.standard_normal((RANDOM_STATES, d)), None, False, "random directions in place of states")


@study.prepared
def axes(factor: RowFactor) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and right singular vectors of the matrix."""
    return factor.axes()


@study.prepared
def maps(factor: RowFactor, axes: tuple[np.ndarray, np.ndarray], move: float) -> tuple[np.ndarray, np.ndarray]:
    """(d, d) M, from states to moved states, and M⁻¹."""
    return gauge_maps(factor.columns, move, axes)


def spectrum_under(
    factor: RowFactor,
    gauge: str,
    gain: np.ndarray | None,
    covariance: np.ndarray | None,
    maps: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Singular values of W M⁻¹ in a gauge: those of the small factor of W, changed in the same way.

    Args:
        maps: M and M⁻¹; none leaves the matrix as it is stored.

    Raises:
        ValueError: a gauge that needs the final norm's gain, or states, where there are none.
    """
    small = factor.stacked(center=gauge.startswith("centred"))
    if "folded" in gauge:
        if gain is None:
            raise ValueError(f"gauge: {GAUGES[gauge]} needs the gain of a final norm; expected raw or centred.")
        small = small * gain
    if maps is not None:
        small = small @ maps[1]
    if "whitened" in gauge:
        if covariance is None:
            raise ValueError(f"gauge: {GAUGES[gauge]} needs states of the model; expected raw or centred.")
        moved = covariance if maps is None else maps[0] @ covariance @ maps[0].T
        values, vectors = np.linalg.eigh(moved)
        small = small @ (vectors * np.sqrt(np.clip(values, 0, None)))
    # As many rows as columns: no Gram matrix saves anything, nor is any digit lost.
    return torch.linalg.svdvals(torch.from_numpy(small)).numpy()[: min(factor.rows, factor.columns)]


@study.prepared
def stored_spectrum(factor: RowFactor, matrix: OwnMatrix, final: States, gauge: str) -> np.ndarray:
    """Singular values in the gauge that is set, before any move."""
    return spectrum_under(factor, gauge, matrix.gain, final.covariance)


@study.prepared
def spectrum(
    factor: RowFactor, matrix: OwnMatrix, final: States, gauge: str, maps: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """Singular values in the gauge that is set, after the move."""
    return spectrum_under(factor, gauge, matrix.gain, final.covariance, maps)


@study.prepared
def by_hand(spectrum: np.ndarray, kept: float, gamma: float, spike: float) -> np.ndarray:
    """The spectrum as it was cut, flattened or spiked."""
    changed = (spectrum / spectrum[0]) ** gamma
    changed[max(1, round(kept * len(changed))) :] = 0.0
    changed[0] *= spike
    return changed


@study.prepared
def suite() -> KeptSuite:
    """The trained models that are kept, with their logs."""
    return read_suite()


def runs_file(source: Source) -> Path:
    """The table of a source; of a folder such as the suite's, its runs."""
    place = place_of(source)
    return place / "runs.csv" if place.is_dir() else place


@study.prepared
def table(runs_table: Source) -> pd.DataFrame:
    """A row a run; ranks in percent of d, and a column that names the size.

    Raises:
        ValueError: a column is missing.
    """
    table = pd.read_csv(runs_file(runs_table))
    needed = ["kind", "config", "width", "layers", "tied", *FACTORS, *METRICS, *OUTCOMES]
    if missing := [name for name in needed if name not in table]:
        raise ValueError(f"runs_table: {runs_table.name} has no column {missing[0]}; expected {', '.join(needed)}.")
    for name in RANKS:
        table[name] = 100 * table[name] / table["width"]
    table["size"] = [f"{w} wide, {n} deep" for w, n in zip(table["width"], table["layers"], strict=True)]
    return table


@study.prepared
def grid(table: pd.DataFrame) -> pd.DataFrame:
    """The controlled part of it: 18 configurations in each of six sizes."""
    return grid_of(table)


@study.prepared
def size_names(grid: pd.DataFrame) -> dict[str, str]:
    """The sizes of the suite, smallest first, after all of them."""
    sizes = grid.drop_duplicates("size").sort_values(["width", "layers"])["size"]
    return {"all": "all sizes", **{name: name for name in sizes}}


@study.prepared
def shown_grid(grid: pd.DataFrame, size: str) -> pd.DataFrame:
    """The runs that views of the suite show."""
    return grid if size == "all" else grid[grid["size"] == size].reset_index(drop=True)


def grid_of(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["kind"] == "grid"].reset_index(drop=True)


def held_columns(rows: pd.DataFrame, held: str) -> dict[str, np.ndarray]:
    """Columns that a partial correlation holds fixed; their grids as labels, so that no effect need be monotone."""
    names = {"all": ["size", *FACTORS], "size": ["size"], "none": []}[held]
    return {name: rows[name].astype(str).to_numpy() for name in names}
