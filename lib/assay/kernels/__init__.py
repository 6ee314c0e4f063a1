"""Kernels: the inner loops of the methods, each with a reference in plain PyTorch, a CPU and a GPU form."""

from assay.kernels._lif import lif
from assay.kernels._prefix_support import prefix_support
from assay.kernels._selective_scan import ScanNorms, selective_scan, selective_scan_norms
from assay.kernels.gpu_record import gpu_status

__all__ = ["ScanNorms", "gpu_status", "lif", "prefix_support", "selective_scan", "selective_scan_norms"]
