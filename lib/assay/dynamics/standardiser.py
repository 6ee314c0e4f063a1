"""Centre and scale of features, fitted on training data only."""

from dataclasses import dataclass

import torch
from torch import Tensor

_BLOCK = 2**18  # values at a time: they stay in the processor's cache, and sums of so few are exact enough in float32


@dataclass(frozen=True, eq=False)
class Standardiser:
    """(x - mean) / scale per feature; a feature that never varies is only centred.

    Attributes:
        mean, scale: shaped to broadcast against a batch.
    """

    mean: Tensor
    scale: Tensor

    @classmethod
    def fit(cls, X: Tensor) -> "Standardiser":
        """Statistics of (N, D), (N, L, F) per last axis, or of (N, L, C, H, W) per channel."""
        axes = [0, 1, 3, 4] if X.ndim == 5 else list(range(X.ndim - 1))
        mean = X.mean(dim=axes, keepdim=True)
        square = torch.zeros_like(mean, dtype=torch.float64)
        for part in X.split(max(1, _BLOCK // max(1, X[0].numel()))):
            square += (part - mean).square_().sum(dim=axes, keepdim=True)
        scale = (square * (mean.numel() / X.numel())).sqrt().to(X.dtype)
        return cls(mean, scale.masked_fill(scale <= 1e-6 * mean.abs(), 1.0))

    def __call__(self, X: Tensor) -> Tensor:
        return (X - self.mean).div_(self.scale)
