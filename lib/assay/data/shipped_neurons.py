"""Neurons and circuits by name: reconstructions that come along, and shapes that are made from a recipe."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.data.references import content_sha256
from assay.data.sequences import InputError

__all__ = ["NEURONS", "NEURON_LINES", "neuron_file", "neuron_sample_version"]

NEURONS = Path(__file__).parent / "samples" / "neurons"
SHAPES = {
    "ball-and-stick": "A soma with one dendrite, 600 µm long.",
    "caterpillar": "A trunk with a short side branch every 40 µm.",
    "binary": "A dendrite that forks evenly six times.",
    "random": "A tree that grows at random.",
}
FILES = {
    "ca1": ("ca1_n120.swc", "A rat's CA1 pyramidal cell, 11.9 mm of dendrite."),
    "aval": ("AVAL.swc", "AVAL, a command neuron of C. elegans."),
    "pvdr": ("PVDR.swc", "PVDR, the worm's most branched neuron."),
    "worm": ("worm_wiring.csv", "Connections of the 302 neurons of C. elegans."),
}
NEURON_LINES = SHAPES | {name: line for name, (_, line) in FILES.items()}


def neuron_file(name: str) -> Path | None:
    """The file of a neuron or circuit that comes along; None for a shape that is made.

    Raises:
        InputError: no such name.
    """
    if name not in NEURON_LINES:
        raise InputError(f"sample: got {name!r}; expected one of {', '.join(NEURON_LINES)}.")
    return NEURONS / FILES[name][0] if name in FILES else None


def neuron_sample_version(name: str) -> str:
    """SHA-256 of the file, or of the name of a shape whose recipe stands in the code.

    Raises:
        InputError: no such name.
    """
    place = neuron_file(name)
    return hashlib.sha256(f"neuron {name}".encode()).hexdigest() if place is None else content_sha256(place)
