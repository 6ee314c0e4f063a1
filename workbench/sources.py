"""Sources: what a reference to data or weights means on this machine.

A reference is `sample:NAME` (shipped, or made by a generator), `sha256:HEX` (an upload, a file that was opened here
before, or one under `ASSAY_DATA`) or a path. URLs, runs and reports keep the name and the hash, never a path.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay import data as assay_data
from workbench.identity import content_hash
from workbench.places import home_folder

__all__ = ["Source", "find_source", "keep_upload", "portable"]

MAX_UPLOAD = 512 * 1024**2
MAX_SEARCHED = 20_000
_hashes: dict[tuple[str, int, int], str] = {}
_lock = threading.Lock()


@dataclass(frozen=True)
class Source:
    """Data or weights that were found.

    Attributes:
        reference: `sample:NAME` or `sha256:HEX`; what is kept of it.
        name: what people read.
        sha256: over the bytes of a file, over names and bytes of a folder, or over name and version of a sample.
        path: the file or folder; None for a sample.
    """

    reference: str
    name: str
    sha256: str
    path: Path | None = None


def find_source(reference: str, roots: tuple[Path, ...] | None = None) -> Source:
    """What a reference means here.

    Args:
        reference: `sample:NAME`, `sha256:HEX` or a path.
        roots: folders that paths must lie in; None allows any path.

    Raises:
        ValueError: one sentence: nothing is there, it is empty, or it may not be read.
    """
    if reference.startswith("sample:"):
        name = reference.removeprefix("sample:")
        known = assay_data.samples()
        if name not in known:
            raise ValueError(f"got {reference!r}; expected sample: and one of {', '.join(known)}")
        return Source(reference, name, content_hash(["sample", name, assay_data.sample_version(name)]))
    if reference.startswith("sha256:"):
        path = known_path(reference.removeprefix("sha256:"))
        if path is None:
            raise ValueError(f"{reference[:19]}… is not on this machine; expected an upload or a file under ASSAY_DATA")
        return Source(reference, path.name, reference.removeprefix("sha256:"), path)
    path = Path(reference).expanduser()
    if roots is not None and not any(path.resolve().is_relative_to(root.resolve()) for root in roots):
        raise ValueError("the path is not under a folder that this server may read; expected an upload or a sample")
    try:
        if not path.exists():
            raise ValueError(f"{path} is not there; expected a file or folder")
        if path.is_file() and path.stat().st_size == 0:
            raise ValueError(f"{path} is empty; expected data")
        sha256 = hash_of(path)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    remember(sha256, path)
    return Source(f"sha256:{sha256}", path.name, sha256, path)


def portable(reference: str, roots: tuple[Path, ...] | None = None) -> str:
    """The reference without a path: what URLs and runs keep."""
    return reference if reference.startswith(("sample:", "sha256:")) else find_source(reference, roots).reference


def hash_of(path: Path) -> str:
    """SHA-256 of a file's bytes, or of a folder's names and bytes; remembered by path, size and time of change."""
    if path.is_dir():
        digest = hashlib.sha256()
        for inner in files_under(path):
            digest.update(str(inner.relative_to(path)).encode() + b"\0" + bytes.fromhex(hash_of(inner)))
        return digest.hexdigest()
    stat = path.stat()
    key = (str(path.resolve()), stat.st_size, stat.st_mtime_ns)
    with _lock:
        if key in _hashes:
            return _hashes[key]
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    with _lock:
        _hashes[key] = sha256
    return sha256


def files_under(folder: Path) -> Iterator[Path]:
    found = 0
    for inner in sorted(folder.rglob("*")):
        if inner.is_file():
            found += 1
            if found > MAX_SEARCHED:
                raise ValueError(f"{folder} holds more than {MAX_SEARCHED} files; expected one set of data")
            yield inner


def index_path() -> Path:
    return home_folder() / "sources.json"


def read_index() -> dict[str, str]:
    try:
        return json.loads(index_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def remember(sha256: str, path: Path) -> None:
    """Keep where a hash was seen, so that a link with the hash opens it again on this machine."""
    with _lock:
        index = read_index()
        place = str(path.resolve())
        if index.get(sha256) == place:
            return
        index[sha256] = place
        target = index_path()
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(f".{os.getpid()}.part")
        draft.write_text(json.dumps(index, indent=0), encoding="utf-8")
        draft.replace(target)


def known_path(sha256: str) -> Path | None:
    """The file or folder of a hash: an upload, one seen before and unchanged, or one under `ASSAY_DATA`."""
    upload = home_folder() / "uploads" / sha256
    if upload.is_dir():
        return next((p for p in upload.iterdir() if not p.name.endswith(".part")), None)
    seen = read_index().get(sha256)
    if seen and Path(seen).exists() and hash_of(Path(seen)) == sha256:
        return Path(seen)
    shared = os.environ.get("ASSAY_DATA")
    if shared and Path(shared).is_dir():
        for inner in files_under(Path(shared)):
            if hash_of(inner) == sha256:
                return inner
    return None


def keep_upload(name: str, content: bytes) -> Source:
    """Keep the bytes of an upload under their hash.

    Raises:
        ValueError: no bytes, too many, or a name that is not a plain file name.
    """
    plain = Path(name.replace("\\", "/")).name
    if not plain or plain.startswith("."):
        raise ValueError(f"got the file name {name!r}; expected a plain one")
    if not content:
        raise ValueError(f"{plain} is empty; expected data")
    if len(content) > MAX_UPLOAD:
        raise ValueError(f"{plain} has {len(content):,} bytes; expected at most {MAX_UPLOAD:,}")
    sha256 = hashlib.sha256(content).hexdigest()
    folder = home_folder() / "uploads" / sha256
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / plain
    if not any(folder.iterdir()):
        draft = folder / f"{os.getpid()}.part"
        draft.write_bytes(content)
        draft.replace(path)
    return find_source(f"sha256:{sha256}")
