"""The page of runs: all that somebody may see as a list, and those they tick beside each other."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import panel as pn

from workbench.controls import ControlError
from workbench.faces.markup import left, rich
from workbench.faces.panel.compared_parts import comparison_html
from workbench.faces.panel.page import HERE, ICONS, PageFace, Wire, page, theme_in
from workbench.faces.panel.run_parts import row_html, study_of
from workbench.faces.panel.study_page import asked_of_address
from workbench.job import State
from workbench.kept_figures import listed, read_figures
from workbench.latest import Latest
from workbench.overlay import LETTERS, overlay, why_apart
from workbench.record import Record
from workbench.result_files import DamagedResult, read_result
from workbench.results import Result
from workbench.run_comparison import Difference, compared_numbers, differences, listing, short, why_no_numbers
from workbench.run_rows import MINE, Row, asked, chosen, own_pins, pin_of, seen_by, why_not_forget
from workbench.run_watch import run_watch
from workbench.store import Store, StoreError, UnknownRun
from workbench.theme import THEMES, Theme, figure, template, without_template
from workbench.visitors import Visitor

__all__ = ["RunsFace", "runs_page"]

LOG = logging.getLogger(__name__)
PAGE = 50
"""Lines that are sent at once; further ones when they are asked for."""
NAMED = 2
"""Controls that a legend names."""
FAULT = "This page has a fault; what you asked for is kept in the address."


Wanted = tuple[int, tuple[str, ...]]
"""The number of a question, and the runs that are to be beside each other."""


class RunsWire(Wire):
    """The wire of the page of runs."""

    _esm: ClassVar[str | os.PathLike[str]] = "\n".join(
        (HERE / f"{name}.js").read_text("utf-8") for name in ("base", "figures", "runs")
    )


@dataclass(frozen=True)
class Compared:
    """Runs that are beside each other, as they were read from the store, and the question that they answer."""

    at: int
    records: list[Record]
    results: list[Result | None]
    figures: list[dict[str, dict[str, Any]]]

    @cached_property
    def differences(self) -> list[Difference]:
        """What they say differently."""
        return differences(self.records)

    @cached_property
    def names(self) -> dict[str, str]:
        """From letter to what was set otherwise in that run; nothing where that is too much for a legend."""
        own = [one for one in self.differences if one.part == "controls"]
        said = zip(LETTERS, zip(*(one.values for one in own), strict=True), strict=False) if len(own) <= NAMED else ()
        return {
            letter: ", ".join(f"{one.name} {short(text)}" for one, text in zip(own, values, strict=True))
            for letter, values in said
        }

    @cached_property
    def html(self) -> str:
        """All but the figures."""
        why = why_no_numbers(self.records, self.results)
        whole = [result for result in self.results if result is not None]
        numbers = None if why else compared_numbers(whole)
        return comparison_html(self.records, self.differences, numbers, why)


class RunsFace(PageFace):
    """Somebody who looks at the runs.

    Args:
        address: what the address says.
    """

    def __init__(self, address: dict[str, str]) -> None:
        super().__init__(RunsWire(width=0, height=0, margin=0), "assay-runs-page")
        self.question, self._notices = asked(address)
        self._wanted = [part for part in address.get("runs", "").split(",") if part]
        self._watch = run_watch()
        self._shown = PAGE
        self._sent: dict[str, str] = {}
        self._telling = threading.Lock()
        self._stop: Callable[[], None] = lambda: None
        self._compared: Compared | None = None
        self._list: Latest[None, None] = Latest(lambda _: self._tell_list(), lambda *_: None, self._failed)
        self._comparison: Latest[Wanted, None] = Latest(self._compare, lambda *_: None, self._failed)

    def close(self) -> None:
        """The page is gone."""
        self._stop()
        self._list.close()
        self._comparison.close()
        super().close()

    # what the page says

    def _refused(self, message: dict[str, Any], error: Exception) -> None:
        self._failed(message.get("run"), error)

    def _failed(self, _: object, error: Exception) -> None:
        fault = not isinstance(error, (ControlError, StoreError))
        if fault:
            LOG.error("the page of runs could not answer", exc_info=error)
        self.wire.send({"kind": "refused", "sentence": FAULT if fault else str(error)})

    def _on_hello(self, message: dict[str, Any]) -> None:
        self.theme = theme_in(message)
        self.wire.send({"kind": "looks", "templates": {theme: template(theme) for theme in THEMES}})
        self._stop()
        self._stop = self._watch.listen(lambda: self._list.ask(None))
        self._tell_list()
        wanted, self._wanted = self._wanted, []
        if wanted:
            runs = self._named(wanted)
            self.wire.send({"kind": "ticked", "runs": runs, "notices": self._notices})
            self._comparison.ask((0, tuple(runs)))
        elif self._notices:
            self.wire.send({"kind": "ticked", "runs": [], "notices": self._notices})

    def _named(self, wanted: Sequence[str]) -> list[str]:
        """The runs that the address names by the beginning of their ids."""
        found: list[str] = []
        rows = [row for row in self._rows() if row.kept]
        for text in wanted:
            fitting = [row.id for row in rows if row.id.startswith(text)]
            if len(fitting) == 1 and len(found) < len(LETTERS):
                found += [run for run in fitting if run not in found]
            else:
                self._notices.append(f"The address says runs: got {text[:40]!r}; expected ids of runs that are here.")
        return found

    def _on_theme(self, message: dict[str, Any]) -> None:
        self.theme = theme_in(message)
        if self._compared is not None:
            self._tell_comparison(self._compared)

    def _on_list(self, message: dict[str, Any]) -> None:
        self.question, _ = asked(message)
        self._shown = PAGE
        self._list.ask(None)

    def _on_more(self, message: dict[str, Any]) -> None:
        self._shown += PAGE
        self._list.ask(None)

    def _on_compare(self, message: dict[str, Any]) -> None:
        runs = tuple(str(run) for run in message.get("runs", ()))
        self._comparison.ask((int(message.get("at", 0)), runs[: len(LETTERS)]))

    def _on_pin(self, message: dict[str, Any]) -> None:
        row, store = self._one(message)
        if why := self.visitor.why_not_change(row.record.owner):
            raise ControlError("", why)
        pins = own_pins(row)
        for by in pins:
            store.unpin(row.id, by)
        if not pins:
            store.pin(row.id, pin_of(self.visitor))
        self._list.ask(None)

    def _on_forget(self, message: dict[str, Any]) -> None:
        row, store = self._one(message)
        if why := why_not_forget(row, self.visitor):
            raise ControlError("", why)
        store.forget(row.id)
        self.wire.send({"kind": "forgotten", "run": row.id})
        self._list.ask(None)

    def _rows(self) -> list[Row]:
        return seen_by(self._watch.rows(), self.visitor)

    def _one(self, message: dict[str, Any]) -> tuple[Row, Store]:
        """A run of the store that the visitor may see."""
        run, store = str(message.get("run")), self._watch.runner.store
        row = next((row for row in self._rows() if row.id == run and row.kept), None)
        if row is None or store is None:
            raise UnknownRun("run", f"got {run[:40]!r}; expected the id of a run that you may see")
        return row, store

    # what the page is told

    def _tell_list(self) -> None:
        with self._telling:  # at first it is told beside what the watch sees
            self._send_list(self._rows())

    def _send_list(self, seen: Sequence[Row]) -> None:
        question, most = self.question, self._shown  # another may be asked meanwhile
        rows = chosen(seen, question, self.visitor)
        window = rows[:most]
        html = {row.id: row_html(row, self.visitor) for row in window}
        changed = {id: text for id, text in html.items() if self._sent.get(id) != text}
        self._sent = html
        self.wire.send(
            {
                "kind": "list", "rows": changed, "order": list(html), "found": len(rows), "all": len(seen),
                "progress": {row.id: progress(row) for row in window if row.job is not None},
                "query": question.as_query(), "sort": question.sort, "falls": question.falls,
                "studies": sorted({row.record.study for row in seen}), "people": people(seen, self.visitor),
                "empty": "" if rows else self._nothing(seen),
            }
        )  # fmt: skip

    def _nothing(self, seen: Sequence[Row]) -> str:
        if self._watch.runner.store is None:
            return "This server keeps no runs."
        return "No run fits." if seen else "Runs appear here once you start one."

    def _compare(self, wanted: Wanted) -> None:
        """Read what is beside each other; one that is gone or not theirs to see is left out."""
        at, runs = wanted
        rows = {row.id: row for row in self._rows() if row.kept}
        store = self._watch.runner.store
        self._compared = None
        here = [run for run in dict.fromkeys(runs) if run in rows]
        if store is None or len(here) < 2:
            self.wire.send({"kind": "comparison", "at": at, "runs": here, "html": "", "views": []})
            return
        records, results, figures = [], [], []
        for run in here:
            record = store.get(run)
            folder = store.files(run)
            records.append(record)
            results.append(None if folder is None or record.state is not State.DONE else whole_result(folder))
            figures.append({} if folder is None else read_figures(folder))
        self._compared = Compared(at, records, results, figures)
        self._tell_comparison(self._compared)

    def _tell_comparison(self, compared: Compared) -> None:
        views = compared_views(compared, self.theme)
        runs = [record.run for record in compared.records]
        self.wire.send(
            {
                "kind": "comparison", "at": compared.at, "runs": runs, "html": compared.html, "views": views,
                "theme": self.theme,
            }
        )  # fmt: skip


def whole_result(folder: Any) -> Result | None:
    """The result in a folder; None where its files are not what was written."""
    try:
        return read_result(folder)
    except (DamagedResult, OSError):
        return None


def progress(row: Row) -> dict[str, Any]:
    """How far a job is, and what it does now."""
    job = row.job
    assert job is not None
    words = job.message or ("Waits for its turn" if job.state is State.QUEUED else "Begins")
    return {"percent": round(100 * job.fraction), "words": words, "left": "" if job.eta is None else left(job.eta)}


def people(rows: Sequence[Row], who: Visitor) -> list[list[str]]:
    """Whose runs can be asked for: value and name, one's own first; nobody where nobody signs in."""
    owners = sorted({row.record.owner for row in rows if row.record.owner})
    own = [[MINE, "Mine"]] if who.name else []
    return own + [[name, name] for name in owners if name != who.name]


