"""How codes of few bits lie in bytes: a row's codes in one or two streams whose widths divide a byte.

Codes of 3, 5 and 6 bits are cut in two, 2 + 1, 4 + 1 and 4 + 2: the low parts of a row, then its high parts. Within a
stream the first code takes the lowest bits. Every stream is filled up to a whole byte, so that all rows are alike; a
byte is never shared, and loops over bytes take vector instructions.
"""

import torch
from torch import Tensor

__all__ = ["BITS", "WIDTHS", "pack_bits", "packed_bytes", "stream_bytes", "unpack_bits"]

WIDTHS = {1: (1,), 2: (2,), 3: (2, 1), 4: (4,), 5: (4, 1), 6: (4, 2), 8: (8,)}
"""Widths of the streams, low parts first, by bits of a code."""
BITS = tuple(WIDTHS)


def widths_of(bits: int) -> tuple[int, ...]:
    if isinstance(bits, bool) or bits not in WIDTHS:
        raise ValueError(f"bits: got {bits!r}; expected one of {', '.join(map(str, BITS))}.")
    return WIDTHS[bits]


def stream_bytes(length: int, width: int) -> int:
    """Bytes of a stream of so many codes."""
    return -(-length * width // 8)


def packed_bytes(length: int, bits: int) -> int:
    """Bytes of a row of so many codes.

    Raises:
        ValueError: bits that are none of `BITS`.
    """
    return sum(stream_bytes(length, width) for width in widths_of(bits))


def pack_bits(codes: Tensor, bits: int) -> Tensor:
    """Codes (..., n) of whole numbers as bytes (..., packed_bytes(n, bits)), uint8.

    Raises:
        ValueError: bits that are none of `BITS`, codes that are no whole numbers, or one outside 0 to 2^bits − 1.
    """
    widths = widths_of(bits)
    if codes.dim() < 1 or codes.dtype.is_floating_point or codes.dtype.is_complex or codes.dtype is torch.bool:
        raise ValueError(f"codes: got {codes.dtype} of shape {tuple(codes.shape)}; expected whole numbers, (..., n).")
    if codes.numel():
        low, high = int(codes.min()), int(codes.max())
        if low < 0 or high >= 2**bits:
            raise ValueError(f"codes: got {low} to {high}; expected 0 to {2**bits - 1}, of {bits} bits.")
    parts, done = [], 0
    for width in widths:
        part = ((codes >> done) & (2**width - 1)).to(torch.uint8)
        a_byte = 8 // width
        part = torch.nn.functional.pad(part, (0, -part.shape[-1] % a_byte))
        part = part.unflatten(-1, (part.shape[-1] // a_byte, a_byte))
        out = part[..., 0].clone()
        for place in range(1, a_byte):
            out |= part[..., place] << (width * place)
        parts.append(out)
        done += width
    return torch.cat(parts, -1)


def unpack_bits(packed: Tensor, bits: int, length: int) -> Tensor:
    """Codes (..., length) uint8 of packed bytes.

    Raises:
        ValueError: bits that are none of `BITS`, no bytes, or another number of them than the length takes.
    """
    widths = widths_of(bits)
    if packed.dtype is not torch.uint8 or packed.dim() < 1 or packed.shape[-1] != packed_bytes(length, bits):
        raise ValueError(
            f"packed: got {packed.dtype} of shape {tuple(packed.shape)}; expected uint8, (..., "
            f"{packed_bytes(length, bits)}) for {length} codes of {bits} bits."
        )
    codes, first, done = None, 0, 0
    for width in widths:
        size = stream_bytes(length, width)
        part = packed[..., first : first + size]
        shifts = torch.arange(0, 8, width, dtype=torch.uint8, device=packed.device)
        own = ((part[..., None] >> shifts) & (2**width - 1)).flatten(-2)[..., :length]
        codes = own if codes is None else codes | (own << done)
        first, done = first + size, done + width
    assert codes is not None
    return codes
