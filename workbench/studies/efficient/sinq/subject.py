"""The model that is quantised: whatever the checkpoint is, its matrices by name, what runs it, and text as tokens."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from assay import checkpoints
from assay.data import data_folder, model_file
from assay.efficient import Fate, Recipe, fate_of
from assay.models import (
    PROSE_DECODER_FOLDER,
    Bert,
    ByteLevel,
    BytePairs,
    Llama,
    WordPieces,
    installed_text,
    llama_of_decoder,
    read_bert,
    read_decoder,
    read_llama,
    read_tokens,
    split_documents,
    windows,
)
from workbench.sources import Source

__all__ = ["Passage", "Subject", "open_subject", "own_inputs", "read_passage"]

SMALL = 4_000_000  # parameters of a model that is run while one waits
KEPT_INPUTS = 512  # rows of a layer's activations that are kept
NAMED_KINDS = ("Q", "I", "U")  # stored types that are codes


@dataclass(frozen=True, eq=False)
class Subject:
    """A checkpoint to quantise.

    Attributes:
        name: of the checkpoint. opened: it, unread.
        net: what runs it, weights read when asked for; None where its architecture is not one that is run here.
        why: a sentence where it is not run. names: matrices that can be quantised, in order.
        coded: stored type of the weights where they are codes already, such as Q4_1; else empty.
        parameters: of all tensors. shipped: the decoder that comes along. made: inputs of the matrix that is made up.
    """

    name: str
    opened: checkpoints.Checkpoint
    net: Llama | Bert | None
    why: str
    names: tuple[str, ...]
    coded: str
    parameters: int
    shipped: bool
    made: Source | None = None

    @property
    def light(self) -> bool:
        """It is run while one waits."""
        return self.net is not None and self.parameters <= SMALL

    def weight(self, name: str) -> torch.Tensor:
        """A matrix in float32."""
        if self.net is not None:
            return self.net.weights[name]
        return self.opened.tensor(name, dtype=torch.float32)


def open_subject(source: Source, requantise: bool) -> Subject:
    """Open a checkpoint, and find what can be quantised and what runs it; reads no weights but of a shipped model.

    Raises:
        ValueError: it cannot be read, is quantised already, or has no matrix that can be quantised.
    """
    shipped = source.path is None and source.name == "prose-decoder"
    place = model_file(source.name) if source.path is None else source.path
    opened = checkpoints.open(place)
    net, why = runner(opened, shipped)
    found = [fate_of(opened, name, "*", Recipe(group=16), requantise=True) for name in opened.names()]
    able = [fate.name for fate in found if fate.state == "quantised"]
    codes = sorted({opened.stored(name).dtype for name in able if opened.stored(name).quantised})
    packed = [fate for fate in found if fate.state == "refused" and "already quantised" in fate.reason]
    if packed and not able:
        raise ValueError(f"model: {packed[0].name} is {packed[0].reason}, or open weights in floats.")
    if codes and not requantise:
        raise ValueError(
            f"model: {source.name} is already quantised: type {', '.join(codes)}; dequantise explicitly, by switching "
            "“Dequantise first” on, or open weights in floats."
        )
    names = tuple(able) if net is None else net.matrices()
    if not names:
        refused = next((f for f in found if f.state == "refused"), None)
        said = f"; {refused.name}: {refused.reason}" if refused else ""
        raise ValueError(f"model: {source.name} has no matrix that can be quantised{said}.")
    total = sum(opened.stored(name).numel for name in opened.names())
    made = None
    if source.path is None and source.name == "made-columns":
        made = Source(source.reference, "inputs of made-columns", source.sha256, place.with_name("inputs.npz"))
    return Subject(source.name, opened, net, why, names, ", ".join(codes), total, shipped, made)


def runner(opened: checkpoints.Checkpoint, shipped: bool) -> tuple[Llama | Bert | None, str]:
    """What runs a checkpoint, or why nothing does."""
    if shipped:
        return llama_of_decoder(read_decoder(PROSE_DECODER_FOLDER).model), ""
    reader: Callable[[checkpoints.Checkpoint], Llama | Bert] = read_llama
    if any("encoder.layer.0.attention.self.query" in name for name in opened.names()):
        reader = read_bert
    try:
        return reader(opened), ""
    except ValueError as error:
        return None, f"It is not run here: {error}"


def matching(names: tuple[str, ...], pattern: str) -> list[str]:
    """Names that a filter lets through.

    Raises:
        ValueError: none.
    """
    found = [n for n in names if any(fnmatch.fnmatchcase(n, one.strip() or "*") for one in pattern.split(","))]
    if not found:
        raise ValueError(f"layers_filter: {pattern!r} matches none of {len(names)} matrices; one is {names[0]}.")
    return found


def fates_of(subject: Subject, pattern: str, recipe: Recipe, requantise: bool) -> list[Fate]:
    """What would become of every stored tensor, from headers alone."""
    return [fate_of(subject.opened, name, pattern, recipe, requantise=requantise) for name in subject.opened.names()]


@dataclass(frozen=True, eq=False)
class Passage:
    """Text to try a model on.

    Attributes:
        windows: (N, T + 1) tokens for a decoder. sentences: tokens of each for an encoder.
        blocks: for each window or sentence, the block of text that it belongs to: what is resampled.
        said: where it is from.
    """

    windows: torch.Tensor | None
    sentences: tuple[tuple[int, ...], ...]
    blocks: tuple[int, ...]
    said: str


def read_passage(subject: Subject, text: str, own: Source | None, count: int, length: int) -> Passage:
    """So many windows of held-out text, or sentences for an encoder, spread evenly over it.

    Raises:
        ValueError: a text that is shorter than a window, cannot be read, or has tokens that the model lacks.
    """
    if subject.net is None:
        raise ValueError(f"model: {subject.why}")
    if subject.shipped and text == "prose" and own is None:
        kept = read_decoder(PROSE_DECODER_FOLDER).held_out
        rows = torch.linspace(0, len(kept) - 1, min(count, len(kept))).long()
        return Passage(kept[rows, : length + 1], (), blocks_of(len(rows)), "SciPy’s documentation, held out")
    documents, said = documents_of(text, own)
    tokens: BytePairs | ByteLevel | WordPieces
    tokens = read_decoder(PROSE_DECODER_FOLDER).pairs if subject.shipped else read_tokens(subject.opened)
    if isinstance(subject.net, Bert):
        lines = [" ".join(one.split())[:400] for one in documents]
        lines = [one for one in lines if len(one) >= 20]
        if len(lines) < 4:
            raise ValueError(f"text: got {len(lines)} passages of at least 20 characters; expected at least 4.")
        step = max(1, len(lines) // count)
        chosen = [tuple(tokens.encode(one)) for one in lines[::step][:count]]
        return Passage(None, tuple(chosen), tuple(range(len(chosen))), said)
    table = len(subject.net.weights["model.embed_tokens.weight"])
    size = min(length, subject.net.shape.context)
    needed = 12 * count * size  # characters that surely hold enough tokens
    share = max(4 * size, needed // max(1, len(documents)))
    found: list[int] = []
    for one in documents:
        found += list(tokens.encode(one[:share]))
        if len(found) > 3 * count * size:
            break
    if found and max(found) >= table:
        raise ValueError(
            f"text: has token {max(found)}, and the model has {table}; expected the tokenizer that the model was "
            "trained with."
        )
    import numpy as np

    cut = windows(np.array(found, dtype=np.int64), size)
    rows = torch.linspace(0, len(cut) - 1, min(count, len(cut))).long()
    return Passage(cut[rows], (), blocks_of(len(rows)), said)


def blocks_of(count: int) -> tuple[int, ...]:
    """Neighbouring windows in pairs: text near each other is alike, so it is resampled together."""
    return tuple(i // 2 for i in range(count))


def documents_of(text: str, own: Source | None) -> tuple[list[str], str]:
    """Documents that no shipped model was trained on."""
    if own is not None and own.path is not None:
        try:
            whole = own.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ValueError(f"own_text: {own.name} cannot be read as UTF-8 text; expected a text file.") from None
        if not whole.strip():
            raise ValueError(f"own_text: {own.name} holds no text; expected at least one window of it.")
        parts = [part for part in whole.split("\n\n") if part.strip()]
        return (["\n\n".join(parts)] if len(whole) < 20_000 else chunks(whole)), own.name
    if text == "shakespeare":
        folder = data_folder()
        place = Path() if folder is None else folder / "tiny-shakespeare" / "input.txt"
        if folder is None or not place.is_file():
            raise ValueError("text: tiny-shakespeare/input.txt is not under ASSAY_DATA; expected it, or another text.")
        return chunks(place.read_text(encoding="utf-8")), "Shakespeare’s plays"
    found = installed_text("prose" if text == "prose" else "reference")
    documents = list(split_documents(found)[1]) if text == "prose" else list(found.documents)
    return documents, found.source + ("’s documentation" if text == "prose" else "’s language reference")


def chunks(whole: str, size: int = 4000) -> list[str]:
    """Pieces of a long text."""
    return [whole[i : i + size] for i in range(0, len(whole), size)]


def own_inputs(source: Source, names: tuple[str, ...]) -> Mapping[str, torch.Tensor]:
    """Activations of the user's own, an array (tokens, D) for each layer's name.

    Raises:
        ValueError: no npz of finite matrices, or no name of a layer in it.
    """
    import numpy as np

    assert source.path is not None
    try:
        with np.load(source.path, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files if name in names or f"{name}.weight" in names}
            found = list(held.files)
    except (OSError, ValueError, EOFError):
        raise ValueError(
            f"activations: {source.name} cannot be read; expected an .npz of arrays (tokens, D)."
        ) from None
    if not arrays:
        raise ValueError(f"activations: names {', '.join(found[:3])}; expected names of layers, such as {names[0]}.")
    out = {}
    for name, value in arrays.items():
        if value.ndim != 2 or value.dtype.kind != "f" or not np.isfinite(value).all() or not len(value):
            raise ValueError(f"activations: {name} has shape {value.shape}; expected finite floats (tokens, D).")
        out[name if name in names else f"{name}.weight"] = torch.from_numpy(value.astype(np.float32))
    return out


def seen_inputs(net: Llama | Bert, passage: Passage, each: Callable[[], None] | None = None) -> dict[str, torch.Tensor]:
    """(n, D) inputs of every matrix on a passage, at most so many rows, evenly over it."""
    found: dict[str, list[torch.Tensor]] = {}

    def see(name: str, given: torch.Tensor) -> None:
        found.setdefault(name, []).append(given.reshape(-1, given.shape[-1]))

    if isinstance(net, Llama):
        assert passage.windows is not None
        parts = passage.windows[:, :-1].split(4)
        for part in parts:
            if each is not None:
                each()
            net.logits(part, lambda name, given: see(name, thinned(given, KEPT_INPUTS // len(parts) + 1)))
    else:
        net.embed(passage.sentences[:64], see)
    return {name: thinned(torch.cat(values), KEPT_INPUTS) for name, values in found.items()}


def thinned(given: torch.Tensor, most: int) -> torch.Tensor:
    flat = given.reshape(-1, given.shape[-1])
    return flat[torch.linspace(0, len(flat) - 1, min(most, len(flat))).long()].clone()
