"""A run as one file: a zip of its record, tables, arrays, files and figures, with the SHA-256 of each.

What comes from elsewhere is checked before anything of it is kept: names, sizes, kinds and hashes of all entries, that
the record says nothing that no record can, and that the result is the one that the record names. The hashes say that a
file is whole, not who made it: import what you trust.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import uuid
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from workbench.claims import Verdict
from workbench.controls import ControlError
from workbench.job import State
from workbench.record import Record, read_record
from workbench.result_files import DamagedResult, read_result
from workbench.store import RECORD, Store
from workbench.study import PRESETS

__all__ = ["export_run", "import_run"]

FORMAT = 1
MANIFEST = "run.json"
PLAIN = {RECORD, "result.json", "log.txt", "progress.jsonl"}
BELOW = {
    "tables": re.compile(r"\d{1,4}-[A-Za-z0-9_-]{1,60}\.parquet"),
    "arrays": re.compile(r"\d{1,4}-[A-Za-z0-9_-]{1,60}\.npy"),
    "figures": re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}\.json"),
    "files": re.compile(r"[^/\\\x00-\x1f]{1,200}"),
}
ENTRIES = 10_000
LARGEST = 4 * 1024**3
LARGEST_TEXT = 32 * 1024**2
CELLS = 50_000_000
WANTED = "expected a file that `assay export` wrote"


def export_run(store: Store, run: str, target: Path) -> Record:
    """Write a run into a zip file, whole or not at all; of its owner nothing.

    Args:
        store: that has it.
        run: as in `Store.get`.
        target: the file; one that is there is replaced.

    Returns:
        the run's record.

    Raises:
        UnknownRun, StoreError: as `Store.get`.
        ControlError: a run without files, or a file that cannot be written.
    """
    record, folder = store.get(run), store.files(run)
    if folder is None:
        raise ControlError("run", f"got {record.run[:8]}, which is {record.state}; expected one whose files are kept")
    text = json.dumps(replace(record, owner="").as_json())
    names = sorted(n for n in (p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()) if fits(n))
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            hashes = {RECORD: hashlib.sha256(text.encode()).hexdigest()}
            archive.writestr(RECORD, text)
            for name in names:
                if name != RECORD:
                    archive.write(folder / name, name)
                    with (folder / name).open("rb") as file:
                        hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()
            archive.writestr(MANIFEST, json.dumps({"assay": FORMAT, "run": record.run, "sha256": hashes}))
        draft.replace(target)
    except OSError as error:
        raise ControlError("file", f"got {str(target)!r}, which cannot be written: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return record


def import_run(store: Store, source: Path, owner: str = "") -> tuple[Record, bool]:
    """Take a run out of a zip file into a store, under an id of its own.

    Args:
        store: where it is kept.
        source: the file.
        owner: whose it is from now on.

    Returns:
        the record, and whether it was new here.

    Raises:
        ControlError: something else than what `export_run` wrote, or changed since.
        StoreError: the store cannot be written to.
    """
    place = store.workplace() / f"import-{uuid.uuid4().hex[:8]}"
    place.mkdir()
    try:
        unpack(source, place)
        record = checked_record(place)
        known = known_run(store, record)
        if known is not None:
            return known, False
        ours = replace(record, run="", origin=record.origin or record.run, owner=owner)
        ours = store.begin(ours)
        store.finish(ours, place)
        return ours, True
    finally:
        shutil.rmtree(place, ignore_errors=True)


def refused(why: str) -> ControlError:
    return ControlError("file", f"{why}; {WANTED}")


def fits(name: str) -> bool:
    """A run has files of such a name."""
    folder, slash, rest = name.partition("/")
    if not slash:
        return name in PLAIN
    return folder in BELOW and BELOW[folder].fullmatch(rest) is not None and rest not in (".", "..")


def unpack(source: Path, place: Path) -> None:
    """Write the entries of a zip file into an empty folder, checked one by one.

    Raises:
        ControlError: it is not what `export_run` wrote.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if len(entries) != len(archive.infolist()):
                raise refused("it holds two entries of one name")
            if MANIFEST not in entries or len(entries) > ENTRIES:
                raise refused(f"got {source.name!r}, which holds no run")
            for name, entry in entries.items():
                check_entry(name, entry)
            if sum(entry.file_size for entry in entries.values()) > min(LARGEST, shutil.disk_usage(place).free // 2):
                raise refused("it would not fit once it is unpacked")
            manifest = json.loads(archive.read(MANIFEST))
            hashes = manifest["sha256"]
            if manifest["assay"] != FORMAT:
                raise refused(f"it is of format {manifest['assay']!r}, and not {FORMAT}")
            if not isinstance(hashes, dict) or hashes.keys() != entries.keys() - {MANIFEST}:
                raise refused("its list of files is not what it holds")
            for name, sha256 in hashes.items():
                target = place / name
                target.parent.mkdir(exist_ok=True)
                digest = hashlib.sha256()
                with archive.open(entries[name]) as packed, target.open("wb") as file:
                    while part := packed.read(1024**2):
                        digest.update(part)
                        file.write(part)
                if digest.hexdigest() != sha256:
                    raise refused(f"{name!r} in it was changed")
    except ControlError:
        raise
    except FileNotFoundError:
        raise ControlError("file", f"got {str(source)!r}, which is not there; {WANTED}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise refused(f"got {source.name!r}, which is no whole zip file ({error})") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise refused(f"got {source.name!r}, whose list of files cannot be read") from None
    except OSError as error:
        raise ControlError("file", f"got {str(source)!r}: {error.strerror or error}; {WANTED}") from None


def check_entry(name: str, entry: zipfile.ZipInfo) -> None:
    """Refuse an entry that no run has."""
    if name != MANIFEST and not fits(name):
        raise refused(f"it holds {name[:80]!r}, which no run has")
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise refused(f"{name!r} in it is no plain file")
    if entry.flag_bits & 1:
        raise refused(f"{name!r} in it is encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise refused(f"{name!r} in it is packed in an unknown way")
    text = name in {*PLAIN, MANIFEST} or name.startswith("figures/")
    if text and entry.file_size > LARGEST_TEXT:
        raise refused(f"{name!r} in it is too large")


def checked_record(place: Path) -> Record:
    """The record in an unpacked folder, once the result beside it is what it says.

    Raises:
        ControlError: it says what no record can, or the result is another.
    """
    record = read_record(place / RECORD)
    if record is None or not is_sound(record):
        raise refused("its record cannot be read")
    if record.state is not State.DONE:
        return record
    try:
        for path in (place / "arrays").glob("*"):
            np.load(path, mmap_mode="r", allow_pickle=False)  # refuses a size that the file has not
        for path in (place / "tables").glob("*"):
            facts = pq.read_metadata(path)
            if facts.num_rows * facts.num_columns > CELLS:
                raise refused(f"the table {path.name!r} in it is too large")
        digest = read_result(place).digest
    except (DamagedResult, pa.ArrowException, ValueError, OSError, EOFError):
        raise refused("its result cannot be read") from None
    if digest != record.digest:
        raise refused("its result is not the one that its record names")
    return record


def is_sound(record: Record) -> bool:
    """Every field of a record is of the kind that it must be; names that become part of a path are plain."""
    texts = all(isinstance(getattr(record, f.name), str) for f in fields(Record) if f.type == "str")
    named = (record.controls, record.values, record.claims, record.provenance)
    if not texts or not all(isinstance(one, Mapping) for one in named):
        return False
    pairs = [*record.controls.items(), *record.values.items()]
    numbers = [record.seed, record.started or 0, record.took or 0]
    return (
        re.fullmatch(r"[a-z0-9][a-z0-9-]{0,99}", record.study) is not None
        and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", record.experiment) is not None
        and re.fullmatch(r"[0-9a-z-]{1,64}", record.key) is not None
        and re.fullmatch(r"[0-9a-f]{0,32}", record.run) is not None
        and re.fullmatch(r"[0-9a-f]{0,32}", record.origin) is not None
        and record.preset in PRESETS
        and record.device in ("cpu", "cuda")
        and record.state in (State.DONE, State.FAILED, State.CANCELLED)
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < 1e12 for v in numbers)
        and all(isinstance(name, str) and isinstance(text, str) for name, text in pairs)
        and all(re.fullmatch(r"[\w.-]{1,40}", id) is not None and is_judgement(j) for id, j in record.claims.items())
        and is_provenance(record.provenance)
    )


def is_judgement(data: Any) -> bool:
    """Plain data of a judgement, as faces show it."""
    if not isinstance(data, Mapping) or data.get("verdict") not in {str(v) for v in Verdict}:
        return False
    numbers = [data.get("measured"), data.get("n"), *(data.get("interval") or [])]
    return all(v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in numbers)


def is_provenance(facts: Mapping[str, Any]) -> bool:
    """What faces read of it is of the kind that they expect."""
    data = facts.get("data") or []
    numbers = [facts.get(name) or 0 for name in ("started", "took", "peak_memory")]
    inputs = ("control", "name", "reference", "sha256")
    return (
        all(isinstance(facts.get(name) or {}, Mapping) for name in ("versions", "packages", "kernels", "blas"))
        and isinstance(data, list)
        and all(isinstance(one, Mapping) and all(isinstance(one.get(n), str) for n in inputs) for one in data)
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in numbers)
    )


def known_run(store: Store, record: Record) -> Record | None:
    """The run in a store that an import would only repeat."""
    origin = record.origin or record.run
    if not origin:
        return None
    found = store.tracking.get(origin) if len(origin) == 32 else None
    again = [found] if found is not None else store.tracking.search(record.study, f"tags.origin = '{origin}'", 1)
    return store.get(again[0].info.run_id) if again else None
