"""What the browser face tells a page, without a browser."""

import json
import math
import threading

import pytest

from workbench.claims import Above, Claim, Evidence, Judgement, Verdict, Within, judge
from workbench.controls import Number
from workbench.faces.panel.gallery import card_html
from workbench.faces.panel.parts import control_facts, equation, ledger, listed, marked, sign, strip, view_facts
from workbench.faces.panel.study_page import StudyFace
from workbench.registry import Card, registry
from workbench.session import Session


def test_an_equation_is_mathml_with_the_symbols_of_controls_marked():
    control = Number(name="beta", default=0.5, symbol="β", doc="Decay.")
    drawn = marked(equation(r"y = \beta x"), {"beta": control})
    assert drawn.startswith("<math") and '<mrow class="ctl" data-control="beta"><mi>β</mi></mrow>' in drawn
    assert equation(r"\notacommand{") == r"<code>\notacommand{</code>"


def test_a_symbol_is_html_and_no_tag_of_a_study_is_obeyed():
    assert sign("vₜₕ") == "v<sub>th</sub>"
    assert sign("<b>") == "&lt;b&gt;"


@pytest.mark.parametrize("interval", [(0.5, 0.7), (-math.inf, 0.7), (0.6, 0.6)])
def test_a_claim_shows_its_verdict_as_word_and_shape(interval):
    claim = Claim("3", "a < b", lambda: None, Within(0.4, 0.8, "share"))
    row = ledger([judge(claim, Evidence(0.6, interval, "seeds", 5))])
    assert "a &lt; b" in row and "expected 0.4 to 0.8" in row and "NaN" not in row and "nan" not in row
    assert ("Holds" in row) == math.isfinite(interval[0])


def test_a_strip_says_in_words_what_its_shapes_say():
    drawn = strip([Verdict.HOLDS, Verdict.FAILS, Verdict.HOLDS, Verdict.NOT_JUDGED])
    assert 'aria-label="Claims: 2 holds, 1 fails, 1 not judged yet"' in drawn
    assert drawn.count("<svg") == 4


def test_a_claim_that_waits_says_what_is_expected():
    claim = Claim("1", "It grows", lambda: None, Above(0, "slope"))
    row = ledger([Judgement(claim, Verdict.NOT_JUDGED, why="Waits for “Climb”.")])
    assert "slope: expected above 0" in row and "Waits for “Climb”." in row


@pytest.fixture
def sink(kitchen):
    """The kitchen-sink study."""
    return registry().get("kitchen-sink")


def test_what_is_not_finite_becomes_null():
    assert listed({"x": [1, math.nan, math.inf]}) == {"x": [1, None, None]}


def test_every_control_and_view_of_the_kitchen_sink_is_plain_data(sink):
    session = Session(sink)
    facts = control_facts(session)
    assert set(facts) == set(sink.moving)
    assert facts["frequency"]["aliases"][0]["text"] == "0.5"
    for name in sink.views:
        for theme in ("light", "dark"):
            json.dumps([facts, view_facts(session, name, session.show(name), theme)], allow_nan=False)


def test_a_page_answers_the_newest_value_and_says_what_it_does_not_take(sink):
    face, told, ready = StudyFace(sink, {"amplitude": "2"}), [], threading.Event()
    face.session = Session(sink, values={"amplitude": 2})
    face.session.on_change(face._changed)

    def send(message):
        told.append(message)
        if message["kind"] == "view" and "3.00" in message["title"]:
            ready.set()

    face.wire.send = send
    face._on_show({"views": ["curve"]})
    face._answer(face._on_set, {"values": {"amplitude": "9"}, "at": "amplitude"})
    refused = [m for m in told if m["kind"] == "refused"]
    assert refused[0]["field"] == "amplitude" and "expected a number from 0 to 4 V" in refused[0]["sentence"]
    for value in (2.5, 2.8, 3):
        face._answer(face._on_set, {"values": {"amplitude": value}, "at": "amplitude"})
    assert ready.wait(10)
    face.close()


def test_a_study_that_cannot_be_imported_is_a_card_that_says_why():
    body, tags = card_html(Card("odd", "dynamics", broken="odd could not be imported: <x>"), {})
    assert "odd could not be imported: &lt;x&gt;" in body and "href" not in body
    assert tags == {"family:dynamics"}
