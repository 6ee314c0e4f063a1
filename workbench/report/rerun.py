"""The process that makes a report's numbers again: `python -m workbench.report.rerun`, its order on standard input.

It has a home of its own that is empty, so that nothing that was kept can answer, and runs what a job runs, as it does.
"""

from __future__ import annotations

import os
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.batch import Interrupted, RunFailed
from workbench.controls import ControlError
from workbench.execution import OWN_VARIABLES, Order, Stage, execute, read_stage
from workbench.registry import UnknownStudy, registry
from workbench.report.clean_process import answers
from workbench.report.manifest import build_manifest
from workbench.report.narrated import manifest_of
from workbench.result_files import read_result
from workbench.snapshot import Snapshot, settle
from workbench.study import Study, StudyError

__all__ = ["rerun"]

Send = Callable[[dict[str, Any]], None]


def rerun(order: Mapping[str, Any], send: Send, folder: Path) -> dict[str, Any]:
    """Run what an order names, and give the manifest of what came out.

    Args:
        order: `study`, `values` (text by control; inputs as paths), `preset`, `device` and `experiments`; `told`, where
            quantities that a notebook named are asked for too; for a notebook of the user's own, `study` is None and
            there are `notebook` (a path) and `settings`.
        send: takes `say` and `fraction` while it goes on.
        folder: where results are written.

    Raises:
        UnknownStudy, StudyError, ControlError: it cannot be run here.
        RunFailed: an experiment failed.
    """
    if order["told"]:
        return told_again(order, send)
    study = registry().get(order["study"])
    settings = settle(study, order["values"], order["preset"])
    snapshot = Snapshot(study, settings, device=order["device"])
    asked = [name for name in study.experiments if name in order["experiments"]]
    stages = tuple(Stage(name, snapshot.key(name)) for name in asked)
    receipt = execute(job_of(order, snapshot, stages, folder), progress(study, asked, send)) if stages else {}
    if receipt.get("state", "done") != "done":
        raise RunFailed(failure(study, receipt, asked, folder), fault=bool(receipt.get("fault")))
    results = {name: read_result(folder / name) for name in asked}
    records = {name: (read_stage(folder / name) or {})["provenance"] for name in asked}
    send({"say": "Claims and views", "fraction": 0.95})
    return build_manifest(snapshot, results, records, notebook=None)


def job_of(order: Mapping[str, Any], snapshot: Snapshot, stages: tuple[Stage, ...], folder: Path) -> Order:
    """The order as a worker would get it."""
    return Order(
        job="verify", folder=str(folder), study=snapshot.study.slug, values=dict(order["values"]),
        preset=order["preset"], device=snapshot.device, stages=stages,
        variables={name: os.environ[name] for name in OWN_VARIABLES if name in os.environ},
    )  # fmt: skip


def progress(study: Study, asked: Sequence[str], send: Send) -> Send:
    """Passes on how far the stages are, as a share of all."""

    def heard(message: dict[str, Any]) -> None:
        if message.get("progress") and message["stage"] in asked:
            fraction, words = message["progress"]
            done = (asked.index(message["stage"]) + fraction) / len(asked)
            title = study.experiments[message["stage"]].title
            send({"say": f"{title}: {words}" if words else title, "fraction": 0.95 * done})

    return heard


def failure(study: Study, receipt: Mapping[str, Any], asked: Sequence[str], folder: Path) -> str:
    """Which experiment failed, and why, in one sentence."""
    done = [name for name in asked if read_stage(folder / name) is not None]
    failed = next((name for name in asked if name not in done), asked[-1])
    why = str(receipt.get("error") or f"its job ended as {receipt['state']}").rstrip(".")
    return f"“{study.experiments[failed].title}” failed when it was run again: {why}."


def told_again(order: Mapping[str, Any], send: Send) -> dict[str, Any]:
    """Run a notebook, a study's or one of the user's own, as a report does; nothing is kept."""
    from workbench.report.narrative import tell_notebook, tell_study
    from workbench.runner import Runner

    def say(what: str, fraction: float) -> None:
        send({"say": what, "fraction": fraction})

    runner = Runner(None)
    try:
        if order["study"] is None:
            told = tell_notebook(Path(order["notebook"]), order["settings"], runner=runner, say=say)
        else:
            told = tell_study(order["study"], order["values"], order["preset"], runner=runner, say=say)
        return manifest_of(told, order["settings"])
    finally:
        runner.close()


def main() -> None:
    """Answer one order; what is wrong with it is an answer too."""
    order, send = answers()
    try:
        with tempfile.TemporaryDirectory(prefix="assay-verify-", ignore_cleanup_errors=True) as folder:
            send({"manifest": rerun(order, send, Path(folder))})
    except (ControlError, UnknownStudy, StudyError, RunFailed) as error:
        send({"refused": str(error)})
    except (Interrupted, KeyboardInterrupt):
        send({"refused": "It was stopped."})
    except Exception as error:
        traceback.print_exc()
        send({"refused": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    main()
