"""A marimo notebook run once, its cells as blocks of a report.

Outputs are Python objects. Figures and frames are taken as they are, wherever they stand; all else is marimo's own
HTML, whose elements are rewritten into blocks.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import marimo as mo
import pandas as pd
from bs4 import BeautifulSoup
from bs4.element import Tag
from marimo._output import formatting
from marimo._output.formatters.formatters import register_formatters

from workbench.controls import ControlError
from workbench.faces.marimo import RECORDER
from workbench.report.document import (
    Aside,
    Block,
    Claims,
    Controls,
    Drawing,
    Fold,
    Numbers,
    Plain,
    TableBlock,
)
from workbench.report.named import NAMED, Named
from workbench.report.prose import prose_blocks, tex_span
from workbench.report.study_parts import control_rows, table_blocks, view_blocks
from workbench.snapshot import as_shown
from workbench.study import Stat

if TYPE_CHECKING:
    from workbench.job import Job
    from workbench.report.narrative import Say
    from workbench.runner import Runner
    from workbench.session import Session

__all__ = ["Cell", "Recording", "run_cells"]

KINDS = {"warn": "open", "danger": "fails"}


@dataclass(frozen=True)
class Cell:
    """A cell: its source, whether it is prose alone, and what it showed."""

    source: str
    prose: bool
    blocks: Sequence[Block]


@dataclass
class Recording:
    """What a notebook gives while it runs; stands in for the parts of its pages (`workbench.faces.marimo.Recorder`).

    Attributes:
        runner: runs the experiments.
        say: told what goes on.
        sessions: the studies that the notebook opened.
        quantities: what it named itself.
    """

    runner: Runner
    say: Say
    sessions: list[Session] = field(default_factory=list)
    quantities: list[Named] = field(default_factory=list)
    kept: list[Sequence[Block]] = field(default_factory=list)

    def began(self, session: Session) -> None:
        """A page has its session."""
        self.sessions.append(session)

    def follow(self, job: Job) -> None:
        """A job goes on."""
        self.say(job.message or str(job.state), job.fraction)

    def part(self, kind: str, session: Session, what: Any = None, height: int = 0) -> str:
        """HTML that stands for a part of a page."""
        if kind == "view":
            return self.place(view_blocks(session, what, height))
        if kind == "claims":
            return self.place([Claims(tuple(what))])
        if kind == "controls":
            return self.place([control_rows(session, what)])
        if kind == "tables":
            return self.place(table_blocks(session, what))
        return ""

    def place(self, blocks: Sequence[Block]) -> str:
        """Keep blocks; the element that stands for them."""
        self.kept.append(blocks)
        return f'<div data-block="{len(self.kept) - 1}"></div>'

    def placed(self, number: str) -> Sequence[Block]:
        """What an element stands for."""
        return self.kept[int(number)] if number.isdigit() and int(number) < len(self.kept) else ()

    # from outputs to blocks

    def shown(self, output: Any) -> list[Block]:
        """A cell's output as blocks."""
        if output is None:
            return []
        if isinstance(output, Named):
            return [Numbers((output.stat,))]
        if isinstance(output, str):
            return [Plain(output)] if output.strip() else []
        if isinstance(output, mo.ui.table) and isinstance(output._data, pd.DataFrame):
            return [framed(output._data)]
        return self.converted(mo.as_html(output).text)

    def converted(self, html: str) -> list[Block]:
        """marimo's HTML as blocks."""
        soup = BeautifulSoup(html, "html.parser")
        while found := soup.find(re.compile("^marimo-")):
            assert isinstance(found, Tag)
            self._rewrite(found)
        return prose_blocks(str(soup), placed=self.placed)

    def _rewrite(self, tag: Tag) -> None:
        name = tag.name.removeprefix("marimo-")
        rewrite = getattr(self, f"_as_{name.replace('-', '_')}", None)
        found = rewrite(tag) if rewrite is not None else self._as_element(tag)
        tag.replace_with(BeautifulSoup(found, "html.parser"))

    def _as_ui_element(self, tag: Tag) -> str:
        return tag.decode_contents()

    _as_island = _as_cell_output = _as_ui_element

    def _as_tex(self, tag: Tag) -> str:
        text = tag.get_text().strip()
        display = text.startswith("||[")
        return tex_span(re.sub(r"^\|\|[(\[]+|\|\|[)\]]+$", "", text), display=display)

    def _as_accordion(self, tag: Tag) -> str:
        titles = [words(label) for label in attribute(tag, "labels") or ()]
        parts = [child for child in tag.children if isinstance(child, Tag)]
        folds = [
            Fold(title, self.converted(part.decode_contents())) for title, part in zip(titles, parts, strict=False)
        ]
        return self.place(folds)

    def _as_tabs(self, tag: Tag) -> str:
        titles = [words(label) for label in attribute(tag, "tabs") or ()]
        parts = [child for child in tag.children if isinstance(child, Tag)]
        folds = [
            Fold(title, self.converted(part.decode_contents())) for title, part in zip(titles, parts, strict=False)
        ]
        return self.place(folds)

    def _as_callout_output(self, tag: Tag) -> str:
        kind = KINDS.get(str(attribute(tag, "kind")), "note")
        return self.place([Aside(kind, self.converted(str(attribute(tag, "html") or "")))])

    def _as_stat(self, tag: Tag) -> str:
        label, caption = (str(attribute(tag, name) or "") for name in ("label", "caption"))
        value = attribute(tag, "value")
        text = f"{label} ({caption})" if caption else label
        return self.place([Numbers((Stat(words(text), value if isinstance(value, (int, float)) else str(value)),))])

    def _as_plotly(self, tag: Tag) -> str:
        figure = attribute(tag, "figure")
        return self.place([drawn(figure)]) if isinstance(figure, dict) else ""

    def _as_table(self, tag: Tag) -> str:
        data = attribute(tag, "data")
        rows = json.loads(data) if isinstance(data, str) and data.startswith("[") else data
        if not isinstance(rows, list):
            return ""
        frame = pd.DataFrame(rows).drop(columns="_marimo_row_id", errors="ignore")
        total = attribute(tag, "total-rows")
        return self.place([framed(frame, total if isinstance(total, int) else None)])

    def _as_element(self, tag: Tag) -> str:
        """A control as its label and its value; anything else says that it was left out."""
        label, value = attribute(tag, "label"), attribute(tag, "initial-value")
        steps = attribute(tag, "steps")
        if isinstance(steps, list) and steps and isinstance(value, int) and value < len(steps):
            value = steps[value]
        if not tag.has_attr("data-initial-value"):
            inner = tag.decode_contents()
            return inner if inner.strip() else f"<p>({tag.name.removeprefix('marimo-')} is left out.)</p>"
        if isinstance(value, dict):
            return tag.decode_contents()
        text = "none" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        return self.place([Controls(((words(str(label or "")) or tag.name.removeprefix("marimo-"), "", text, ""),))])


