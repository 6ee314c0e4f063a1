"""One side of the benchmark of prefix support: reads a case's name a line, runs it once, answers with its seconds.

A million users' orders over 100 models, int16, 200 MB: around three centres (Mallows, φ = 0.9) and uniform ones. The
direct count takes one cut after the other, as local stability is defined: positions of the members, their least, and
who is before it.
"""

import sys
from importlib import metadata

import numpy as np
import torch
from answering import Case, answer

USERS, MODELS, THREADS = 1_000_000, 100, 2
BLOCK = 20_000  # users that the direct count takes at a time: what it makes stays small


def direct(positions: torch.Tensor, ranking: torch.Tensor) -> torch.Tensor:
    """(models, models) users who prefer a model to all of the first k, at (model, k − 1); by definition."""
    counts = torch.zeros((MODELS, MODELS), dtype=torch.int64)
    for part in positions.split(BLOCK):
        for k in range(1, MODELS + 1):
            first = part[:, ranking[:k]].amin(1)
            counts[:, k - 1] += (part < first[:, None]).sum(0)
    return counts


def cases() -> dict[str, Case]:
    sys.path.insert(0, "lib")
    from assay.decisions import borda_order, mallows_mixture, positions_of, random_centres
    from assay.kernels import prefix_support

    rng = np.random.default_rng(0)
    factions, _ = mallows_mixture(random_centres(3, MODELS, rng), 0.9, np.ones(3), USERS, rng)
    uniform, _ = mallows_mixture(random_centres(1, MODELS, rng), 1.0, np.ones(1), USERS, rng)
    ranking = torch.from_numpy(borda_order(factions).astype(np.int64))
    one = torch.from_numpy(factions)
    other = torch.from_numpy(uniform)
    # every order holds the leaderboard upside down: no walk ends before the last model
    longest = torch.arange(MODELS - 1, -1, -1, dtype=torch.int16).expand(USERS, MODELS).contiguous()
    upward = torch.arange(MODELS)
    positions = torch.from_numpy(positions_of(factions))
    copy = torch.empty_like(one)
    assert torch.equal(prefix_support(one, ranking), direct(positions, ranking)), "the counts differ"
    return {
        "factions": lambda: prefix_support(one, ranking),
        "uniform": lambda: prefix_support(other, ranking),
        "longest": lambda: prefix_support(longest, upward),
        "copy": lambda: copy.copy_(one),
        "direct": lambda: direct(positions, ranking),
    }


def serve() -> None:
    torch.set_num_threads(THREADS)
    ready = cases()
    answer(ready, f"numba {metadata.version('numba')}, torch {torch.__version__.split('+')[0]}")


if __name__ == "__main__":
    serve()
