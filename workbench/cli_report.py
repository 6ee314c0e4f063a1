"""`assay report`: a study or a notebook as one file that can be checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli_runs import StoreAddress
from workbench.controls import ControlError

__all__ = ["report"]


def report(
    what: Annotated[str, typer.Argument(help="Name of the study, or path of a notebook (marimo .py or .ipynb).")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file; the name of the study here when left out.")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="html, pdf, ipynb or md; by the ending of the file when left out.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A control or another handle of it: name=value.", metavar="NAME=VALUE"),
    ] = None,
    preset: Annotated[str, typer.Option(help="quick, standard or full.")] = "standard",
    seed: Annotated[str | None, typer.Option(help="Base of every random stream.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again even what is kept.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    store: StoreAddress = None,
) -> None:
    """Make a report: narrative, figures, tables and claims in one file that opens anywhere and can be checked."""
    from workbench.cli import Bar, assignments
    from workbench.report.exporting import target_of, write_report

    texts = {name: str(value) for name, value in assignments(settings or []).items()}
    if seed is not None:
        if "seed" in texts:
            raise ControlError("seed", "is set twice; expected once")
        texts["seed"] = seed
    target, form = target_of(what, output, form)
    bar = Bar(quiet=False)
    with bar:
        made = write_report(
            what, target, form, values=texts, preset=preset, fresh=fresh, force=force,
            on_progress=lambda now, fraction: bar.say("Report", fraction, now),
        )  # fmt: skip
    size = made.stat().st_size
    sys.stdout.write(f"{target} ({size / 1e6:.1f} MB)\n" if size >= 1e5 else f"{target} ({size / 1e3:.0f} kB)\n")
