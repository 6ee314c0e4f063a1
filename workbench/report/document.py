"""What a report is made of: a list of blocks, whatever notebook they come from and whatever file they end in.

Prose is HTML that has been cleaned (`workbench.report.prose`); formulas in it are still TeX, in
`<span class="tex">` or `<span class="tex" data-display="1">`, and every writer sets them its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from workbench.claims import Judgement
from workbench.study import Paper, Stat

__all__ = [
    "Aside", "Block", "Claims", "Code", "Controls", "Document", "Drawing", "Fold", "Heading", "Numbers", "Origin",
    "Picture", "Plain", "Prose", "TableBlock", "levelled", "walk",
]  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """Where what a block shows comes from.

    Attributes:
        member: the view or table, such as `overlay` or `sweep/accuracy`.
        facts: from a word to what it is: controls, runs, data, key.
        quantities: beginnings of the names of the quantities that it rests on.
    """

    member: str
    facts: Mapping[str, str] = field(default_factory=dict)
    quantities: tuple[str, ...] = ()


@dataclass(frozen=True)
class Heading:
    """A heading; level 2 is the highest below the title of the report."""

    level: int
    html: str


@dataclass(frozen=True)
class Prose:
    """Cleaned HTML with formulas as TeX."""

    html: str


@dataclass(frozen=True)
class Drawing:
    """A Plotly figure.

    Attributes:
        content: `data` and `layout` as a plain dict, without title; traces may carry roles (`workbench.theme`).
        title: its finding, with the few marks that Plotly allows.
        subtitle: a line below.
        height: CSS pixels on a screen.
        note: what the reader must know, such as what the figure waits for.
        origin: where it comes from.
    """

    content: Mapping[str, Any]
    title: str = ""
    subtitle: str = ""
    height: int = 400
    note: str = ""
    origin: Origin | None = None


@dataclass(frozen=True)
class TableBlock:
    """A data frame; `rows` is how many it has where the frame holds the first ones only."""

    frame: pd.DataFrame
    title: str = ""
    subtitle: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    origin: Origin | None = None
    rows: int | None = None


@dataclass(frozen=True)
class Numbers:
    """Labelled numbers."""

    values: Sequence[Stat]
    title: str = ""
    origin: Origin | None = None


@dataclass(frozen=True)
class Claims:
    """Claims with their verdicts, in the paper's order."""

    judgements: Sequence[Judgement]


@dataclass(frozen=True)
class Controls:
    """What was set: name, symbol, value with its unit, and what it is."""

    rows: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True)
class Fold:
    """Blocks under a heading of their own that a reader may close."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Aside:
    """Blocks apart from the text; `kind` is `note`, `fails` or `open`."""

    kind: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Picture:
    """An image: mime type, base64, and what it shows."""

    mime: str
    base64: str
    alt: str = ""


@dataclass(frozen=True)
class Plain:
    """Text as it was printed."""

    text: str


@dataclass(frozen=True)
class Code:
    """Source that the reader may run."""

    source: str
    language: str = "python"


Block = (
    Heading | Prose | Drawing | TableBlock | Numbers | Claims | Controls | Fold | Aside | Picture | Plain | Code
)  # fmt: skip


@dataclass(frozen=True)
class Document:
    """A report before it becomes a file.

    Attributes:
        title: the study's question, or the notebook's title.
        kicker: a line above the title.
        name: what the file is called without its ending.
        blocks: the argument.
        judgements: all claims; they stand before the argument.
        paper: what it is about; None for a notebook of the user's own.
        provenance: one line, from a word to what it is.
        sources: rows of the page on where it comes from: heading and lines.
        command: makes the report again.
        manifest: what `assay verify` compares; JSON-able.
    """

    title: str
    kicker: str
    name: str
    blocks: Sequence[Block]
    judgements: Sequence[Judgement] = ()
    paper: Paper | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    sources: Sequence[tuple[str, Sequence[str]]] = ()
    command: str = ""
    manifest: Mapping[str, Any] = field(default_factory=dict)


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Every block in reading order, those inside others too."""
    for block in blocks:
        yield block
        if isinstance(block, (Fold, Aside)):
            yield from walk(block.blocks)


def levelled(blocks: Sequence[Block], title: str) -> list[Block]:
    """The blocks with their highest headings at level 2, and without a first heading that repeats the title."""
    found = list(blocks)
    first = next((i for i, block in enumerate(found) if isinstance(block, Heading)), None)
    if first is not None and first == 0 and re.sub("<[^>]+>", "", found[0].html).strip() == title.strip():  # pyright: ignore[reportAttributeAccessIssue]
        del found[0]
    levels = [block.level for block in walk(found) if isinstance(block, Heading)]
    return [moved(block, 2 - min(levels)) for block in found] if levels else found


def moved(block: Block, by: int) -> Block:
    if isinstance(block, Heading):
        return Heading(min(6, block.level + by), block.html)
    if isinstance(block, (Fold, Aside)):
        return replace(block, blocks=[moved(inner, by) for inner in block.blocks])
    return block
