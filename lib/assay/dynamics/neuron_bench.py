"""One neuron on the bench: does it filter as its formula says, and what do its spikes do to that?

The reset-free membrane is linear, so a tone comes out with exactly the gain of :func:`assay.dynamics.lif_response`.
With a soft reset the neuron is an error-feedback quantiser. With g the input's factor and e[t] = threshold s[t] -
v[t] the error of the step,

    threshold s[t] = g I[t] + e[t] - beta e[t-1]

holds exactly (derived here; substitute u = -e in the recurrence): the spikes carry the current itself plus the error
shaped by the high-pass 1 - beta z^-1. The low-pass is in the membrane; what of it reaches the spikes comes through
the correlation of the error with the current.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike, NDArray

from assay.dynamics.low_pass import lif_response
from assay.kernels import lif

Array = NDArray[np.float64]

_RESETS = ("none", "subtract", "zero")
_LONGEST_SETTLING = 2**17


@dataclass(frozen=True, eq=False)
class ToneResponse:
    """Power gains of one neuron on M tones, each measured alone.

    Attributes:
        omega: (M,) rad/sample. analytic: (M,) Htilde.
        membrane: (M,) measured gain of the potential before reset, normalised to 1 at DC.
        spikes: (M,) measured gain of threshold times spikes over the current, in the same unit.
        rate: (M,) spikes per step.
    """

    omega: Array
    analytic: Array
    membrane: Array
    spikes: Array
    rate: Array

    @property
    def spike_deviation_db(self) -> Array:
        """(M,) spikes' over analytic gain, dB, both relative to the first tone; ``nan`` if that has no spikes."""
        if self.spikes[0] == 0:
            return np.full(len(self.omega), np.nan)
        with np.errstate(divide="ignore"):
            return 10 * np.log10(self.spikes / self.spikes[0]) - 10 * np.log10(self.analytic / self.analytic[0])


def tone_response(
    omega: ArrayLike,
    beta: float,
    *,
    amplitude: float = 0.5,
    bias: float = 0.0,
    threshold: float = 1.0,
    reset: str = "none",
    samples: int = 1024,
) -> ToneResponse:
    """Drive a neuron with bias + amplitude cos(omega t), let it settle, and fit the tone in its membrane and its
    spikes.

    The current is multiplied by 1 - beta. Settling lasts until beta^t is below 1e-12.

    Args:
        omega: (M,) in (0, pi] rad/sample.
        beta: membrane decay in [0, 1).
        amplitude: of the tone, above 0. bias: constant current.
        threshold: above 0. reset: ``none``, ``subtract`` or ``zero``.
        samples: steps that the fit sees, at least 64.

    Raises:
        ValueError: an argument out of range, or a decay so near 1 that settling takes more than 131,072 steps.
    """
    omega = np.atleast_1d(np.asarray(omega, dtype=np.float64))
    if omega.ndim != 1 or not np.all((omega > 0) & (omega <= np.pi * (1 + 1e-12))):
        raise ValueError("omega must be a list of frequencies above 0 and at most pi rad/sample.")
    if not (np.isfinite(amplitude) and amplitude > 0):
        raise ValueError(f"amplitude must be finite and above 0; got {amplitude:g}.")
    if isinstance(samples, bool) or samples < 64:
        raise ValueError(f"samples must be at least 64 steps; got {samples}.")
    analytic = lif_response(omega, beta)
    settle = _settling_steps(beta)
    t = np.arange(settle + samples)[:, None]
    neuron = _simulate(bias + amplitude * np.cos(omega * t), beta, threshold=threshold, reset=reset, scale_input=True)
    phase = omega * t[settle:]
    basis = np.stack([np.cos(phase), np.sin(phase), np.ones_like(phase)]).transpose(2, 1, 0)
    fit = np.linalg.pinv(basis, rcond=1e-9)  # at omega = pi the sine is rounding alone and must not be fitted
    gains = [
        np.square(np.einsum("mct,tm->mc", fit, signal[settle:])[:, :2]).sum(axis=1) / amplitude**2
        for signal in (neuron.potential, threshold * neuron.spikes)
    ]
    return ToneResponse(omega, analytic, gains[0], gains[1], neuron.spikes[settle:].mean(axis=0))


def firing_rate(
    current: ArrayLike,
    beta: float,
    *,
    threshold: float = 1.0,
    reset: str = "subtract",
    scale_input: bool = True,
    steps: int = 4096,
) -> Array:
    """Spikes per step under constant currents, after settling.

    With input scaled by 1 - beta the potential tends to the current itself: nothing fires up to the threshold.
    Without scaling and with beta near 1 the rate of a soft-reset neuron is the current over the threshold.

    Args:
        current: (M,), finite.
        beta, threshold, reset: as in :func:`tone_response`.
        scale_input: multiply the current by 1 - beta.
        steps: counted, at least 1; the rate is resolved to 1 / steps.

    Returns:
        (M,) in [0, 1].

    Raises:
        ValueError: an argument out of range.
    """
    if isinstance(steps, bool) or steps < 1:
        raise ValueError(f"steps must be at least 1; got {steps}.")
    current = np.atleast_1d(np.asarray(current, dtype=np.float64))
    settle = _settling_steps(beta)
    held = np.broadcast_to(current, (settle + steps, *current.shape))
    neuron = _simulate(held, beta, threshold=threshold, reset=reset, scale_input=scale_input)
    return neuron.spikes[settle:].mean(axis=0)


