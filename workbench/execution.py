"""What a worker does with a job: run its stages, write their results into the job's folder, judge what they decide.

A job comes as an `Order` and answers with a receipt; data go through the disk, so that nothing that is finished is lost
when the process dies. Everything here also runs without Dask.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from assay.back_ends import back_ends
from workbench.claims import Judgement, Verdict
from workbench.controls import ControlError, Data
from workbench.environment import environment
from workbench.identity import version_of
from workbench.kept_figures import keep_figures
from workbench.registry import registry
from workbench.reporter import Reporter
from workbench.result_files import files_folder, read_result, write_result
from workbench.results import Result
from workbench.run_protocol import Cancelled, LocalRun
from workbench.snapshot import Snapshot, member_code, raised_on_purpose, settle

__all__ = ["BEGUN", "CANCEL", "LOG", "OWN_VARIABLES", "Order", "Stage", "execute", "read_stage"]

OWN_VARIABLES = ("ASSAY_HOME", "ASSAY_STUDIES", "ASSAY_DATA")
CANCEL, BEGUN, LOG, STAGE = "cancel", "begun.json", "log.txt", "stage.json"


@dataclass(frozen=True)
class Stage:
    """An experiment to run: its name, the content key that the caller expects, whether kept items are left aside."""

    experiment: str
    key: str
    fresh: bool = False


@dataclass(frozen=True)
class Order:
    """A job for a worker.

    Attributes:
        job: id.
        folder: the job's own; each stage has a folder of its name in it.
        study, values, preset, device: as in the request.
        stages: what to run, the experiment that was asked for last.
        given: folders of results that are there, by experiment.
        items: folder that finished items of `map` are kept in, by key.
        variables: environment variables of ours.
    """

    job: str
    folder: str
    study: str
    values: dict[str, str]
    preset: str
    device: str
    stages: tuple[Stage, ...]
    given: dict[str, str] = field(default_factory=dict)
    items: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    def as_text(self) -> str:
        """The order as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Order:
        """The order that `as_text` wrote."""
        data = json.loads(text)
        return cls(**{**data, "stages": tuple(Stage(**stage) for stage in data["stages"])})


def execute(order: Order, send: Callable[[dict[str, Any]], None], worker: str = "") -> dict[str, Any]:
    """Run an order in this process.

    Args:
        order: what to run.
        send: takes messages on how far it is.
        worker: address of the worker that this process is.

    Returns:
        a receipt: `state` (done, failed, cancelled, or stale when the code here is not the caller's), and for a failed
        one `error` and `fault`.
    """
    folder = Path(order.folder)
    for name in OWN_VARIABLES:
        if name in order.variables:
            os.environ[name] = order.variables[name]
        else:
            os.environ.pop(name, None)
    if (folder / BEGUN).exists():  # its process died, and the scheduler gave it to another one
        return {"state": "failed", "error": "The worker process ended.", "fault": True}
    me = psutil.Process()
    draft = folder / f"{BEGUN}.part"
    draft.write_text(json.dumps({"pid": me.pid, "created": me.create_time(), "worker": worker}), encoding="utf-8")
    draft.replace(folder / BEGUN)
    with captured(folder / LOG), Reporter(order.job, folder / LOG, send) as reporter:
        try:
            if stopped(folder):
                raise Cancelled("before it began")
            study = registry().get(order.study)
            snapshot = Snapshot(study, settle(study, order.values, order.preset), device=order.device)
            if any(snapshot.key(stage.experiment) != stage.key for stage in order.stages):
                return {"state": "stale"}
            check_device(order.device)
            results = {name: read_result(Path(place)) for name, place in order.given.items()}
            for stage in order.stages:
                results[stage.experiment] = run_stage(order, stage, snapshot.with_results(results), reporter)
        except Cancelled:
            return {"state": "cancelled"}
        except BaseException as error:
            traceback.print_exc()
            return {"state": "failed", **sentence_of(error)}
    return {"state": "done"}


def run_stage(order: Order, stage: Stage, snapshot: Snapshot, reporter: Reporter) -> Result:
    """Run one experiment and write what it gave, with its judgements and provenance, into its folder."""
    name, study = stage.experiment, snapshot.study
    folder = Path(order.folder) / name
    items = Path(order.items) / stage.key if order.items else None
    if stage.fresh and items is not None:
        shutil.rmtree(items, ignore_errors=True)
    run = LocalRun(
        snapshot.settings.values["seed"],
        study.experiments[name].tables,
        device=order.device,
        directory=files_folder(folder),
        items=items,
        on_progress=reporter.progress,
        on_row=reporter.row,
        stopped=Stop(Path(order.folder)),
    )
    forget_peak()
    started, clock = time.time(), time.perf_counter()
    with reporter.stage(name, folder), back_ends() as kernels:
        result = snapshot.perform(name, run)
    took = time.perf_counter() - clock
    manifest = write_result(result, folder)
    after = snapshot.with_results({**snapshot.results, name: result})
    receipt = {
        "digest": manifest["digest"],
        "started": started,
        "took": took,
        "claims": {j.claim.id: j.as_json() for j in judged(after, name)},
        "provenance": provenance(snapshot, name, order)
        | {"kernels": {kernel: sorted(forms) for kernel, forms in sorted(kernels.items())}}
        | {"started": started, "took": took, "peak_memory": peak()},
    }
    keep_figures(after, name, folder, took)
    draft = folder / f"{STAGE}.part"
    draft.write_text(json.dumps(receipt), encoding="utf-8")
    draft.replace(folder / STAGE)
    if items is not None:
        shutil.rmtree(items, ignore_errors=True)
    reporter.ended(name, folder)
    return result


