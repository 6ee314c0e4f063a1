"""Samples by name: recordings that come with the library, the whole set where it is at hand, and synthetic ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args

import numpy as np

from assay.data.opening import open_radar
from assay.data.radhar import PLAIN, RadarOptions, radar_sequences
from assay.data.references import content_sha256
from assay.data.sequences import InputError, LabelledSequences
from assay.data.shipped_models import MODEL_LINES, model_file
from assay.data.shipped_neurons import NEURON_LINES, neuron_sample_version
from assay.data.shipped_votes import VOTE_LINES, vote_sample_version
from assay.data.synthetic import Variant, synthetic_sequences

__all__ = ["RADHAR_SAMPLE", "data_folder", "sample", "sample_version", "samples"]

RADHAR_SAMPLE = Path(__file__).parent / "samples" / "radhar" / "radhar.npz"
SEED = 1
LINES = {
    "radhar": "186 radar recordings of five activities, as grids of 8 ranges by 4 heights (RadHAR, BSD-3).",
    "synthetic-low": "Classes differ at low frequencies, noise is high: a low-pass helps.",
    "synthetic-high": "Classes differ at high frequencies, noise is low: a low-pass hurts.",
    "synthetic-none": "Labels that say nothing: every method should stay at chance.",
}
WHOLE = "radhar-full"
WHOLE_LINE = "The same recordings from their points, from the data folder."


def data_folder() -> Path | None:
    """The folder that the environment variable ASSAY_DATA names, if it is there."""
    named = os.environ.get("ASSAY_DATA", "")
    return Path(named) if named and Path(named).is_dir() else None


def samples() -> dict[str, str]:
    """Names of samples, the default first, with one line each; models stand in `MODEL_LINES`, votes in
    `VOTE_LINES`, neurons in `NEURON_LINES`.
    """
    return LINES | ({WHOLE: WHOLE_LINE} if whole_radhar() else {})


def whole_radhar() -> Path | None:
    folder = data_folder()
    if folder is None or not all((folder / "radhar" / f"{split}.npz").is_file() for split in ("train", "test")):
        return None
    return folder / "radhar"


def sample(
    name: str,
    *,
    radar: RadarOptions = PLAIN,
    progress: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
) -> LabelledSequences:
    """A sample by name; the same each time.

    Args:
        name: one of `samples()`.
        radar: how radar frames become windows.
        progress: wraps what is made or read one by one; raising in it stops the work.

    Raises:
        InputError: no such sample.
    """
    if name.startswith("synthetic-") and name in LINES:
        variant: Variant = next(v for v in get_args(Variant) if name == f"synthetic-{v}")
        return synthetic_sequences(np.random.default_rng(SEED), variant=variant, progress=progress)
    return radar_sequences(open_radar(radar_place(name), progress), radar, name="RadHAR")


def sample_version(name: str) -> str:
    """What changes when a sample's content does: the SHA-256 of its files, or of the recipe of a synthetic one.

    Raises:
        InputError: no such sample.
    """
    if name.startswith("synthetic-") and name in LINES:
        return hashlib.sha256(f"{name} {SEED} {synthetic_sequences.__kwdefaults__}".encode()).hexdigest()
    if name in VOTE_LINES:
        return vote_sample_version(name)
    if name in NEURON_LINES:
        return neuron_sample_version(name)
    if name in MODEL_LINES:
        try:
            return content_sha256(model_file(name))
        except ValueError as error:
            raise InputError(str(error)) from None
    return content_sha256(radar_place(name))


def radar_place(name: str) -> Path:
    """Where the recordings of a radar sample are."""
    if name == "radhar":
        return RADHAR_SAMPLE
    place = whole_radhar() if name == WHOLE else None
    if place is None:
        raise InputError(f"sample: got {name!r}; expected one of {', '.join(samples())}.")
    return place