def compared_views(compared: Compared, theme: Theme) -> list[dict[str, Any]]:
    """The figures of runs, view by view: one for all where that can be, else one a run with the reason."""
    if len({record.study for record in compared.records}) > 1:
        return []
    study = study_of(compared.records[0].study)
    kept = dict.fromkeys(name for figures in compared.figures for name in figures)
    order = [name for name in (study.views if study is not None else kept) if name in kept]
    found = []
    for name in [*order, *(name for name in kept if name not in order)]:
        known = study.views.get(name) if study is not None else None
        view = compared_view(name, known.title if known else name, compared.figures, theme)
        for trace in (trace for part in view["parts"] for trace in part["figure"]["data"]):
            if (said := compared.names.get(trace.get("name") or "")) and trace["meta"].get("run"):
                trace["name"] += f", {said}"
        found.append(view)
    return found


def compared_view(name: str, title: str, kept: Sequence[dict[str, dict[str, Any]]], theme: Theme) -> dict[str, Any]:
    here = [(letter, figures[name]) for letter, figures in zip(LETTERS, kept, strict=False) if name in figures]
    without = [letter for letter, figures in zip(LETTERS, kept, strict=False) if name not in figures]
    why = f"{listing(without)} kept no figure of it." if without else why_apart([figure for _, figure in here])
    titles = list(dict.fromkeys(str(one.get("title") or title) for _, one in here))
    said = titles[0] if len(titles) == 1 else title
    notes = [] if len(titles) == 1 else [f"{letter}: {one.get('title') or title}" for letter, one in here]
    parts = (
        [{"letter": letter, "figure": listed(without_template(figure(one, theme)))} for letter, one in here]
        if why
        else [{"letter": "", "figure": listed(without_template(overlay([one for _, one in here], theme)))}]
    )
    same = not why and not any((trace.get("meta") or {}).get("run") for trace in parts[0]["figure"]["data"])
    notes += [f"Alike in {listing([letter for letter, _ in here])}."] if same else []
    return {"name": name, "title": rich(said), "notes": [rich(note) for note in notes], "why": why, "parts": parts}


