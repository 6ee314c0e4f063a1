"""Folders: shards, index, configuration; what is missing is said, and the rest is read."""

from __future__ import annotations

import hashlib
import json
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from assay import checkpoints


def refused(path):
    with pytest.raises(ValueError, match=r"\S") as caught:
        checkpoints.open(path)
    assert type(caught.value) is ValueError
    return str(caught.value)


def halves(tensors):
    names = list(tensors)
    return [{n: tensors[n] for n in names[::2]}, {n: tensors[n] for n in names[1::2]}]


@pytest.mark.parametrize("kind", ["safetensors", "bin"])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_whole_folder(folder, llama, kind, parts):
    tensors = llama()
    shards = [tensors] if parts == 1 else halves(tensors)
    opened = checkpoints.open(folder(*shards, config={"model_type": "llama"}, kind=kind))
    assert opened.kind == "Hugging Face folder" and opened.name == "model" and not opened.notes
    assert set(opened.names()) == set(tensors) and not opened.damaged
    for name, tensor in tensors.items():
        assert torch.equal(opened.tensor(name), tensor)
    assert len(opened.layers()) == 3
    assert opened.parts.family == "Llama-like" and opened.config["model_type"] == "llama"
    assert pickle.loads(pickle.dumps(opened)).names() == opened.names()  # a worker process may get it


def test_a_missing_shard(folder, llama):
    root = folder(*halves(llama()))
    (root / "model-00002-of-00002.safetensors").unlink()
    opened = checkpoints.open(root)
    lost = list(halves(llama())[1])
    sentence = (
        "model-00002-of-00002.safetensors: is missing; model.safetensors.index.json names "
        f"{len(lost)} tensors in it, expected it there."
    )
    assert opened.notes == (sentence,)
    assert set(opened.names()) == set(halves(llama())[0]) and set(opened.damaged) == set(lost)
    with pytest.raises(ValueError, match=rf"^{lost[0]}: is named in model.*json, but model-00002-of-.* is missing\.$"):
        opened.tensor(lost[0])
    rows = {row.name: row for row in opened.report()}
    assert rows[lost[0]].verdict == "damaged" and rows[lost[0]].shape is None
    assert all(rows[name].verdict != "damaged" for name in opened.names())


def test_an_index_that_names_what_is_not_there(folder, llama):
    root = folder(*halves(llama()))
    path = root / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"]["model.layers.9.ghost"] = "model-00001-of-00002.safetensors"
    path.write_text(json.dumps(index))
    opened = checkpoints.open(root)
    assert opened.damaged == {
        "model.layers.9.ghost": "model.layers.9.ghost: is named in model.safetensors.index.json, but "
        "model-00001-of-00002.safetensors does not hold it."
    }
    assert set(opened.names()) == set(llama())


@pytest.mark.parametrize("keep", [0, 5, 60, 0.9, -1])
def test_a_shard_that_is_cut_off(folder, llama, keep):
    root = folder(*halves(llama()))
    shard = root / "model-00002-of-00002.safetensors"
    whole = shard.read_bytes()
    shard.write_bytes(whole[: int(keep * len(whole)) if 0 < keep < 1 else keep])
    opened = checkpoints.open(root)
    assert set(halves(llama())[0]) <= set(opened.names())
    assert opened.damaged and all(name in halves(llama())[1] for name in opened.damaged)
    for name in opened.names():
        assert torch.equal(opened.tensor(name), llama()[name])
    for name in opened.damaged:
        with pytest.raises(ValueError, match=rf"^{name}: [^\n]+\.$"):
            opened.tensor(name)
    if keep in (0.9, -1):
        assert len(opened.damaged) < len(halves(llama())[1]), "what lies before the cut is read"


