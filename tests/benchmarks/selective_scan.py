"""One side of the selective scan's benchmark: reads the name of a case a line, runs it, answers with its seconds.

Run by `run.py` with the interpreter of the library that is named. Float32, batch 2, 1024 steps, 256 channels, 16
states: an input is 2 MiB, the decays alone would be 32 MiB. With a length beside the library, it prints the MiB that a
forward and a backward pass of that length add to the process's memory at most (Linux).
"""

import ctypes
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import torch
from answering import Case, answer

BATCH, LENGTH, CHANNELS, STATES, THREADS = 2, 1024, 256, 16, 2

Scan = Callable[..., torch.Tensor]


def drawn(length: int) -> list[torch.Tensor]:
    """Inputs, steps, rates, B, C and skip, as a layer fresh from its initialisation has them."""
    rng = torch.Generator().manual_seed(0)
    row, column = (BATCH, length, CHANNELS), (BATCH, length, STATES)
    u, pre, B, C = (torch.randn(shape, generator=rng) for shape in (row, row, column, column))
    A = -torch.arange(1, STATES + 1.0).expand(CHANNELS, STATES).contiguous()
    return [u, torch.nn.functional.softplus(pre - 4), A, B, C, torch.ones(CHANNELS)]


def scan_of(library: str) -> Scan:
    if library == "assay":
        sys.path.insert(0, "lib")
        from assay.kernels import selective_scan

        return selective_scan
    from mambapy.mamba import MambaBlock

    return lambda *values: MambaBlock.selective_scan(None, *values)  # its parallel scan; it uses nothing of a block


def cases(scan: Scan, length: int) -> dict[str, Case]:
    values = drawn(length)
    asks, weights = [v.clone().requires_grad_() for v in values], torch.rand_like(values[0])
    exponents = torch.randn(BATCH * length * CHANNELS * STATES)
    out = torch.empty_like(exponents)

    def there() -> None:
        with torch.no_grad():
            scan(*values)

    def there_and_back() -> None:
        for leaf in asks:
            leaf.grad = None
        scan(*asks).backward(weights)

    return {"exp": lambda: torch.exp(exponents, out=out), "forward": there, "both ways": there_and_back}


IN_A_ROW = 4  # a case follows itself: its memory is warm and no other library's threads are still spinning


def serve(library: str) -> None:
    ready = cases(scan_of(library), LENGTH)
    name = "numba" if library == "assay" else library
    answer(ready, f"{name} {metadata.version(name)}, torch {torch.__version__.split('+')[0]}", in_a_row=IN_A_ROW)


def resident(kind: str) -> float:
    """MiB of this process that are in memory: `VmRSS` now, `VmHWM` at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(kind)).split()[1]) / 1024


def peak(library: str, length: int) -> float:
    scan = scan_of(library)
    asks = [v.requires_grad_() for v in drawn(16)]
    scan(*asks).sum().backward()  # what is compiled and loaded is no memory of a pass
    asks = [v.requires_grad_() for v in drawn(length)]
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the most so far is what there is now
    before = resident("VmRSS")
    scan(*asks).sum().backward()
    return resident("VmHWM") - before


if __name__ == "__main__":
    torch.set_num_threads(THREADS)
    if len(sys.argv) > 2:
        print(peak(sys.argv[1], int(sys.argv[2])))
    else:
        serve(sys.argv[1])
