"""A study in the browser: its session, what the page asks of it, and what the page is told."""

from __future__ import annotations

import logging
import os
import time
from html import escape
from typing import Any, ClassVar

import panel as pn

from workbench.controls import ControlError
from workbench.faces.panel.page import HERE, PageFace, Wire, page, theme_in
from workbench.faces.panel.parts import control_facts, job_facts, ledger, strip, study_facts, view_facts
from workbench.faces.panel.report_face import ReportFace
from workbench.faces.panel.sweep_face import SweepFace
from workbench.latest import Latest
from workbench.registry import UnknownStudy, registry
from workbench.session import Change, Session
from workbench.snapshot import Shown
from workbench.study import Study, StudyError
from workbench.uploads import upload_limit

__all__ = ["StudyFace", "asked_of_address", "study_page"]

LOG = logging.getLogger(__name__)
PAUSE = 0.15  # seconds that a judgement waits, so that views answer a drag first
RESERVED = {"study", "theme"}
FAULT = "This page has a fault; what you set is kept in the address."


class StudyWire(Wire):
    """The wire of a study's page."""

    _esm: ClassVar[str | os.PathLike[str]] = "\n".join(
        (HERE / f"{name}.js").read_text("utf-8")
        for name in ("base", "controls", "uploads", "figures", "handles", "views", "sweep", "report", "study")
    )


