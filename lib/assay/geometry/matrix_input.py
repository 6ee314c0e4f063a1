"""Matrices as they come: NumPy arrays, PyTorch tensors of any float type, or blocks of rows; read in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["Array", "Block", "Matrix", "Progress", "Rows", "checked_matrix", "returned_like"]

Array = NDArray[np.float64]
Matrix = NDArray[Any] | torch.Tensor
Block = NDArray[np.float64] | torch.Tensor
Progress = Callable[[Iterable[Any]], Iterable[Any]]

PLAIN = (torch.float64, torch.float32, torch.float16)  # types that NumPy has too
BLOCK_ENTRIES = 2**20  # 8 MiB in float64: it stays in the cache between conversion and product
BLOCK_ROWS = 512  # at least: fewer rows would spend the time on adding products up


def checked_matrix(name: str, matrix: Any, dimensions: int = 2) -> Matrix:
    """The matrix as an array or a tensor of real numbers that has entries.

    Args:
        name: of the argument, for the message.
        matrix: an array, a tensor, or what NumPy makes an array of.
        dimensions: how many it must have; -1 for two or more.

    Raises:
        ValueError: other dimensions, no entries, or entries that are not real numbers.
    """
    if not isinstance(matrix, torch.Tensor):
        try:
            matrix = np.asarray(matrix)
        except ValueError:
            raise ValueError(f"{name}: got rows of different lengths; expected a matrix.") from None
    shape = tuple(matrix.shape)
    fits = len(shape) >= 2 if dimensions == -1 else len(shape) == dimensions
    if not fits or 0 in shape:
        wanted = {-1: "(..., rows, columns)", 2: "(rows, columns)"}.get(dimensions, f"{dimensions} dimensions")
        raise ValueError(f"{name}: got shape {shape}; expected {wanted}, none of them 0.")
    real = not matrix.is_complex() if isinstance(matrix, torch.Tensor) else matrix.dtype.kind in "fiub"
    if not real:
        raise ValueError(f"{name}: got {matrix.dtype}; expected real numbers.")
    return matrix


def in_float64(block: Matrix) -> Block:
    """float64 in NumPy, or in PyTorch where the block lies on another device."""
    if isinstance(block, torch.Tensor):
        block = block.detach()
        if block.device.type != "cpu":
            return block.to(torch.float64)
        block = block.numpy() if block.dtype in PLAIN else block.to(torch.float64).numpy()
    return np.asarray(block, dtype=np.float64)


def returned_like(matrix: Matrix, result: Block) -> Matrix:
    """The result as a tensor on the matrix's device where the matrix is one; else as an array."""
    if isinstance(matrix, torch.Tensor):
        return torch.as_tensor(result, device=matrix.device)
    return result


class Rows:
    """A matrix that is read by blocks of rows, in float64.

    Attributes:
        name: of the argument, for messages.
        columns: d.
        count: V; for blocks, known once they were read.
        again: it can be read more than once. An iterator cannot; a list of blocks, or an object that gives fresh
            iterators, can.
    """

    def __init__(self, name: str, source: Matrix | Iterable[Matrix]) -> None:
        self.name = name
        self.matrix: Matrix | None = None
        if isinstance(source, torch.Tensor | np.ndarray):
            self.matrix = checked_matrix(name, source)
            self.count, self.columns = self.matrix.shape
            self.again = True
            return
        if not isinstance(source, Iterable):
            raise ValueError(f"{name}: got {type(source).__name__}; expected a matrix or blocks of its rows.")
        self.source = source
        self.again = iter(source) is not source
        self.count = self.columns = 0

    def blocks(self, least: int = 0, progress: Progress | None = None) -> Iterator[Block]:
        """Blocks of at least `least` rows, but for the last; each holds until the next is asked for.

        Raises:
            ValueError: no blocks, or blocks that do not fit each other.
        """
        room: Array | None = None
        for stored in self.stored_blocks(least, progress):
            block = stored.detach() if isinstance(stored, torch.Tensor) else stored
            if isinstance(block, torch.Tensor) and block.device.type == "cpu" and block.dtype in PLAIN:
                block = block.numpy()
            if isinstance(block, np.ndarray) and block.dtype in (np.float32, np.float16):
                if room is None or len(room) < len(block):
                    room = np.empty(block.shape)
                np.copyto(room[: len(block)], block)  # memory that was touched before is written twice as fast
                yield room[: len(block)]
            else:
                yield in_float64(block)

    def stored_blocks(self, least: int = 0, progress: Progress | None = None) -> Iterator[Matrix]:
        """The same blocks in the type that they are stored in.

        Raises:
            ValueError: no blocks, or blocks that do not fit each other.
        """
        if self.matrix is not None:
            size = max(BLOCK_ENTRIES // self.columns, BLOCK_ROWS, least)
            starts: Iterable[int] = range(0, self.count, size)
            for start in starts if progress is None else progress(starts):
                yield self.matrix[start : start + size]
            return
        waiting: list[Matrix] = []
        read = 0
        for given in self.source if progress is None else progress(self.source):
            block = checked_matrix(f"block of {self.name}", given)
            if self.columns and block.shape[1] != self.columns:
                raise ValueError(
                    f"{self.name}: got a block of {block.shape[1]} columns after one of {self.columns}; "
                    "expected the same number in all."
                )
            self.columns = block.shape[1]
            read += len(block)
            waiting.append(block)
            if sum(map(len, waiting)) >= max(BLOCK_ENTRIES // self.columns, BLOCK_ROWS, least):
                yield joined(waiting)
                waiting = []
        if waiting:
            yield joined(waiting)
        if not read:
            raise ValueError(f"{self.name}: got no blocks; expected at least one row.")
        self.count = read

    def refuse_non_finite(self) -> None:
        """Say how many entries are not finite and where the first is.

        Raises:
            ValueError: always, where an entry is not finite or the rows cannot be read again.
        """
        if not self.again:
            raise ValueError(f"{self.name}: got values that are not finite; expected finite numbers.")
        bad, first, start = 0, -1, 0
        for block in self.blocks():
            values = block if isinstance(block, np.ndarray) else block.cpu().numpy()
            wrong = ~np.isfinite(values)
            if wrong.any():
                first = start + int(wrong.any(axis=1).argmax()) if first < 0 else first
                bad += int(wrong.sum())
            start += len(values)
        if bad:
            raise ValueError(
                f"{self.name}: got {bad} values that are not finite, the first in row {first}; expected finite numbers."
            )


def joined(blocks: list[Matrix]) -> Matrix:
    if len(blocks) == 1:
        return blocks[0]
    if all(isinstance(block, torch.Tensor) for block in blocks):
        return torch.cat([torch.as_tensor(block) for block in blocks])
    return np.concatenate([np.asarray(in_float64(block)) for block in blocks])
