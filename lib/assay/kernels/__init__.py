"""Kernels: the inner loops of the methods, each with a reference in plain PyTorch, a CPU and a GPU form."""

from assay.kernels.gpu_record import gpu_status
from assay.kernels.lif_scan import lif

__all__ = ["gpu_status", "lif"]
