"""Which runs are listed for whom, and in which order."""

import json
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.job import Request, State
from workbench.record import Record
from workbench.run_listing import Listed
from workbench.run_rows import (
    MINE,
    SORTS,
    Question,
    Row,
    asked,
    chosen,
    needed_by,
    own_pins,
    pin_of,
    rows_of,
    seen_by,
    why_not_forget,
)
from workbench.visitors import LOCAL, Role, Visitor

ANN, BOB, EVE = Visitor("ann", Role.RUNNER, ()), Visitor("bob", Role.RUNNER, ()), Visitor("eve", Role.ADMIN, ())
VIC = Visitor("vic", Role.VIEWER, ())
PRIVATE = {"recording": f"sha256:{'a' * 64}"}


def record(run="r1", state=State.DONE, **fields):
    return Record("kitchen-sink", fields.pop("experiment", "climb"), fields.pop("key", run), run=run, state=state,
                  **{"started": 1.0, "took": 2.0, **fields})  # fmt: skip


def job(key="r1", state=State.RUNNING, owner="ann", holders=(), id="j1", **values):
    request = Request("kitchen-sink", "climb", {n: str(v) for n, v in values.items()}, owner=owner)
    return SimpleNamespace(id=id, request=request, key=key, state=state, holders=set(holders), started=5.0,
                           fraction=0.5, message="climbing", eta=3.0)  # fmt: skip


def ids(rows):
    return [row.id for row in rows]


def test_a_job_stands_beside_its_run_and_alone_until_there_is_one():
    listed = [Listed(record("r2", State.RUNNING)), Listed(record("r1"), ("weekly.html",))]
    rows = rows_of(listed, [job("r2"), job("r3", State.QUEUED, id="j3", seed=7), job("r1", State.DONE)])
    assert ids(rows) == ["j3", "r2", "r1"]
    assert [row.state for row in rows] == ["queued", "running", "done"] and rows[1].job is not None
    assert (rows[0].kept, rows[0].record.seed, rows[2].pins) == (False, 7, ("weekly.html",))
    assert rows_of([Listed(record("r1"))], [job("r1")])[0].id == "j1", "the run that is done is another one"


@pytest.mark.parametrize(
    ("who", "expected"),
    [(ANN, ["j1", "j2", "r1", "r2"]), (BOB, ["j2", "r2"]), (EVE, ["j1", "j2", "r1", "r2"]), (VIC, ["r2"]),
     (LOCAL, ["j1", "j2", "r1", "r2"])],
)  # fmt: skip
def test_nobody_sees_what_is_not_theirs_to_see(who, expected):
    """Private data of ann's; a job that waits, and one that bob waits for too."""
    listed = [Listed(record("r1", controls=PRIVATE, owner="ann")), Listed(record("r2", owner="ann"))]
    jobs = [job("k1", id="j1"), job("k2", id="j2", holders=["ann/x", "bob/y"])]
    assert ids(seen_by(rows_of(listed, jobs), who)) == expected


def test_how_far_the_run_of_another_is_stays_theirs():
    rows = rows_of([Listed(record("r1", State.RUNNING, owner="ann"))], [job("r1", owner="ann")])
    assert seen_by(rows, ANN)[0].job is not None
    (row,) = seen_by(rows, BOB)
    assert row.job is None and row.state is State.RUNNING


rows = st.lists(
    st.builds(
        lambda i, state, started, took, experiment, owner: Row(
            i, record(i, state, started=started, took=took, experiment=experiment, owner=owner)
        ),
        st.uuids().map(lambda u: u.hex), st.sampled_from(State), st.none() | st.floats(0, 1e9),
        st.none() | st.floats(0, 1e5), st.sampled_from(["climb", "repeats"]), st.sampled_from(["", "ann", "bob"]),
    ),
    max_size=30, unique_by=lambda row: row.id,
)  # fmt: skip


