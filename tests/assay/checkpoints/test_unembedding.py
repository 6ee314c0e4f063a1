"""The unembedding as a whole: which matrix, which gain, which rows, and what is refused."""

from __future__ import annotations

import json

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from assay import checkpoints
from assay.checkpoints import find_unembedding


def refused(source, **options):
    with pytest.raises(ValueError, match=r"\S") as caught:
        find_unembedding(source, **options)
    assert type(caught.value) is ValueError
    return str(caught.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_llama(folder, llama, dtype):
    tensors = llama(dtype=dtype)
    found = find_unembedding(folder(tensors, config={"model_type": "llama", "vocab_size": 40}))
    assert (found.key, found.tied, found.vocab_used, found.bias, found.shift) == (
        "lm_head.weight",
        False,
        40,
        None,
        None,
    )
    assert torch.equal(found.weight, tensors["lm_head.weight"].to(found.weight.dtype))
    assert found.weight.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert found.gain is not None and torch.equal(found.gain, tensors["model.norm.weight"].to(found.gain.dtype))
    assert found.dtype == {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "float64": "F64"}[str(dtype)[6:]]
    assert found.notes == ()


def test_the_logits_are_those_of_the_model(folder):
    """GPT-2's end: layer norm with gain and shift, then the tied embedding."""
    torch.manual_seed(0)
    norm, embedding = torch.nn.LayerNorm(6), torch.nn.Embedding(11, 6)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    tensors = {"wte.weight": embedding.weight, "ln_f.weight": norm.weight, "ln_f.bias": norm.bias,
               "h.0.ln_1.weight": torch.ones(6)}  # fmt: skip
    root = folder({name: tensor.detach() for name, tensor in tensors.items()}, config={"model_type": "gpt2"})
    found = find_unembedding(root)
    assert found.tied and found.gain is not None and found.shift is not None
    hidden = torch.randn(5, 6)
    wanted = norm(hidden) @ embedding.weight.T
    plain = torch.nn.functional.layer_norm(hidden, (6,))
    torch.testing.assert_close((found.gain * plain + found.shift) @ found.weight.T, wanted)


@pytest.mark.parametrize(("kind", "added"), [("gemma", 1.0), ("llama", 0.0)])
def test_gain_of_gemma_is_one_plus_weight(folder, llama, kind, added):
    tensors = llama(tied=True)
    found = find_unembedding(folder(tensors, config={"model_type": kind, "tie_word_embeddings": True}))
    assert found.tied and found.key == "model.embed_tokens.weight"
    assert found.gain is not None and torch.equal(found.gain, tensors["model.norm.weight"] + added)


def test_tied_weights_are_counted_once_and_shown(folder, llama):
    opened = checkpoints.open(folder(llama(tied=True), config={"tie_word_embeddings": True}))
    rows = {row.name: row for row in opened.report()}
    assert rows["lm_head.weight"].tied_to == "model.embed_tokens.weight" and rows["lm_head.weight"].parameters == 0
    assert sum(row.parameters for row in rows.values()) == sum(t.numel() for t in llama(tied=True).values())
    assert "lm_head.weight" not in opened.names()
    assert torch.equal(opened.tensor("lm_head.weight"), llama(tied=True)["model.embed_tokens.weight"])


def test_weights_that_are_stored_twice_with_equal_values_are_tied(folder, llama):
    tensors = llama()
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
    opened = checkpoints.open(folder(tensors, config={"tie_word_embeddings": True}))
    assert find_unembedding(opened).tied
    row = next(row for row in opened.report() if row.name == "lm_head.weight")
    assert (row.tied_to, row.parameters, row.nbytes) == ("model.embed_tokens.weight", 0, 4 * 40 * 8)
    tensors["lm_head.weight"][39, 7] += 1
    found = find_unembedding(folder(tensors, config={"tie_word_embeddings": True}))
    assert not found.tied and any("yet they differ" in note for note in found.notes)


def test_a_shared_storage_is_tied(tmp_path):
    """The original Mamba's file: head and embedding are one storage."""
    embedding = torch.randn(16, 4)
    torch.save(
        {"backbone.embedding.weight": embedding, "backbone.layers.0.mixer.A_log": torch.ones(8, 4),
         "backbone.norm_f.weight": torch.ones(4), "lm_head.weight": embedding}, tmp_path / "pytorch_model.bin",
    )  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps({"d_model": 4, "n_layer": 1, "vocab_size": 13}))
    found = find_unembedding(tmp_path)
    assert (found.tied, found.key, found.vocab_used) == (True, "backbone.embedding.weight", 13)
    assert found.notes[-1] == "3 of 16 rows are padding, past the 13 tokens of vocab_size."


