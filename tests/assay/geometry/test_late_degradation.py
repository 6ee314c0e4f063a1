"""Late degradation: found where it was put, seldom found where there is none."""

import numpy as np
import pytest

from assay.geometry import saturation

STEPS = np.arange(80) * 100.0


def curves(rng, *, turn=None, drop=None, noise=0.01):
    """Loss that falls, and rises again from `turn` on; rank that falls abruptly at `drop`."""
    falling = 4 + 2 * np.exp(-STEPS / 1500)
    if turn is not None:
        falling = falling + 0.15 * np.clip((STEPS - turn) / 2000, 0, None)
    rank = 60 + 5 * np.exp(-STEPS / 3000) - 25 * ((np.inf if drop is None else drop) <= STEPS)
    return falling + noise * rng.standard_normal(80), rank + 0.2 * rng.standard_normal(80)


def test_a_rise_after_a_drop_is_found_with_its_lag():
    rng = np.random.default_rng(0)
    loss, rank = curves(rng, turn=5000, drop=4500)
    found = saturation(STEPS, loss, rank, rng=rng, resamples=300)
    assert found.degraded and found.p < 0.02
    clean = np.lib.stride_tricks.sliding_window_view(curves(rng, turn=5000, noise=0)[0], 5).mean(axis=1)
    assert found.rise == pytest.approx(clean[-1] - clean.min(), abs=0.02)
    assert found.drop_step == 4500 and found.drop == pytest.approx(25, abs=1)
    assert found.low <= found.lag <= found.high < 1000


def test_a_drop_without_a_rise_is_no_degradation():
    rng = np.random.default_rng(1)
    loss, rank = curves(rng, drop=4500)
    found = saturation(STEPS, loss, rank, rng=rng, resamples=300)
    assert not found.degraded and found.drop == pytest.approx(25, abs=1)


@pytest.mark.parametrize(("slope", "most"), [(2.0, 3), (0.0, 18)])
def test_curves_that_do_not_rise_are_seldom_called_degraded(slope, most):
    """Bounds at which a share of 1 percent, and of 8 percent, would fail one time in a thousand."""
    rng = np.random.default_rng(2)
    falling = slope * np.exp(-STEPS / 1500)
    named = [
        saturation(STEPS, falling + 0.02 * rng.standard_normal(80), rng.standard_normal(80), rng=rng, resamples=200)
        for _ in range(100)
    ]
    assert sum(one.degraded for one in named) <= most


def test_errors_are_those_of_the_scatter():
    rng = np.random.default_rng(3)
    found = [saturation(STEPS, *curves(rng, noise=0.05), rng=rng, resamples=100) for _ in range(20)]
    assert np.mean([one.rise_error for one in found]) == pytest.approx(0.05 * np.sqrt(2 / 5), rel=0.15)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"steps": STEPS[:10], "loss": STEPS[:10], "rank": STEPS[:10]}, "at least 4 windows of 5"),
        ({"loss": STEPS[:10]}, "loss: got shapes"),
        ({"steps": np.zeros(80)}, "do not ascend"),
        ({"rank": np.full(80, np.nan)}, "rank: got values that are not finite"),
        ({"window": 1}, "window: got 1"),
        ({"resamples": 9}, "resamples: got 9"),
        ({"level": 1}, "level: got 1"),
    ],
)
def test_what_is_refused(change, sentence):
    given = {"steps": STEPS, "loss": STEPS, "rank": STEPS, "rng": np.random.default_rng(0)} | change
    with pytest.raises(ValueError, match=sentence):
        saturation(**given)
