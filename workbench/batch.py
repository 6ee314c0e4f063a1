"""A study run to its end without a face: what the command line and scripts do.

`run_study` runs one experiment of a study, or all of them, waits, and judges the claims; `run` is the same for
scripts. Both give an `Outcome`, whose JSON is what `assay run --json` writes.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd

from workbench.claims import Judgement
from workbench.controls import ControlError, Data
from workbench.registry import registry
from workbench.results import Result, Table
from workbench.runner import State
from workbench.session import Change, Session
from workbench.sweep import Sweep

if TYPE_CHECKING:
    from workbench.runner import Job, Runner

__all__ = [
    "DEVICES", "Interrupted", "Outcome", "RunFailed", "ended", "outcome_of", "pick_device", "progress_line", "run",
    "run_study", "run_sweep",
]  # fmt: skip

DEVICES = ("auto", "cpu", "cuda")
Progress = Callable[[str, float, str], None]


class RunFailed(Exception):
    """An experiment ended without a result: one sentence.

    Attributes:
        fault: the failure is a fault in code or machine; False when an input did not allow the experiment.
        log: what the worker wrote.
    """

    def __init__(self, sentence: str, *, fault: bool, log: str = "") -> None:
        super().__init__(sentence)
        self.fault = fault
        self.log = log


class Interrupted(Exception):
    """An experiment was cancelled before it was done."""


@dataclass(frozen=True)
class Outcome:
    """What came out of a study.

    Where one experiment was asked for, tables, arrays and files go by their own names and the provenance is its own;
    where all were, names are `experiment/table` and the provenance is by experiment.

    Attributes:
        study: slug.
        experiment: the one that was asked for; None when all were.
        controls: canonical values of the controls that something reaches, the seed aside; inputs by name or hash.
        preset: `quick`, `standard` or `full`.
        seed: base of every random stream.
        results: from experiment to result.
        claims: what is known of every claim, in the paper's order.
        provenance: run, data, code, versions and device.
        schema: tables as they were declared, with the kind of every column.
    """

    study: str
    experiment: str | None
    controls: Mapping[str, Any]
    preset: str
    seed: int
    results: Mapping[str, Result]
    claims: list[Judgement]
    provenance: Mapping[str, Any]
    schema: Mapping[str, Table] = field(repr=False)

    @property
    def tables(self) -> dict[str, pd.DataFrame]:
        """From name to data frame."""
        return {name: table.frame for name, table in self.schema.items()}

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """From name to array."""
        return self._named(lambda result: result.arrays)

    @property
    def files(self) -> dict[str, Path]:
        """From name to file."""
        return self._named(lambda result: result.files)

    @property
    def digest(self) -> str:
        """SHA-256 over all that is compared: the result's own where one experiment was asked for, else over the
        names and digests of all."""
        if self.experiment is not None:
            return self.results[self.experiment].digest
        digest = hashlib.sha256()
        for name, result in sorted(self.results.items()):
            digest.update(f"{name}\0{result.digest}\0".encode())
        return digest.hexdigest()

    def __getitem__(self, name: str) -> pd.DataFrame:
        """A table as a data frame."""
        if name not in self.schema:
            raise KeyError(f"no table {name!r}; there are {', '.join(self.schema) or 'none'}.")
        return self.schema[name].frame

    def _named(self, part: Callable[[Result], Mapping[str, Any]]) -> dict[str, Any]:
        return named(self.experiment, self.results, part)

    def as_json(self) -> dict[str, Any]:
        """The outcome as plain data."""
        return {
            "study": self.study, "experiment": self.experiment, "controls": plain(self.controls),
            "preset": self.preset, "seed": self.seed,
            "tables": {name: table.as_json() for name, table in self.schema.items()},
            "claims": [judgement.as_json() for judgement in self.claims],
            "provenance": plain(self.provenance), "digest": self.digest,
        }  # fmt: skip


def plain(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def named(
    experiment: str | None, results: Mapping[str, Result], part: Callable[[Result], Mapping[str, Any]]
) -> dict[str, Any]:
    """A part of one result under its own names, or of all under `experiment/name`."""
    if experiment is not None:
        return dict(part(results[experiment]))
    return {f"{e}/{name}": value for e, result in results.items() for name, value in part(result).items()}


def pick_device(device: str = "auto") -> str:
    """`cpu` or `cuda`; `auto` is `cuda` where there is one.

    Raises:
        ControlError: not a device, or not on this machine.
    """
    if device not in DEVICES:
        raise ControlError("device", f"got {device!r}; expected one of {', '.join(DEVICES)}")
    if device == "cpu":
        return device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "cuda":
        raise ControlError("device", "got 'cuda', which this machine does not have; expected auto or cpu")
    return "cpu"


def run_study(
    slug: str,
    experiment: str | None = None,
    values: Mapping[str, object] | None = None,
    *,
    preset: str = "standard",
    device: str = "auto",
    fresh: bool = False,
    runner: Runner | None = None,
    on_progress: Progress | None = None,
) -> Outcome:
    """Run one experiment of a study, or all of them, and judge the claims.

    Args:
        slug: the study; `-` and `_` are the same.
        experiment: the one to run, after the stages that it needs; all of them when left out.
        values: from control or alias to a value or its text.
        preset: `quick`, `standard` or `full`.
        device: `auto`, `cpu` or `cuda`.
        fresh: run again even if the result is kept.
        runner: what runs them; the one of this process, with the user's store, when left out.
        on_progress: called on this thread with `(title, fraction, message)` while an experiment runs, and with a
            fraction of 1 when it is done.

    Raises:
        UnknownStudy, StudyError: no such study, or it cannot be imported.
        ControlError: a value, experiment, preset or device that cannot be.
        RunFailed: an experiment failed; those before it are kept in the store.
        Interrupted: an experiment was cancelled from elsewhere.
    """
    study = registry().get(slug)
    if experiment is not None and experiment not in study.experiments:
        known = ", ".join(study.experiments) or "none"
        raise ControlError("experiment", f"got {experiment!r}; expected one of {known}")
    device = pick_device(device)
    session = Session(study, None, values=values, preset=preset)
    if runner is None:
        from workbench.runner import default_runner

        runner = default_runner()
    session.runner = runner
    asked = list(study.experiments) if experiment is None else [experiment]
    provenance: dict[str, Any] = {}
    try:
        # a stage that others need comes with them: each experiment runs once, also when all are to run afresh
        needed = {stage for one in asked for stage in study.reached_experiments(one)}
        for one in sorted(asked, key=lambda name: name in needed):
            held = session.held.get(one)
            if held is None or not held.result.complete:
                held_by = follow(session, one, device, fresh, on_progress)
                provenance[one] = dict(held_by.provenance)
            else:
                provenance[one] = dict(held.job.provenance)
        return outcome_of(session, experiment, asked, provenance)
    finally:
        session.close()


def outcome_of(
    session: Session, experiment: str | None, names: Sequence[str], provenance: Mapping[str, Mapping[str, Any]]
) -> Outcome:
    """What experiments of a session gave, as `run` gives it.

    Args:
        session: where they ran.
        experiment: the one that was asked for; None for several, whose tables have names `experiment/table`.
        names: the experiments.
        provenance: where each result comes from.
    """
    results = {name: session.held[name].result for name in names}
    return Outcome(
        study=session.study.slug,
        experiment=experiment,
        controls=controls_of(session),
        preset=session.preset,
        seed=session.settings.values["seed"],
        results=results,
        claims=session.judge(),
        provenance=provenance if experiment is None else provenance[experiment],
        schema=named(experiment, results, lambda result: result.tables),
    )


def controls_of(session: Session) -> dict[str, Any]:
    """Canonical values of the controls that something reaches, the seed aside; inputs without a path."""
    kept = session.query()
    values: dict[str, Any] = {}
    for name, control in session.study.moving.items():
        if name == "seed":
            continue
        value = session.settings.values[name]
        values[name] = control.parse(kept[name]) if isinstance(control, Data) and name in kept else value
    return values


def follow(session: Session, experiment: str, device: str, fresh: bool, on_progress: Progress | None) -> Job:
    """Start an experiment and wait for a result; Ctrl-C cancels it."""
    title = session.study.experiments[experiment].title
    said: tuple[float, str] | None = None

    def tick(job: Job) -> None:
        nonlocal said
        now = (job.fraction, job.message)
        if on_progress is not None and now != said:
            on_progress(title, *now)
        said = now

    job = ended(session, experiment, device=device, fresh=fresh, tick=tick)
    if job.state is State.CANCELLED:
        raise Interrupted(f"“{title}” was cancelled.")
    if job.state is not State.DONE:
        raise RunFailed(job.failure(title), fault=job.fault, log=job.log)
    if on_progress is not None:
        on_progress(title, 1.0, "")
    return job


def ended(
    session: Session, experiment: str, *, device: str = "cpu", fresh: bool = False,
    tick: Callable[[Job], None] = lambda job: None,
) -> Job:  # fmt: skip
    """Start an experiment of a session and wait until it has ended and the session knows; Ctrl-C cancels it.

    Args:
        session: with a runner.
        experiment: its name.
        device, fresh: as in `Session.run`.
        tick: called with the job about ten times a second.
    """
    over = threading.Event()

    def told(change: Change) -> None:
        if experiment in change.experiments and change.claims:
            over.set()

    stop = session.on_change(told)
    try:
        job = session.run(experiment, device=device, fresh=fresh)
        try:
            while not over.wait(0.1):
                tick(job)
        except KeyboardInterrupt:
            session.cancel(experiment)
            raise
    finally:
        stop()
    return job


def run_sweep(
    slug: str,
    experiment: str | None,
    axes: Mapping[str, object],
    *,
    seeds: int = 1,
    values: Mapping[str, object] | None = None,
    preset: str = "standard",
    device: str = "auto",
    fresh: bool = False,
    runner: Runner | None = None,
    on_progress: Progress | None = None,
) -> Sweep:
    """Run an experiment over a grid of control values and seeds, to its end; Ctrl-C cancels what is left.

    Args:
        slug, experiment, values, preset, device, fresh, runner, on_progress: as in `run_study`; the experiment may be
            left out where the study has one alone.
        axes: from control or alias to its values: a sequence, or text such as `0.1:0.9:9`, `0.1, 0.5` or `*`.
        seeds: how many base seeds each point is run with.

    Raises:
        UnknownStudy, StudyError: no such study, or it cannot be imported.
        ControlError: a value, axis, experiment, preset or device that cannot be; nothing is run then.
        Interrupted: it was cancelled.
    """
    study = registry().get(slug)
    if experiment is None:
        if len(study.experiments) != 1:
            known = ", ".join(study.experiments) or "none"
            raise ControlError("experiment", f"got none; expected one of {known} for a sweep")
        experiment = next(iter(study.experiments))
    if runner is None:
        from workbench.runner import default_runner

        runner = default_runner()
    sweep = Sweep(
        study, experiment, runner, axes, seeds, values=values or {}, preset=preset, device=pick_device(device),
        fresh=fresh,
    ).start()  # fmt: skip
    try:
        while not sweep.wait(0.2):
            if on_progress is not None:
                on_progress(study.experiments[experiment].title, sweep.fraction, sweep.message)
    except KeyboardInterrupt:
        sweep.cancel()
        sweep.wait(3)
        raise
    if sweep.state is State.CANCELLED:
        raise Interrupted(f"“{study.experiments[experiment].title}” was cancelled.")
    if on_progress is not None:
        on_progress(study.experiments[experiment].title, 1.0, "")
    return sweep


@overload
def run(
    slug: str, experiment: str | None = ..., *, sweep: None = ..., preset: str = ..., seed: int | None = ...,
    device: str = ..., fresh: bool = ..., store: bool = ..., **controls: object,
) -> Outcome: ...  # fmt: skip
@overload
def run(
    slug: str, experiment: str | None = ..., *, sweep: Mapping[str, object], preset: str = ..., seed: int | None = ...,
    device: str = ..., fresh: bool = ..., store: bool = ..., **controls: object,
) -> Sweep: ...  # fmt: skip
def run(
    slug: str,
    experiment: str | None = None,
    *,
    sweep: Mapping[str, object] | None = None,
    preset: str = "standard",
    seed: int | None = None,
    device: str = "auto",
    fresh: bool = False,
    store: bool = True,
    **controls: object,
) -> Outcome | Sweep:
    """Run one experiment of a study, or all of them, and judge the claims; or one over a grid of values.

    Args:
        slug: the study; `-` and `_` are the same.
        experiment: the one to run, after the stages that it needs; all of them when left out.
        sweep: from control to the values that it takes, such as `{"beta": "0.1:0.9:9", "seed": range(5)}`; every
            combination is a run of its own.
        preset: `quick`, `standard` or `full`.
        seed: base of every random stream; the study's own when left out.
        device: `auto`, `cpu` or `cuda`.
        fresh: run again even if the result is kept.
        store: keep the result among the user's runs, and answer from there when it is kept already.
        **controls: values of controls or other handles of them.

    Raises:
        UnknownStudy, StudyError: no such study, or it cannot be imported.
        ControlError: a value, experiment, preset or device that cannot be.
        RunFailed: an experiment failed; those before it are kept in the store.
        Interrupted: an experiment was cancelled from elsewhere.
    """
    values = controls if seed is None else {**controls, "seed": seed}
    say: Progress | None = progress_line if sys.stderr is not None and sys.stderr.isatty() else None
    if "ipykernel" in sys.modules:  # a kernel of Jupyter's
        from workbench.faces.jupyter import progress_bar

        say = progress_bar()
    from workbench.runner import Runner, default_runner, worker_count

    runner = default_runner() if store else Runner(None, workers=worker_count(None))
    how: dict[str, Any] = {
        "preset": preset, "device": device, "fresh": fresh, "runner": runner, "on_progress": say,
    }  # fmt: skip
    try:
        if sweep is not None:
            return run_sweep(slug, experiment, sweep, values=values, **how)
        return run_study(slug, experiment, values, **how)
    finally:
        if not store:
            runner.close()


def progress_line(title: str, fraction: float, message: str) -> None:
    """One line on standard error that is written over until the experiment is done."""
    end = "\n" if fraction >= 1 and not message else ""
    sys.stderr.write(f"\r\033[K{title}: {100 * fraction:3.0f} %  {message}".rstrip() + end)
    sys.stderr.flush()
