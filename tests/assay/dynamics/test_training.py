"""The training protocol: determinism, budget, standardisation on the training part, results that add up."""

import numpy as np
import pytest
import torch

from assay.dynamics import (
    FrameANN,
    SpectralLinear,
    SpikingLeNet,
    SpikingMLP,
    Standardiser,
    TimeMeanANN,
    train_classifier,
)
from assay.dynamics.lenet import MINI

L, F, K = 24, 4, 3


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def tones(seed, N=240):
    """Class c is a tone of its own frequency at a random phase."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, N)
    phase = rng.uniform(0, 2 * np.pi, (N, 1, F))
    X = np.cos(0.4 * (1 + y)[:, None, None] * np.arange(L)[:, None] + phase) + 0.3 * rng.normal(size=(N, L, F))
    return 5 * X + 20, y


X, Y = tones(0)
TEST = tones(1)


def run(model, steps=60, **options):
    options = {"held_out": {"test": TEST}, "generator": generator(1), "lr": 1e-2, **options}
    return train_classifier(model, X, Y, steps=steps, **options)


def test_a_run_repeats_bit_for_bit():
    one, two = (run(SpikingMLP(F, K, generator=generator()), steps=20) for _ in range(2))
    assert np.array_equal(one.loss, two.loss)
    assert np.array_equal(one.held_out["test"].scores, two.held_out["test"].scores)
    other = run(SpikingMLP(F, K, generator=generator()), steps=20, generator=generator(2))
    assert not np.array_equal(one.loss, other.loss)


def test_training_touches_no_global_state():
    state = torch.random.get_rng_state()
    run(SpikingMLP(F, K, generator=generator()), steps=3)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_tones_are_learnt_by_what_sees_time_and_not_by_their_mean():
    spectral = run(SpectralLinear(L, F, K, generator=generator()))
    mean = run(TimeMeanANN(F, K, generator=generator()))
    assert spectral.held_out["test"].accuracy > 0.95
    assert mean.held_out["test"].accuracy < 0.75
    spiking = run(SpikingMLP(F, K, beta=0.3, generator=generator()), steps=200)
    assert spiking.held_out["test"].accuracy > 0.6
    assert spiking.loss[-20:].mean() < 0.7 * spiking.loss[:20].mean()


def test_results_add_up():
    trained = run(FrameANN(F, K, generator=generator()), held_out={"test": TEST, "again": TEST}, evaluate_every=20)
    held = trained.held_out["test"]
    assert np.array_equal(held.predicted, held.scores.argmax(axis=1))
    assert np.array_equal(held.correct, held.predicted == TEST[1])
    assert held.accuracy == pytest.approx(held.correct.mean())
    logp = torch.log_softmax(torch.from_numpy(held.scores), dim=1)
    assert held.loss == pytest.approx(-float(logp[torch.arange(len(TEST[1])), TEST[1]].mean()), rel=1e-5)
    assert np.allclose(trained.scores(TEST[0]), held.scores, atol=1e-5)
    assert trained.history.shape == (3, 3)
    assert np.array_equal(trained.history[:, 0], [20, 40, 60])
    assert trained.history[-1, 1] == pytest.approx(held.accuracy)
    assert np.array_equal(trained.held_out["again"].scores, held.scores)
    assert not trained.model.training


def test_rate_is_a_cosine_from_the_given_one():
    trained = run(FrameANN(F, K, generator=generator()), steps=10)
    assert trained.rate[0] == 1e-2
    assert np.allclose(trained.rate, 1e-2 * np.cos(np.pi * np.arange(10) / 20) ** 2)


def test_steps_are_adams():
    ours, reference = (FrameANN(F, K, generator=generator()) for _ in range(2))
    run(ours, steps=4, batch_size=1000)
    optimiser = torch.optim.Adam(reference.parameters())
    x = torch.from_numpy(X).float()
    x = (x - x.mean(dim=(0, 1))) / x.std(dim=(0, 1), correction=0)
    order = generator(1)
    for step in range(4):
        rows = torch.randperm(len(X), generator=order)
        optimiser.param_groups[0]["lr"] = 1e-2 * np.cos(np.pi * step / 8) ** 2
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(reference(x[rows]), torch.from_numpy(Y)[rows]).backward()
        optimiser.step()
    # a step of Adam has the size of its rate even where a gradient is no more than rounding, which processors do apart
    apart = torch.cat([(v - reference.get_parameter(name)).abs().flatten() for name, v in ours.named_parameters()])
    assert (apart < 1e-4).float().mean() > 0.99
    assert apart.max() < 2e-3, "a fifth of a step"


def test_standardisation_is_fitted_on_training_data():
    trained = run(FrameANN(F, K, generator=generator()), steps=1)
    assert np.allclose(trained.standardiser.mean.flatten(), X.mean(axis=(0, 1)), rtol=1e-4)
    assert np.allclose(trained.standardiser.scale.flatten(), X.std(axis=(0, 1)), rtol=1e-4)
    again = run(FrameANN(F, K, generator=generator()), steps=1, held_out={"test": (TEST[0] * 3 + 1, TEST[1])})
    assert torch.equal(again.standardiser.mean, trained.standardiser.mean)


def test_a_feature_that_never_varies_is_only_centred():
    x = torch.randn(9, 5, 3, generator=generator())
    x[..., 1] = 7.0
    scaled = Standardiser.fit(x)(x)
    assert torch.equal(scaled[..., 1], torch.zeros(9, 5))
    assert torch.allclose(scaled[..., 0].std(correction=0), torch.tensor(1.0))
    maps = torch.randn(4, 5, 2, 3, 3, generator=generator())
    assert Standardiser.fit(maps).mean.shape == (1, 1, 2, 1, 1)


def test_progress_wraps_the_steps_and_may_stop_them():
    seen = []

    def count(steps):
        for step in steps:
            if step == 3:
                raise InterruptedError
            seen.append(step)
            yield step

    with pytest.raises(InterruptedError):
        run(FrameANN(F, K, generator=generator()), steps=50, progress=count)
    assert seen == [0, 1, 2]


def test_maps_and_tensors_are_taken():
    x = torch.randn(30, 6, 1, 4, 4, generator=generator())
    model = SpikingLeNet(1, 4, 4, 2, generator=generator(), backbone=MINI)
    trained = train_classifier(
        model,
        x,
        torch.arange(30) % 2,
        steps=2,
        batch_size=7,
        generator=generator(),
        held_out={"test": (x, torch.arange(30) % 2)},
    )
    assert trained.held_out["test"].scores.shape == (30, 2)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": X[:, :, 0]}, r"X must have shape \(N, L, F\)"),
        ({"X": np.where(np.arange(F) == 1, np.nan, X)}, "X must be finite"),
        ({"X": X * 1e200}, "X must be finite"),
        ({"y": Y[:3]}, "y must hold 240 whole numbers"),
        ({"y": Y / 2}, "y must hold 240 whole numbers"),
        ({"y": Y + 1}, "y must hold classes 0 to 2; got 1 to 3"),
        ({"steps": 0}, "steps must"),
        ({"batch_size": True}, "batch_size must"),
        ({"evaluate_every": 0}, "evaluate_every must"),
        ({"lr": np.nan}, "lr must"),
        ({"held_out": {"test": (X, Y + 5)}}, "held_out test must hold classes 0 to 2; got 5 to 7"),
    ],
)
def test_bad_input_is_named(change, named):
    arguments = {"X": X, "y": Y, "steps": 1, "generator": generator(), **change}
    with pytest.raises(ValueError, match=named):
        train_classifier(FrameANN(F, K, generator=generator()), arguments.pop("X"), arguments.pop("y"), **arguments)
