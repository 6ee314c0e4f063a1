"""Where things are: apps and notebooks, in a clone or in an installed wheel, and the folders of the user's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["apps_folder", "cache_folder", "home_folder", "notebooks_folder"]

PACKAGE = Path(__file__).resolve().parent


def beside(name: str) -> Path:
    """A top-level folder of the project: inside the package when installed, else beside it.

    Raises:
        FileNotFoundError: it is in neither place.
    """
    for folder in (PACKAGE / name, PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"{name}: not found inside or beside the workbench package at {PACKAGE}.")


def apps_folder() -> Path:
    """The Panel pages."""
    return beside("apps")


def notebooks_folder() -> Path:
    """The marimo notebooks."""
    return beside("notebooks")


def home_folder() -> Path:
    """Where runs, uploads and settings of this user are kept: `ASSAY_HOME`, or the platform's folder for data."""
    if chosen := os.environ.get("ASSAY_HOME"):
        return Path(chosen).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "assay"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "assay"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "assay"


def cache_folder() -> Path:
    """Where things are kept that can be made again: `ASSAY_HOME/cache`, or the platform's folder for caches."""
    if chosen := os.environ.get("ASSAY_HOME"):
        return Path(chosen).expanduser() / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "assay"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "assay" / "cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"
