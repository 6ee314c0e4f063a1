"""Permutation test against SciPy and the uniformity of p under the null."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.statistics import permutation_test
from assay.statistics.permutation import arrangements, distinct_arrangements


def mean_difference(values):
    def statistic(labels):
        first = labels == 1
        return (first @ values) / first.sum(axis=1) - (~first @ values) / (~first).sum(axis=1)

    return statistic


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_exact_p_agrees_with_scipy(alternative):
    rng = np.random.default_rng(0)
    values = rng.normal(size=10) + np.repeat([0, 1.0], 5)
    labels = np.repeat([0, 1], 5)
    ours = permutation_test(mean_difference(values), labels, rng=rng, permutations=1000, alternative=alternative)
    theirs = stats.permutation_test(
        (values[5:], values[:5]), lambda a, b, axis: a.mean(axis) - b.mean(axis), vectorized=True, n_resamples=np.inf,
        alternative=alternative,
    )  # fmt: skip
    assert ours.exact and len(ours.null) == math.comb(10, 5)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-12)
    assert ours.observed == pytest.approx(theirs.statistic)


def test_random_p_nears_the_exact_one():
    rng = np.random.default_rng(1)
    values = rng.normal(size=12) + np.repeat([0, 0.8], 6)
    labels = np.repeat([0, 1], 6)
    exact = permutation_test(mean_difference(values), labels, rng=rng, permutations=1000)
    drawn = permutation_test(mean_difference(values), labels, rng=rng, permutations=900)
    assert exact.exact and not drawn.exact
    assert drawn.p == pytest.approx(exact.p, abs=4 * np.sqrt(exact.p * (1 - exact.p) / 900) + 1 / 901)


def test_p_is_never_zero_and_has_the_plus_one():
    values = np.arange(40.0)
    result = permutation_test(
        mean_difference(values), (values >= 20).astype(int), rng=np.random.default_rng(0), permutations=199
    )
    assert result.p == 1 / 200


@given(st.lists(st.integers(0, 2), min_size=2, max_size=7))
def test_every_distinct_arrangement_comes_once(labels):
    codes = np.array(labels)
    rows = [tuple(row) for row in distinct_arrangements(codes)]
    assert len(rows) == len(set(rows)) == arrangements(codes)
    assert {tuple(sorted(row)) for row in rows} == {tuple(sorted(labels))}


def test_p_is_uniform_under_the_null_by_cluster_and_not_by_window():
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(12), 10)
    labels = (clusters % 2).astype(int)
    by_cluster, by_window = [], []
    for _ in range(200):
        values = rng.normal(size=12)[clusters] + 0.3 * rng.normal(size=120)
        by_cluster.append(
            permutation_test(mean_difference(values), labels, rng=rng, clusters=clusters, permutations=99).p
        )
        by_window.append(permutation_test(mean_difference(values), labels, rng=rng, permutations=99).p)
    assert np.mean(np.array(by_cluster) <= 0.1) == pytest.approx(0.1, abs=0.06)
    assert np.mean(np.array(by_window) <= 0.1) > 0.25  # why windows of one recording must move together


def test_labels_of_a_cluster_move_together():
    clusters = np.repeat(["a", "b", "c", "d"], 3)
    labels = np.repeat(["walk", "jump", "walk", "jump"], 3)

    def statistic(rows):
        grouped = rows.reshape(len(rows), 4, 3)
        assert (grouped == grouped[:, :, :1]).all()
        assert ((rows == "walk").sum(axis=1) == 6).all()
        return np.zeros(len(rows))

    result = permutation_test(statistic, labels, rng=np.random.default_rng(0), clusters=clusters)
    assert result.exact and len(result.null) == 6 and result.units == 4
    assert result.p == 1


def test_progress_may_stop():
    class Stop(Exception): ...

    def stopping(batches):
        raise Stop

    with pytest.raises(Stop):
        permutation_test(lambda r: np.zeros(len(r)), [0, 1, 1], rng=np.random.default_rng(0), progress=stopping)


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        ([1, 1, 1], {}, "labels: got 1 distinct; expected at least 2."),
        ([[1, 2]], {}, "labels: got shape (1, 2); expected (n,)."),
        ([0, 1, 1], {"clusters": [0, 0, 1]}, "labels: differs within 1 of 2 clusters; expected one label a cluster."),
        ([0, 1], {"alternative": "up"}, "alternative: got 'up'; expected 'greater', 'less' or 'two-sided'."),
        ([0, 1], {"permutations": 0}, "permutations: got 0; expected at least 1."),
        ([0, 1], {"clusters": [0]}, "clusters: got shape (1,); expected (2,)."),
    ],
)
def test_bad_input_is_one_sentence(labels, options, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        permutation_test(lambda r: np.zeros(len(r)), labels, rng=np.random.default_rng(0), **options)


def test_a_statistic_must_be_finite_and_one_a_row():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="statistic: not finite"):
        permutation_test(lambda r: np.full(len(r), np.nan), [0, 1], rng=rng)
    with pytest.raises(ValueError, match=r"statistic: gave shape \(\) for 1 arrangements"):
        permutation_test(lambda r: 1.0, [0, 1], rng=rng)
