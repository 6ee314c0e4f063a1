"""Controls: canonical values, round trips through text, and one sentence for everything else."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.controls import Choice, ControlError, Data, Flag, Integer, List, Matrix, Number, Text

NUMBER = Number(name="beta", default=0.5, bounds=(-3.0, 7.5), unit="V", doc="d")
LOG = Number(name="rate", default=1.0, bounds=(1e-6, 1e6), log=True, doc="d")
INTEGER = Integer(name="steps", default=3, bounds=(-5, 2**40), doc="d")
CHOICE = Choice(name="reset", default="soft", choices=("none", "soft", "hard"), doc="d")
FLAG = Flag(name="noisy", default=False, doc="d")
TEXT = Text(name="caption", default="a", pattern="[a-z]{1,8}", means="1 to 8 small letters", doc="d")
LIST = List(name="levels", default=(0.5,), bounds=(-4, 4), length=(1, 5), doc="d")
MATRIX = Matrix(name="mixing", default=((1, 0), (0, 1)), bounds=(-2, 2), rows=(1, 3), columns=(1, 3), doc="d")
DATA = Data(name="recording", samples=("a", "b"), needs="labelled sequences", doc="d")
SEVERAL = Data(name="models", samples=("a", "b"), many=True, doc="d")
OPTIONAL = Data(name="net", optional=True, needs="a net", doc="d")
ALL = [OPTIONAL, NUMBER, LOG, INTEGER, CHOICE, FLAG, TEXT, LIST, MATRIX, DATA, SEVERAL]

entries = st.floats(-2, 2, allow_nan=False)


@given(
    st.one_of(
        st.floats(-3, 7.5).map(lambda v: (NUMBER, v)),
        st.floats(1e-6, 1e6).map(lambda v: (LOG, v)),
        st.integers(-5, 2**40).map(lambda v: (INTEGER, v)),
        st.sampled_from(["none", "soft", "hard"]).map(lambda v: (CHOICE, v)),
        st.booleans().map(lambda v: (FLAG, v)),
        st.from_regex("[a-z]{1,8}", fullmatch=True).map(lambda v: (TEXT, v)),
        st.lists(entries, min_size=1, max_size=5).map(lambda v: (LIST, v)),
        st.integers(1, 3)
        .flatmap(lambda w: st.lists(st.lists(entries, min_size=w, max_size=w), min_size=1, max_size=3))
        .map(lambda v: (MATRIX, v)),
        st.sampled_from(["sample:a", "sha256:" + "0" * 64, "/some/where.npz", "a folder/x, y.csv"]).map(
            lambda v: (DATA, v)
        ),
        st.lists(st.sampled_from(["sample:a", "/x y.npz", "a,b.csv"]), min_size=1, max_size=3).map(
            lambda v: (SEVERAL, v)
        ),
    )
)
def test_a_canonical_value_survives_text_and_itself(case):
    control, value = case
    canonical = control.parse(value)
    assert control.parse(canonical) == canonical
    assert control.parse(control.text(canonical)) == canonical


@pytest.mark.parametrize("control", ALL, ids=lambda c: c.name)
@given(value=st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.binary(max_size=4),
    st.lists(st.one_of(st.floats(), st.text(max_size=3), st.booleans()), max_size=7),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2), st.complex_numbers(),
))  # fmt: skip
def test_anything_is_a_canonical_value_or_one_sentence_that_names_the_control(control, value):
    refused = None
    try:
        canonical = control.parse(value)
    except ControlError as error:
        refused = error
    if refused is None:
        assert control.parse(canonical) == canonical
    else:
        assert refused.field == control.name
        assert "expected" in str(refused) and "\n" not in str(refused) and len(str(refused)) < 400


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, True, False, np.True_, "nan", "inf", "true", None, [0.1]]
)
@pytest.mark.parametrize("control", [NUMBER, LOG, INTEGER], ids=lambda c: c.name)
def test_a_number_is_finite_and_never_a_bool(control, value):
    with pytest.raises(ControlError, match=f"^{control.name}: got .*expected a (whole )?number"):
        control.parse(value)


@pytest.mark.parametrize(
    ("control", "value", "sentence"),
    [
        (NUMBER, 8, "beta: got 8; expected a number from -3 to 7.5 V"),
        (INTEGER, 1.5, "steps: got 1.5; expected a whole number from -5 to 1099511627776"),
        (CHOICE, "warm", "reset: got 'warm'; expected one of none, soft, hard"),
        (FLAG, "maybe", "noisy: got 'maybe'; expected true or false"),
        (TEXT, "A1", "caption: got 'A1'; expected 1 to 8 small letters"),
        (LIST, "0.1, 9", "levels: got 9 at place 2; expected 1 to 5 numbers from -4 to 4, such as 0.1, 0.5"),
        (LIST, [], "levels: got 0 entries; expected 1 to 5 numbers from -4 to 4, such as 0.1, 0.5"),
        (MATRIX, "1,2;3", "mixing: got rows of unequal length; expected 1 to 3 rows of 1 to 3 numbers from -2 to 2, "
                          "such as 1, 0; 0, 1"),
        (DATA, "sample:../x", "recording: got 'sample:../x'; expected sample:NAME, sha256:HEX or a path to labelled "
                              "sequences"),
    ],
)  # fmt: skip
def test_the_sentence_names_field_what_came_and_what_was_expected(control, value, sentence):
    with pytest.raises(ControlError) as raised:
        control.parse(value)
    assert str(raised.value) == sentence


def test_an_optional_reference_may_be_empty():
    assert OPTIONAL.default == OPTIONAL.parse("") == OPTIONAL.parse(None) == ""
    with pytest.raises(ControlError, match=r"expected sample:NAME, sha256:HEX or a path to labelled sequences$"):
        DATA.parse("")


def test_minus_zero_is_zero():
    assert math.copysign(1, NUMBER.parse(-0.0)) == 1
    assert math.copysign(1, LIST.parse([-0.0])[0]) == 1


def test_limits_from_a_prepared_value_move_an_outside_default():
    layer = Integer(name="layer", default=9, bounds="layers", doc="d")
    assert layer.source == "layers"
    assert layer.bound((0, 4)).default == 4
    part = Choice(name="part", choices="parts", doc="d")
    assert part.bound(["x", "y"]).default == "x"
    with pytest.raises(ControlError, match="expected one of x, y"):
        part.bound(["x", "y"]).parse("z")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Number(name="x", default=0.5, bounds=(0, 1)),
        lambda: Number(name="x", default=2.0, bounds=(0, 1), doc="d"),
        lambda: Number(name="x", default=1.0, bounds=(1, 0), doc="d"),
        lambda: Number(name="x", default=1.0, bounds=(0, 1), log=True, doc="d"),
        lambda: Number(name="x y", default=1.0, bounds=(0, 1), doc="d"),
        lambda: Choice(name="x", choices=(), doc="d"),
    ],
    ids=["no doc", "default outside", "bounds descend", "log from 0", "no identifier", "no choices"],
)
def test_a_control_that_cannot_be_is_refused_when_it_is_made(make):
    with pytest.raises(ValueError, match="x"):
        make()