STATES = "".join(f'<option value="{state}">{str(state).capitalize()}</option>' for state in State)
COLUMNS = (
    '<th><span class="as-sr">Compare</span></th><th><span class="as-sr">Letter</span></th>'
    '<th scope="col" data-col="study"><button type="button" data-sort="study">Study and experiment</button></th>'
    '<th scope="col" data-col="state"><button type="button" data-sort="state">State</button></th>'
    '<th scope="col" data-col="started took"><button type="button" data-sort="started">Started</button>, '
    '<button type="button" data-sort="took">took</button></th><th scope="col">Claims</th>'
    '<th><span class="as-sr">Pin or forget</span></th>'
)
MAIN = f"""
<header class="rn-head"><h1>Runs</h1><div class="rn-f"><label class="as-search">{ICONS["search"]}
<span class="as-sr">Find a run</span><input class="as-field" id="rn-find" type="search" maxlength="200"
placeholder="Study, control or run"><kbd>/</kbd></label>
<select class="as-field" id="rn-study" aria-label="Study"><option value="">All studies</option></select>
<select class="as-field" id="rn-state" aria-label="State"><option value="">Any state</option>{STATES}</select>
<select class="as-field" id="rn-who" aria-label="Who" hidden><option value="">Anyone’s</option></select></div></header>
<div id="rn-notices" role="status"></div>
<section class="as-frame rn-list" aria-label="List of runs" aria-busy="true"><div class="as-scroll" tabindex="0"
role="region" aria-label="Runs"><table class="as-table"><thead><tr>{COLUMNS}</tr></thead>
<tbody id="rn-rows"></tbody></table></div><div class="as-blank rn-none" hidden><p></p><button class="as-btn"
type="button" id="rn-clear">Clear filters</button></div><div class="rn-foot"><span id="rn-count" role="status"></span>
<button class="as-btn as-btn--quiet" type="button" id="rn-more" hidden>Show more</button></div></section>
<section class="rn-cmp" id="rn-cmp" aria-label="Comparison" aria-live="off"><div class="as-frame as-blank" id="rn-hint">
<p>Tick two or more runs to compare them.</p></div><div id="rn-found"></div></section>
"""


def runs_page() -> pn.Template:
    """The page of all runs that the visitor may see; filters and the runs that are compared live in its address."""
    face = RunsFace(asked_of_address())
    if pn.state.curdoc is not None:
        pn.state.on_session_destroyed(lambda _: face.close())
    return page("Runs – Assay", f'<div class="rn">{MAIN}</div>', face.wire, here="runs")
