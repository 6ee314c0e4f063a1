"""Numbers that a notebook names itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.report.named import MIME, NAMED, Named, quantity


@given(st.one_of(st.booleans(), st.integers(), st.floats(), st.text()))
def test_a_scalar_keeps_its_value_and_gets_a_kind(value):
    named = quantity("x", value, "V")
    assert named.value is value or math.isnan(value)
    assert named.kind == ("numeric" if isinstance(value, float) else "exact")
    bundle = named._repr_mimebundle_()
    assert Named(**bundle[MIME]) == named or math.isnan(value)
    assert bundle["text/plain"].startswith("x = ")


def test_a_number_of_numpy_becomes_plain():
    assert type(quantity("x", np.float32(0.5)).value) is float and type(quantity("n", np.int64(3)).value) is int


def test_an_interval_makes_it_statistical():
    assert quantity("x", 0.5, interval=(0, 1)) == Named("x", 0.5, "", "statistical", 1e-5, 0.0, (0.0, 1.0))


@pytest.mark.parametrize(
    ("how", "field"),
    [
        ({"name": " "}, "name"), ({"value": [1]}, "value"), ({"kind": "fuzzy"}, "kind"), ({"rtol": -1.0}, "rtol"),
        ({"atol": math.nan}, "rtol"), ({"kind": "statistical"}, "interval"),
        ({"kind": "exact", "interval": (0, 1)}, "interval"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_a_sentence(how, field):
    with pytest.raises(ValueError, match=rf"^{field}.*: got .*expected .*\.$"):
        quantity(**{"name": "x", "value": 1.0, **how})


def test_a_report_takes_what_is_named():
    taken = []
    token = NAMED.set(taken)
    try:
        named = quantity("x", 1)
    finally:
        NAMED.reset(token)
    quantity("y", 2)
    assert taken == [named]
