"""A session: one person at one study. What a face draws, kept apart from how it draws it.

The session holds what was set, what has run, and what is known of every claim. Faces tell it what a person did, ask
it what to show, and are told when something changed. It is safe to use from several threads.
"""

from __future__ import annotations

import shlex
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.claims import Judgement, Verdict
from workbench.controls import ControlError, Data
from workbench.pool import POOL, Pool
from workbench.results import Result
from workbench.runner import Request
from workbench.snapshot import Settings, Shown, Snapshot, aliases_in, settle
from workbench.sources import portable
from workbench.study import Study
from workbench.visitors import LOCAL, Visitor

if TYPE_CHECKING:
    from workbench.runner import Job, Runner

__all__ = ["Change", "Held", "Session"]

MAX_UNDO = 100


@dataclass(frozen=True)
class Held:
    """The last result of an experiment in a session.

    Attributes:
        result: what it gave, complete or not.
        settings: what was set when it was started.
        key: its content key.
        job: the job that gave it.
    """

    result: Result
    settings: Settings
    key: str
    job: Job


@dataclass(frozen=True)
class Change:
    """What a face must draw again.

    Attributes:
        controls: names whose value or limits changed.
        views: views to draw again.
        experiments: experiments whose job bar changed.
        claims: the ledger changed.
        notices: sentences to show.
    """

    controls: frozenset[str] = frozenset()
    views: frozenset[str] = frozenset()
    experiments: frozenset[str] = frozenset()
    claims: bool = False
    notices: tuple[str, ...] = ()


