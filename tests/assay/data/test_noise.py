"""Added noise has the power and the frequencies that were asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data import InputError, add_noise, labelled_sequences


def some(length=64, samples=400, features=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(samples, length, features)) * np.array([1.0, 5.0, 0.0])[:features]
    return labelled_sequences(X, np.arange(samples) % 2, 30.0, group=np.arange(samples) % 10)


@settings(max_examples=10, deadline=None)
@given(snr=st.floats(-20, 20), corner=st.floats(1.0, 14.0), length=st.sampled_from([63, 64]))
def test_the_noise_has_the_power_that_was_asked_for_and_lies_above_its_corner(snr, corner, length):
    clean = some(length)
    noise = add_noise(clean, np.random.default_rng(1), snr_db=snr, corner_hz=corner).X - clean.X
    measured = clean.X.var(axis=(0, 1))[:2] / noise.var(axis=(0, 1))[:2]
    np.testing.assert_allclose(10 * np.log10(measured), snr, atol=0.3)
    assert not noise[:, :, 2].any()
    power = (np.abs(np.fft.rfft(noise[:, :, 0], axis=1)) ** 2).mean(axis=0)
    frequencies = np.fft.rfftfreq(length, 1 / 30.0)
    gain = (frequencies / corner) ** 8 / (1 + (frequencies / corner) ** 8)
    inside = slice(1, -1)
    expected = gain[inside] / gain[inside].sum()
    np.testing.assert_allclose(power[inside] / power[inside].sum(), expected, atol=0.25 * expected.max())


def test_the_same_stream_gives_the_same_noise():
    one = add_noise(some(), np.random.default_rng(2), snr_db=0, corner_hz=5)
    two = add_noise(some(), np.random.default_rng(2), snr_db=0, corner_hz=5)
    assert one.fingerprint == two.fingerprint != some().fingerprint


@pytest.mark.parametrize(
    ("snr", "corner", "field"), [(np.nan, 5, "snr_db"), (200, 5, "snr_db"), (0, 0, "corner_hz"), (0, 15, "corner_hz")]
)
def test_bad_arguments_are_named(snr, corner, field):
    with pytest.raises(InputError, match=f"^{field}: got"):
        add_noise(some(), np.random.default_rng(0), snr_db=snr, corner_hz=corner)
