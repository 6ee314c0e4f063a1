"""The product with packed weights on processors: Numba, bytes unpacked in registers, a share of the rows a thread.

Inputs are laid out once so that what belongs to a bit field of neighbouring bytes lies side by side: loops over bytes
then take vector instructions. A sum over codes is linear in their parts, so each stream is summed by itself; codes of a
codebook are looked up one by one. Many inputs at a time go through a block of unpacked rows and a matrix product.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

import numpy as np
import torch
from torch import Tensor

from assay.kernels._packed_product.layout import WIDTHS, stream_bytes
from assay.kernels._packed_product.reference import unpacked
from assay.kernels.compiled import compiled, inlined, summing
from assay.kernels.threads import shared_out

__all__ = ["FEW", "multiplied"]

FEW = 4  # inputs up to which bytes are unpacked for each
LAST, LAST_TWO, LAST_FOUR = np.uint8(1), np.uint8(3), np.uint8(15)  # bits of a byte
TWO, THREE, FOUR, FIVE, SIX, SEVEN = (np.uint8(shift) for shift in range(2, 8))
PIECES = {1: 8, 2: 16, 4: 32, 8: 64}  # bytes that are summed at a time, by bits: a length that is known ahead
BLOCK = 2**20  # weights that are unpacked at a time for many inputs


@summing
def _eights(row, other, x, y):
    """Sum of 64 inputs over codes of eight bits, half of them beside the other half."""
    s = np.float32(0)
    for k in range(32):
        s += np.float32(row[k]) * x[k] + np.float32(other[k]) * y[k]
    return s


@summing
def _fours(row, a, b):
    """Sum of 64 inputs over codes of four bits: those of low halves of 32 bytes, and of high halves."""
    s = np.float32(0)
    for k in range(32):
        s += np.float32(np.uint8(row[k] & LAST_FOUR)) * a[k] + np.float32(np.uint8(row[k] >> FOUR)) * b[k]
    return s


@summing
def _twos(row, a, b, c, d):
    """Sum of 64 inputs over codes of two bits in 16 bytes, the lowest first."""
    s = np.float32(0)
    for k in range(16):
        v = row[k]
        s += np.float32(np.uint8(v & LAST_TWO)) * a[k] + np.float32(np.uint8(np.uint8(v >> TWO) & LAST_TWO)) * b[k]
        s += np.float32(np.uint8(np.uint8(v >> FOUR) & LAST_TWO)) * c[k] + np.float32(np.uint8(v >> SIX)) * d[k]
    return s


@summing
def _ones(row, a, b, c, d, e, f, g, h):
    """Sum of 64 inputs over codes of one bit in 8 bytes, the lowest first."""
    s = np.float32(0)
    for k in range(8):
        v = row[k]
        s += np.float32(np.uint8(v & LAST)) * a[k] + np.float32(np.uint8(np.uint8(v >> LAST) & LAST)) * b[k]
        s += np.float32(np.uint8(np.uint8(v >> TWO) & LAST)) * c[k]
        s += np.float32(np.uint8(np.uint8(v >> THREE) & LAST)) * d[k]
        s += np.float32(np.uint8(np.uint8(v >> FOUR) & LAST)) * e[k]
        s += np.float32(np.uint8(np.uint8(v >> FIVE) & LAST)) * f[k]
        s += np.float32(np.uint8(np.uint8(v >> SIX) & LAST)) * g[k] + np.float32(np.uint8(v >> SEVEN)) * h[k]
    return s


@inlined
def _eight_bits(row, x, n):
    """Sum over the n bytes of a group."""
    s = np.float32(0)
    for k in range(0, n, 64):
        s += _eights(row[k : k + 32], row[k + 32 : k + 64], x[k : k + 32], x[k + 32 : k + 64])
    return s


@inlined
def _four_bits(row, x, n):
    s = np.float32(0)
    for k in range(0, n, 32):
        s += _fours(row[k : k + 32], x[k : k + 32], x[n + k : n + k + 32])
    return s


@inlined
def _two_bits(row, x, n):
    s = np.float32(0)
    for k in range(0, n, 16):
        m = k + 16
        s += _twos(row[k:m], x[k:m], x[n + k : n + m], x[2 * n + k : 2 * n + m], x[3 * n + k : 3 * n + m])
    return s


@inlined
def _one_bit(row, x, n):
    s = np.float32(0)
    for k in range(0, n, 8):
        m = k + 8
        s += _ones(
            row[k:m], x[k:m], x[n + k : n + m], x[2 * n + k : 2 * n + m], x[3 * n + k : 3 * n + m],
            x[4 * n + k : 4 * n + m], x[5 * n + k : 5 * n + m], x[6 * n + k : 6 * n + m], x[7 * n + k : 7 * n + m],
        )  # fmt: skip
    return s


@inlined
def _any_bits(row, x, n, width):
    """The same of any width and length, byte by byte."""
    s = np.float32(0)
    for place in range(8 // width):
        for k in range(n):
            s += np.float32((row[k] >> (place * width)) & ((1 << width) - 1)) * x[place * n + k]
    return s


# One function a width: in a loop that chooses among them, none is compiled well.


@compiled
def _stream_8(packed, start, step, factor, scale, x, out, first, last):
    """Add what a stream of codes of eight bits says to the products of rows; x (groups, codes of a group)."""
    for i in range(first, last):
        total = np.float32(0)
        for n in range(scale.shape[1]):
            row = packed[i, start + n * step : start + (n + 1) * step]
            total += _eight_bits(row, x[n], step) * scale[i, n]
        out[i] += factor * total


@compiled
def _stream_4(packed, start, step, factor, scale, x, out, first, last):
    """The same of four bits."""
    for i in range(first, last):
        total = np.float32(0)
        for n in range(scale.shape[1]):
            row = packed[i, start + n * step : start + (n + 1) * step]
            total += _four_bits(row, x[n], step) * scale[i, n]
        out[i] += factor * total


@compiled
def _stream_2(packed, start, step, factor, scale, x, out, first, last):
    """The same of two bits."""
    for i in range(first, last):
        total = np.float32(0)
        for n in range(scale.shape[1]):
            row = packed[i, start + n * step : start + (n + 1) * step]
            total += _two_bits(row, x[n], step) * scale[i, n]
        out[i] += factor * total


@compiled
def _stream_1(packed, start, step, factor, scale, x, out, first, last):
    """The same of one bit."""
    for i in range(first, last):
        total = np.float32(0)
        for n in range(scale.shape[1]):
            row = packed[i, start + n * step : start + (n + 1) * step]
            total += _one_bit(row, x[n], step) * scale[i, n]
        out[i] += factor * total


@compiled
def _stream_any(packed, start, step, width, factor, scale, x, out, first, last):
    """The same of any width, for groups that are not cut in whole pieces."""
    for i in range(first, last):
        total = np.float32(0)
        for n in range(scale.shape[1]):
            row = packed[i, start + n * step : start + (n + 1) * step]
            total += _any_bits(row, x[n], step, width) * scale[i, n]
        out[i] += factor * total


def add_stream(
    packed: np.ndarray, start: int, size: int, width: int, factor: np.float32, scale: np.ndarray, x: np.ndarray,
    out: np.ndarray, first: int, last: int,
) -> None:  # fmt: skip
    """Add what a stream of a row's bytes says to the products of rows."""
    step = size // scale.shape[1]
    given = (factor, scale, x, out, first, last)
    if step % PIECES[width]:
        _stream_any(packed, start, step, width, *given)
    else:
        STREAMS[width](packed, start, step, *given)


