"""Threads that share the work of a kernel on processors: PyTorch's number of them, and none that wait busily."""

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

__all__ = ["shared_out"]

SMALL = 2**16  # values below which a second thread costs more than it brings


@functools.cache
def _helpers(process: int) -> ThreadPoolExecutor:
    """Threads of our own: OpenMP's spin between two calls, and PyTorch's and Numba's would do so side by side."""
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), thread_name_prefix="kernel")


def shared_out(values: int, parts: int, scan: Callable[[int, int], None], least: int = 1) -> None:
    """Let as many threads as PyTorch uses scan a share of the parts each, from a first one to before a last one.

    Args:
        values: how many values all parts hold; few are left to one thread.
        scan: releases Python's lock while it works.
        least: parts that are worth a thread.
    """
    threads = 1 if values < SMALL else max(1, min(torch.get_num_threads(), parts // least))
    size = -(-parts // threads)
    shares = [(first, min(parts, first + size)) for first in range(0, parts, size)]
    helped = [_helpers(os.getpid()).submit(scan, *share) for share in shares[1:]]
    scan(*shares[0])
    for one in helped:
        one.result()
