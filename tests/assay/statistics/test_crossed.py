"""Crossed units: the pigeonhole bootstrap against its known variance."""

import re

import numpy as np
import pytest

from assay.statistics import cluster_mean, crossed_mean


def crossed(rng, rows, columns, row_spread, column_spread, noise):
    r, c = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    table = rng.normal(size=rows)[:, None] * row_spread + rng.normal(size=columns) * column_spread
    return (table + noise * rng.normal(size=(rows, columns))).ravel(), r.ravel(), c.ravel()


def test_additive_effects_add_their_variances():
    # For x = a_r + b_c exactly, the resampled mean has variance var(a)/R + var(b)/C.
    values, rows, columns = crossed(np.random.default_rng(0), 30, 40, 1.0, 2.0, 0.0)
    interval = crossed_mean(values, rows, columns, rng=np.random.default_rng(1), resamples=20_000)
    table = values.reshape(30, 40)
    sd = np.sqrt(table.mean(axis=1).var() / 30 + table.mean(axis=0).var() / 40)
    assert interval.high - interval.low == pytest.approx(2 * 2.0452 * np.sqrt(30 / 29) * sd, rel=0.05)  # t(0.975, 29)
    assert interval.estimate == pytest.approx(values.mean())


def test_it_is_wider_than_over_either_kind_alone():
    values, rows, columns = crossed(np.random.default_rng(2), 12, 15, 1.0, 1.0, 0.3)
    both = crossed_mean(values, rows, columns, rng=np.random.default_rng(3))
    for units in (rows, columns):
        one = cluster_mean(values, units, rng=np.random.default_rng(3), method="percentile")
        assert both.high - both.low > one.high - one.low


def test_it_covers_with_five_seeds():
    rng = np.random.default_rng(4)
    covered = 0
    for _ in range(300):
        values, rows, columns = crossed(rng, 5, 20, 0.5, 1.0, 1.0)
        interval = crossed_mean(values, rows, columns, rng=rng, resamples=300)
        covered += interval.low <= 0 <= interval.high
    assert covered / 300 > 0.92


def test_missing_cells_are_allowed_and_few_units_are_said():
    rng = np.random.default_rng(5)
    values, rows, columns = crossed(rng, 5, 6, 1, 1, 1)
    keep = rng.random(len(values)) < 0.5
    interval = crossed_mean(values[keep], rows[keep], columns[keep], rng=rng, resamples=500)
    assert interval.low < values[keep].mean() < interval.high
    assert interval.clusters == 5
    assert interval.note.startswith("Only 5 independent units")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (([1, 2], [0, 0], [0, 1]), "rows: got 1 distinct; expected at least 2."),
        (([1, 2], [0, 1], [0]), "columns: got shape (1,); expected (2,)."),
        (([1, np.inf], [0, 1], [0, 1]), "values: got 1 non-finite values; expected finite numbers."),
    ],
)
def test_bad_input_is_one_sentence(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        crossed_mean(*arguments, rng=np.random.default_rng(0))
