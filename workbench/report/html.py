"""A report as one HTML file that opens anywhere: no request leaves it, and its own policy forbids one.

The file is the same, byte for byte, for the same document. Figures, plotly.js and the font travel inside it; the nonce
that lets its two scripts run is the hash of everything else.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from bs4.element import Tag
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workbench.claims import Evidence, Expectation, Judgement, Verdict
from workbench.faces.markup import GLYPHS, number, rich
from workbench.faces.panel.parts import KEYS, sign
from workbench.long_lines import thinned, thinning_note
from workbench.report.document import (
    Aside,
    Block,
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
)
from workbench.report.figures import carried
from workbench.report.maths import mathml
from workbench.theme import STATIC, THEMES, template

__all__ = ["ROWS_SHOWN", "html_page", "script_json"]

HERE = Path(__file__).parent
ROWS_SHOWN = 60
NONCE = "n" * 43
WORDS = {verdict: str(verdict).capitalize() for verdict in Verdict}


@functools.cache
def packed_plotly() -> str:
    """plotly.js of the installed package, packed: the same bytes every time."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(gzip.compress(get_plotlyjs().encode(), 9, mtime=0)).decode()


@functools.cache
def font() -> str:
    return base64.b64encode((STATIC / "report-math.woff2").read_bytes()).decode()


@functools.cache
def styles() -> str:
    """Tokens, the parts that a report uses, and its own layout."""
    sheets = (STATIC / "tokens.css", STATIC / "components.css", HERE / "page.css")
    return "\n".join(sheet.read_text("utf-8") for sheet in sheets)


