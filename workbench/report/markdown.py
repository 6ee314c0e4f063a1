"""A report as Markdown: what GitHub and editors show; formulas between dollar signs, figures named with their numbers.

A figure becomes its caption and, where its data are few, a table of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.claims import Judgement
from workbench.faces.markup import number
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
    Picture,
    Plain,
    Prose,
    TableBlock,
)
from workbench.report.figures import numbers
from workbench.report.html import ROWS_SHOWN, measured, verdict_words
from workbench.report.maths import mathml
from workbench.report.prose import plain_markdown

__all__ = ["claims_lines", "markdown_of", "markdown_page", "rows_of"]

POINTS_SHOWN = 24


def cell(value: Any) -> str:
    """Text inside a row of a table."""
    return re.sub(r"\s+", " ", str(value)).replace("|", r"\|").strip()


def rows_of(names: Sequence[str], rows: Iterable[Sequence[Any]], right: Sequence[bool] = ()) -> str:
    """A table."""
    sides = [("---:" if i < len(right) and right[i] else "---") for i in range(len(names))]
    lines = [names, sides, *([cell(v) for v in row] for row in rows)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def bare(text: str) -> str:
    """A title without the marks that Plotly allows."""
    return re.sub(r"</?(?:b|i|sub|sup|br)>", "", text)


def claims_lines(judgements: Iterable[Judgement]) -> str:
    """The ledger."""
    rows = []
    for judgement in judgements:
        claim, evidence, expects = judgement.claim, judgement.evidence, judgement.claim.expects
        value, interval = ("", "") if evidence is None else measured(evidence, expects)
        said = re.sub("<[^>]+>", "", interval.replace("<br>", " "))
        note = judgement.why or ("" if evidence is None else evidence.note)
        sign = f"{judgement.verdict.sign} {judgement.verdict}"
        rows.append((claim.id, claim.sentence, sign, value, said, expects.words if expects else "", note))
    return rows_of(["", "The paper says", "Verdict", "Measured", "Interval", "Expected", "Note"], rows)


class Writer:
    """Writes blocks as Markdown; counts figures and tables."""

    def __init__(self, all_claims: Iterable[str] = ()) -> None:
        self._figures = self._tables = 0
        self._all = set(all_claims)

    def block(self, block: Block) -> str:
        """A block as Markdown."""
        if isinstance(block, Heading):
            return f"{'#' * block.level} {plain_markdown(block.html)}"
        if isinstance(block, Prose):
            return self._prose(block.html)
        if isinstance(block, Drawing):
            return self._drawing(block)
        if isinstance(block, TableBlock):
            return self._table(block)
        if isinstance(block, Numbers):
            return "\n".join(f"- {s.label}: **{number(s.value)}** {s.unit}".rstrip() for s in block.values)
        if isinstance(block, Claims):
            if self._all and {j.claim.id for j in block.judgements} >= self._all:
                return "They stand [at the top](#claims)."
            return claims_lines(block.judgements)
        if isinstance(block, Controls):
            return "\n".join(f"- {label}{f' ({s})' if s else ''}: **{v}**" for label, s, v, _ in block.rows)
        if isinstance(block, Fold):
            return "\n\n".join([f"**{block.title}**", *map(self.block, block.blocks)])
        if isinstance(block, Aside):
            inner = "\n\n".join(map(self.block, block.blocks))
            return "\n".join(f"> {line}" for line in inner.splitlines())
        if isinstance(block, Picture):
            return f"![{block.alt}](data:{block.mime};base64,{block.base64})"
        if isinstance(block, (Code, Plain)):
            language, text = ("python", block.source) if isinstance(block, Code) else ("", block.text)
            return f"```{language}\n{text}\n```"
        raise TypeError(f"block: got {type(block).__name__}.")

    def _prose(self, html: str) -> str:
        text = plain_markdown(html)
        for display, tex in re.findall(r"(\$\$?)(.+?)\1", text, re.S):
            mathml(tex, display=display == "$$")  # a formula that no report can set is refused in every format
        return text

    def _drawing(self, block: Drawing) -> str:
        self._figures += 1
        lines = [f"**Figure {self._figures}.** {bare(block.title)}"]
        lines += [bare(line) for line in (block.subtitle, block.note) if line]
        for trace in block.content.get("data") or ():
            x, y = numbers(trace.get("x")), numbers(trace.get("y"))
            if y is None or y.ndim != 1 or not 0 < len(y) <= POINTS_SHOWN:
                continue
            across: Any = x if x is not None and len(x) == len(y) else trace.get("x")
            across = across if across is not None and len(across) == len(y) else np.arange(len(y))
            rows = [(shown(a), shown(b)) for a, b in zip(across, y.tolist(), strict=True)]
            lines.append(rows_of(["", cell(trace.get("name") or "value")], rows, [False, True]))
        return "\n\n".join(lines)

    def _table(self, block: TableBlock) -> str:
        self._tables += 1
        frame = block.frame
        names = [f"{c} ({block.units[str(c)]})" if block.units.get(str(c)) else str(c) for c in frame.columns]
        right = [bool(pd.api.types.is_numeric_dtype(frame[c])) for c in frame.columns]
        rows = frame.head(ROWS_SHOWN).astype(object).itertuples(index=False, name=None)
        whole = block.rows or len(frame)
        rest = [f"{min(len(frame), ROWS_SHOWN)} of {whole} rows."] if whole > min(len(frame), ROWS_SHOWN) else []
        table = rows_of(list(map(cell, names)), ([number(v) for v in row] for row in rows), right)
        return "\n\n".join([f"**Table {self._tables}.** {bare(block.title)}".rstrip(), table, *rest])


def shown(value: Any) -> str:
    return number(value.item() if isinstance(value, np.generic) else value)


def markdown_of(document: Document) -> list[str]:
    """What stands above the argument: title, paper, claims."""
    lines = [f"# {document.title}"]
    if paper := document.paper:
        authors = f"{paper.authors}, " if paper.authors else ""
        link = f", [arXiv {paper.arxiv}]({paper.url})" if paper.arxiv else ""
        lines.append(f"On: {authors}*{paper.title}*, {paper.venue}{link}")
    if document.provenance:
        lines.append(" · ".join(f"{name} {text}" for name, text in document.provenance.items()))
    if document.judgements:
        lines += ["## Claims", verdict_words(document.judgements), claims_lines(document.judgements)]
    return lines


def markdown_page(document: Document) -> bytes:
    """The report as Markdown.

    Raises:
        ControlError: a formula that cannot be set; the sentence names it.
    """
    writer = Writer(judgement.claim.id for judgement in document.judgements)
    parts = [*markdown_of(document), *(writer.block(block) for block in document.blocks)]
    rows = [(name, "<br>".join(map(cell, lines))) for name, lines in document.sources]
    rows += [("Made by", f"`{document.command}`")] if document.command else []
    parts += ["## Where it comes from", rows_of(["", ""], rows)]
    return ("\n\n".join(part for part in parts if part) + "\n").encode()
