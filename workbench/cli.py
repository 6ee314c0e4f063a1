"""The `assay` command.

Exit status: 0 when it did what was asked, whatever the verdicts; 2 with one sentence on bad input; 1 on a fault.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid
from typer.exceptions import TyperException

from workbench.claims import Verdict
from workbench.cli_report import report
from workbench.cli_runs import SIGNS, StoreAddress, runs_app
from workbench.cli_users import users_app
from workbench.cli_verify import verify
from workbench.controls import ControlError
from workbench.registry import UnknownStudy, registry
from workbench.study import PRESETS, StudyError

if TYPE_CHECKING:
    from workbench.batch import Outcome
    from workbench.sweep import Sweep

__all__ = ["app", "main"]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
    help="Test what machine-learning papers claim, on your own models and data.",
)  # fmt: skip


app.add_typer(users_app, name="users")
app.add_typer(runs_app)
app.command()(report)
app.command()(verify)


class Refused(Exception):
    """Bad input: one sentence for standard error, and exit status 2."""


def write_json(data: Any, target: str) -> None:
    """Write JSON to a file, whole or not at all, or to standard output for `-`."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    path = Path(target).expanduser()
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise Refused(f"json: {path} cannot be written: {error.strerror}") from None


def check_target(target: str | None) -> None:
    """Refuse a file that could not be written before anything is run."""
    if target in (None, "-"):
        return
    path = Path(str(target)).expanduser()
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise Refused(f"json: got {str(target)!r}; expected a file in a folder that can be written")


