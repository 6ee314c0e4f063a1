"""The HTML file: one copy of everything, closed to the network, the same bytes for the same document."""

from __future__ import annotations

import itertools
import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from workbench.claims import Above, Claim, Evidence, Judgement, NeedsScale, Verdict
from workbench.controls import ControlError
from workbench.report.document import (
    Aside,
    Claims,
    Code,
    Controls,
    Document,
    Drawing,
    Fold,
    Heading,
    Numbers,
    Origin,
    Picture,
    Plain,
    Prose,
    TableBlock,
)  # fmt: skip
from workbench.report.html import ROWS_SHOWN, html_page
from workbench.study import Paper, Stat

HURT = "</script><script>alert('x')</script>"


def judgements():
    claim = Claim("1", f"It holds {HURT}", lambda: None, Above(0.5, "share", unit="%"))
    yield Judgement(claim, Verdict.HOLDS, Evidence(0.72, (0.6, 0.8), "seeds", 5))
    scale = NeedsScale("Needs a Jetson board.", "assay run x")
    yield Judgement(Claim("2", "It is fast", scale=scale), Verdict.NEEDS_SCALE, why=scale.reason, command=scale.command)


def document(title="T"):
    origin = Origin("overlay", {"Set": "β 0.5"}, ("view/overlay",))
    figure = Drawing({"data": [{"y": [1, 2, 3], "name": HURT}], "layout": {}}, f"Finding {HURT}", origin=origin)
    blocks = [
        Heading(2, "A"), Heading(4, "Deep"), Heading(2, "A"), Prose('<p>x <span class="tex">\\alpha</span></p>'),
        figure, figure, Numbers((Stat(HURT, 1.5, "Hz"),)),
        TableBlock(pd.DataFrame({HURT: range(90), "name": HURT}), HURT), Claims([*judgements()]),
        Claims([*judgements()][:1]), Controls((("Decay", "β", "0.5", HURT),)), Fold(HURT, [Plain(HURT)]),
        Aside("open", [Code(HURT)]),
        Picture("image/png", "AAAA", HURT), Drawing({"data": []}, "Nothing yet", note="Waits for “Climb”."),
    ]  # fmt: skip
    paper = Paper("P", "2601.00001", "A")
    manifest = {"seal": "0" * 64, "quantities": [{"name": HURT, "value": "\u2028"}]}
    rows = [("Data", [HURT])]
    return Document(title, "k", "n", blocks, tuple(judgements()), paper, {"run": "abc"}, rows, HURT, manifest)


class Reader(HTMLParser):
    """Collects elements, and what follows no well-formed nesting."""

    VOID = frozenset({"meta", "link", "img", "br", "hr"})

    def __init__(self):
        super().__init__()
        self.tags, self.open, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [dict(attrs)["id"]] if "id" in dict(attrs) else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page():
    return html_page(document()).decode()


@pytest.fixture(scope="module")
def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_the_same_document_gives_the_same_bytes(page):
    assert html_page(document()).decode() == page


def test_a_change_of_the_document_changes_the_nonce(page):
    other = html_page(document().__class__(**{**document().__dict__, "title": "U"})).decode()
    nonces = [re.search(r"script-src 'nonce-([\w-]{43})'", text)[1] for text in (page, other)]
    assert nonces[0] != nonces[1]


def test_text_of_others_ends_no_element_and_starts_no_script(read, page):
    scripts = [attrs for tag, attrs in read.tags if tag == "script"]
    nonce = re.search(r"'nonce-([\w-]{43})'", page)[1]
    assert [s.get("nonce") for s in scripts if "type" not in s] == [nonce, nonce]
    assert [s["id"] for s in scripts if "type" in s] == ["assay-manifest", "rp-figures", "rp-plotly"]


def test_the_manifest_is_there_once_as_it_was_given(page):
    texts = re.findall(r'<script type="application/json" id="assay-manifest">(.*?)</script>', page, re.S)
    assert len(texts) == 1 and "<" not in texts[0] and "\u2028" not in texts[0]
    assert json.loads(texts[0]) == document().manifest


def test_nothing_in_it_comes_from_elsewhere(read, page):
    policy = next(a["content"] for tag, a in read.tags if tag == "meta" and a.get("http-equiv"))
    assert policy.startswith("default-src 'none'") and "unsafe-eval" not in policy and "http" not in policy
    for tag, attrs in read.tags:
        assert not str(attrs.get("src", "data:")).startswith("http"), (tag, attrs)
        assert tag != "link" or attrs["href"].startswith("data:")
    assert not re.search(r"@import|url\((?!data:)", page[: page.index("</style>")])


def test_ids_are_unique_and_the_contents_lead_to_them(read):
    assert len(read.ids) == len(set(read.ids))
    leads = [attrs["href"][1:] for tag, attrs in read.tags if tag == "a" and attrs["href"].startswith("#")]
    assert {"claims", "sources", "a", "a-2", "main"} <= set(leads) and set(leads) <= set(read.ids)


def test_headings_do_not_jump(read):
    levels = [int(tag[1]) for tag, _ in read.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and all(b - a <= 1 for a, b in itertools.pairwise(levels))


def test_each_figure_has_a_caption_and_opens_its_provenance(page):
    assert page.count('<figure class="rp-fig"') == 2 and page.count('<details class="rp-mark">') == 2
    assert "Figure\N{NO-BREAK SPACE}2." in page and "<code>view/overlay</code>" in page
    assert page.count('id="rp-plotly"') == 1
    assert "Waits for “Climb”." in page


def test_claims_stand_once_in_whole(page):
    assert page.count("They stand <a") == 1 and page.count("Of 2 claims 1 holds, 1 needs scale.") == 1
    assert "[0.6, 0.8]" in page and "Needs a Jetson board." in page


def test_a_long_table_says_how_long_it_is(page):
    assert page.count("<tr><td>") + page.count("<tr><td ") >= ROWS_SHOWN
    assert f"{ROWS_SHOWN} of 90 rows." in page


def test_a_page_without_figures_carries_no_plotly():
    page = html_page(Document("T", "k", "n", [Prose("<p>x</p>")]))
    assert b'id="rp-plotly"' not in page and len(page) < 600_000


def test_a_formula_that_cannot_be_set_stops_the_page():
    with pytest.raises(ControlError, match=r"^equation: got '\\frac\{', which"):
        html_page(Document("T", "k", "n", [Fold("f", [Prose('<span class="tex">\\frac{</span>')])]))
