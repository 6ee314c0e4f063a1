"""Centre and scale equal those of float64, whatever the shape and however many blocks."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.dynamics import Standardiser


@settings(max_examples=20)
@given(
    shape=st.sampled_from([(7, 3), (5, 9, 4), (3, 8, 2, 4, 5), (600, 60, 16), (5000, 100)]),
    offset=st.floats(-100, 100),
    scale=st.floats(0.01, 100),
    seed=st.integers(0, 99),
)
def test_every_feature_has_mean_zero_and_deviation_one(shape, offset, scale, seed):
    X = torch.from_numpy(np.random.default_rng(seed).normal(offset, scale, shape).astype(np.float32))
    axes = (0, 1, 3, 4) if len(shape) == 5 else tuple(range(len(shape) - 1))
    fitted = Standardiser.fit(X)
    exact = X.numpy().astype(np.float64)
    rounding = 1e-6 * (abs(offset) + scale)
    np.testing.assert_allclose(fitted.mean.numpy(), exact.mean(axes, keepdims=True), rtol=0, atol=rounding)
    np.testing.assert_allclose(fitted.scale.numpy(), exact.std(axes, keepdims=True), rtol=1e-5, atol=rounding)
    before = X.clone()
    made = fitted(X).double()
    assert torch.equal(X, before)
    assert made.std(dim=axes, correction=0).numpy() == pytest.approx(1, abs=1e-4 + 1e-5 * abs(offset) / scale)


def test_a_feature_that_never_varies_is_only_centred():
    X = torch.tensor([3.7, -1.0]).expand(50, 9, 2)
    fitted = Standardiser.fit(X)
    assert fitted.scale.flatten().tolist() == [1.0, 1.0]
    assert fitted(X).abs().max() < 1e-5
