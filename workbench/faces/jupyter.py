"""A study in JupyterLab: controls, live figures, experiments and claims, as ipywidgets.

from workbench import explore

explore("lif-frequency-matching")
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets as w
import numpy as np
import plotly.graph_objects as go
import traitlets
from IPython.display import display

from workbench import theme
from workbench.batch import Outcome, outcome_of
from workbench.controls import ControlError
from workbench.faces import markup
from workbench.faces.jupyter_controls import AliasHandle, ControlHandle
from workbench.faces.jupyter_output import HIDE_SAVED, LIVE, LiveFigure, SavedFigure, front_end
from workbench.latest import Latest
from workbench.registry import registry
from workbench.session import Change, Session
from workbench.snapshot import Shown
from workbench.study import PRESETS, Experiment

if TYPE_CHECKING:
    from workbench.runner import Job, Runner

__all__ = ["Explorer", "explore", "progress_bar"]

HEIGHT = 420


class ThemeWatch(anywidget.AnyWidget):
    """Whether JupyterLab is dark; it says so from the browser, also when the theme is switched."""

    _esm = """
    export default { render({ model, el }) {
      el.style.display = "none";
      const tell = () => {
        model.set("dark", document.body.dataset.jpThemeLight === "false");
        model.save_changes();
      };
      const watch = new MutationObserver(tell);
      watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light"] });
      tell();
      return () => watch.disconnect();
    } };
    """
    dark = traitlets.Bool(False).tag(sync=True)


class Explorer(w.VBox):
    """A study as a person sees it in a notebook.

    Attributes:
        session: what is set, what has run, what is known.
        live: the figure that follows the controls; `figure(name)` gives one to keep.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._updating = False
        self._lock = threading.RLock()  # the session is never asked under it: its lock comes first
        study = session.study
        self._theme = ThemeWatch()
        self._theme.observe(lambda change: self._draw(), "dark")

        self._preset = w.Dropdown(options=PRESETS, value=session.preset, layout=w.Layout(width="120px"))
        self._preset.observe(self._preset_set, "value")
        self._undo = button("Undo", lambda: self._set(session.undo))
        self._redo = button("Redo", lambda: self._set(session.redo))
        self._reset = button("Reset", lambda: self._set(session.reset))
        self._code = w.HTML(layout=wide(display="none"))
        self._code_button = button("Show as code", self._show_code)

        self.handles: dict[str, ControlHandle | AliasHandle] = {}
        rail = w.VBox(self._groups(), layout=w.Layout(width="100%", margin="0"))

        self._note = w.HTML(layout=wide())
        self._heading = w.HTML(layout=wide())
        self._save = w.HTML(layout=wide())
        self._text = w.HTML(layout=wide())
        self.live = LiveFigure(layout={"height": HEIGHT, "autosize": True})
        self._holder = w.VBox([self.live], layout=wide())
        self._views = w.Dropdown(
            options=[(view.title, name) for name, view in study.views.items()], layout=w.Layout(width="100%")
        )
        self._views.observe(lambda change: self._draw(), "value")
        frame = w.VBox([self._views, self._note, self._heading, self._holder, self._text, self._save], layout=wide())

        self.jobs = {name: JobBar(self, experiment) for name, experiment in study.experiments.items()}
        self._ledger = w.HTML(layout=wide())
        self._judge = Latest(lambda _: session.judge(), lambda _, found: self._judged(found))
        self._latest: Latest[str, Shown] = Latest(session.show, self._deliver, self._failed)

        main = [frame]
        if self.jobs:
            main.append(section("Experiments", *(bar.widget for bar in self.jobs.values())))
        if study.claims:
            main.append(section("Claims", self._ledger))
        tools = w.HBox([self._preset, self._undo, self._redo, self._reset, self._code_button])
        tools.layout = wide(flex_flow="row wrap")
        head = w.HTML(
            markup.STYLES + HIDE_SAVED + markup.heading(study.question, study.summary, level=2), layout=wide()
        )
        page = w.GridBox(
            [rail, w.VBox(main, layout=w.Layout(width="100%", min_width="0"))],
            layout=w.Layout(grid_template_columns="290px minmax(0, 1fr)", grid_gap="0 28px", width="100%"),
        )
        super().__init__([head, tools, self._code, page, self._theme], layout=w.Layout(width="100%", padding="8px"))
        self.add_class(LIVE)
        self._saved = SavedFigure(self._saved_bundle)
        self._stop = session.on_change(self._changed)
        self._buttons()
        self._draw()
        self._judge.ask(None)

    # controls

    def _groups(self) -> list[w.Widget]:
        study = self.session.study
        groups: dict[str, list[w.Widget]] = {}
        rare: list[w.Widget] = []
        for name in study.moving:
            control = self.session.settings.controls[name]
            handle = ControlHandle(self.session, control, self._sender(name))
            self.handles[name] = handle
            found = [handle.widget]
            for alias in study.aliases.values():
                if alias.control == name:
                    self.handles[alias.name] = AliasHandle(self.session, alias, self._sender(alias.name))
                    found.append(self.handles[alias.name].widget)
            (rare if control.rare else groups.setdefault(control.group, [])).extend(found)
        boxes: list[w.Widget] = [section(name, *widgets) for name, widgets in groups.items()]
        if rare:
            more = w.Accordion([w.VBox(rare, layout=wide())], titles=("More",), layout=wide())
            boxes.append(more)
        return boxes

    def _sender(self, name: str) -> Any:
        return lambda value: self.session.update({name: value})

    def _preset_set(self, change: Mapping[str, Any]) -> None:
        if not self._updating:
            self._set(lambda: self.session.update(preset=change["new"]))

    def _set(self, step: Any) -> None:
        try:
            step()
        except ControlError as error:
            self._say(str(error), "fails")

    def _show_code(self) -> None:
        hidden = self._code.layout.display == "none"
        self._code.layout.display = None if hidden else "none"
        self._write_code()

    def _write_code(self) -> None:
        if self._code.layout.display != "none":
            lines = markup.escape(f"{self.session.code()}\n# {self.session.command()}")
            self._code.value = markup.boxed(f"<pre>{lines}</pre>")

    def _buttons(self) -> None:
        self._undo.disabled = not self.session.can_undo
        self._redo.disabled = not self.session.can_redo
        self._reset.disabled = not self.session.settings.user

    # what changed

    def _changed(self, change: Change) -> None:
        if self.view in change.views:
            self._draw()
        if change.claims:
            self._judge.ask(None)
        with self._lock:
            for name in change.controls:
                if name in self.handles:
                    self.handles[name].show(self.session)
            if self._preset.value != self.session.preset:
                self._updating = True
                self._preset.value = self.session.preset
                self._updating = False
            self._buttons()
            self._write_code()
            for name in change.experiments:
                self.jobs[name].show()
            if change.notices:
                self._say(" ".join(change.notices), "open")
        if change.controls and self.view not in change.views:
            self._say_stale()

    @property
    def view(self) -> str:
        """The view that is shown; set it to show another."""
        return self._views.value or ""

    @view.setter
    def view(self, name: str) -> None:
        self._views.value = name

    def _draw(self) -> None:
        if self.view:
            self._latest.ask(self.view)

    def settle(self, timeout: float = 10.0) -> bool:
        """Wait until figure and claims show what is set now; False when that took longer."""
        return self._latest.settle(timeout) and self._judge.settle(timeout)

    def _deliver(self, name: str, shown: Shown) -> None:
        if name != self.view:
            return
        self._say_stale()
        with self._lock:
            self._heading.value = markup.heading(shown.title, shown.subtitle)
            files: dict[str, tuple[str, str]] = {}
            if shown.kind == "figure":
                redraw(self.live, theme.figure(shown.content, "dark" if self._theme.dark else "light"))
                self._text.value = ""
            elif shown.kind == "table":
                self._text.value = markup.table(shown.content)
                files = {f"{name}.csv": ("text/csv", encoded(shown.content.to_csv(index=False)))}
                files = files if len(shown.content) <= 10_000 else {}
            elif shown.kind == "stats":
                self._text.value = markup.stats(shown.content)
            else:
                self._text.value = markup.prose(shown.content)
            self._holder.layout.display = None if shown.kind == "figure" else "none"
            self._save.value = markup.downloads(files)
        self._saved.follow()

    def _failed(self, name: str, error: Exception) -> None:
        if name == self.view:
            said = str(error) if isinstance(error, ControlError) else f"This view has a fault: {error}"
            self._say(said, "fails")

    def _say_stale(self) -> None:
        stale = self.session.stale(self.view) if self.view else ""
        waits = [self.session.study.experiments[e].title for e in self.session.waits(self.view)] if self.view else []
        self._say(stale or markup.waiting(waits), "open" if stale else "")

    def _say(self, sentence: str, kind: str = "") -> None:
        self._note.value = markup.note(sentence, kind)

    def _judged(self, found: Any) -> None:
        self._ledger.value = markup.ledger(found)

    @property
    def said(self) -> str:
        """What the note above the figure says, as HTML."""
        return self._note.value

    def run(self, experiment: str) -> Job:
        """Start an experiment, as its button does."""
        return self.session.run(experiment)

    @property
    def controls(self) -> dict[str, Any]:
        """What is set now, by control."""
        return {name: self.session.settings.values[name] for name in self.session.study.moving}

    @property
    def result(self) -> Outcome:
        """What has run here, as `run` gives it: `result["experiment/table"]` is a data frame; of a job that is on its
        way, with the rows that are there."""
        held = dict(self.session.held)
        return outcome_of(
            self.session, None, list(held), {name: dict(one.job.provenance) for name, one in held.items()}
        )

    def figure(self, name: str = "") -> go.Figure:
        """A view under what is set now, as a Plotly figure with its title; of the view that is shown when left out.

        Raises:
            ControlError: there is no such view, or it draws no figure.
        """
        name = name or self.view
        views = self.session.study.views
        if name not in views:
            raise ControlError("view", f"got {name!r}; expected one of {', '.join(views)}")
        shown = self.session.show(name)
        if shown.kind != "figure":
            raise ControlError("view", f"got {name!r}, which is {shown.kind}; expected a view that draws a figure")
        return titled(shown)

    def __repr__(self) -> str:
        session, study = self.session, self.session.study
        said = ", ".join(
            f"{name}={session.settings.controls[name].text(value)}" for name, value in self.controls.items()
        )
        return (
            f"{study.question}\n  preset: {session.preset}\n  controls: {said}\n  views: {', '.join(study.views)}\n"
            f"  experiments: {', '.join(study.experiments) or 'none'}"
        )

    def _repr_mimebundle_(self, **how: Any) -> dict[str, Any]:
        return {**(super()._repr_mimebundle_(**how) or {}), "text/plain": repr(self)}

    def _ipython_display_(self) -> None:
        if not front_end():
            print(repr(self))
            return
        display(self._repr_mimebundle_(), raw=True)
        self._saved.show()

    def _saved_bundle(self) -> dict[str, Any]:
        """The view that is shown, as a notebook keeps it."""
        shown = self.session.show(self.view)
        if shown.kind == "figure":
            kept = json.loads(str(titled(shown).update_layout(height=HEIGHT).to_json()))
            return {"application/vnd.plotly.v1+json": kept, "text/plain": f"{shown.title}\n{shown.subtitle}"}
        body = {"table": markup.table, "stats": markup.stats}.get(shown.kind, markup.prose)(shown.content)
        return {"text/html": markup.STYLES + markup.heading(shown.title, shown.subtitle) + body,
                "text/plain": f"{shown.title}\n{shown.subtitle}"}  # fmt: skip

    def close(self) -> None:
        """End all widgets; jobs go on."""
        self._saved.stop()
        self._stop()
        self._latest.close()
        self._judge.close()
        self.session.close()
        super().close()


