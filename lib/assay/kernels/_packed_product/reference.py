"""The product with packed weights in plain PyTorch: weights unpacked, then multiplied."""

import torch
from torch import Tensor

from assay.kernels._packed_product.layout import unpack_bits

__all__ = ["packed_product_reference", "unpacked"]


def unpacked(
    packed: Tensor, scale: Tensor, zero: Tensor, levels: Tensor | None, bits: int, columns: int, dtype: torch.dtype
) -> Tensor:
    """(H, D) weights without their column scale."""
    codes = unpack_bits(packed, bits, columns)
    values = codes.to(dtype) if levels is None else levels.to(dtype)[codes.long()]
    groups = values.unflatten(1, (scale.shape[1], -1))
    return ((groups - zero.to(dtype)[:, :, None]) * scale.to(dtype)[:, :, None]).flatten(1)


def packed_product_reference(
    x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, levels: Tensor | None, bits: int
) -> Tensor:
    """(B, H) from inputs (B, D), bytes (H, ·), and scales and zeros (H, D / g)."""
    return x @ unpacked(packed, scale, zero, levels, bits, x.shape[1], x.dtype).T
