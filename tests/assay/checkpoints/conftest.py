"""Checkpoints of every kind, written by the libraries that own the kinds."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from assay.data import references


@pytest.fixture(autouse=True)
def own_hashes(tmp_path, monkeypatch):
    """Hashes are remembered by path and time; a test has its own memory of them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(references, "_known", None)


@pytest.fixture
def folder(tmp_path):
    """`folder(*shards, config=…)` writes a Hugging Face folder: one mapping of tensors a shard."""

    def write(*shards, config=None, name="model", kind="safetensors"):
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        stem = "model" if kind == "safetensors" else "pytorch_model"
        weight_map = {}
        for number, tensors in enumerate(shards, 1):
            part = "" if len(shards) == 1 else f"-{number:05}-of-{len(shards):05}"
            file = root / f"{stem}{part}.{kind}"
            if kind == "safetensors":
                save_file(dict(tensors), file)
            else:
                torch.save(dict(tensors), file)
            weight_map |= dict.fromkeys(tensors, file.name)
        if len(shards) > 1:
            (root / f"{stem}.{kind}.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
        if config is not None:
            (root / "config.json").write_text(json.dumps(config))
        return root

    return write


@pytest.fixture
def gguf_file(tmp_path):
    """`gguf_file({name: array or (array, type)}, **fields)` writes a GGUF file."""

    def write(tensors, architecture="llama", tokens=None, kinds=None, name="model.gguf"):
        path: Path = tmp_path / name
        writer = gguf.GGUFWriter(path, architecture)
        if tokens is not None:
            writer.add_token_list([f"t{i}" for i in range(tokens)])
            writer.add_token_types(kinds or [1] * tokens)
        for key, value in tensors.items():
            if isinstance(value, tuple):
                array, kind = value
                writer.add_tensor(key, gguf.quantize(array, kind), raw_dtype=kind)
            else:
                writer.add_tensor(key, np.ascontiguousarray(value))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    return write


@pytest.fixture
def llama():
    """`llama(layers, V, d)`: tensors of a small Llama, in no order."""

    def make(layers=3, V=40, d=8, tied=False, dtype=torch.float32):
        draw = torch.Generator().manual_seed(layers * 1000 + V * 10 + d)
        names = {
            f"model.layers.{i}.{part}.weight": (d, d)
            for i in range(layers)
            for part in ("self_attn.q_proj", "mlp.up_proj")
        }
        shapes = {"model.norm.weight": (d,), **names, "model.embed_tokens.weight": (V, d)}
        if not tied:
            shapes["lm_head.weight"] = (V, d)
        return {name: torch.randn(shape, generator=draw).to(dtype) for name, shape in shapes.items()}

    return make
