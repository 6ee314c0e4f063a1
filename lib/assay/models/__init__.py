"""Small language models to test claims on: a decoder, its vocabulary, text that is on every machine, and training.

`controlled_suite` trains a family of them over batch, weight decay, learning rate, size and seed; `kept_suite` reads
the one that is kept.
"""

from assay.models.byte_pairs import BytePairs
from assay.models.controlled_suite import Recipe, SuiteText, suite_recipes, suite_row, suite_text, train_recipe
from assay.models.decoder import Decoder, DecoderShape
from assay.models.kept_decoder import KeptDecoder, read_decoder
from assay.models.kept_suite import SUITE_FOLDER, KeptSuite, read_suite
from assay.models.language_training import (
    Budget,
    TrainingLog,
    final_states,
    loss_by_window,
    train_language_model,
    windows,
)
from assay.models.quantisation import gptq, quantised, round_to_nearest
from assay.models.texts import Text, installed_text, split_documents

__all__ = [
    "SUITE_FOLDER", "Budget", "BytePairs", "Decoder", "DecoderShape", "KeptDecoder", "KeptSuite", "Recipe",
    "SuiteText", "Text", "TrainingLog", "final_states", "gptq", "installed_text", "loss_by_window", "quantised",
    "read_decoder", "read_suite", "round_to_nearest", "split_documents", "suite_recipes", "suite_row", "suite_text",
    "train_language_model", "train_recipe", "windows",
]  # fmt: skip
