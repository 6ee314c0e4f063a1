"""The product with packed weights on processors: Numba, bytes unpacked in registers, a share of the rows a thread.

A row is read as words of 32 bits, and inputs are laid out once in a plane for each place in a word: a loop over the
words of a whole row then takes the widest vector instructions and sums across their lanes once. A sum over codes is
linear in their parts, so each stream is summed by itself; codes of a codebook, and of groups that are no whole words,
are taken one by one. Many inputs at a time go through a block of unpacked rows and a matrix product.
"""

# What Numba compiles has the types of its arguments.
# ruff: noqa: ANN001, ANN202
# pyright: reportMissingParameterType=false

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from assay.kernels._packed_product.layout import WIDTHS, stream_bytes
from assay.kernels._packed_product.reference import unpacked
from assay.kernels.compiled import compiled, inlined, summing
from assay.kernels.threads import shared_out

__all__ = ["FEW", "multiplied"]

Add = Callable[[np.ndarray, int, int], None]
FEW = 4  # inputs up to which bytes are unpacked for each
WORD = 32  # bits that are unpacked at a time
BLOCK = 2**20  # weights that are unpacked at a time for many inputs


def _eight_places(width: int, base: int) -> Callable[..., np.float32]:
    """How eight codes of a word are summed, the first of them so many bits up."""
    zero, one, two, three, four, five, six, seven = (np.uint32(base + width * place) for place in range(8))
    last = np.uint32(2**width - 1)

    @summing
    def places(words, scales, a, b, c, d, e, f, g, h):
        """Sum over words of scale times codes times inputs, which lie in a plane for each place in a word."""
        total = np.float32(0)
        for k in range(len(words)):
            word = words[k]
            s = np.float32(np.int32((word >> zero) & last)) * a[k]
            s += np.float32(np.int32((word >> one) & last)) * b[k]
            s += np.float32(np.int32((word >> two) & last)) * c[k]
            s += np.float32(np.int32((word >> three) & last)) * d[k]
            s += np.float32(np.int32((word >> four) & last)) * e[k]
            s += np.float32(np.int32((word >> five) & last)) * f[k]
            s += np.float32(np.int32((word >> six) & last)) * g[k]
            s += np.float32(np.int32((word >> seven) & last)) * h[k]
            total += s * scales[k]
        return total

    return places


_fours = _eight_places(4, 0)
_twos, _high_twos = _eight_places(2, 0), _eight_places(2, 16)
_ones, _second_ones, _third_ones, _last_ones = (_eight_places(1, base) for base in (0, 8, 16, 24))
BYTE, EIGHT, SIXTEEN, TWENTY_FOUR = np.uint32(255), np.uint32(8), np.uint32(16), np.uint32(24)


@summing
def _eights(words, scales, a, b, c, d):
    """The same of the four codes of eight bits in a word."""
    total = np.float32(0)
    for k in range(len(words)):
        word = words[k]
        s = np.float32(np.int32(word & BYTE)) * a[k] + np.float32(np.int32((word >> EIGHT) & BYTE)) * b[k]
        s += np.float32(np.int32((word >> SIXTEEN) & BYTE)) * c[k] + np.float32(np.int32(word >> TWENTY_FOUR)) * d[k]
        total += s * scales[k]
    return total


@inlined
def _spread(scale, scales):
    """A group's scale for each of its words."""
    size = len(scales) // len(scale)
    for n in range(len(scale)):
        scales[n * size : (n + 1) * size] = scale[n]


# One function a width: in a loop that chooses among them, none is compiled well.


@compiled
def _stream_8(words, start, size, factor, scale, x, out, first, last):
    """Add what a stream of codes of eight bits says to the products of rows; x (places in a word, words)."""
    scales = np.empty(size, np.float32)
    for i in range(first, last):
        row = words[i, start : start + size]
        _spread(scale[i], scales)
        out[i] += factor * _eights(row, scales, x[0], x[1], x[2], x[3])


@compiled
def _stream_4(words, start, size, factor, scale, x, out, first, last):
    """The same of four bits."""
    scales = np.empty(size, np.float32)
    for i in range(first, last):
        row = words[i, start : start + size]
        _spread(scale[i], scales)
        out[i] += factor * _fours(row, scales, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])


