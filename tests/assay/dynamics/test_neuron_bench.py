"""The bench neuron against its formula, against a plain loop, and against what a soft reset must obey exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import csd, lfilter, welch

from assay.dynamics import firing_rate, lif_response, neuron_spectra, tone_response

TONES = np.r_[np.geomspace(0.02, 3.0, 11), np.pi]


def loop(current, beta, threshold, reset, gain):
    """The recurrence of the method, one step at a time: spikes and potential before reset."""
    u, spikes, potential = 0.0, [], []
    for value in current:
        v = beta * u + gain * value
        s = float(v >= threshold)
        u = {"subtract": v - threshold * s, "zero": v * (1 - s), "none": v}[reset]
        spikes.append(s)
        potential.append(v)
    return np.array(spikes), np.array(potential)


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.17157, 0.5, 0.9, 0.97, 0.995])
def test_the_membrane_without_reset_has_the_analytic_gain(beta):
    response = tone_response(TONES, beta, bias=0.3)
    assert np.array_equal(response.analytic, lif_response(TONES, beta))
    assert np.abs(response.membrane - response.analytic).max() < 1e-9


@settings(max_examples=15)
@given(st.floats(0, 0.95), st.sampled_from(["subtract", "zero", "none"]), st.floats(0.5, 2.5), st.integers(0, 11))
def test_tone_gains_are_the_fit_of_the_plain_loop(beta, reset, threshold, k):
    omega, bias, amplitude, samples = TONES[k], 1.37, 0.61, 256
    response = tone_response(
        [omega], beta, bias=bias, amplitude=amplitude, threshold=threshold, reset=reset, samples=256
    )
    settle = int(np.ceil(np.log(1e-12) / np.log(beta))) if beta > 0 else 1
    t = np.arange(settle + samples)
    spikes, potential = loop(bias + amplitude * np.cos(omega * t), beta, threshold, reset, 1 - beta)
    phase = omega * t[settle:]
    basis = np.stack([np.cos(phase), np.sin(phase), np.ones(samples)], axis=1)
    for ours, signal in ((response.membrane, potential), (response.spikes, threshold * spikes)):
        fitted = np.linalg.lstsq(basis, signal[settle:], rcond=1e-9)[0]
        assert np.isclose(ours[0], (fitted[:2] ** 2).sum() / amplitude**2, rtol=1e-6, atol=1e-12)
    assert np.isclose(response.rate[0], spikes[settle:].mean())


def test_a_silent_neuron_has_no_spike_gain():
    response = tone_response([0.1, 1.0], 0.5, amplitude=0.2, reset="subtract")
    assert np.array_equal(response.rate, [0, 0])
    assert np.isnan(response.spike_deviation_db).all()


def test_spikes_do_not_carry_the_membranes_low_pass():
    response = tone_response(TONES[:-1], 0.9, bias=1.5, reset="subtract", samples=4096)
    # The membrane falls by over 20 dB over these tones; the spikes' gain stays within a few dB.
    assert response.analytic[-1] < 0.01 * response.analytic[0]
    assert response.spikes.min() > 0.25 * response.spikes[0]
    assert response.spike_deviation_db[0] == 0
    assert response.spike_deviation_db[-1] > 15


def test_hard_reset_rate_under_constant_current_is_one_over_the_period():
    beta, current = 0.9, np.array([1.05, 1.2, 1.7, 2.5, 4.0, 12.0])
    # I (1 - beta^n) reaches the threshold first after n steps.
    period = np.ceil(np.log(1 - 1 / current) / np.log(beta))
    assert np.allclose(firing_rate(current, beta, reset="zero", steps=2520), 1 / period, atol=1 / 2520)


def test_scaled_input_below_threshold_never_fires():
    assert np.array_equal(firing_rate([0.2, 0.7, 0.99], 0.8), [0, 0, 0])
    assert np.all(firing_rate([1.01, 1.5], 0.8) > 0)


def test_without_scaling_a_slow_soft_reset_neuron_counts_its_current():
    current = np.array([0.1, 0.35, 0.8, 1.0, 1.7])
    rate = firing_rate(current, 0.9995, scale_input=False, threshold=1.0, steps=8192)
    assert np.allclose(rate, np.minimum(current, 1.0), atol=2e-3)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(0, 0.98), st.floats(0.5, 2), st.floats(0.3, 1.5))
def test_soft_reset_is_error_feedback(seed, beta, threshold, bias):
    """threshold s = g I + (1 - beta z^-1) e, exactly, hence also in every spectral line."""
    rng = np.random.default_rng(seed)
    current = bias + rng.normal(size=512)
    spikes, potential = loop(current, beta, threshold, "subtract", 1 - beta)
    error = threshold * spikes - potential
    rebuilt = (1 - beta) * current + error - beta * np.r_[0, error[:-1]]
    assert np.allclose(threshold * spikes, rebuilt, atol=1e-12)
    spectra = neuron_spectra(current, beta, threshold=threshold, segment=64)
    shaped = threshold * spikes - (1 - beta) * current
    assert np.allclose(spectra.shaped_error, density(shaped, 64), rtol=1e-6, atol=1e-12)


def density(signal, segment):
    return welch(signal, fs=2 * np.pi, nperseg=segment)[1]


@pytest.mark.parametrize("reset", ["none", "subtract", "zero"])
@pytest.mark.parametrize("segment", [64, 75])
def test_spectra_are_welchs(reset, segment):
    current = 1.2 + 0.5 * np.random.default_rng(0).normal(size=4096)
    spikes, potential = loop(current, 0.8, 1.0, reset, 0.2)
    ours = neuron_spectra(current, 0.8, reset=reset, segment=segment)
    omega, crossed = csd(current, spikes, fs=2 * np.pi, nperseg=segment, noverlap=segment - segment // 2)

    def reference(signal):
        return welch(signal, fs=2 * np.pi, nperseg=segment, noverlap=segment - segment // 2)[1]

    assert np.allclose(ours.omega, omega)
    for name, signal in {
        "current": current,
        "membrane": potential,
        "spikes": spikes,
        "error": spikes - potential,
    }.items():
        assert np.allclose(getattr(ours, name), reference(signal), rtol=1e-6), name
    power, into, out = np.abs(crossed) ** 2, reference(current), reference(spikes)
    assert np.allclose(ours.transfer, power / into**2, rtol=1e-6)
    assert np.allclose(ours.coherence, power / (into * out), rtol=1e-6)
    assert (ours.shaped_error is None) == (reset != "subtract")
    assert np.isclose(ours.rate, spikes.mean())


def test_membrane_density_without_reset_is_the_filtered_currents():
    rng = np.random.default_rng(1)
    current = rng.normal(size=1 << 16)
    spectra = neuron_spectra(current, 0.7, reset="none", threshold=1e9)
    assert spectra.rate == 0
    assert np.array_equal(spectra.transfer, np.zeros(129))
    assert np.array_equal(spectra.coherence, np.zeros(129))
    membrane = lfilter([0.3], [1, -0.7], current)
    assert np.allclose(spectra.membrane, density(membrane, 256), rtol=1e-9)
    inner = slice(2, -1)
    assert np.allclose((spectra.membrane / spectra.current)[inner], spectra.analytic[inner], rtol=0.05)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: tone_response([0.0], 0.5), "omega must"),
        (lambda: tone_response([4.0], 0.5), "omega must"),
        (lambda: tone_response([1.0], 1.0), "beta must"),
        (lambda: tone_response([1.0], 0.99999), "beta must be at most 0.9997"),
        (lambda: tone_response([1.0], 0.5, amplitude=0), "amplitude must"),
        (lambda: tone_response([1.0], 0.5, bias=np.nan), "current must be finite"),
        (lambda: tone_response([1.0], 0.5, threshold=0), "threshold must"),
        (lambda: tone_response([1.0], 0.5, reset="soft"), "reset must be one of none, subtract, zero; got 'soft'"),
        (lambda: tone_response([1.0], 0.5, samples=10), "samples must"),
        (lambda: firing_rate([1.0], 0.5, steps=0), "steps must"),
        (lambda: firing_rate([1.0], -0.5), "beta must"),
        (lambda: neuron_spectra(np.ones(100), 0.5), "current must be one signal of at least 1024 steps"),
        (lambda: neuron_spectra(np.ones(4096), 0.5, segment=8), "segment must"),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
