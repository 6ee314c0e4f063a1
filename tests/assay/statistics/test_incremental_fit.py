"""Incremental R² against scikit-learn's ridge and by what it must say of columns that help or do not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.statistics import incremental_r2
from assay.statistics.incremental_fit import grouped_folds, ridge_path


@settings(max_examples=30)
@given(st.integers(0, 1000), st.floats(1e-3, 1e3))
def test_a_ridge_is_scikit_learns(seed, penalty):
    rng = np.random.default_rng(seed)
    x, y, new = rng.standard_normal((30, 4)) * [1, 10, 0.1, 3] + 5, rng.standard_normal(30), rng.standard_normal((9, 4))
    ours = ridge_path(x, y, new, np.array([penalty]))[0]
    theirs = make_pipeline(StandardScaler(), Ridge(alpha=penalty)).fit(x, y).predict(new)
    np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@given(st.lists(st.integers(0, 12), min_size=8, max_size=60), st.integers(2, 5), st.integers(0, 100))
def test_folds_hold_whole_groups(labels, folds, seed):
    groups = np.unique(labels, return_inverse=True)[1]
    if len(np.unique(groups)) < folds:
        return
    fold = grouped_folds(groups, folds, np.random.default_rng(seed))
    assert all(len(np.unique(fold[groups == g])) == 1 for g in np.unique(groups))
    assert len(np.unique(fold)) == folds


def problem(rng, effect):
    groups = np.repeat(np.arange(18), 6)
    base = rng.standard_normal(108)
    extra = rng.standard_normal(108)
    return base + effect * extra + 0.5 * rng.standard_normal(108), {"base": base}, {"extra": extra}, groups


def test_a_column_that_helps_gains_what_it_explains():
    rng = np.random.default_rng(0)
    y, base, extra, groups = problem(rng, 1.0)
    found = incremental_r2(y, base, extra, groups, rng=rng, resamples=200)
    assert found.base == pytest.approx(1 / 2.25, abs=0.15) and found.full == pytest.approx(2 / 2.25, abs=0.08)
    assert found.delta == pytest.approx(found.full - found.base, abs=1e-9)
    assert found.interval.low > 0.2 and found.groups == 18 and found.per_fold.shape == (5, 5)


def test_noise_gains_nothing():
    rng = np.random.default_rng(1)
    gains = [incremental_r2(*problem(rng, 0.0), rng=rng, repeats=1, resamples=100) for _ in range(20)]
    assert np.mean([g.delta for g in gains]) == pytest.approx(0, abs=0.01)
    assert sum(g.interval.low > 0 for g in gains) <= 2


def test_what_only_names_the_group_is_worth_nothing_on_other_groups():
    """A column that is constant within groups and a target that is too: plain folds would be fooled."""
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(12), 9)
    y = rng.standard_normal(12)[groups] + 0.1 * rng.standard_normal(108)
    found = incremental_r2(y, {"base": rng.standard_normal(108)}, {"label": groups.astype(str)}, groups, rng=rng,
                           resamples=100)  # fmt: skip
    assert found.full < 0.1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"extra": {}}, "extra: got no columns"),
        ({"extra": {"base": np.arange(108.0)}}, "base is a column of base too"),
        ({"folds": 1}, "folds: got 1"),
        ({"folds": 19}, "folds: got 19 for 18 groups"),
        ({"repeats": 0}, "repeats: got 0"),
        ({"groups": np.zeros(108)}, "groups: got 1 distinct"),
        ({"y": np.ones(108)}, "y: got the same value"),
        ({"level": 2}, "level: got 2"),
    ],
)
def test_what_is_refused(change, sentence):
    rng = np.random.default_rng(0)
    y, base, extra, groups = problem(rng, 0.0)
    given = {"y": y, "base": base, "extra": extra, "groups": groups, "rng": rng} | change
    with pytest.raises(ValueError, match=sentence):
        incremental_r2(given.pop("y"), given.pop("base"), given.pop("extra"), given.pop("groups"), **given)
