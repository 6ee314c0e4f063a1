"""What goes on inside language models: latent chains of thought, and what happens when someone reaches into them.

`word_task` plants causal graphs in words of a group; `latent_training` trains a small decoder to think in
latents on them;
`interventions` reaches into any such model; `effects` and `commitment` say what follows. `reversal_facts`,
`one_layer_ov`, `block_completion` and `reversal_decoder` are about facts that are read backwards.
"""

from assay.language.block_completion import complete_block, nuclear_norm_2x2
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
from assay.language.one_layer_ov import (
    OneLayerOV,
    OneLayerTrace,
    block_contrast,
    entity_blocks,
    read_backwards,
    reversal_scores,
    reverse_prompts,
    steady_rate,
    symbolic_facts,
    train_facts,
    train_ov,
    weighted_ce,
)
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
from assay.language.reversal_decoder import NameTask, name_task, score_names, train_names
from assay.language.reversal_facts import (
    FORMS,
    TEMPLATES,
    Fact,
    Pair,
    bridge_dataset,
    names_on_both_sides,
    read_pairs,
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
    "FORMS", "LATENT_FOLDER", "OPERATIONS", "TEMPLATES", "Asked", "EarlyStop", "Fact", "Gpt2Latent", "Graph", "Group",
    "Influence", "KeptLatent", "Laid", "LanguageModel", "LatentDecoder", "LatentModel", "LatentRecipe", "NameTask",
    "OneLayerOV", "OneLayerTrace", "Operation", "Outcome", "Pair", "PlainModel", "Plan", "Probe", "Questions",
    "Recorded", "Rollout", "Stage", "Structure", "WordModel", "WordTask", "Words", "block_contrast", "bridge_dataset",
    "class_directions", "class_means", "class_swap", "commitment_gap", "complete_block", "constant", "cosine_scores",
    "decision_time", "early_stop", "edges_of", "entity_blocks", "fit_probe", "gaussian", "given", "graph_f1",
    "influence", "interchange_answers", "intervene", "kept_latents", "letters_read", "mahalanobis", "mean_of_step",
    "mean_overall", "name_task", "names_on_both_sides", "necessity", "noise_scale", "nuclear_norm_2x2",
    "open_language", "optimal_constants", "output_pairs", "pair_probabilities", "patch", "planted_edges",
    "principal_graph", "project_out", "read_backwards", "read_latent", "read_pairs", "read_questions", "read_recorded",
    "reversal_scores", "reverse_prompts", "rollout", "running_pair", "same_class", "score_names", "steady_rate",
    "structure", "superposition", "swap", "symbolic_facts", "symmetric_group", "train_facts", "train_latent",
    "train_names", "train_ov", "uniform_structure", "weighted_ce", "windowed", "zero",
]  # fmt: skip
