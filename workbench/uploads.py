"""Uploads: files that come in piece by piece and are kept under their hash, in a folder of their owner's.

Nothing of an upload is seen before it is whole and of a kind that is read here.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from assay.data import content_sha256
from workbench.controls import ControlError
from workbench.file_kinds import check_kind
from workbench.sizes import size_limit
from workbench.sources import Source, find_source, upload_in, uploads_folder

__all__ = ["Upload", "keep_folder", "keep_upload", "plain_name", "sweep_drafts", "upload_limit"]

LIMIT = "2 GiB"
SPARE = 256 * 1024**2  # bytes of the disk that an upload leaves free
FILES = 200  # of a folder
ABANDONED = 24 * 3600.0  # seconds after which what is left of an upload that broke off goes


def upload_limit() -> int:
    """Bytes that a file may have: `ASSAY_UPLOAD_LIMIT`, or 2 GiB.

    Raises:
        ControlError: a size that cannot be.
    """
    return size_limit("upload-limit", os.environ.get("ASSAY_UPLOAD_LIMIT") or LIMIT)


def plain_name(name: str) -> str:
    """The last part of a file's name as a browser sent it.

    Raises:
        ValueError: it is not a plain file name.
    """
    plain = Path(name.replace("\\", "/")).name
    if not plain or plain.startswith(".") or len(plain.encode()) > 200 or not plain.isprintable():
        raise ValueError(f"got the file name {name[:80]!r}; expected a plain one")
    return plain


class Upload:
    """A file on its way: written piece by piece, then kept, or gone when it is left without.

    Args:
        name: its name as it was sent.
        owner: whose it is; empty where nobody signs in.
        size: bytes that are said to come; None where that is not known.

    Raises:
        ValueError: one sentence: the name or the size cannot be.
    """

    def __init__(self, name: str, owner: str = "", size: int | None = None) -> None:
        self.name = plain_name(name)
        self.owner = owner
        self.size = 0
        self._limit = upload_limit()
        self._hash = hashlib.sha256()
        folder = uploads_folder(owner)
        folder.mkdir(parents=True, exist_ok=True)
        self._check(size or 0)
        free = shutil.disk_usage(folder).free - SPARE
        if (size or 0) > free:
            raise ValueError(f"{self.name} has {size:,} bytes; the server's disk has room for {max(0, free):,}")
        self._draft = folder / f"{uuid.uuid4().hex}.part"
        self._file = self._draft.open("xb")

    def _check(self, size: int) -> None:
        if size > self._limit:
            raise ValueError(f"{self.name} has more than {self._limit:,} bytes; expected at most that")

    def write(self, piece: bytes) -> None:
        """Take a further piece.

        Raises:
            ValueError: the file is too large, or the disk is full.
        """
        self.size += len(piece)
        self._check(self.size)
        self._hash.update(piece)
        try:
            self._file.write(piece)
        except OSError as error:
            raise ValueError(f"{self.name} could not be kept: {error.strerror}") from None

    def keep(self) -> Source:
        """The file is whole: look at what it is, and keep it under its hash.

        Raises:
            ValueError: it is empty, or of a kind that is not read here.
        """
        try:
            self._file.close()
        except OSError as error:
            raise ValueError(f"{self.name} could not be kept: {error.strerror}") from None
        if not self.size:
            raise ValueError(f"{self.name} is empty; expected data")
        check_kind(self._draft, self.name)
        return settle(self._draft, self.name, self._hash.hexdigest(), self.owner)

    def __enter__(self) -> Upload:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        self._draft.unlink(missing_ok=True)


def keep_upload(name: str, content: bytes, owner: str = "") -> Source:
    """Keep an upload that is here at once.

    Raises:
        ValueError: what `Upload` raises.
    """
    with Upload(name, owner, len(content)) as upload:
        upload.write(content)
        return upload.keep()


def keep_folder(name: str, files: Mapping[str, str], owner: str = "") -> Source:
    """Make one folder of several uploads, such as the parts of a checkpoint.

    Args:
        name: of the folder.
        files: from a file's name to the reference that its upload got.
        owner: whose uploads they are, and whose the folder is.

    Raises:
        ControlError: no files, too many, a name that is not plain, or a reference that is no upload of theirs.
    """
    if not 1 <= len(files) <= FILES:
        raise ControlError("files", f"got {len(files)}; expected 1 to {FILES}")
    top = uploads_folder(owner)
    draft = top / f"{uuid.uuid4().hex}.part"
    draft.mkdir(parents=True)
    try:
        plain = plain_name(name)
        for called, reference in files.items():
            if plain_name(called) != called:
                raise ValueError(f"got the file name {called[:80]!r}; expected a plain one")
            found = upload_in(top / reference.removeprefix("sha256:"))
            if not reference.startswith("sha256:") or "/" in reference or found is None or not found.is_file():
                raise ValueError(f"{called} is {reference[:80]!r}, which is no upload of yours; expected one")
            link(found, draft / called)
        return settle(draft, plain, content_sha256(draft), owner)
    except ValueError as error:
        raise ControlError("files", str(error)) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def link(file: Path, place: Path) -> None:
    """The same file at a second place; a copy where the disk knows no links."""
    try:
        os.link(file, place)
    except OSError:
        shutil.copyfile(file, place)


def settle(draft: Path, name: str, sha256: str, owner: str) -> Source:
    """Move what is whole to its place under its hash; what is there already stays."""
    folder = uploads_folder(owner) / sha256
    folder.mkdir(parents=True, exist_ok=True)
    if upload_in(folder) is None:
        draft.replace(folder / name)
    return find_source(f"sha256:{sha256}", (uploads_folder(owner),) if owner else None)


def sweep_drafts() -> None:
    """Clear away what uploads that broke off left, once it is a day old."""
    top = uploads_folder()
    for draft in [*top.glob("*.part"), *top.glob("*/*.part")]:
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > ABANDONED:
                shutil.rmtree(draft) if draft.is_dir() else draft.unlink()
