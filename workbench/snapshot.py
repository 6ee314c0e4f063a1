"""Snapshots: a study under one setting of its controls, and everything that can be computed from it.

Evaluation is the same on every face: `settle` turns what a person set into canonical values, a `Snapshot` prepares,
shows, runs and judges. A snapshot never changes; moving a control makes another one.
"""

from __future__ import annotations

import functools
import math
import opcode
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from workbench.claims import Claim, Judgement, Verdict, judge
from workbench.controls import Control, ControlError, Data, Number
from workbench.identity import Code, code_of, content_hash, key
from workbench.long_lines import thinned, thinning_note
from workbench.pool import POOL, Pool
from workbench.results import Result, tables_of
from workbench.run_protocol import Run
from workbench.sources import Source, find_source
from workbench.study import PRESETS, Stat, Study, StudyError, arguments
from workbench.typed_values import finite, shown

__all__ = ["Settings", "Shown", "Snapshot", "raised_on_purpose", "settle"]

OURS = ("assay", "workbench", "assay_studies")  # packages that raise a ValueError to refuse an input


@dataclass(frozen=True)
class Settings:
    """Canonical values of all controls of a study.

    Attributes:
        values: from control to value; default < preset < what was set.
        user: the controls that were set, with their values.
        preset: `quick`, `standard` or `full`.
        controls: the controls, with the choices and bounds that prepared values gave.
        notices: sentences about values that fell back to a default.
    """

    values: Mapping[str, Any]
    user: Mapping[str, Any]
    preset: str
    controls: Mapping[str, Control]
    notices: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """What was set, as text for a URL or the command line."""
        return {name: self.controls[name].text(value) for name, value in self.user.items()}


@dataclass(frozen=True)
class Shown:
    """What a view shows.

    Attributes:
        kind: `figure` (a Plotly figure as a dict), `table` (a data frame), `stats` (a list of `Stat`) or `text`.
        content: of that kind.
        title: its finding, or the quantity.
        subtitle: one line below.
        elapsed: seconds that the view took, prepared values aside.
    """

    kind: Literal["figure", "table", "stats", "text"]
    content: Any
    title: str
    subtitle: str = ""
    elapsed: float = field(default=0.0, compare=False)


def settle(
    study: Study,
    values: Mapping[str, object] | None = None,
    preset: str = "standard",
    *,
    strict: bool | set[str] = True,
    pool: Pool = POOL,
    roots: tuple[Path, ...] | None = None,
) -> Settings:
    """Canonical values from what a person set.

    Args:
        study: the study.
        values: from control or alias to a value or its text.
        preset: which table fills the effort controls that were not set.
        strict: refuse a value that prepared choices or bounds do not allow, for all names or for those given; the
            others fall back to the default with a notice.
        pool: where prepared values are kept.
        roots: folders that paths must lie in; None allows any path.

    Raises:
        ControlError: an unknown name, a bad value, or a control and its alias set together.
    """
    if preset not in PRESETS:
        raise ControlError("preset", f"got {shown(preset)}; expected one of {', '.join(PRESETS)}")
    given = dict(values or {})
    for name in given:
        if name not in study.controls and name not in study.aliases:
            raise ControlError(
                "control", f"got {shown(name)}; expected one of {', '.join([*study.moving, *study.aliases])}"
            )
    aliased = aliases_in(study, given)

    settled: dict[str, Any] = {}
    user: dict[str, Any] = {}
    bound: dict[str, Control] = {}
    notices: list[str] = []

    def need(name: str) -> None:
        """Settle every control that a name reaches, then itself."""
        for other in study.reached_controls(name):
            settle_one(other)

    def snapshot() -> Snapshot:
        return Snapshot(study, Settings(settled, user, preset, bound), pool=pool, roots=roots)

    def settle_one(name: str) -> None:
        if name in settled:
            return
        control = study.controls[name]
        if control.source is not None:
            need(name)
            control = control.bound(snapshot().value(control.source))
        bound[name] = control
        settled[name] = study.effort[preset].get(name, control.default)
        if name in aliased:
            alias = study.aliases[aliased[name]]
            for other in study.needs(alias.name)[1:]:
                need(other) if other not in study.controls else settle_one(other)
            handle = given[alias.name]
            unit = f" {alias.unit}" if alias.unit else ""
            number = finite(alias.name, handle, f"a number{unit}")
            try:
                raw: object = snapshot().call(alias.back, first=number)
            except (ValueError, ZeroDivisionError, OverflowError):
                raise ControlError(
                    alias.name, f"got {shown(handle)}; expected a number{unit} that gives {name} {control.expected}"
                ) from None
            given_name = alias.name
        elif name in given:
            raw, given_name = given[name], name
        else:
            return
        try:
            value = control.parse(raw)
        except ControlError:
            plain = study.controls[name]
            lenient = strict is False or (strict is not True and given_name not in strict)
            if plain.source is None or not lenient:
                if given_name != name:
                    sentence = (
                        f"got {shown(given[given_name])}, for which {name} is {shown(raw)}; expected {control.expected}"
                    )
                    raise ControlError(given_name, sentence) from None
                raise
            plain.parse(raw)  # what no data could allow is refused in any case
            notices.append(f"{control.label} {shown(raw)} is not there now; it is {shown(settled[name])} instead.")
            return
        settled[name] = user[name] = value
        if isinstance(control, Data) and (strict is True or (strict is not False and given_name in strict)):
            snapshot().source(name)

    for name in study.controls:
        settle_one(name)
    ordered = {name: settled[name] for name in study.controls}
    return Settings(ordered, {n: user[n] for n in ordered if n in user}, preset, bound, tuple(notices))