@pytest.mark.parametrize(
    "place",
    ["/etc/passwd", "../secret.safetensors", "a/../../secret.safetensors", "C:\\secret", "\\\\host\\share",
     "..\\secret", "", "shard\0.safetensors", "x" * 5000, "."],
)  # fmt: skip
def test_an_index_reads_nothing_outside_its_folder(folder, llama, tmp_path, place):
    save_file({"stolen": torch.ones(3)}, tmp_path / "secret.safetensors")
    root = folder(*halves(llama()))
    path = root / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"]["stolen"] = place
    path.write_text(json.dumps(index))
    opened = checkpoints.open(root)
    assert set(opened.names()) == set(llama())
    outside = "is missing" if place in ("x" * 5000, ".") else "lies outside the folder"
    assert outside in opened.damaged["stolen"] and len(opened.notes) == 1


def test_a_shard_in_a_folder_below(folder, llama):
    root = folder(*halves(llama()))
    (root / "deep").mkdir()
    (root / "model-00002-of-00002.safetensors").rename(root / "deep" / "model-00002-of-00002.safetensors")
    path = root / "model.safetensors.index.json"
    path.write_text(path.read_text().replace("model-00002", "deep/model-00002"))
    opened = checkpoints.open(root)
    assert set(opened.names()) == set(llama()) and not opened.notes


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": 3}', '{"weight_map": {"a": 1}}', "[" * 100_000])
def test_a_damaged_index_is_passed_over(folder, llama, text):
    root = folder(*halves(llama()))
    (root / "model.safetensors.index.json").write_text(text)
    opened = checkpoints.open(root)
    assert set(opened.names()) == set(llama())
    assert len(opened.notes) == 1 and opened.notes[0].startswith("model.safetensors.index.json: ")


def test_numbered_shards_without_an_index(folder, llama):
    root = folder(*halves(llama()))
    (root / "model.safetensors.index.json").unlink()
    assert set(checkpoints.open(root).names()) == set(llama())
    (root / "model-00001-of-00002.safetensors").unlink()
    assert checkpoints.open(root).notes == ("model: got 1 of 2 shards, expected number 1 too.",)


@pytest.mark.parametrize("text", ["{", "[1]", "\xff"])
def test_a_damaged_configuration_is_said(folder, llama, text):
    root = folder(llama())
    (root / "config.json").write_text(text)
    (note,) = checkpoints.open(root).notes
    assert note.startswith("config.json: ") and note.endswith("object.")


def test_the_same_name_in_two_shards(folder, llama):
    root = folder({"w": torch.zeros(2), "a": torch.ones(1)}, {"v": torch.ones(2)})
    save_file({"w": torch.ones(2), "v": torch.ones(2)}, root / "model-00002-of-00002.safetensors")
    assert checkpoints.open(root).tensor("w").tolist() == [0, 0], "the index says the first"
    (root / "model.safetensors.index.json").unlink()
    opened = checkpoints.open(root)
    assert opened.tensor("w").tolist() == [0, 0] and len(opened.notes) == 1


def test_other_files_of_weights(tmp_path, llama, gguf_file):
    """An adapter, a lone GGUF or state dict; several are too many, and steps are named."""
    (tmp_path / "adapter").mkdir()
    save_file({"layers.0.lora_A.weight": torch.ones(2, 3)}, tmp_path / "adapter" / "adapter_model.safetensors")
    assert checkpoints.open(tmp_path / "adapter").names() == ("layers.0.lora_A.weight",)
    (tmp_path / "lone").mkdir()
    gguf_file({"token_embd.weight": np.ones((4, 2), "f4")}, name="lone/any.gguf")
    opened = checkpoints.open(tmp_path / "lone")
    assert (opened.kind, opened.config["general.architecture"]) == ("GGUF", "llama")
    torch.save(llama(), tmp_path / "lone" / "other.pt")
    assert refused(tmp_path / "lone") == (
        "lone: holds several sets of weights (any.gguf, other.pt); expected one, or the path of one."
    )
    for step in (0, 1000, 200):
        (tmp_path / "run" / f"step{step}").mkdir(parents=True)
    assert refused(tmp_path / "run") == (
        "run: holds folders (step0, step200, step1000) and no weights; expected a file such as model.safetensors."
    )
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path / "empty") == "empty: holds no weights; expected a file such as model.safetensors."


