"""What numbers may depend on beside the code: versions, processor, threads, linear algebra, device, commit."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

__all__ = ["THREAD_VARIABLES", "environment"]

THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


def environment(device: str = "cpu") -> dict[str, Any]:
    """What the numbers of a job in this process depend on.

    Args:
        device: `cpu` or `cuda`.

    Returns:
        versions of Python, NumPy and PyTorch; `platform`; `processor` (its name), `cores`, and `cpu` (the instructions
        that PyTorch uses); `threads` and the variables that set them; `blas` by library; `device`; `determinism`, the
        switches that arithmetic may depend on; `revision` of the clone and `version` of the package; `packages`, all
        that is installed, and `imported`, those that this process has imported.
    """
    import numpy as np
    import torch

    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "platform": f"{platform.system()} {platform.machine()}",
        "processor": processor(),
        "cores": os.cpu_count(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "thread_variables": {name: os.environ.get(name, "") for name in THREAD_VARIABLES},
        "blas": {"numpy": numpy_blas(), "torch": torch_blas()},
        "device": gpu() if device == "cuda" else "cpu",
        "determinism": determinism(),
        "revision": revision(),
        "version": own_version(),
        "packages": dict(packages()),
        "imported": imported(),
    }


def determinism() -> dict[str, str]:
    """The switches of this process that arithmetic may depend on."""
    import torch

    return {
        "deterministic_algorithms": str(torch.are_deterministic_algorithms_enabled()).lower(),
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_deterministic": str(torch.backends.cudnn.deterministic).lower(),
        "cudnn_benchmark": str(torch.backends.cudnn.benchmark).lower(),
        "python_hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
    }


def imported() -> dict[str, str]:
    """From distribution to version, those that a module of this process came from."""
    from workbench.identity import distributions

    tops = {name.partition(".")[0] for name in list(sys.modules)}
    names = {canonical(name) for top in tops for name in distributions().get(top, [])}
    return {name: version for name, version in packages().items() if name in names}


def canonical(name: str) -> str:
    """A distribution's name in its one form."""
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def gpu() -> str:
    """The card, its compute capability and the CUDA version that PyTorch was built for."""
    import torch

    major, minor = torch.cuda.get_device_capability()
    return f"{torch.cuda.get_device_name()}, sm_{major}{minor}, CUDA {torch.version.cuda}"


@functools.cache
def numpy_blas() -> str:
    """The linear algebra that NumPy was built with."""
    import numpy as np

    found: Any = np.show_config(mode="dicts")
    blas = (found or {}).get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', '')} {blas.get('version', '')}".strip()


@functools.cache
def torch_blas() -> str:
    """The linear algebra that PyTorch was built with."""
    import torch

    built = torch.__config__.show()
    name = re.search(r"BLAS_INFO=(\w+)", built)
    version = re.search(r"Math Kernel Library Version (\S+?)-", built)
    return " ".join(found[1] for found in (name, version) if found)


@functools.cache
def packages() -> dict[str, str]:
    """From distribution to version, all that is installed."""
    found = ((one.metadata["Name"], one.version) for one in importlib.metadata.distributions())
    return dict(sorted((canonical(name), version) for name, version in found if name))


@functools.cache
def own_version() -> str:
    """The version of this package; empty where it is not installed."""
    try:
        return importlib.metadata.version("assay-workbench")
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.cache
def revision() -> str:
    """The commit of the clone that the code runs from, with `+` when it has uncommitted changes; empty elsewhere."""
    here = Path(__file__).resolve().parent.parent
    if not (here / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            cwd=here, capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
