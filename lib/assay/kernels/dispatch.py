"""Which form of a kernel serves a tensor: by its device and dtype."""

import importlib
import importlib.util
from types import ModuleType

import torch
from torch import Tensor

from assay.back_ends import serves

__all__ = ["has_kernels", "kernels_for"]

TRITON = importlib.util.find_spec("triton") is not None


def has_kernels(x: Tensor) -> bool:
    """False where the reference has to do. Plain enough for `torch.compile` to look through."""
    if x.device.type == "cuda":
        return TRITON
    return x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)


def kernels_for(x: Tensor, cpu: ModuleType) -> ModuleType | None:
    """The form for a tensor: `cpu`, or `gpu` beside it, imported where it is needed; None for the reference."""
    package = cpu.__package__ or ""
    form = "reference" if not has_kernels(x) else "cpu" if x.device.type == "cpu" else "gpu"
    serves(package.rpartition("._")[2], form)
    if form == "reference":
        return None
    return cpu if form == "cpu" else importlib.import_module(f"{package}.gpu")
