"""Models run from their weights: the logits and states of transformers, kept with `peers/record_transformers.py`."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from assay import checkpoints
from assay.checkpoints.safetensors_writing import write_safetensors
from assay.efficient import absorb_scales, llama_plan
from assay.models import (
    PROSE_DECODER_FOLDER,
    ByteLevel,
    Decoder,
    DecoderShape,
    WordPieces,
    llama_of_decoder,
    read_bert,
    read_decoder,
    read_llama,
    read_tokens,
)
from assay.models.llama import GGUF_NAMES, unpaired


@pytest.fixture(scope="module")
def kept():
    with np.load(Path(__file__).parent / "peers" / "transformers.npz", allow_pickle=False) as held:
        return {name: held[name] for name in held.files}


def folder_of(kept, name, place, **changed):
    """The model as a Hugging Face folder."""
    config = json.loads(str(kept[f"{name}/config"])) | changed
    (place / "config.json").write_text(json.dumps(config))
    weights = {key.partition("/")[2]: torch.from_numpy(value) for key, value in kept.items()
               if key.startswith(f"{name}/") and not key.endswith(("/config", "/out"))}  # fmt: skip
    write_safetensors(place / "model.safetensors", weights)
    return checkpoints.open(place)


@pytest.mark.parametrize("name", ["llama", "qwen3"])
def test_logits_are_those_of_transformers(kept, tmp_path, name):
    model = read_llama(folder_of(kept, name, tmp_path))
    seen = {}
    found = model.logits(torch.from_numpy(kept["tokens"]), lambda key, x: seen.setdefault(key, x))
    torch.testing.assert_close(found, torch.from_numpy(kept[f"{name}/out"]), rtol=1e-4, atol=1e-4)
    assert set(seen) == set(model.matrices())
    for key, x in seen.items():
        assert x.shape[-1] == model.weights[key].shape[1]
    torch.testing.assert_close(model.loaded().logits(torch.from_numpy(kept["tokens"])), found)
    config = model.config()
    assert config["model_type"] == name and config["num_key_value_heads"] == 2


@pytest.mark.parametrize("name", ["llama", "qwen3"])
def test_absorbed_scales_leave_its_logits(kept, tmp_path, name):
    """With grouped queries too: heads that read the same values share their scales."""
    model = read_llama(folder_of(kept, name, tmp_path)).loaded()
    changed = absorb_scales(model.weights, llama_plan(model))
    assert all(not torch.equal(changed[key], model.weights[key]) for key in changed)
    tokens = torch.from_numpy(kept["tokens"])
    torch.testing.assert_close(model.with_weights(changed).logits(tokens), model.logits(tokens), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="plan: names model"):
        absorb_scales({}, llama_plan(model))


def test_embeddings_are_those_of_transformers(kept, tmp_path):
    model = read_bert(folder_of(kept, "bert", tmp_path))
    lengths = kept["mask"].sum(1)
    sentences = [row[:n].tolist() for row, n in zip(kept["tokens"], lengths, strict=True)]
    states = torch.from_numpy(kept["bert/out"])
    want = torch.stack([states[i, :n].mean(0) for i, n in enumerate(lengths)])
    seen = {}
    found = model.embed(sentences, lambda key, x: seen.setdefault(key, x))
    torch.testing.assert_close(found, torch.nn.functional.normalize(want, dim=1), rtol=1e-4, atol=1e-4)
    assert set(seen) == set(model.matrices()) and all(len(x) == lengths.sum() for x in seen.values())


def test_a_decoder_of_ours_is_a_llama():
    held = read_decoder(PROSE_DECODER_FOLDER)
    tokens = held.held_out[:2, :-1]
    with torch.no_grad():
        torch.testing.assert_close(llama_of_decoder(held.model).logits(tokens), held.model(tokens))
    parallel = Decoder(DecoderShape(16, 16, 1, parallel=True), torch.Generator())
    with pytest.raises(ValueError, match="got parallel blocks"):
        llama_of_decoder(parallel)


def test_rows_of_gguf_are_put_back():
    """llama.cpp interleaves both halves of a head for rotary positions."""
    weight = torch.arange(24.0).view(12, 2)
    mixed = weight.view(3, 2, 2, 2).transpose(1, 2).reshape(12, 2)
    assert torch.equal(unpaired(mixed, 3), weight)


def test_a_gguf_file_is_the_same_model_with_its_vocabulary(kept, tmp_path):
    import gguf

    config = json.loads(str(kept["llama/config"]))
    names = {hf: short for short, hf in GGUF_NAMES.items()}
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_block_count(2)
    writer.add_embedding_length(32)
    writer.add_context_length(32)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(5000.0)
    bpe = json.loads(str(kept["tokenizer.json"]))
    ordered = sorted(bpe["model"]["vocab"], key=bpe["model"]["vocab"].get)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(ordered)
    writer.add_token_merges([pair if isinstance(pair, str) else " ".join(pair) for pair in bpe["model"]["merges"]])
    for key, value in kept.items():
        name = key.removeprefix("llama/")
        if key.startswith("llama/model.layers."):
            number, inner = name.removeprefix("model.layers.").split(".", 1)
            inner, part = inner.rsplit(".", 1)
            if "q_proj" in inner or "k_proj" in inner:  # as llama.cpp's converter turns rows
                heads = 4 if "q_proj" in inner else 2
                value = value.reshape(heads, 2, -1, value.shape[1]).swapaxes(1, 2).reshape(value.shape)
            writer.add_tensor(f"blk.{number}.{names[inner]}.{part}", np.ascontiguousarray(value))
    plain = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    for hf, short in plain.items():
        writer.add_tensor(f"{short}.weight", kept[f"llama/{hf}.weight"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    opened = checkpoints.open(tmp_path / "m.gguf")
    found = read_llama(opened).logits(torch.from_numpy(kept["tokens"]))
    torch.testing.assert_close(found, torch.from_numpy(kept["llama/out"]), rtol=1e-4, atol=1e-4)
    assert read_tokens(opened).encode(str(kept["line"])) == kept["line_tokens"].tolist()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"model_type": "gpt2"}, "its model_type is gpt2; expected one of llama"),
        ({"rope_scaling": {"rope_type": "yarn"}}, r"scales its rotary positions \(yarn\)"),
        ({"num_hidden_layers": 3}, r"lacks model\.layers\.2\.self_attn"),
        ({"num_attention_heads": None}, "says nothing of num_attention_heads"),
    ],
)
def test_other_models_are_refused(kept, tmp_path, changed, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_llama(folder_of(kept, "llama", tmp_path, **changed))


def test_tokens_and_lengths_that_do_not_fit(kept, tmp_path):
    model = read_llama(folder_of(kept, "llama", tmp_path))
    with pytest.raises(ValueError, match="got 64; expected 0 to 63, the vocabulary"):
        model.logits(torch.tensor([[64]]))
    with pytest.raises(ValueError, match="got 33 in a row; expected at most 32"):
        model.logits(torch.zeros(1, 33, dtype=torch.long))
    with pytest.raises(ValueError, match="expected the weights of a BERT-like encoder"):
        read_bert(checkpoints.open(tmp_path))


def test_byte_level_tokens_are_those_of_the_library(kept, tmp_path):
    (tmp_path / "tokenizer.json").write_text(str(kept["tokenizer.json"]), encoding="utf-8")
    tokens = read_tokens(folder_of(kept, "llama", tmp_path))
    assert isinstance(tokens, ByteLevel)
    assert tokens.encode(str(kept["line"])) == kept["line_tokens"].tolist()
    assert tokens.encode("") == []


def test_word_pieces():
    tokens = WordPieces(["[UNK]", "[CLS]", "[SEP]", "play", "##ing", "##s", "cafe", ",", "play9"])
    assert tokens.encode("Playing, CAFÉS") == [1, 3, 4, 7, 6, 5, 2]
    assert tokens.encode("xyz " + "a" * 200) == [1, 0, 0, 2]
    with pytest.raises(ValueError, match=r"lacks \[CLS\]"):
        WordPieces(["[UNK]"])


def test_a_folder_without_a_tokenizer_says_so(kept, tmp_path):
    with pytest.raises(ValueError, match=r"has no tokenizer\.json beside it"):
        read_tokens(folder_of(kept, "llama", tmp_path))
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "Unigram", "vocab": {"a": 0}}}')
    with pytest.raises(ValueError, match="is no byte-level BPE"):
        read_tokens(checkpoints.open(tmp_path))
