"""The suite as it is kept: a table of runs, their spectra, and where they come from."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SUITE_FOLDER", "KeptSuite", "read_suite", "write_suite"]

SUITE_FOLDER = Path(__file__).parents[1] / "data" / "samples" / "rank_suite"
ARRAYS = ("spectrum", "states", "step", "loss by step", "rank by step")
LABELS = {"kind": str, "tied": "True".__eq__, "parallel": "True".__eq__}
WHOLE = ("config", "width", "layers", "batch", "seed", "tokens", "steps", "parameters")


@dataclass(frozen=True, eq=False)
class KeptSuite:
    """Trained models, one a row.

    Attributes:
        rows: numbers of each run by name: how it was trained, losses (nats a token), measures of W and of H.
        spectrum: singular values of W of each run, descending. states: of centred H over sqrt(n).
        step, loss, rank: log of each run: steps done, loss on prose, effective rank of W.
        merges: (M, 2) of the vocabulary.
        provenance: command, text and versions.
    """

    rows: tuple[Mapping[str, Any], ...]
    spectrum: tuple[NDArray[np.float64], ...]
    states: tuple[NDArray[np.float64], ...]
    step: tuple[NDArray[np.float64], ...]
    loss: tuple[NDArray[np.float64], ...]
    rank: tuple[NDArray[np.float64], ...]
    merges: NDArray[np.int64]
    provenance: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.rows)


def write_suite(rows: Sequence[Mapping[str, Any]], folder: Path, provenance: Mapping[str, Any]) -> None:
    """Keep rows of `controlled_suite.suite_row`: `runs.csv`, `runs.npz` and `provenance.json`.

    Numbers have nine digits in the table; arrays are float32, one after the other.
    """
    folder.mkdir(parents=True, exist_ok=True)
    names = [name for name, value in rows[0].items() if not isinstance(value, np.ndarray | dict)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([f"{row[n]:.9g}" if isinstance(row[n], float) else row[n] for n in names])
    arrays: dict[str, NDArray[Any]] = {"merges": np.asarray(rows[0]["merges"], dtype=np.int16)}
    for name in ARRAYS:
        arrays[name] = np.concatenate([row[name] for row in rows]).astype(np.float32)
        arrays[f"{name} length"] = np.array([len(row[name]) for row in rows], dtype=np.int32)
    (folder / "runs.csv").write_text(text.getvalue(), encoding="utf-8")
    with (folder / "runs.npz").open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    said = json.dumps({"runs": len(rows), **provenance}, indent=2, ensure_ascii=False) + "\n"
    (folder / "provenance.json").write_text(said, encoding="utf-8")


def read_suite(folder: Path = SUITE_FOLDER) -> KeptSuite:
    """The suite that is kept in a folder.

    Raises:
        ValueError: it is not there, or its files do not belong together.
    """
    try:
        with (folder / "runs.csv").open(encoding="utf-8", newline="") as file:
            rows = tuple({name: typed(name, value) for name, value in row.items()} for row in csv.DictReader(file))
        with np.load(folder / "runs.npz", allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        provenance = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))
        parts = [split(arrays[name], arrays[f"{name} length"], len(rows)) for name in ARRAYS]
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(f"{folder.name}: cannot be read as a suite ({error}).") from None
    spectrum, states, step, loss, rank = parts
    return KeptSuite(rows, spectrum, states, step, loss, rank, arrays["merges"].astype(np.int64), provenance)


def typed(name: str, value: str) -> Any:
    if name in LABELS:
        return LABELS[name](value)
    return int(value) if name in WHOLE else float(value)


def split(flat: NDArray[Any], lengths: NDArray[Any], rows: int) -> tuple[NDArray[np.float64], ...]:
    if len(lengths) != rows or lengths.sum() != len(flat):
        raise ValueError(f"expected {rows} arrays of {int(lengths.sum())} numbers, got {len(lengths)} of {len(flat)}")
    return tuple(np.split(flat.astype(np.float64), np.cumsum(lengths)[:-1]))
