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
from assay.kernels.compiled import compiled, summing
from assay.kernels.threads import shared_out

__all__ = ["FEW", "multiplied"]

FEW = 4  # inputs up to which bytes are unpacked for each
BLOCK = 2**20  # weights that are unpacked at a time for many inputs


@summing
def _one(row, x):
    """Sum of x over codes of eight bits."""
    s = np.float32(0)
    for k in range(row.size):
        s += np.float32(row[k]) * x[k]
    return s


@summing
def _two(row, x):
    """The same over codes of four bits; x holds the inputs of low halves of bytes, then those of high halves."""
    n = row.size
    a, b = x[:n], x[n : 2 * n]
    s = t = np.float32(0)
    for k in range(n):
        s += np.float32(row[k] & 15) * a[k]
        t += np.float32(row[k] >> 4) * b[k]
    return s + t


@summing
def _four(row, x):
    """The same over codes of two bits."""
    n = row.size
    a, b, c, d = x[:n], x[n : 2 * n], x[2 * n : 3 * n], x[3 * n : 4 * n]
    s = t = np.float32(0)
    for k in range(n):
        s += np.float32(row[k] & 3) * a[k] + np.float32((row[k] >> 2) & 3) * b[k]
        t += np.float32((row[k] >> 4) & 3) * c[k] + np.float32(row[k] >> 6) * d[k]
    return s + t


@summing
def _eight(row, x):
    """The same over codes of one bit."""
    n = row.size
    s = np.float32(0)
    for place in range(8):
        own = x[place * n : (place + 1) * n]
        for k in range(n):
            s += np.float32((row[k] >> place) & 1) * own[k]
    return s


@compiled
def _stream(packed, start, size, width, factor, scale, x, out, first, last):
    """Add what a stream of a row's bytes says to the products of rows; x (groups, codes of a group)."""
    groups = scale.shape[1]
    step = size // groups
    for i in range(first, last):
        total = np.float32(0)
        for n in range(groups):
            row = packed[i, start + n * step : start + (n + 1) * step]
            if width == 4:
                part = _two(row, x[n])
            elif width == 8:
                part = _one(row, x[n])
            elif width == 2:
                part = _four(row, x[n])
            else:
                part = _eight(row, x[n])
            total += part * scale[i, n]
        out[i] += factor * total


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
                    _stream(bytes_of, start, size, width, np.float32(factor), scales, plane, own, first, last)
                    factor <<= width

            shared_out(packed.numel(), rows, add_up)
        sums = whole.reshape(scale.shape[1], -1).sum(1, dtype=np.float32)
        _zeros(scales, zeros, sums, own, 0, rows)
    return out
