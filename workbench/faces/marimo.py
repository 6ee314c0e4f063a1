"""A study in a marimo notebook: controls as UI elements, live views, experiments with progress, claims.

A notebook stays thin: one `Page` for the study, elements from `Page.dials`, and `Page.at`, which sets what the elements
hold and gives what can be shown under it. Run as a script, a notebook runs its experiments to their end.

    changed, tell = mo.state(0)
    page = Page("kitchen-sink", tell=tell)
    dials = page.dials("amplitude")
    climb = page.launcher("climb")
    here = page.at(dials.value, changed(), climb)
    here.view("curve")
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import marimo as mo
import numpy as np
import plotly.graph_objects as go

from workbench import theme
from workbench.batch import RunFailed, ended, progress_line
from workbench.claims import Judgement
from workbench.controls import Choice, Control, ControlError, Data, Flag, Integer, Number
from workbench.faces import markup
from workbench.registry import registry
from workbench.results import Result
from workbench.runner import State
from workbench.session import Session
from workbench.uploads import keep_upload
from workbench.visitors import Visitor, visitor

if TYPE_CHECKING:
    from workbench.runner import Job, Runner

__all__ = ["RECORDER", "Here", "Page", "Recorder"]

SEGMENTS = 4
FINE = 2000
APART = 0.25  # seconds between two redrawings while a job runs
HEIGHT = 400


class Recorder(Protocol):
    """Takes the parts of a page that a notebook shows, for a report that is made of them."""

    runner: Runner

    def began(self, session: Session) -> None:
        """A page has its session."""
        ...

    def follow(self, job: Job) -> None:
        """A job of the page goes on; called about ten times a second."""
        ...

    def part(self, kind: str, session: Session, what: Any = None, height: int = 0) -> str:
        """HTML that stands for a part: `view`, `claims`, `controls`, `tables`, or nothing to be seen for others."""
        ...


RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
"""Set while a notebook runs for a report."""


class Page:
    """A study in a notebook.

    Args:
        slug: the study; `-` and `_` are the same.
        controls: values of controls or other handles of them.
        preset: `quick`, `standard` or `full`.
        seed: base of every random stream; the study's own when left out.
        tell: the setter of a `mo.state` that counts; cells that read the state are run again when a job moves on.
        runner: what runs experiments; the one of this process, with the user's store, when left out.

    A notebook run as a script, `python notebook.py --preset quick --seed 1 --beta 0.5`, takes preset and controls from
    that line, says how far it is, and prints a line for each claim that it shows.

    Raises:
        UnknownStudy, StudyError: no such study, or it cannot be imported.
        ControlError: a value or preset that cannot be; in a script, its sentence and exit status 2.
    """

    def __init__(
        self,
        slug: str,
        *,
        controls: Mapping[str, object] | None = None,
        preset: str = "standard",
        seed: int | None = None,
        tell: Callable[[Any], None] | None = None,
        runner: Runner | None = None,
    ) -> None:
        self.recorder = RECORDER.get()
        values = dict(controls or {}) if seed is None else {**(controls or {}), "seed": seed}
        self.script = self.recorder is None and is_script()
        if self.script:
            values |= mo.cli_args().to_dict()
            preset = str(values.pop("preset", preset))
        try:
            self.session = Session(registry().get(slug), None, values=values, preset=preset, visitor=who())
        except ControlError as error:
            if not self.script:
                raise
            sys.stderr.write(f"assay: {error}\n")
            raise SystemExit(2) from None
        if runner is None and self.recorder is not None:
            runner = self.recorder.runner
        if runner is None:
            from workbench.runner import default_runner

            runner = default_runner()
        self.session.runner = runner
        if self.recorder is not None:
            self.recorder.began(self.session)
        self.interactive = mo.running_in_notebook()
        self._tell = tell
        self._views: dict[str, tuple[object, mo.Html]] = {}
        self._judged: dict[str, tuple[object, Judgement]] = {}

    def title(self) -> mo.Html:
        """The study's question and summary, and the styles of everything that a page shows."""
        study = self.session.study
        if self.recorder is not None:
            return mo.Html(self.recorder.part("title", self.session))
        return mo.Html(markup.STYLES + markup.heading(study.question, study.summary, level=2))

    # controls

    def dials(self, *names: str) -> mo.ui.dictionary:
        """UI elements of some controls, as one; all controls that something reaches when no name is given."""
        chosen = names or tuple(self.session.study.moving)
        return mo.ui.dictionary({name: self._element(name) for name in chosen})

    def shown(self, dials: mo.ui.dictionary) -> mo.Html:
        """The elements two in a row, each with its line of doc."""
        study = self.session.study
        if self.recorder is not None:
            return mo.Html(self.recorder.part("controls", self.session, tuple(dials.elements)))
        cells = []
        for name, element in dials.elements.items():
            doc = markup.boxed(f'<p class="as-small">{markup.escape(study.controls[name].doc)}</p>')
            if isinstance(study.controls[name], Data) and isinstance(element, mo.ui.dictionary):
                element = mo.vstack([element["name"], element["file"]], gap=0.25)
            cells.append(mo.vstack([element, mo.Html(doc)], gap=0.1))
        if len(cells) % 2:
            cells.append(mo.Html(""))
        pairs = [cells[i : i + 2] for i in range(0, len(cells), 2)]
        return mo.vstack([mo.hstack(pair, widths="equal", gap=2) for pair in pairs], gap=1)

    def _element(self, name: str) -> Any:
        control, value = self.session.settings.controls[name], self.session.settings.values[name]
        label = control.label + (f" {control.symbol}" if control.symbol else "")
        label += f" ({control.unit})" if control.unit else ""
        if isinstance(control, Flag):
            return mo.ui.switch(value, label=label)
        if isinstance(control, Choice):
            options = {text: key for key, text in control.options.items()}
            if len(options) <= SEGMENTS:
                return mo.ui.radio(options, control.options[value], label=label, inline=True)
            return mo.ui.dropdown(options, control.options[value], label=label)
        if isinstance(control, Number):
            return number_element(control, value, label)
        if isinstance(control, Data):
            said = ", ".join(f"sample:{sample}" for sample in control.samples)
            field = mo.ui.text(control.text(value), label=label, placeholder=said, full_width=True)
            kinds = [suffix for suffix in control.suffixes if suffix]
            return mo.ui.dictionary({"name": field, "file": mo.ui.file(kinds or None, label="or a file of yours")})
        return mo.ui.text(control.text(value), label=label, full_width=True)

    def at(self, values: Mapping[str, Any], *follows: object) -> Here:
        """Set what elements hold, and what can be shown under it. A value that is refused leaves the one before.

        Args:
            values: what a dictionary of elements holds; several may be merged.
            follows: what must be done before, or read again after: launchers, and the state that `tell` sets.
        """
        refused: dict[str, str] = {}
        for name, value in values.items():
            try:
                value = asked(self.session.settings.controls[name], value, self.session.visitor)
                if self.session.settings.controls[name].parse(value) != self.session.settings.values[name]:
                    self.session.update({name: value})
            except ControlError as error:
                refused[name] = str(error)
        return Here(self, refused)

    def kept(self, **outcomes: Path) -> mo.Html:
        """Verdicts of earlier runs side by side: from a heading to a file that `assay run --json` wrote."""
        read = {name.replace("_", " "): json.loads(path.read_text("utf-8")) for name, path in outcomes.items()}
        return mo.Html(markup.verdicts(read))

    # experiments

    def launcher(self, experiment: str) -> mo.Html:
        """Buttons to run an experiment and to cancel it; in a script it is run to its end here.

        Raises:
            RunFailed, Cancelled: the experiment ended without a result, in a script.
            ControlError: an input that does not allow it, in a script.
        """
        found = self.session.study.experiments[experiment]
        if not self.interactive:
            self.run(experiment)
            if self.recorder is not None:
                return mo.Html(self.recorder.part("launcher", self.session, experiment))
            return mo.Html(markup.heading(found.title))
        cost = found.cost.get(self.session.preset)
        said = (f"about {cost:g} s" if cost else "") if self.session.visitor.may_run else self.session.visitor.why_not
        run = mo.ui.button(
            label=found.title, tooltip=found.doc, on_click=lambda _: self._start(experiment),
            disabled=not self.session.visitor.may_run,
        )  # fmt: skip
        cancel = mo.ui.button(label="Cancel", kind="neutral", on_click=lambda _: self._cancel(experiment))
        return mo.hstack([run, cancel, mo.Html(markup.job_line(said, "", None))], justify="start", align="center")

    def run(self, experiment: str) -> Result:
        """Run an experiment and wait for its result.

        Raises:
            RunFailed, Cancelled: it ended without one.
            ControlError: an input that does not allow it.
        """
        title = self.session.study.experiments[experiment].title

        def follow(job: Job) -> None:
            if self.recorder is not None:
                self.recorder.follow(job)
            elif self.script and sys.stderr.isatty():
                progress_line(title, job.fraction, job.message)

        job = ended(self.session, experiment, tick=follow)
        if job.state is State.FAILED:
            raise RunFailed(job.error, fault=job.fault, log=job.log)
        return job.wait()

    def _start(self, experiment: str) -> None:
        try:
            job = self.session.run(experiment)
        except ControlError as error:
            mo.status.toast(str(error), kind="danger")
            return
        mo.Thread(target=self._follow, args=(job,), daemon=True).start()

    def _cancel(self, experiment: str) -> None:
        self.session.cancel(experiment)

    def _follow(self, job: Job) -> None:
        """Have the cells that show this study run again while a job goes on."""
        moved = threading.Event()
        stop = self.session.on_change(lambda change: moved.set())
        try:
            while True:
                over = job.state.ended
                if self._tell is not None:
                    self._tell(lambda count: count + 1)
                if over:
                    return
                moved.clear()
                moved.wait(1.0)
                time.sleep(APART)
        finally:
            stop()


