"""Results on disk: tables as parquet, arrays as npy without pickle, files as they are, and a manifest over all.

The manifest is written last and holds the SHA-256 of every file, so a folder that was left half-written or changed
afterwards is refused.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.results import Column, Kind, Result, Table

__all__ = ["DamagedResult", "files_folder", "read_result", "write_result"]

FORMAT = 1
MANIFEST = "result.json"
ARROW = {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_(), "str": pa.string()}


class DamagedResult(ValueError):
    """A folder that does not hold the result that its manifest promises."""


def files_folder(folder: Path) -> Path:
    """Where the files of a result lie in its folder; made when it is not there."""
    place = folder / "files"
    place.mkdir(parents=True, exist_ok=True)
    return place


def write_result(result: Result, folder: Path) -> dict[str, Any]:
    """Write a result into its folder; its files must already lie in `files_folder(folder)`.

    Returns:
        the manifest, with the result's `digest`.

    Raises:
        ValueError: an array of objects, or a file that was named but not written.
        OSError: the disk is full or may not be written to.
    """
    place = files_folder(folder)
    for name, path in result.files.items():
        if path != place / name:
            raise ValueError(f"file {name!r}: got {path}; expected it in {place}.")
        if not path.is_file():
            raise ValueError(f"file {name!r}: it was named but not written.")
    tables, arrays = {}, {}
    for number, (name, table) in enumerate(result.tables.items()):
        tables[name] = f"tables/{number}-{plain_name(name)}.parquet"
        (folder / "tables").mkdir(exist_ok=True)
        write_table(table, folder / tables[name])
    for number, (name, array) in enumerate(result.arrays.items()):
        arrays[name] = f"arrays/{number}-{plain_name(name)}.npy"
        (folder / "arrays").mkdir(exist_ok=True)
        np.save(folder / arrays[name], array, allow_pickle=False)
    files = {name: f"files/{name}" for name in result.files}
    manifest = {
        "format": FORMAT,
        "complete": result.complete,
        "digest": result.digest,
        "tables": tables,
        "arrays": arrays,
        "files": files,
        "sha256": {place: sha256_of(folder / place) for part in (tables, arrays, files) for place in part.values()},
    }
    draft = folder / f"{MANIFEST}.part"
    draft.write_text(json.dumps(manifest), encoding="utf-8")
    draft.replace(folder / MANIFEST)
    return manifest


def read_result(folder: Path) -> Result:
    """The result that a folder holds.

    Raises:
        DamagedResult: no manifest, another format, or a file that is missing, was changed, or lies elsewhere.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise DamagedResult(f"{folder}: got a result of format {manifest['format']}; expected {FORMAT}.")
        parts = {part: list(manifest[part].values()) for part in ("tables", "arrays", "files")}
        if {place for places in parts.values() for place in places} != manifest["sha256"].keys():
            raise DamagedResult(f"{folder}: its manifest has not a hash for every file, or one for another.")
        if not all(Path(place) == Path(part, Path(place).name) for part in parts for place in parts[part]):
            raise DamagedResult(f"{folder}: its manifest names a file that is not in its folder.")
        for place, sha256 in manifest["sha256"].items():
            if sha256_of(folder / place) != sha256:
                raise DamagedResult(f"{folder / place}: its content is not what was written.")
        return Result(
            tables={name: read_table(folder / place) for name, place in manifest["tables"].items()},
            arrays={name: np.load(folder / place, allow_pickle=False) for name, place in manifest["arrays"].items()},
            files={name: folder / place for name, place in manifest["files"].items()},
            complete=bool(manifest["complete"]),
        )
    except DamagedResult:
        raise
    except (OSError, AttributeError, KeyError, TypeError, ValueError, RecursionError, pa.ArrowException) as error:
        raise DamagedResult(f"{folder}: {error}") from None


def plain_name(name: str) -> str:
    """A name that is safe as part of a file's name."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:60]


def write_table(table: Table, path: Path) -> None:
    data = table.as_json()
    columns = list(zip(*data["rows"], strict=True)) or [()] * len(table.columns)
    described = {n: [str(c.kind), c.dtype, c.unit, c.doc] for n, c in table.columns.items()}
    schema = pa.schema(
        [pa.field(name, ARROW[column.dtype]) for name, column in table.columns.items()],
        metadata={"assay": json.dumps(described)},
    )
    arrays = [pa.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path)


def read_table(path: Path) -> Table:
    read = pq.read_table(path)
    described = json.loads((read.schema.metadata or {})[b"assay"])
    columns = {name: Column(Kind(kind), dtype, unit, doc) for name, (kind, dtype, unit, doc) in described.items()}
    return Table(columns, read.to_pylist())


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
