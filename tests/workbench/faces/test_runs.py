"""What the page of runs is told, without a browser: lines, sizes, comparisons as HTML."""

import json
import math
import re
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.faces.panel import runs as page
from workbench.faces.panel.compared_parts import band, comparison_html, pair_texts
from workbench.faces.panel.run_parts import lasted, opened, row_html
from workbench.faces.panel.runs import PAGE, Compared, RunsFace, compared_views
from workbench.job import State
from workbench.record import Record
from workbench.results import Result, Table, exact, numeric
from workbench.run_comparison import differences
from workbench.run_listing import Listed
from workbench.run_rows import pin_of, rows_of
from workbench.visitors import LOCAL, Role, Visitor

CLAIMS = {str(i): {"verdict": verdict} for i, verdict in enumerate(
    ("holds", "fails", "inconclusive", "needs scale", "holds", "holds", "not judged"))}  # fmt: skip


def record(i=0, **fields):
    base = Record("kitchen-sink", "climb", f"{i:064x}", {"amplitude": f"{i / 250}", "shape": "sine"},
                  {"amplitude": f"{i / 250}"}, "quick", run=f"{i:032x}", state=State.DONE, started=1e9 - i, took=1.5,
                  claims=CLAIMS)  # fmt: skip
    return replace(base, **fields)


@pytest.fixture
def face(kitchen, monkeypatch):
    """A page over lines of a test's own; gives it with the lines and what it is told."""
    kept, told = [], []
    watch = SimpleNamespace(
        rows=lambda: rows_of([Listed(one) for one in kept], []), runner=SimpleNamespace(store=object()),
        listen=lambda _: lambda: None,
    )  # fmt: skip
    monkeypatch.setattr(page, "run_watch", lambda: watch)
    found = RunsFace({})
    found.wire.send = lambda message: told.append(message) or json.dumps(message, allow_nan=False)
    yield found, kept, told
    found.close()


def test_a_thousand_runs_are_sent_a_page_at_a_time(face):
    """What goes over the wire stays below 300 kB, at first and with every further page."""
    found, kept, told = face
    kept += [record(i, owner="somebody", error="It broke. " * 20 if i % 9 == 0 else "") for i in range(1000)]
    started = time.perf_counter()
    found._tell_list()
    print(f"1000 runs: {1000 * (time.perf_counter() - started):.0f} ms, {len(json.dumps(told[-1])) / 1000:.0f} kB")
    assert len(told[-1]["order"]) == len(told[-1]["rows"]) == PAGE and told[-1]["found"] == told[-1]["all"] == 1000
    assert len(json.dumps(told[-1])) < 300_000
    found._shown += PAGE
    found._tell_list()
    assert len(told[-1]["order"]) == 2 * PAGE and len(told[-1]["rows"]) == PAGE, "only what is new"
    found._tell_list()
    assert told[-1]["rows"] == {}, "nothing has changed"
    kept[3] = replace(kept[3], error="Now it did.")
    found._tell_list()
    assert list(told[-1]["rows"]) == [kept[3].run]


def test_an_empty_list_says_why(face):
    found, kept, told = face
    found._tell_list()
    assert told[-1]["empty"] == "Runs appear here once you start one."
    kept.append(record())
    found._on_list({"find": "nothing"})
    found._tell_list()
    assert told[-1]["empty"] == "No run fits."
    found._watch.runner.store = None
    kept.clear()
    found._tell_list()
    assert told[-1]["empty"] == "This server keeps no runs."


def test_a_line_shows_text_of_others_as_text(kitchen):
    odd = record(values={"caption": "<img src=x>"}, owner="<b>", error="<script>", study="<i>", experiment="<u>")
    (row,) = rows_of([Listed(odd, ("<report>",))], [])
    html = row_html(row, LOCAL)
    for tag in ("<img", "<b>", "<script", "<i>", "<u>", "<report>"):
        assert tag not in html.replace('<b class="rn-s"', "")
    assert "disabled" in html and "&lt;report&gt; refers to it" in html


def test_buttons_say_why_they_may_not_be_pressed(kitchen):
    (row,) = rows_of([Listed(record(owner="ann"), (pin_of(LOCAL),))], [])
    mine = row_html(row, Visitor("ann", Role.RUNNER))
    assert (
        'aria-label="Unpin run 00000000" title="Unpin">' in mine and 'title="Pinned; unpin it first." disabled' in mine
    )
    theirs = row_html(row, Visitor("vic", Role.VIEWER))
    assert theirs.count("needs the role of runner") == theirs.count('" disabled>') == 2


