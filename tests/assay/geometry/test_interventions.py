"""Cut and reshaped spectra against the singular value decomposition."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.geometry import effective_rank, reshape_spectrum, singular_values, truncate_spectrum


@settings(max_examples=30)
@given(st.integers(2, 40), st.integers(1, 10), st.integers(0, 1000), st.data())
def test_truncation_is_eckart_and_youngs(rows, columns, seed, data):
    matrix = np.random.default_rng(seed).standard_normal((rows, columns))
    k = data.draw(st.integers(1, min(rows, columns)))
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(truncate_spectrum(matrix, k), (u[:, :k] * s[:k]) @ v[:k], atol=1e-9)


@settings(max_examples=30)
@given(st.integers(2, 40), st.integers(1, 10), st.integers(0, 1000), st.floats(0, 4))
def test_reshaping_raises_singular_values_at_the_same_norm(rows, columns, seed, gamma):
    matrix = np.random.default_rng(seed).standard_normal((rows, columns))
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    raised = s**gamma
    expected = (u * raised * np.linalg.norm(s) / np.linalg.norm(raised)) @ v
    np.testing.assert_allclose(reshape_spectrum(matrix, gamma), expected, atol=1e-7 * s[0])


def test_ranks_fall_as_gamma_rises():
    matrix = np.random.default_rng(0).standard_normal((60, 9)) * np.logspace(0, -1.5, 9)
    ranks = [float(effective_rank(singular_values(reshape_spectrum(matrix, g)))) for g in (0, 0.5, 1, 2, 4)]
    assert ranks == sorted(ranks, reverse=True) and ranks[0] == pytest.approx(9)


def test_zero_values_stay_zero_and_types_stay():
    low = torch.outer(torch.arange(1.0, 9.0), torch.tensor([1.0, 2.0, 3.0])).half()
    for changed in (reshape_spectrum(low, 0.1), truncate_spectrum(low, 2)):
        assert isinstance(changed, torch.Tensor) and changed.dtype == torch.float16
        assert float(effective_rank(singular_values(changed.float()))) < 1.05


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: truncate_spectrum(np.ones((3, 2)), 3), "k: got 3; expected a whole number from 1 to 2"),
        (lambda: truncate_spectrum(np.ones((3, 2)), 1.5), "k: got 1.5"),  # type: ignore[arg-type]
        (lambda: truncate_spectrum(np.ones((3, 2), dtype=int), 1), "floating-point"),
        (lambda: reshape_spectrum(np.zeros((3, 2)), 1), "nothing but zeros"),
        (lambda: reshape_spectrum(np.ones((3, 2)), -1), "gamma: got -1"),
    ],
)
def test_what_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
