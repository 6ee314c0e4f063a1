"""A Jupyter notebook run once in a kernel of its own, its cells as blocks of a report."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError

from workbench.controls import ControlError
from workbench.report.document import Block, Drawing, Numbers, Picture, Plain, Prose
from workbench.report.marimo_cells import Cell
from workbench.report.named import MIME, Named
from workbench.report.prose import markdown_html, prose_blocks, tex_span
from workbench.snapshot import as_shown

__all__ = ["read_notebook", "run_notebook"]

PICTURES = ("image/png", "image/jpeg")
COLOURS = re.compile(r"\x1b\[[\d;]*m")


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """A notebook of format 4.

    Raises:
        ControlError: not a notebook, or a broken one.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except Exception as error:  # whatever is wrong with a file that is not ours
        reason = " ".join(str(error).split())[:120]
        raise ControlError("notebook", f"got {path.name}; expected a notebook of Jupyter ({reason})") from None
    return notebook


def run_notebook(path: Path, quantities: list[Named]) -> tuple[str, list[Cell], nbformat.NotebookNode]:
    """Run a notebook from beginning to end, on one thread, in the folder that it lies in.

    Args:
        path: the notebook; it is left as it is.
        quantities: takes what the notebook names.

    Returns:
        its title, its cells, and the notebook with its new outputs.

    Raises:
        ControlError: not a notebook, or a cell that fails; the sentence says which and why.
    """
    notebook = read_notebook(path)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    client = NotebookClient(
        notebook, kernel_name="python3", timeout=None, store_widget_state=False,
        resources={"metadata": {"path": str(path.parent)}},
    )  # fmt: skip
    environment = os.environ | {"PLOTLY_RENDERER": "plotly_mimetype"}
    try:
        client.execute(env=environment)
    except CellExecutionError as error:
        reason = COLOURS.sub("", f"{error.ename}: {error.evalue}").splitlines()[0][:200]
        number = next((i for i, cell in enumerate(notebook.cells, 1) if failed(cell)), 0)
        raise ControlError("notebook", f"got {path.name}, whose cell {number} failed: {reason}") from None
    except DeadKernelError:
        raise ControlError("notebook", f"got {path.name}, whose kernel died; expected it to run to its end") from None
    cells = []
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "markdown":
            html = markdown_html(inlined(cell))
            cells.append(Cell(cell.source, True, prose_blocks(html)))
        elif cell.cell_type == "code":
            blocks = [block for output in cell.outputs for block in shown(output, quantities)]
            cells.append(Cell(cell.source, False, blocks))
    first = next((b for cell in cells for b in cell.blocks if hasattr(b, "level")), None)
    title = re.sub("<[^>]+>", "", first.html) if first is not None else path.stem.replace("_", " ").capitalize()
    return title, cells, notebook


def failed(cell: Mapping[str, Any]) -> bool:
    return any(output.get("output_type") == "error" for output in cell.get("outputs") or ())


def inlined(cell: Mapping[str, Any]) -> str:
    """The source of a cell with its attachments as data in the page."""

    def found(match: re.Match[str]) -> str:
        bundle = (cell.get("attachments") or {}).get(match[1]) or {}
        mime = next((m for m in PICTURES if m in bundle), None)
        return f"(data:{mime};base64,{''.join(bundle[mime]).strip()})" if mime else match[0]

    return re.sub(r"\(attachment:([^)\s]+)\)", found, str(cell["source"]))


def shown(output: Mapping[str, Any], quantities: list[Named]) -> list[Block]:
    """An output as blocks: the richest form that a page can hold."""
    kind = output["output_type"]
    if kind == "stream":
        text = COLOURS.sub("", str(output["text"])).strip("\n")
        return [Plain(text)] if text and output["name"] == "stdout" else []
    data: Mapping[str, Any] = output.get("data") or {}
    if MIME in data:
        found = dict(data[MIME])
        interval = found.get("interval")
        named = Named(**{**found, "interval": tuple(interval) if interval else None})
        quantities.append(named)
        return [Numbers((named.stat,))]
    if figure := data.get("application/vnd.plotly.v1+json"):
        drawn = as_shown("", {"data": figure["data"], "layout": figure.get("layout") or {}})
        return [Drawing(drawn.content, drawn.title, drawn.subtitle)]
    for mime in PICTURES:
        if mime in data:
            return [Picture(mime, "".join(str(data[mime]).split()), str(data.get("text/plain") or ""))]
    if "text/html" in data and "widget-view" not in str(data):
        return prose_blocks(str(data["text/html"]))
    if "text/markdown" in data:
        return prose_blocks(markdown_html(str(data["text/markdown"])))
    if "text/latex" in data:
        tex = str(data["text/latex"]).strip()
        return [Prose(f"<p>{tex_span(tex.strip('$').removeprefix(chr(92) + 'displaystyle'), display=True)}</p>")]
    text = str(data.get("text/plain") or "")
    return [Plain(text)] if text.strip() else []
