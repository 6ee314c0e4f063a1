"""The product of inputs with weights that stay packed: bytes are unpacked where they are multiplied."""

import importlib

import torch
from torch import Tensor

from assay.back_ends import serves
from assay.kernels._packed_product import cpu
from assay.kernels._packed_product.layout import BITS, pack_bits, packed_bytes, unpack_bits
from assay.kernels._packed_product.reference import packed_product_reference
from assay.kernels.dispatch import TRITON

__all__ = ["BITS", "pack_bits", "packed_bytes", "packed_product", "unpack_bits"]


def packed_product(
    x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, *, bits: int, levels: Tensor | None = None
) -> Tensor:
    """Multiply inputs with a packed weight matrix: y = Σ_t s_t (Q_t − z_t) x_t over groups t of columns.

    A column scale goes into the inputs beforehand, y = Q (s₂ ⊙ x) (Müller et al., arXiv 2509.22944, section 3).

    Args:
        x: (B, D) floats.
        packed: (H, packed_bytes(D, bits)) uint8, rows of `pack_bits`.
        scale, zero: (H, D / g) floats; g a multiple of 8 where bits are none of 8.
        bits: 1, 2, 3, 4, 5, 6 or 8.
        levels: (2^bits,) what the codes stand for; None for themselves.

    Returns:
        (B, H) of x's type; sums are float32 or, in the reference, of x's type.

    Raises:
        ValueError: shapes, types or bits that do not fit.
    """
    if not isinstance(x, Tensor) or x.dim() != 2 or not x.dtype.is_floating_point or not x.shape[1]:
        got = f"{x.dtype} of shape {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        raise ValueError(f"x: got {got}; expected floats (B, D).")
    width = x.shape[1]
    if packed.dtype is not torch.uint8 or packed.dim() != 2 or packed.shape[1] != packed_bytes(width, bits):
        raise ValueError(
            f"packed: got {packed.dtype} of shape {tuple(packed.shape)}; expected uint8, (H, "
            f"{packed_bytes(width, bits)}) for {width} columns of {bits} bits."
        )
    for name, given in (("scale", scale), ("zero", zero)):
        if given.dim() != 2 or len(given) != len(packed) or not given.shape[1] or width % given.shape[1]:
            raise ValueError(f"{name}: got shape {tuple(given.shape)}; expected ({len(packed)}, groups of {width}).")
    if scale.shape != zero.shape:
        raise ValueError(f"zero: got shape {tuple(zero.shape)}; expected {tuple(scale.shape)}, as the scales.")
    if bits != 8 and (width // scale.shape[1]) % 8:
        raise ValueError(f"scale: got groups of {width // scale.shape[1]}; expected a multiple of 8.")
    if levels is not None and levels.shape != (2**bits,):
        raise ValueError(f"levels: got shape {tuple(levels.shape)}; expected ({2**bits},).")
    given = x.contiguous()
    if given.device.type == "cpu" and x.dtype is torch.float32:
        serves("packed_product", "cpu")
        own = [None if v is None else v.detach().float().contiguous() for v in (scale, zero, levels)]
        return cpu.multiplied(given.detach(), packed.contiguous(), own[0], own[1], own[2], bits)  # type: ignore[arg-type]
    if given.device.type == "cuda" and TRITON:
        serves("packed_product", "gpu")
        gpu = importlib.import_module(f"{__name__}.gpu")
        return gpu.multiplied(given, packed.contiguous(), scale.contiguous(), zero.contiguous(), levels, bits)
    serves("packed_product", "reference")
    return packed_product_reference(given, packed, scale, zero, levels, bits)
