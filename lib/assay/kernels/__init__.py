"""Kernels: the inner loops of the methods, each with a reference in plain PyTorch, a CPU and a GPU form."""

from assay.kernels._balance import Balanced, balance
from assay.kernels._lif import lif
from assay.kernels._packed_product import pack_bits, packed_bytes, packed_product, unpack_bits
from assay.kernels._prefix_support import prefix_support
from assay.kernels._selective_scan import ScanNorms, selective_scan, selective_scan_norms
from assay.kernels.gpu_record import gpu_status

__all__ = [
    "Balanced", "ScanNorms", "balance", "gpu_status", "lif", "pack_bits", "packed_bytes", "packed_product",
    "prefix_support", "selective_scan", "selective_scan_norms", "unpack_bits",
]  # fmt: skip
