"""Sweeps: one experiment over a grid of control values and seeds, a run of its own for every point.

Every point is an ordinary job: it is kept under its content key, joined when it runs already, and never run twice. A
sweep hands out few points at a time, so that other jobs come in between.
"""

from __future__ import annotations

import itertools
import math
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.claims import Verdict
from workbench.controls import Choice, Control, ControlError, Flag, Integer, Number
from workbench.job import State
from workbench.results import Column, Kind, Table, exact, note, numeric, timing
from workbench.session import Change, Session
from workbench.study import Study
from workbench.visitors import LOCAL, Visitor

if TYPE_CHECKING:
    from workbench.job import Job
    from workbench.runner import Runner

__all__ = ["Axis", "Point", "Sweep", "axis_of"]

MOST_POINTS = 2000
AHEAD = 1  # points that wait while every worker is busy, so that none stands idle
FORM = "low:high:count, values with commas between, or * for every choice"


@dataclass(frozen=True)
class Axis:
    """A control, or another handle of one, and the values that it takes."""

    name: str
    values: tuple[Any, ...]


@dataclass
class Point:
    """One point of a sweep.

    Attributes:
        values: what is set at it, by axis; the seed among them.
        session: the study at this point.
        job: its job, once it was handed out.
        refused: one sentence, where it could not be handed out.
    """

    values: dict[str, Any]
    session: Session
    job: Job | None = None
    refused: str = ""

    @property
    def state(self) -> State:
        """How far it is."""
        if self.job is None:
            return State.FAILED if self.refused else State.QUEUED
        return self.job.state

    @property
    def error(self) -> str:
        """One sentence when it failed."""
        return self.refused or (self.job.error if self.job is not None else "")


def axis_of(study: Study, name: str, given: object, control: Control | None = None) -> Axis:
    """An axis from what a person gave: a sequence, or text such as `0.1:0.9:9`, `0.1, 0.5` or `*`.

    `low:high:count` is even in the logarithm where the control's slider is.

    Args:
        study: the study.
        name: of a control or an alias.
        given: its values.
        control: with its bounds or choices, where those come from the data; the study's own when left out.

    Raises:
        ControlError: no such control, or values that it does not take.
    """
    if name not in study.moving and name not in study.aliases:
        known = ", ".join([*study.moving, *study.aliases])
        raise ControlError("sweep", f"got {name!r}; expected one of {known}")
    own = control or study.moving.get(name)
    values = spread(name, given, own) if isinstance(given, str) else list_of(name, given)
    if own is not None:
        values = [own.parse(value) for value in values]
    distinct = list(dict.fromkeys(values))
    if not distinct:
        raise ControlError("sweep", f"got no values for {name}; expected {FORM}")
    return Axis(name, tuple(distinct))


def list_of(name: str, given: object) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, (bytes, Mapping)):
        raise ControlError("sweep", f"got {given!r} for {name}; expected values")
    return [value.item() if isinstance(value, np.generic) else value for value in given]


def spread(name: str, text: str, control: Control | None) -> list[Any]:
    """The values that a text stands for."""
    parts = [part.strip() for part in text.split(":")]
    if text.strip() == "*":
        if isinstance(control, Choice):
            return list(control.options)
        if isinstance(control, Flag):
            return [False, True]
        raise ControlError("sweep", f"got {name}={text}; expected low:high:count, for {name} has no list of choices")
    if len(parts) == 1:
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
        sound = len(parts) == 3 and math.isfinite(low) and math.isfinite(high) and 1 <= count <= MOST_POINTS
    except (ValueError, IndexError):
        sound = False
        low = high = count = 0
    log = isinstance(control, Number) and control.log
    if not sound or (log and min(low, high) <= 0):
        raise ControlError("sweep", f"got {name}={text[:60]}; expected {FORM}")
    ends = np.geomspace(low, high, count) if log else np.linspace(low, high, count)
    if isinstance(control, Integer):
        return [round(value) for value in ends]
    return [float(f"{value:.12g}") for value in ends]