def script_json(value: Any) -> str:
    """JSON that cannot end the script element that it stands in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def set_formulas(html: str) -> str:
    """Prose with its formulas as MathML.

    Raises:
        ControlError: a formula that cannot be turned.
    """
    if 'class="tex"' not in html:
        return html
    soup = BeautifulSoup(html, "html.parser")
    for span in soup.find_all("span", class_="tex"):
        display = bool(span.get("data-display"))
        set_ = BeautifulSoup(mathml(span.get_text(), display=display), "html.parser")
        if display:
            box = soup.new_tag("span", attrs={"class": "rp-eq"})
            box.append(set_)
            span.replace_with(box)
        else:
            span.replace_with(set_)
    return str(soup)


def identifier(text: str, taken: set[str]) -> str:
    """An id for a heading that no other has."""
    base = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40] or "part"
    found, count = base, 2
    while found in taken:
        found, count = f"{base}-{count}", count + 1
    taken.add(found)
    return found


class Writer:
    """Writes blocks one after another; counts figures and tables, and collects what the contents list.

    Args:
        claims: ids of those that stand at the top already; a block of them all is a line that leads there.
    """

    def __init__(self, claims: Iterable[str] = ()) -> None:
        self._all = set(claims)
        self.figures: list[dict[str, Any]] = []
        self.contents: list[tuple[int, str, str]] = []
        self._tables = 0
        self._ids = {"claims", "sources", "contents", "main"}
        self._level = 2

    def blocks(self, blocks: Any) -> str:
        return "\n".join(self.block(block) for block in blocks)

    def block(self, block: Block) -> str:
        """A block as HTML."""
        if isinstance(block, Heading):
            self._level = min(block.level, self._level + 1)
            text = BeautifulSoup(block.html, "html.parser").get_text()
            place = identifier(text, self._ids)
            self.contents.append((self._level, place, text))
            return f'<h{self._level} id="{place}">{set_formulas(block.html)}</h{self._level}>'
        if isinstance(block, Prose):
            return f'<div class="rp-prose">{set_formulas(self._prose(block.html))}</div>'
        if isinstance(block, Drawing):
            return self._drawing(block)
        if isinstance(block, TableBlock):
            return self._table(block)
        if isinstance(block, Numbers):
            return numbers(block) + self._mark(block.origin, block.title or "these numbers")
        if isinstance(block, Claims):
            if self._all and {j.claim.id for j in block.judgements} >= self._all:
                return '<p class="rp-see">They stand <a href="#claims">at the top</a>.</p>'
            return claims_table(block.judgements)
        if isinstance(block, Controls):
            return controls(block)
        if isinstance(block, Fold):
            inner = self.blocks(block.blocks)
            return f'<details class="rp-fold"><summary>{escape(block.title)}</summary>{inner}</details>'
        if isinstance(block, Aside):
            kind = f" as-note--{block.kind}" if block.kind in ("fails", "open") else ""
            return f'<aside class="rp-note{kind}">{self.blocks(block.blocks)}</aside>'
        if isinstance(block, Picture):
            return f'<img class="rp-img" alt="{escape(block.alt)}" src="data:{block.mime};base64,{block.base64}">'
        if isinstance(block, Code):
            return f'<pre class="rp-code"><code>{escape(block.source)}</code></pre>'
        if isinstance(block, Plain):
            return f'<pre class="rp-out">{escape(block.text)}</pre>'
        raise TypeError(f"block: got {type(block).__name__}.")

    def _prose(self, html: str) -> str:
        """Headings that stand inside a table or a note keep to the levels around them."""
        soup = BeautifulSoup(html, "html.parser")
        for tag in soup.find_all(re.compile("^h[1-6]$")):
            tag.name = f"h{min(6, self._level + 1)}"
        for table in soup.find_all("table"):
            if isinstance(table.parent, Tag) and "as-scroll" in (table.parent.get("class") or []):
                continue
            table.wrap(soup.new_tag("div", attrs={"class": "as-scroll"}))
        return str(soup)

    def _mark(self, origin: Origin | None, what: str) -> str:
        """The small mark that opens where something comes from."""
        if origin is None:
            return ""
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in origin.facts.items())
        names = ", ".join(f"<code>{escape(name)}</code>" for name in origin.quantities)
        rows += f"<dt>Quantities</dt><dd>{names}</dd>" if names else ""
        return (
            f'<details class="rp-mark"><summary aria-label="Where {escape(what)} comes from">Where from</summary>'
            f"<dl>{rows}</dl></details>"
        )

    def _drawing(self, block: Drawing) -> str:
        content, left_out = thinned(block.content)
        if not content.get("data"):
            said = block.note or "There is nothing to draw yet."
            return f'<aside class="rp-note"><p>{rich(block.title)}: {escape(said)}</p></aside>'
        self.figures.append(carried(content))
        count = len(self.figures)
        below = [rich(block.subtitle)] if block.subtitle else []
        below += [escape(block.note)] if block.note else []
        if left_out:
            below.append(thinning_note(left_out))
        caption = "".join(f"<p>{line}</p>" for line in below)
        title = f"<b>Figure\N{NO-BREAK SPACE}{count}.</b> {spaced(rich(block.title))}"
        return (
            f'<figure class="rp-fig" id="figure-{count}" aria-labelledby="caption-{count}">'
            f'<figcaption id="caption-{count}">{title}</figcaption>'
            f'<div class="rp-plot" data-figure="{count - 1}" style="height:{int(block.height)}px">'
            f"<noscript><p>A script of this page draws this figure; scripts are switched off.</p></noscript></div>"
            f"{caption}{self._mark(block.origin, f'figure {count}')}</figure>"
        )

    def _table(self, block: TableBlock) -> str:
        self._tables += 1
        title = f"<b>Table\N{NO-BREAK SPACE}{self._tables}.</b> {spaced(rich(block.title))}"
        below = f"<p>{rich(block.subtitle)}</p>" if block.subtitle else ""
        mark = self._mark(block.origin, f"table {self._tables}")
        return (
            f'<section class="rp-table" id="table-{self._tables}" aria-label="Table {self._tables}">'
            f'<p class="rp-cap">{title}</p>{below}{frame_table(block)}{mark}</section>'
        )


def spaced(html: str) -> str:
    return html.replace(" %", "\N{NO-BREAK SPACE}%")


def frame_table(block: TableBlock) -> str:
    """The first rows of a data frame, with units under the names."""
    import pandas as pd

    frame = block.frame
    words = [not pd.api.types.is_numeric_dtype(frame[name]) for name in frame.columns]
    kinds = [' class="t"' if word else "" for word in words]
    heads = "".join(
        f'<th scope="col"{kind}>{escape(str(c))}{unit_of(block.units, str(c))}</th>'
        for c, kind in zip(frame.columns, kinds, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(f"<td{kind}>{escape(number(v))}</td>" for v, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in frame.head(ROWS_SHOWN).astype(object).itertuples(index=False, name=None)
    )
    shown, whole = min(len(frame), ROWS_SHOWN), block.rows or len(frame)
    rest = f'<p class="rp-small">{number(shown)} of {number(whole)} rows.</p>' if whole > shown else ""
    return (
        f'<div class="as-scroll rp-rows" tabindex="0"><table class="as-table"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{rest}"
    )


def unit_of(units: Mapping[str, str], name: str) -> str:
    return f' <span class="rp-unit">{escape(units[name])}</span>' if units.get(name) else ""


def numbers(block: Numbers) -> str:
    cells = "".join(
        f"<div><dt>{escape(s.label)}</dt><dd>{escape(number(s.value))}"
        f"{'&nbsp;' + escape(s.unit) if s.unit else ''}</dd></div>"
        for s in block.values
    )
    return f'<dl class="rp-stats">{cells}</dl>'


def controls(block: Controls) -> str:
    """What was set, as a list of two columns."""
    cells = "".join(
        f"<div><dt>{escape(label)}{f' <i>{sign(symbol)}</i>' if symbol else ''}</dt>"
        f'<dd title="{escape(doc)}">{escape(value)}</dd></div>'
        for label, symbol, value, doc in block.rows
    )
    return f'<dl class="rp-controls">{cells}</dl>'


def chip(verdict: Verdict) -> str:
    glyph = f'<svg viewBox="0 0 16 16" aria-hidden="true">{GLYPHS[verdict]}</svg>'
    return f'<span class="as-v as-v--{KEYS[verdict]}">{glyph}{WORDS[verdict]}</span>'


def claims_table(judgements: Any) -> str:
    """The ledger: the paper's sentence, verdict, measured value, interval, expectation."""
    rows = "".join(map(claim_row, judgements))
    return (
        '<div class="as-scroll" tabindex="0"><table class="as-table rp-t"><thead><tr>'
        '<th scope="col" class="n"><span class="as-sr">Number</span></th><th scope="col">The paper says</th>'
        '<th scope="col">Verdict</th><th scope="col" class="r">Measured</th><th scope="col" class="ci">Interval</th>'
        f'<th scope="col">Expected</th></tr></thead><tbody>{rows}</tbody></table></div>'
    )


