"""A layer of leaky integrate-and-fire neurons as a module."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from assay.kernels import lif

Reset = Literal["subtract", "zero", "none"]


@dataclass(frozen=True)
class NeuronOptions:
    """Everything about a LIF neuron but its decay.

    Attributes:
        threshold: firing threshold, above 0.
        reset: ``subtract`` (soft), ``zero`` (hard) or ``none``.
        scale_input: multiply the current by 1 - beta, so that the membrane's gain at DC is 1.
        current_gain: factor on the current, see :func:`assay.dynamics.noise_matched_gain`; 1 is the paper's.
        surrogate, alpha: derivative of the step in the backward pass, see :func:`assay.kernels.lif`.
        detach_reset: leave the reset out of the gradient.

    Raises:
        ValueError: ``current_gain`` not finite or not above 0. The kernel checks the rest.
    """

    threshold: float = 1.0
    reset: Reset = "subtract"
    scale_input: bool = True
    current_gain: float = 1.0
    surrogate: str = "atan"
    alpha: float | None = None
    detach_reset: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.current_gain < float("inf"):
            raise ValueError(f"current_gain must be finite and above 0; got {self.current_gain:g}.")


DEFAULT_NEURON = NeuronOptions()


class LIFLayer(nn.Module):
    """Currents (T, ...) in, spikes (T, ...) out; the state starts at rest in each call.

    v[t] = beta u[t-1] + (1 - beta) g I[t];  s[t] = [v[t] >= threshold];  u[t] is v[t] after the reset.

    Args:
        beta: membrane decay in [0, 1).
        options: of the neuron.

    Raises:
        ValueError: ``beta`` outside [0, 1).
    """

    beta: Tensor

    def __init__(self, beta: float, options: NeuronOptions = DEFAULT_NEURON) -> None:
        super().__init__()
        if not 0 <= beta < 1:
            raise ValueError(f"beta must lie in [0, 1); got {beta:g}.")
        self.register_buffer("beta", torch.tensor(float(beta)))
        self.options = options

    def forward(self, current: Tensor) -> Tensor:
        """Spikes of the shape and dtype of ``current`` (T, ...)."""
        options = self.options
        if options.current_gain != 1:
            current = current * options.current_gain
        return lif(
            current,
            self.beta,
            scale_input=options.scale_input,
            threshold=options.threshold,
            reset=options.reset,
            detach_reset=options.detach_reset,
            surrogate=options.surrogate,
            alpha=options.alpha,
            return_membrane=False,
        )

    def extra_repr(self) -> str:
        return f"beta={float(self.beta):g}, {self.options}"
