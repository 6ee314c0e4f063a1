"""A report as a Jupyter notebook that opens with its outputs and runs again.

A study's report calls `workbench.report.cells` for every part; a notebook of the user's own keeps its own cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import nbformat

from workbench.report.cells import Told, bundle
from workbench.report.document import Block, Claims, Document, Drawing, Fold, Numbers, TableBlock
from workbench.report.html import html_page
from workbench.report.markdown import Writer, markdown_of, rows_of
from workbench.report.narrative import Narrative
from workbench.report.sealing import seal_ipynb

__all__ = ["notebook_file"]


class Cells:
    """Cells one after another; prose that follows prose joins it."""

    def __init__(self) -> None:
        self.cells: list[nbformat.NotebookNode] = []

    def prose(self, text: str) -> None:
        """Text in Markdown."""
        if not text.strip():
            return
        if self.cells and self.cells[-1].cell_type == "markdown":
            self.cells[-1].source += f"\n\n{text}"
        else:
            self._add(nbformat.v4.new_markdown_cell(text))

    def code(self, source: str, outputs: Sequence[dict[str, Any]]) -> None:
        """Source with what it shows."""
        self._add(nbformat.v4.new_code_cell(source))
        cell = self.cells[-1]
        count = sum(c.cell_type == "code" for c in self.cells)
        cell.execution_count = count
        for i, data in enumerate(outputs):
            last = i == len(outputs) - 1
            kind, extra = ("execute_result", {"execution_count": count}) if last else ("display_data", {})
            cell.outputs.append(nbformat.v4.new_output(kind, data=data, metadata={}, **extra))

    def _add(self, cell: nbformat.NotebookNode) -> None:
        cell.id = f"cell-{len(self.cells) + 1}"
        self.cells.append(cell)


def notebook_file(document: Document, narrative: Narrative) -> bytes:
    """The report as a notebook.

    Raises:
        ControlError: a formula that cannot be set; the sentence names it.
    """
    html_page(document)  # a formula that no report can set is refused in every format
    if narrative.executed is not None:
        notebook = narrative.executed
    else:
        cells = Cells()
        (of_study if document.paper is not None else of_cells)(cells, document, narrative)
        notebook = nbformat.v4.new_notebook(cells=cells.cells)
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
            "assay": dict(document.manifest),
        }
    )
    nbformat.validate(notebook)
    sealed = nbformat.from_dict(seal_ipynb(dict(notebook))) if document.manifest else notebook
    return (nbformat.writes(sealed) + "\n").encode()


def of_study(cells: Cells, document: Document, narrative: Narrative) -> None:
    """A study's report: prose, and one call for every part."""
    session = narrative.sessions[0]
    told = Told(session)
    writer = Writer()
    claims = document.judgements
    cells.prose("\n\n".join(markdown_of(Document(document.title, "", "", (), (), document.paper, document.provenance))))
    values = {n: t for n, t in session.query().items() if n != "preset"}
    given = [f'"{session.study.slug}"', f'preset="{session.preset}"', *(f"{n}={t!r}" for n, t in values.items())]
    source = f"from workbench.report.cells import told\n\nstudy = told({', '.join(given)})"
    cells.code(source, [])
    if claims:
        cells.prose("## Claims")
        cells.code("study.claims()", [told.claims().data])

    def add(block: Block) -> None:
        if isinstance(block, Claims):
            ids = [j.claim.id for j in block.judgements]
            if len(ids) < len(claims):
                cells.code(f"study.claims({', '.join(map(repr, ids))})", [told.claims(*ids).data])
            return
        if isinstance(block, (Drawing, Numbers, TableBlock)) and block.origin is not None:
            member = block.origin.member
            call = f'study.table("{member}")' if "/" in member else f'study.view("{member}")'
            if not isinstance(block, Drawing) or block.content.get("data"):
                cells.code(call, [bundle(block)])
            return
        if isinstance(block, Fold):
            cells.prose(f"**{block.title}**")
            for inner in block.blocks:
                add(inner)
            return
        cells.prose(writer.block(block))

    for block in document.blocks:
        add(block)
    rows = [(name, "<br>".join(lines)) for name, lines in document.sources]
    cells.prose("## Where it comes from\n\n" + rows_of(["", ""], [*rows, ("Made by", f"`{document.command}`")]))


def of_cells(cells: Cells, document: Document, narrative: Narrative) -> None:
    """A marimo notebook of the user's own: its cells, in an order that runs, with what they showed."""
    writer = Writer()
    cells.prose(f"# {document.title}")
    for cell in narrative.cells:
        if cell.prose:
            for block in cell.blocks:
                cells.prose(writer.block(block))
            continue
        outputs = []
        for block in cell.blocks:
            if isinstance(block, (Drawing, TableBlock, Numbers)):
                outputs.append(bundle(block))
            else:
                outputs.append({"text/markdown": writer.block(block)})
        cells.code(cell.source, outputs)
