"""LeNet over frames, with rectified units and with LIF neurons, of the same backbone and parameter count.

Source: the paper's SpikingLeNet as the toolkit (github yudi-mars/Soul) builds it: conv 5x5 to 32, 64 and 96 channels
without padding, batch normalisation, activation, 2x2 max pooling after the first two, linear to 512, mean over time,
linear to the classes. For one channel of 64 x 64 and 5 classes that is 4,190,565 parameters and 53,916,672 dense
multiply-accumulates a frame.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from assay.dynamics.lif_layer import DEFAULT_NEURON, LIFLayer, NeuronOptions
from assay.dynamics.seeded_layers import conv2d, linear
from assay.dynamics.sequence_classifier import SequenceClassifier


@dataclass(frozen=True)
class Backbone:
    """Widths of the convolutions, their kernel and padding, how many pool 2x2 after them, and the linear width."""

    widths: tuple[int, ...] = (32, 64, 96)
    kernel: int = 5
    padding: int = 0
    pooled: int = 2
    hidden: int = 512


FULL = Backbone()
MINI = Backbone(widths=(16, 32), kernel=3, padding=1, pooled=1, hidden=64)
"""For coarse grids such as 8 range by 4 height bins."""


class _LeNetBackbone(SequenceClassifier):
    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        classes: int,
        backbone: Backbone,
        activation: Callable[[], nn.Module],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.stages = nn.ModuleList()
        for i, out in enumerate(backbone.widths):
            shrink = backbone.kernel - 1 - 2 * backbone.padding
            height, width = height - shrink, width - shrink
            pool = i < backbone.pooled
            if pool:
                height, width = height // 2, width // 2
            if height < 1 or width < 1:
                raise ValueError(f"height and width must leave a map after {i + 1} convolutions; got none.")
            stage = nn.ModuleDict(
                {
                    "conv": conv2d(channels, out, backbone.kernel, generator, padding=backbone.padding),
                    "norm": nn.BatchNorm2d(out),
                    "act": activation(),
                }
            )
            if pool:
                stage["pool"] = nn.MaxPool2d(2)
            self.stages.append(stage)
            channels = out
        self.dense = linear(channels * height * width, backbone.hidden, generator)
        self.act = activation()
        self.head = linear(backbone.hidden, classes, generator)

    def forward(self, x: Tensor) -> Tensor:
        h = x.transpose(0, 1)
        T, B = h.shape[:2]
        for stage in self.stages:
            assert isinstance(stage, nn.ModuleDict)
            h = stage["norm"](stage["conv"](h.flatten(0, 1))).unflatten(0, (T, B))
            h = stage["act"](h)
            if "pool" in stage:
                h = stage["pool"](h.flatten(0, 1)).unflatten(0, (T, B))
        h = self.act(self.dense(h.flatten(2)))
        return self.head(h.mean(dim=0))


class LeNet(_LeNetBackbone):
    """Rectified LeNet over maps (B, L, C, H, W).

    Args:
        channels, height, width: of a frame. classes: K.
        generator: source of the first weights.
        backbone: ``FULL`` (the paper's) or ``MINI``, or one of your own.
        time: ``frames`` runs it on each frame and averages before the last layer; ``mean_input`` averages the frames
            first and runs it once, as the toolkit's baselines do: such a network never sees time.

    Raises:
        ValueError: a map too small for the backbone, or an unknown ``time``.
    """

    input_fed = frozenset({"stages.0.conv"})

    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        classes: int,
        *,
        generator: torch.Generator,
        backbone: Backbone = FULL,
        time: Literal["frames", "mean_input"] = "frames",
    ) -> None:
        super().__init__(channels, height, width, classes, backbone, nn.ReLU, generator)
        if time not in ("frames", "mean_input"):
            raise ValueError(f"time must be frames or mean_input; got {time!r}.")
        self.time = time

    def prepare(self, X: Tensor) -> Tensor:
        return X.mean(dim=1, keepdim=True) if self.time == "mean_input" else X


class SpikingLeNet(_LeNetBackbone):
    """LeNet with LIF neurons over maps (B, L, C, H, W), one LIF step a frame.

    Args:
        channels, height, width: of a frame. classes: K.
        beta: membrane decay of every layer.
        generator: source of the first weights.
        backbone: ``FULL`` (the paper's) or ``MINI``, or one of your own.
        neuron: further options of :class:`LIFLayer`.

    Raises:
        ValueError: a map too small for the backbone, or a bad option of the neuron.
    """

    input_fed = frozenset({"stages.0.conv"})

    def __init__(
        self,
        channels: int,
        height: int,
        width: int,
        classes: int,
        *,
        beta: float = 0.5,
        generator: torch.Generator,
        backbone: Backbone = FULL,
        neuron: NeuronOptions = DEFAULT_NEURON,
    ) -> None:
        super().__init__(channels, height, width, classes, backbone, lambda: LIFLayer(beta, neuron), generator)
        # Max pooling keeps spikes spikes, so every later convolution is driven by them.
        self.spike_fed = frozenset({f"stages.{i}.conv" for i in range(1, len(backbone.widths))} | {"dense"})
