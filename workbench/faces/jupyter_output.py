"""What a cell shows of a study, live and when its notebook is opened again without a kernel.

A widget that is saved in a notebook is nothing without its kernel. So the figure is put below it a second time, as data
that a notebook keeps; while the live one is there, its styles hide the saved one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import anywidget
import ipywidgets as w
import plotly
import plotly.graph_objects as go
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

__all__ = ["LIVE", "HIDE_SAVED", "SavedFigure", "front_end"]

LIVE = "assay-live"
REST = 1.0  # seconds that the hand must rest before the saved figure follows
HIDE_SAVED = f"""<style>
.jp-OutputArea:has(.{LIVE}) .jp-OutputArea-child:has(.assay-saved),
.jp-OutputArea:has(.{LIVE}) .jp-OutputArea-child:has(.assay-saved) ~ .jp-OutputArea-child {{ display: none }}
</style>"""
NOTE = f"""<style>
.jp-OutputArea:has(.assay-saved):not(:has(.{LIVE})) > .jp-OutputArea-child:not(:has(.assay-saved)):first-child {{
  display: none }}
</style><p class="assay-saved" style="margin:0;padding:4px 0;font-size:13px">As it was when the notebook was saved.
Run the cell to move it again.</p>"""


def front_end() -> bool:
    """Whether somebody can see widgets: this process is a kernel of Jupyter's."""
    shell = get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None


class PlotlySource(anywidget.AnyWidget):
    """The text of Plotly's part in the browser: 5 MB that all figures of a kernel share."""

    _esm = "export default {};"
    text = traitlets.Unicode().tag(sync=True)
    shared: PlotlySource | None = None

    @classmethod
    def of_this_kernel(cls) -> PlotlySource:
        """The one all figures take; a new one where it was closed."""
        if cls.shared is None or cls.shared.comm is None:
            cls.shared = cls(text=str(go.FigureWidget._esm))
        return cls.shared


class LiveFigure(go.FigureWidget):
    """A figure widget that shows what it holds, however late a page comes to it.

    Plotly's own brings its state up to date only when a cell displays the widget itself, not one that holds it: a page
    that is loaded again is empty. And it sends its 5 MB of code with every figure, which must run within 2 s or
    anywidget gives the figure up: with several figures, or on a busy machine, none is ever drawn. Here the code comes
    once, and what is sent to a figure meanwhile waits for it.
    """

    _esm = """
    const library = (model) => {
      const made = (globalThis.assayPlotly ??= new Map()), version = model.get("_version");
      if (!made.has(version)) {
        const coming = (async () => {
          const source = await model.widget_manager.get_model(model.get("_source").slice("IPY_MODEL_".length));
          const url = URL.createObjectURL(new Blob([source.get("text")], { type: "text/javascript" }));
          try { return (await import(url)).default; } finally { URL.revokeObjectURL(url); }
        })();
        coming.catch(() => made.delete(version));
        made.set(version, coming);
      }
      return made.get(version);
    };
    const SENT = {
      style_data: ["addTraces", "deleteTraces", "moveTraces", "restyle", "removeTraceProps"],
      layout_data: ["relayout", "removeLayoutProps"],
      both: ["update", "animate"],
    };
    const WHOLE = { "change:_widget_data": "style_data", "change:_widget_layout": "layout_data" };
    const without = (part, [name, message]) =>  // what a message still has to say after the whole of a part came
      part in message ? [name, { ...message, [part]: Array.isArray(message[part]) ? [] : {} }] : [name, message];
    export default () => {
      let ready;
      return {
        initialize({ model }) {
          let waiting = [];
          const heard = Object.values(SENT).flat().map((name) => [`change:_py2js_${name}`, () => {
            const message = model.get(`_py2js_${name}`);
            if (message !== null) waiting.push([name, message]);
          }]).concat(Object.entries(WHOLE).map(([event, part]) => [event, () => {
            waiting = waiting.filter(([name]) => !SENT[part].includes(name)).map((one) => without(part, one));
          }]));
          heard.forEach(([event, keep]) => model.on(event, keep));
          ready = library(model).then((figure) => {
            const made = figure();
            heard.forEach(([event, keep]) => model.off(event, keep));
            made.initialize({ model });
            for (const [name, message] of waiting) {
              model.set(`_py2js_${name}`, message);
              model.set(`_py2js_${name}`, null);
            }
            return made;
          });
          ready.catch(() => {});  // told by `render`
        },
        async render(place) { return (await ready).render(place); },
      };
    };
    """
    _source = traitlets.Instance(PlotlySource).tag(sync=True, **w.widget_serialization)
    _version = traitlets.Unicode(plotly.__version__).tag(sync=True)

    @traitlets.default("_source")
    def _shared_source(self) -> PlotlySource:
        return PlotlySource.of_this_kernel()

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> dict[str, Any]:
        """The state of all traits, or of some."""
        if key is None and "_layout_obj" in vars(self):  # not while it is made
            self._trait_values["_widget_layout"] = deepcopy(self._layout_obj._props)
            self._trait_values["_widget_data"] = deepcopy(self._data)
        found: dict[str, Any] = super().get_state(key, drop_defaults)
        return found


class SavedFigure:
    """The second, static copy of a figure below a live one.

    Args:
        bundle: gives what is shown now, by MIME type.
    """

    def __init__(self, bundle: Callable[[], dict[str, Any]]) -> None:
        self._bundle = bundle
        self._handle: DisplayHandle | None = None
        self._timer: threading.Timer | None = None

    def show(self) -> None:
        """Put it below what the cell shows. VS Code shows every output and keeps no widgets, so there is none there."""
        if "VSCODE_PID" in os.environ:
            return
        display({"text/html": NOTE, "text/plain": ""}, raw=True)
        self._handle = DisplayHandle()
        self._handle.display(self._bundle(), raw=True)

    def follow(self) -> None:
        """Show what is shown now as soon as the hand rests."""
        if self._handle is None:
            return
        self.stop()
        self._timer = threading.Timer(REST, self._update)
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        """Follow no longer."""
        if self._timer is not None:
            self._timer.cancel()

    def _update(self) -> None:
        if self._handle is not None:
            self._handle.update(self._bundle(), raw=True)
