"""Baselines without spikes that see the same time-resolved input, the simple strong ones included.

Each takes raw sequences (N, L, F) through ``prepare`` and scores (B, K) through ``forward``. The frame network is
that of the SpikingMLP with rectified units: F -> 128 -> 64 -> mean over time -> K.
"""

import numpy as np
import torch
from torch import Tensor, nn

from assay.dynamics.seeded_layers import conv1d, gru, linear
from assay.dynamics.sequence_classifier import SequenceClassifier


class FrameANN(SequenceClassifier):
    """A rectified network on each frame, averaged over time before the last layer; blind to the order of frames."""

    input_fed = frozenset({"encoder"})

    def __init__(
        self, features: int, classes: int, *, generator: torch.Generator, widths: tuple[int, int] = (128, 64)
    ) -> None:
        super().__init__()
        self.encoder = linear(features, widths[0], generator)
        self.act1 = nn.ReLU()
        self.hidden = linear(widths[0], widths[1], generator)
        self.act2 = nn.ReLU()
        self.head = linear(widths[1], classes, generator)

    def forward(self, x: Tensor) -> Tensor:
        h = self.act1(self.encoder(x.transpose(0, 1)))
        h = self.act2(self.hidden(h))
        return self.head(h.mean(dim=0))


class TimeMeanANN(FrameANN):
    """The same network on the time mean of the window alone, as the toolkit feeds its baselines."""

    def prepare(self, X: Tensor) -> Tensor:
        return X.mean(dim=1, keepdim=True)


class StaticANN(FrameANN):
    """The same network on the temporal median of each feature: what stands still in the window, clutter above all.

    How far it gets says how much of the class can be read off the scene instead of the movement.
    """

    def prepare(self, X: Tensor) -> Tensor:
        return torch.quantile(X, 0.5, dim=1, keepdim=True)


class EMAANN(FrameANN):
    """The frame network behind an exponential moving average of the input: the membrane's filter without its spikes.

    Args:
        beta: decay in [0, 1); y[t] = beta y[t-1] + (1 - beta) x[t] from rest. Others as in :class:`FrameANN`.
    """

    filter_macs = 2.0
    filter_state_words = 2.0

    def __init__(
        self,
        features: int,
        classes: int,
        *,
        beta: float,
        generator: torch.Generator,
        widths: tuple[int, int] = (128, 64),
    ) -> None:
        super().__init__(features, classes, generator=generator, widths=widths)
        if not 0 <= beta < 1:
            raise ValueError(f"beta must lie in [0, 1); got {beta:g}.")
        self.beta = float(beta)

    def prepare(self, X: Tensor) -> Tensor:
        from scipy.signal import lfilter  # a second to import, and few processes filter

        averaged = lfilter([1 - self.beta], [1, -self.beta], X.numpy(), axis=1)
        return torch.from_numpy(np.asarray(averaged, dtype=np.float32))


class ButterworthANN(FrameANN):
    """The frame network behind a causal Butterworth low-pass: the hard truncation that the paper compares with.

    Args:
        cutoff: half-power frequency in rad/sample, in (0, pi); match a membrane with
            :func:`assay.dynamics.lif_cutoff`.
        order: of the filter, at least 1. Others as in :class:`FrameANN`.
    """

    def __init__(
        self,
        features: int,
        classes: int,
        *,
        cutoff: float,
        order: int = 4,
        generator: torch.Generator,
        widths: tuple[int, int] = (128, 64),
    ) -> None:
        super().__init__(features, classes, generator=generator, widths=widths)
        if not 0 < cutoff < np.pi:
            raise ValueError(f"cutoff must lie between 0 and pi rad/sample; got {cutoff:g}.")
        if isinstance(order, bool) or order < 1:
            raise ValueError(f"order must be at least 1; got {order}.")
        from scipy.signal import butter

        self.sections = np.asarray(butter(order, cutoff / np.pi, output="sos"))
        self.filter_macs = 5.0 * len(self.sections)
        self.filter_state_words = 4.0 * len(self.sections)

    def prepare(self, X: Tensor) -> Tensor:
        from scipy.signal import sosfilt

        return torch.from_numpy(np.asarray(sosfilt(self.sections, X.numpy(), axis=1), dtype=np.float32))


class SpectralLinear(SequenceClassifier):
    """One linear layer on the one-sided DFT magnitudes of every feature: the simple strong baseline.

    Args:
        length: frames a window, L. features, classes: F, K.
        cutoff: highest frequency kept, rad/sample; pi keeps all, less makes it a low-pass and a linear layer.
        generator: source of the first weights.
    """

    input_fed = frozenset({"head"})

    def __init__(
        self, length: int, features: int, classes: int, *, cutoff: float = np.pi, generator: torch.Generator
    ) -> None:
        super().__init__()
        if not 0 <= cutoff <= np.pi:
            raise ValueError(f"cutoff must lie between 0 and pi rad/sample; got {cutoff:g}.")
        self.bins = int(np.floor(cutoff * length / (2 * np.pi) * (1 + 1e-12))) + 1
        # Radix-2 count of a real transform, 2.5 log2(L) operations a sample, taken as multiply-accumulates.
        self.filter_macs = 2.5 * float(np.log2(length))
        self.head = linear(self.bins * features, classes, generator)

    def prepare(self, X: Tensor) -> Tensor:
        return torch.fft.rfft(X, dim=1)[:, : self.bins].abs().flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x)


class GRUClassifier(SequenceClassifier):
    """A gated recurrent layer over frames, averaged over time before the last layer."""

    input_fed = frozenset({"recurrent"})

    def __init__(self, features: int, classes: int, *, generator: torch.Generator, hidden: int = 64) -> None:
        super().__init__()
        self.recurrent = gru(features, hidden, generator)
        self.head = linear(hidden, classes, generator)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.recurrent(x.transpose(0, 1))[0].mean(dim=0))


class TemporalCNN(SequenceClassifier):
    """Two convolutions over time (F -> 64 -> 128, kernel 5), pooling by 2 between, mean over time, linear."""

    input_fed = frozenset({"conv1"})

    def __init__(
        self, features: int, classes: int, *, generator: torch.Generator, widths: tuple[int, int] = (64, 128)
    ) -> None:
        super().__init__()
        self.conv1 = conv1d(features, widths[0], 5, generator, padding=2)
        self.act1 = nn.ReLU()
        self.pool = nn.MaxPool1d(2)
        self.conv2 = conv1d(widths[0], widths[1], 5, generator, padding=2)
        self.act2 = nn.ReLU()
        self.head = linear(widths[1], classes, generator)

    def forward(self, x: Tensor) -> Tensor:
        h = self.pool(self.act1(self.conv1(x.transpose(1, 2))))
        h = self.act2(self.conv2(h))
        return self.head(h.mean(dim=2))