def aliases_in(study: Study, given: Mapping[str, object]) -> dict[str, str]:
    """From control to the alias that sets it.

    Raises:
        ControlError: a control is set twice, by itself and an alias or by two aliases.
    """
    aliased: dict[str, str] = {}
    for name in [n for n in given if n in study.aliases]:
        control = study.aliases[name].control
        if control in given or control in aliased:
            raise ControlError(
                name, f"sets {control}, which is set as {aliased.get(control, control)} too; expected one"
            )
        aliased[control] = name
    return aliased


class Snapshot:
    """A study under one setting of its controls.

    Args:
        study: the study.
        settings: canonical values, from `settle`.
        results: what experiments have given, complete or not.
        pool: where prepared values are kept.
        roots: folders that paths must lie in; None allows any path.
        device: kind of device that experiments run on.
    """

    def __init__(
        self,
        study: Study,
        settings: Settings,
        results: Mapping[str, Result] | None = None,
        *,
        pool: Pool = POOL,
        roots: tuple[Path, ...] | None = None,
        device: str = "cpu",
    ) -> None:
        self.study = study
        self.settings = settings
        self.results = dict(results or {})
        self.pool = pool
        self.roots = roots
        self.device = device

    def with_results(self, results: Mapping[str, Result]) -> Snapshot:
        """The same setting with other results."""
        return Snapshot(self.study, self.settings, results, pool=self.pool, roots=self.roots, device=self.device)

    # values

    def source(self, name: str) -> Source | tuple[Source, ...] | None:
        """What a data or checkpoint control refers to; None for an optional one that is empty.

        Raises:
            ControlError: nothing is there, or it may not be read.
        """
        value = self.settings.values[name]
        if not value:
            return None
        try:
            if isinstance(value, tuple):
                return tuple(find_source(reference, self.roots) for reference in value)
            return find_source(value, self.roots)
        except ValueError as error:
            raise ControlError(name, str(error)) from None

    def value(self, name: str) -> Any:
        """A control's value, a prepared value, or an experiment's result (None until there is one)."""
        study = self.study
        if name in study.controls:
            return self.source(name) if isinstance(study.controls[name], Data) else self.settings.values[name]
        if name in study.preparations:
            return self.pool.get(self.key(name), lambda: self.call(study.preparations[name]))
        if name in study.experiments:
            return self.results.get(name)
        raise StudyError(f"{study.slug}: {name!r} is not a value.")

    def call(self, function: Callable[..., Any], *, first: Any = None, run: Run | None = None) -> Any:
        """Call a member with what it names; `first` fills the first argument of an alias's function.

        Raises:
            ControlError: the member, or the library under it, refused its input.
        """
        names = arguments(function)
        if first is not None:
            return function(first, *(self.value(name) for name in names[1:]))
        given = {name: run if name == "run" else self.value(name) for name in names}
        try:
            return function(**given)
        except ControlError:
            raise
        except ValueError as error:
            if not raised_on_purpose(error):
                raise
            field, colon, sentence = str(error).partition(": ")
            known = bool(colon) and field in self.study.controls
            raise ControlError(field if known else "", sentence if known else str(error)) from error

    def handle(self, alias: str) -> float:
        """The value of an alias."""
        found = self.study.aliases[alias]
        return float(self.call(found.to, first=self.settings.values[found.control]))

    def handle_bounds(self, alias: str) -> tuple[float, float]:
        """The values of an alias at the two bounds of its control, ascending; infinite ends are drawn in by a step."""
        found = self.study.aliases[alias]
        control = self.settings.controls[found.control]
        assert isinstance(control, Number)
        low, high = control.limits
        step = (high - low) * 1e-3
        ends = []
        for end, inner in ((low, low + step), (high, high - step)):
            try:
                value = float(self.call(found.to, first=end))
            except (ZeroDivisionError, ValueError, OverflowError):
                value = math.nan
            ends.append(value if math.isfinite(value) else float(self.call(found.to, first=inner)))
        return min(ends), max(ends)

    # identity

    def identity(self, member: str) -> dict[str, Any]:
        """The controls that a member reaches, with the hash of every input's bytes in place of its reference."""
        found: dict[str, Any] = {}
        for name in self.study.reached_controls(member):
            value = self.settings.values[name]
            if isinstance(self.study.controls[name], Data):
                sources = self.source(name)
                hashes = [s.sha256 for s in (sources if isinstance(sources, tuple) else (sources,)) if s is not None]
                value = hashes if isinstance(sources, tuple) else "".join(hashes)
            found[name] = value
        return found

    def key(self, member: str) -> str:
        """The content key of a prepared value or an experiment."""
        device = self.device if self.study.reached_experiments(member) or member in self.study.experiments else "cpu"
        return key(f"{self.study.slug}/{member}", self.identity(member), member_code(self.study, member), device)

    # what is seen

    def show(self, name: str) -> Shown:
        """What a view shows now.

        Raises:
            ControlError: a value that the view's inputs do not allow.
        """
        view = self.study.views[name]
        for need in view.needs:
            self.value(need)
        started = time.perf_counter()
        content = self.call(view.function)
        elapsed = time.perf_counter() - started
        return as_shown(view.title, content, elapsed)

    # what is run

    def perform(self, name: str, run: Run) -> Result:
        """Run an experiment to its end in this process; earlier stages must be among the results.

        Raises:
            ControlError: an earlier stage has no complete result.
        """
        experiment = self.study.experiments[name]
        for stage in self.study.reached_experiments(name):
            if stage in experiment.needs and (stage not in self.results or not self.results[stage].complete):
                title = self.study.experiments[stage].title
                raise ControlError(name, f"needs the result of “{title}”; expected it to be run first")
        returned = self.call(experiment.function, run=run)
        result = tables_of(returned, experiment.tables, getattr(run, "tables", {}))
        result.files.update(getattr(run, "files", {}))
        return result

    # what is claimed

    def judge(self, id: str, *, stale: str = "") -> Judgement:
        """What is known of a claim with the results that are here."""
        claim: Claim = self.study.claims[id]
        if claim.function is None or claim.scale is not None:
            scale = claim.scale
            return Judgement(
                claim, Verdict.NEEDS_SCALE, why=scale.reason if scale else "", command=scale.command if scale else ""
            )
        waiting = [
            self.study.experiments[need].title
            for need in claim.needs
            if need in self.study.experiments and not (need in self.results and self.results[need].complete)
        ]
        if waiting:
            titles = " and ".join(f"“{title}”" for title in waiting)
            return Judgement(claim, Verdict.NOT_JUDGED, why=f"Waits for {titles}.")
        return judge(claim, self.call(claim.function), stale=stale)


