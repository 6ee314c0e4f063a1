"""What goes on inside language models: latent chains of thought, and what happens when someone reaches into them.

`word_task` plants causal graphs in words of a group; `latent_training` trains a small decoder to think in
latents on them;
`interventions` reaches into any such model; `effects` and `commitment` say what follows.
"""

from assay.language.commitment import (
    Probe,
    commitment_gap,
    cosine_scores,
    decision_time,
    fit_probe,
    letters_read,
    output_pairs,
    pair_probabilities,
    running_pair,
    superposition,
    windowed,
)
from assay.language.effects import (
    EarlyStop,
    Graph,
    Influence,
    Structure,
    early_stop,
    edges_of,
    graph_f1,
    influence,
    interchange_answers,
    necessity,
    planted_edges,
    principal_graph,
    structure,
    uniform_structure,
)
from assay.language.groups import Group, symmetric_group
from assay.language.interventions import LatentModel, Operation, Outcome, Plan, Rollout, intervene, rollout
from assay.language.latent_decoder import LatentDecoder
from assay.language.latent_gpt2 import Gpt2Latent, Questions
from assay.language.latent_training import LatentRecipe, Stage, train_latent
from assay.language.latent_weights import LATENT_FOLDER, KeptLatent, kept_latents, read_latent
from assay.language.operations import (
    OPERATIONS,
    class_directions,
    class_means,
    class_swap,
    constant,
    gaussian,
    given,
    mahalanobis,
    mean_of_step,
    mean_overall,
    noise_scale,
    optimal_constants,
    patch,
    project_out,
    same_class,
    swap,
    zero,
)
from assay.language.user_models import (
    Asked,
    LanguageModel,
    PlainModel,
    Recorded,
    open_language,
    read_questions,
    read_recorded,
)
from assay.language.word_model import WordModel
from assay.language.word_task import Laid, Words, WordTask

__all__ = [
    "LATENT_FOLDER", "OPERATIONS", "Asked", "EarlyStop", "Gpt2Latent", "Graph", "Group", "Influence", "KeptLatent",
    "Laid", "LanguageModel", "LatentDecoder", "LatentModel", "LatentRecipe", "Operation", "Outcome", "PlainModel",
    "Plan", "Probe", "Questions", "Recorded", "Rollout", "Stage", "Structure", "WordModel", "WordTask", "Words",
    "class_directions", "class_means", "class_swap", "commitment_gap", "constant", "cosine_scores", "decision_time",
    "early_stop", "edges_of", "fit_probe", "gaussian", "given", "graph_f1", "influence", "interchange_answers",
    "intervene", "kept_latents", "letters_read", "mahalanobis", "mean_of_step", "mean_overall", "necessity",
    "noise_scale", "open_language", "optimal_constants", "output_pairs", "pair_probabilities", "patch",
    "planted_edges", "principal_graph", "project_out", "read_latent", "read_questions", "read_recorded", "rollout",
    "running_pair", "same_class", "structure", "superposition", "swap", "symmetric_group", "train_latent",
    "uniform_structure", "windowed", "zero",
]  # fmt: skip
