"""What arena-rank gives for some battles, kept so that tests need it not installed (it pins NumPy and brings JAX).

    python -m venv .bench/arena-rank && .bench/arena-rank/bin/pip install arena-rank==0.1.1
    .bench/arena-rank/bin/python tests/assay/decisions/peers/record_arena_rank.py

writes `arena_rank.npz` beside this file: battles `a`, `b` (B,) and `won` (B,), 1 where a won and ½ for a tie, among 9
models; `ratings` and `half` (9,), Elo-like ratings and half widths of their 95 % intervals (sandwich).
"""

from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

rng = np.random.default_rng(20)
models, count = 9, 2400
strength = np.sort(rng.normal(0, 1, models))[::-1]
a = rng.integers(models, size=count)
b = (a + rng.integers(1, models, size=count)) % models
u = rng.random(count)
chance = 1 / (1 + np.exp(strength[b] - strength[a]))
won = np.where(u < 0.85 * chance, 1.0, np.where(u < 0.85, 0.0, 0.5))
names = np.array([f"model {i}" for i in range(models)])
table = pd.DataFrame(
    {"model_a": names[a], "model_b": names[b],
     "winner": np.select([won == 1, won == 0], ["model_a", "model_b"], "tie")}
)  # fmt: skip
dataset = PairDataset.from_pandas(table)
model = BradleyTerry(n_competitors=models)
found = model.compute_ratings_and_cis(dataset)
place = [list(dataset.competitors).index(name) for name in names]
ratings = np.asarray(found["ratings"])[place]
upper = np.asarray(found["rating_upper"])[place]
np.savez_compressed(
    Path(__file__).parent / "arena_rank.npz", a=a, b=b, won=won, ratings=ratings, half=upper - ratings,
    version=np.array(metadata.version("arena-rank")),
)  # fmt: skip