class JobBar:
    """One experiment: its button, its progress, how it ended, and its tables to save."""

    def __init__(self, explorer: Explorer, experiment: Experiment) -> None:
        self.experiment = experiment
        self._explorer = explorer
        self.button = button("Run", self._pressed, main=True)
        self.progress = w.FloatProgress(min=0, max=1, layout=w.Layout(width="100%", height="8px", display="none"))
        self.progress.style.bar_color = "#2a4bd0"
        self._line = w.HTML(layout=wide())
        self._more = w.HTML(layout=wide())
        title = w.HTML(
            markup.boxed(f'<b title="{markup.escape(experiment.doc)}">{markup.escape(experiment.title)}</b>'),
            layout=w.Layout(flex="1 1 auto"),
        )
        row = w.HBox([title, self.button], layout=w.Layout(width="100%", align_items="center"))
        self.widget = w.VBox([row, self.progress, self._line, self._more], layout=w.Layout(margin="0 0 8px 0"))
        self.show()

    @property
    def job(self) -> Job | None:
        """The job of this session, if there is one."""
        held = self._explorer.session.held.get(self.experiment.name)
        return held.job if held else None

    def _pressed(self) -> None:
        if self.job is not None and not self.job.state.ended:
            self._explorer.session.cancel(self.experiment.name)
            return
        try:
            self._explorer.session.run(self.experiment.name)
        except ControlError as error:
            self._line.value = markup.note(str(error), "fails")

    def show(self) -> None:
        """Show how far the job is."""
        job = self.job
        running = job is not None and not job.state.ended
        self.button.description = "Cancel" if running else "Run again" if job is not None else "Run"
        self.progress.layout.display = None if running else "none"
        if job is None:
            cost = self.experiment.cost.get(self._explorer.session.preset)
            self._line.value = markup.job_line(f"about {cost:g} s" if cost else self.experiment.doc, "", None)
            return
        self.progress.value = job.fraction
        if running:
            self._line.value = markup.job_line(str(job.state), job.message, job.eta)
            return
        self._line.value = markup.job_ended(job, self.experiment.title)
        if job.state == "done":
            tables = {
                f"{n}.csv": ("text/csv", encoded(t.frame.to_csv(index=False))) for n, t in job.result.tables.items()
            }
            self._more.value = markup.provenance(job.provenance) + markup.downloads(tables)


