"""Results: declared columns, digests that see what is compared and nothing else."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.results import Result, Table, exact, note, numeric, statistical, tables_of, timing

COLUMNS = {
    "step": exact("int"), "name": exact("str"), "height": statistical("V"), "error": numeric("V"),
    "took": timing(), "remark": note(),
}  # fmt: skip
ROW = {"step": 1, "name": "a", "height": 0.5, "error": 1e-9, "took": 0.1, "remark": "fine"}

rows = st.lists(
    st.fixed_dictionaries({
        "step": st.integers(-(2**53), 2**53), "name": st.text(max_size=5),
        "height": st.floats(allow_infinity=False), "error": st.floats(allow_infinity=False, allow_nan=False),
        "took": st.floats(0, 9), "remark": st.text(max_size=5),
    }), max_size=5,
)  # fmt: skip


@given(rows)
def test_a_table_survives_json_with_its_digest(cases):
    table = Table(COLUMNS, cases)
    again = Table.from_json(table.as_json())
    assert again.columns == table.columns
    assert Result({"t": again}).digest == Result({"t": table}).digest


def test_the_digest_sees_values_kinds_and_names_but_not_timing_or_notes():
    base = Result({"t": Table(COLUMNS, [ROW])}).digest
    for name, value in {"step": 2, "name": "b", "height": 0.5000001, "error": 2e-9}.items():
        assert Result({"t": Table(COLUMNS, [ROW | {name: value}])}).digest != base
    for name, value in {"took": 9.0, "remark": "other"}.items():
        assert Result({"t": Table(COLUMNS, [ROW | {name: value}])}).digest == base
    assert Result({"u": Table(COLUMNS, [ROW])}).digest != base
    assert Result({"t": Table(COLUMNS | {"height": numeric("V")}, [ROW])}).digest != base


def test_the_digest_sees_every_entry_of_an_array_its_dtype_and_shape(tmp_path):
    array = np.zeros((1000, 1000), dtype=np.float32)
    base = Result(arrays={"w": array}).digest
    changed = array.copy()
    changed[999, 123] = 1e-7
    assert Result(arrays={"w": changed}).digest != base
    assert Result(arrays={"w": array.reshape(-1)}).digest != base
    assert Result(arrays={"w": array.astype(np.float64)}).digest != base
    assert Result(arrays={"w": array.copy(order="F")}).digest == base
    (tmp_path / "f").write_bytes(b"x")
    assert Result(arrays={"w": array}, files={"f": tmp_path / "f"}).digest != base


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"step": 1.5}, "step: got 1.5; expected a whole number"),
        ({"step": True}, "step: got True; expected a number"),
        ({"height": math.inf}, "height: got inf; expected a finite number"),
        ({"height": "x"}, "height: got 'x'; expected a number"),
        ({"other": 1}, "row: unknown other; expected the columns step"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_whole(change, sentence):
    table = Table(COLUMNS)
    with pytest.raises(ValueError, match=sentence):
        table.append(ROW | change)
    assert len(table) == 0 and table.frame.shape == (0, 6)


def test_dtypes_of_the_frame_are_those_declared():
    frame = Table(COLUMNS, [ROW]).frame
    assert frame.dtypes.astype(str).to_dict() == {
        "step": "int64", "name": "object", "height": "float64", "error": "float64", "took": "float64",
        "remark": "object",
    }  # fmt: skip


def test_tables_are_declared_and_filled_once():
    declared = {"t": COLUMNS, "u": COLUMNS}
    result = tables_of({"t": [ROW], "w": np.ones(2)}, declared, {})
    assert result.complete and len(result.tables["u"]) == 0 and result.arrays["w"].sum() == 2
    with pytest.raises(ValueError, match="returned the table 'x'"):
        tables_of({"x": [ROW]}, declared, {})
    with pytest.raises(ValueError, match="both streamed and returned"):
        tables_of({"t": [ROW]}, declared, {"t": Table(COLUMNS, [ROW])})
