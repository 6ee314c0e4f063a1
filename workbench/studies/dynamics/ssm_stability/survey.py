"""A model's layers as they are certified: constants of every grade, what data do, what hand-made inputs do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from assay.data import model_file
from assay.dynamics.state_space import (
    METHODS,
    Admissible,
    Bound,
    Constants,
    CopyingTask,
    Driven,
    Seen,
    SSMLayer,
    SSMStack,
    bibo_bound,
    calibrate,
    find_ssm,
    hand_made_inputs,
    interval_constants,
    merge,
    observe,
    random_inputs,
    read_ssm_layer,
    scan_layer,
    vocabulary_inputs,
)
from workbench.sources import Source
from workbench.studies.dynamics.ssm_stability.controls import study

SHIPPED = "small-mamba"
SEQUENCES, TOKENS = 8, 64  # of random tokens, where a model comes without inputs
AIMED = 8  # channels of a layer that hand-made inputs are aimed at
AT_ONCE = 1024  # channels of a model that is looked at as a whole; of a larger one, layer by layer


@dataclass(frozen=True, eq=False)
class LayerSurvey:
    """One layer.

    Attributes:
        layer: its weights. name: as people read it.
        alone: constants from weights alone. finite: the same for a first layer that sees a finite vocabulary, or None.
        inside: constants of the calibration. radius: of its inputs where no norm stands in front, else None.
        data: what the calibration did, by discretisation. attacked: what random and hand-made inputs did.
        decays: exp(-Δ a) over steps, channels and states, thinned. horizons: 1 / (Δ a) of each state at its middle
            step, in tokens.
        confined: what tokens of the vocabulary did, each repeated and at random, where the layer sees nothing else.
        known: bounds that were asked for before.
    """

    layer: SSMLayer
    name: str
    alone: Constants
    finite: Constants | None
    inside: Constants
    radius: float | None
    data: dict[str, Seen]
    attacked: dict[str, Seen]
    decays: np.ndarray
    horizons: np.ndarray
    confined: dict[str, Seen] | None
    known: dict[tuple[str, str, bool], Bound] = field(default_factory=dict)

    def constants(self, grade: str, vocabulary: bool = False) -> Constants:
        """Those of a grade."""
        if grade == "a-priori":
            return self.finite if vocabulary and self.finite is not None else self.alone
        return self.inside if grade == "conditional" else self.data["euler"].constants

    def bound(self, grade: str, method: str, vocabulary: bool = False) -> Bound:
        """The bound of a grade; of the empirical one, what was seen in place of a bound."""
        key = (grade, method, vocabulary)
        if key not in self.known:
            found = bibo_bound(self.layer, self.constants(grade, vocabulary), method=method)  # type: ignore[arg-type]
            if grade == "empirical":
                seen = self.data[method]
                found = replace(found, h_max=seen.h_max, y_max=seen.y_max, out_max=seen.out_max)
            self.known[key] = found
        return self.known[key]


@dataclass(frozen=True, eq=False)
class Survey:
    """The selective layers of a model, with what was inferred and left out; `large`: each is made when asked for."""

    layers: Sequence[LayerSurvey]
    large: bool
    skipped: tuple[str, ...]
    notes: tuple[str, ...]
    said: str

    def shown(self, chosen: LayerSurvey) -> Sequence[LayerSurvey]:
        """What a view has time for: all layers, or of a large model the one that is looked at."""
        return (chosen,) if self.large else self.layers

    @property
    def rest(self) -> str:
        """A sentence on what a view leaves out."""
        return f" The layer that is chosen, of {len(self.layers)}: all of them take a run." if self.large else ""


class OneByOne(Sequence[LayerSurvey]):
    """Layers of a large model: each is read and surveyed when it is asked for, and let go after.

    The first sees the calibration, the others random directions: what reaches them is not followed through the model.
    """

    def __init__(self, stack: SSMStack, stream: Tensor | None, radius: float) -> None:
        self.stack, self.stream, self.radius = stack, stream, radius

    def __len__(self) -> int:
        return len(self.stack)

    def __getitem__(self, number: Any) -> Any:
        if not 0 <= number < len(self):
            raise IndexError(number)
        layer = read_ssm_layer(self.stack.opened, self.stack.places[number])
        stream = self.stream if number == 0 else None
        return surveyed_layer(layer, self.stack.embedding() if number == 0 else None, stream, self.radius)[0]


def place_of(source: Source) -> Path:
    return model_file(source.name) if source.path is None else source.path


@study.prepared
def stack(model: Source) -> SSMStack:
    """Where the selective layers stand; weights are read one layer at a time."""
    return find_ssm(place_of(model))


@study.prepared
def layer_names(stack: SSMStack) -> dict[str, str]:
    """Numbers of the layers, with their names."""
    return {str(i): place.name for i, place in enumerate(stack.places)}


@study.prepared
def first_sizes(stack: SSMStack) -> tuple[int, int]:
    """Channels and states of the first layer; those of the others are alike."""
    layer = read_ssm_layer(stack.opened, stack.places[0])
    return layer.channels, layer.states


@study.prepared
def channel_bounds(first_sizes: tuple[int, int]) -> tuple[int, int]:
    """Numbers of channels."""
    return 0, max(1, first_sizes[0] - 1)


@study.prepared
def state_bounds(first_sizes: tuple[int, int]) -> tuple[int, int]:
    """Numbers of states."""
    return 0, max(1, first_sizes[1] - 1)


def calibration(stack: SSMStack, shipped: bool, inputs: Source | None) -> tuple[Tensor | None, str]:
    """The residual stream (B, L, d) in front of the first layer, and what it is; None where it cannot be made.

    Raises:
        ValueError: inputs that cannot be read, are empty, or hold tokens that the vocabulary has not.
    """
    embedding = stack.embedding()
    if inputs is not None and inputs.path is not None:
        with inputs.path.open("rb") as file:
            given = np.load(file, allow_pickle=False)
        if not isinstance(given, np.ndarray) or given.size == 0:
            raise ValueError("inputs: the array is empty; expected token ids (B, L) or activations (B, L, d).")
        if given.ndim == 3 and given.dtype.kind == "f":
            width = read_ssm_layer(stack.opened, stack.places[0]).width
            if given.shape[2] != width or not np.isfinite(given).all():
                raise ValueError(f"inputs: got shape {given.shape}; expected finite activations (B, L, {width}).")
            return torch.from_numpy(given.astype(np.float64)), f"{given.shape[0] * given.shape[1]:,} given activations"
        if given.ndim != 2 or given.dtype.kind not in "iu":
            raise ValueError(
                f"inputs: got shape {given.shape} of {given.dtype}; expected token ids (B, L), whole numbers, or "
                "activations (B, L, d)."
            )
        if embedding is None:
            raise ValueError("inputs: got token ids for a model without embeddings; expected activations (B, L, d).")
        if given.min() < 0 or given.max() >= len(embedding):
            bad = given[(given < 0) | (given >= len(embedding))][0]
            raise ValueError(f"inputs: token id {bad} is not in a vocabulary of {len(embedding):,}.")
        return embedding[torch.from_numpy(given.astype(np.int64))], f"{given.size:,} given tokens"
    if shipped:
        assert embedding is not None
        tokens, _ = CopyingTask().draw(16, torch.Generator().manual_seed(5))
        return embedding[tokens], f"{tokens.numel():,} tokens of its own task"
    if embedding is None:
        return None, "random directions, for the checkpoint has no embeddings"
    tokens = torch.randint(len(embedding), (SEQUENCES, TOKENS), generator=torch.Generator().manual_seed(5))
    return embedding[tokens], f"{tokens.numel():,} random tokens"


def surveyed(stack: SSMStack, stream: Tensor | None, radius: float) -> Iterator[LayerSurvey]:
    """Layer after layer; the residual stream goes on where the model is selective layers alone."""
    through = not stack.skipped
    for number, place in enumerate(stack.places):
        layer = read_ssm_layer(stack.opened, place)
        known = stream if through or number == 0 else None
        found, driven = surveyed_layer(layer, stack.embedding() if number == 0 else None, known, radius)
        if through and stream is not None:
            with torch.no_grad():
                stream = stream + layer.output(scan_layer(layer, driven).y, driven.z)
        yield found


def surveyed_layer(
    layer: SSMLayer, embedding: Tensor | None, stream: Tensor | None, radius: float
) -> tuple[LayerSurvey, Driven]:
    """One layer, and what its scan is given.

    Args:
        embedding: of the first layer of a model. stream: (B, L, d) what reaches it, before its norm; None draws random
            directions. radius: of its inputs where no norm stands in front; 0 takes the stream's.
    """
    own_radius = None
    if layer.gain is None:
        own_radius = radius or (1.0 if stream is None else float(stream.norm(dim=-1).max()))
    space = Admissible.of(layer, own_radius)
    if stream is not None:
        u = layer.normed(stream)
    else:
        u = random_inputs(space, SEQUENCES, TOKENS, torch.Generator().manual_seed(5))
    alone = interval_constants(layer, input_radius=own_radius)
    finite, spoken = None, None
    if embedding is not None and layer.gain is not None:
        finite = interval_constants(layer, tokens=vocabulary_inputs(layer, embedding))
        spoken = layer.normed(embedding[token_attacks(len(embedding))])
    channels = np.unique(np.linspace(0, layer.channels - 1, AIMED).astype(int))
    hard = torch.cat([
        hand_made_inputs(space, [(int(d), 0) for d in channels], 48),
        random_inputs(space, 4, 48, torch.Generator().manual_seed(6)),
    ])  # fmt: skip
    data = {method: observe(layer, u, method=method) for method in METHODS}
    attacked = {method: merge(data[method], observe(layer, hard, method=method)) for method in METHODS}
    with torch.no_grad():
        driven = layer.drive(u)
        decays, horizons = thinned(layer, driven)
    inside = calibrate(layer, u)
    confined = None
    if spoken is not None:
        confined = {method: merge(data[method], observe(layer, spoken, method=method)) for method in METHODS}
    found = LayerSurvey(
        layer, layer.name, alone, finite, inside, own_radius, data, attacked, decays, horizons, confined
    )  # fmt: skip
    return found, driven


def token_attacks(count: int) -> Tensor:
    """(B, 48) token ids: some of them repeated throughout, some taken in turns, some at random."""
    generator = torch.Generator().manual_seed(8)
    some = torch.linspace(0, count - 1, min(count, 16)).long()[:, None]
    turns = torch.where(torch.arange(48) % 2 == 0, some, some.flip(0))
    return torch.cat([some.expand(-1, 48), turns, torch.randint(count, (8, 48), generator=generator)])


def thinned(layer: SSMLayer, driven: Driven) -> tuple[np.ndarray, np.ndarray]:
    """Decays exp(-Δ a) of some steps, and the memory 1 / (Δ a) of each state at its middle step, in tokens."""
    delta = driven.delta.flatten(0, 1)
    some = delta[:: max(1, len(delta) // 64)]
    z = some[:, :, None] * layer.rates
    middle = delta.median(0).values.clamp(min=1e-300)
    horizon = 1 / (middle[:, None] * layer.rates)
    every = max(1, z.numel() // 20_000)
    return torch.exp(-z).flatten()[::every].numpy(), horizon.flatten().numpy()


@study.prepared
def survey(
    stack: SSMStack, model: Source, inputs: Source | None, radius: float, first_sizes: tuple[int, int]
) -> Survey:
    """Constants of every grade for every layer, and what data and hand-made inputs do to it."""
    stream, said = calibration(stack, model.path is None and model.name == SHIPPED, inputs)
    large = len(stack) * first_sizes[0] > AT_ONCE
    if (stack.skipped or large) and stream is not None:
        said += "; after the first selective layer random directions"
        said += ", for other layers stand between" if stack.skipped else ", for a large model is not run through"
    layers = OneByOne(stack, stream, radius) if large else tuple(surveyed(stack, stream, radius))
    return Survey(layers, large, stack.skipped, stack.notes, said)


@study.prepared
def chosen(survey: Survey, layer: str) -> LayerSurvey:
    """The layer that is looked at."""
    return survey.layers[min(int(layer), len(survey.layers) - 1)]


@study.prepared
def first_steps(stack: SSMStack, chosen: LayerSurvey) -> np.ndarray:
    """(T, D) steps of the chosen layer on one sequence: of the task where it came along, else random directions."""
    layer = chosen.layer
    generator = torch.Generator().manual_seed(7)
    embedding = stack.embedding()
    if embedding is not None and layer.index == 0:
        tokens = torch.randint(len(embedding), (1, 96), generator=generator)
        u = layer.normed(embedding[tokens])
    else:
        u = random_inputs(Admissible.of(layer, chosen.radius), 1, 96, generator)
    with torch.no_grad():
        return layer.drive(u).delta[0].numpy()
