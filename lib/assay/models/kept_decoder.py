"""One trained decoder with its vocabulary and some text that it has not seen, small enough to come along."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from assay.checkpoints import open as open_checkpoint
from assay.models.byte_pairs import BytePairs
from assay.models.decoder import Decoder, DecoderShape
from assay.models.kept_suite import SUITE_FOLDER

__all__ = ["DECODER_FILE", "PROSE_DECODER_FOLDER", "KeptDecoder", "read_decoder", "write_decoder"]

DECODER_FILE = SUITE_FOLDER / "decoder.npz"
PROSE_DECODER_FOLDER = SUITE_FOLDER.parent / "prose_decoder"


@dataclass(frozen=True, eq=False)
class KeptDecoder:
    """A decoder to try things on.

    Attributes:
        model: in evaluation mode. pairs: its vocabulary.
        held_out: (N, T + 1) windows of text that it was not trained on.
    """

    model: Decoder
    pairs: BytePairs
    held_out: Tensor


def write_decoder(model: Decoder, held_out: Tensor, pairs: BytePairs, folder: Path = SUITE_FOLDER) -> None:
    """Keep `decoder.npz`, weights in half precision under their names in a checkpoint, and `decoder_text.npz`."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: value.half().numpy() for name, value in model.named_weights().items()}
    np.savez_compressed(folder / "decoder.npz", allow_pickle=False, **weights)
    np.savez_compressed(
        folder / "decoder_text.npz",
        shape=np.array(json.dumps(model.shape.as_dict())),
        merges=pairs.merges.astype(np.int16),
        held_out=held_out.numpy().astype(np.int16),
    )


def read_decoder(folder: Path = SUITE_FOLDER) -> KeptDecoder:
    """The decoder that is kept in a folder.

    Raises:
        ValueError: its files are not there, or do not belong together.
    """
    opened = open_checkpoint(folder / "decoder.npz")
    try:
        with np.load(folder / "decoder_text.npz", allow_pickle=False) as held:
            shape = DecoderShape(**json.loads(str(held["shape"])))
            merges, text = held["merges"].astype(np.int64), held["held_out"].astype(np.int64)
    except (OSError, KeyError, TypeError) as error:
        raise ValueError(f"{folder.name}: cannot be read as a decoder ({error}).") from None
    model = Decoder(shape, torch.Generator().manual_seed(0)).eval()
    model.load_named({name: opened.tensor(name) for name in opened.names()})
    return KeptDecoder(model, BytePairs(merges), torch.from_numpy(text))
