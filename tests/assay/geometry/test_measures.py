"""All measures together are the measures one by one, under every gauge."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.geometry import (
    average_cosine,
    decay_exponent,
    effective_rank,
    gauge,
    isoscore,
    marchenko_pastur_rank,
    measure_matrix,
    measure_spectrum,
    participation_ratio,
    partition_isotropy,
    singular_values,
    stable_rank,
)


@settings(max_examples=15)
@given(st.integers(0, 1000))
def test_they_are_those_one_by_one(seed):
    rng = np.random.default_rng(seed)
    matrix = 0.3 * rng.standard_normal((150, 20)) * np.logspace(0, -1, 20) + 0.2 * rng.standard_normal(20)
    gain, root = rng.uniform(0.5, 2, 20), rng.standard_normal((20, 20))
    covariance = root @ root.T
    found = measure_matrix(matrix, gain=gain, hidden_cov=covariance)
    changed = {
        "raw": matrix, "centred": gauge(matrix, center=True), "folded": gauge(matrix, gain=gain),
        "centred and folded": gauge(matrix, center=True, gain=gain),
        "whitened": gauge(matrix, hidden_cov=covariance),
        "centred and whitened": gauge(matrix, center=True, hidden_cov=covariance),
    }  # fmt: skip
    assert set(found.spectra) == set(changed)
    for name, other in changed.items():
        s = singular_values(other)
        own = found.spectra[name]
        np.testing.assert_allclose(own.singular_values, s, rtol=1e-6)
        assert own.effective_rank == pytest.approx(float(effective_rank(s)), rel=1e-7)
        assert own.stable_rank == pytest.approx(float(stable_rank(s)), rel=1e-7)
        assert own.participation_ratio == pytest.approx(float(participation_ratio(s)), rel=1e-7)
        assert own.decay is not None and own.decay.alpha == pytest.approx(decay_exponent(s).alpha, rel=1e-6)
    assert found.average_cosine == pytest.approx(average_cosine(matrix), rel=1e-9)
    assert found.isoscore == pytest.approx(isoscore(matrix), rel=1e-9)
    assert found.partition.both == pytest.approx(partition_isotropy(matrix), rel=1e-9)
    assert found.ceiling == marchenko_pastur_rank(150, 20)


def test_what_does_not_exist_is_none():
    one = measure_matrix(np.array([[1.0, 2.0, 3.0]]))
    assert one.average_cosine is None and one.isoscore is None and set(one.spectra) == {"raw"}
    assert one.spectra["raw"].decay is None and one.spectra["raw"].tail is None
    column = measure_matrix(np.arange(1.0, 5.0)[:, None])
    assert column.isoscore is None and column.spectra["centred"].effective_rank == pytest.approx(1)


def test_rows_of_zeros_are_counted():
    matrix = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)).half()
    matrix[4] = 0
    assert measure_matrix(matrix).zero_rows == 1


def test_several_spectra_are_refused():
    with pytest.raises(ValueError, match="a spectrum for each"):
        measure_spectrum(np.ones((2, 3)))