class StudyFace(PageFace):
    """One person at one study in a browser.

    Args:
        study: the study.
        asked: from control to text, as the address says; `preset` too.
    """

    def __init__(self, study: Study, asked: dict[str, str]) -> None:
        super().__init__(StudyWire(width=0, height=0, margin=0), "assay-page")
        self.study = study
        self.asked = asked
        self.session: Session | None = None
        self._views = {
            name: Latest(self._compute, self._deliver, self._failed) for name in study.views
        }  # each view is answered on its own, newest question first
        self._judging: Latest[None, dict[str, Any]] = Latest(self._judge, self._tell_claims)
        self._sweep = SweepFace(self.wire.send)
        self._report = ReportFace(self.wire.send)
        self._visible: list[str] = []
        self._after: set[str] = set()
        self._controls: dict[str, dict[str, Any]] = {}  # as the page has them
        self._claims: dict[str, Any] = {}

    def close(self) -> None:
        """The page is gone; jobs go on."""
        for view in self._views.values():
            view.close()
        self._judging.close()
        self._sweep.close()
        self._report.cancel()
        if self.session is not None:
            self.session.close()
        super().close()

    # what the page says

    def _refused(self, message: dict[str, Any], error: Exception) -> None:
        if isinstance(error, ControlError):
            self.wire.send({"kind": "refused", "field": error.field, "sentence": f"{error}", "at": message.get("at")})
            return
        LOG.error("%s: the page could not answer %s", self.study.slug, message.get("kind"), exc_info=error)
        self.wire.send({"kind": "fault", "sentence": FAULT})

    def _on_hello(self, message: dict[str, Any]) -> None:
        self.theme = theme_in(message)
        self._controls, self._claims = {}, {}
        notices = self._open()
        may = {"run": self.visitor.may_run, "why": self.visitor.why_not, "bytes": upload_limit()}
        self.wire.send({"kind": "study", "may": may, **study_facts(self.study)})
        self._tell_controls(notices=notices)
        self._tell_jobs(self.study.experiments)
        self._judging.ask(None)
        self.here.recall()

    def _open(self) -> list[str]:
        """Begin the session with what the address says; what it says wrongly is left out, with a sentence."""
        if self.session is not None:
            return []
        from workbench.runner import default_runner

        values = {n: v for n, v in self.asked.items() if n not in RESERVED and n != "preset"}
        preset, notices = self.asked.get("preset", "standard"), []
        while True:
            try:
                session = Session(
                    self.study, default_runner(), values=values, preset=preset, strict=False, visitor=self.visitor
                )
                break
            except ControlError as error:
                notices.append(f"The address says {error}.")
                known = set(self.study.controls) | set(self.study.aliases)
                unknown = [n for n in values if n not in known]
                if error.field == "preset":
                    preset = "standard"
                elif error.field in values:
                    del values[error.field]
                else:
                    values = {n: v for n, v in values.items() if n in known} if unknown else {}
        session.on_change(self._changed)
        self.session = session
        if self.study.experiments and self.visitor.may_run:
            default_runner().warm()
        return [*notices, *session.settings.notices]

    @property
    def here(self) -> Session:
        """The session, once the page has said hello."""
        if self.session is None:
            raise ControlError("", "The page is not ready yet")
        return self.session

    def _on_theme(self, message: dict[str, Any]) -> None:
        self.theme = theme_in(message)
        self._draw(self._visible)
        self._sweep.draw(theme=self.theme)

    def _on_show(self, message: dict[str, Any]) -> None:
        self._visible = [name for name in message.get("views", ()) if name in self.study.views]
        self._draw(self._visible)

    def _on_set(self, message: dict[str, Any]) -> None:
        self.here.update(dict(message["values"]), gesture=str(message.get("gesture") or ""))
        self.wire.send({"kind": "taken", "at": message.get("at")})

    def _on_preset(self, message: dict[str, Any]) -> None:
        self.here.update(preset=str(message["preset"]))
        self._tell_controls()
        self._tell_jobs(self.study.experiments)

    def _on_reset(self, message: dict[str, Any]) -> None:
        self.here.reset(message.get("names"))

    def _on_undo(self, message: dict[str, Any]) -> None:
        self.here.undo()

    def _on_redo(self, message: dict[str, Any]) -> None:
        self.here.redo()

    def _on_run(self, message: dict[str, Any]) -> None:
        self.here.run(str(message["experiment"]), fresh=bool(message.get("fresh")))

    def _on_cancel(self, message: dict[str, Any]) -> None:
        self.here.cancel(str(message["experiment"]))

    def _on_sweep(self, message: dict[str, Any]) -> None:
        self.visitor.check_may_run()
        self._sweep.theme = self.theme
        self._sweep.start(self.here, message)

    def _on_sweep_cancel(self, message: dict[str, Any]) -> None:
        self._sweep.cancel()

    def _on_sweep_measure(self, message: dict[str, Any]) -> None:
        self._sweep.draw(str(message["measure"]))

    def _on_report(self, message: dict[str, Any]) -> None:
        self.visitor.check_may_run()
        self._report.start(self.here, message)

    def _on_report_cancel(self, message: dict[str, Any]) -> None:
        self._report.cancel()

    def _on_code(self, message: dict[str, Any]) -> None:
        self.wire.send({"kind": "code", "text": f"{self.here.code()}\n# {self.here.command()}\n"})

    def _on_save(self, message: dict[str, Any]) -> None:
        """The whole of a table, of a view or of an experiment's result."""
        what, form = str(message["what"]), "json" if message.get("form") == "json" else "csv"
        if what in self.study.views:
            name, frame = what, self.here.show(what).content
        elif what.startswith("sweep/") and self._sweep.sweep is not None:
            name = what.replace("/", "-")
            frame = self._sweep.sweep.frame(what.partition("/")[2])
        else:
            experiment, _, name = what.partition("/")
            frame = self.here.held[experiment].result[name]
        text = frame.to_csv(index=False) if form == "csv" else frame.to_json(orient="records", indent=1)
        self.wire.send({"kind": "file", "name": f"{self.study.slug}-{name}.{form}", "text": text})

    # what the page is told

    def _changed(self, change: Change) -> None:
        if change.controls or change.notices:
            self._tell_controls(notices=change.notices)
        self._draw([name for name in self._visible if name in change.views])
        if change.experiments:
            self._tell_jobs(change.experiments)
        if change.claims or change.controls:
            self._judging.ask(None)

    def _tell_controls(self, notices: Any = ()) -> None:
        session = self.here
        before, self._controls = self._controls, control_facts(session)
        moved = {name: facts for name, facts in self._controls.items() if facts != before.get(name)}
        self.wire.send(
            {
                "kind": "controls", "controls": moved, "preset": session.preset,
                "query": {"study": self.study.slug, **session.query()}, "undo": session.can_undo,
                "redo": session.can_redo, "moved": bool(session.settings.user), "notices": list(notices),
            }
        )  # fmt: skip

    def _tell_jobs(self, names: Any) -> None:
        self.wire.send({"kind": "jobs", "jobs": {name: job_facts(self.here, name) for name in names}})

    def _judge(self, _: None) -> dict[str, Any]:
        time.sleep(PAUSE)
        found = self.here.judge()
        return {"kind": "claims", "html": ledger(found), "strip": strip([j.verdict for j in found])}

    def _tell_claims(self, _: None, found: dict[str, Any]) -> None:
        if found != self._claims:
            self._claims = found
            self.wire.send(found)

    def _draw(self, names: Any) -> None:
        """Draw views; the hero first, the others once it is there."""
        hero = next(iter(self.study.views), "")
        if hero in names:
            self._after |= {name for name in names if name != hero}
            self._views[hero].ask(hero)
            return
        for name in names:
            self._views[name].ask(name)

    def _draw_rest(self, name: str) -> None:
        if name == next(iter(self.study.views)):
            rest, self._after = self._after, set()
            self._draw(rest)

    def _compute(self, name: str) -> tuple[Shown, dict[str, Any]]:
        shown = self.here.show(name)
        return shown, view_facts(self.here, name, shown, self.theme)

    def _deliver(self, name: str, answer: tuple[Shown, dict[str, Any]]) -> None:
        self.wire.send({"kind": "view", "name": name, **answer[1]})
        self._draw_rest(name)

    def _failed(self, name: str, error: Exception) -> None:
        if not isinstance(error, ControlError):
            LOG.error("%s: the view %s has a fault", self.study.slug, name, exc_info=error)
        sentence = str(error) if isinstance(error, ControlError) else f"This view has a fault: {error}"
        self.wire.send({"kind": "broken", "name": name, "sentence": sentence})
        self._draw_rest(name)