STREAMS = {8: _stream_8, 4: _stream_4, 2: _stream_2, 1: _stream_1}


@compiled
def _zeros(scale, zero, sums, out, first, last):
    """Take the zeros' share away."""
    for i in range(first, last):
        total = np.float32(0)
        for n in range(scale.shape[1]):
            total += scale[i, n] * zero[i, n] * sums[n]
        out[i] -= total


@compiled
def _looked_up(packed, second, low, high, levels, scale, x, out, first, last):
    """Products of rows whose codes stand for levels; low and high bits of a code in one or two streams."""
    groups = scale.shape[1]
    size = x.size // groups
    few, more = 8 // low, 8 // high if high else 1
    for i in range(first, last):
        total = np.float32(0)
        for n in range(groups):
            part = np.float32(0)
            for j in range(n * size, (n + 1) * size):
                code = (packed[i, j // few] >> (low * (j % few))) & ((1 << low) - 1)
                if high:
                    code |= ((packed[i, second + j // more] >> (high * (j % more))) & ((1 << high) - 1)) << low
                part += levels[code] * x[j]
            total += part * scale[i, n]
        out[i] += total


def laid_out(x: np.ndarray, groups: int, places: int) -> np.ndarray:
    """(groups, ·) inputs, those that meet the same place in a byte side by side within a group."""
    return np.ascontiguousarray(x.reshape(groups, -1, places).transpose(0, 2, 1)).reshape(groups, -1)


def multiplied(x: Tensor, packed: Tensor, scale: Tensor, zero: Tensor, levels: Tensor | None, bits: int) -> Tensor:
    """As the reference, for float32 inputs; scales and zeros float32."""
    rows, columns = len(packed), x.shape[1]
    if len(x) > FEW:
        out = x.new_empty(len(x), rows)
        step = max(1, BLOCK // columns)
        for first in range(0, rows, step):
            own = slice(first, first + step)
            block = unpacked(packed[own], scale[own], zero[own], levels, bits, columns, x.dtype)
            torch.mm(x, block.T, out=out[:, own]) if step >= rows else out[:, own].copy_(x @ block.T)
        return out
    widths = WIDTHS[bits]
    out = torch.zeros(len(x), rows)
    bytes_of, scales, zeros = packed.numpy(), scale.numpy(), zero.numpy()
    starts = np.cumsum([0, *(stream_bytes(columns, width) for width in widths)])
    for number, given in enumerate(x):
        own = out[number].numpy()
        whole = given.numpy()
        if levels is not None:
            table, high = levels.numpy(), widths[1] if len(widths) > 1 else 0

            def look_up(first: int, last: int, own: np.ndarray = own, whole: np.ndarray = whole) -> None:
                _looked_up(bytes_of, starts[1], widths[0], high, table, scales, whole, own, first, last)  # noqa: B023

            shared_out(packed.numel(), rows, look_up)
        else:
            planes = [laid_out(whole, scale.shape[1], 8 // width) for width in widths]

            def add_up(first: int, last: int, own: np.ndarray = own, planes: list[np.ndarray] = planes) -> None:
                factor = 1
                for start, width, plane in zip(starts, widths, planes, strict=False):
                    size = stream_bytes(columns, width)
                    add_stream(bytes_of, int(start), size, width, np.float32(factor), scales, plane, own, first, last)
                    factor <<= width

            shared_out(packed.numel(), rows, add_up)
        sums = whole.reshape(scale.shape[1], -1).sum(1, dtype=np.float32)
        _zeros(scales, zeros, sums, own, 0, rows)
    return out
