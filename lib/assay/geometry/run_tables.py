"""Tables of training runs whose causes are known: does an analysis tell a common cause from a cause?

Rank and loss of a run follow from how it was trained,

    R = a0 + a1 u + a2 wd + a3 f + a4 n + e_R
    loss = b0 + b1 (u - u*)^2 + b2 wd n + b3 f - b4 t - b5 n + c R + e_L

with u = log2(batch / 128), wd the weight decay, f the final learning rate over its peak, n = ln(parameters / 20 M) and
t = ln(tokens / 32 B). In the world *common cause* c = 0: rank and loss are related because batch and size move both.
In the world *cause* c < 0, and batch and size move the loss itself less, so that the raw correlation is about -0.7 in
both.
b5 n is added here to the model of the plan, in which loss did not fall with size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

__all__ = ["RunTable", "World", "synthetic_runs"]

Array = NDArray[np.float64]
World = Literal["common cause", "cause"]

SIZES = (4e6, 8e6, 15e6, 25e6, 45e6, 75e6)
BATCHES = (32, 64, 128, 256, 512)
WEIGHT_DECAYS = (0.01, 0.1, 0.5)
LEARNING_RATES = (0.1, 1.0, 10.0)
FINAL_RATES = (0.0, 0.01, 0.1)
TOKENS = (8e9, 16e9, 32e9, 64e9, 128e9)


@dataclass(frozen=True)
class Coefficients:
    """What moves the loss: the curve over batch and its best u*, size, the rank itself, and noise."""

    batch: float
    best_batch: float
    size: float
    rank: float
    noise: float


WORLDS = {
    "common cause": Coefficients(batch=0.03, best_batch=2.0, size=0.12, rank=0.0, noise=0.09),
    "cause": Coefficients(batch=0.01, best_batch=1.0, size=0.01, rank=-0.007, noise=0.065),
}
RANK_NOISE = 5.0  # of R, in percent of d


@dataclass(frozen=True, eq=False)
class RunTable:
    """One row a run.

    Attributes:
        world: which.
        direct: c, the change of loss for one percent of rank, everything else equal.
        size: (n,) parameters. config: (n,) number of the configuration, the same numbers in every size.
        batch, weight_decay, learning_rate, final_rate, tokens: (n,) how it was trained.
        rank: (n,) effective rank in percent of d. loss: (n,) nats.
    """

    world: str
    direct: float
    size: Array
    config: NDArray[np.intp]
    batch: Array
    weight_decay: Array
    learning_rate: Array
    final_rate: Array
    tokens: Array
    rank: Array
    loss: Array

    def controls(self) -> dict[str, NDArray[Any]]:
        """How the runs were trained, for `partial_spearman` and `incremental_r2`: grids as labels, the rest as numbers.

        Tokens are logarithms; the product of weight decay and size is a column, as the loss depends on it.
        """
        size = np.log(self.size / 20e6)
        labels = {
            "size": self.size,
            "batch": self.batch,
            "weight decay": self.weight_decay,
            "final rate": self.final_rate,
        }
        numbers = {"log tokens": np.log(self.tokens), "weight decay x log size": self.weight_decay * size}
        columns: dict[str, NDArray[Any]] = {name: values.astype(str) for name, values in labels.items()}
        columns.update(numbers)
        return {name: values for name, values in columns.items() if len(np.unique(values)) > 1}


def synthetic_runs(rng: np.random.Generator, *, world: World = "common cause", configs: int = 18) -> RunTable:
    """Runs of 6 sizes, each in the same configurations drawn from the paper's grids: 108 by default.

    Args:
        rng: where configurations and noise come from.
        world: whether rank itself lowers the loss.
        configs: at least 2.

    Raises:
        ValueError: an unknown world, or fewer than 2 configurations.
    """
    if world not in get_args(World):
        raise ValueError(f"world: got {world!r}; expected 'common cause' or 'cause'.")
    if isinstance(configs, bool) or int(configs) != configs or configs < 2:
        raise ValueError(f"configs: got {configs}; expected a whole number, at least 2.")
    grids = (BATCHES, WEIGHT_DECAYS, LEARNING_RATES, FINAL_RATES, TOKENS)
    drawn = [np.tile(rng.choice(np.array(grid, dtype=np.float64), configs), len(SIZES)) for grid in grids]
    batch, decay, learning_rate, final_rate, tokens = drawn
    size = np.repeat(SIZES, configs)
    u, n, t = np.log2(batch / 128), np.log(size / 20e6), np.log(tokens / 32e9)
    of = WORLDS[world]
    rank = 70 + 4 * u + 10 * decay + 40 * final_rate + 5 * n + RANK_NOISE * rng.standard_normal(len(u))
    loss = (
        3.9 + of.batch * (u - of.best_batch) ** 2 - 0.1 * decay * n + 0.5 * final_rate - 0.03 * t - of.size * n
        + of.rank * (rank - 70) + of.noise * rng.standard_normal(len(u))
    )  # fmt: skip
    config = np.tile(np.arange(configs), len(SIZES))
    return RunTable(world, of.rank, size, config, batch, decay, learning_rate, final_rate, tokens, rank, loss)
