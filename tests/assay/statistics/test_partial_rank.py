"""Partial rank correlation against SciPy, regression residuals and the nominal level of its test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.statistics import partial_spearman, rank_residuals
from assay.statistics.partial_rank import Ranks, mean_ranks, partial

FEW = {"permutations": 99, "resamples": 100}


@given(st.integers(0, 1000), st.integers(20, 60))
def test_without_controls_it_is_spearmans(seed, n):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 9, n).astype(float), rng.standard_normal(n)
    found = partial_spearman(x, y, {}, rng=rng, **FEW)
    assert found.rho == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-10)
    assert found.freedom == n - 2 and found.units == n


@given(st.integers(0, 1000))
def test_it_is_the_correlation_of_residuals(seed):
    rng = np.random.default_rng(seed)
    n = 60
    number, label = rng.standard_normal(n), rng.choice(["a", "b", "c"], n)
    x, y = number + rng.standard_normal(n), -number + rng.standard_normal(n)
    design = np.column_stack([np.ones(n), stats.rankdata(number), label == "b", label == "c"])

    def residual(values):
        ranks = stats.rankdata(values)
        return ranks - design @ np.linalg.lstsq(design, ranks, rcond=None)[0]

    found = partial_spearman(x, y, {"number": number, "label": label}, rng=rng, **FEW)
    assert found.rho == pytest.approx(stats.pearsonr(residual(x), residual(y)).statistic, abs=1e-9)
    assert found.freedom == n - 2 - 3
    for ours, theirs in zip(rank_residuals([x, y], {"number": number, "label": label}), (x, y), strict=True):
        np.testing.assert_allclose(ours, residual(theirs), atol=1e-9)


@given(st.integers(0, 1000))
def test_three_variables_have_the_closed_form(seed):
    """(r_xy - r_xz r_yz) / sqrt((1 - r_xz²)(1 - r_yz²)) of Spearman's correlations."""
    x, y, z = np.random.default_rng(seed).standard_normal((3, 40))
    r = stats.spearmanr(np.column_stack([x, y, z])).statistic
    closed = (r[0, 1] - r[0, 2] * r[1, 2]) / np.sqrt((1 - r[0, 2] ** 2) * (1 - r[1, 2] ** 2))
    found = partial_spearman(x, y, {"z": z}, rng=np.random.default_rng(0), **FEW)
    assert found.rho == pytest.approx(closed, abs=1e-9)
    assert found.interval.low <= found.rho <= found.interval.high


@pytest.mark.slow
def test_the_test_keeps_its_level_and_finds_an_effect():
    rng = np.random.default_rng(1)

    def p(effect: float) -> float:
        z = rng.standard_normal(40)
        x = z + rng.standard_normal(40)
        y = 2 * z + effect * (x - z) + rng.standard_normal(40)
        return partial_spearman(x, y, {"z": z}, rng=rng, permutations=99, resamples=100).p

    none = np.array([p(0.0) for _ in range(300)])
    assert (none <= 0.05).mean() <= 0.085, "more than 8.5 percent of 300 have a chance below 1 percent"
    assert (none <= 0.5).mean() == pytest.approx(0.5, abs=0.08)
    assert np.mean([p(1.0) <= 0.05 for _ in range(40)]) > 0.9


@settings(max_examples=20)
@given(st.integers(0, 1000))
def test_a_weight_is_a_repeated_row(seed):
    rng = np.random.default_rng(seed)
    x, y, z = rng.integers(0, 12, (3, 30)).astype(float)
    indicator = (rng.random((30, 1)) < 0.5).astype(float)
    weights = rng.integers(0, 4, 30).astype(float)
    rows = np.repeat(np.arange(30), weights.astype(int))
    ours = partial(weights[None], [Ranks(v) for v in (x, y, z)], indicator)[0]
    design = np.column_stack([np.ones(len(rows)), stats.rankdata(z[rows]), indicator[rows]])
    left = [r - design @ np.linalg.lstsq(design, r, rcond=None)[0] for r in map(stats.rankdata, (x[rows], y[rows]))]
    assert ours == pytest.approx(stats.pearsonr(*left).statistic, abs=1e-8)


def test_clusters_are_exchanged_as_a_whole():
    """Rows that come twice say nothing new: p stays near that of the single rows, instead of falling."""
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 30))
    y = 0.35 * x + y
    single = partial_spearman(x, y, {}, rng=rng, permutations=1999, resamples=100)
    whole = partial_spearman(np.repeat(x, 5), np.repeat(y, 5), {}, rng=rng, clusters=np.repeat(np.arange(30), 5),
                             permutations=1999, resamples=100)  # fmt: skip
    naive = partial_spearman(np.repeat(x, 5), np.repeat(y, 5), {}, rng=rng, permutations=1999, resamples=100)
    assert whole.rho == pytest.approx(single.rho, abs=1e-9)
    assert whole.p == pytest.approx(single.p, abs=0.04) and whole.units == 30
    assert naive.p < 0.5 * whole.p


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x": np.arange(10.0), "y": np.arange(10.0)}, "at least 20"),
        ({"y": np.arange(29.0)}, r"y: got shape \(29,\)"),
        ({"x": np.ones(30)}, "x: got the same value"),
        ({"controls": {"z": np.arange(30.0)}, "x": np.arange(30.0) ** 3}, "x: follows from the controls"),
        ({"controls": {"z": np.ones(30)}}, "z: got the same value"),
        ({"controls": {"z": np.full(30, np.nan)}}, "z: got 30 non-finite"),
        ({"controls": {"z": np.arange(30).astype(str)}}, "controls: got 29 columns|follows from"),
        ({"clusters": np.repeat([0, 1, 2], 10)}, "6 arrangements"),
        ({"permutations": 0}, "permutations: got 0"),
    ],
)
def test_what_is_refused(change, sentence):
    rng = np.random.default_rng(0)
    given = {"x": rng.standard_normal(30), "y": rng.standard_normal(30), "controls": {}, "rng": rng} | change
    with pytest.raises(ValueError, match=sentence):
        partial_spearman(given.pop("x"), given.pop("y"), given.pop("controls"), **given)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_mean_ranks_are_scipys(values):
    np.testing.assert_array_equal(mean_ranks(np.array(values) / 7), stats.rankdata(np.array(values) / 7))
