"""Splits by group: nothing leaks, every class is on both sides."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics import split_groups


@given(
    counts=st.lists(st.integers(2, 9), min_size=2, max_size=5),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 2**32 - 1),
)
def test_groups_are_whole_and_classes_on_both_sides(counts, share, seed):
    rng = np.random.default_rng(seed)
    group_class = np.repeat(np.arange(len(counts)), counts)
    group = np.repeat(np.arange(len(group_class)), rng.integers(1, 6, size=len(group_class)))
    y = group_class[group]
    order = rng.permutation(len(y))
    held = split_groups(y[order], group[order], share, rng=rng)
    assert not set(group[order][held]) & set(group[order][~held])
    for code, count in enumerate(counts):
        out = len(set(group[order][held & (y[order] == code)]))
        assert out == min(max(round(share * count), 1), count - 1)


def test_other_generators_give_other_splits():
    y, group = np.repeat([0, 1], 40), np.arange(80)
    first = split_groups(y, group, 0.3, rng=np.random.default_rng(0))
    assert (first == split_groups(y, group, 0.3, rng=np.random.default_rng(0))).all()
    assert (first != split_groups(y, group, 0.3, rng=np.random.default_rng(1))).any()


def test_people_with_all_classes_are_split_as_wholes():
    group = np.repeat(np.arange(6), 4)
    held = split_groups(np.tile([0, 1], 12), group, 0.5, rng=np.random.default_rng(0))
    assert len(set(group[held])) == 3 and not set(group[held]) & set(group[~held])


@pytest.mark.parametrize(
    ("y", "group", "share", "sentence"),
    [
        (["a", "a", "b"], [0, 1, 2], 0.5, "group: class b has 1 group; expected at least 2 to hold one out."),
        ([0, 1], [0, 1], 1.5, "share: got 1.5; expected a number between 0 and 1."),
        ([0, 1], [0], 0.5, "group: got shape (1,); expected (2,)."),
    ],
)
def test_bad_input_is_one_sentence(y, group, share, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        split_groups(y, group, share, rng=np.random.default_rng(0))
