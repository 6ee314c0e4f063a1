"""Weights of every common kind as named tensors, read lazily and never unpickled.

`open` gives a `Checkpoint`; `find_unembedding` gives the matrix that makes the logits, whatever the family calls it.
"""

from assay.checkpoints.checkpoint import Checkpoint, Row
from assay.checkpoints.families import Parts
from assay.checkpoints.health import Health, examine
from assay.checkpoints.layers import Layer
from assay.checkpoints.opening import open
from assay.checkpoints.stored import Stored
from assay.checkpoints.unembedding import Unembedding, find_unembedding

__all__ = [
    "Checkpoint", "Health", "Layer", "Parts", "Row", "Stored", "Unembedding", "examine", "find_unembedding", "open",
]  # fmt: skip