@dataclass(frozen=True)
class Here:
    """A study under what is set now: everything that a cell may show.

    Attributes:
        page: the study's page.
        refused: sentences about values that were refused, by control.
    """

    page: Page
    refused: Mapping[str, str] = field(default_factory=dict)

    def notes(self) -> mo.Html:
        """The sentences about values that were refused."""
        return mo.Html("".join(markup.note(sentence, "fails") for sentence in self.refused.values()))

    def readouts(self, control: str) -> mo.Html:
        """A control's other handles: `τ 2 steps · f_c 3.4 Hz`."""
        session, found = self.page.session, []
        for alias in session.study.aliases.values():
            if alias.control == control:
                try:
                    value = markup.number(session.value(alias.name))
                except ValueError:
                    continue
                found.append(f"{alias.symbol or alias.name} {value} {alias.unit}".rstrip())
        return mo.Html(markup.boxed(f'<p class="as-small">{markup.escape(" · ".join(found))}</p>'))

    def view(self, name: str, *, height: int = HEIGHT) -> mo.Html:
        """A view with its finding above it, and a note when it waits or is stale."""
        if self.page.recorder is not None:
            return mo.Html(self.page.recorder.part("view", self.page.session, name, height))
        key = self._state(name)
        kept = self.page._views.get(name)
        if kept is None or kept[0] != key:
            kept = (key, self._draw(name, height))
            self.page._views[name] = kept
        return kept[1]

    def _state(self, name: str) -> object:
        """What a view or a judgement depends on."""
        session = self.page.session
        values = tuple(session.settings.values[c] for c in session.study.reached_controls(name))
        held = [session.held.get(e) for e in session.study.reached_experiments(name)]
        rows = tuple((h.job.id, h.result.complete, sum(map(len, h.result.tables.values()))) for h in held if h)
        return values, rows, dark(), session.stale(name)

    def _draw(self, name: str, height: int) -> mo.Html:
        session = self.page.session
        try:
            shown = session.show(name)
        except ControlError as error:
            return mo.Html(markup.heading(session.study.views[name].title) + markup.note(str(error), "fails"))
        stale = session.stale(name)
        waits = [session.study.experiments[e].title for e in session.waits(name)]
        said = markup.note(stale or markup.waiting(waits), "open" if stale else "")
        above = mo.Html(markup.heading(shown.title, shown.subtitle) + said)
        if shown.kind == "figure":
            content = theme.figure(shown.content, "dark" if dark() else "light")
            figure = go.Figure(content, skip_invalid=True)
            figure.update_layout(height=height, dragmode=False, autosize=True)
            body = mo.ui.plotly(figure)  # a figure itself asks a public network where Plotly was imported before marimo
        elif shown.kind == "table":
            body = mo.ui.table(shown.content, selection=None, page_size=8)
        elif shown.kind == "stats":
            body = mo.Html(markup.stats(shown.content))
        else:
            body = mo.Html(markup.prose(shown.content))
        return mo.vstack([above, body], gap=0.5)

    def job(self, experiment: str) -> mo.Html:
        """How far an experiment is, how it ended, and where its result comes from."""
        session = self.page.session
        if self.page.recorder is not None:
            return mo.Html(self.page.recorder.part("job", session, experiment))
        title = session.study.experiments[experiment].title
        held = session.held.get(experiment)
        if held is None:
            return mo.Html("")
        job = held.job
        if not job.state.ended:
            bar = f'<progress max="1" value="{job.fraction:.4f}" aria-label="{markup.escape(title)}"></progress>'
            return mo.Html(markup.boxed(bar) + markup.job_line(str(job.state), job.message, job.eta))
        source = markup.provenance(job.provenance) if job.state is State.DONE else ""
        return mo.Html(markup.job_ended(job, title) + source)

    def tables(self, experiment: str) -> mo.Html:
        """The tables of an experiment's result, each with a way to save it."""
        if self.page.recorder is not None:
            return mo.Html(self.page.recorder.part("tables", self.page.session, experiment))
        held = self.page.session.held.get(experiment)
        if held is None:
            return mo.Html("")
        return mo.accordion(
            {
                f"{name} ({len(table)} rows)": mo.ui.table(table.frame, selection=None, page_size=8)
                for name, table in held.result.tables.items()
            }
        )

    def judgements(self) -> list[Judgement]:
        """What is known of every claim."""
        return [self.judgement(id) for id in self.page.session.study.claims]

    def judgement(self, id: str) -> Judgement:
        """What is known of a claim."""
        key = self._state(f"claim:{id}")
        kept = self.page._judged.get(id)
        if kept is None or kept[0] != key:
            kept = (key, self.page.session.judge_one(id))
            self.page._judged[id] = kept
        return kept[1]

    def claims(self, *ids: str) -> mo.Html:
        """The ledger of some claims; of all when no id is given."""
        chosen = [self.judgement(id) for id in ids or self.page.session.study.claims]
        if self.page.script:
            print("".join(f"{one.verdict!s:12} {one.claim.id:3} {one.claim.sentence}\n" for one in chosen), end="")
        if self.page.recorder is not None:
            return mo.Html(self.page.recorder.part("claims", self.page.session, chosen))
        return mo.Html(markup.ledger(chosen))

    @property
    def results(self) -> dict[str, Result]:
        """From experiment to its result."""
        return {name: held.result for name, held in self.page.session.held.items()}