def claim_row(judgement: Judgement) -> str:
    claim, evidence, expects = judgement.claim, judgement.evidence, judgement.claim.expects
    value, interval = ("", "") if evidence is None else measured(evidence, expects)
    why = judgement.why or ("" if evidence is None else evidence.note)
    notes = [why] if why else []
    notes += [judgement.stale] if judgement.stale else []
    said = "".join(f'<p class="rp-small">{escape(note)}</p>' for note in notes)
    said += f'<p class="rp-small"><code>{escape(judgement.command)}</code></p>' if judgement.command else ""
    words = expects.words if expects else ""
    quantity = f'<p class="rp-small">{escape(expects.quantity)}</p>' if expects and expects.quantity else ""
    numbers = f'<td class="r">{value}</td><td class="ci">{interval}</td>'
    if evidence is None:
        numbers, said = f'<td colspan="2">{said}</td>', ""
    return (
        f'<tr data-claim="{escape(str(claim.id))}"><td class="n">{escape(str(claim.id))}</td>'
        f"<td>{escape(claim.sentence)}{said}</td><td>{chip(judgement.verdict)}</td>"
        f"{numbers}<td>{escape(words)}{quantity}</td></tr>"
    )


def measured(evidence: Evidence, expects: Expectation | None) -> tuple[str, str]:
    unit = f"\N{NO-BREAK SPACE}{escape(expects.unit)}" if expects and expects.unit else ""
    value = f"{number(evidence.estimate)}{unit}"
    if evidence.over == "exact":
        return value, f'<span class="rp-small">{evidence.n} cases</span>' if evidence.n > 1 else ""
    low, high = map(number, evidence.interval)
    return value, f'[{low}, {high}]<br><span class="rp-small">{evidence.n} {escape(evidence.over)}</span>'


def verdict_words(judgements: Any) -> str:
    """How the claims went, in a sentence."""
    counts = [(str(v), sum(j.verdict is v for j in judgements)) for v in KEYS]
    parts = [f"{n} {word if word != 'needs scale' or n == 1 else 'need scale'}" for word, n in counts if n]
    parts = [p.replace("holds", "hold").replace("fails", "fail") if not p.startswith("1 ") else p for p in parts]
    return f"Of {len(judgements)} claims {', '.join(parts)}." if judgements else ""


def html_page(document: Document, form: str = "html") -> bytes:
    """The report as one page, with its manifest as it is given; sealing it is another step.

    Args:
        document: the report.
        form: `html`, or `pdf` for a page that is to be printed, whose file has its seal beside the pages.

    Raises:
        ControlError: a formula that cannot be set; the sentence names it.
    """
    writer = Writer(judgement.claim.id for judgement in document.judgements)
    body = writer.blocks(document.blocks)
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    contents = [(level, place, text) for level, place, text in writer.contents if level <= 3]
    page = environment.get_template("page.html.jinja").render(
        document=document, form=form, styles=Markup(styles()), font=font(), nonce=NONCE, body=Markup(body),
        contents=contents,
        claims=Markup(claims_table(document.judgements)) if document.judgements else "",
        summary=verdict_words(document.judgements), plotly=packed_plotly() if writer.figures else "",
        figures=Markup(script_json({"figures": writer.figures, "templates": {t: template(t) for t in THEMES}})),
        manifest=Markup(script_json(document.manifest)), script=Markup((HERE / "page.js").read_text("utf-8")),
        count=len(document.manifest.get("quantities") or ()), seal=str(document.manifest.get("seal") or ""),
    )  # fmt: skip
    digest = base64.urlsafe_b64encode(hashlib.sha256(page.encode()).digest()).decode().rstrip("=")
    return page.replace(NONCE, digest).encode()