def read_stage(folder: Path) -> dict[str, Any] | None:
    """What a worker said of a stage that it finished; None when it did not."""
    try:
        return json.loads((folder / STAGE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def judged(snapshot: Snapshot, experiment: str) -> Iterator[Judgement]:
    """Every claim that an experiment decides, alone or with the results that are here, and those that need none."""
    study = snapshot.study
    for id, claim in study.claims.items():
        reached = study.reached_experiments(f"claim:{id}") if claim.function is not None else ()
        needed = [need for need in claim.needs if need in study.experiments]
        here = all(need in snapshot.results and snapshot.results[need].complete for need in needed)
        if claim.function is None or (reached and experiment not in reached) or not here:
            continue
        try:
            yield snapshot.judge(id)
        except ValueError as error:
            yield Judgement(claim, Verdict.NOT_JUDGED, why=f"{error}")
        except Exception as error:
            traceback.print_exc()
            yield Judgement(claim, Verdict.NOT_JUDGED, why=f"It could not be judged: {type(error).__name__}: {error}")


def provenance(snapshot: Snapshot, experiment: str, order: Order) -> dict[str, Any]:
    """What the numbers depend on."""
    study, data = snapshot.study, []
    for name in study.reached_controls(experiment):
        if isinstance(study.controls[name], Data):
            found = snapshot.source(name)
            for source in found if isinstance(found, tuple) else filter(None, (found,)):
                data.append(
                    {"control": name, "name": source.name, "reference": source.reference, "sha256": source.sha256}
                )
    code = member_code(study, experiment)
    here = environment(order.device)
    return {
        "study": study.slug,
        "experiment": experiment,
        "key": snapshot.key(experiment),
        "preset": order.preset,
        "seed": snapshot.settings.values["seed"],
        "data": data,
        "code": code.digest,
        "versions": {"python": here.pop("python")} | versions(here, code.packages),
        **here,
    }


def versions(here: dict[str, Any], packages: tuple[str, ...]) -> dict[str, str]:
    """Versions of the numeric packages and of all others that the code reaches."""
    found = {"numpy": here.pop("numpy"), "torch": here.pop("torch")}
    for package in packages:
        name, _, version = version_of(package).partition(" ")
        if version:
            found.setdefault(name, version)
    return found


def check_device(device: str) -> None:
    """Refuse a device that is not here."""
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ControlError("device", "got 'cuda'; expected cpu, for there is no CUDA device here")


def sentence_of(error: BaseException) -> dict[str, Any]:
    """One sentence on what went wrong, and whether it is a fault in code.

    A ValueError that our own code raises on purpose is about the input; one that comes up from a library is a fault.
    """
    text = " ".join(str(error).split())
    if isinstance(error, ControlError) or (isinstance(error, ValueError) and raised_on_purpose(error)):
        return {"error": text[:1000], "fault": False}
    if isinstance(error, MemoryError):
        return {"error": "It needed more memory than there is.", "fault": True}
    return {"error": f"{type(error).__name__}{f': {text}' if text else ''}"[:500], "fault": True}


def stopped(folder: Path) -> bool:
    """Someone asked the job in a folder to stop."""
    return (folder / CANCEL).exists()


class Stop:
    """Whether a job was asked to stop; looks at most 50 times a second, so that it may stand in a tight loop."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looked = 0.0

    def __call__(self) -> bool:
        now = time.monotonic()
        if now - self._looked < 0.02:
            return False
        self._looked = now
        return stopped(self._folder)


@contextmanager
def captured(path: Path) -> Iterator[None]:
    """Send what this process prints, from Python or below it, into a file."""
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sys.stdout.flush()
    sys.stderr.flush()
    before = {number: os.dup(number) for number in (1, 2)}
    try:
        for number in before:
            os.dup2(target, number)
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, old in before.items():
            os.dup2(old, number)
            os.close(old)
        os.close(target)


def forget_peak() -> None:
    """Begin to measure the peak of memory anew, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def peak() -> int:
    """Bytes of memory that this process held at most since `forget_peak`."""
    try:
        status: Mapping[str, str] = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line
        )
        return int(status["VmHWM"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return int(psutil.Process().memory_info().rss)
