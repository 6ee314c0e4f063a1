"""Archives that nobody vouches for: round trips of `.npz`, no pickles, nothing unpacked before its size is known."""

import io
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.data import InputError, open_sequences
from assay.data.archive import open_archive


def good():
    return {"X": np.ones((4, 8), np.float32) * np.arange(4)[:, None], "y": np.array([0, 0, 1, 1]), "fs": 30.0}


def sentence_of(path, **options):
    with pytest.raises(InputError) as caught:
        open_sequences(path, **options)
    return str(caught.value)


@settings(max_examples=25)
@given(
    samples=st.integers(4, 8),
    frame=st.sampled_from([(), (3,), (2, 2, 2)]),
    dtype=st.sampled_from(["f4", "f8", ">f8", "i2"]),
    fs=st.floats(0.01, 1e5),
    compressed=st.booleans(),
    grouped=st.booleans(),
    split=st.booleans(),
    named=st.booleans(),
    seed=st.integers(0, 9),
)
def test_npz_round_trip(tmp_path_factory, samples, frame, dtype, fs, compressed, grouped, split, named, seed):
    rng = np.random.default_rng(seed)
    given_arrays = {
        "X": rng.integers(-99, 99, size=(samples, 10, *frame)).astype(dtype),
        "y": rng.permutation(np.arange(samples) % 2),
        "fs": fs,
    }
    if grouped:
        given_arrays["group"] = np.array(["anna", "bo", "änne"])[rng.integers(3, size=samples)]
    if split:
        given_arrays["is_test"] = rng.integers(2, size=samples).astype(bool)
    if named:
        given_arrays["classes"] = np.array(["walk", "jump"])
    path = tmp_path_factory.mktemp("npz") / "mine.npz"
    (np.savez_compressed if compressed else np.savez)(path, **given_arrays)
    read = open_sequences(path)
    np.testing.assert_array_equal(read.X, given_arrays["X"].reshape(samples, 10, -1))
    np.testing.assert_array_equal(read.y, given_arrays["y"])
    assert (read.fs, read.name, read.feature_shape) == (fs, "mine", frame or (1,))
    assert read.classes == (("walk", "jump") if named else ("0", "1"))
    assert read.has_groups == grouped
    if grouped:
        assert [read.group_names[i] for i in read.group] == given_arrays["group"].tolist()
    if split:
        np.testing.assert_array_equal(read.is_test, given_arrays["is_test"])
    else:
        assert read.is_test is None
    assert open_sequences(path, 2 * fs).fs == 2 * fs
    assert open_sequences(path).fingerprint == read.fingerprint


def test_an_unknown_rate_is_asked_for(tmp_path):
    arrays = good()
    del arrays["fs"]
    np.savez(tmp_path / "a.npz", **arrays)
    expected = "fs: a.npz has no sampling rate; expected an array fs or a rate in Hz."
    assert sentence_of(tmp_path / "a.npz") == expected
    assert open_sequences(tmp_path / "a.npz", 25.0).fs == 25.0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": None}, "a.npz: has no array y; got X, fs."),
        ({"X": np.ones(128)}, "X: got shape (128,); expected (N, L), (N, L, F) or (N, L, C, H, W)."),
        ({"y": np.zeros(4, int)}, "y: has one class (0); expected at least 2."),
        ({"fs": 0.0}, "fs: got 0.0; expected a finite number above 0 Hz."),
        ({"fs": "fast"}, "fs: got 'fast'; expected a finite number above 0 Hz."),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, change, sentence):
    arrays = {name: array for name, array in (good() | change).items() if array is not None}
    np.savez(tmp_path / "a.npz", **arrays)
    assert sentence_of(tmp_path / "a.npz") == sentence


class Trap:
    """Unpickling this would fail the test."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_objects_are_refused_and_never_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", **(good() | {"y": np.array([Trap()] * 4, dtype=object)}))
    assert sentence_of(tmp_path / "a.npz") == "a.npz: array y holds Python objects; expected numbers or text."


def test_a_file_must_be_there_whole_and_small_enough(tmp_path):
    path = tmp_path / "a.npz"
    assert sentence_of(path) == "a.npz: no such file; expected a file of labelled sequences."
    path.touch()
    assert sentence_of(path) == "a.npz: is empty; expected labelled sequences."
    path.write_bytes(b"not an archive")
    assert sentence_of(path) == "a.npz: is not a whole .npz archive; expected one written by numpy.savez."
    np.savez(path, **good())
    size = path.stat().st_size
    with pytest.raises(InputError, match=rf"^a\.npz: has {size:,} bytes; expected at most 100\.$"):
        open_archive(path, 100)
    (tmp_path / "a.mat").write_bytes(b"MATLAB")
    assert sentence_of(tmp_path / "a.mat") == (
        "a.mat: is of no known kind; expected .npz, .csv, .parquet, .txt or a folder."
    )


def test_an_archive_that_would_fill_the_memory_is_not_unpacked(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((1000, 1000)), y=np.zeros(1000))
    assert (tmp_path / "a.npz").stat().st_size < 100_000
    with pytest.raises(InputError, match=r"^a\.npz: unpacks to 8,008,\d{3} bytes; expected at most 100,000\.$"):
        open_archive(tmp_path / "a.npz", 100_000)


def test_a_header_that_claims_more_than_is_stored_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**9)})
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as bundle:
        bundle.writestr("X.npy", header.getvalue() + bytes(80))
    assert sentence_of(tmp_path / "a.npz") == (
        "a.npz: array X is damaged; expected 1000000000000000000 entries of float64."
    )


def test_more_arrays_than_anyone_needs_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", **{f"a{i}": np.zeros(1) for i in range(65)})
    assert sentence_of(tmp_path / "a.npz") == "a.npz: holds 65 arrays; expected at most 64."


@settings(max_examples=150)
@given(compressed=st.booleans(), at=st.floats(0, 1, exclude_max=True), cut=st.booleans(), bits=st.integers(1, 255))
def test_damage_anywhere_is_a_sentence_or_harmless(tmp_path_factory, compressed, at, cut, bits):
    path = tmp_path_factory.mktemp("damaged") / "a.npz"
    (np.savez_compressed if compressed else np.savez)(path, **good())
    whole = path.read_bytes()
    position = int(at * len(whole))
    path.write_bytes(
        whole[:position] if cut else whole[:position] + bytes([whole[position] ^ bits]) + whole[position + 1 :]
    )
    try:
        read = open_sequences(path)
    except InputError as error:
        sentence = str(error)
    else:
        assert not cut
        np.testing.assert_array_equal(read.X[:, :, 0], good()["X"])
        return
    assert sentence.endswith(".")
    assert "\n" not in sentence
