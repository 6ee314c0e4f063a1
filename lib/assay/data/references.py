"""References to data, and hashes of content.

A reference is `sample:NAME`, `sha256:HEX` or a path. A hash finds a file or folder again, wherever it lies under the
folders that are searched; hashes are remembered by path, size and time of change, in memory and in the user's cache
folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.data.sequences import InputError

__all__ = ["Resolved", "content_sha256", "find_content", "resolve"]

MAX_FILES = 20_000
MAX_REMEMBERED = 50_000
HEX = re.compile(r"[0-9a-f]{64}")
_lock = threading.Lock()
_known: dict[str, tuple[int, int, str]] | None = None
_unkept = False  # something is remembered that is not in the cache folder yet


@dataclass(frozen=True)
class Resolved:
    """What a reference means on this machine.

    Attributes:
        name: what people read.
        sha256: of the content; of name and recipe for a synthetic sample.
        path: the file or folder; None for a sample.
    """

    name: str
    sha256: str
    path: Path | None


def resolve(reference: str, *, roots: Sequence[Path] | None = None, folders: Sequence[Path] = ()) -> Resolved:
    """Find what a reference names.

    Args:
        reference: `sample:NAME`, `sha256:HEX` (64 digits) or a path.
        roots: folders that a path must lie in, links followed; None allows any path.
        folders: searched for a hash before ASSAY_DATA.

    Raises:
        InputError: nothing there, not allowed, empty, or no reference at all.
    """
    from assay.data.shipped import data_folder, sample_version  # it needs hashes from here

    if reference.startswith("sample:"):
        name = reference.removeprefix("sample:")
        return Resolved(name, sample_version(name), None)
    if reference.startswith("sha256:"):
        sha256 = reference.removeprefix("sha256:")
        if not HEX.fullmatch(sha256):
            raise InputError(f"reference: got {reference[:80]!r}; expected sha256: and 64 hexadecimal digits.")
        shared = data_folder()
        found = find_content(sha256, [*folders, *([shared] if shared else [])])
        if found is None:
            raise InputError(f"reference: {reference[:19]}… is not on this machine; expected content under ASSAY_DATA.")
        return Resolved(found.name, sha256, found)
    if not reference.strip() or "\0" in reference:
        raise InputError(f"reference: got {reference[:80]!r}; expected sample:NAME, sha256:HEX or a path.")
    path = Path(reference).expanduser()
    try:
        real = path.resolve()
        if roots is not None and not any(real.is_relative_to(root.resolve()) for root in roots):
            raise InputError(
                f"reference: {path.name} lies in no folder that may be read; expected one under a listed root."
            )
        if not path.exists():
            raise InputError(f"reference: {path.name} is not there; expected a file or folder.")
        if path.is_file() and not path.stat().st_size:
            raise InputError(f"reference: {path.name} is empty; expected data.")
        return Resolved(path.name, content_sha256(path), path)
    except OSError as error:
        raise InputError(
            f"reference: {path.name} cannot be read ({error.strerror}); expected a readable file."
        ) from None


def content_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes; for a folder, over relative names and hashes of the files in it, sorted.

    Raises:
        InputError: a folder of more than 20,000 files.
        OSError: it cannot be read.
    """
    try:
        return hashed(path)
    finally:
        keep()


def find_content(sha256: str, folders: Sequence[Path]) -> Path | None:
    """A file, or else a folder, of this hash somewhere under the folders."""
    try:
        for folder in folders:
            for file in files_under(folder):
                if hashed(file) == sha256:
                    return file
        for folder in folders:
            for inner in sorted({parent for file in files_under(folder) for parent in file.parents}):
                if inner.is_relative_to(folder) and hashed(inner) == sha256:
                    return inner
        return None
    finally:
        keep()


def hashed(path: Path) -> str:
    """As `content_sha256`; what is new is remembered in memory only."""
    if path.is_dir():
        digest = hashlib.sha256()
        for inner in files_under(path):
            digest.update(inner.relative_to(path).as_posix().encode() + b"\0" + bytes.fromhex(hashed(inner)))
        return digest.hexdigest()
    stat = path.stat()
    key, stamp = str(path.resolve()), (stat.st_size, stat.st_mtime_ns)
    with _lock:
        known = remembered().get(key)
    if known is not None and tuple(known[:2]) == stamp:
        return known[2]
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    global _unkept
    with _lock:
        remembered()[key] = (*stamp, sha256)
        _unkept = True
    return sha256


def files_under(folder: Path) -> Iterator[Path]:
    """Files at any depth, sorted."""
    found = 0
    for inner in sorted(folder.rglob("*")):
        if inner.is_file():
            found += 1
            if found > MAX_FILES:
                raise InputError(f"{folder.name}: holds more than {MAX_FILES:,} files; expected one set of data.")
            yield inner


def cache_file() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay" / "content-hashes.json"


def remembered() -> dict[str, tuple[int, int, str]]:
    """Hashes by path, read from the cache folder once; a damaged or missing file is as good as an empty one."""
    global _known
    if _known is None:
        try:
            entries = json.loads(cache_file().read_text(encoding="utf-8"))
            _known = {str(k): (int(a), int(b), str(c)) for k, (a, b, c) in entries.items() if HEX.fullmatch(str(c))}
        except (OSError, ValueError, TypeError, AttributeError):
            _known = {}
    return _known


def keep() -> None:
    """Write new hashes for the next process; where nothing can be written they are computed again."""
    global _unkept
    with _lock:
        if not _unkept:
            return
        _unkept = False
        known = remembered()
        while len(known) > MAX_REMEMBERED:
            del known[next(iter(known))]
        text = json.dumps(known)
    target = cache_file()
    draft = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
