"""The Marchenko-Pastur ceiling against drawn matrices, quadrature and printed values."""

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.geometry import effective_rank, marchenko_pastur_rank, marchenko_pastur_singular_values, singular_values


@settings(max_examples=25)
@given(st.floats(0.01, 0.95), st.sampled_from([1.0, 2.0]))
def test_it_is_the_integral_over_the_density(q, power):
    rows, columns = 10_000, round(10_000 * q)
    q = columns / rows
    a, b = (1 - np.sqrt(q)) ** 2, (1 + np.sqrt(q)) ** 2

    def mean(f):
        return scipy.integrate.quad(
            lambda x: f(x ** (power / 2)) * np.sqrt((b - x) * (x - a)) / (2 * np.pi * q * x), a, b, limit=400
        )[0]

    first = mean(lambda v: v)
    expected = columns * first * np.exp(-mean(lambda v: v * np.log(v)) / first)
    assert marchenko_pastur_rank(rows, columns, power=power) == pytest.approx(expected, rel=1e-5)


def test_printed_values():
    assert marchenko_pastur_rank(5000, 100) / 100 == pytest.approx(0.99748, abs=1e-5)
    assert marchenko_pastur_rank(49152, 576) / 576 == pytest.approx(0.9985, abs=1e-4)
    assert marchenko_pastur_rank(100, 5000) == marchenko_pastur_rank(5000, 100)


@pytest.mark.parametrize(("rows", "columns"), [(2000, 200), (600, 300), (400, 400)])
def test_drawn_matrices_agree(rows, columns):
    s = singular_values(np.random.default_rng(0).standard_normal((rows, columns)))
    assert effective_rank(s) == pytest.approx(marchenko_pastur_rank(rows, columns), rel=0.004)
    for order, power in ((1, 2), (2, 2), (2, 1)):
        ours = marchenko_pastur_rank(rows, columns, order=order, power=power)
        assert effective_rank(s, order=order, power=power) == pytest.approx(ours, rel=0.01)
    np.testing.assert_allclose(marchenko_pastur_singular_values(rows, columns), s, atol=0.02 * s[0])


def test_quantiles_have_the_norm_of_the_matrix():
    """E |W|_F² = V d for entries of variance 1."""
    values = marchenko_pastur_singular_values(3000, 200)
    assert (values**2).sum() == pytest.approx(3000 * 200, rel=1e-3)
    assert (np.diff(values) <= 0).all()
    edge = np.sqrt(3000) + np.sqrt(200)
    assert values[0] == pytest.approx(edge, rel=0.01) and values[0] < edge


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: marchenko_pastur_rank(0, 3), "rows: got 0"),
        (lambda: marchenko_pastur_rank(3, 1.5), "columns: got 1.5"),  # type: ignore[arg-type]
        (lambda: marchenko_pastur_rank(3, 3, order=-1), "order: got -1"),
        (lambda: marchenko_pastur_rank(3, 3, power=0), "power: got 0"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
