"""The contract: a study of a paper as controls, prepared values, views, experiments and claims.

A study file reads like the paper's argument: what can be moved, what is prepared, what is seen, what is run, what is
claimed. Members are pure functions that name what they need as arguments (controls, prepared values, results of
experiments, and `run`). From the names the machinery knows what to redraw, what enters a content key and what to
cache; an unknown name or a circle is refused when the study is loaded.

    study = Study("my-paper", paper=Paper(title="…", arxiv="2605.00000"), question="Does it hold?")
    study.number("beta", 0.5, bounds=(0, 0.995), symbol="β", doc="Membrane decay factor.")

    @study.prepared
    def curve(beta): ...

    @study.view("What β does", equation=r"y = \\beta x")
    def picture(curve): ...

    @study.experiment("Train over β", tables={"accuracy": {"beta": exact(), "accuracy": statistical("%")}})
    def sweep(run, curve, seeds): ...

    @study.claim(1, "Accuracy falls with β", expects=Below(0, "slope"))
    def falls(sweep): ...
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from workbench.claims import Above, Below, Claim, Evidence, Expectation, Judgement, NeedsScale, Verdict, Within
from workbench.controls import (
    Alias,
    Checkpoint,
    Choice,
    Control,
    ControlError,
    Data,
    Flag,
    Integer,
    List,
    Matrix,
    Number,
    Text,
)  # fmt: skip
from workbench.identity import content_hash
from workbench.results import Column, Result, Table, exact, note, numeric, statistical, timing
from workbench.run_protocol import Cancelled, Run

__all__ = [
    "Above", "Alias", "Below", "Cancelled", "Checkpoint", "Choice", "Claim", "Column", "Control", "ControlError",
    "Data", "Evidence", "Expectation", "Experiment", "Flag", "Group", "Integer", "Judgement", "List", "Matrix",
    "NeedsScale", "Number", "PRESETS", "Paper", "Result", "Run", "Stat", "Study", "StudyError", "Table", "Text",
    "Verdict", "View", "Within", "exact", "note", "numeric", "statistical", "timing",
]  # fmt: skip

PRESETS = ("quick", "standard", "full")
Function = TypeVar("Function", bound=Callable[..., Any])
Answer = TypeVar("Answer")


class StudyError(TypeError):
    """A study that is not well formed; raised when it is loaded."""


@dataclass(frozen=True)
class Paper:
    """The paper that a study tests: title, authors as one line, venue, and its arXiv number where it has one."""

    title: str
    arxiv: str = ""
    authors: str = ""
    venue: str = "ICML 2026"

    @property
    def url(self) -> str:
        """Where the paper can be read; empty for one without an arXiv number."""
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""


@dataclass(frozen=True)
class Group:
    """A heading over controls, with the equation that they enter."""

    name: str
    equation: str = ""


@dataclass(frozen=True)
class Stat:
    """A labelled number of a view: label, value, unit."""

    label: str
    value: float | int | str
    unit: str = ""


@dataclass(frozen=True)
class View:
    """Something to see: a Plotly figure, a data frame, a list of `Stat`, or text (Markdown).

    A figure's `layout.title.text` is its finding and `layout.title.subtitle.text` the line below; faces show both
    outside the plot. Answers in less than 100 ms.

    Attributes:
        name: the function's name.
        title: the quantity, shown until the figure names its finding.
        function: from what it names to what is seen.
        needs: names that the function asks for.
        equation: LaTeX of the equation that it draws.
        doc: one line.
        selects: from a key of a clicked point (`x`, `y`, `z`, `customdata`), or a column of a clicked row, to the
            control or alias that it sets; a straight line of the figure named `yours` or `cutoff` is its handle.
        tab: a word or two for where many views are listed.
    """

    name: str
    title: str
    function: Callable[..., Any]
    needs: tuple[str, ...]
    equation: str = ""
    doc: str = ""
    selects: Mapping[str, str] = field(default_factory=dict)
    tab: str = ""


@dataclass(frozen=True)
class Experiment:
    """Something to run: returns or streams the tables that it declares.

    Attributes:
        name: the function's name.
        title: a verb with its object, as on its button.
        function: from `run` and what it names to a mapping of tables and arrays, or None when all was streamed.
        needs: names that the function asks for.
        tables: from table to its columns.
        cost: seconds on two cores at each preset, as measured.
        doc: one line.
    """

    name: str
    title: str
    function: Callable[..., Any]
    needs: tuple[str, ...]
    tables: Mapping[str, Mapping[str, Column]]
    cost: Mapping[str, float] = field(default_factory=dict)
    doc: str = ""


@functools.lru_cache(4096)
def arguments(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names that a member asks for."""
    names = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise StudyError(f"{function.__name__}: a member names what it needs; *{name} is not allowed.")
        names.append(name)
    return tuple(names)