@dataclass(eq=False)
class Sweep:
    """A sweep, asked for and on its way.

    Args:
        study: the study.
        experiment: what is run at every point.
        runner: runs it.
        axes: from control or alias to its values, as `axis_of` takes them.
        seeds: how many base seeds each point is run with, counted from the one that is set.
        values, preset, device, fresh: as in a session and its `run`.
        visitor: who asks.

    Raises:
        ControlError: an experiment, axis or value that cannot be; nothing is run then.
    """

    study: Study
    experiment: str
    runner: Runner
    axes: Mapping[str, object]
    seeds: int = 1
    values: Mapping[str, object] = field(default_factory=dict)
    preset: str = "standard"
    device: str = "cpu"
    fresh: bool = False
    visitor: Visitor = LOCAL

    def __post_init__(self) -> None:
        if self.experiment not in self.study.experiments:
            known = ", ".join(self.study.experiments) or "none"
            raise ControlError("experiment", f"got {self.experiment!r}; expected one of {known}")
        if isinstance(self.seeds, bool) or not isinstance(self.seeds, int) or not 1 <= self.seeds <= MOST_POINTS:
            raise ControlError("seeds", f"got {self.seeds!r}; expected a whole number from 1 to {MOST_POINTS}")
        self._base = base = Session(self.study, None, values=self.values, preset=self.preset, visitor=self.visitor)
        self.grid = [axis_of(self.study, n, v, base.settings.controls.get(n)) for n, v in self.axes.items()]
        if both := {axis.name for axis in self.grid} & set(self.values):
            raise ControlError("sweep", f"got {sorted(both)[0]}, which is set too; expected one of the two")
        if not self.grid and self.seeds == 1:
            raise ControlError("sweep", "got no axis and one seed; expected an axis such as name=0.1:0.9:9, or seeds")
        first = base.settings.values["seed"]
        if self.seeds > 1 and not any(axis.name == "seed" for axis in self.grid):
            self.grid.append(Axis("seed", tuple(range(first, first + self.seeds))))
        count = math.prod(len(axis.values) for axis in self.grid)
        if count > MOST_POINTS:
            raise ControlError("sweep", f"got {count} points; expected at most {MOST_POINTS}")
        self.points = [self._point(dict(combination)) for combination in self._combinations()]
        self._changed: list[Callable[[], None]] = []
        self._news = threading.Event()
        self._cancelled = False
        self._over = threading.Event()
        self._started = 0.0
        self._thread = threading.Thread(target=self._work, name="assay-sweep", daemon=True)

    def _combinations(self) -> Iterable[tuple[tuple[str, Any], ...]]:
        return itertools.product(*([(axis.name, value) for value in axis.values] for axis in self.grid))

    def _point(self, values: dict[str, Any]) -> Point:
        given = {**self.values, **values}
        return Point(values, Session(self.study, self.runner, values=given, preset=self.preset, visitor=self.visitor))

    # what a face shows

    @property
    def state(self) -> State:
        """How far it is: failed when a point failed, once all have ended."""
        if not self._over.is_set():
            return State.QUEUED if not self._started else State.RUNNING
        states = {point.state for point in self.points}
        if self._cancelled and states != {State.DONE}:
            return State.CANCELLED
        return State.DONE if states == {State.DONE} else State.FAILED

    @property
    def done(self) -> list[Point]:
        """The points whose result is there."""
        return [point for point in self.points if point.state is State.DONE]

    @property
    def failed(self) -> list[Point]:
        """The points that ended without a result, unless they were cancelled."""
        return [p for p in self.points if p.state.ended and p.state not in (State.DONE, State.CANCELLED)]

    @property
    def fraction(self) -> float:
        """How far all points are, from 0 to 1."""
        return sum(1.0 if p.state.ended else p.job.fraction if p.job else 0.0 for p in self.points) / len(self.points)

    @property
    def message(self) -> str:
        """What is being done, in words."""
        running = sum(point.state is State.RUNNING for point in self.points)
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{len(self.done)} of {len(self.points)} points done{failed}, {running} running"

    @property
    def eta(self) -> float | None:
        """Seconds left; None when that is not known."""
        ran = [point for point in self.done if point.job is not None and not point.job.kept]
        if not ran or self._over.is_set():
            return None
        share = self.fraction
        return (time.monotonic() - self._started) * (1 - share) / share if share > 0 else None

    # what it does

    def start(self) -> Sweep:
        """Hand out the points, from a thread of its own."""
        self._started = time.monotonic()
        self._thread.start()
        return self

    def cancel(self) -> None:
        """Let go of every point that has not ended; what is done is kept."""
        self._cancelled = True
        self._news.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until every point has ended; False when that took longer than `timeout` seconds."""
        return self._over.wait(timeout)

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when something changed, from another thread; returns what ends that."""
        self._changed.append(callback)
        return lambda: self._changed.remove(callback) if callback in self._changed else None

    def _work(self) -> None:
        waiting = list(reversed(self.points))
        flying: list[Point] = []

        def heard(change: Change) -> None:
            if self.experiment in change.experiments:
                self._news.set()

        while waiting or flying:
            while waiting and not self._cancelled and len(flying) < self.runner.workers + AHEAD:
                point = waiting.pop()
                point.session.on_change(heard)
                try:
                    point.job = point.session.run(self.experiment, device=self.device, fresh=self.fresh)
                    flying.append(point)
                except (ControlError, RuntimeError) as error:  # its input went away, or the runner closed
                    point.refused = f"{error}"
            if self._cancelled:
                waiting.clear()
                for point in flying:
                    point.session.cancel(self.experiment)
            self._tell()
            if any(not point.state.ended for point in flying):
                self._news.wait(1.0)
                self._news.clear()
            flying = [point for point in flying if not (point.state.ended or self._let_go(point))]
        self._over.set()
        self._tell()

    def _let_go(self, point: Point) -> bool:
        """Somebody else holds the job of a point that this sweep wants no more."""
        return self._cancelled and point.job is not None and point.session.id not in point.job.holders

    def _tell(self) -> None:
        for callback in list(self._changed):
            callback()

    # what came out

    @property
    def tables(self) -> dict[str, Table]:
        """`points`, `claims`, and the experiment's tables with the swept values in front; they grow while it runs."""
        done = self.done
        axes = {axis.name: column_of(self.study.moving.get(axis.name), axis.values) for axis in self.grid}
        columns = {**axes, "state": note(), "digest": exact("str"), "took": timing(), "run": note(), "error": note()}
        points = Table(columns)
        for point in self.points:
            job = point.job
            held = point.session.held.get(self.experiment) if point.state is State.DONE else None
            points.append(
                {
                    **point.values, "state": str(point.state), "digest": held.result.digest if held else "",
                    "took": job.took if job else None, "run": job.provenance.get("run", "") if job else "",
                    "error": point.error,
                }
            )  # fmt: skip
        found = {"points": points, "claims": self._claims(done, axes)}
        for name, declared in self.study.experiments[self.experiment].tables.items():
            renamed = {axis: f"set_{axis}" if axis in declared else axis for axis in axes}
            table = Table({**{renamed[axis]: column for axis, column in axes.items()}, **declared})
            for point in done:
                front = {renamed[axis]: value for axis, value in point.values.items()}
                for row in point.session.held[self.experiment].result.tables[name].rows():
                    table.append({**front, **row})
            found[name if name not in found else f"{self.experiment}_{name}"] = table
        return found

    def _claims(self, done: Sequence[Point], axes: Mapping[str, Column]) -> Table:
        table = Table(
            {**axes, "claim": exact("str"), "verdict": exact("str"), "measured": numeric(), "low": numeric(),
             "high": numeric(), "n": numeric()}
        )  # fmt: skip
        for point in done:
            for judgement in point.session.judge():
                if self.experiment not in judgement.claim.needs or judgement.verdict is Verdict.NOT_JUDGED:
                    continue
                seen = judgement.as_json()
                low, high = seen["interval"] or (None, None)
                table.append(
                    {**point.values, "claim": judgement.claim.id, "verdict": seen["verdict"],
                     "measured": seen["measured"], "low": low, "high": high, "n": seen["n"]}
                )  # fmt: skip
        return table

    def frame(self, table: str = "points") -> pd.DataFrame:
        """A table as a data frame.

        Raises:
            KeyError: there is none of that name.
        """
        tables = self.tables
        if table not in tables:
            raise KeyError(f"no table {table!r}; there are {', '.join(tables)}.")
        return tables[table].frame

    def as_json(self) -> dict[str, Any]:
        """The sweep as plain data."""
        return {
            "study": self.study.slug, "experiment": self.experiment, "preset": self.preset, "state": str(self.state),
            "axes": {axis.name: list(axis.values) for axis in self.grid},
            "tables": {name: table.as_json() for name, table in self.tables.items()},
        }  # fmt: skip

    def command(self) -> str:
        """The command line that does the same."""
        parts = ["assay", "run", self.study.slug, self.experiment]
        for name, given in self.axes.items():
            values = given if isinstance(given, str) else ",".join(map(str, list_of(name, given)))
            parts += ["--sweep", f"{name}={values}"]
        parts += ["--seeds", str(self.seeds)] if self.seeds > 1 else []
        for name, text in self._base.query().items():
            parts += ["--preset", text] if name == "preset" else ["--set", f"{name}={text}"]
        return shlex.join(parts)

    def measures(self) -> list[tuple[str, str, Column]]:
        """What can be drawn against an axis: table, column, and the column's declaration."""
        kinds = (Kind.NUMERIC, Kind.STATISTICAL, Kind.TIMING)
        return [
            (table, name, column)
            for table, columns in self.study.experiments[self.experiment].tables.items()
            for name, column in columns.items()
            if column.kind in kinds and column.dtype in ("float", "int")
        ]

    def close(self) -> None:
        """Forget the sessions of the points; jobs go on."""
        for point in self.points:
            point.session.close()


def column_of(control: Control | None, values: Sequence[Any]) -> Column:
    """How the values of an axis are held in a table."""
    unit = control.unit if control is not None else ""
    kind = type(values[0])
    if all(isinstance(value, bool) for value in values):
        return exact("bool")
    if kind is int and all(type(value) is int for value in values):
        return exact("int", unit)
    return exact("float", unit) if all(isinstance(value, (int, float)) for value in values) else exact("str", unit)