def test_a_tied_embedding_that_is_damaged_is_no_reason_to_take_another(folder, llama):
    """The head is in a shard that is missing: it is not taken for tied."""
    tensors = llama()
    root = folder(
        {n: t for n, t in tensors.items() if n != "lm_head.weight"}, {"lm_head.weight": tensors["lm_head.weight"]}
    )
    (root / "model-00002-of-00002.safetensors").unlink()
    assert refused(root) == (
        "lm_head.weight: is named in model.safetensors.index.json, but model-00002-of-00002.safetensors is missing."
    )


@pytest.mark.parametrize("vocabulary", [{"model": {"vocab": {"a": 0, "b": 36}}, "added_tokens": [{"id": 37}]},
                                        {"model": {"vocab": [["a", 0.0]] * 38}}])  # fmt: skip
def test_rows_past_the_tokenizer_are_padding(folder, llama, vocabulary):
    root = folder(llama(), config={"model_type": "llama", "vocab_size": 40})
    (root / "tokenizer.json").write_text(json.dumps(vocabulary))
    found = find_unembedding(root)
    assert found.vocab_used == 38 and len(found.weight) == 40
    assert found.notes == ("2 of 40 rows are padding, past the 38 tokens of tokenizer.json.",)


@pytest.mark.parametrize("text", ["{", "{}", '{"model": {"vocab": {"a": "b"}}}', '{"model": {"vocab": 3}}'])
def test_a_damaged_tokenizer_says_nothing(folder, llama, text):
    root = folder(llama(), config={"model_type": "llama", "vocab_size": 40})
    (root / "tokenizer.json").write_text(text)
    assert find_unembedding(root).vocab_used == 40


def test_more_tokens_than_rows(folder, llama):
    root = folder(llama(), config={"model_type": "llama"})
    (root / "vocab.json").write_text(json.dumps({"a": 0, "z": 49}))
    found = find_unembedding(root)
    assert found.vocab_used == 40 and found.notes == ("vocab.json gives 50 tokens, more than the 40 rows.",)


def test_zero_rows_at_the_end_are_padding(folder, llama):
    tensors = llama()
    tensors["lm_head.weight"][35:] = 0
    tensors["lm_head.weight"][3] = 0
    found = find_unembedding(folder(tensors, config={"model_type": "llama"}))
    assert found.vocab_used == 35 and found.notes == ("5 of 40 rows are padding: all zero, at the end.",)


def test_gguf_tied_padded_and_quantised(gguf_file):
    values = np.random.default_rng(0).standard_normal((40, 32)).astype(np.float32)
    tensors = {"token_embd.weight": (values, gguf.GGMLQuantizationType.Q8_0), "blk.0.w": np.ones((2, 2), "f4"),
               "output_norm.weight": np.full(32, 2, np.float32)}  # fmt: skip
    path = gguf_file(tensors, tokens=40, kinds=[1] * 37 + [5] * 3)
    found = find_unembedding(path)
    assert (found.key, found.tied, found.dtype, found.vocab_used) == ("token_embd.weight", True, "Q8_0", 37)
    assert found.weight.shape == (40, 32) and np.abs(found.weight.numpy() - values).max() < 0.02
    assert found.gain is not None and found.gain.tolist() == [2.0] * 32
    assert found.notes[0] == "token_embd.weight is stored as Q8_0: quantisation changes its small singular values."
    rows = {row.name: row for row in checkpoints.open(path).report()}
    assert rows["output.weight"].tied_to == "token_embd.weight" and rows["token_embd.weight"].verdict == "quantised"