def remembered(find: Callable[[Study, str], Answer]) -> Callable[[Study, str], Answer]:
    """Find what follows from a study's names once for each member."""

    @functools.wraps(find)
    def found(study: Study, member: str) -> Answer:
        key = (find.__name__, member)
        if key not in study._known:
            study._known[key] = find(study, member)
        return study._known[key]

    return found


def first_line(function: Callable[..., Any]) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0]


class Study:
    """A study of one paper.

    Args:
        slug: its name in URLs and on the command line: lower case with hyphens.
        paper: the paper.
        question: what the study answers, as a question.
        summary: the paper in a line.
        seed: default base seed.
        seeds: default number of repeats.
    """

    def __init__(
        self, slug: str, *, paper: Paper, question: str, summary: str = "", seed: int = 0, seeds: int = 3
    ) -> None:
        self.slug = slug
        self.paper = paper
        self.question = question
        self.summary = summary or paper.title
        self.family = ""
        self.controls: dict[str, Control] = {}
        self.aliases: dict[str, Alias] = {}
        self.groups: dict[str, Group] = {}
        self.preparations: dict[str, Callable[..., Any]] = {}
        self.views: dict[str, View] = {}
        self.experiments: dict[str, Experiment] = {}
        self.claims: dict[str, Claim] = {}
        self.effort: dict[str, dict[str, Any]] = {preset: {} for preset in PRESETS}
        self.pictured: Callable[..., str] | None = None
        self._ordered = False
        self._known: dict[tuple[str, str], Any] = {}  # what follows from the names; until another is added
        repeats = {"group": "Repeats", "rare": True}
        self._add(
            Integer(name="seed", default=seed, bounds=(0, 2**31 - 1), doc="Base of every random stream.", **repeats)
        )
        self._add(
            Integer(name="seeds", default=seeds, bounds=(1, 1000), doc="Number of repeats.", effort=True, **repeats)
        )

    def __repr__(self) -> str:
        return f"<Study {self.slug}: {self.question}>"

    # what can be moved

    def _add(self, control: Control) -> None:
        self._new(control.name)
        self.controls[control.name] = control
        self.groups.setdefault(control.group, Group(control.group))

    def _new(self, name: str) -> None:
        if name == "run" or name in self.names():
            raise StudyError(f"{self.slug}: the name {name!r} is taken.")
        self._known.clear()

    def names(self) -> set[str]:
        """Every name that a member may ask for, `run` aside, and the aliases."""
        return {*self.controls, *self.aliases, *self.preparations, *self.views, *self.experiments}

    def group(self, name: str, equation: str = "") -> None:
        """A heading over controls with the LaTeX of the equation that they enter; call it before its controls."""
        self.groups[name] = Group(name, equation)

    def number(self, name: str, default: float | None, **traits: Any) -> None:
        """A `Number` control."""
        self._add(Number(name=name, default=default, **traits))

    def integer(self, name: str, default: int | None, **traits: Any) -> None:
        """An `Integer` control."""
        self._add(Integer(name=name, default=default, **traits))

    def choice(self, name: str, default: str | None = None, **traits: Any) -> None:
        """A `Choice` control."""
        self._add(Choice(name=name, default=default, **traits))

    def flag(self, name: str, default: bool, **traits: Any) -> None:
        """A `Flag` control."""
        self._add(Flag(name=name, default=default, **traits))

    def text(self, name: str, default: str, **traits: Any) -> None:
        """A `Text` control."""
        self._add(Text(name=name, default=default, **traits))

    def list(self, name: str, default: Sequence[float], **traits: Any) -> None:
        """A `List` control."""
        self._add(List(name=name, default=tuple(default), **traits))

    def matrix(self, name: str, default: Sequence[Sequence[float]], **traits: Any) -> None:
        """A `Matrix` control."""
        self._add(Matrix(name=name, default=tuple(map(tuple, default)), **traits))

    def data(self, name: str, default: str | None = None, **traits: Any) -> None:
        """A `Data` control; members that name it get a `workbench.sources.Source`, or a tuple when `many`."""
        self._add(Data(name=name, default=default, **traits))

    def checkpoint(self, name: str, default: str | None = None, **traits: Any) -> None:
        """A `Checkpoint` control; members that name it get a `workbench.sources.Source`, or a tuple when `many`."""
        self._add(Checkpoint(name=name, default=default, **traits))

    def alias(self, control: str, *aliases: Alias) -> None:
        """Other handles of one control. Keys, URLs and runs hold only the original."""
        if control not in self.controls:
            raise StudyError(f"{self.slug}: there is no control {control!r} to have another handle.")
        for alias in aliases:
            self._new(alias.name)
            self.aliases[alias.name] = Alias(
                alias.name, alias.to, alias.back, alias.unit, alias.symbol, alias.doc, control
            )

    def presets(self, **values: Mapping[str, Any]) -> None:
        """Values of effort controls for `quick`, `standard` and `full`; a default fills what a preset leaves out."""
        for preset, table in values.items():
            if preset not in PRESETS:
                raise StudyError(f"{self.slug}: there is no preset {preset!r}; presets are {', '.join(PRESETS)}.")
            for name, value in table.items():
                control = self.controls.get(name)
                if control is None or not control.effort:
                    raise StudyError(f"{self.slug}: preset {preset} sets {name!r}, which is not an effort control.")
                self.effort[preset][name] = control.parse(value)

    # what is prepared, seen, run and claimed

    def prepared(self, function: Function) -> Function:
        """A value that views and experiments share, computed once for a setting of the controls that it reaches."""
        self._new(function.__name__)
        self.preparations[function.__name__] = function
        return function

    def view(
        self, title: str, *, tab: str = "", equation: str = "", selects: Mapping[str, str] | None = None
    ) -> Callable[[Function], Function]:
        """Something to see. The first view of a study is its hero; `order` says which, where modules share views."""

        def add(function: Function) -> Function:
            name = function.__name__
            self._new(name)
            self.views[name] = View(
                name, title, function, arguments(function), equation, first_line(function), dict(selects or {}),
                tab or title,
            )  # fmt: skip
            return function

        return add

    def order(self, *views: str) -> None:
        """List the views in this order, the hero first: imports stand in the linter's order, not in the story's."""
        if sorted(views) != sorted(self.views):
            raise StudyError(f"{self.slug}: its views are {', '.join(self.views)}; the order has {', '.join(views)}.")
        self.views = {name: self.views[name] for name in views}
        self._ordered = True

    def experiment(
        self, title: str, *, tables: Mapping[str, Mapping[str, Column]], cost: Mapping[str, float] | None = None
    ) -> Callable[[Function], Function]:
        """Something to run, with the tables that it gives and the seconds it takes at each preset."""

        def add(function: Function) -> Function:
            name = function.__name__
            self._new(name)
            self.experiments[name] = Experiment(
                name, title, function, arguments(function), tables, dict(cost or {}), first_line(function)
            )
            return function

        return add

    def claim(
        self, id: int | str, sentence: str, *, expects: Expectation, printed: float | None = None
    ) -> Callable[[Function], Function]:
        """A claim of the paper; the function returns `Evidence`, or `NeedsScale` where the input cannot decide it."""

        def add(function: Function) -> Function:
            self._claim(Claim(str(id), sentence, function, expects, None, arguments(function), printed))
            return function

        return add

    def needs_scale(self, id: int | str, sentence: str, *, reason: str, command: str = "") -> None:
        """A claim that cannot be decided on one machine's bench: why, and the command that would decide it."""
        self._claim(Claim(str(id), sentence, scale=NeedsScale(reason, command)))

    def _claim(self, claim: Claim) -> None:
        if claim.id in self.claims:
            raise StudyError(f"{self.slug}: claim {claim.id} is there twice.")
        self._known.clear()
        self.claims[claim.id] = claim

    def picture(self, function: Function) -> Function:
        """The study's picture in the gallery: SVG of 300 by 112, drawn at default controls."""
        self.pictured = function
        return function

    # what follows from the names

    def needs(self, member: str) -> tuple[str, ...]:
        """The names that a member asks for: a prepared value, a view, an experiment or `claim:ID`."""
        if member in self.preparations:
            return arguments(self.preparations[member])
        if member in self.views:
            return self.views[member].needs
        if member in self.experiments:
            return tuple(n for n in self.experiments[member].needs if n != "run")
        if member.startswith("claim:"):
            return self.claims[member.removeprefix("claim:")].needs
        if member in self.controls:
            source = self.controls[member].source
            return (source,) if source else ()
        if member in self.aliases:
            alias = self.aliases[member]
            return (alias.control, *arguments(alias.to)[1:], *arguments(alias.back)[1:])
        raise KeyError(member)

    @remembered
    def reached(self, member: str) -> frozenset[str]:
        """Every name that a member reaches, directly or through others; `seed` where there is a run."""
        found, stack = set[str](), [member]
        while stack:
            name = stack.pop()
            if name in self.experiments and "run" in self.experiments[name].needs:
                found.add("seed")
            new = set(self.needs(name)) - found
            found |= new
            stack += new
        return frozenset(found)

    @remembered
    def reached_controls(self, member: str) -> tuple[str, ...]:
        """The controls that a member reaches, in the study's order."""
        return tuple(name for name in self.controls if name in self.reached(member))

    @remembered
    def reached_experiments(self, member: str) -> tuple[str, ...]:
        """The experiments whose results a member reaches."""
        return tuple(name for name in self.experiments if name in self.reached(member))

    @property
    def moving(self) -> dict[str, Control]:
        """The controls that some member reaches, in order; the others have nothing to move."""
        members = [*self.views, *self.experiments, *(f"claim:{id}" for id, c in self.claims.items() if c.function)]
        found = frozenset().union(*map(self.reached, members))
        return {name: control for name, control in self.controls.items() if name in found}

    def check(self) -> None:
        """Refuse a study whose names do not fit.

        Raises:
            StudyError: an unknown name, a circle, a view or claim asked for as a value, `run` outside an experiment,
                or a selection that sets no control.
        """
        known = {*self.controls, *self.preparations, *self.experiments}
        members: Iterable[str] = (
            *self.controls, *self.aliases, *self.preparations, *self.views, *self.experiments,
            *(f"claim:{id}" for id in self.claims),
        )  # fmt: skip
        for member in members:
            for need in self.needs(member):
                if need == "run":
                    raise StudyError(f"{self.slug}: {member} asks for `run`, which only experiments get.")
                if need not in known:
                    raise StudyError(f"{self.slug}: {member} asks for {need!r}, which is not in the study.")
            self._no_circle(member, ())
        for prepared in self.preparations:
            for experiment in self.reached_experiments(prepared):
                raise StudyError(
                    f"{self.slug}: the prepared value {prepared} needs the experiment {experiment}; "
                    "make it a second stage."
                )
        for experiment in self.experiments.values():
            if "run" not in experiment.needs:
                raise StudyError(f"{self.slug}: the experiment {experiment.name} does not ask for `run`.")
        if len({view.function.__module__ for view in self.views.values()}) > 1 and not self._ordered:
            raise StudyError(f"{self.slug}: views come from several modules; `study.order(…)` lists them, hero first.")
        for view in self.views.values():
            for control in view.selects.values():
                if control not in self.controls and control not in self.aliases:
                    raise StudyError(f"{self.slug}: the view {view.name} selects {control!r}, which is not a control.")

    def _no_circle(self, member: str, above: tuple[str, ...]) -> None:
        if member in above:
            raise StudyError(f"{self.slug}: {' needs '.join((*above, member))}, which is a circle.")
        for need in self.needs(member):
            self._no_circle(need, (*above, member))

    @property
    def terms(self) -> dict[str, Any]:
        """What was fixed before anything was run: expectations and presets."""
        return {
            "claims": {
                id: claim.expects.terms()
                if claim.expects
                else {"needs scale": claim.scale.reason if claim.scale else ""}
                for id, claim in self.claims.items()
            },
            "presets": {
                preset: {name: self.controls[name].text(value) for name, value in table.items()}
                for preset, table in self.effort.items()
            },
        }

    @property
    def terms_hash(self) -> str:
        """SHA-256 of the terms; verdicts made under another hash were judged under other terms."""
        return content_hash(self.terms)

    def schema(self) -> dict[str, Any]:
        """The study as plain data: what `assay show --json` prints."""
        return {
            "slug": self.slug, "family": self.family, "question": self.question, "summary": self.summary,
            "paper": {"title": self.paper.title, "authors": self.paper.authors, "venue": self.paper.venue,
                      "arxiv": self.paper.arxiv, "url": self.paper.url},
            "controls": [control.schema() for control in self.moving.values()],
            "aliases": [{"name": a.name, "control": a.control, "unit": a.unit, "symbol": a.symbol, "doc": a.doc}
                        for a in self.aliases.values()],
            "presets": self.terms["presets"],
            "views": [{"name": v.name, "title": v.title, "equation": v.equation, "doc": v.doc, "needs": v.needs}
                      for v in self.views.values()],
            "experiments": [{"name": e.name, "title": e.title, "doc": e.doc, "cost": dict(e.cost),
                             "tables": {t: {c: str(k.kind) for c, k in cs.items()} for t, cs in e.tables.items()}}
                            for e in self.experiments.values()],
            "claims": [{"id": c.id, "sentence": c.sentence, "expected": c.expects.words if c.expects else None,
                        "quantity": c.expects.quantity if c.expects else "",
                        "needs_scale": c.scale.reason if c.scale else None} for c in self.claims.values()],
        }  # fmt: skip