@given(rows, st.sampled_from([*SORTS]), st.sampled_from(["", "up", "down"]))
def test_order_is_that_of_the_column_and_newest_first_where_that_is_alike(found, sort, order):
    question = Question(sort=sort, order=order)
    shown = chosen(found, question, ANN)
    assert sorted(ids(shown)) == sorted(ids(found)), "no run is lost"
    keys = [SORTS[sort](row) for row in shown]
    assert keys == sorted(keys, reverse=question.falls)
    if sort != "started":
        for one, other in pairwise(shown):
            if SORTS[sort](one) == SORTS[sort](other):
                assert SORTS["started"](one) >= SORTS["started"](other)


@given(
    rows, st.sampled_from(["", "done", "lost"]), st.sampled_from(["", "ann", MINE]), st.sampled_from(["", "repeats"])
)
def test_a_filter_leaves_those_it_names(found, state, who, find):
    shown = set(ids(chosen(found, Question(state=state, who=who, find=find), BOB)))
    for row in found:
        fits = state in ("", row.state) and find in row.record.experiment
        fits = fits and (not who or row.record.owner == {"ann": "ann", MINE: "bob"}[who])
        assert (row.id in shown) == fits


@pytest.mark.parametrize(
    ("find", "found"),
    [("amplitude 2.5", True), ("amplitude=2", True), ("shape=2", False),
     ("AMPLITUDE climb", True), ("shape square", True), ("quick", True), ("seed 4", True),
     ("ann", True), ("abc12", True), ("full", False), ("amplitude 9", False), ("climb nobody", False)],
)  # fmt: skip
def test_words_are_looked_for_in_what_was_set_and_who_asked(find, found):
    row = Row("abc123", record("abc123", controls={"amplitude": "2.5", "shape": "square"}, preset="quick", seed=4,
                               owner="ann"))  # fmt: skip
    assert bool(chosen([row], Question(find=find), ANN)) is found


def test_an_address_is_read_and_what_cannot_be_is_said():
    question, notices = asked({"find": "wave", "state": "done", "sort": "took", "order": "up", "runs": "a,b"})
    assert question == Question("wave", state="done", sort="took", order="up") and notices == []
    assert asked(question.as_query())[0] == question and Question().as_query() == {}
    question, notices = asked({"state": "odd", "sort": "colour", "order": "sideways", "find": "x" * 201, "who": 3})
    assert question == Question()
    assert [n.split(": got")[0] for n in notices] == [
        f"The address says {f}" for f in ("find", "state", "who", "sort", "order")
    ]
    assert "'odd'; expected one of queued, running, done, failed, cancelled, lost." in notices[1]
    json.dumps(notices)


@pytest.mark.parametrize(
    ("who", "row", "why"),
    [
        (ANN, Row("r", record(owner="ann")), ""),
        (EVE, Row("r", record(owner="ann")), ""),
        (LOCAL, Row("r", record()), ""),
        (BOB, Row("r", record(owner="ann")), "This run is ann’s; an admin may change it too."),
        (BOB, Row("r", record()), "Only an admin may change this run."),
        (VIC, Row("r", record(owner="vic")), "Viewers look at runs; pinning and forgetting needs the role of runner."),
        (LOCAL, Row("r", record(state=State.RUNNING)), "It is running; it can be forgotten once it has ended."),
        (LOCAL, Row("r", record(), (pin_of(LOCAL),)), "Pinned; unpin it first."),
        (LOCAL, Row("r", record(), (pin_of(ANN),)), "Pinned by ann; unpin it first."),
        (LOCAL, Row("r", record(), ("weekly.html",)), "weekly.html refers to it."),
        (LOCAL, Row("r", record(), (pin_of(ANN), "weekly.html")), "Pinned by ann, weekly.html refers to it."),
    ],
)
def test_why_a_run_cannot_be_forgotten_is_one_sentence(who, row, why):
    assert why_not_forget(row, who) == why


def test_pins_of_people_are_told_from_those_of_reports():
    row = Row("r", record(), (pin_of(LOCAL), pin_of(ANN), "a pin-up.html"))
    assert own_pins(row) == ["a pin", "a pin by ann"]
    assert needed_by(row) == ["Pinned", "Pinned by ann", "a pin-up.html refers to it"]
