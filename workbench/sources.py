"""Sources: what a reference to data or weights means on this machine.

A reference is `sample:NAME` (shipped, or made by a generator), `sha256:HEX` (an upload, a file that was opened here
before, or one under `ASSAY_DATA`) or a path. URLs, runs and reports keep the name and the hash, never a path.
"""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from assay.data import InputError, content_sha256, resolve
from workbench.places import home_folder

__all__ = ["Source", "find_source", "portable", "upload_in", "uploads_folder"]

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
    if reference.startswith("sha256:") and (known := seen_before(reference.removeprefix("sha256:"), roots)):
        return Source(reference, known.name, reference.removeprefix("sha256:"), known)
    try:
        found = resolve(reference, roots=roots)
    except InputError as error:
        raise ValueError(str(error).removeprefix("reference: ").removeprefix("sample: ")) from None
    if found.path is None:
        return Source(reference, found.name, found.sha256)
    if not reference.startswith("sha256:"):
        remember(found.sha256, found.path)
    return Source(f"sha256:{found.sha256}", found.name, found.sha256, found.path)


def portable(reference: str, roots: tuple[Path, ...] | None = None) -> str:
    """The reference without a path: what URLs and runs keep."""
    return reference if reference.startswith(("sample:", "sha256:")) else find_source(reference, roots).reference


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


def seen_before(sha256: str, roots: tuple[Path, ...] | None = None) -> Path | None:
    """The upload of a hash, or a file or folder under the roots that was opened here before and has not changed."""
    for folder in upload_places(roots):
        if kept := upload_in(folder / sha256):
            return kept
    seen = Path(read_index().get(sha256, ""))
    allowed = roots is None or any(seen.is_relative_to(root.resolve()) for root in roots)
    return seen if allowed and seen.name and seen.exists() and content_sha256(seen) == sha256 else None


def upload_in(place: Path) -> Path | None:
    """The file or folder that is kept in the folder of its hash; None where there is none."""
    return next((p for p in place.glob("*") if not p.name.endswith(".part")), None)


def uploads_folder(owner: str = "") -> Path:
    """Where the uploads of somebody lie, each in a folder of its hash; of those who need not sign in by default."""
    return home_folder() / "uploads" / owner


def upload_places(roots: tuple[Path, ...] | None) -> list[Path]:
    """The folders of uploads that may be read: everybody's, or those among the roots."""
    top = uploads_folder()
    if roots is not None:
        return [root for root in roots if top in (root, root.parent)]
    named = [p for p in top.iterdir() if len(p.name) < 64 and p.is_dir()] if top.is_dir() else []  # not of a hash
    return [top, *sorted(named)]