def test_a_run_opens_under_what_was_set(kitchen):
    asked = record(values={"amplitude": "2.0", "caption": "a b&c"})
    assert opened(asked) == "study?study=kitchen-sink&amplitude=2.0&caption=a+b%26c&preset=quick"
    own = replace(asked, study="lif-frequency-matching", values={"beta": "0.5"}, preset="standard")
    assert (
        opened(own) == "lif_frequency_matching?beta=0.5" and opened(replace(own, values={})) == "lif_frequency_matching"
    )
    assert opened(replace(asked, study="gone")) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.1234, "0.12 s"), (53.4, "53 s"), (600, "10 min"), (9000, "2.5 h")],
)
def test_how_long_it_took(seconds, text):
    assert lasted(seconds).replace("\N{NO-BREAK SPACE}", " ") == text


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_a_bar_ends_within_its_box_and_outside_the_band_where_it_drifts(difference, tolerance):
    drawn = band(difference, tolerance)
    end = float(re.search(r"M46 7H([\d.]+)", drawn)[1])
    assert 2 <= end <= 90
    assert (end >= 46) == (difference >= 0) or math.isclose(end, 46, abs_tol=0.06)
    if tolerance > 1e-6:
        inside = abs(end - 46) <= 14.06
        assert inside == (abs(difference) <= tolerance) or math.isclose(abs(difference), tolerance, rel_tol=0.01)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=4))
def test_values_that_differ_read_differently_as_far_as_seven_figures_go(values):
    texts = pair_texts(values)
    for a, x in zip(values, texts, strict=True):
        assert math.isclose(float(x.replace("−", "-")), a, rel_tol=0.006, abs_tol=0)
        for b, y in zip(values, texts, strict=True):
            if abs(a - b) > 2e-6 * max(abs(a), abs(b)):
                assert x != y


def result(*heights):
    rows = [{"step": i, "height": h} for i, h in enumerate(heights)]
    return Result({"heights": Table({"step": exact("int"), "height": numeric("V")}, rows)}, complete=True)


def drawn(kind, y, title):
    trace = {"type": kind, "y": y, "name": "height"}
    return {"title": title, "subtitle": "", "data": [trace], "layout": {"yaxis": {"title": {"text": "Height (V)"}}}}


def test_figures_are_laid_over_each_other_or_stand_side_by_side_with_the_reason(kitchen):
    records = [record(0), record(1)]
    figures = [
        {
            "progress": drawn("scatter", [1], "1 step"),
            "uneven": drawn("bar", [1], "Bars"),
            "curve": drawn("scatter", [1], "a"),
        },
        {"progress": drawn("scatter", [2], "2 steps"), "uneven": drawn("scatter", [1], "Bars")},
    ]
    compared = Compared(0, records, [result(1.0), result(2.0)], figures)
    curve, uneven, progress = compared_views(compared, "dark")
    assert [v["name"] for v in (curve, uneven, progress)] == ["curve", "uneven", "progress"], "in the study's order"
    assert progress["title"] == "Amplitude over steps" and progress["notes"] == ["A: 1 step", "B: 2 steps"]
    (one,) = progress["parts"]
    assert [t["name"] for t in one["figure"]["data"]] == ["A, amplitude 0.0", "B, amplitude 0.004"]
    assert "template" not in one["figure"]["layout"]
    assert uneven["why"] == "A draws bars where B draws lines or points." and len(uneven["parts"]) == 2
    assert curve["why"] == "B kept no figure of it." and [p["letter"] for p in curve["parts"]] == ["A"]
    json.dumps([curve, uneven, progress], allow_nan=False)


def test_figures_that_are_alike_say_so(kitchen):
    same = {"progress": drawn("scatter", [1], "1 step")}
    (view,) = compared_views(Compared(0, [record(0), record(0)], [None, None], [same, same]), "light")
    assert view["notes"] == ["Alike in A and B."]


def test_a_comparison_in_words_and_numbers(kitchen):
    records = [record(0), record(500), record(0, controls={"amplitude": "0.0", "shape": "<saw>"})]
    html = Compared(0, records, [result(1.0, 2.0), result(1.0, 2.5), result(1.0, 2.0)], [{}] * 3).html
    assert "A, B and C differ in amplitude and shape" in html and "&lt;saw&gt;" in html and "<saw>" not in html
    assert html.index('data-word="drift"') < html.index('data-word="same"')
    assert "B − A 0.5" in html and "2.0\N{NO-BREAK SPACE}V" in html
    failed = replace(record(1), state=State.FAILED)
    html = Compared(0, [record(0), failed], [result(1.0), None], [{}, {}]).html
    assert "There are no numbers to compare: B is failed." in html


def test_a_study_that_is_gone_is_compared_and_not_opened(kitchen):
    records = [replace(record(i), study="gone") for i in (0, 1)]
    html = comparison_html(records, differences(records), None, "why")
    assert html.count("This study is not here any more") == 2 and "href" not in html


@pytest.mark.parametrize(("drifting", "alike", "shown", "rest"), [
    (0, 5, 5, None), (0, 20, 12, "8 more, all the same."), (3, 20, 12, "11 more, all the same."),
    (30, 20, 30, "20 more, all the same."), (50, 2, 40, "12 more, none of them worse than these."),
])  # fmt: skip
def test_what_is_the_same_takes_no_room_from_what_is_not(kitchen, drifting, alike, shown, rest):
    one = result(*[float(i + 1) for i in range(drifting + alike - 1)])  # with the number of rows, which is the same
    other = result(*[float(i + 1) + (5.0 if i < drifting else 0.0) for i in range(drifting + alike - 1)])
    html = Compared(0, [record(0), record(1)], [one, other], [{}, {}]).html
    assert html.count("<tr data-word=") == shown and html.count('data-word="drift"') == min(drifting, 40)
    assert (rest in html) if rest else ("more," not in html)
