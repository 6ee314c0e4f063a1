"""Train the controlled suite and keep its table: `python -m assay.models.make_suite --rows DIR [--part 1/2]`.

One model, one file in DIR: what is there is not trained again, and a run that was interrupted goes on. `--part` shares
the work among processes or machines. `--decoder` trains the one model whose weights are kept. `--collect` writes the
table, spectra and provenance from what is in DIR.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from assay.models.controlled_suite import Recipe, SuiteText, suite_recipes, suite_row, suite_text, train_recipe
from assay.models.kept_decoder import write_decoder
from assay.models.kept_suite import SUITE_FOLDER, write_suite

__all__ = ["read_row", "write_row"]

DECODER = Recipe("decoder", -1, 48, 3, 16, 3e-3, 0.1, 0.5, 0, tokens=2**20)
COMMAND = "python -m assay.models.make_suite --rows DIR && python -m assay.models.make_suite --rows DIR --collect"


def write_row(place: Path, row: dict[str, Any], text: SuiteText) -> None:
    """A row in a file: its arrays, its numbers as JSON, and the text that it was trained on."""
    arrays = {name: value for name, value in row.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in row.items() if name not in arrays}
    draft = place.with_suffix(f".{os.getpid()}.part")
    with draft.open("wb") as file:
        sources = json.dumps({name: dict(source) for name, source in text.sources.items()})
        arrays |= {"numbers": np.array(json.dumps(plain)), "sources": np.array(sources), "merges": text.pairs.merges}
        np.savez(file, allow_pickle=False, **arrays)
    draft.replace(place)


def read_row(place: Path) -> dict[str, Any]:
    """The row of a file, with `merges` and `sources` beside its numbers and arrays.

    Raises:
        ValueError: not a file of `write_row`.
    """
    try:
        with np.load(place, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        numbers, sources = json.loads(str(arrays.pop("numbers"))), json.loads(str(arrays.pop("sources")))
    except (OSError, KeyError, ValueError) as error:
        raise ValueError(f"{place.name}: cannot be read as a row of the suite ({type(error).__name__}).") from None
    return {**numbers, **arrays, "sources": sources}


def train_rows(folder: Path, recipes: Sequence[Recipe]) -> None:
    """Train what is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [recipe for recipe in recipes if not (folder / f"{recipe.name}.npz").exists()]
    if not missing:
        return
    text = suite_text()
    for i, recipe in enumerate(missing, 1):
        row = suite_row(recipe, text, state=folder / f"{recipe.name}.state")
        write_row(folder / f"{recipe.name}.npz", row, text)
        print(f"{i}/{len(missing)} {recipe.name}: loss {row['loss prose']:.3f}, {row['seconds']:.0f} s", flush=True)


def train_kept_decoder(folder: Path, target: Path = SUITE_FOLDER) -> None:
    """Train the model whose weights are kept, with the text that it is tried on."""
    folder.mkdir(parents=True, exist_ok=True)
    text = suite_text()
    model, log = train_recipe(DECODER, text, state=folder / "decoder.state")
    write_decoder(model, text.held_out["prose"][::8], text.pairs, target)
    print(f"decoder: loss {log.column('loss')[-1]:.3f}", flush=True)


def collect(folder: Path, target: Path = SUITE_FOLDER) -> int:
    """Write the kept suite from all rows that are there; how many.

    Raises:
        ValueError: no rows, or rows of different texts.
    """
    rows = [read_row(folder / f"{r.name}.npz") for r in suite_recipes() if (folder / f"{r.name}.npz").exists()]
    texts = {json.dumps(row["sources"], sort_keys=True) for row in rows}
    if len(texts) != 1:
        raise ValueError(f"rows: got {len(rows)} rows of {len(texts)} different texts; expected rows of one text.")
    write_suite(rows, target, {
        "command": COMMAND,
        "text": rows[0]["sources"],
        "versions": {"python": platform.python_version(), **{n: version(n) for n in ("torch", "numpy", "scipy")}},
        "threads": 1,
        "core-seconds": round(sum(row["seconds"] for row in rows)),
    })  # fmt: skip
    return len(rows)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m assay.models.make_suite", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--rows", type=Path, required=True, metavar="DIR", help="where rows are kept, a file each")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="every N-th row from the I-th on")
    parser.add_argument("--decoder", action="store_true", help="train the model whose weights are kept")
    parser.add_argument("--collect", action="store_true", help="write the table from the rows instead of training")
    given = parser.parse_args(arguments)
    number, _, parts = given.part.partition("/")
    if not (number.isdigit() and parts.isdigit() and 1 <= int(number) <= int(parts)):
        print(f"part: got {given.part!r}; expected I/N with 1 ≤ I ≤ N.", file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    try:
        if given.decoder:
            train_kept_decoder(given.rows)
        elif given.collect:
            print(f"{SUITE_FOLDER}: {collect(given.rows)} rows")
        else:
            train_rows(given.rows, suite_recipes()[int(number) - 1 :: int(parts)])
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
