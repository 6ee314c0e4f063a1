"""Sessions: what a person did, what must be drawn again, and what is known now."""

import pytest

from workbench.registry import registry
from workbench.session import Session
from workbench.study import ControlError


@pytest.fixture
def session(kitchen):
    return Session(registry().get("kitchen-sink"))


def test_a_step_names_what_must_be_drawn_again(session):
    told = []
    session.on_change(told.append)
    change = session.update({"amplitude": 2})
    assert told == [change]
    assert change.controls == {"amplitude"}
    assert change.views == {"curve", "uneven", "samples", "numbers", "progress"}
    assert change.experiments == {"climb", "repeats", "breaks"} and change.claims
    assert session.update({"caption": "other"}).views == {"words"}
    assert session.update({"caption": "other"}) == session.update({})


def test_nothing_is_set_when_one_value_is_refused(session):
    with pytest.raises(ControlError, match="points"):
        session.update({"amplitude": 2, "points": -1})
    assert session.value("amplitude") == 1.0 and not session.can_undo
    with pytest.raises(ControlError, match="period: sets frequency"):
        session.update({"frequency": 3, "period": 1})


def test_undo_and_redo_walk_through_what_was_done(session):
    session.update({"amplitude": 2})
    session.update({"period": 0.5, "parts": 2})
    session.update(preset="quick")
    assert session.value("steps") == 5
    session.undo()
    assert session.preset == "standard"
    session.undo()
    assert (session.value("frequency"), session.value("parts"), session.value("amplitude")) == (2.0, 3, 2.0)
    session.undo()
    assert session.query() == {} and not session.can_undo
    for _ in range(3):
        session.redo()
    assert session.query() == {"amplitude": "2.0", "frequency": "2.0", "parts": "2", "preset": "quick"}
    session.undo()
    session.update({"amplitude": 3})
    assert not session.can_redo
    session.reset()
    assert session.query() == {}
    session.undo()
    assert session.value("amplitude") == 3.0


def test_a_link_restores_the_session_and_holds_no_path(session, tmp_path):
    path = tmp_path / "mine.npz"
    path.write_bytes(b"data")
    session.update(
        {"recording": str(path), "parts": 5, "part": "part 5", "period": 0.25, "levels": [1, 2]}, preset="full"
    )
    query = session.query()
    assert str(tmp_path) not in str(query) and query["recording"].startswith("sha256:")
    again = Session(session.study, values={k: v for k, v in query.items() if k != "preset"}, preset=query["preset"])
    assert again.query() == query
    assert again.snapshot.source("recording").name == "mine.npz"
    assert str(tmp_path) not in session.code() + session.command("climb")


def test_code_and_command_say_what_was_set(session):
    session.update({"amplitude": 2, "shape": "saw"}, preset="quick")
    assert session.code() == (
        'from workbench import explore\n\nexplore("kitchen-sink", amplitude=2.0, shape=\'saw\', preset="quick")\n'
    )
    assert session.command("climb") == "assay run kitchen-sink climb --set amplitude=2.0 --set shape=saw --preset quick"


def test_a_dependent_choice_falls_back_when_its_choices_go(session):
    session.update({"part": "part 3"})
    change = session.update({"parts": 1})
    assert session.value("part") == "part 1" and change.notices and "part" in change.controls
    with pytest.raises(ControlError, match="expected one of part 1"):
        session.update({"part": "part 3"})


def test_running_without_a_runner_or_an_unknown_experiment_is_refused(session):
    with pytest.raises(ControlError, match="experiment: got 'dance'; expected one of climb, repeats, breaks"):
        session.run("dance")
    with pytest.raises(ControlError, match="nothing to run it with"):
        session.run("climb")


def test_who_is_told_of_a_step_can_take_it_back_at_once(session):
    told = []
    session.on_change(lambda change: told.append((session.can_undo, session.can_redo)))
    session.update({"amplitude": 2})
    session.undo()
    assert told == [(True, False), (False, True)]


def test_a_whole_drag_is_one_step(session):
    session.update({"amplitude": 1.5})
    for value in (2.0, 2.5, 3.0):
        session.update({"amplitude": value}, gesture="drag 1")
    session.update({"amplitude": 3.5}, gesture="drag 2")
    session.undo()
    assert session.value("amplitude") == 3.0
    session.undo()
    assert session.value("amplitude") == 1.5
    session.redo()
    assert session.value("amplitude") == 3.0
