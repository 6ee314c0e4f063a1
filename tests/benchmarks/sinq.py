"""One side of the benchmark of SINQ: reads a case's name a line, runs it once, answers with its seconds.

A matrix of 4,096 × 4,096 float32 is quantised to 4 bits in groups of 64, by round-to-nearest written in PyTorch and by
SINQ; and inputs are multiplied with packed weights of 16,384 × 4,096 at batch 1, beside the time that as many bytes
take: `copy_` of half of them, which are read and written.
"""

import sys
from importlib import metadata

import torch
from answering import Case, answer

ROWS, TALL, COLUMNS, GROUP, THREADS = 4096, 16384, 4096, 64, 2


def plain(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Codes, scales and zeros of groups between their ends, in PyTorch's own operations."""
    groups = weight.view(-1, GROUP)
    most, least = groups.amax(1, keepdim=True), groups.amin(1, keepdim=True)
    scale = (most - least).clamp(min=1e-4) / 15
    zero = -(least / scale).round()
    return (groups / scale + zero).round().clamp(0, 15).to(torch.uint8), scale, zero


def cases() -> dict[str, Case]:
    sys.path.insert(0, "lib")
    from assay.efficient import Recipe, quantise_rtn, quantise_sinq
    from assay.kernels import balance, pack_bits, packed_product

    rng = torch.Generator().manual_seed(0)
    weight = 0.02 * torch.randn(ROWS, COLUMNS, generator=rng) * (0.4 * torch.randn(COLUMNS, generator=rng)).exp()
    ready: dict[str, Case] = {
        "plain": lambda: plain(weight),
        "rtn": lambda: quantise_rtn(weight, Recipe()),
        "sinq": lambda: quantise_sinq(weight, Recipe()),
        "balance": lambda: balance(weight, ROWS, GROUP),
    }
    x = torch.randn(1, COLUMNS, generator=rng)
    for bits in (2, 3, 4, 8):
        codes = torch.randint(0, 2**bits, (TALL, COLUMNS), generator=rng, dtype=torch.uint8)
        scale, zero = torch.rand(2, TALL, COLUMNS // GROUP, generator=rng).unbind()
        packed = pack_bits(codes, bits)
        half = torch.empty((packed.numel() + 8 * scale.numel()) // 2, dtype=torch.uint8)
        other = torch.empty_like(half)
        ready[f"product {bits}"] = lambda p=packed, s=scale, z=zero, b=bits: packed_product(x, p, s, z, bits=b)
        ready[f"bytes {bits}"] = lambda a=half, b=other: b.copy_(a)
    return ready


def serve() -> None:
    torch.set_num_threads(THREADS)
    ready = cases()
    answer(ready, f"numba {metadata.version('numba')}, torch {torch.__version__.split('+')[0]}")


if __name__ == "__main__":
    serve()
