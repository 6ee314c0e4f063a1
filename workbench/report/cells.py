"""Parts of a study as outputs of a notebook's cells: what an exported `.ipynb` calls when it is run again.

from workbench.report.cells import told

study = told("lif-frequency-matching", preset="quick")
study.view("overlay")
"""

from __future__ import annotations

import json
from typing import Any

from workbench.faces import markup
from workbench.long_lines import thinned
from workbench.registry import registry
from workbench.report.document import Block, Drawing, Numbers, TableBlock
from workbench.report.figures import carried
from workbench.report.narrative import run_reported
from workbench.report.study_parts import table_blocks, view_blocks
from workbench.session import Session
from workbench.theme import template

__all__ = ["Output", "Told", "bundle", "told"]


class Output:
    """What a cell shows: the same data on screen and in the file."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return self.data


def bundle(block: Block) -> dict[str, Any]:
    """A block as data of a cell's output, by mime type."""
    if isinstance(block, Drawing):
        content, _ = thinned(block.content)
        figure = carried(content)
        layout = figure["layout"] | {
            "template": template("light"), "height": block.height,
            "title": {"text": block.title, "subtitle": {"text": block.subtitle}},
            "margin": (figure["layout"].get("margin") or {}) | {"t": 76},
        }  # fmt: skip
        drawn = {"data": figure["data"], "layout": layout, "config": {"responsive": True}}
        return {"application/vnd.plotly.v1+json": drawn, "text/plain": f"Figure: {block.title}"}
    if isinstance(block, TableBlock):
        heading = markup.heading(block.title, block.subtitle)
        html = markup.STYLES + heading + markup.table(block.frame, 40)
        return {"text/html": html, "text/plain": str(block.frame.head(10))}
    if isinstance(block, Numbers):
        text = "\n".join(f"{s.label}: {markup.number(s.value)} {s.unit}".rstrip() for s in block.values)
        return {"text/html": markup.STYLES + markup.stats(block.values), "text/plain": text}
    raise TypeError(f"block: got {type(block).__name__}.")


class Told:
    """A study that has run, whose parts are shown one by one.

    Args:
        session: with the results of its experiments.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    def view(self, name: str) -> Output:
        """A view of the study."""
        return self.output(view_blocks(self.session, name))

    def table(self, name: str) -> Output:
        """A table of an experiment's result, as `experiment/table`."""
        experiment = name.partition("/")[0]
        blocks = [b for fold in table_blocks(self.session, experiment) for b in getattr(fold, "blocks", ())]
        return self.output([b for b in blocks if b.origin is not None and b.origin.member == name])

    def claims(self, *ids: str) -> Output:
        """The ledger of some claims; of all when no id is given."""
        chosen = [self.session.judge_one(id) for id in ids or self.session.study.claims]
        words = "\n".join(f"{j.claim.id}: {j.verdict}" for j in chosen)
        return Output({"text/html": markup.STYLES + markup.ledger(chosen), "text/plain": words})

    def output(self, blocks: list[Block]) -> Output:
        """The first block that a cell can show; a note otherwise."""
        for block in blocks:
            if isinstance(block, (Drawing, TableBlock, Numbers)):
                return Output(bundle(block))
        html = "".join(getattr(inner, "html", "") for block in blocks for inner in getattr(block, "blocks", (block,)))
        return Output({"text/html": markup.STYLES + markup.boxed(html), "text/plain": "Nothing to show."})

    def __repr__(self) -> str:
        held = json.dumps({name: held.result.digest[:12] for name, held in self.session.held.items()})
        return f"{self.session.study.slug} at {self.session.preset}, digests {held}"


def told(slug: str, *, preset: str = "standard", **controls: object) -> Told:
    """Run what a study's report shows, or take kept results of the same key, and give its parts.

    Args:
        slug: the study.
        preset: `quick`, `standard` or `full`.
        **controls: values of controls or other handles of them; `seed` too.

    Raises:
        UnknownStudy, StudyError, ControlError, RunFailed, Interrupted: as `workbench.run`.
    """
    from workbench.runner import default_runner

    session = Session(registry().get(slug), default_runner(), values=controls, preset=preset)
    session.recall()
    run_reported(session, lambda what, fraction: None)
    return Told(session)
