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

import plotly.graph_objects as go
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


class LiveFigure(go.FigureWidget):
    """A figure widget whose state is what it shows, so that a page that is loaded again shows it too.

    Plotly's own sends changes as messages, and brings its state up to date only when a cell displays the widget itself,
    not one that holds it.
    """

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
