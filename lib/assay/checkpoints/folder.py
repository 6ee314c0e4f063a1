"""Which files of a folder hold the weights, and what its index says of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from assay.checkpoints.layers import natural

__all__ = ["DECIDING", "Plan", "json_object", "plan"]

MAX_JSON = 256 * 1024**2
WHOLE = ("model.safetensors", "pytorch_model.bin")
NUMBERED = re.compile(r"(?P<stem>.+)-(?P<number>[0-9]{1,5})-of-(?P<count>[0-9]{1,5})\.(?P<kind>safetensors|bin)")
SUFFIXES = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".npz", ".npy")
DECIDING = ("config.json", "adapter_config.json", "tokenizer.json", "vocab.json", "tokenizer_config.json")
"""Beside weights and index, what results depend on."""


@dataclass
class Plan:
    """What to read in a folder.

    Attributes:
        files: files with weights that are there.
        owners: file name by tensor, as the index says.
        missing: what is wrong, by name of a file that cannot be read: "is missing".
        index: the index that was followed.
        notes: sentences on what is missing.
    """

    files: list[Path] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    index: Path | None = None
    notes: list[str] = field(default_factory=list)


def json_object(path: Path) -> dict[str, Any]:
    """A JSON file that holds one object.

    Raises:
        ValueError: unreadable, too large, or no JSON object.
    """
    try:
        if path.stat().st_size > MAX_JSON:
            raise ValueError(f"{path.name}: has more than {MAX_JSON:,} bytes; expected a JSON object.")
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise ValueError(f"{path.name}: cannot be read ({error.strerror}); expected a JSON object.") from None
    except (ValueError, RecursionError) as error:
        if "has more than" in str(error):
            raise
        raise ValueError(f"{path.name}: is no JSON; expected an object.") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name}: holds {type(found).__name__}; expected a JSON object.")
    return found


def plan(folder: Path) -> Plan:
    """Choose the files with weights, in the order in which transformers looks for them.

    Raises:
        ValueError: no weights, or several sets of them.
    """
    notes = []
    for whole in WHOLE:
        if (folder / whole).is_file():
            return Plan([folder / whole], notes=notes)
        index = folder / f"{whole}.index.json"
        if index.is_file():
            try:
                return indexed(folder, index)
            except ValueError as error:
                notes.append(str(error))
    there = sorted((path for path in folder.iterdir() if path.is_file()), key=lambda path: natural(path.name))
    sets: dict[tuple[str, int, str], dict[int, Path]] = {}
    for path in there:
        if found := NUMBERED.fullmatch(path.name):
            of = (found["stem"], int(found["count"]), found["kind"])
            sets.setdefault(of, {})[int(found["number"])] = path
    if any(kind == "safetensors" for _, _, kind in sets):
        sets = {of: shards for of, shards in sets.items() if of[2] == "safetensors"}
    if len(sets) == 1:
        ((stem, count, _), shards) = next(iter(sets.items()))
        lost = [n for n in range(1, count + 1) if n not in shards]
        if lost:
            notes.append(f"{stem}: got {len(shards):,} of {count:,} shards, expected number {lost[0]} too.")
        return Plan(list(shards.values()), notes=notes)
    weights = [path for path in there if path.suffix in SUFFIXES and path.name != "training_args.bin"]
    if len(weights) == 1:
        return Plan(weights, notes=notes)
    if weights:
        named = ", ".join(path.name for path in weights[:4])
        raise ValueError(f"{folder.name}: holds several sets of weights ({named}); expected one, or the path of one.")
    inner = sorted((path.name for path in folder.iterdir() if path.is_dir()), key=natural)
    held = f"holds folders ({', '.join(inner[:3])}) and no weights" if inner else "holds no weights"
    raise ValueError(notes[0] if notes else f"{folder.name}: {held}; expected a file such as model.safetensors.")


def indexed(folder: Path, index: Path) -> Plan:
    """Follow an index.

    Raises:
        ValueError: the index cannot be used at all.
    """
    weight_map = json_object(index).get("weight_map")
    if not isinstance(weight_map, dict) or not all(isinstance(shard, str) for shard in weight_map.values()):
        raise ValueError(f"{index.name}: has no weight_map from names to files; the shards are read by their numbers.")
    out = Plan(owners=weight_map, index=index)
    for shard in sorted(set(weight_map.values()), key=natural):
        count = sum(owner == shard for owner in weight_map.values())
        if not is_inside(shard):
            out.missing[shard] = "lies outside the folder"
        elif not is_file(folder / shard):
            out.missing[shard] = "is missing"
        else:
            out.files.append(folder / shard)
            continue
        out.notes.append(
            f"{shard[:120]}: {out.missing[shard]}; {index.name} names {count:,} tensors in it, expected it there."
        )
    return out


def is_inside(name: str) -> bool:
    """A plain path below the folder, on every system; links in the folder are its owner's own."""
    paths = (PurePosixPath(name), PureWindowsPath(name))
    return (
        bool(name) and "\0" not in name and not any(path.anchor or path.drive or ".." in path.parts for path in paths)
    )


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
