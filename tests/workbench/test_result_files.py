"""Results on disk: what is read is what was written, and nothing else is read."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from workbench.result_files import DamagedResult, files_folder, read_result, write_result
from workbench.results import Result, Table, exact, note, numeric, statistical

COLUMNS = {
    "n": exact("int"), "x": statistical("V", "height"), "on": numeric(dtype="bool"), "name": exact("str"),
    "why": note("words"),
}  # fmt: skip
ROWS = st.lists(
    st.fixed_dictionaries({
        "n": st.integers(-(2**63), 2**63 - 1), "x": st.floats(allow_infinity=False), "on": st.booleans(),
        "name": st.text(st.characters(exclude_categories=["Cs"]), max_size=5), "why": st.just("w"),
    }),
    max_size=8,
)  # fmt: skip
ARRAYS = hnp.arrays(st.sampled_from(["<f8", "<f4", "<i8", "|b1", "<c8"]), hnp.array_shapes(min_dims=0, min_side=0))


@settings(max_examples=30)
@given(ROWS, ARRAYS, st.binary(max_size=50))
def test_a_result_comes_back_as_it_was(tmp_path_factory, rows, array, content):
    folder = tmp_path_factory.mktemp("result")
    place = files_folder(folder) / "made.bin"
    place.write_bytes(content)
    result = Result({"a table/of ours": Table(COLUMNS, rows)}, {"w": array}, {"made.bin": place}, complete=True)
    manifest = write_result(result, folder)
    back = read_result(folder)
    assert back.digest == result.digest == manifest["digest"] and back.complete
    assert back.tables["a table/of ours"].columns == COLUMNS
    assert back.arrays["w"].dtype == array.dtype and back.arrays["w"].shape == array.shape
    assert len(back.tables["a table/of ours"]) == len(rows)
    assert all(
        math.isnan(r["x"]) or r["x"] == b["x"] for r, b in zip(rows, back.tables["a table/of ours"].rows(), strict=True)
    )


def written(folder):
    place = files_folder(folder) / "f.txt"
    place.write_text("text")
    table = Table({"n": exact("int")}, [{"n": 1}])
    write_result(Result({"t": table}, {"a": np.arange(3)}, {"f.txt": place}, complete=True), folder)
    return folder


@pytest.mark.parametrize("place", ["tables/0-t.parquet", "arrays/0-a.npy", "files/f.txt", "result.json"])
def test_a_file_that_was_changed_or_is_gone_is_refused(tmp_path, place):
    (written(tmp_path) / place).write_bytes(b"other")
    with pytest.raises(DamagedResult):
        read_result(tmp_path)
    (tmp_path / place).unlink()
    with pytest.raises(DamagedResult):
        read_result(tmp_path)


def test_a_manifest_of_another_format_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(DamagedResult):
        read_result(tmp_path)
    manifest = json.loads((written(tmp_path) / "result.json").read_text())
    (tmp_path / "result.json").write_text(json.dumps(manifest | {"format": 99}))
    with pytest.raises(DamagedResult, match="got a result of format 99; expected 1"):
        read_result(tmp_path)


def test_objects_and_files_that_are_not_there_are_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"pickle|Object"):
        write_result(Result(arrays={"a": np.array([object()])}, complete=True), tmp_path / "1")
    gone = files_folder(tmp_path / "2") / "gone.txt"
    with pytest.raises(ValueError, match=r"file 'gone\.txt': it was named but not written"):
        write_result(Result(files={"gone.txt": gone}, complete=True), tmp_path / "2")
    assert not (tmp_path / "1" / "result.json").exists() and not (tmp_path / "2" / "result.json").exists()
