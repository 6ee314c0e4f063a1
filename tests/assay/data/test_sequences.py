"""Labelled sequences are checked once: what comes out is what went in, and what is wrong is named in one sentence."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data import InputError, labelled_sequences


def arrays(samples=6, length=9, features=2):
    rng = np.random.default_rng(0)
    return rng.normal(size=(samples, length, features)), np.arange(samples) % 2


@settings(max_examples=40)
@given(
    samples=st.integers(4, 9),
    length=st.integers(8, 12),
    frame=st.sampled_from([(), (1,), (3,), (2, 3), (2, 1, 3)]),
    dtype=st.sampled_from(["f2", "f4", "f8", ">f4", "u1", "i2", "i4", "?"]),
    fs=st.floats(1e-3, 1e6),
    text=st.booleans(),
    seed=st.integers(0, 9),
)
def test_values_labels_and_groups_come_back(samples, length, frame, dtype, fs, text, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(samples, length, *frame)).astype(dtype)
    y = rng.permutation(np.arange(samples) % 2)
    labels = np.array(["walk", "jump"])[y] if text else y
    group = rng.integers(-3, 3, size=samples)
    made = labelled_sequences(X, labels, fs, group=group)
    assert made.X.dtype == (np.float64 if dtype in ("f8", "i4") else np.float32)
    np.testing.assert_array_equal(made.X, X.reshape(samples, length, -1))
    assert np.prod(made.feature_shape) == made.X.shape[2] == len(made.feature_names)
    assert [made.classes[code] for code in made.y] == [str(label) for label in labels.tolist()]
    assert [made.group_names[code] for code in made.group] == [str(name) for name in group.tolist()]
    assert (made.fs, made.has_groups, made.warnings) == (fs, True, ())
    assert made.duration_s * fs == pytest.approx(length)
    for array in (made.X, made.y, made.group):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_names_of_numbers_are_in_the_order_of_the_numbers():
    X, _ = arrays(6)
    made = labelled_sequences(X, [10, 9, 10, 9, 2, 2], 1.0, group=[100, 20, 3, 3, 20, 100])
    assert (made.classes, made.group_names) == (("2", "9", "10"), ("3", "20", "100"))


def test_a_callers_array_may_change_afterwards():
    X, y = arrays()
    made = labelled_sequences(X, y, 1.0)
    before = made.X.copy()
    X[:] = 0
    np.testing.assert_array_equal(made.X, before)


def test_without_groups_each_sample_is_its_own_and_a_warning_says_so():
    X, y = arrays()
    made = labelled_sequences(X, y, 1.0)
    assert len(set(made.group.tolist())) == len(made)
    assert len(made.warnings) == 1
    assert made.warnings[0].startswith("No group")


def test_the_fingerprint_follows_every_part_but_the_name():
    X, y = arrays()
    base = {"X": X, "y": y, "fs": 2.0, "group": np.arange(6) % 3, "is_test": np.arange(6) < 2}
    same = labelled_sequences(**base, name="another").fingerprint
    changed = [
        base | {"X": X + np.eye(6)[:, :1, None]},
        base | {"X": X.astype(np.float32)},
        base | {"y": 1 - y},
        base | {"y": np.array(["a", "b"])[y]},
        base | {"fs": 2.5},
        base | {"group": np.arange(6) // 2},
        base | {"group": None},
        base | {"is_test": None},
        base | {"feature_names": ("left", "right")},
        base | {"X": X.reshape(6, 9, 2, 1)},
    ]
    marks = [labelled_sequences(**base).fingerprint, *(labelled_sequences(**one).fingerprint for one in changed)]
    assert marks[0] == same
    assert len(set(marks)) == len(marks)


@given(mask=st.lists(st.booleans(), min_size=6, max_size=6))
def test_taking_some_samples_keeps_them_whole(mask):
    X, y = arrays()
    made = labelled_sequences(X, y, 1.0, group=np.arange(6) % 3, is_test=np.arange(6) < 2)
    part, index = made.take(np.array(mask)), np.flatnonzero(mask)
    for name in ("X", "y", "group", "is_test"):
        np.testing.assert_array_equal(getattr(part, name), getattr(made, name)[index])
    assert part.classes == made.classes


BAD = {
    "X: got sequences of unequal length; expected (N, L), (N, L, F) or (N, L, C, H, W).": {"X": [[1, 2], [1]]},
    "X: got text; expected real numbers.": {"X": np.array([["a"] * 8] * 6)},
    "X: got objects; expected real numbers.": {"X": np.array([[None] * 8] * 6)},
    "X: got complex numbers; expected real numbers.": {"X": np.ones((6, 8), complex)},
    "X: got dates; expected real numbers.": {"X": np.zeros((6, 8), "M8[s]")},
    "X: got shape (128,); expected (N, L), (N, L, F) or (N, L, C, H, W).": {"X": np.ones(128)},
    "X: got shape (0, 8), which holds nothing; expected samples.": {"X": np.ones((0, 8))},
    "X: sequences have 7 frames; expected at least 8.": {"X": np.ones((6, 7))},
    "X: 9 non-finite values in sample 4; expected finite values.": {
        "X": np.where(np.arange(6)[:, None] == 4, np.nan, np.ones((6, 9)))
    },
    "X: 54 non-finite values in samples 0, 1, 2, 3, 4 and 1 more; expected finite values.": {
        "X": np.full((6, 9), -np.inf)
    },
    "y: got shape (5,); expected (6,), one for each sample.": {"y": np.arange(5)},
    "y: got 0.5 in sample 0; expected whole numbers or text.": {"y": np.full(6, 0.5)},
    "y: got nan in sample 0; expected whole numbers or text.": {"y": np.full(6, np.nan)},
    "y: got objects; expected whole numbers or text.": {"y": np.array([None] * 6)},
    "y: has one class (7); expected at least 2.": {"y": np.full(6, 7)},
    "y: class 3 has 1 sample; expected at least 2.": {"y": [0, 0, 0, 0, 0, 3]},
    "y: got 0 to 2; expected 0 to 1, for each class.": {"y": [0, 1, 2, 0, 1, 2], "classes": ("a", "b")},
    "y: class c has 0 samples; expected at least 2.": {"classes": ("a", "b", "c")},
    "fs: got 0; expected a finite number above 0 Hz.": {"fs": 0},
    "fs: got -1.5; expected a finite number above 0 Hz.": {"fs": -1.5},
    "fs: got nan; expected a finite number above 0 Hz.": {"fs": np.nan},
    "fs: got inf; expected a finite number above 0 Hz.": {"fs": np.inf},
    "fs: got True; expected a finite number above 0 Hz.": {"fs": True},
    "fs: got '30 Hz'; expected a finite number above 0 Hz.": {"fs": "30 Hz"},
    "fs: got None; expected a finite number above 0 Hz.": {"fs": None},
    "fs: got an array of shape (2,); expected a finite number above 0 Hz.": {"fs": [1.0, 2.0]},
    "group: got shape (2,); expected (6,), one for each sample.": {"group": [0, 1]},
    "is_test: got int64 of shape (6,); expected bool of shape (6,).": {"is_test": np.zeros(6, np.int64)},
    "feature_names: got 1 name; expected 2.": {"feature_names": ("one",)},
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_is_named_in_one_sentence(sentence):
    X, y = arrays()
    with pytest.raises(InputError) as caught:
        labelled_sequences(**({"X": X, "y": y, "fs": 30.0} | BAD[sentence]))
    assert str(caught.value) == sentence
