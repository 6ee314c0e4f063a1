"""Make the matrix with outlier columns that comes along: `python -m assay.efficient.make_columns_sample`.

W = 0.02 G diag(c) with G normal, ln c normal with deviation 0.35 and three columns ten times as wide; inputs are
smaller where columns are wider, x_j of r.m.s. c_j^(-0.8).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

__all__ = ["FOLDER", "main"]

FOLDER = Path(__file__).resolve().parents[1] / "data" / "samples" / "made_columns"
ROWS, COLUMNS, TOKENS, OUTLIERS = 192, 128, 128, (17, 52, 101)


def main() -> None:
    rng = np.random.default_rng(0)
    spread = np.exp(0.35 * rng.standard_normal(COLUMNS))
    spread[list(OUTLIERS)] *= 10
    weight = 0.02 * rng.standard_normal((ROWS, COLUMNS)) * spread
    inputs = rng.standard_normal((TOKENS, COLUMNS)) * spread**-0.8
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, value in (("weights", weight.astype(np.float32)), ("inputs", inputs.astype(np.float16))):
        np.savez_compressed(FOLDER / f"{name}.npz", allow_pickle=False, **{"layers.0.made.weight": value})


if __name__ == "__main__":
    main()
