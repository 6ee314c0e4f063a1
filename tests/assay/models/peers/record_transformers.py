"""Small models of transformers with what they give, kept so that tests need it not installed.

    .bench/sinq/bin/python tests/assay/models/peers/record_transformers.py

(`tests/assay/efficient/peers/record_sinq.py` says how that environment is made) writes `transformers.npz` beside this
file: for a Llama with grouped queries, a Qwen3 with normed queries and a BERT, configuration, weights, tokens and
logits or states; and tokens of a line by a byte-level BPE that was trained on a few words, with its `tokenizer.json`.
"""

import json
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

torch.manual_seed(0)
SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 4, "max_position_embeddings": 32}  # fmt: skip
tokens = torch.randint(0, 64, (2, 11))
kept = {"tokens": tokens.numpy()}


def keep(name, model, out):
    kept[f"{name}/config"] = np.array(json.dumps(model.config.to_dict()))
    kept[f"{name}/out"] = out.detach().numpy()
    for key, value in model.state_dict().items():
        kept[f"{name}/{key}"] = value.numpy()


for name, made, config in (
    ("llama", LlamaForCausalLM, LlamaConfig(**SIZES, num_key_value_heads=2, rope_theta=5000.0, initializer_range=0.3)),
    ("qwen3", Qwen3ForCausalLM, Qwen3Config(**SIZES, num_key_value_heads=2, head_dim=16, tie_word_embeddings=True,
                                            initializer_range=0.3)),
):  # fmt: skip
    model = made(config).eval()
    with torch.no_grad():
        for key, value in model.named_parameters():
            if "norm" in key:
                value.copy_(1 + 0.3 * torch.randn_like(value))
        keep(name, model, model(tokens).logits)
bert = BertModel(BertConfig(**SIZES, initializer_range=0.3), add_pooling_layer=False).eval()
mask = torch.ones_like(tokens)
mask[1, 7:] = 0
with torch.no_grad():
    keep("bert", bert, bert(tokens, attention_mask=mask).last_hidden_state)
kept["mask"] = mask.numpy()

bpe = Tokenizer(models.BPE())
bpe.pre_tokenizer = pre_tokenizers.Sequence([
    pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False),
])  # fmt: skip
words = ["the cat sat on the mat, the hat's brim; 1984 isn't over —", "naïve café déjà vu  two  spaces\n\nend"]
bpe.train_from_iterator(words * 3, trainers.BpeTrainer(
    vocab_size=320, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|end|>"],
))  # fmt: skip
line = "the café's hat: 1984 mats —\n\n naïve  end"
kept["tokenizer.json"] = np.array(bpe.to_str())
kept["line"] = np.array(line)
kept["line_tokens"] = np.array(bpe.encode(line).ids)
versions = {name: metadata.version(name) for name in ("transformers", "tokenizers", "torch")}
np.savez_compressed(
    Path(__file__).parent / "transformers.npz", allow_pickle=False, versions=np.array(str(versions)), **kept
)