def raised_on_purpose(error: BaseException) -> bool:
    """Code of the library, the workbench or a study refused what it was given; what comes up from elsewhere is a fault.

    The innermost frame belongs to that code and stands at a `raise`.
    """
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
    instruction = trace.tb_frame.f_code.co_code[trace.tb_lasti]
    return module in OURS and opcode.opname[instruction] == "RAISE_VARARGS"


def as_shown(title: str, content: Any, elapsed: float = 0.0) -> Shown:
    """A view's return value in one of the four forms."""
    if isinstance(content, pd.DataFrame):
        return Shown("table", content, content.attrs.get("title", title), content.attrs.get("subtitle", ""), elapsed)
    if isinstance(content, str):
        return Shown("text", content, title, "", elapsed)
    if isinstance(content, (list, tuple)) and content and all(isinstance(s, Stat) for s in content):
        return Shown("stats", list(content), title, "", elapsed)
    figure = content if isinstance(content, dict) else getattr(content, "to_plotly_json", lambda: None)()
    if not isinstance(figure, dict) or "data" not in figure:
        raise StudyError(
            f"a view returned {type(content).__name__}; expected a Plotly figure, a data frame, a list of Stat or text."
        )
    layout = dict(figure.get("layout") or {})
    title_part = layout.pop("title", None) or {}
    heading: dict[str, Any] = {"text": title_part} if isinstance(title_part, str) else dict(title_part)
    subtitle = (heading.get("subtitle") or {}).get("text") or ""
    drawn, most = thinned({**figure, "layout": layout})
    subtitle = " ".join(filter(None, [subtitle, thinning_note(most) if most else ""]))
    return Shown("figure", drawn, heading.get("text") or title, subtitle, elapsed)


@functools.cache
def member_code(study: Study, member: str) -> Code:
    """The code of a member and of all members that it reaches."""
    functions = []
    for name in sorted({member, *study.reached(member)}):
        if name in study.preparations:
            functions.append(study.preparations[name])
        elif name in study.experiments:
            functions.append(study.experiments[name].function)
    codes = [code_of(function) for function in functions]
    packages = tuple(sorted({package for code in codes for package in code.packages}))
    modules = tuple(sorted({module for code in codes for module in code.modules}))
    return Code(content_hash([code.digest for code in codes]), packages, modules)
