"""What the kept latent models were trained on, and how: a recipe a name, fixed before anything was measured."""

from __future__ import annotations

from assay.language.latent_training import LatentRecipe
from assay.language.word_task import WordTask

__all__ = ["RECIPES"]

SIX, EIGHT = WordTask("chain", 6), WordTask("chain", 8)
LIMIT, LIMIT_OF_CONTROLS = 4000, 1500  # iterations of a stage; controls run into theirs

RECIPES: dict[str, LatentRecipe] = {
    "chain": LatentRecipe(SIX, limit=LIMIT),
    "pause": LatentRecipe(SIX, "pause", limit=LIMIT_OF_CONTROLS),
    "skip": LatentRecipe(WordTask("skip", 5), limit=LIMIT),
    "late": LatentRecipe(WordTask("late", 4), limit=LIMIT),
    "early": LatentRecipe(WordTask("early", 4), layers=3, limit=LIMIT),
    "chain-long": LatentRecipe(EIGHT, limit=LIMIT),
    "redundant": LatentRecipe(WordTask("chain", 5, slots=2), limit=LIMIT, drop=0.5),
    "explicit": LatentRecipe(SIX, "cot", limit=LIMIT),
    "chain-1": LatentRecipe(SIX, seed=1, limit=LIMIT),
    "chain-2": LatentRecipe(SIX, seed=2, limit=LIMIT),
    "supervised": LatentRecipe(SIX, "supervised", limit=LIMIT),
    "none": LatentRecipe(SIX, "none", limit=2 * LIMIT_OF_CONTROLS),
    "codi-short": LatentRecipe(WordTask("chain", 4), "codi", limit=2 * LIMIT),
    "codi-three": LatentRecipe(WordTask("chain", 3), "codi", limit=2 * LIMIT),
    "pause-three": LatentRecipe(WordTask("chain", 3), "pause", limit=LIMIT_OF_CONTROLS),
}
