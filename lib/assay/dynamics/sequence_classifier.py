"""What the training protocol and the operation counter expect of a classifier of sequences."""

from abc import abstractmethod

from torch import Tensor, nn


class SequenceClassifier(nn.Module):
    """A map from sequences (B, L, F) or (B, L, C, H, W), one step a sensor frame, to class scores (B, K).

    ``prepare`` is the fixed part, without weights (a filter, a spectrum, a time mean): the protocol applies it once
    to a whole data set, standardises its result with statistics of the training part, and calls the module on batches
    of that.

    Attributes:
        spike_fed: names of the layers whose input is spikes; every other layer multiplies real numbers. The operation
            counter goes by these names and never by the values that it meets.
        input_fed: names of the layers that read the prepared input directly.
        filter_macs: multiply-accumulates that ``prepare`` spends on each value of the raw input.
        filter_state_words: state words that it reads and writes for each value of the raw input.
        head: the last layer, with one output a class.
    """

    spike_fed: frozenset[str] = frozenset()
    input_fed: frozenset[str] = frozenset()
    filter_macs: float = 0.0
    filter_state_words: float = 0.0
    head: nn.Linear

    def prepare(self, X: Tensor) -> Tensor:
        """The fixed part, (N, L, ...) to (N, ...): identity unless the class says otherwise."""
        return X

    @abstractmethod
    def forward(self, x: Tensor) -> Tensor:
        """Class scores (B, K) of a prepared and standardised batch."""

    @property
    def classes(self) -> int:
        """Number of classes, K."""
        return self.head.out_features

    @property
    def spiking(self) -> bool:
        """Whether any layer is driven by spikes."""
        return bool(self.spike_fed)
