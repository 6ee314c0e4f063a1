"""The sweep of a study's page: what the page asks for, and what it is told of points, figure and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.controls import ControlError
from workbench.faces.markup import left, rich
from workbench.faces.panel.parts import listed
from workbench.faces.sweeps import measure_names, sweep_figure
from workbench.latest import Latest
from workbench.session import Session
from workbench.snapshot import as_shown
from workbench.sweep import Sweep
from workbench.theme import Theme, figure, without_template

__all__ = ["SweepFace"]


class SweepFace:
    """One sweep at a time on one page; a new one lets go of the last.

    Args:
        send: tells the page.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self.theme: Theme = "light"
        self.sweep: Sweep | None = None
        self._measure = ""
        self._stop: Callable[[], None] = lambda: None
        self._latest: Latest[Sweep, dict[str, Any]] = Latest(self._facts, lambda _, facts: send(facts))

    def start(self, session: Session, asked: Mapping[str, Any]) -> None:
        """Begin the sweep that a page asks for, under what is set in its session.

        Raises:
            ControlError: an axis or a number that cannot be; what ran before goes on then.
        """
        if session.runner is None:
            raise ControlError("sweep", "this page has nothing to run it with")
        name = str(asked.get("control", ""))
        try:
            seeds = int(str(asked.get("seeds", "1")))
        except ValueError:
            raise ControlError("seeds", f"got {asked.get('seeds')!r}; expected a whole number") from None
        moved = {name, *(a.name for a in session.study.aliases.values() if a.control == name)}
        values = {n: text for n, text in session.query().items() if n != "preset" and n not in moved}
        sweep = Sweep(
            session.study, str(asked.get("experiment", "")), session.runner, {name: str(asked.get("values", ""))},
            seeds, values=values, preset=session.preset, visitor=session.visitor,
        )  # fmt: skip
        self.cancel()
        self.close()
        self._measure = ""
        self.sweep = sweep
        self._stop = sweep.on_change(lambda: self._latest.ask(sweep))
        sweep.start()

    def cancel(self) -> None:
        """Let go of what is left; what is done is kept."""
        if self.sweep is not None:
            self.sweep.cancel()

    def draw(self, measure: str | None = None, theme: Theme | None = None) -> None:
        """Tell the page again, with another measure or theme."""
        self._measure = self._measure if measure is None else measure
        self.theme = self.theme if theme is None else theme
        if self.sweep is not None:
            self._latest.ask(self.sweep)

    def close(self) -> None:
        """Listen no more; the sweep goes on, and what it gives is kept."""
        self._stop()
        self.sweep = None

    def _facts(self, sweep: Sweep) -> dict[str, Any]:
        drawn = sweep_figure(sweep, self._measure)
        shown = as_shown("Sweep", drawn)
        plain = without_template(figure(shown.content, self.theme))
        names = measure_names(sweep)
        return {
            "kind": "sweep", "state": str(sweep.state), "fraction": sweep.fraction, "message": sweep.message,
            "left": "" if sweep.eta is None else left(sweep.eta), "title": rich(shown.title),
            "subtitle": rich(shown.subtitle), "figure": listed(plain), "theme": self.theme,
            "measures": names, "measure": self._measure or (names[0][0] if names else ""),
            "tables": list(sweep.tables) if sweep.state.ended else [],
            "errors": sorted({point.error for point in sweep.failed}),
            "command": sweep.command(), "control": sweep.grid[0].name,
        }  # fmt: skip
