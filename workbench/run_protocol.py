"""The Run protocol: what an experiment may ask of whoever runs it, and a plain implementation in this process.

An experiment never touches a screen, a server or a store. It asks its run for random streams, says how far it is,
hands over rows as they are done, and may be stopped at any of these points.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from workbench.results import Column, Table

__all__ = ["Cancelled", "LocalRun", "Run"]

Item = TypeVar("Item")
Outcome = Mapping[str, Any]


class Cancelled(Exception):
    """The run was asked to stop."""


class Run(Protocol):
    """What an experiment may ask for.

    Attributes:
        seed: base seed; every stream follows from it and a name.
        device: `cpu` or `cuda`.
    """

    seed: int
    device: str

    def progress(self, iterable: Iterable[Item], label: str = "", total: int | None = None) -> Iterator[Item]:
        """Yield from the iterable and say how far it is; may be nested. Raises `Cancelled` when asked to stop."""
        ...

    def rng(self, *name: object) -> np.random.Generator:
        """A NumPy stream that follows from the seed and the name."""
        ...

    def generator(self, *name: object) -> Any:
        """A `torch.Generator` on the CPU that follows from the seed and the name."""
        ...

    def map(
        self, function: Callable[[Run, Item], Outcome], items: Sequence[Item], label: str = ""
    ) -> Iterator[Outcome]:
        """Yield `function(run, item)` for each item, in order; finished items survive a cancelled run.

        The function is a module's own, or a `functools.partial` of one; items are plain data; an outcome maps names to
        numbers, text, lists of them, or arrays.
        """
        ...

    def row(self, table: str, **values: Any) -> None:
        """Hand over a finished row; views see it while the experiment goes on."""
        ...

    def file(self, name: str) -> Path:
        """Where to write a file that belongs to the result."""
        ...

    def check(self) -> None:
        """Raise `Cancelled` when asked to stop; for loops that have no progress of their own."""
        ...


def stream_seed(seed: int, name: Sequence[object]) -> int:
    """128 bits that follow from a seed and a name, the same on every machine."""
    text = json.dumps([int(seed), *[repr(n) for n in name]])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "little")


class LocalRun:
    """A run in this process.

    Args:
        seed: base seed.
        tables: the columns of each table that may be streamed.
        device: `cpu` or `cuda`.
        directory: where files go; a temporary folder when left out.
        items: where finished items of `map` are kept, a folder for this computation alone; none are kept when left out.
        on_progress: called with `(fraction, message)` at most 20 times a second, and at the end.
        on_row: called with `(table, row)`, the row as its columns hold it.
        stopped: asked at every step; True ends the run with `Cancelled`.
    """

    def __init__(
        self,
        seed: int = 0,
        tables: Mapping[str, Mapping[str, Column]] | None = None,
        *,
        device: str = "cpu",
        directory: Path | None = None,
        items: Path | None = None,
        on_progress: Callable[[float, str], None] | None = None,
        on_row: Callable[[str, dict[str, Any]], None] | None = None,
        stopped: Callable[[], bool] | None = None,
    ) -> None:
        self.seed = int(seed)
        self.device = device
        self.tables = {name: Table(columns) for name, columns in (tables or {}).items()}
        self.files: dict[str, Path] = {}
        self._directory = directory
        self._items = items
        self._maps = 0
        self._on_progress = on_progress
        self._on_row = on_row
        self._stopped = stopped
        self._stack: list[list[float]] = []
        self._said = 0.0

    @property
    def directory(self) -> Path:
        """The folder of this run's files."""
        if self._directory is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="assay-run-")  # removed with the run
            self._directory = Path(self._temporary.name)
        return self._directory

    def check(self) -> None:
        if self._stopped is not None and self._stopped():
            raise Cancelled("the run was asked to stop")

    def progress(self, iterable: Iterable[Item], label: str = "", total: int | None = None) -> Iterator[Item]:
        if total is None and isinstance(iterable, Sized):
            total = len(iterable)
        level = [0.0, float(total or 0)]
        self._stack.append(level)
        try:
            for item in iterable:
                self._say(label)
                self.check()
                yield item
                level[0] += 1
        finally:
            self._stack = [other for other in self._stack if other is not level]
        self._say(label, done=level)

    def _say(self, label: str, done: list[float] | None = None) -> None:
        now = time.monotonic()
        last = done is not None and not self._stack
        if self._on_progress is None or (now - self._said < 0.05 and not last):
            return
        self._said = now
        fraction, share = 0.0, 1.0
        for at, total in [*self._stack, *([done] if done else [])]:
            if total:
                fraction += share * min(at / total, 1.0)
                share /= total
        self._on_progress(1.0 if last else min(fraction, 1.0), label)

    def rng(self, *name: object) -> np.random.Generator:
        return np.random.default_rng(stream_seed(self.seed, ("numpy", *name)))

    def generator(self, *name: object) -> Any:
        import torch

        generator = torch.Generator()
        generator.manual_seed(stream_seed(self.seed, ("torch", *name)) % 2**63)
        return generator

    def map(
        self, function: Callable[[Run, Item], Outcome], items: Sequence[Item], label: str = ""
    ) -> Iterator[Outcome]:
        self._maps += 1
        return self._outcomes(self._maps, function, items, label)

    def _outcomes(
        self, number: int, function: Callable[[Run, Item], Outcome], items: Sequence[Item], label: str
    ) -> Iterator[Outcome]:
        for index, item in enumerate(self.progress(items, label)):
            place = self._place(number, label, index, item)
            kept = kept_outcome(place)
            if kept is not None:
                yield kept
                continue
            outcome = plain(function(self, item))
            if place is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                draft = place.with_suffix(f".{os.getpid()}.part")
                draft.write_text(json.dumps(encode(outcome)), encoding="utf-8")
                draft.replace(place)
            yield outcome

    def _place(self, number: int, label: str, index: int, item: object) -> Path | None:
        if self._items is None:
            return None
        name = json.dumps([number, label, index, encode(item)], sort_keys=True)
        return self._items / f"{hashlib.sha256(name.encode()).hexdigest()}.json"

    def row(self, table: str, **values: Any) -> None:
        if table not in self.tables:
            raise ValueError(f"table: got {table!r}; expected one of {', '.join(self.tables) or 'none declared'}.")
        row = self.tables[table].append(values)
        if self._on_row is not None:
            self._on_row(table, row)
        self.check()

    def file(self, name: str) -> Path:
        if Path(name).name != name or name in ("", ".", ".."):
            raise ValueError(f"file: got {name!r}; expected a plain file name.")
        path = self.directory / name
        self.files[name] = path
        return path


