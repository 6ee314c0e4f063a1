"""Conversions between the four ways to state a membrane decay."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.dynamics import CONVENTIONS, convert_decay, lif_cutoff


@given(st.floats(0.18, 0.9999), st.floats(1.0, 1000.0), st.sampled_from(CONVENTIONS), st.sampled_from(CONVENTIONS))
def test_there_and_back(beta, fs, one, other):
    first = convert_decay(beta, "beta", one, fs=fs)
    second = convert_decay(first, one, other, fs=fs)
    assert np.isclose(convert_decay(second, other, "beta", fs=fs), beta, rtol=1e-9)


def test_known_values():
    assert convert_decay(2.0, "tau_steps", "beta") == 0.5
    assert convert_decay(0.5, "beta", "tau_steps") == 2.0
    assert convert_decay(0.0, "beta", "tau_steps") == 1.0
    assert convert_decay(0.0, "beta", "tau_seconds", fs=30.0) == 0.0
    assert convert_decay(0.0, "tau_seconds", "beta", fs=30.0) == 0.0
    # snnTorch: beta = exp(-dt / tau); a step of 1 ms and 10 ms of tau.
    assert np.isclose(convert_decay(0.010, "tau_seconds", "beta", fs=1000.0), np.exp(-0.1))
    assert np.isclose(convert_decay(0.5, "beta", "cutoff_hz", fs=30.0), lif_cutoff(0.5, fs=30.0))
    assert np.isnan(convert_decay(0.1, "beta", "cutoff_hz", fs=30.0))


@given(st.floats(1.01, 1e4))
def test_the_two_time_constants_differ_at_the_same_number(tau):
    euler = convert_decay(tau, "tau_steps", "beta")
    exact = convert_decay(tau, "tau_seconds", "beta", fs=1.0)
    assert euler < exact < euler + 1 / tau**2


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((0.5, "beta", "tau"), "target must be one of beta, tau_steps, tau_seconds, cutoff_hz; got 'tau'"),
        ((0.5, "alpha", "beta"), "source must be one of"),
        ((0.5, "beta", "cutoff_hz"), "fs must be given in Hz"),
        ((1.0, "beta", "tau_steps"), r"beta must lie in \[0, 1\); got 1"),
        ((0.9, "tau_steps", "beta"), "tau_steps must be finite and at least 1"),
        ((1e20, "tau_steps", "beta"), "stays below 1"),
        ((np.nan, "tau_steps", "beta"), "tau_steps must"),
    ],
)
def test_bad_input_is_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        convert_decay(*arguments)


@pytest.mark.parametrize(
    ("value", "source", "fs", "named"),
    [
        (-1.0, "tau_seconds", 30.0, "tau_seconds must"),
        (20.0, "cutoff_hz", 30.0, "cutoff must"),
        (0.1, "tau_seconds", 0.0, "fs must be above 0 Hz; got 0"),
        (0.1, "tau_seconds", np.nan, "fs must be above 0 Hz; got nan"),
    ],
)
def test_bad_rates_and_values_are_named(value, source, fs, named):
    with pytest.raises(ValueError, match=named):
        convert_decay(value, source, "beta", fs=fs)
