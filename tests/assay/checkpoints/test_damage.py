"""Damaged files of every kind: one sentence, or the tensors that are whole."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from assay import checkpoints

pytestmark = pytest.mark.filterwarnings("ignore:Detected pickle protocol")

KINDS = ("model.safetensors", "model.gguf", "state.pt", "old.pt", "model.npz", "packed.npz", "one.npy")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a small whole file of each kind."""
    root = tmp_path_factory.mktemp("whole")
    draw = torch.Generator().manual_seed(0)
    tensors = {
        "lm_head.weight": torch.randn(20, 8, generator=draw),
        "model.embed_tokens.weight": torch.randn(20, 8, generator=draw).bfloat16(),
        "model.norm.weight": torch.ones(8),
        "model.layers.10.w": torch.arange(5),
    }
    arrays = {name: tensor.float().numpy() for name, tensor in tensors.items()}
    save_file(tensors, root / "model.safetensors")
    torch.save({"model": tensors, "step": 3}, root / "state.pt")
    torch.save(tensors, root / "old.pt", _use_new_zipfile_serialization=False)
    np.savez(root / "model.npz", **arrays)
    np.savez_compressed(root / "packed.npz", **arrays)
    np.save(root / "one.npy", arrays["lm_head.weight"])
    writer = gguf.GGUFWriter(root / "model.gguf", "llama")
    writer.add_token_list(["a"] * 20)
    writer.add_tensor("token_embd.weight", np.ones((20, 32), np.float32))
    kind = gguf.GGMLQuantizationType.Q4_1
    writer.add_tensor("blk.0.w", gguf.quantize(np.ones((3, 64), np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {name: (root / name).read_bytes() for name in KINDS}


def explore(path):
    """All that a study may ask of a checkpoint; whatever is wrong is one sentence."""
    try:
        opened = checkpoints.open(path)
    except ValueError as error:
        check(error)
        return None
    rows = opened.report()
    assert {row.name for row in rows} == {*opened.names(), *opened.damaged, *opened.ties}
    for row in rows:
        if row.verdict == "damaged":
            assert row.sentence
            with pytest.raises(ValueError, match=r"\S") as caught:
                opened.tensor(row.name)
            check(caught.value)
        elif not row.tied_to:
            assert opened.tensor(row.name).shape == row.shape
    try:
        checkpoints.find_unembedding(opened)
    except ValueError as error:
        check(error)
    return opened


def check(error):
    """Raised on purpose, and short."""
    assert type(error) is ValueError and 10 < len(str(error)) < 1000 and str(error).endswith((".", ")"))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_file_that_is_cut_off(whole, tmp_path, kind, data):
    raw = whole[kind]
    keep = data.draw(st.integers(0, len(raw) - 1))
    (tmp_path / kind).write_bytes(raw[:keep])
    opened = explore(tmp_path / kind)
    if opened is not None and kind in ("model.safetensors", "model.gguf"):
        assert opened.damaged or keep >= len(raw) - 32, "a tensor of a cut file is reported whole"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_bytes_that_were_changed(whole, tmp_path, kind, data):
    raw = bytearray(whole[kind])
    near = st.integers(0, min(len(raw), 700) - 1)
    places = st.lists(st.one_of(near, st.integers(0, len(raw) - 1)), min_size=1, max_size=6)
    for place in data.draw(places):
        raw[place] = data.draw(st.one_of(st.integers(0, 255), st.sampled_from([0, 255, raw[place] ^ 1])))
    (tmp_path / kind).write_bytes(raw)
    explore(tmp_path / kind)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.floats(0, 1), count=st.integers(1, 200))
def test_a_piece_that_is_missing(whole, tmp_path, kind, start, count):
    raw = whole[kind]
    first = int(start * len(raw))
    (tmp_path / kind).write_bytes(raw[:first] + raw[first + count :])
    explore(tmp_path / kind)


def header(text):
    raw = text.encode()
    return len(raw).to_bytes(8, "little") + raw


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "begins like no known kind"),
        ('{"a": 1', "its header is no JSON object of tensors"),
        ('{"a": {}, "a": {}}', "its header is no JSON object of tensors"),
        ("{" + '"a":{' * 60_000, "its header is no JSON object of tensors"),
        ('{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}', "does not fit F32 of its shape"),
        ('{"w": {"dtype": "F32", "shape": [-1], "data_offsets": [0, -4]}}', "does not fit F32 of its shape"),
        ('{"w": {"dtype": "F32", "shape": [true], "data_offsets": [0, 4]}}', "does not fit F32 of its shape"),
        ('{"w": {"dtype": "F32", "shape": [1e99], "data_offsets": [0, 4]}}', "does not fit F32 of its shape"),
        ('{"w": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}}', "its header in"),
        ('{"w": {"dtype": [], "shape": [1], "data_offsets": [0, 4]}}', "its header in"),
        ('{"w": {"dtype": "F32", "shape": 3, "data_offsets": [0, 4]}}', "its header in"),
        ('{"w": [1, 2]}', "its header in"),
        ('{"w": {"dtype": "F32", "shape": [1], "data_offsets": [9000, 9004]}}', "got 0 of 4 bytes"),
        ('{"__metadata__": 3}', "holds no tensors"),
    ],
)  # fmt: skip
def test_headers_of_safetensors(tmp_path, text, said):
    (tmp_path / "m.safetensors").write_bytes(header(text) + bytes(8))
    with pytest.raises(ValueError, match=r"\S") as caught:
        checkpoints.open(tmp_path / "m.safetensors")
    assert said in str(caught.value) and str(caught.value).endswith(".")


def test_tensors_that_share_bytes_are_not_both_read(tmp_path):
    text = (
        '{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},'
        ' "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}}'
    )
    (tmp_path / "m.safetensors").write_bytes(header(text) + bytes(12))
    opened = checkpoints.open(tmp_path / "m.safetensors")
    assert opened.names() == ("a",)
    assert opened.damaged["b"] == "b: overlaps a in m.safetensors; expected bytes of its own."


def test_lengths_in_a_gguf_header_ask_for_no_memory(whole, tmp_path):
    """A billion tokens of nothing: the library's own reader would count them one by one."""
    raw = whole["model.gguf"]
    place = raw.index(b"tokenizer.ggml.tokens") + len("tokenizer.ggml.tokens") + 8
    assert int.from_bytes(raw[place : place + 8], "little") == 20
    (tmp_path / "m.gguf").write_bytes(raw[:place] + (10**9).to_bytes(8, "little") + raw[place + 8 :])
    with pytest.raises(ValueError, match=r"^m\.gguf: its header declares 1,000,000,000 entries; expected a whole"):
        checkpoints.open(tmp_path / "m.gguf")
    big = raw[:4] + raw[4:8][::-1] + raw[8:]
    (tmp_path / "m.gguf").write_bytes(big)
    with pytest.raises(ValueError, match=r"^m\.gguf: is big-endian; expected a little-endian GGUF file of version"):
        checkpoints.open(tmp_path / "m.gguf")