def kept_outcome(place: Path | None) -> Outcome | None:
    """The outcome that is kept at a place; None where there is none that can be read."""
    if place is None:
        return None
    try:
        return decode(json.loads(place.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def plain(value: Any) -> Any:
    """An outcome as it is after it was kept, so that numbers do not depend on whether it was.

    Raises:
        ValueError: something else than numbers, text, arrays, and lists or mappings of them.
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        raise ValueError("outcome: got an array of objects; expected one of numbers.")
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (str, bool, int, float, np.ndarray)):
        return value
    raise ValueError(f"outcome: got {type(value).__name__}; expected numbers, text, lists or arrays.")


def encode(value: Any) -> Any:
    """Plain data and arrays as JSON."""
    value = plain(value)
    if isinstance(value, dict):
        return {k: encode(v) for k, v in value.items()}
    if isinstance(value, list):
        return [encode(v) for v in value]
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"__array__": data, "dtype": value.dtype.str, "shape": list(value.shape)}
    return value


def decode(value: Any) -> Any:
    """What `encode` wrote."""
    if isinstance(value, dict):
        if "__array__" in value:
            flat = np.frombuffer(base64.b64decode(value["__array__"]), dtype=np.dtype(value["dtype"]))
            return flat.reshape(value["shape"]).copy()
        return {k: decode(v) for k, v in value.items()}
    return [decode(v) for v in value] if isinstance(value, list) else value