def asked_of_address() -> dict[str, str]:
    """What the address of the page says."""
    found = pn.state.session_args or {}
    return {name: values[-1].decode("utf-8", "replace") for name, values in found.items() if values}


def study_page(slug: str = "") -> pn.Template:
    """The page of a study: the one of a name, or the one that the address names.

    Args:
        slug: the study; from `?study=` when left out.
    """
    asked = asked_of_address()
    name = slug or asked.get("study", "")
    try:
        study = registry().get(name)
    except (UnknownStudy, StudyError) as error:
        main = f'<section class="as-frame as-blank"><h1>No such study here</h1><p>{escape(str(error))}</p>'
        main += '<p><a class="as-btn" href="gallery">All studies</a></p></section>'
        return page("No such study – Assay", main, pn.pane.HTML("", width=0, height=0, margin=0))
    face = StudyFace(study, asked)
    if pn.state.curdoc is not None:
        pn.state.on_session_destroyed(lambda _: face.close())
    paper = study.paper
    authors = f" · {escape(paper.authors)}, {escape(paper.venue)}" if paper.authors else f" · {escape(paper.venue)}"
    link = ""
    if paper.arxiv:
        number = f"arXiv\N{NO-BREAK SPACE}{escape(paper.arxiv)}"
        link = f' · <a href="{escape(paper.url)}" rel="noreferrer">{number}</a>'
    head = (
        f'<header class="st-head"><div><p class="crumb"><a href="gallery">Studies</a> / '
        f"{escape(study.family.capitalize())}</p><h1>{escape(study.question)}</h1>"
        f'<p class="paper">{escape(paper.title)}{authors}{link}</p></div>'
        f'<div class="st-acts" id="as-acts"></div></header>'
    )
    main = f'{head}<div id="as-study" class="st-grid" aria-busy="true"></div>'
    return page(f"{study.question} – Assay", main, face.wire)
