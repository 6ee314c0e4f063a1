"""Efficient models: weights of few bits, what quantising them costs, and files of them.

`quantise_sinq` scales columns and rows of tiles before rounding (Müller et al., arXiv 2509.22944); `quantise_by` gives
it, its variants and its rivals one name each; `quantise_checkpoint` takes a whole model.
"""

from assay.efficient.absorb import Absorbed, absorb_scales, llama_plan
from assay.efficient.calibrated import AwqScale, awq_scale, gptq_groups, quantise_asinq, quantise_awq
from assay.efficient.checkpoint_files import Fate, Quantised, fate_of, quantise_checkpoint
from assay.efficient.dual_scale import (
    kurtosis,
    matrix_imbalance,
    quantise_rtn,
    quantise_scaled,
    quantise_sinq,
    sinkhorn_scales,
)
from assay.efficient.methods import CALIBRATED, METHODS, Outcome, quantise_by
from assay.efficient.output_errors import expected_output_error, output_error, weight_error
from assay.efficient.quant_files import read_quantised, write_quantised
from assay.efficient.quant_tensor import QuantTensor, dequantise, in_eight_bits, sinq_linear
from assay.efficient.recipe import BITS, GROUPS, Recipe, group_width, tile_height
from assay.efficient.rotation import hadamard_rotate, rotated_rtn
from assay.efficient.rounding import NF3, NF4, Rounded, clipped_groups, refined_zeros, round_groups

__all__ = [
    "BITS", "CALIBRATED", "GROUPS", "METHODS", "NF3", "NF4", "Absorbed", "AwqScale", "Fate", "Outcome", "QuantTensor",
    "Quantised", "Recipe", "Rounded", "absorb_scales", "awq_scale", "clipped_groups", "dequantise",
    "expected_output_error", "fate_of", "gptq_groups", "group_width", "hadamard_rotate", "in_eight_bits", "kurtosis",
    "llama_plan", "matrix_imbalance", "output_error", "quantise_asinq", "quantise_awq", "quantise_by",
    "quantise_checkpoint", "quantise_rtn", "quantise_scaled", "quantise_sinq", "read_quantised", "refined_zeros",
    "rotated_rtn", "round_groups", "sinkhorn_scales", "sinq_linear", "tile_height", "weight_error", "write_quantised",
]  # fmt: skip
