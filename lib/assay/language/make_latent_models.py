"""Train the latent models that come along: `python -m assay.language.make_latent_models --work DIR [NAME …]`.

What is in DIR is not trained again, and a run that was interrupted goes on. `--collect` writes weights in half
precision and their provenance, with the log of every stage, from what is in DIR.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import torch

from assay.language.latent_recipes import RECIPES
from assay.language.latent_training import Stage, train_latent
from assay.language.latent_weights import LATENT_FOLDER, write_latent

__all__ = ["main"]

COMMAND = "python -m assay.language.make_latent_models --work DIR [--collect]"


def train_named(name: str, folder: Path) -> None:
    """Train one recipe unless its weights are in the folder."""
    place = folder / f"{name}.pt"
    if place.exists():
        return
    model, log = train_latent(
        RECIPES[name], state=folder / f"{name}.state", say=lambda line: print(f"{name}: {line}", flush=True)
    )
    draft = place.with_suffix(f".{os.getpid()}.part")
    torch.save({"model": model.state_dict(), "log": [asdict(stage) for stage in log]}, draft)
    draft.replace(place)
    (folder / f"{name}.json").write_text(json.dumps([asdict(stage) for stage in log], indent=1), encoding="utf-8")


def collect(folder: Path, target: Path = LATENT_FOLDER) -> list[str]:
    """Write all models that are in the work folder, and provenance; their names."""
    names = [name for name in RECIPES if (folder / f"{name}.pt").exists()]
    seconds = 0.0
    for name in names:
        held = torch.load(folder / f"{name}.pt", weights_only=True)
        log = [Stage(**entry) for entry in held["log"]]
        seconds += sum(stage.seconds for stage in log)
        write_latent(name, held["model"], log, RECIPES[name], target)
    provenance = {
        "command": COMMAND, "data": "words drawn afresh, no data set", "threads": 1, "core-seconds": round(seconds),
        "versions": {"python": platform.python_version(), "torch": version("torch")}, "models": names,
    }  # fmt: skip
    (target / "provenance.json").write_text(json.dumps(provenance, indent=2) + "\n", encoding="utf-8")
    return names


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m assay.language.make_latent_models", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="where models are kept as they finish")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(RECIPES)}; all by default")
    parser.add_argument("--collect", action="store_true", help="write the models of DIR instead of training")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in RECIPES]
    if unknown:
        print(f"name: got {unknown[0]!r}; expected one of {', '.join(RECIPES)}.", file=sys.stderr)
        return 2
    given.work.mkdir(parents=True, exist_ok=True)
    if given.collect:
        print(", ".join(collect(given.work)))
        return 0
    torch.set_num_threads(1)
    for name in given.names or RECIPES:
        train_named(name, given.work)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
