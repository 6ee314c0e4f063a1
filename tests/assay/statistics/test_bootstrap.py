"""Bootstrap by cluster against SciPy, closed forms and a simulation of coverage."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.statistics import Interval, cluster_bootstrap, cluster_mean


def clustered(rng: np.random.Generator, clusters: int, size: int, spread: float) -> tuple[np.ndarray, np.ndarray]:
    codes = np.repeat(np.arange(clusters), size)
    return rng.normal(size=clusters)[codes] * spread + rng.normal(size=len(codes)), codes


def weighted_mean(values):
    return lambda w: (w @ values) / w.sum(axis=1)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_singletons_agree_with_scipy(method):
    values = np.random.default_rng(1).exponential(size=40)
    ours = cluster_bootstrap(
        weighted_mean(values), np.arange(40), rng=np.random.default_rng(2), resamples=20_000, method=method
    )
    name = {"percentile": "percentile", "bca": "BCa"}[method]
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method=name, rng=np.random.default_rng(3)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert abs(ours.low - theirs.low) < 0.03 * width
    assert abs(ours.high - theirs.high) < 0.03 * width
    assert ours.estimate == pytest.approx(values.mean(), rel=1e-12)


def test_bca_of_two_strata_agrees_with_scipy():
    rng = np.random.default_rng(4)
    a, b = rng.exponential(size=30), rng.exponential(size=25)
    strata = np.repeat([0, 1], [30, 25])
    both = np.concatenate([a, b])

    def difference(w):
        first = strata == 0
        return (w[:, first] @ a) / w[:, first].sum(1) - (w[:, ~first] @ b) / w[:, ~first].sum(1)

    ours = cluster_bootstrap(difference, np.arange(len(both)), strata=strata, rng=rng, resamples=20_000, method="bca")
    theirs = stats.bootstrap(
        (a, b), lambda x, y, axis: x.mean(axis) - y.mean(axis), n_resamples=20_000, method="BCa", rng=rng
    ).confidence_interval
    width = theirs.high - theirs.low
    assert abs(ours.low - theirs.low) < 0.03 * width
    assert abs(ours.high - theirs.high) < 0.03 * width


def test_spread_of_resampled_means_has_the_closed_form():
    # With equal sizes, the variance of the resampled mean is the biased variance of cluster means over C.
    values, codes = clustered(np.random.default_rng(5), clusters=12, size=7, spread=2.0)
    means = values.reshape(12, 7).mean(axis=1)
    seen = []

    def kept(weights):
        seen.append(weighted_mean(values)(weights))
        return seen[-1]

    cluster_bootstrap(kept, codes, rng=np.random.default_rng(6), resamples=40_000)
    drawn = np.concatenate(seen[1:])
    assert drawn.std() == pytest.approx(means.std() / np.sqrt(12), rel=0.02)
    assert drawn.mean() == pytest.approx(values.mean(), abs=4 * drawn.std() / 200)


def test_expanded_interval_of_a_normal_mean_is_students():
    values = np.random.default_rng(7).normal(size=12)
    interval = cluster_mean(values, np.arange(12), rng=np.random.default_rng(8), resamples=200_000)
    half = stats.t.ppf(0.975, 11) * values.std(ddof=1) / np.sqrt(12)
    assert (interval.high - interval.low) / 2 == pytest.approx(half, rel=0.06)


def test_expanded_covers_with_eight_clusters_where_plain_percentiles_do_not():
    rng = np.random.default_rng(9)
    covered = {"expanded": 0, "percentile": 0}
    trials = 400
    for _ in range(trials):
        values, codes = clustered(rng, clusters=8, size=5, spread=1.5)
        for method in covered:
            interval = cluster_mean(values, codes, rng=rng, resamples=400, method=method)
            covered[method] += interval.low <= 0 <= interval.high
    assert covered["expanded"] / trials > 0.92
    assert covered["percentile"] / trials < 0.92


def test_ignoring_clusters_makes_the_interval_too_narrow():
    values, codes = clustered(np.random.default_rng(10), clusters=20, size=25, spread=2.0)
    rng = np.random.default_rng(11)
    by_cluster = cluster_mean(values, codes, rng=rng)
    by_window = cluster_mean(values, np.arange(len(values)), rng=rng)
    assert by_cluster.high - by_cluster.low > 3 * (by_window.high - by_window.low)


@given(
    sizes=st.lists(st.integers(1, 6), min_size=2, max_size=9),
    scale=st.floats(0.1, 100),
    shift=st.floats(-100, 100),
    method=st.sampled_from(["expanded", "percentile"]),
    seed=st.integers(0, 2**32 - 1),
)
def test_interval_follows_shift_and_scale_and_ignores_names_and_order(sizes, scale, shift, method, seed):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = np.random.default_rng(seed).normal(size=len(codes))

    def interval(v, c):
        return cluster_mean(v, c, rng=np.random.default_rng(seed), resamples=200, method=method)

    plain, moved = interval(values, codes), interval(scale * values + shift, codes)
    for name in ("estimate", "low", "high"):
        assert getattr(moved, name) == pytest.approx(
            scale * getattr(plain, name) + shift, abs=1e-9 * (1 + scale + abs(shift))
        )
    order = np.random.default_rng(seed).permutation(len(codes))
    named = interval(values[order], np.char.add("r", codes.astype(str))[order])
    assert named.low == pytest.approx(float(plain.low), abs=1e-9)
    assert plain.low <= plain.high
    assert values.min() - 1e-12 <= plain.low and plain.high <= values.max() + 1e-12


def test_columns_are_intervals_of_their_own():
    rng = np.random.default_rng(12)
    values, codes = rng.normal(size=(60, 3)), np.repeat(np.arange(15), 4)
    together = cluster_mean(values, codes, rng=np.random.default_rng(1))
    for column in range(3):
        alone = cluster_mean(values[:, column], codes, rng=np.random.default_rng(1))
        assert together.low[column] == pytest.approx(float(alone.low))
        assert together.high[column] == pytest.approx(float(alone.high))


def test_strata_keep_their_number_of_clusters():
    codes = np.repeat(np.arange(10), 3)
    strata = np.where(codes < 4, "walk", "jump")

    def shares(weights):
        assert (weights[:, strata == "walk"].sum(axis=1) == 12).all()
        assert (weights.sum(axis=1) == 30).all()
        return weights[:, 0]

    cluster_bootstrap(shares, codes, strata=strata, rng=np.random.default_rng(0), resamples=200)


def test_weights_are_how_often_a_cluster_was_drawn():
    codes = np.array([2, 0, 1, 0, 2])

    def same(weights):
        assert (weights[:, 0] == weights[:, 4]).all() and (weights[:, 1] == weights[:, 3]).all()
        assert (weights[:, 0] + weights[:, 1] + weights[:, 2] == 3).all() or (weights == 1).all()
        return weights[:, 0]

    cluster_bootstrap(same, codes, rng=np.random.default_rng(0), resamples=300)


def test_few_clusters_are_said():
    rng = np.random.default_rng(0)
    few = cluster_mean(rng.normal(size=12), np.repeat(np.arange(4), 3), rng=rng)
    many = cluster_mean(rng.normal(size=30), np.arange(30), rng=rng)
    assert few.note.startswith("Only 4 independent units")
    assert many.note == ""
    assert few.clusters == 4


def test_constant_values_give_a_point():
    for method in ("expanded", "percentile", "bca"):
        interval = cluster_mean(
            np.full(12, 0.25), np.repeat(np.arange(4), 3), rng=np.random.default_rng(0), method=method
        )
        assert interval.low == interval.high == interval.estimate == 0.25


def test_progress_sees_every_batch_and_may_stop():
    class Stop(Exception): ...

    def stopping(batches):
        raise Stop

    with pytest.raises(Stop):
        cluster_bootstrap(lambda w: w[:, 0], np.arange(5), rng=np.random.default_rng(0), progress=stopping)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda r: cluster_mean([1.0, np.nan], [0, 1], rng=r),
            "values: got 1 non-finite values; expected finite numbers.",
        ),
        (
            lambda r: cluster_mean(["a"], [0], rng=r),
            "values: got values that are not numbers; expected finite numbers.",
        ),
        (lambda r: cluster_mean([1.0, 2.0], [0, 0], rng=r), "clusters: got 1 distinct; expected at least 2."),
        (lambda r: cluster_mean([1.0, 2.0], [0], rng=r), "clusters: got shape (1,); expected (2,)."),
        (lambda r: cluster_mean(1.0, [0], rng=r), "values: got shape (); expected (n,) or (n, M)."),
        (
            lambda r: cluster_mean([1, 2], [0, 1], rng=r, level=1.0),
            "level: got 1.0; expected a number between 0 and 1.",
        ),
        (lambda r: cluster_mean([1, 2], [0, 1], rng=r, resamples=9), "resamples: got 9; expected at least 100."),
        (
            lambda r: cluster_mean([1, 2], [0, 1], rng=r, method="t"),  # type: ignore[arg-type]
            "method: got 't'; expected 'expanded', 'percentile' or 'bca'.",
        ),
        (
            lambda r: cluster_mean([1, 2, 3], [0, 0, 1], strata=[0, 1, 1], rng=r),
            "strata: differs within 1 of 2 clusters; expected one label a cluster.",
        ),
        (
            lambda r: cluster_mean([1, 2, 3], [0, 1, 2], strata=["a", "a", "b"], rng=r),
            "strata: b has 1 cluster; expected at least 2.",
        ),
        (
            lambda r: cluster_bootstrap(lambda w: w[0], np.arange(4), rng=r),
            "statistic: gave shape (4,) for 2000 resamples; expected one value a row.",
        ),
        (
            lambda r: cluster_bootstrap(lambda w: w.max(axis=1), np.arange(30), rng=r, method="bca"),
            "method: bca is undefined when all resamples lie on one side of the estimate; expected 'expanded'.",
        ),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        call(np.random.default_rng(0))


def test_a_statistic_that_is_not_finite_in_some_resample_is_refused():
    with np.errstate(all="ignore"), pytest.raises(ValueError, match=r"statistic: not finite in \d+ of 500 resamples"):
        cluster_bootstrap(lambda w: 1 / w[:, 0], np.arange(6), rng=np.random.default_rng(0), resamples=500)


@given(*[st.floats(-1e6, 1e6)] * 3)
def test_the_ends_around_an_estimate_hold_it_and_the_interval(estimate, one, other):
    ends = sorted((one, other))
    low, high = Interval(*map(np.float64, (estimate, *ends)), 0.95, 9, 99, "percentile").around
    assert low <= estimate <= high
    assert (low, high) == (min(ends[0], estimate), max(ends[1], estimate))
