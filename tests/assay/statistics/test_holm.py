"""Holm's adjustment against its definition and a worked example."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.statistics import holm_adjust

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def rejected_by_steps(p, alpha):
    """The procedure as printed: walk up the ordered values, stop at the first that is too large."""
    out = np.zeros(len(p), dtype=bool)
    for step, index in enumerate(np.argsort(p, kind="stable")):
        if p[index] * (len(p) - step) > alpha:
            break
        out[index] = True
    return out


@given(p_values, st.floats(0.001, 0.999))
def test_rejections_are_those_of_the_step_down_procedure(p, alpha):
    assert (holm_adjust(p) <= alpha).tolist() == rejected_by_steps(np.array(p), alpha).tolist()


@given(p_values, st.randoms())
def test_laws(p, random):
    adjusted = holm_adjust(p)
    assert (adjusted >= p).all() and (adjusted <= 1).all()
    assert (adjusted <= np.minimum(np.array(p) * len(p), 1)).all()  # never above Bonferroni's
    order = list(range(len(p)))
    random.shuffle(order)
    assert holm_adjust(np.array(p)[order]).tolist() == adjusted[order].tolist()


def test_worked_example():
    assert holm_adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_family_wise_error_of_independent_nulls():
    rng = np.random.default_rng(0)
    rejected = sum(holm_adjust(rng.random(5)).min() <= 0.05 for _ in range(4000))
    assert rejected / 4000 == pytest.approx(1 - 0.99**5, abs=0.011)  # the smallest of 5 is tested at 0.05 / 5


@pytest.mark.parametrize(
    ("p", "sentence"),
    [
        ([], "p: got shape (0,); expected (m,) with m at least 1."),
        ([0.2, np.nan], "p: got 1 non-finite values; expected finite numbers."),
        ([0.2, 1.2], "p: got values from 0.2 to 1.2; expected 0 to 1."),
    ],
)
def test_bad_input_is_one_sentence(p, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        holm_adjust(p)
