"""Prose of notebooks: formulas survive, nothing that runs or fetches does."""

from __future__ import annotations

import re
from html import escape

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from workbench.report.document import Heading, Prose, levelled
from workbench.report.prose import markdown_html, plain_markdown, prose_blocks

HURTFUL = (
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&<custom-tag>x</custom-tag>",
    "<script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    '<a href="javascript:alert(1)">a</a>',
    "<style>*{}</style>",
    '<iframe srcdoc="<script>1</script>"></iframe>',
    '<svg onload="alert(1)"><script>1</script></svg>',
    '<link rel="stylesheet" href="https://example.org/a.css">',
    '<form action="https://example.org"><input></form>',
    '<img src="https://example.org/a.png">',
    '<p style="background:url(https://example.org/a)">p</p>',
    '<meta http-equiv="refresh" content="0;url=https://example.org">',
    '<base href="https://example.org/">',
    '<object data="https://example.org/a"></object>',
    "<math><mtext></p><script>alert(1)</script></mtext></math>",
    '<rect fill="url(https://example.org/a)"></rect>',
    '<a href=" JaVaScRiPt:alert(1)">a</a>',
    "<!-- <script>1</script> -->",
    '<div id="assay-manifest">{}</div>',
    '<div class="rp-plot" data-figure="0"></div>',
    "<custom-tag onclick=1>x</custom-tag>",
)


def shown(html):
    return "".join(block.html for block in prose_blocks(html))


@given(st.lists(st.one_of(st.sampled_from(HURTFUL), st.text(max_size=20)), max_size=8))
def test_what_is_left_neither_runs_nor_fetches(parts):
    soup = BeautifulSoup(shown("".join(parts)), "html.parser")
    for tag in soup.find_all(True):
        assert tag.name not in (
            "script",
            "style",
            "iframe",
            "object",
            "link",
            "meta",
            "base",
            "form",
            "input",
            "template",
        )
        assert not [name for name in tag.attrs if name.lower().startswith("on") or name in ("style", "id", "srcdoc")]
        assert not re.search(r"javascript:|url\(", " ".join(map(str, tag.attrs.values())), re.I)
        assert tag.name != "img" or str(tag["src"]).startswith("data:image/")
        assert "rp-plot" not in (tag.get("class") or [])


@pytest.mark.parametrize("around", ["{}", "<p>{}</p>", "<b>x</b> {}", "<div><h2>t</h2>{}</div>"])
@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "&lt;b&gt;", "a & b", "&x"]
)
def test_text_that_looks_like_a_tag_stays_text(around, text):
    html = around.format(escape(text))
    assert not BeautifulSoup(shown(html), "html.parser").find_all(["script", "img"])
    assert text in BeautifulSoup(shown(html), "html.parser").get_text()
    again = MarkdownIt("commonmark").render(plain_markdown(html))
    assert text in BeautifulSoup(again, "html.parser").get_text()


@given(st.lists(st.one_of(st.sampled_from(HURTFUL), st.text(max_size=20)), max_size=8))
def test_cleaning_twice_is_cleaning_once(parts):
    once = shown("".join(parts))
    assert shown(once) == once


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        (r"a $\beta_{x}$ b", [(r"\beta_{x}", False)]),
        (r"it costs $5 and $6", []),
        ("$$\n\\frac{a}{b}\n$$", [("\\frac{a}{b}", True)]),
        (r"\[a < b\] and \(c\)", [("a < b", True), ("c", False)]),
        ("\\begin{align}a&=b\\\\c&=d\\end{align}", [("\\begin{align}a&=b\\\\c&=d\\end{align}", True)]),
        ("`$x$` and\n\n```\n$y$\n```", []),
        (r"$a*b$ and $c*d$", [("a*b", False), ("c*d", False)]),
    ],
)
def test_formulas_are_found(text, formulas):
    soup = BeautifulSoup(shown(markdown_html(text)), "html.parser")
    found = [(s.get_text().strip(), bool(s.get("data-display"))) for s in soup.find_all("span", class_="tex")]
    assert found == formulas


TEXTS = st.text(st.characters(codec="ascii", categories=("Ll",)), min_size=1, max_size=8)


@given(TEXTS, TEXTS, TEXTS)
def test_markdown_comes_back_as_it_was(a, b, c):
    text = f"A **{a}** and *{b}* with `{c}` and $x_{{{a}}}$.\n\n- {b}\n- {c}\n\n> {a}\n\n1. {a}\n2. {b}"
    assert plain_markdown(shown(markdown_html(text))) == text


def test_headings_stand_apart_and_start_at_the_second_level():
    blocks = levelled(
        prose_blocks("<div><h1>Title</h1><p>a</p><h2>One <em>x</em></h2><p>b</p><h4>Deep</h4></div>"), "Title"
    )
    assert blocks == [Prose("<p>a</p>"), Heading(2, "One <em>x</em>"), Prose("<p>b</p>"), Heading(4, "Deep")]


def test_a_placed_block_stands_where_its_element_stood():
    found = prose_blocks(
        '<div><p>a</p><div data-block="0"></div><p>b</p></div>', placed=lambda number: [Heading(3, number)]
    )
    assert found == [Prose("<p>a</p>"), Heading(3, "0"), Prose("<p>b</p>")]
