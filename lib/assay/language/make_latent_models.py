"""Train the latent models that come along: `python -m assay.language.make_latent_models --work DIR [NAME …]`.

What is in DIR is not trained again, and a run that was interrupted goes on. `--collect` writes weights in half precision
and their provenance, with the log of every stage, from what is in DIR.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from assay.language.latent_recipes import RECIPES
from assay.language.latent_training import train_latent

__all__ = ["main"]


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


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m assay.language.make_latent_models", description=(__doc__ or "").split(":")[0]
    )
    parser.add_argument("--work", type=Path, required=True, metavar="DIR", help="where models are kept as they finish")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(RECIPES)}; all by default")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in RECIPES]
    if unknown:
        print(f"name: got {unknown[0]!r}; expected one of {', '.join(RECIPES)}.", file=sys.stderr)
        return 2
    given.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name in given.names or RECIPES:
        train_named(name, given.work)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
