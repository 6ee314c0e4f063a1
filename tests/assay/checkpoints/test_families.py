"""Where the families keep their parts: names as in published checkpoints."""

from __future__ import annotations

import pytest

from assay.checkpoints.families import closest, locate


def layers(pattern, *parts):
    return [f"{pattern.format(i)}.{part}" for i in (0, 1, 10) for part in parts]


LLAMA = layers("model.layers.{}", "self_attn.q_proj.weight", "mlp.up_proj.weight", "input_layernorm.weight")
GPT2 = layers("h.{}", "attn.c_attn.weight", "attn.c_attn.bias", "ln_1.weight", "mlp.c_proj.weight")
NEOX = layers("gpt_neox.layers.{}", "attention.query_key_value.weight", "attention.dense.bias")
MAMBA = layers("backbone.layers.{}", "mixer.A_log", "mixer.D", "mixer.dt_proj.weight", "norm.weight")
OLMO = layers("transformer.blocks.{}", "att_proj.weight", "ff_proj.weight", "ff_out.weight", "attn_out.weight")
BERT = layers("encoder.layer.{}", "attention.self.query.weight", "output.dense.weight", "output.LayerNorm.weight")
T5 = [f"{side}.{name}" for side in ("encoder", "decoder")
      for name in [*layers("block.{}", "layer.0.SelfAttention.q.weight"), "final_layer_norm.weight"]]  # fmt: skip
GGUF = layers("blk.{}", "attn_q.weight", "attn_output.weight", "ffn_norm.weight")
META = layers("layers.{}", "attention.wq.weight", "attention_norm.weight", "feed_forward.w1.weight")
FALCON = layers("transformer.h.{}", "self_attention.query_key_value.weight", "ln_attn.weight")


def under(prefix, names):
    return [prefix + name for name in names]


UNTIED = {
    "llama": (["lm_head.weight", "model.embed_tokens.weight", "model.norm.weight", *LLAMA], {"model_type": "llama"},
              ("Llama-like", "lm_head.weight", "model.embed_tokens.weight", "model.norm.weight", None)),
    "olmo, norm without weights": (["lm_head.weight", "model.embed_tokens.weight", *LLAMA], {"model_type": "olmo"},
              ("Llama-like", "lm_head.weight", "model.embed_tokens.weight", None, None)),
    "phi": (["lm_head.weight", "lm_head.bias", "model.embed_tokens.weight", "model.final_layernorm.weight",
             "model.final_layernorm.bias", *LLAMA], {"model_type": "phi"},
            ("Llama-like", "lm_head.weight", "model.embed_tokens.weight", "model.final_layernorm.weight",
             "lm_head.bias")),
    "a language model that sees": (
        [*under("language_model.", ["lm_head.weight", "model.embed_tokens.weight", "model.norm.weight", *LLAMA]),
         "vision_tower.vision_model.embeddings.patch_embedding.weight"], {"text_config": {"model_type": "llama"}},
        ("Llama-like", "language_model.lm_head.weight", "language_model.model.embed_tokens.weight",
         "language_model.model.norm.weight", None)),
    "original OLMo": (
        under("model.", ["transformer.ff_out.weight", "transformer.wte.weight", "transformer.ln_f.weight", *OLMO]), {},
        ("original OLMo", "model.transformer.ff_out.weight", "model.transformer.wte.weight",
         "model.transformer.ln_f.weight", None)),
    "coconut on GPT-2": (
        [*under("base_causallm.transformer.", ["wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias", *GPT2]),
         "base_causallm.lm_head.weight", "embedding.weight"], {},
        ("GPT-2", "base_causallm.lm_head.weight", "base_causallm.transformer.wte.weight",
         "base_causallm.transformer.ln_f.weight", None)),
    "pythia": (["embed_out.weight", "gpt_neox.embed_in.weight", "gpt_neox.final_layer_norm.weight",
                "gpt_neox.final_layer_norm.bias", *NEOX], {"model_type": "gpt_neox", "tie_word_embeddings": False},
               ("GPT-NeoX", "embed_out.weight", "gpt_neox.embed_in.weight", "gpt_neox.final_layer_norm.weight", None)),
    "mamba, original": (["lm_head.weight", "backbone.embedding.weight", "backbone.norm_f.weight", *MAMBA],
                        {"vocab_size": 50277},
                        ("Mamba", "lm_head.weight", "backbone.embedding.weight", "backbone.norm_f.weight", None)),
    "bert": ([*under("bert.", ["embeddings.word_embeddings.weight", "embeddings.LayerNorm.weight", *BERT]),
              "cls.predictions.decoder.weight", "cls.predictions.bias", "cls.predictions.transform.dense.weight",
              "cls.predictions.transform.LayerNorm.weight"], {"model_type": "bert"},
             ("BERT", "cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight",
              "cls.predictions.transform.LayerNorm.weight", "cls.predictions.bias")),
    "t5": (["shared.weight", "lm_head.weight", *T5], {"model_type": "t5", "tie_word_embeddings": False},
           ("T5", "lm_head.weight", "shared.weight", "decoder.final_layer_norm.weight", None)),
    "falcon": (["transformer.word_embeddings.weight", "transformer.ln_f.weight", "lm_head.weight", *FALCON], {},
               ("BLOOM and Falcon", "lm_head.weight", "transformer.word_embeddings.weight", "transformer.ln_f.weight",
                None)),
    "llama as Meta gives it": (["tok_embeddings.weight", "output.weight", "norm.weight", *META], {},
                               ("original Llama", "output.weight", "tok_embeddings.weight", "norm.weight", None)),
}  # fmt: skip

