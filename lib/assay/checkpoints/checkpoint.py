"""A checkpoint: named tensors in one or several files, read one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from assay.checkpoints.families import Parts, closest, locate
from assay.checkpoints.health import Health, Verdict, examine
from assay.checkpoints.layers import Layer, grouped, natural
from assay.checkpoints.stored import Stored, WeightFile, block_rows
from assay.data.references import content_sha256

__all__ = ["Checkpoint", "Row"]

Progress = Callable[[Iterable[Any]], Iterable[Any]]
BLOCK_BYTES = 16 * 1024**2
PASS_BYTES = 8 * 1024**2  # smaller ones pay for threads that wait for each other, larger ones leave the cache
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@dataclass(frozen=True)
class Row:
    """One tensor in a report.

    Attributes:
        name: the key.
        shape: None where no header says it.
        dtype: stored type, such as BF16 or Q8_0; empty where no header says it.
        nbytes: bytes in the file.
        file: the file's name.
        parameters: entries that it adds to the total; 0 where it is tied, or where no header says it.
        tied_to: name of the tensor that holds the same weights, or empty.
        verdict: on its values.
        nan, inf: how many there are.
        first: index of the first NaN or infinity.
        sentence: what is wrong, or empty.
    """

    name: str
    shape: tuple[int, ...] | None
    dtype: str
    nbytes: int
    file: str
    parameters: int
    tied_to: str
    verdict: Verdict
    nan: int = 0
    inf: int = 0
    first: tuple[int, ...] | None = None
    sentence: str = ""


class Checkpoint:
    """Named tensors of a checkpoint; made by `open`. Values are read when they are asked for, no file is held open.

    Attributes:
        name: of the file or folder.
        kind: `Hugging Face folder`, `safetensors`, `GGUF`, `PyTorch` or `NumPy`.
        folder: where tokenizer files may lie; None for a single file.
        config: `config.json`, or the metadata of a GGUF file, where an array of texts stands as its length.
        damaged: for each tensor that cannot be read, one sentence.
        notes: sentences to show beside any result: what is missing, and what was decided.
        ties: names of weights that are stored under another name, each with that name.
        parts: where embedding, unembedding and final norm are.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        files: Sequence[WeightFile],
        *,
        root: Path,
        deciding: Sequence[Path] = (),
        owners: Mapping[str, str] | None = None,
        config: Mapping[str, Any] | None = None,
        damaged: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Join files.

        Args:
            name, kind, config, notes: see the attributes.
            files: the weights.
            root: the file or folder that was opened.
            deciding: other files that results depend on, such as `config.json`.
            owners: file name by tensor, where an index says so; it decides between two files with the same name in.
            damaged: sentences on tensors that the index names and no file has.
        """
        self.name = name
        self.kind = kind
        self.folder = root if root.is_dir() else None
        self.config: Mapping[str, Any] = config or {}
        self.root = root
        self.deciding = (*(file.path for file in files), *deciding)
        self.stored_by_name: dict[str, tuple[Stored, WeightFile]] = {}
        self.ties: dict[str, str] = {}
        self.damaged: dict[str, str] = {}
        said = list(notes)
        for file in files:
            said += file.notes
            for key, stored in file.tensors.items():
                here = self.stored_by_name.get(key)
                if here is not None and (owners or {}).get(key) != file.label:
                    if key not in (owners or {}):
                        said.append(f"{key} stands in {here[1].label} and in {file.label}; the first one is read.")
                    continue
                self.stored_by_name[key] = (stored, file)
                self.damaged.pop(key, None)
                if key in file.damaged:
                    self.damaged[key] = file.damaged[key]
            for key, sentence in file.damaged.items():
                if key not in self.stored_by_name:
                    self.damaged[key] = sentence
            self.ties.update({alias: key for alias, key in file.ties.items() if alias not in self.stored_by_name})
        for key, sentence in (damaged or {}).items():
            if key not in self.stored_by_name and key not in self.ties:
                self.damaged.setdefault(key, sentence)
        known = {*self.stored_by_name, *self.damaged, *self.ties}
        self.parts: Parts = locate(known, self.config, gguf=kind == "GGUF")
        if self.parts.head and self.parts.unembedding:
            self.ties.setdefault(self.parts.head, self.ties.get(self.parts.unembedding, self.parts.unembedding))
        self.notes = tuple(said)
        self._equal: dict[tuple[str, str], bool] = {}

    def __repr__(self) -> str:
        return f"<Checkpoint {self.name}: {self.kind}, {len(self.names())} tensors>"

    def names(self) -> tuple[str, ...]:
        """Tensors that can be read, layers in the order of their numbers; of tied weights the stored name only."""
        return tuple(sorted((name for name in self.stored_by_name if name not in self.damaged), key=natural))

    def layers(self) -> tuple[Layer, ...]:
        """Names of readable tensors grouped by stack and layer number."""
        return grouped(self.names())

    def stored(self, name: str) -> Stored:
        """Shape, stored type and file of a tensor, without reading it; of tied weights, those of the stored tensor.

        Raises:
            ValueError: there is no such tensor, or no header describes it.
        """
        return self._find(name)[0]

    def _find(self, name: str) -> tuple[Stored, WeightFile]:
        held = self.ties.get(name, name)
        found = self.stored_by_name.get(held)
        if found is None:
            sentence = self.damaged.get(held)
            raise ValueError(
                sentence or f"{name[:200]}: is not in {self.name}; closest are {closest(name[:200], self.names())}."
            )
        return found

    def blocks(self, name: str, *, dtype: torch.dtype | None = None, rows: int | None = None) -> Iterator[torch.Tensor]:
        """A tensor in successive blocks of its leading dimension, so that it never is in memory as a whole.

        Args:
            name: a key, or another name of tied weights.
            dtype: a float type; by default `Stored.read_as`.
            rows: rows of a block; by default what 16 MiB hold as float32. GGUF vectors come in one block.

        Yields:
            blocks of shape (at most rows, ...); a tensor without dimensions is one block.

        Raises:
            ValueError: no such tensor, damaged, or no number of that type.
        """
        stored, file = self._find(name)
        if stored.name in self.damaged:
            raise ValueError(self.damaged[stored.name])
        target = dtype or stored.read_as
        if dtype is not None and (dtype not in FLOATS or stored.read_as.is_complex):
            expected = "None for complex numbers" if stored.read_as.is_complex else "a float type of 16 to 64 bits"
            raise ValueError(f"dtype: got {dtype} for {name}, stored as {stored.dtype}; expected {expected}.")
        if rows is not None and rows < 1:
            raise ValueError(f"rows: got {rows}; expected at least 1.")
        try:
            for block in file.blocks(stored, rows or block_rows(stored, BLOCK_BYTES)):
                yield block.to(target)
        except OSError as error:
            raise ValueError(f"{name}: {file.label} cannot be read ({error.strerror}).") from None

    def tensor(self, name: str, *, dtype: torch.dtype | None = None) -> torch.Tensor:
        """A tensor as a whole, converted block by block: memory is the result and little more.

        Args:
            name: a key, or another name of tied weights.
            dtype: a float type; by default float32 for floats of at most 32 bits and for quantised blocks, else the
                stored type.

        Raises:
            ValueError: no such tensor, damaged, or no number of that type.
        """
        stored = self.stored(name)
        blocks = self.blocks(name, dtype=dtype, rows=block_rows(stored, PASS_BYTES))
        first = next(blocks)
        if not stored.shape or first.shape == stored.shape:
            return first
        out = torch.empty(stored.shape, dtype=first.dtype)
        out[: len(first)] = first
        done = len(first)
        del first
        for block in blocks:
            out[done : done + len(block)] = block
            done += len(block)
        return out

    def health(self, name: str) -> Health:
        """Verdict on a tensor's values, in one pass over its blocks.

        Raises:
            ValueError: no such tensor, or damaged.
        """
        stored = self.stored(name)
        blocks = self.blocks(name, rows=block_rows(stored, PASS_BYTES))
        return examine(blocks, stored.shape, quantised=stored.quantised)

    def equal(self, one: str, other: str) -> bool:
        """Two tensors of the same shape and stored type hold the same values; remembered.

        Raises:
            ValueError: no such tensor, or damaged.
        """
        a, b = self.stored(one), self.stored(other)
        if a == b:
            return True
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return False
        pair = (a.name, b.name)
        if pair not in self._equal:
            rows = block_rows(a, PASS_BYTES)
            both = zip(self.blocks(one, rows=rows), self.blocks(other, rows=rows), strict=True)
            self._equal[pair] = all(torch.equal(x, y) for x, y in both)
        return self._equal[pair]

    def report(self, progress: Progress | None = None) -> tuple[Row, ...]:
        """A row for every tensor, those that are missing or tied included, in natural order. Reads all weights.

        Args:
            progress: wraps the names; raising in it stops the work.
        """
        names = sorted({*self.stored_by_name, *self.damaged} - self.ties.keys(), key=natural)
        rows: dict[str, Row] = {}
        for name in progress(names) if progress else names:
            rows[name] = self._row(name)
        for alias, name in self.ties.items():
            rows[alias] = replace(rows[name], name=alias, nbytes=0, parameters=0, tied_to=name)
        return tuple(rows[name] for name in sorted(rows, key=natural))

    def _row(self, name: str) -> Row:
        if name not in self.stored_by_name:
            return Row(name, None, "", 0, "", 0, "", "damaged", sentence=self.damaged[name])
        stored = self.stored_by_name[name][0]
        row = Row(name, stored.shape, stored.dtype, stored.nbytes, stored.file, stored.numel, "", "damaged")
        try:
            health = self.health(name)
            tied_to = self._same_as_embedding(name)
        except ValueError as error:
            return replace(row, sentence=str(error))
        sentence = ""
        if health.verdict == "not finite":
            place = list(health.first or ())
            sentence = f"{name}: holds {health.nan:,} NaN and {health.inf:,} infinite values, first at {place}."
        return replace(
            row, parameters=0 if tied_to else row.parameters, tied_to=tied_to, verdict=health.verdict,
            nan=health.nan, inf=health.inf, first=health.first, sentence=sentence,
        )  # fmt: skip

    def _same_as_embedding(self, name: str) -> str:
        """The embedding's name where this is an unembedding that was stored beside it with the same values."""
        embedding = self.parts.embedding
        if name != self.parts.unembedding or embedding is None or embedding in self.damaged:
            return ""
        held = self.ties.get(embedding, embedding)
        return held if held != name and self.equal(name, held) else ""

    def fingerprint(self) -> str:
        """SHA-256 of the bytes: of a single file its own; of a folder, over names and hashes of weights, index,
        configuration and tokenizer, sorted by name.

        Raises:
            ValueError: a file cannot be read.
        """
        try:
            if self.folder is None:
                return content_sha256(self.root)
            digest = hashlib.sha256()
            for path in sorted(set(self.deciding)):
                digest.update(path.relative_to(self.root).as_posix().encode() + b"\0")
                digest.update(bytes.fromhex(content_sha256(path)))
            return digest.hexdigest()
        except OSError as error:
            raise ValueError(f"{self.name}: cannot be read ({error.strerror}); expected readable files.") from None