@compiled
def _stream_2(words, start, size, factor, scale, x, out, first, last):
    """The same of two bits."""
    scales = np.empty(size, np.float32)
    for i in range(first, last):
        row = words[i, start : start + size]
        _spread(scale[i], scales)
        total = _twos(row, scales, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])
        total += _high_twos(row, scales, x[8], x[9], x[10], x[11], x[12], x[13], x[14], x[15])
        out[i] += factor * total


@compiled
def _stream_1(words, start, size, factor, scale, x, out, first, last):
    """The same of one bit."""
    scales = np.empty(size, np.float32)
    for i in range(first, last):
        row = words[i, start : start + size]
        _spread(scale[i], scales)
        total = _ones(row, scales, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])
        total += _second_ones(row, scales, x[8], x[9], x[10], x[11], x[12], x[13], x[14], x[15])
        total += _third_ones(row, scales, x[16], x[17], x[18], x[19], x[20], x[21], x[22], x[23])
        total += _last_ones(row, scales, x[24], x[25], x[26], x[27], x[28], x[29], x[30], x[31])
        out[i] += factor * total


STREAMS = {8: _stream_8, 4: _stream_4, 2: _stream_2, 1: _stream_1}


@compiled
def _stream_any(packed, start, size, width, factor, scale, x, out, first, last):
    """The same of any width, byte by byte, for groups that are no whole words; x (places in a byte, bytes)."""
    size //= scale.shape[1]
    for i in range(first, last):
        total = np.float32(0)
        for n in range(scale.shape[1]):
            s = np.float32(0)
            for place in range(8 // width):
                for k in range(n * size, (n + 1) * size):
                    s += np.float32((packed[i, start + k] >> (place * width)) & ((1 << width) - 1)) * x[place, k]
            total += s * scale[i, n]
        out[i] += factor * total


@summing
def _weighed(scale, zero, sums):
    total = np.float32(0)
    for n in range(len(sums)):
        total += scale[n] * zero[n] * sums[n]
    return total


@compiled
def _zeros(scale, zero, sums, out, first, last):
    """Take the zeros' share away."""
    for i in range(first, last):
        out[i] -= _weighed(scale[i], zero[i], sums)


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
    out = torch.zeros(len(x), rows)
    scales, zeros = scale.numpy(), zero.numpy()
    for given, own in zip(x.numpy(), out.numpy(), strict=True):
        add = from_streams(given, packed.numpy(), scales, bits) if levels is None else from_levels(
            given, packed.numpy(), scales, levels.numpy(), bits
        )  # fmt: skip
        sums = given.reshape(scales.shape[1], -1).sum(1, dtype=np.float32)

        def share(first: int, last: int, add: Add = add, own: np.ndarray = own, sums: np.ndarray = sums) -> None:
            add(own, first, last)
            _zeros(scales, zeros, sums, own, first, last)

        shared_out(packed.numel(), rows, share)
    return out


def from_streams(x: np.ndarray, packed: np.ndarray, scale: np.ndarray, bits: int) -> Add:
    """Adds what the codes of some rows say to their products with one input."""
    turns, start, factor = [], 0, 1
    for width in WIDTHS[bits]:
        size = stream_bytes(len(x), width)
        whole = (8 * size // scale.shape[1]) % WORD == 0 and packed.shape[1] % 4 == 0 and start % 4 == 0
        plane = np.ascontiguousarray(x.reshape(-1, (WORD if whole else 8) // width).T)
        turns.append((whole, width, start, size, np.float32(factor), plane))
        start, factor = start + size, factor << width

    def add(out: np.ndarray, first: int, last: int) -> None:
        for whole, width, start, size, factor, plane in turns:
            if whole:
                words = packed.view(np.uint32)
                STREAMS[width](words, start // 4, size // 4, factor, scale, plane, out, first, last)
            else:
                _stream_any(packed, start, size, width, factor, scale, plane, out, first, last)

    return add


def from_levels(x: np.ndarray, packed: np.ndarray, scale: np.ndarray, levels: np.ndarray, bits: int) -> Add:
    """The same where codes stand for levels."""
    low, high = (*WIDTHS[bits], 0)[:2]
    second = stream_bytes(len(x), low)

    def add(out: np.ndarray, first: int, last: int) -> None:
        _looked_up(packed, second, low, high, levels, scale, x, out, first, last)

    return add
