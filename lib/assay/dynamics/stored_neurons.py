"""The membrane decays that a stored network already has, layer by layer, whatever its community calls them.

Read from the names of a state dict's entries:

- ``beta``: the decay itself, clamped to [0, 1] as snnTorch does in use (snnTorch ``Leaky``; our own
  :class:`LIFLayer`); an entry beside ``gamma`` or ``weight`` is a normalisation's and no neuron's.
- ``tau``: 1 / (1 - beta) in steps where all values are at least 1 (SpikingJelly, Soul), seconds where all are below 1
  (NIR).
- ``tau_mem``: steps with beta = exp(-1 / tau) where all values are at least 1 (sinabs), seconds where all are below 1
  (Rockpool).
- ``tau_mem_inv``: 1 / s with beta = 1 - tau_mem_inv / fs (norse's Euler step).
- ``w`` alone in its layer and scalar: beta = 1 - sigmoid(w) (parametric LIF of SpikingJelly and Soul).

A SpikingJelly or Soul ``LIFNode`` keeps a fixed tau as a plain attribute that a state dict does not hold.
"""

import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from assay.dynamics.low_pass import lif_cutoff

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StoredNeuron:
    """Decays of one layer.

    Attributes:
        layer: name of the layer. entry: name of the entry they were read from. convention: how it was understood.
        beta: (n,) decays in [0, 1], n = 1 where the layer shares one.
        cutoff: (n,) half-power frequency, rad/sample; 0 for a decay of 1, ``nan`` where there is none (beta below
            0.1716).
        cutoff_hz: (n,) the same in Hz, or none without a step rate.
    """

    layer: str
    entry: str
    convention: str
    beta: Array
    cutoff: Array
    cutoff_hz: Array | None


def find_stored_neurons(state: Mapping[str, Any], *, fs: float | None = None) -> tuple[StoredNeuron, ...]:
    """Find the decays in a state dict.

    Args:
        state: names to tensors, arrays, numbers or nested mappings; other values are passed over.
        fs: network steps per second, Hz; needed for time constants in seconds.

    Returns:
        one entry a layer, in the order of the state dict.

    Raises:
        ValueError: no decay found, a time constant in seconds without ``fs``, or a value that its convention does not
            allow.
    """
    if fs is not None and not (np.isfinite(fs) and fs > 0):
        raise ValueError(f"fs must be above 0 Hz; got {fs:g}.")
    entries = dict(_flatten(state, ""))
    layers: dict[str, set[str]] = {}
    for name in entries:
        layer, _, entry = name.rpartition(".")
        layers.setdefault(layer, set()).add(entry)
    found = []
    for name, value in entries.items():
        layer, _, entry = name.rpartition(".")
        if entry not in _CONVENTIONS or not _is_neuron(entry, value, layers[layer]):
            continue
        if not np.all(np.isfinite(value)):
            raise ValueError(f"{name} must be finite; it holds NaN or infinity.")
        convention, beta = _CONVENTIONS[entry](name, value, fs)
        beta = np.clip(beta, 0.0, 1.0)
        leaky = np.minimum(beta, np.nextafter(1.0, 0.0))
        cutoff = np.where(beta < 1, lif_cutoff(leaky), 0.0)
        hertz = None if fs is None else cutoff * fs / (2 * np.pi)
        found.append(StoredNeuron(layer, entry, convention, beta, cutoff, hertz))
    if not found:
        raise ValueError(
            f"state must hold a membrane decay named {', '.join(_CONVENTIONS)}; none of its {len(entries)} entries is "
            "one (a SpikingJelly or Soul LIFNode does not store its tau)."
        )
    return tuple(found)