class Session:
    """One person at one study.

    Args:
        study: the study.
        runner: runs experiments; without one nothing can be run.
        values: what is set at the start, as values or text.
        preset: `quick`, `standard` or `full`.
        visitor: who it is; what they may read and run.
        pool: where prepared values are kept.
        strict: refuse values at the start that the data do not allow, instead of falling back with a notice.

    Raises:
        ControlError: a value that cannot be.
    """

    def __init__(
        self,
        study: Study,
        runner: Runner | None = None,
        *,
        values: Mapping[str, object] | None = None,
        preset: str = "standard",
        visitor: Visitor = LOCAL,
        pool: Pool = POOL,
        strict: bool = True,
    ) -> None:
        self.study = study
        self.runner = runner
        self.visitor = visitor
        self.pool = pool
        self.settings = settle(study, values, preset, strict=strict, pool=pool, roots=self.roots)
        self.held: dict[str, Held] = {}
        self._unsubscribe: dict[str, Callable[[], None]] = {}
        self._listeners: list[Callable[[Change], None]] = []
        self._undo: list[tuple[dict[str, Any], str]] = []
        self._redo: list[tuple[dict[str, Any], str]] = []
        self._gesture = ""
        self._lock = threading.RLock()
        self.id = f"{visitor.name}/{uuid.uuid4().hex}"

    @property
    def roots(self) -> tuple[Path, ...] | None:
        """Folders that paths must lie in; None allows any path."""
        return self.visitor.roots

    # what was set

    @property
    def preset(self) -> str:
        """The preset in force."""
        return self.settings.preset

    def value(self, name: str) -> Any:
        """The value of a control or an alias."""
        return self.snapshot.handle(name) if name in self.study.aliases else self.settings.values[name]

    def update(
        self, values: Mapping[str, object] | None = None, preset: str | None = None, *, gesture: str = ""
    ) -> Change:
        """Set controls or aliases, or the preset; nothing is set when one value is refused.

        Args:
            values: from name to value.
            preset: `quick`, `standard` or `full`; None leaves it.
            gesture: name of the hand's movement that this is a part of; a whole drag is one step to undo.

        Raises:
            ControlError: a value that cannot be.
        """
        with self._lock:
            before = self.settings
            merged: dict[str, object] = dict(before.user)
            aliases_in(self.study, values or {})
            for name, value in (values or {}).items():
                if name in self.study.aliases:
                    merged.pop(self.study.aliases[name].control, None)
                for alias in self.study.aliases.values():
                    if alias.control == name:
                        merged.pop(alias.name, None)
                merged[name] = value
            return self._move(merged, preset or before.preset, set(values or {}), gesture)

    def reset(self, names: Iterable[str] | None = None) -> Change:
        """Put controls back to their default or preset value; all of them when no name is given."""
        drop = set(self.study.controls if names is None else names)
        with self._lock:
            kept = {name: value for name, value in self.settings.user.items() if name not in drop}
            return self._move(kept, self.preset, set())

    def undo(self) -> Change:
        """Take back the last step."""
        with self._lock:
            return self._step(self._undo, self._redo)

    def redo(self) -> Change:
        """Take the last undo back."""
        with self._lock:
            return self._step(self._redo, self._undo)

    @property
    def can_undo(self) -> bool:
        """There is a step to take back."""
        return bool(self._undo)

    @property
    def can_redo(self) -> bool:
        """There is an undo to take back."""
        return bool(self._redo)

    def _step(self, source: list[tuple[dict[str, Any], str]], target: list[tuple[dict[str, Any], str]]) -> Change:
        if not source:
            return Change()
        before = (dict(self.settings.user), self.preset)
        change = self._apply(*source[-1], strict=set())
        source.pop()
        target.append(before)
        self._gesture = ""
        self._tell(change)
        return change

    def _move(self, values: Mapping[str, object], preset: str, strict: set[str], gesture: str = "") -> Change:
        before = (dict(self.settings.user), self.preset)
        change = self._apply(values, preset, strict)
        if change.controls or preset != before[1]:
            if not gesture or gesture != self._gesture:
                self._undo = [*self._undo, before][-MAX_UNDO:]
            self._redo.clear()
            self._gesture = gesture
        self._tell(change)
        return change

    def _apply(self, values: Mapping[str, object], preset: str, strict: set[str]) -> Change:
        before = self.settings
        after = settle(self.study, values, preset, strict=strict, pool=self.pool, roots=self.roots)
        self.settings = after
        moved = {
            name
            for name in self.study.controls
            if before.values[name] != after.values[name] or before.controls[name] != after.controls[name]
        }
        return self._follow(moved, after.notices)

    def _follow(self, moved: set[str], notices: tuple[str, ...] = ()) -> Change:
        study = self.study
        views = {v for v in study.views if moved & study.reached(v)}
        experiments = {e for e in study.experiments if moved & study.reached(e)}
        views |= {v for v in study.views if experiments & set(study.reached_experiments(v))}
        claims = any(moved & study.reached(f"claim:{id}") for id, c in study.claims.items() if c.function)
        aliases = {a.name for a in study.aliases.values() if moved & {a.control, *study.reached(a.name)}}
        return Change(frozenset(moved | aliases), frozenset(views), frozenset(experiments), claims, notices)

    # links

    def query(self) -> dict[str, str]:
        """What was set, for a URL: names and hashes, never a path."""
        texts = self.settings.texts()
        for name in texts:
            control = self.study.controls[name]
            if isinstance(control, Data):
                value = self.settings.values[name]
                found = [portable(v, self.roots) if v else v for v in (value if isinstance(value, tuple) else (value,))]
                texts[name] = control.text(tuple(found) if control.many else found[0])
        return texts if self.preset == "standard" else {**texts, "preset": self.preset}

    def code(self) -> str:
        """Python that does the same."""
        arguments = [f'"{self.study.slug}"']
        for name, value in self.settings.user.items():
            arguments.append(
                f"{name}={self.query()[name]!r}" if isinstance(self.study.controls[name], Data) else f"{name}={value!r}"
            )
        if self.preset != "standard":
            arguments.append(f'preset="{self.preset}"')
        return f"from workbench import explore\n\nexplore({', '.join(arguments)})\n"

    def command(self, experiment: str = "") -> str:
        """The command line that does the same."""
        parts = ["assay", "run", self.study.slug, *([experiment] if experiment else [])]
        for name, text in self.query().items():
            parts += ["--preset", text] if name == "preset" else ["--set", f"{name}={text}"]
        return shlex.join(parts)

    # what is seen

    @property
    def snapshot(self) -> Snapshot:
        """The study under what is set now, with the results that are here."""
        with self._lock:
            results = {name: held.result for name, held in self.held.items()}
            return Snapshot(self.study, self.settings, results, pool=self.pool, roots=self.roots)

    def show(self, view: str) -> Shown:
        """What a view shows now.

        Raises:
            ControlError: an input that does not allow it.
        """
        return self.snapshot.show(view)

    def waits(self, view: str) -> tuple[str, ...]:
        """The experiments that a view has no result of yet."""
        return tuple(e for e in self.study.reached_experiments(view) if e not in self.held)

    def stale(self, member: str) -> str:
        """A sentence when the result under a member is not of now: a control moved, or older code gave it."""
        with self._lock:
            held = {e: self.held[e] for e in self.study.reached_experiments(member) if e in self.held}
            if member in self.held:
                held[member] = self.held[member]
        for experiment, one in held.items():
            for name in self.study.reached_controls(experiment):
                then, now = one.settings.values[name], self.settings.values[name]
                if then != now:
                    control = self.study.controls[name]
                    return f"Made with {control.label} {control.text(then)}; it is {control.text(now)} now."
        if any(one.job.older for one in held.values()):
            return "Made by older code, or with older packages; running it again gives what today’s do."
        return ""

    # what is run

    def stages(self, experiment: str) -> list[str]:
        """The experiments to run for one, earlier stages first; what has a complete result here is left out."""
        order = [*(e for e in self.study.experiments if e in self.study.reached_experiments(experiment)), experiment]
        return [e for e in order if e == experiment or not self.current(e)]

    def current(self, experiment: str) -> bool:
        """Its result here is complete, and is of what is set now, by the code of now."""
        held = self.held.get(experiment)
        return held is not None and held.result.complete and held.key == self.snapshot.key(experiment)

    def run(self, experiment: str, *, device: str = "cpu", fresh: bool = False) -> Job:
        """Start an experiment; earlier stages that are missing are run first by the same job.

        Raises:
            ControlError: no such experiment, an input that is not there, or a visitor who may not run.
        """
        self.visitor.check_may_run()
        request, settings, key = self._request(experiment, device, fresh)
        if self.runner is None:
            raise ControlError("experiment", f"got {experiment!r}; this session has nothing to run it with")
        job = self.runner.submit(request, self.id)
        self._hold(experiment, job, settings, key)
        if len(job.holders) > 1 and not job.state.ended:
            self._tell(Change(notices=(f"“{self.study.experiments[experiment].title}” ran already; you joined it.",)))
        return job

    def cancel(self, experiment: str) -> bool:
        """Let go of the job of an experiment, which stops unless somebody else waits for it too.

        Returns:
            it stops, or there is none.
        """
        held = self.held.get(experiment)
        if held is None or held.job.cancel(self.id):
            return True
        title = self.study.experiments[experiment].title
        self._tell(Change(notices=(f"“{title}” goes on, for somebody else waits for it too.",)))
        return False

    def recall(self) -> list[str]:
        """Take up the results that are kept for what is set now, else those of older code; nothing is run.

        Returns:
            their experiments.
        """
        if self.runner is None:
            return []
        found: list[str] = []
        for name in self.study.experiments:
            if name in self.held:
                continue
            try:
                request, settings, _ = self._request(name)
                job = self.runner.recall(request)
            except ControlError:  # an input that is not there has no result
                continue
            if job is not None:
                self._hold(name, job, settings, job.key)
                found.append(name)
        return found

    def request(self, experiment: str, *, device: str = "cpu", fresh: bool = False) -> Request:
        """What to ask of a runner, in the visitor's name; raises what `run` does."""
        self.visitor.check_may_run()
        return self._request(experiment, device, fresh)[0]

    def _request(self, experiment: str, device: str = "cpu", fresh: bool = False) -> tuple[Request, Settings, str]:
        """What to ask of the runner, with the settings and the content key that it is asked under."""
        if experiment not in self.study.experiments:
            known = ", ".join(self.study.experiments) or "none"
            raise ControlError("experiment", f"got {experiment!r}; expected one of {known}")
        with self._lock:
            settings = self.settings
            values = {n: t for n, t in self.query().items() if n != "preset"}
            snapshot = Snapshot(self.study, settings, pool=self.pool, roots=self.roots, device=device)
            key = snapshot.key(experiment)  # an input that is not there is refused before a job begins
        owner = self.visitor.name
        return Request(self.study.slug, experiment, values, settings.preset, device, fresh, owner), settings, key

    def _hold(self, experiment: str, job: Job, settings: Settings, key: str) -> None:
        """Follow a job from now on."""
        with self._lock:
            if stop := self._unsubscribe.pop(experiment, None):
                stop()
            self.held[experiment] = Held(job.result, settings, key, job)
            self._unsubscribe[experiment] = job.on_change(lambda: self._job_changed(experiment, job, settings, key))
        self._job_changed(experiment, job, settings, key)

    def _job_changed(self, experiment: str, job: Job, settings: Settings, key: str) -> None:
        with self._lock:
            current = self.held.get(experiment)
            if current is None or current.job is not job:
                return
            self.held[experiment] = Held(job.result, settings, key, job)
            done = job.state.ended
            stages = job.stages if done else {}
            for stage, result in stages.items():
                if stage != experiment:
                    snapshot = Snapshot(self.study, settings, pool=self.pool, roots=self.roots)
                    self.held[stage] = Held(result, settings, snapshot.key(stage), job)
        names = {experiment, *stages}
        views = {v for v in self.study.views if names & set(self.study.reached_experiments(v))}
        self._tell(Change(views=frozenset(views), experiments=frozenset(names), claims=done))

    def close(self) -> None:
        """Stop listening to jobs; they go on."""
        with self._lock:
            for stop in self._unsubscribe.values():
                stop()
            for held in self.held.values():
                held.job.holders.discard(self.id)
            self._unsubscribe.clear()
            self._listeners.clear()

    # what is claimed

    def judge(self) -> list[Judgement]:
        """What is known of every claim, in the paper's order. Claims that rest on a run are judged at its setting."""
        return [self.judge_one(id) for id in self.study.claims]

    def judge_one(self, id: str) -> Judgement:
        """What is known of one claim."""
        claim = self.study.claims[id]
        used = [e for e in claim.needs if e in self.held]
        snapshot = self.snapshot
        if claim.function is None or not used:
            return self._judged(snapshot, id)
        held = self.held[used[-1]]
        then = Snapshot(self.study, held.settings, snapshot.results, pool=self.pool, roots=self.roots)
        for other in used[:-1]:
            if self.held[other].key != then.key(other):
                title = self.study.experiments[other].title
                why = f"“{title}” was run under another setting, or by other code."
                return Judgement(claim, Verdict.NOT_JUDGED, why=why)
        return self._judged(then, id, stale=self.stale(f"claim:{id}"))

    def _judged(self, snapshot: Snapshot, id: str, *, stale: str = "") -> Judgement:
        try:
            return snapshot.judge(id, stale=stale)
        except ValueError as error:
            return Judgement(self.study.claims[id], Verdict.NOT_JUDGED, why=f"{error}")

    # who is told

    def on_change(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call the listener with every change, from whatever thread made it; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def _tell(self, change: Change) -> None:
        for listener in list(self._listeners):
            listener(change)
