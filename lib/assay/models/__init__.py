"""Small language models to test claims on: a decoder, its vocabulary, text that is on every machine, and training.

`controlled_suite` trains a family of them over batch, weight decay, learning rate, size and seed; `kept_suite` reads
the one that is kept.
"""

from assay.models.bert import Bert, read_bert
from assay.models.byte_pairs import BytePairs
from assay.models.controlled_suite import Recipe, SuiteText, suite_recipes, suite_row, suite_text, train_recipe
from assay.models.decoder import Decoder, DecoderShape
from assay.models.kept_decoder import PROSE_DECODER_FOLDER, KeptDecoder, read_decoder
from assay.models.kept_suite import SUITE_FOLDER, KeptSuite, read_suite
from assay.models.language_training import (
    Budget,
    TrainingLog,
    adamw,
    final_states,
    loss_by_window,
    train_language_model,
    windows,
)
from assay.models.llama import Llama, LlamaShape, llama_of_decoder, read_llama
from assay.models.quantisation import gptq, quantised, round_to_nearest
from assay.models.texts import Text, installed_text, split_documents
from assay.models.tokens import ByteLevel, WordPieces, read_tokens

__all__ = [
    "PROSE_DECODER_FOLDER", "SUITE_FOLDER", "Bert", "Budget", "ByteLevel", "BytePairs", "Decoder", "DecoderShape",
    "KeptDecoder", "KeptSuite", "Llama", "LlamaShape", "Recipe", "SuiteText", "Text", "TrainingLog", "WordPieces",
    "adamw", "final_states", "gptq", "installed_text", "llama_of_decoder", "loss_by_window", "quantised", "read_bert",
    "read_decoder", "read_llama", "read_suite", "read_tokens", "round_to_nearest", "split_documents", "suite_recipes",
    "suite_row", "suite_text", "train_language_model", "train_recipe", "windows",
]  # fmt: skip
