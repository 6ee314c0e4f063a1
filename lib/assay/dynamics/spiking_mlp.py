"""A small fully connected spiking network over frames, and the same network with the spikes taken out."""

import torch
from torch import Tensor, nn

from assay.dynamics.lif_layer import DEFAULT_NEURON, LIFLayer, NeuronOptions
from assay.dynamics.seeded_layers import linear
from assay.dynamics.sequence_classifier import SequenceClassifier
from assay.kernels import lif


class SpikingMLP(SequenceClassifier):
    """F -> 128 LIF -> 64 LIF -> mean over time -> K, one LIF step a sensor frame.

    The shape of the toolkit's SpikingMLP (linear, LIF, linear, LIF, linear on the time mean) with two widths.

    Args:
        features: values a frame, F. classes: K.
        beta: membrane decay of both layers.
        generator: source of the first weights.
        widths: neurons of the two layers.
        repeats: LIF steps a frame; above 1 each frame is held for so many steps, which shrinks every frequency of the
            sensor by that factor and lets a constant through in between.
        neuron: further options of :class:`LIFLayer` (threshold, reset, scale_input, current_gain, surrogate, alpha,
            detach_reset).
    """

    spike_fed = frozenset({"hidden"})
    input_fed = frozenset({"encoder"})

    def __init__(
        self,
        features: int,
        classes: int,
        *,
        beta: float = 0.5,
        generator: torch.Generator,
        widths: tuple[int, int] = (128, 64),
        repeats: int = 1,
        neuron: NeuronOptions = DEFAULT_NEURON,
    ) -> None:
        super().__init__()
        if isinstance(repeats, bool) or repeats < 1:
            raise ValueError(f"repeats must be at least 1 step a frame; got {repeats}.")
        self.repeats = repeats
        self.encoder = linear(features, widths[0], generator)
        self.lif1 = LIFLayer(beta, neuron)
        self.hidden = linear(widths[0], widths[1], generator)
        self.lif2 = LIFLayer(beta, neuron)
        self.head = linear(widths[1], classes, generator)

    def forward(self, x: Tensor) -> Tensor:
        current = self.encoder(x.transpose(0, 1))
        if self.repeats > 1:
            current = current.repeat_interleave(self.repeats, dim=0)
        spikes = self.lif2(self.hidden(self.lif1(current)))
        return self.head(spikes.mean(dim=0))


class LeakyMLP(SequenceClassifier):
    """The SpikingMLP with spikes and resets taken out: each neuron passes max(0, membrane), the membrane being the
    same filter.

    What it has in common with the SpikingMLP is the low-pass; what it lacks is the spike. Arguments as there.
    """

    input_fed = frozenset({"encoder"})

    def __init__(
        self,
        features: int,
        classes: int,
        *,
        beta: float = 0.5,
        generator: torch.Generator,
        widths: tuple[int, int] = (128, 64),
    ) -> None:
        super().__init__()
        if not 0 <= beta < 1:
            raise ValueError(f"beta must lie in [0, 1); got {beta:g}.")
        self.encoder = linear(features, widths[0], generator)
        self.membrane1 = LeakyMembrane(beta)
        self.act1 = nn.ReLU()
        self.hidden = linear(widths[0], widths[1], generator)
        self.membrane2 = LeakyMembrane(beta)
        self.act2 = nn.ReLU()
        self.head = linear(widths[1], classes, generator)

    def forward(self, x: Tensor) -> Tensor:
        h = self.act1(self.membrane1(self.encoder(x.transpose(0, 1))))
        h = self.act2(self.membrane2(self.hidden(h)))
        return self.head(h.mean(dim=0))


class LeakyMembrane(nn.Module):
    """The reset-free membrane u[t] = beta u[t-1] + (1 - beta) I[t] over currents (T, ...)."""

    beta: Tensor

    def __init__(self, beta: float) -> None:
        super().__init__()
        self.register_buffer("beta", torch.tensor(float(beta)))

    def forward(self, current: Tensor) -> Tensor:
        """Membrane potential of the shape and dtype of ``current``."""
        return lif(current, self.beta, scale_input=True, reset="none")[1]
