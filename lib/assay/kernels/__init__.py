"""Kernels: the inner loops of the methods, each with a reference in plain PyTorch, a CPU and a GPU form."""

from assay.kernels._balance import Balanced, balance
from assay.kernels._cable import (
    Cable,
    CableRun,
    Drive,
    Gradients,
    Synapses,
    cable_adjoint,
    cable_steps,
    cable_torch,
)
from assay.kernels._lif import lif
from assay.kernels._packed_product import pack_bits, packed_bytes, packed_product, unpack_bits
from assay.kernels._prefix_support import prefix_support
from assay.kernels._selective_scan import ScanNorms, selective_scan, selective_scan_norms
from assay.kernels._tree_solve import (
    Bound,
    Schedule,
    dhs_schedule,
    node_depth,
    optimal_rounds,
    round_bound,
    tree_solve,
    tree_solve_rounds,
)
from assay.kernels.gpu_record import gpu_status

__all__ = [
    "Balanced", "Bound", "Cable", "CableRun", "Drive", "Gradients", "ScanNorms", "Schedule", "Synapses", "balance",
    "cable_adjoint", "cable_steps", "cable_torch", "dhs_schedule", "gpu_status", "lif", "node_depth", "optimal_rounds",
    "pack_bits", "packed_bytes", "packed_product", "prefix_support", "round_bound", "selective_scan",
    "selective_scan_norms", "tree_solve", "tree_solve_rounds", "unpack_bits",
]  # fmt: skip