def redraw(figure: go.FigureWidget, content: Mapping[str, Any]) -> None:
    """Make a figure widget show another figure: traces move in place where there are as many of the same type."""
    traces, layout = [gaps_as_null(trace) for trace in content["data"]], dict(content.get("layout") or {})
    gone = [key for key in figure.layout if key not in layout and key not in ("height", "autosize", "template")]
    layout.setdefault("height", HEIGHT)
    there: Any = figure.data
    same = [trace.type for trace in there] == [trace.get("type", "scatter") for trace in traces]
    with figure.batch_update():
        figure.update_layout({**dict.fromkeys(gone), **layout}, overwrite=True)
        if same:
            for old, new in zip(there, traces, strict=True):
                missing = [key for key in old if key not in new and key not in ("type", "uid")]
                old.update({**dict.fromkeys(missing), **new}, overwrite=True)
    if not same:
        figure.data = ()
        figure.add_traces(traces)


def titled(shown: Shown) -> go.Figure:
    """A view's figure with its title in the plot."""
    return go.Figure(theme.figure(shown.content, title=shown.title, subtitle=shown.subtitle))


def gaps_as_null(value: Any) -> Any:
    """Data in which what is not finite is null, where a figure widget would send it as JSON, which makes it a text."""
    if isinstance(value, Mapping):
        return {name: gaps_as_null(part) for name, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim > 1 and not np.isfinite(value).all():
        gaps = value.astype(object)
        gaps[~np.isfinite(value)] = None
        return gaps.tolist()
    if isinstance(value, (list, tuple)):
        return [gaps_as_null(part) for part in value]
    return None if isinstance(value, (float, np.floating)) and not np.isfinite(value) else value


def progress_bar() -> Callable[[str, float, str], None]:
    """A bar below the cell, which tells how far an experiment is; it is drawn when there is something to tell."""
    bar = w.FloatProgress(max=1.0, layout=w.Layout(width="240px"))
    line = w.HTML()

    def say(title: str, fraction: float, message: str) -> None:
        if not line.value:
            display(w.HBox([bar, line]))
        bar.value = fraction
        words = f"{title}: {100 * fraction:.0f} %" + (f", {message}" if message else "")
        line.value = markup.STYLES + markup.boxed(markup.escape(words))

    return say


def wide(**traits: str) -> w.Layout:
    """As wide as the column; every widget has a layout of its own."""
    return w.Layout(width="100%", margin="0", **traits)


def button(text: str, pressed: Any, *, main: bool = False) -> w.Button:
    found = w.Button(description=text, layout=w.Layout(width="auto"))
    if main:
        found.button_style = ""
        found.style.font_weight = "600"
    found.on_click(lambda _: pressed())
    return found


def section(title: str, *widgets: w.Widget) -> w.VBox:
    head = w.HTML(markup.heading(title), layout=w.Layout(margin="10px 0 4px 0"))
    return w.VBox([head, *widgets], layout=wide())


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def explore(slug: str, *, preset: str = "standard", runner: Runner | None = None, **controls: object) -> Explorer:
    """Show a study: controls, live views, experiments and claims.

    Args:
        slug: the study; `-` and `_` are the same.
        preset: `quick`, `standard` or `full`.
        runner: what runs experiments; the one of this process, with your store, when left out.
        **controls: values of controls or other handles of them.

    Returns:
        what JupyterLab shows when it is the last line of a cell.

    Raises:
        UnknownStudy, StudyError: no such study, or it cannot be imported.
        ControlError: a value or preset that cannot be.
    """
    session = Session(registry().get(slug), None, values=controls, preset=preset)
    if runner is None:
        from workbench.runner import default_runner

        runner = default_runner()
    session.runner = runner
    return Explorer(session)
