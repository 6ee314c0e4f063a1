"""Reports in the browser: from a file with the network off, at one and at twenty figures; and the button of a page."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from workbench.report.document import Document, Drawing, Heading, Numbers, Prose, TableBlock
from workbench.report.html import html_page
from workbench.report.pdf import pdf_of
from workbench.study import Stat
from workbench.theme import styled

pytestmark = pytest.mark.browser
TYPES = ("scatter", "scattergl", "bar", "heatmap", "histogram", "violin", "surface", "contour", "box", "parcoords")


def drawing(kind, i):
    rng = np.random.default_rng(i)
    x, y = np.arange(200.0), rng.normal(size=200).cumsum()
    trace = {
        "scatter": styled("yours", x=x, y=y, mode="lines"), "scattergl": {"type": "scattergl", "x": x, "y": y},
        "bar": styled("yours_bars", type="bar", x=x[:20], y=y[:20]),
        "heatmap": {"type": "heatmap", "z": rng.normal(size=(12, 12))},
        "histogram": {"type": "histogram", "x": y}, "violin": {"type": "violin", "y": y},
        "surface": {"type": "surface", "z": rng.normal(size=(12, 12))},
        "contour": {"type": "contour", "z": rng.normal(size=(12, 12))}, "box": {"type": "box", "y": y},
        "parcoords": {"type": "parcoords", "dimensions": [{"values": x, "label": "x"}, {"values": y, "label": "y"}]},
    }[kind]  # fmt: skip
    layout = {"xaxis": {"title": {"text": "Step"}}, "shapes": [{"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1}]}
    return Drawing({"data": [trace], "layout": layout}, f"Finding {i} of a {kind}", "200 steps")


def document(figures):
    import pandas as pd

    blocks = [Heading(2, "The <em>question</em>")]
    blocks.append(
        Prose(
            '<p>With <span class="tex">\\beta</span>:</p><span class="tex" data-display="1">\\sqrt{\\frac{a}{b}}</span>'
        )
    )
    blocks += [drawing(TYPES[i % len(TYPES)], i) for i in range(figures)]
    blocks += [
        Numbers((Stat("cut-off", 3.5, "Hz"),)),
        TableBlock(pd.DataFrame({f"column {i}": range(80) for i in range(9)})),
    ]
    quantities = [{"name": "<script>alert(1)</script>", "value": 1.0}]
    manifest = {"quantities": quantities, "seal": "0" * 64}
    return Document("Does it open anywhere?", "Report", "report", blocks, manifest=manifest, command="assay report x")


@pytest.fixture
def offline(browser, tmp_path):
    """Opens a page from disk with the network off; fails on any request, error or message of the console."""
    wrong = []
    contexts = []

    def opened(page, **how):
        path = tmp_path / "report.html"
        path.write_bytes(page)
        context = browser.new_context(**({"viewport": {"width": 1600, "height": 1000}} | how))
        contexts.append(context)
        context.set_offline(True)
        tab = context.new_page()
        tab.on(
            "request", lambda r: wrong.append(r.url[:80]) if not r.url.startswith(("file:", "data:", "blob:")) else None
        )
        tab.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready]", timeout=60_000)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("figures", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_report_draws_everything_from_disk_without_a_network(offline, figures):
    page = html_page(document(figures))
    assert len(page) < 8e6
    assert page.count(b'id="rp-plotly"') == 1
    tab = offline(page)
    asked = [TYPES[i % len(TYPES)] for i in range(figures)]
    drawn = tab.evaluate("[...document.querySelectorAll('.rp-plot')].map((p) => p._fullData[0].type)")
    assert drawn == asked
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate("document.querySelectorAll('math').length") == 2
    assert json.loads(tab.locator("#assay-manifest").text_content())["quantities"][0]["name"].startswith("<script>")


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 900, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_its_window_and_takes_the_readers_theme(offline, width, scheme):
    tab = offline(html_page(document(1)), viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    colour = "document.querySelector('.rp-plot')._fullData[0].line.color"
    before = tab.evaluate(colour)
    tab.locator("#rp-theme").click()
    tab.wait_for_function(f"{colour} !== {json.dumps(before)}")
    box = tab.locator(".rp-plot .main-svg").first.bounding_box()
    assert box["width"] <= width


def test_a_page_to_be_printed_names_its_own_file_and_no_seal():
    screen, print_ = html_page(document(1)).decode(), html_page(document(1), "pdf").decode()
    assert "assay verify report.html" in screen and 'id="rp-seal"' in screen
    assert "assay verify report.pdf" in print_ and 'id="rp-seal"' not in print_


def test_the_page_runs_no_script_but_its_own(browser, tmp_path):
    """As if cleaning had failed: the page's own policy is the second lock."""
    hurt = "<img src='x' onerror='window.hurt=1'><script>window.hurt=2</script><img src='https://example.org/a.png'>"
    path = tmp_path / "report.html"
    path.write_bytes(html_page(Document("t", "k", "n", [Prose(hurt), drawing("bar", 1)])))
    context = browser.new_context()
    tab = context.new_page()
    refused, answered = [], []
    tab.on("requestfailed", lambda request: refused.append((request.url, request.failure)))
    tab.on("response", lambda answer: answered.append(answer.url))
    tab.goto(path.as_uri())
    tab.wait_for_selector("html[data-ready]")
    assert tab.evaluate("window.hurt") is None
    assert tab.evaluate("document.querySelector('.rp-plot')._fullData[0].type") == "bar"
    assert {why for _, why in refused} == {"csp"} and "https://example.org/a.png" in dict(refused)
    assert [url for url in answered if url.startswith("http")] == []
    context.close()


@pytest.mark.slow
def test_a_pdf_has_its_pages_vectors_contents_and_outline(tmp_path):
    document_ = document(3)
    pdf = pdf_of(html_page(document_))
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 2
    assert b"/Outlines" in pdf and b"/StructTreeRoot" in pdf
    assert pdf.count(b"/Subtype /Link") + pdf.count(b"/Subtype/Link") >= 2
    assert pdf == pdf_of(html_page(document_))


@pytest.mark.slow
def test_the_button_of_a_study_page_makes_a_report(tab, server):
    tab.goto(f"{server}/study?study=kitchen-sink&preset=quick&amplitude=2.0")
    expect(tab.locator('[data-view="curve"]')).to_have_attribute("data-shown", re.compile(r"\d"))
    tab.get_by_label("Make report").click()
    with tab.expect_download(timeout=180_000) as download:
        tab.get_by_role("button", name="HTML, one file").click()
        expect(tab.locator("#as-making [role=progressbar]")).to_be_visible()
    assert download.value.suggested_filename == "kitchen-sink.html"
    page = download.value.path().read_text("utf-8")
    assert "The wave reaches 2.00 V" in page and "Repeat the climb" in page
    expect(tab.locator("#as-making")).to_have_attribute("data-state", "done")