def attribute(tag: Tag, name: str) -> Any:
    """A `data-` attribute of marimo's, which is JSON."""
    try:
        return json.loads(str(tag[f"data-{name}"]))
    except (KeyError, ValueError):
        return None


def words(html: str) -> str:
    """The text of a label."""
    text = BeautifulSoup(html, "html.parser").get_text()
    return re.sub(r"\|\|[()\[\]]+", "", text).strip()


def drawn(figure: Any) -> Drawing:
    """A figure of the notebook's own."""
    shown = as_shown("", figure)
    height = (shown.content.get("layout") or {}).get("height")
    return Drawing(shown.content, shown.title, shown.subtitle, int(height or 400))


def framed(frame: pd.DataFrame, rows: int | None = None) -> TableBlock:
    """A frame of the notebook's own, with its index as columns where it says something."""
    plain = frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()
    return TableBlock(plain, str(frame.attrs.get("title", "")), rows=rows)


def take_objects(recording: Recording) -> None:
    """Have figures, frames and named numbers kept as they are wherever marimo would write them as HTML."""
    import plotly.graph_objects as go

    register_formatters()

    @formatting.formatter(go.Figure)
    def _(figure: go.Figure) -> tuple[Any, str]:
        return "text/html", recording.place([drawn(figure)])

    @formatting.formatter(pd.DataFrame)
    def _(frame: pd.DataFrame) -> tuple[Any, str]:
        return "text/html", recording.place([framed(frame)])

    @formatting.formatter(Named)
    def _(named: Named) -> tuple[Any, str]:
        return "text/html", recording.place([Numbers((named.stat,))])


def module_of(path: Path) -> Any:
    """The notebook as a module, among the modules of this process, so that it is part of what ran."""
    spec = importlib.util.spec_from_file_location(f"assay_notebook_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run_cells(path: Path, recording: Recording, given: Mapping[str, Any] | None) -> tuple[str, list[Cell]]:
    """Run a notebook from beginning to end.

    Args:
        path: a marimo notebook.
        recording: takes what its pages show.
        given: values for its cell `parameters`: `controls`, `preset`, `seed`; None leaves the cell as it is.

    Returns:
        its title, and its cells in the order of the file.

    Raises:
        ControlError: not such a notebook, values for a notebook that takes none, or a cell that was stopped.
    """
    sys.path.insert(0, str(path.parent))
    app = getattr(module_of(path), "app", None)
    if not isinstance(app, mo.App):
        raise ControlError("notebook", f"got {path.name}, which has no marimo app; expected a notebook of marimo")
    cells = list(app._cell_manager.cell_data())
    parameters = [cell for cell in cells if cell.name == "parameters"]
    if given is not None and not parameters:
        raise ControlError("notebook", f"got {path.name}, whose values cannot be set; expected a cell named parameters")
    take_objects(recording)
    tokens = RECORDER.set(recording), NAMED.set(recording.quantities)
    try:
        outputs, _ = app.run(defs=dict(given) if given is not None else None)
    finally:
        RECORDER.reset(tokens[0])
        NAMED.reset(tokens[1])
    shown = [cell for cell in cells if given is None or cell.name != "parameters"]
    if len(outputs) != len(shown):
        missing = len(shown) - len(outputs)
        raise ControlError(
            "notebook", f"got {path.name}, of which {missing} of {len(shown)} cells did not run; expected none stopped"
        )
    found = [
        Cell(cell.code, re.match(r"mo\.md\(", cell.code.strip()) is not None, recording.shown(output))
        for cell, output in zip(shown, outputs, strict=True)
    ]
    title = app._config.app_title or path.stem.replace("_", " ").capitalize()
    return title, found
