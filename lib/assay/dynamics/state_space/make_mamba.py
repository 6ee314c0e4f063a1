"""Train the small Mamba that comes along: `python -m assay.dynamics.state_space.make_mamba --state FILE`.

The training is kept in FILE at every test, and a command that was interrupted goes on from there.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import torch

from assay.dynamics.state_space.copying_training import CopyingRun, Logged, answer_accuracy, train_copying
from assay.dynamics.state_space.mamba import write_mamba

__all__ = ["MAMBA_FOLDER"]

MAMBA_FOLDER = Path(__file__).parents[2] / "data" / "samples" / "ssm_stability"
COMMAND = "python -m assay.dynamics.state_space.make_mamba --state FILE"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m assay.dynamics.state_space.make_mamba", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--state", type=Path, required=True, metavar="FILE", help="where the training is kept")
    parser.add_argument("--to", type=Path, default=MAMBA_FOLDER, metavar="DIR", help="where the model is written")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    run = CopyingRun()
    started = time.perf_counter()

    def say(line: Logged) -> None:
        print(f"step {line.step}: loss {line.loss:.3f} nats, {100 * line.accuracy:.1f} % right", flush=True)

    model, log = train_copying(run, log=say, state=given.state)
    accuracy = answer_accuracy(model, run.task, sequences=1024)
    write_mamba(model, given.to)
    provenance = {
        "command": COMMAND,
        "task": f"selective copying: {run.task.remembered} of {run.task.vocabulary - 2} tokens scattered over "
        f"{run.task.context} places",
        "steps": log[-1].step,
        "batch": run.batch,
        "seed": run.seed,
        "answers right on 1024 fresh sequences": round(accuracy, 4),
        "log": [[line.step, round(line.loss, 4), round(line.accuracy, 4)] for line in log],
        "versions": {"python": platform.python_version(), **{n: version(n) for n in ("torch", "numpy", "numba")}},
        "threads": 1,
        "seconds since it was last started": round(time.perf_counter() - started),
    }
    (given.to / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
    print(f"{given.to}: {100 * accuracy:.1f} % right after {log[-1].step} steps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
