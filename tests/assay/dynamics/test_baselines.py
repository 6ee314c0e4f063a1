"""What each baseline sees of the input, and that it sees no more."""

import numpy as np
import pytest
import torch
from scipy.signal import butter, lfilter, sosfilt

from assay.dynamics import (
    EMAANN,
    ButterworthANN,
    FrameANN,
    GRUClassifier,
    SpectralLinear,
    StaticANN,
    TemporalCNN,
    TimeMeanANN,
    lif_cutoff,
)

L, F, K = 20, 6, 3


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def every():
    return [
        FrameANN(F, K, generator=generator()),
        TimeMeanANN(F, K, generator=generator()),
        StaticANN(F, K, generator=generator()),
        EMAANN(F, K, beta=0.7, generator=generator()),
        ButterworthANN(F, K, cutoff=0.8, generator=generator()),
        SpectralLinear(L, F, K, generator=generator()),
        GRUClassifier(F, K, generator=generator()),
        TemporalCNN(F, K, generator=generator()),
    ]


X = torch.randn(4, L, F, generator=generator(1))


@pytest.mark.parametrize("model", every(), ids=lambda model: type(model).__name__)
def test_scores_and_gradients(model):
    scores = model(model.prepare(X))
    assert scores.shape == (4, K)
    scores.logsumexp(dim=1).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert not model.spiking
    assert model.classes == K


@pytest.mark.parametrize("model", every(), ids=lambda model: type(model).__name__)
def test_weights_come_from_the_generator_alone(model):
    state = torch.random.get_rng_state()
    twin = next(other for other in every() if type(other) is type(model))
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(value, twin.get_parameter(name)) for name, value in model.named_parameters())


@pytest.mark.parametrize("model", every()[:3], ids=lambda model: type(model).__name__)
def test_networks_without_memory_do_not_see_the_order_of_frames(model):
    order = torch.randperm(L, generator=generator(2))
    assert torch.allclose(model(model.prepare(X)), model(model.prepare(X[:, order])), atol=1e-5)


@pytest.mark.parametrize("model", every()[3:5] + every()[6:], ids=lambda model: type(model).__name__)
def test_networks_with_memory_do(model):
    assert not torch.allclose(model(model.prepare(X)), model(model.prepare(X.flip(1))), atol=1e-4)


def test_fixed_parts_are_what_they_are_called():
    ema = lfilter([0.3], [1, -0.7], X.double().numpy(), axis=1)
    assert np.allclose(EMAANN(F, K, beta=0.7, generator=generator()).prepare(X), ema, atol=1e-6)
    low = sosfilt(butter(4, 0.8 / np.pi, output="sos"), X.double().numpy(), axis=1)
    assert np.allclose(ButterworthANN(F, K, cutoff=0.8, generator=generator()).prepare(X), low, atol=1e-6)
    magnitudes = np.abs(np.fft.rfft(X.double().numpy(), axis=1))
    assert np.allclose(SpectralLinear(L, F, K, generator=generator()).prepare(X), magnitudes.reshape(4, -1), atol=1e-4)
    kept = SpectralLinear(L, F, K, cutoff=2 * np.pi * 3 / L, generator=generator())
    assert np.allclose(kept.prepare(X), magnitudes[:, :4].reshape(4, -1), atol=1e-4)
    assert np.allclose(StaticANN(F, K, generator=generator()).prepare(X)[:, 0], np.median(X, axis=1), atol=1e-6)
    assert np.allclose(TimeMeanANN(F, K, generator=generator()).prepare(X)[:, 0], X.mean(dim=1), atol=1e-6)


def test_matched_cutoffs_halve_the_power_of_a_tone_there():
    cutoff = float(lif_cutoff(0.8))
    tone = torch.cos(cutoff * torch.arange(4000.0))[None, :, None]
    for model in (
        EMAANN(1, 2, beta=0.8, generator=generator()),
        ButterworthANN(1, 2, cutoff=cutoff, generator=generator()),
    ):
        steady = model.prepare(tone)[0, 1000:, 0]
        assert abs(float(steady.var() / tone[0, 1000:, 0].var()) - 0.5) < 2e-3


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: EMAANN(F, K, beta=1.0, generator=generator()), "beta must"),
        (lambda: ButterworthANN(F, K, cutoff=np.pi, generator=generator()), "cutoff must lie between 0 and pi"),
        (lambda: ButterworthANN(F, K, cutoff=np.nan, generator=generator()), "cutoff must"),
        (lambda: ButterworthANN(F, K, cutoff=1.0, order=0, generator=generator()), "order must"),
        (lambda: SpectralLinear(L, F, K, cutoff=4.0, generator=generator()), "cutoff must"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