@app.command("list")
def list_studies(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List every study: its question, its cost and its claims."""
    from dataclasses import asdict

    cards = registry().cards()
    if as_json:
        write_json([asdict(card) for card in cards], "-")
        return
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for name in ("study", "family", "question", "claims"):
        grid.add_column(name, overflow="fold", no_wrap=name == "study")
    for card in cards:
        grid.add_row(card.slug, card.family, card.broken or card.question, str(len(card.claims) or ""))
    Console().print(grid)


@app.command()
def show(
    slug: Annotated[str, typer.Argument(help="Name of the study; `-` and `_` are the same.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a study: controls with bounds and units, experiments with their cost, claims with what is expected."""
    study = registry().get(slug)
    if as_json:
        write_json(study.schema(), "-")
        return
    out = Console(highlight=False)
    link = f" · {study.paper.url}" if study.paper.url else ""
    out.print(f"[bold]{study.question}[/bold]\n{study.paper.title} · {study.paper.venue}{link}\n")
    grid = Grid(title="Controls", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in ("name", "default", "expected", "what it is"):
        grid.add_column(name, overflow="fold")
    for control in study.moving.values():
        grid.add_row(control.name, *control.beforehand, control.doc)
    for alias in study.aliases.values():
        grid.add_row(alias.name, "", f"{alias.unit} (sets {alias.control})", alias.doc)
    out.print(grid, "")
    grid = Grid(title="Experiments", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in ("name", *PRESETS, "what it does"):
        grid.add_column(name, overflow="fold")
    for experiment in study.experiments.values():
        costs = [f"{experiment.cost[p]:g} s" if p in experiment.cost else "" for p in PRESETS]
        grid.add_row(experiment.name, *costs, experiment.doc or experiment.title)
    out.print(grid, "")
    grid = Grid(title="Claims", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in ("", "the paper says", "measured", "expected"):
        grid.add_column(name, overflow="fold")
    for claim in study.claims.values():
        expects = claim.expects
        scale = f"needs scale: {claim.scale.reason}" if claim.scale else ""
        grid.add_row(claim.id, claim.sentence, expects.quantity if expects else scale, expects.words if expects else "")
    out.print(grid)


def choose(**given: str | None) -> None:
    """Keep what was chosen for jobs where every part of this process finds it."""
    from workbench.limits import Limits
    from workbench.runner import worker_count

    for name, value in given.items():
        if value is not None:
            os.environ[f"ASSAY_{name.upper()}"] = value
    Limits.chosen()
    worker_count(None)


def assignments(settings: Sequence[str], field: str = "set") -> dict[str, object]:
    """`name=value` pairs.

    Raises:
        Refused: a pair without `=`, or a name that is there twice.
    """
    values: dict[str, object] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise Refused(f"{field}: got {text!r}; expected name=value")
        if name.strip() in values:
            raise Refused(f"{field}: {name.strip()} is set twice; expected once")
        values[name.strip()] = value
    return values


@app.command()
def run(
    slug: Annotated[str, typer.Argument(help="Name of the study.")],
    experiment: Annotated[str | None, typer.Argument(help="One experiment; all of them when left out.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A control or another handle of it: name=value.", metavar="NAME=VALUE"),
    ] = None,
    preset: Annotated[str, typer.Option(help="quick, standard or full.")] = "standard",
    seed: Annotated[str | None, typer.Option(help="Base of every random stream.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again even if the result is kept.")] = False,
    sweep: Annotated[
        list[str] | None,
        typer.Option(help="Run it over values of a control, several of them as a grid.", metavar="NAME=LOW:HIGH:COUNT"),
    ] = None,
    seeds: Annotated[int, typer.Option(help="How many base seeds each point of a sweep is run with.")] = 1,
    workers: Annotated[str | None, typer.Option(help="How many jobs run at once; one a core by default.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Run on the workers of this Dask scheduler.", metavar="tcp://HOST:PORT")
    ] = None,
    time_limit: Annotated[str | None, typer.Option(help="End a job after this time, such as 2 h; a day.")] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="End a job that holds more, such as 4 GiB; four fifths of the machine's.")
    ] = None,
    as_json: Annotated[
        str | None, typer.Option("--json", help="Write the outcome to a file; - prints it.", metavar="FILE")
    ] = None,
    files: Annotated[
        Path | None, typer.Option(help="Copy the files that it wrote into this folder.", metavar="FOLDER")
    ] = None,
    store: StoreAddress = None,
) -> None:
    """Run a study's experiments and judge its claims."""
    from workbench.batch import run_study, run_sweep

    check_target(as_json)
    values = assignments(settings or [])
    if seed is not None:
        if "seed" in values:
            raise Refused("seed: is set twice; expected once")
        values["seed"] = seed
    choose(workers=workers, scheduler=scheduler, time_limit=time_limit, memory_limit=memory_limit)
    bar = Bar(quiet=as_json == "-")
    if sweep or seeds != 1:
        axes = assignments(sweep or [], "sweep")
        with bar:
            found = run_sweep(
                slug, experiment, axes, seeds=seeds, values=values, preset=preset, device=device, fresh=fresh,
                on_progress=bar.say,
            )  # fmt: skip
        if as_json:
            write_json(found.as_json(), as_json)
        if as_json != "-":
            points_table(found)
        if found.failed:
            raise typer.Exit(1)
        return
    with bar:
        outcome = run_study(slug, experiment, values, preset=preset, device=device, fresh=fresh, on_progress=bar.say)
    if as_json:
        write_json(outcome.as_json(), as_json)
    if files is not None:
        copy_files(outcome.files, files)
    if as_json != "-":
        ledger(outcome)


def copy_files(found: Mapping[str, Path], folder: Path) -> None:
    """Copy the files of an outcome into a folder; those of several experiments each into one of its name."""
    if not found:
        raise Refused("files: nothing was written by what was run; expected an experiment that writes files")
    try:
        for name, path in found.items():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    except OSError as error:
        raise Refused(f"files: {folder} cannot be written ({error.strerror}); expected a folder for files") from None


class Bar:
    """The progress bar of a run, on standard error; a line at each tenth where standard error is no terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(), TextColumn("{task.fields[now]}"),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._tasks: dict[str, TaskID] = {}
        self._tenths: dict[str, int] = {}

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def say(self, title: str, fraction: float, message: str) -> None:
        """Show how far an experiment is."""
        if self._console.is_terminal:
            if title not in self._tasks:
                self._tasks[title] = self._progress.add_task(title, total=1.0, now="")
            self._progress.update(self._tasks[title], completed=fraction, now=message)
        elif int(fraction * 10) > self._tenths.get(title, -1):
            self._tenths[title] = int(fraction * 10)
            self._console.print(f"{title}: {fraction:.0%} {message}".rstrip(), highlight=False)


def figures(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def ledger(outcome: Outcome) -> None:
    """The claims with their verdicts, as a table on standard output."""
    data = outcome.as_json()
    grid = Grid(title="Claims", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in ("", "verdict", "the paper says", "measured", "expected"):
        grid.add_column(name, overflow="fold", no_wrap=name == "verdict")
    for claim in data["claims"]:
        sign, colour = SIGNS[Verdict(claim["verdict"])]
        measured = claim["note"] if claim["measured"] is None else figures(claim["measured"])
        if claim["measured"] is not None and claim["over"] != "exact":
            low, high = map(figures, claim["interval"])
            measured += f" [{low}, {high}] over {claim['n']} {claim['over']}"
        grid.add_row(
            claim["id"], f"[{colour}]{sign} {claim['verdict']}[/]", claim["sentence"], measured, claim["expected"] or ""
        )
    out = Console(highlight=False)
    out.print(grid)
    out.print(f"\ndigest {data['digest'][:16]} · seed {data['seed']} · preset {data['preset']}", style="dim")


def points_table(sweep: Sweep) -> None:
    """The points of a sweep with the verdicts at each, as a table on standard output."""
    claims = list(dict.fromkeys(sweep.frame("claims").claim))
    verdicts = {}
    for row in sweep.tables["claims"].rows():
        verdicts[tuple(row[axis.name] for axis in sweep.grid), row["claim"]] = Verdict(row["verdict"])
    grid = Grid(title="Points", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in (*(axis.name for axis in sweep.grid), *claims, "took", ""):
        grid.add_column(name, justify="right" if name == "took" else "left")
    for row in sweep.tables["points"].rows():
        values = tuple(row[axis.name] for axis in sweep.grid)
        marks = []
        for claim in claims:
            sign, colour = SIGNS[verdicts.get((values, claim), Verdict.NOT_JUDGED)]
            marks.append(f"[{colour}]{sign}[/]")
        took = "" if row["took"] != row["took"] else f"{row['took']:.3g} s"
        grid.add_row(*(f"{v:g}" if isinstance(v, float) else str(v) for v in values), *marks, took, row["error"])
    out = Console(highlight=False)
    out.print(grid)
    out.print("\n" + "  ".join(f"[{c}]{s}[/] {verdict}" for verdict, (s, c) in SIGNS.items()), style="dim")


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on; only this machine by default.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 5006,
    prefix: Annotated[str, typer.Option(help="Path of a proxy that everything lies below, such as /tools/assay.")] = "",
    users: Annotated[
        Path | None, typer.Option(help="Who may sign in; `assay users add` makes the file.", metavar="FILE")
    ] = None,
    oidc: Annotated[
        Path | None, typer.Option(help="TOML file of an OpenID provider that people sign in with.", metavar="FILE")
    ] = None,
    roots: Annotated[
        list[Path] | None,
        typer.Option(help="Folder whose files people may name by their path; repeat it.", metavar="FOLDER"),
    ] = None,
    store: StoreAddress = None,
    scheduler: Annotated[
        str | None, typer.Option(help="Dask scheduler whose workers run the jobs.", metavar="ADDRESS")
    ] = None,
    workers: Annotated[int | None, typer.Option(help="Jobs that run at once; one a core by default.", min=1)] = None,
    time_limit: Annotated[str | None, typer.Option(help="End a job after this time, such as 2 h; a day.")] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="End a job that holds more, such as 4 GiB; four fifths of the machine's.")
    ] = None,
    upload_limit: Annotated[str | None, typer.Option(help="Largest upload, such as 8 GiB; 2 GiB.")] = None,
    warm: Annotated[bool, typer.Option("--warm", help="Start the workers now, not with the first job.")] = False,
    browser: Annotated[bool, typer.Option("--open", help="Open a browser.")] = False,
) -> None:
    """Serve the dashboards, the notebooks and the API."""
    choose(
        scheduler=scheduler, workers=None if workers is None else str(workers), time_limit=time_limit,
        memory_limit=memory_limit, upload_limit=upload_limit,
    )  # fmt: skip
    from workbench.server.serving import serve as start
    from workbench.uploads import upload_limit as checked_limit

    checked_limit()
    start(host, port, prefix=prefix, users=users, oidc=oidc, roots=tuple(roots or ()), warm=warm, open_browser=browser)


@app.command()
def lab(
    slug: Annotated[str | None, typer.Argument(help="Start with a notebook of this study.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Folder of the notebooks.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open a browser.")] = True,
) -> None:
    """Start JupyterLab with a notebook that explores a study."""
    from workbench.lab import start

    start(slug, folder=folder, port=port, open_browser=browser)


@app.command()
def new(
    slug: Annotated[str, typer.Argument(help="Name of the new study, such as my-paper.")],
    family: Annotated[str, typer.Option(help="Folder of its kind, such as dynamics.")],
) -> None:
    """Write the files of a new study in a clone of the project; they fail until they are filled."""
    from workbench.new_study import new_study

    for path in new_study(slug, family):
        print(path)
    print(f"Next: CONTRIBUTING.md, then python -m pytest tests/workbench/test_conformance.py -k {slug}")


@app.command()
def notebook(
    slug: Annotated[str, typer.Argument(help="Name of the study; `-` and `_` are the same.")],
    folder: Annotated[Path, typer.Option(help="Where it goes, in a folder of its family.")] = Path("."),
) -> None:
    """Copy a study's marimo notebook, yours to edit; one that is there is left as it is."""
    from workbench.notebook_copies import copy_notebook

    path = copy_notebook(slug, folder)
    print(f"marimo edit {path}")


@app.command()
def doctor() -> None:
    """Say what this machine has, what is missing, and how to get it."""
    from workbench.doctor import findings

    grid = Grid(box=None, pad_edge=False, show_header=False)
    found = findings()
    for finding in found:
        grid.add_row("[green]✓[/]" if finding.good else "[yellow]△[/]", finding.what, finding.sentence)
    Console(highlight=False, width=max(80, shutil.get_terminal_size().columns)).print(grid)


def main(arguments: Sequence[str] | None = None) -> None:
    """The entry point of the console command."""
    from workbench.batch import Interrupted, RunFailed

    command = typer.main.get_command(app)
    try:
        status = command.main(
            args=list(sys.argv[1:] if arguments is None else arguments) or ["--help"],
            prog_name="assay",
            standalone_mode=False,
        )
    except (KeyboardInterrupt, typer.Abort, Interrupted):
        sys.stderr.write("assay: stopped; what was finished is kept\n")
        sys.exit(130)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except TyperException as error:
        sys.stderr.write(f"assay: {' '.join(error.format_message().split()).rstrip('.')}\n")
        sys.exit(2)
    except RunFailed as error:
        sys.stderr.write(f"assay: {error}\n")
        sys.exit(1 if error.fault else 2)
    except StudyError as error:
        sys.stderr.write(f"assay: {error}\n")
        sys.exit(1)
    except (Refused, ControlError, UnknownStudy) as error:
        sys.stderr.write(f"assay: {error}\n")
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("ASSAY_DEBUG"):
            raise
        sys.stderr.write(f"assay: {type(error).__name__}: {error} (ASSAY_DEBUG=1 shows where)\n")
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)
