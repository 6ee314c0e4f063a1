"""How many multiply-accumulates and synaptic operations a classifier spends on a sample, layer by layer.

A multiply position counts as *dense* always and as *active* where its input and its weight are non-zero. Which of the
two a layer pays, and whether an operation is a multiply-accumulate or an addition, is for
:mod:`assay.dynamics.energy` to say. Layers are told apart by kind, as the model declares it, and never by their
values: grids of counts are whole numbers too.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from assay.dynamics.lif_layer import LIFLayer
from assay.dynamics.sequence_classifier import SequenceClassifier
from assay.dynamics.spiking_mlp import LeakyMembrane
from assay.dynamics.standardiser import Standardiser

Kind = Literal["filter", "analog", "spike", "recurrent", "normalisation", "activation", "neuron"]


@dataclass(frozen=True)
class LayerOperations:
    """Operations of one layer for one sample, averaged over the samples seen.

    Attributes:
        layer: name in the model.
        kind: ``filter`` (the fixed part before the network), ``analog`` (weights on real numbers), ``spike`` (weights
            on spikes), ``recurrent``, ``normalisation``, ``activation`` (rectifier) or ``neuron`` (LIF or leaky
            membrane).
        dense: multiply positions (elements for normalisation, activation and neuron).
        active: multiply positions whose input and weight are non-zero (non-zero outputs for activation and neuron).
        rate: share of non-zero inputs; of non-zero outputs, that is spikes per neuron and step, for ``neuron``.
        state_words: words of state read and written.
    """

    layer: str
    kind: Kind
    dense: float
    active: float
    rate: float
    state_words: float = 0.0

    def per_sample(self, samples: int) -> "LayerOperations":
        """Totals over ``samples`` divided among them; the rate is a share already."""
        return replace(
            self, dense=self.dense / samples, active=self.active / samples, state_words=self.state_words / samples
        )


Counter = Callable[[str, Any, Tensor, Any], LayerOperations]


@dataclass(frozen=True)
class OperationCounts:
    """Operations of a whole classifier for one sample.

    Attributes:
        layers: in the order of the forward pass. spiking: whether the classifier has layers driven by spikes.
        samples: how many were averaged.
    """

    layers: tuple[LayerOperations, ...]
    spiking: bool
    samples: int

    @property
    def macs(self) -> float:
        """Dense multiply-accumulates in layers on real numbers."""
        return sum(row.dense for row in self.layers if row.kind in ("analog", "recurrent", "filter"))

    @property
    def sops(self) -> float:
        """Synaptic operations: active positions in layers on spikes."""
        return sum(row.active for row in self.layers if row.kind == "spike")

    @property
    def firing_rates(self) -> dict[str, float]:
        """Spikes per neuron and step of each LIF layer."""
        return {row.layer: row.rate for row in self.layers if row.kind == "neuron" and self.spiking}


def operation_counts(
    model: SequenceClassifier, X: ArrayLike | Tensor, *, standardiser: Standardiser | None = None
) -> OperationCounts:
    """Count the operations of a forward pass in evaluation mode.

    Standardising moves the zeros of a sparse input, but centre and scale fold into the first layer's weights and
    bias; the zeros of layers that read the input are therefore counted on the prepared, unstandardised input. Batch
    normalisation is counted by element.

    Args:
        model: on the CPU.
        X: raw sequences (N, L, F) or (N, L, C, H, W), a few dozen are enough.
        standardiser: as fitted in training.

    Raises:
        ValueError: an input of another shape.
    """
    raw = X.detach().float() if isinstance(X, Tensor) else torch.tensor(np.asarray(X, dtype=np.float32))
    if raw.ndim not in (3, 5) or min(raw.shape) < 1:
        raise ValueError(f"X must have shape (N, L, F) or (N, L, C, H, W); got {tuple(raw.shape)}.")
    prepared = model.prepare(raw)
    training = model.training
    model.eval()
    try:
        rows = _observe(model, prepared if standardiser is None else standardiser(prepared))
        if standardiser is not None:
            rows |= {name: row for name, row in _observe(model, prepared).items() if name in model.input_fed}
    finally:
        model.train(training)
    layers = [row.per_sample(len(raw)) for row in rows.values()]
    if model.filter_macs:
        values = raw[0].numel()
        macs = model.filter_macs * values
        layers.insert(0, LayerOperations("prepare", "filter", macs, macs, 1.0, model.filter_state_words * values))
    return OperationCounts(tuple(layers), model.spiking, len(raw))


@torch.no_grad()
def _observe(model: SequenceClassifier, x: Tensor) -> dict[str, LayerOperations]:
    """Totals over a batch by layer name, in the order of the forward pass."""
    rows: dict[str, LayerOperations] = {}

    def hook(name: str, count: Counter) -> Callable[[nn.Module, tuple[Tensor, ...], Any], None]:
        def observe(module: nn.Module, inputs: tuple[Tensor, ...], output: Any) -> None:
            row = count(name, module, inputs[0], output)
            rows[name] = replace(row, kind="spike") if name in model.spike_fed else row

        return observe

    handles = [
        module.register_forward_hook(hook(name, count))
        for name, module in model.named_modules()
        for kind, count in _COUNTERS.items()
        if isinstance(module, kind)
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return rows


def _share_nonzero(x: Tensor) -> float:
    return float(torch.count_nonzero(x)) / x.numel()


def _linear(name: str, layer: nn.Linear, x: Tensor, output: Tensor) -> LayerOperations:
    used = (x != 0).reshape(-1, layer.in_features).sum(dim=0).double()
    active = float(used @ (layer.weight != 0).sum(dim=0).double())
    return LayerOperations(name, "analog", float(output.numel() * layer.in_features), active, _share_nonzero(x))


def _convolution(name: str, layer: nn.Conv1d | nn.Conv2d, x: Tensor, output: Tensor) -> LayerOperations:
    # Summing the weight mask over output channels first leaves a convolution to a single channel.
    mask = (layer.weight != 0).float().sum(dim=0, keepdim=True)
    convolve = nn.functional.conv1d if isinstance(layer, nn.Conv1d) else nn.functional.conv2d
    active = float(convolve((x != 0).float(), mask, stride=layer.stride, padding=layer.padding).double().sum())
    dense = float(output.numel() * layer.weight[0].numel())
    return LayerOperations(name, "analog", dense, active, _share_nonzero(x))


def _gru(name: str, layer: nn.GRU, x: Tensor, output: tuple[Tensor, Tensor]) -> LayerOperations:
    states = output[0]
    gates, updates = 3 * layer.hidden_size, states.numel()
    elementwise = 3.0 * updates
    dense = gates * (x.numel() + updates) + elementwise
    previous = torch.count_nonzero(states[:-1])
    active = gates * float(torch.count_nonzero(x) + previous) + elementwise
    return LayerOperations(name, "recurrent", float(dense), active, _share_nonzero(x), 2.0 * updates)


def _elements(kind: Kind, state_words: float) -> "Counter":
    def count(name: str, layer: nn.Module, x: Tensor, output: Tensor) -> LayerOperations:
        active = float(torch.count_nonzero(output))
        size = output.numel()
        return LayerOperations(name, kind, float(size), active, active / size, state_words * size)

    return count


_COUNTERS: dict[type[nn.Module], Counter] = {
    nn.Linear: _linear,
    nn.Conv1d: _convolution,
    nn.Conv2d: _convolution,
    nn.GRU: _gru,
    nn.BatchNorm2d: _elements("normalisation", 0.0),
    nn.ReLU: _elements("activation", 0.0),
    LIFLayer: _elements("neuron", 2.0),
    LeakyMembrane: _elements("neuron", 2.0),
}
