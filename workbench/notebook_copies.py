"""A study's marimo notebook, copied to a folder of the user's: hers to edit, and never written over."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from workbench.controls import ControlError
from workbench.places import notebooks_folder
from workbench.registry import registry

__all__ = ["copy_all", "copy_notebook"]


def copied(source: Path, target: Path) -> bool:
    """Copy a file, whole or not at all, unless something is there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.copyfile(source, draft)
    try:
        os.link(draft, target)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def companions(source: Path) -> list[tuple[Path, Path]]:
    """What a notebook reads beside itself, and where it must lie beside its copy's folder."""
    name = source.stem
    found = [(source.parent.parent / "head.html", Path("head.html"))]
    found += [(path, Path(source.parent.name, "verdicts", path.name))
              for path in sorted((source.parent / "verdicts").glob(f"{name}-*.json"))]  # fmt: skip
    return [(path, place) for path, place in found if path.is_file()]


def copy_notebook(slug: str, folder: Path) -> Path:
    """Copy the notebook of a study to `folder/family/slug.py`, with what it reads; one that is there stays as it is.

    Args:
        slug: the study; `-` and `_` are the same.
        folder: made when it is not there.

    Returns:
        the copy.

    Raises:
        UnknownStudy: no such study.
        ControlError: the study has no notebook, or the folder cannot be written.
    """
    study = registry().get(slug)
    name = study.slug.replace("-", "_")
    source = notebooks_folder() / study.family / f"{name}.py"
    if not source.is_file():
        raise ControlError("study", f"got {study.slug!r}, which has no notebook")
    folder = folder.expanduser().resolve()
    target = folder / study.family / f"{name}.py"
    try:
        for path, place in companions(source):
            copied(path, folder / place)
        copied(source, target)
    except OSError as error:
        raise ControlError("folder", f"got {str(folder)!r}, which cannot be written: {error.strerror}") from None
    return target


def copy_all(folder: Path) -> None:
    """Copy every study's notebook that is not in the folder yet."""
    for card in registry().cards():
        with contextlib.suppress(ControlError):
            copy_notebook(card.slug, folder)