@dataclass(frozen=True, eq=False)
class NeuronSpectra:
    """Power spectral densities of one neuron's signals, M frequencies, unit squared per rad/sample, means removed.

    Attributes:
        omega: (M,) rad/sample. analytic: (M,) Htilde.
        current, membrane: (M,) of g I / (1 - beta) and of the potential before reset.
        spikes: (M,) of threshold times spikes.
        error: (M,) of e = threshold s - v. shaped_error: (M,) of e[t] - beta e[t-1], what a soft reset adds to the
            current in the spikes; none for other resets.
        transfer: (M,) power gain from current to spikes by cross-spectrum, |S_sI / S_II|^2. coherence: (M,) share of
            the spikes' power that is linear in the current, in [0, 1].
        rate: spikes per step.
    """

    omega: Array
    analytic: Array
    current: Array
    membrane: Array
    spikes: Array
    error: Array
    shaped_error: Array | None
    transfer: Array
    coherence: Array
    rate: float


def neuron_spectra(
    current: ArrayLike,
    beta: float,
    *,
    threshold: float = 1.0,
    reset: str = "subtract",
    segment: int = 256,
) -> NeuronSpectra:
    """Welch spectra of a neuron's current, membrane, spikes and quantisation error.

    The current is multiplied by 1 - beta, so that current and membrane have equal density at DC. Half-overlapping
    Hann segments.

    Args:
        current: (T,), finite, T at least 4 segments.
        beta, threshold, reset: as in :func:`tone_response`.
        segment: steps a segment, at least 16.

    Raises:
        ValueError: an argument out of range.
    """
    current = np.asarray(current, dtype=np.float64)
    if isinstance(segment, bool) or segment < 16:
        raise ValueError(f"segment must be at least 16 steps; got {segment}.")
    if current.ndim != 1 or len(current) < 4 * segment:
        raise ValueError(f"current must be one signal of at least {4 * segment} steps; got shape {current.shape}.")
    neuron = _simulate(current[:, None], beta, threshold=threshold, reset=reset, scale_input=True)
    potential, spikes = neuron.potential[:, 0], threshold * neuron.spikes[:, 0]
    error = spikes - potential
    shaped = error - beta * np.r_[0.0, error[:-1]] if reset == "subtract" else None

    omega, lines = _welch_lines(
        np.stack([current, potential, spikes, error, error if shaped is None else shaped]), segment
    )
    into, membrane, out, noise, shaped_noise = (np.abs(lines) ** 2).mean(axis=1)
    power = np.abs((lines[2] * lines[0].conj()).mean(axis=0)) ** 2
    return NeuronSpectra(
        omega=omega,
        analytic=lif_response(omega, beta),
        current=into,
        membrane=membrane,
        spikes=out,
        error=noise,
        shaped_error=None if shaped is None else shaped_noise,
        transfer=_ratio(power, into**2),
        coherence=np.minimum(_ratio(power, into * out), 1.0),
        rate=float(neuron.spikes.mean()),
    )


def _welch_lines(signals: Array, segment: int) -> tuple[Array, NDArray[np.complexfloating[Any]]]:
    """Frequencies (M,), and lines (signals, segments, M) whose mean square over segments is the density."""
    pieces = sliding_window_view(signals, segment, axis=1)[:, :: segment // 2]
    taper = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(segment) / segment)
    lines = np.fft.rfft((pieces - pieces.mean(axis=2, keepdims=True)) * taper, axis=2)
    sides = np.full(lines.shape[2], 2.0)
    sides[0] = 1.0
    if segment % 2 == 0:
        sides[-1] = 1.0
    omega = 2 * np.pi * np.arange(lines.shape[2]) / segment
    return omega, lines * np.sqrt(sides / (2 * np.pi * np.square(taper).sum()))


@dataclass(frozen=True, eq=False)
class _Trajectory:
    """Spikes and potential before reset, each (T, M)."""

    spikes: Array
    potential: Array


def _simulate(current: Array, beta: float, *, threshold: float, reset: str, scale_input: bool) -> _Trajectory:
    if not 0 <= beta < 1:
        raise ValueError(f"beta must lie in [0, 1); got {beta:g}.")
    if not (np.isfinite(threshold) and threshold > 0):
        raise ValueError(f"threshold must be finite and above 0; got {threshold:g}.")
    if reset not in _RESETS:
        raise ValueError(f"reset must be one of {', '.join(_RESETS)}; got {reset!r}.")
    if not np.all(np.isfinite(current)):
        raise ValueError("current must be finite; it holds NaN or infinity.")
    x = torch.from_numpy(np.ascontiguousarray(current))
    spikes, membrane = lif(x, beta, scale_input=scale_input, threshold=threshold, reset=reset)
    after = membrane.numpy()
    charged = beta * np.concatenate([np.zeros_like(after[:1]), after[:-1]])
    return _Trajectory(spikes.numpy(), charged + (1 - beta if scale_input else 1.0) * current)


def _settling_steps(beta: float) -> int:
    if not 0 <= beta < 1:
        raise ValueError(f"beta must lie in [0, 1); got {beta:g}.")
    steps = int(np.ceil(np.log(1e-12) / np.log(beta))) if beta > 0 else 1
    if steps > _LONGEST_SETTLING:
        raise ValueError(
            f"beta must be at most {1e-12 ** (1 / _LONGEST_SETTLING):.6f} for the neuron to settle; got {beta:g}."
        )
    return steps


def _ratio(numerator: Array, denominator: Array) -> Array:
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)