def number_element(control: Number, value: Any, label: str) -> Any:
    """A slider with a field, or a field where the range is too wide to drag through."""
    low, high = control.limits
    if control.log:
        steps = sorted({*(float(f"{x:.4g}") for x in np.geomspace(low, high, 121)), float(value), low, high})
        return mo.ui.slider(steps=steps, value=value, label=label, show_value=True, full_width=True)
    step = 1 if isinstance(control, Integer) else control.step or (high - low) / 100
    if (high - low) / step > FINE:
        return mo.ui.number(low, high, step=step if isinstance(control, Integer) else None, value=value, label=label)
    return mo.ui.slider(low, high, step, value=value, label=label, include_input=True, full_width=True)


def asked(control: Control, value: Any, who: Visitor) -> object:
    """What an element of a control holds, as a value of the control; an upload comes before a name."""
    if isinstance(control, Data) and isinstance(value, Mapping):
        if value.get("file"):
            who.check_may_run()
            upload = value["file"][0]
            try:
                return f"sha256:{keep_upload(upload.name, upload.contents, who.name).sha256}"
            except ValueError as error:
                raise ControlError(control.name, str(error)) from None
        return value["name"]
    return value


def is_script() -> bool:
    """Whether the notebook that runs is what Python was started with."""
    started, folder = Path(sys.argv[0]), mo.notebook_dir()
    return not mo.running_in_notebook() and started.suffix == ".py" and started.resolve().parent == folder


def who() -> Visitor:
    """For whom this notebook runs: whoever opened it on a server, as the server says."""
    request = mo.app_meta().request
    user = request.user if request is not None else None
    return Visitor.of_user(user) if isinstance(user, Mapping) else visitor()


def dark() -> bool:
    """Whether the notebook is shown dark."""
    return bool(mo.running_in_notebook()) and mo.app_meta().theme == "dark"