def read_stored_neurons(
    path: str | os.PathLike[str], *, fs: float | None = None, max_bytes: int = 2**31
) -> tuple[StoredNeuron, ...]:
    """Find the decays in a ``.pt`` file of tensors, without executing anything in it.

    Args:
        path: a file written by ``torch.save(model.state_dict(), path)``, nested or not.
        fs: network steps per second, Hz.
        max_bytes: largest file that is opened.

    Raises:
        ValueError: no such file, too large, not a torch file, one that holds pickled objects, or as in
            :func:`find_stored_neurons`.
    """
    name = os.path.basename(os.fspath(path))
    if not os.path.isfile(path):
        raise ValueError(f"path must name a file; {name} is none.")
    size = os.path.getsize(path)
    if size > max_bytes:
        raise ValueError(f"path must name a file of at most {max_bytes} bytes; {name} has {size}.")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise ValueError(
            f"path must hold tensors only; {name} holds other objects (save model.state_dict())."
        ) from None
    except (RuntimeError, EOFError, ValueError, KeyError, OSError):
        raise ValueError(f"path must be a file of torch.save; {name} cannot be read as one.") from None
    if not isinstance(state, Mapping):
        raise ValueError(f"path must hold a state dict; {name} holds {type(state).__name__}.")
    return find_stored_neurons(state, fs=fs)


def _flatten(state: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Array]]:
    for key, value in state.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{name}.")
        elif isinstance(value, torch.Tensor) and not value.is_complex() and not value.is_quantized:
            yield name, value.detach().to("cpu", torch.float64).reshape(-1).numpy()
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            yield name, value.astype(np.float64).reshape(-1)
        elif isinstance(value, float | int) and not isinstance(value, bool):
            yield name, np.array([float(value)])


def _is_neuron(entry: str, value: Array, siblings: set[str]) -> bool:
    if value.size == 0:
        return False
    if entry == "beta":
        return not siblings & {"gamma", "weight"}
    if entry == "w":
        return value.size == 1 and siblings <= {"w", "v", "v_threshold", "v_reset"}
    return True


def _rate(name: str, fs: float | None) -> float:
    if fs is None:
        raise ValueError(f"fs must be given in Hz to read {name}, which is in seconds; got none.")
    return fs


def _beta(name: str, value: Array, fs: float | None) -> tuple[str, Array]:
    return "decay per step", value


def _in_steps(name: str, value: Array) -> bool:
    """Whether time constants are in steps (all at least 1) or in seconds (all above 0 and below 1)."""
    if np.all(value >= 1):
        return True
    if np.all((value > 0) & (value < 1)):
        return False
    raise ValueError(
        f"{name} must be all steps (at least 1) or all seconds (above 0 and below 1); "
        f"got {value.min():g} to {value.max():g}."
    )


def _tau(name: str, value: Array, fs: float | None) -> tuple[str, Array]:
    if _in_steps(name, value):
        return "time constant in steps, beta = 1 - 1/tau", 1 - 1 / value
    return "time constant in seconds, beta = exp(-1/(fs tau))", np.exp(-1 / (_rate(name, fs) * value))


def _tau_mem(name: str, value: Array, fs: float | None) -> tuple[str, Array]:
    if _in_steps(name, value):
        return "time constant in steps, beta = exp(-1/tau)", np.exp(-1 / value)
    return "time constant in seconds, beta = exp(-1/(fs tau))", np.exp(-1 / (_rate(name, fs) * value))


def _tau_mem_inv(name: str, value: Array, fs: float | None) -> tuple[str, Array]:
    beta = 1 - value / _rate(name, fs)
    if np.any(beta < 0) or np.any(beta > 1):
        raise ValueError(f"{name} must lie between 0 and fs; got {value.min():g} to {value.max():g} with fs {fs:g}.")
    return "inverse time constant in 1/s, beta = 1 - tau_inv/fs", beta


def _parametric(name: str, value: Array, fs: float | None) -> tuple[str, Array]:
    return "parametric LIF, beta = 1 - sigmoid(w)", 1 / (1 + np.exp(np.clip(value, -700, 700)))


_CONVENTIONS: dict[str, Callable[[str, Array, float | None], tuple[str, Array]]] = {
    "beta": _beta,
    "tau": _tau,
    "tau_mem": _tau_mem,
    "tau_mem_inv": _tau_mem_inv,
    "w": _parametric,
}
