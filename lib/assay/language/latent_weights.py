"""Latent models that come along: weights in half precision, what they were trained on, and the log of every stage."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from assay.checkpoints import open as open_checkpoint
from assay.checkpoints.safetensors_writing import write_safetensors
from assay.language.latent_decoder import LatentDecoder
from assay.language.latent_training import LatentRecipe, Stage, untrained
from assay.language.word_model import WordModel
from assay.language.word_task import WordTask

__all__ = ["LATENT_FOLDER", "KeptLatent", "kept_latents", "read_latent", "write_latent"]

LATENT_FOLDER = Path(__file__).parents[1] / "data" / "samples" / "latent_cot"


@dataclass(frozen=True, eq=False)
class KeptLatent:
    """A trained model with its task.

    Attributes:
        name: of its file. model: ready to be intervened on. recipe: what it was trained on. log: its stages.
    """

    name: str
    model: WordModel
    recipe: LatentRecipe
    log: tuple[Stage, ...]

    @property
    def task(self) -> WordTask:
        return self.recipe.task

    def with_mode(self, mode: str) -> KeptLatent:
        """The same weights with other latents, as controls: `random`, or `coconut` for weights that never saw any."""
        other = LatentDecoder(self.recipe.shape, mode, self.task.end, torch.Generator().manual_seed(0))
        other.load_state_dict(self.model.decoder.state_dict(), strict=False)
        return KeptLatent(f"{self.name}, {mode}", WordModel(other.eval(), self.task.latents), self.recipe, self.log)


def write_latent(
    name: str, weights: Mapping[str, Tensor], log: Sequence[Stage], recipe: LatentRecipe, folder: Path
) -> None:
    """Keep `NAME.safetensors` (half precision, tied weights once) and `NAME.json` with recipe and stages."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {key: value.half() for key, value in weights.items() if key != "decoder.unembedding.weight"}
    write_safetensors(folder / f"{name}.safetensors", kept)
    told = {"recipe": asdict(recipe), "stages": [asdict(stage) for stage in log]}
    (folder / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def kept_latents(folder: Path = LATENT_FOLDER) -> tuple[str, ...]:
    """Names of the models in a folder."""
    return tuple(sorted(path.stem for path in folder.glob("*.safetensors")))


def read_latent(name: str, folder: Path = LATENT_FOLDER) -> KeptLatent:
    """A model of a folder.

    Raises:
        ValueError: there is none of that name, or its files do not belong together.
    """
    place = folder / f"{name}.safetensors"
    if not place.is_file():
        raise ValueError(f"model: got {name!r}; expected one of {', '.join(kept_latents(folder))}.")
    try:
        told: Any = json.loads(place.with_suffix(".json").read_text(encoding="utf-8"))
        recipe = LatentRecipe(**{**told["recipe"], "task": WordTask(**told["recipe"]["task"])})
        log = tuple(Stage(**stage) for stage in told["stages"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name}.json: cannot be read as the recipe of a latent model ({error}).") from None
    opened = open_checkpoint(place)
    decoder = untrained(recipe)
    weights = {key: opened.tensor(key, dtype=torch.float32) for key in opened.names()}
    wanted = {key: value for key, value in decoder.state_dict().items() if key != "decoder.unembedding.weight"}
    for key, value in wanted.items():
        came = weights.get(key)
        if came is None or came.shape != value.shape:
            told = "none" if came is None else tuple(came.shape)
            raise ValueError(f"{key}: got {told}; expected {tuple(value.shape)}.")
    decoder.load_state_dict(weights, strict=False)
    return KeptLatent(name, WordModel(decoder.eval().requires_grad_(False), recipe.latents), recipe, log)