TIED = {
    "qwen": (["model.embed_tokens.weight", "model.norm.weight", *LLAMA],
             {"model_type": "qwen2", "tie_word_embeddings": True},
             ("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight")),
    "mistral, base model": (["embed_tokens.weight", "norm.weight", *layers("layers.{}", "mlp.up_proj.weight")], {},
                            ("embed_tokens.weight", "lm_head.weight", "norm.weight")),
    "original OLMo": (["transformer.wte.weight", *OLMO], {"weight_tying": True},
                      ("transformer.wte.weight", "transformer.ff_out.weight", None)),
    "gpt2": (["wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias", *GPT2], {"model_type": "gpt2"},
             ("wte.weight", "lm_head.weight", "ln_f.weight")),
    "mamba": (["backbone.embeddings.weight", "backbone.norm_f.weight", *MAMBA], {"model_type": "mamba"},
              ("backbone.embeddings.weight", "lm_head.weight", "backbone.norm_f.weight")),
    "bert": ([*under("bert.", ["embeddings.word_embeddings.weight", *BERT]), "cls.predictions.bias",
              "cls.predictions.transform.LayerNorm.weight"], {"model_type": "bert"},
             ("bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight",
              "cls.predictions.transform.LayerNorm.weight")),
    "roberta": ([*under("roberta.", ["embeddings.word_embeddings.weight", *BERT]), "lm_head.bias",
                 "lm_head.dense.weight", "lm_head.layer_norm.weight"], {"model_type": "roberta"},
                ("roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight",
                 "lm_head.layer_norm.weight")),
    "t5": (["shared.weight", *T5], {"model_type": "t5"},
           ("shared.weight", "lm_head.weight", "decoder.final_layer_norm.weight")),
}  # fmt: skip


@pytest.mark.parametrize("case", UNTIED)
def test_an_unembedding_of_its_own(case):
    names, config, (family, unembedding, embedding, norm, bias) = UNTIED[case]
    parts = locate(set(names), config)
    assert (parts.family, parts.unembedding, parts.embedding, parts.norm) == (family, unembedding, embedding, norm)
    assert parts.bias == bias and parts.head is None and not parts.refusal
    shift = (norm or "").replace("weight", "bias")
    assert parts.norm_bias == (shift if shift in names else None)
    assert any("final norm" in note for note in parts.notes) == (norm is None)