@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_a_matrix_of_its_own(tmp_path, suffix):
    weight = np.random.default_rng(0).standard_normal((30, 5))
    path = tmp_path / f"unembedding.{suffix}"
    if suffix == "npy":
        np.save(path, weight)
    else:
        np.savez(path, W=weight, steps=np.arange(3))
    found = find_unembedding(path)
    assert found.key == ("unembedding" if suffix == "npy" else "W") and not found.tied and found.gain is None
    np.testing.assert_array_equal(found.weight.numpy(), weight)


def test_a_key_goes_before_the_family(folder, llama):
    tensors = llama()
    found = find_unembedding(folder(tensors), key="model.embed_tokens.weight")
    assert not found.tied and torch.equal(found.weight, tensors["model.embed_tokens.weight"])
    assert refused(folder(tensors), key="lm_hed.weight").startswith(
        "lm_hed.weight: is not in model; closest are lm_head"
    )


def test_an_encoder_is_refused_and_its_embedding_can_be_asked_for(folder):
    embedding = torch.randn(9, 4)
    root = folder({"embeddings.word_embeddings.weight": embedding, "encoder.layer.0.w": torch.ones(2)})
    assert "an encoder has input embeddings only" in refused(root)
    assert torch.equal(find_unembedding(root, key="embeddings.word_embeddings.weight").weight, embedding)


def plain(weight, tmp_path, **others):
    save_file({"lm_head.weight": weight, **others}, tmp_path / "m.safetensors")
    return tmp_path / "m.safetensors"


def test_what_is_no_matrix_of_weights(tmp_path):
    assert refused(plain(torch.ones(32000), tmp_path)) == "lm_head.weight: expected 2-D [vocab, hidden], got (32000,)."
    assert refused(plain(torch.ones(9, 4, dtype=torch.int8), tmp_path)) == (
        "lm_head.weight: expected floating-point weights, got I8 codes."
    )
    eight = torch.ones(9, 4).to(torch.float8_e4m3fn)
    assert refused(plain(eight, tmp_path, **{"lm_head.weight_scale_inv": torch.ones(1, 1)})) == (
        "lm_head.weight: expected plain weights, got F8_E4M3 to be scaled by lm_head.weight_scale_inv."
    )
    assert any("stored as F8_E4M3" in note for note in find_unembedding(plain(eight, tmp_path)).notes)
    hurt = torch.ones(40, 4)
    hurt[17, 2], hurt[30, 0] = float("nan"), float("inf")
    assert refused(plain(hurt, tmp_path)) == (
        "lm_head.weight: expected finite weights, got 1 NaN and 1 infinite values, first in row 17."
    )


def test_what_looks_transposed(tmp_path, folder):
    weight = torch.randn(4, 30)
    path = plain(weight, tmp_path)
    assert refused(path) == (
        "lm_head.weight: [4, 30] looks transposed: vocab must be the longer side (pass transpose=True to force)."
    )
    assert torch.equal(find_unembedding(path, transpose=True).weight, weight.T)
    kept = find_unembedding(path, transpose=False)
    assert torch.equal(kept.weight, weight)
    assert "lm_head.weight has 4 rows of 30: rank is capped by vocabulary." in kept.notes


def test_fewer_tokens_than_dimensions(folder, llama):
    """A small vocabulary is no transposed matrix where the gain or the configuration says so."""
    capped = "lm_head.weight has 5 rows of 8: rank is capped by vocabulary."
    assert find_unembedding(folder(llama(V=5))).notes[-1] == capped
    headless = {name: tensor for name, tensor in llama(V=5).items() if "norm" not in name}
    found = find_unembedding(folder(headless, config={"model_type": "olmo", "vocab_size": 5}))
    assert found.notes[-1] == capped and found.gain is None
    assert "looks transposed" in refused(folder(headless, config={"model_type": "olmo", "vocab_size": 8}))


@pytest.mark.parametrize(
    ("norm", "said"),
    [(torch.ones(7), "The gain has shape (7,), not (8,): it is left out."),
     (torch.full((8,), float("nan")), "model.norm.weight: holds NaN, infinity or no floats, and is left out.")],
)  # fmt: skip
def test_a_gain_that_does_not_fit_is_left_out_and_said(folder, llama, norm, said):
    found = find_unembedding(folder(llama() | {"model.norm.weight": norm}, config={"model_type": "llama"}))
    assert found.gain is None and said in found.notes
