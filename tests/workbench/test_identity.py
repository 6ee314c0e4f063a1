"""Keys: every byte of every input, the code that is reached, and nothing that only people see."""

import gc
import importlib.util
import inspect
import sys
import textwrap
import time
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from workbench.identity import code_of, content_hash, key, source_of


def test_one_changed_weight_changes_the_hash():
    weights = np.zeros((4096, 512), dtype=np.float32)
    before = content_hash(weights)
    weights[3071, 211] += 1000
    assert content_hash(weights) != before


@given(hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(max_dims=3, max_side=4), elements={"allow_nan": False}))
def test_the_hash_of_an_array_is_that_of_its_content(array):
    assert content_hash(array) == content_hash(array.copy(order="F"))
    assert content_hash({"a": [array]}) == content_hash({"a": [array.copy()]})
    assert content_hash(array) != content_hash(array.reshape(-1, 1, 1, 1))


def test_tensors_of_every_float_type_hash_by_their_bytes():
    values = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    hashes = {content_hash(values.to(d)) for d in (torch.float32, torch.float64, torch.float16, torch.bfloat16)}
    assert len(hashes) == 4
    assert content_hash(values.t()) == content_hash(values.t().contiguous()) != content_hash(values)
    changed = values.to(torch.bfloat16)
    before = content_hash(changed)
    changed[2, 3] += 1
    assert content_hash(changed) != before


@given(st.recursive(st.one_of(st.integers(), st.text(max_size=3), st.booleans(), st.none()),
                    lambda x: st.lists(x, max_size=3), max_leaves=6),
       st.recursive(st.one_of(st.integers(), st.text(max_size=3), st.booleans(), st.none()),
                    lambda x: st.lists(x, max_size=3), max_leaves=6))  # fmt: skip
def test_different_plain_data_hash_differently(a, b):
    assert (content_hash(a) == content_hash(b)) == (repr(a) == repr(b))


def test_what_has_no_content_is_refused():
    with pytest.raises(TypeError, match="no content hash"):
        content_hash(object())
    with pytest.raises(TypeError, match="objects"):
        content_hash(np.array([object()]))


SOURCE = '''
import numpy as np

SCALE = 2.0
TITLE = "unused"

def helper(x):
    """Double."""
    return SCALE * x  # a comment

def unrelated(x):
    return x + 1

def member(beta):
    """What it does."""
    return helper(np.float64(beta))
'''


def load(tmp_path, source: str, name: str):
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def digest_of(tmp_path, monkeypatch):
    count = 0

    def digest(source: str) -> str:
        nonlocal count
        count += 1
        name = "assay_identity_case"
        monkeypatch.setitem(sys.modules, name, None)
        (tmp_path / str(count)).mkdir()
        return code_of(load(tmp_path / str(count), source, name).member).digest

    return digest


def test_code_that_is_reached_changes_the_digest_and_words_do_not(digest_of):
    base = digest_of(SOURCE)
    for change in [
        ("SCALE = 2.0", "SCALE = 3.0"),
        ("return SCALE * x", "return SCALE + x"),
        ("float64(beta)", "float32(beta)"),
    ]:
        assert digest_of(SOURCE.replace(*change)) != base, change
    for change in [
        ('"""Double."""', '"""Twice."""'), ("# a comment", "# another"), ("x + 1", "x + 2"),
        ('"unused"', '"still unused"'), ("What it does.", "What it did."), ("\n\ndef member", "\n\n\n\ndef member"),
    ]:  # fmt: skip
        assert digest_of(SOURCE.replace(*change)) == base, change


def test_packages_that_are_reached_are_known(tmp_path):
    assert "numpy" in code_of(load(tmp_path, SOURCE, "assay_identity_packages").member).packages


def test_the_library_is_followed_through_its_modules(tmp_path):
    source = "from assay.data import samples\n\ndef member():\n    return samples()\n"
    with_library = code_of(load(tmp_path, source, "assay_identity_library").member)
    plain = code_of(
        load(
            tmp_path, "def samples():\n    return {}\n\ndef member():\n    return samples()\n", "assay_identity_own"
        ).member
    )
    assert with_library.digest != plain.digest


def test_a_key_changes_with_member_controls_code_and_device():
    code = code_of(load)
    base = key("s/m", {"beta": 0.5}, code)
    assert base == key("s/m", {"beta": 0.5}, code)
    other_code = code_of(test_packages_that_are_reached_are_known)
    others = {
        key("s/n", {"beta": 0.5}, code),
        key("s/m", {"beta": 0.25}, code),
        key("s/m", {"beta": 0.5}, code, "cuda"),
        key("s/m", {"beta": "0.5"}, code),
        key("s/m", {"beta": 0.5}, other_code),
    }
    assert base not in others and len(others) == 5


def test_threads_may_ask_for_the_code_of_classes_at_once():
    """CPython 3.11's parser counts its depth across threads, and the source of a class is found by parsing."""

    def turn(*_: object) -> None:
        time.sleep(0)  # a collection in the middle of parsing may let another thread in

    gc.callbacks.append(turn)
    before = gc.get_threshold()
    gc.set_threshold(200)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(source_of, [ArgumentParser, inspect.Signature] * 4))
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(turn)
    assert found[:2] * 4 == found and found[0].startswith("class ArgumentParser")