@pytest.mark.parametrize("case", TIED)
def test_an_unembedding_that_is_the_embedding(case):
    names, config, (embedding, head, norm) = TIED[case]
    parts = locate(set(names), config)
    assert (parts.unembedding, parts.embedding, parts.head, parts.norm) == (embedding, embedding, head, norm)
    assert any("taken as tied" in note for note in parts.notes) == (not config)


def test_gguf():
    parts = locate({"token_embd.weight", "output_norm.weight", *GGUF}, {"general.architecture": "gemma2"}, gguf=True)
    assert (parts.unembedding, parts.head, parts.norm) == ("token_embd.weight", "output.weight", "output_norm.weight")
    assert not parts.unit_gain, "the converter has added the 1"
    parts = locate({"token_embd.weight", "output.weight", "output_norm.weight", *GGUF}, {}, gguf=True)
    assert (parts.unembedding, parts.head) == ("output.weight", None)


@pytest.mark.parametrize(
    ("config", "unit"),
    [({"model_type": "gemma"}, True), ({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text"}}, True),
     ({"model_type": "paligemma", "text_config": {"model_type": "gemma2"}}, True), ({"model_type": "llama"}, False),
     ({"model_type": "gemma3n"}, False), ({"model_type": "qwen3"}, False), ({}, False)],
)  # fmt: skip
def test_whose_norm_multiplies_by_one_plus_weight(config, unit):
    parts = locate({"model.embed_tokens.weight", "model.norm.weight", *LLAMA}, config)
    assert parts.unit_gain == unit
    assert any("1 + weight" in note for note in parts.notes) == (unit or not config)


def test_an_encoder_has_input_embeddings_only():
    parts = locate({"embeddings.word_embeddings.weight", "pooler.dense.weight", *BERT}, {"model_type": "bert"})
    assert parts.unembedding is None and parts.embedding == "embeddings.word_embeddings.weight"
    assert parts.refusal == (
        "cls.predictions.decoder.weight: is not there, for an encoder has input embeddings only; expected a language "
        "model, or key='embeddings.word_embeddings.weight' to take those."
    )
    parts = locate({"token_embd.weight", *GGUF}, {"general.architecture": "nomic-bert"}, gguf=True)
    assert "encoder" in parts.refusal


def test_a_missing_head_that_nothing_ties():
    names = {"model.embed_tokens.weight", "model.norm.weight", *LLAMA}
    parts = locate(names, {"model_type": "llama", "tie_word_embeddings": False})
    assert parts.refusal.startswith(
        "lm_head.weight: is missing, and config.json does not tie it to model.embed_tokens.weight; closest are "
    )
    parts = locate({"tok_embeddings.weight", "norm.weight", *META}, {})
    assert parts.refusal.startswith("output.weight: is missing; closest are ")


def test_names_that_nobody_knows():
    parts = locate({"weights", "zzz"}, {})
    assert parts.refusal == "unembedding: got no key that is known as one; closest are weights, zzz, expected key=."
    parts = locate({"encoder.0.weight", "unembed.weight", "unembed.bias"}, {})
    assert (parts.family, parts.unembedding, parts.bias) == ("unknown", "unembed.weight", "unembed.bias")
    assert locate(set(), {}).refusal.startswith("unembedding: ")


def test_the_closest_names():
    names = {"model.embed_tokens.weight", "lm_heads.weight", *LLAMA}
    assert closest("lm_head.weight", names).split(", ")[0] == "lm_heads.weight"
    assert not any(name in closest("lm_head.weight", names) for name in LLAMA), "layers only where layers are asked for"
    assert closest("model.layers.1.mlp.up_proj.weigth", names).startswith("model.layers.1.mlp.up_proj.weight")