def test_what_cannot_be_opened(tmp_path):
    (tmp_path / "none").touch()
    (tmp_path / "text.txt").write_text("These are not weights at all.")
    assert refused(tmp_path / "none") == "none: is empty; expected a file of weights."
    assert refused(tmp_path / "gone") == "gone: is not there; expected a checkpoint."
    assert refused(tmp_path / "text.txt") == (
        "text.txt: begins like no known kind; expected safetensors, GGUF, torch.save, .npz or .npy."
    )
    assert refused("") == "path: got ''; expected a file or folder."
    assert refused("a\0b").startswith("path: got 'a\\x00b'")
    assert "cannot be read" in refused(tmp_path / ("x" * 5000))


class Bomb:
    """Pickled code: it would make a file."""

    def __init__(self, place):
        self.place = place

    def __reduce__(self):
        return (open, (str(self.place), "w"))


@pytest.mark.parametrize("legacy", [False, True])
def test_pickled_code_is_refused_and_not_run(tmp_path, folder, llama, legacy):
    place = tmp_path / "ran"
    torch.save({"w": torch.ones(2), "x": Bomb(place)}, tmp_path / "m.pt", _use_new_zipfile_serialization=not legacy)
    assert refused(tmp_path / "m.pt") == (
        "m.pt: holds pickled code (io.open); expected tensors only, as torch.save(model.state_dict()) writes."
    )
    root = folder(*halves(llama()), kind="bin")
    (root / "pytorch_model-00002-of-00002.bin").write_bytes((tmp_path / "m.pt").read_bytes())
    opened = checkpoints.open(root)
    assert set(opened.names()) == set(halves(llama())[0])
    assert opened.notes[0].startswith("pytorch_model-00002-of-00002.bin: holds pickled code (io.open);")
    assert not place.exists()


def test_a_whole_model_is_no_state_dict(tmp_path):
    torch.save(torch.nn.Linear(2, 2), tmp_path / "m.pt")
    assert refused(tmp_path / "m.pt").startswith("m.pt: holds pickled code (torch.nn.modules.linear.Linear);")


def test_the_fingerprint_is_of_what_decides(folder, llama):
    root = folder(*halves(llama()), config={"model_type": "llama"})
    before = checkpoints.open(root).fingerprint()
    assert before == checkpoints.open(root).fingerprint()
    (root / "README.md").write_text("new")
    assert checkpoints.open(root).fingerprint() == before
    moved = root.rename(root.with_name("elsewhere"))
    assert checkpoints.open(moved).fingerprint() == before
    for name in ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "config.json"):
        raw = (moved / name).read_bytes()
        (moved / name).write_bytes(raw[:-2] + bytes([raw[-2] ^ 1]) + raw[-1:])
        if name != "config.json":
            assert checkpoints.open(moved).fingerprint() != before
        (moved / name).write_bytes(raw)
        assert checkpoints.open(moved).fingerprint() == before
    (moved / "config.json").write_text('{"model_type": "gemma"}')
    assert checkpoints.open(moved).fingerprint() != before


def test_shards_that_change_places_change_the_fingerprint(folder, llama):
    root = folder(*halves(llama()))
    one, two = (root / f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
    before = checkpoints.open(root).fingerprint()
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    assert checkpoints.open(root).fingerprint() != before


def test_the_fingerprint_of_a_file_is_its_hash(tmp_path):
    save_file({"w": torch.ones(3)}, tmp_path / "m.safetensors")
    wanted = hashlib.sha256((tmp_path / "m.safetensors").read_bytes()).hexdigest()
    assert checkpoints.open(tmp_path / "m.safetensors").fingerprint() == wanted


def test_a_name_that_is_not_there_gets_the_closest(folder, llama):
    opened = checkpoints.open(folder(llama()))
    with pytest.raises(ValueError, match=r"^lm_heads.weight: is not in model; closest are lm_head\.weight, "):
        opened.tensor("lm_heads.weight")
    with pytest.raises(ValueError, match=r"closest are model\.layers\.2\.mlp\.up_proj\.weight, "):
        opened.stored("model.layers.2.mlp.upproj.weight")
