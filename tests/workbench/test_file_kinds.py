"""Kinds of files: told by content, refused in one sentence, never run or unpacked."""

import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save as save_safetensors

from workbench.file_kinds import check_kind


def saved(save, *args, **kwargs):
    out = io.BytesIO()
    save(out, *args, **kwargs)
    return out.getvalue()


def zipped(members, compression=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return out.getvalue()


class Evil:
    def __reduce__(self):
        return (print, ("run",))


NPY = saved(np.save, np.arange(3.0))
GOOD = {
    "a.npz": (saved(np.savez_compressed, X=np.zeros((3, 2)), y=np.array(["a", "b"])), "a NumPy archive"),
    "a.npy": (NPY, "a NumPy array"),
    "a.pt": (saved(lambda out, x: torch.save(x, out), {"w": torch.ones(2)}), "PyTorch weights"),
    "a.safetensors": (save_safetensors({"w": torch.ones(2)}), "safetensors"),
    "a.gguf": (b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "GGUF"),
    "a.parquet": (saved(lambda out, x: x.to_parquet(out), pd.DataFrame({"t": [0.0]})), "Parquet"),
    "a.csv": ("t,größe\n0,1\n".encode(), "text"),
    "config.json": (json.dumps({"a": 1}).encode(), "text"),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_kind_is_told_by_what_a_file_holds(tmp_path, name):
    content, kind = GOOD[name]
    path = tmp_path / "draft.part"
    path.write_bytes(content)
    assert check_kind(path, name) == kind
    other = "a.csv" if kind != "text" else "a.npz"
    with pytest.raises(ValueError, match=f"{other} holds {kind}; expected a name that ends in"):
        check_kind(path, other)


BAD = {
    "a.pkl": (pickle.dumps(Evil()), "is a pickle"),
    "a.npz": (pickle.dumps({"X": 1}, protocol=2), "is a pickle"),
    "objects.npz": (saved(np.savez, X=np.array([Evil()], dtype=object)), "holds Python objects"),
    "objects.npy": (saved(np.save, np.array([{}], dtype=object)), "holds Python objects"),
    "bomb.npz": (zipped({f"{i}.npy": NPY[:80] + b"\0" * 10_000_000 for i in range(3)}), "is not an array|is damaged"),
    "bomb.pt": (zipped({"m/data.pkl": b"x", "m/data/0": b"\0" * 5_000_000}), "unpack to far more"),
    "up.npz": (zipped({"../../x.npy": NPY}), "inside the archive only"),
    "root.npz": (zipped({"/etc/x.npy": NPY}), "inside the archive only"),
    "back.npz": (zipped({"..\\x.npy": NPY}), "inside the archive only"),
    "docs.zip": (zipped({"word/document.xml": b"<a/>"}), "archive of other files"),
    "empty.npz": (zipped({}) , "no kind that is read here|archive"),
    "cut.npz": (GOOD["a.npz"][0][:60], "not whole"),
    "cut.npy": (NPY[:9], "not whole"),
    "odd.npy": (b"\x93NUMPY\x01\x00\x10\x00{'descr': (((((\n", "not whole"),
    "a.gz": (b"\x1f\x8b\x08\0rest", "is packed with gzip"),
    "a.png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "no kind that is read here; expected .npz"),
    "nul.csv": (b"a,b\n\x00\x01\n", "no kind that is read here"),
    "latin.csv": ("größe".encode("latin-1"), "no kind that is read here"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_read_here_is_refused_in_one_sentence(tmp_path, capsys, name):
    content, says = BAD[name]
    path = tmp_path / "draft.part"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says) as refused:
        check_kind(path, name)
    assert str(refused.value).startswith(name) and "\n" not in str(refused.value)
    assert "draft" not in str(refused.value)
    assert capsys.readouterr().out == "", "something was run"


HEADS = ["", "PK\x03\x04", "\x93NUMPY", "GGUF", "PAR1", "\x80\x04"]


@given(st.binary(min_size=1, max_size=400), st.sampled_from(HEADS))
def test_whatever_comes_is_a_kind_or_a_sentence(tmp_path_factory, rest, head):
    path = tmp_path_factory.getbasetemp() / "drawn.part"
    path.write_bytes(head.encode("latin-1") + rest)
    try:
        said = check_kind(path, "a.csv")
    except ValueError as error:
        said = str(error)
    assert said == "text" or (said.startswith("a.csv ") and "\n" not in said)


@pytest.mark.parametrize("name", ["cell.swc", "votes.soc", "prompts.jsonl", "README", "table.CSV"])
def test_text_may_be_called_as_its_field_has_it(tmp_path, name):
    (tmp_path / "file").write_text("1 1 0 0 0 8 -1\n")
    assert check_kind(tmp_path / "file", name) == "text"


@pytest.mark.parametrize("name", ["cell.npz", "model.safetensors", "model.PT", "table.parquet"])
def test_text_is_not_called_as_another_kind(tmp_path, name):
    (tmp_path / "file").write_text("1 1 0 0 0 8 -1\n")
    with pytest.raises(ValueError, match=f"{name} holds text; expected a name that ends in .csv"):
        check_kind(tmp_path / "file", name)
