"""What this machine has, what is missing, and how to get it."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.controls import ControlError
from workbench.places import apps_folder, cache_folder, home_folder, notebooks_folder

__all__ = ["Finding", "findings"]

PACKAGES = ("torch", "numpy", "panel", "bokeh", "plotly", "marimo", "jupyterlab", "distributed", "mlflow")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it is there, what it is, and a sentence."""

    good: bool
    what: str
    sentence: str


def findings() -> list[Finding]:
    """Everything that was looked at, in order."""
    return [*software(), *hardware(), *folders(), *kernels(), *studies()]


def software() -> Iterator[Finding]:
    version = platform.python_version()
    yield Finding(sys.version_info >= (3, 11), "Python", f"{version}; 3.11 or newer is needed.")
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            yield Finding(False, package, "Not installed; `pip install assay-workbench` brings it.")
    yield Finding(True, "Packages", ", ".join(found) + ".")
    if sys.platform == "linux" and ctypes.util.find_library("gomp") is None:
        yield Finding(
            False, "libgomp1", "Not found; torch and Numba run threads with it: install the package libgomp1."
        )
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    sentence = f"{compiler}." if compiler else "None found; `torch.compile` needs one: install g++. All else works."
    yield Finding(compiler is not None, "C++ compiler", sentence)
    from workbench.report.pdf import browser_program

    try:
        yield Finding(True, "Browser", f"{browser_program()}.")
    except ControlError:
        yield Finding(False, "Browser", "None found; the browser tests need one: install the package chromium.")


def hardware() -> Iterator[Finding]:
    import torch

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding(True, "Processor", f"{platform.machine()}, {cores} cores, {torch.backends.cpu.get_cpu_capability()}.")
    if torch.cuda.is_available():
        name, memory = torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory
        yield Finding(True, "GPU", f"{name}, {memory / 2**30:.0f} GiB.")
    else:
        yield Finding(True, "GPU", "None; everything runs on the CPU, and `--preset full` takes longer.")


def writable(folder: Path) -> str:
    """Why nothing can be written under a folder; empty when it can."""
    place = folder
    while not place.exists():
        place = place.parent
    return "" if os.access(place, os.W_OK) else f"{place} cannot be written."


def folders() -> Iterator[Finding]:
    for what, folder in (("Runs and uploads", home_folder()), ("Cache", cache_folder())):
        trouble = writable(folder)
        yield Finding(not trouble, what, trouble or f"{folder}.")
    for what, find in (("Pages", apps_folder), ("Notebooks", notebooks_folder)):
        try:
            yield Finding(True, what, f"{find()}.")
        except FileNotFoundError as error:
            yield Finding(False, what, str(error))
    data = os.environ.get("ASSAY_DATA")
    if data and not Path(data).is_dir():
        yield Finding(False, "ASSAY_DATA", f"{data} is not a folder; unset it, or set it to the folder of your data.")
    else:
        yield Finding(True, "ASSAY_DATA", f"{data}." if data else "Not set; the shipped samples are used.")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 5006))
            yield Finding(True, "Port 5006", "Free.")
        except OSError:
            yield Finding(False, "Port 5006", "In use; `assay serve --port 5007` takes another one.")


def kernels() -> Iterator[Finding]:
    from assay.kernels import gpu_status

    for kernel, sentence in gpu_status().items():
        yield Finding(not sentence.startswith("not yet"), f"Kernel {kernel}", sentence)


def studies() -> Iterator[Finding]:
    from workbench.registry import registry

    cards = registry().cards()
    for card in cards:
        if card.broken:
            yield Finding(False, card.slug, card.broken)
    yield Finding(True, "Studies", f"{sum(not c.broken for c in cards)} can be run.")
