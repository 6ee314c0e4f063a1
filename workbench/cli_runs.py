"""`assay runs`, `diff`, `forget`, `export`, `import` and `gc`: what is remembered, and what is done with it."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from workbench.claims import Verdict
from workbench.controls import ControlError

if TYPE_CHECKING:
    from workbench.comparison import Change, Quantity
    from workbench.record import Record
    from workbench.store import Store

__all__ = ["SIGNS", "StoreAddress", "chosen_store", "runs_app"]

SIGNS = {
    verdict: (verdict.sign, colour)
    for verdict, colour in zip(Verdict, ("green", "red", "yellow", "blue", "bright_black"), strict=True)
}
COLOURS = {"done": "green", "failed": "red", "lost": "yellow", "running": "blue"}
NUMBERS_SHOWN = 40
PARTS = {
    "controls": "Controls", "data": "Data", "code": "Code", "environment": "Environment", "packages": "Packages",
}  # fmt: skip

runs_app = typer.Typer()


def chosen_store(address: str | None) -> str | None:
    """Keep runs in another store from here on, in every part of this process.

    Raises:
        ControlError: that is no address of a store.
    """
    if address is not None:
        from workbench.store_tracking import tracking_uri

        os.environ["ASSAY_STORE"] = tracking_uri(address)
    return address


StoreAddress = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URI", callback=chosen_store,
        help="MLflow tracking store that keeps the runs, as http://host:5000; ASSAY_STORE, or a folder of yours.",
    ),
]  # fmt: skip
Run = Annotated[str, typer.Argument(help="Id of a run, or a beginning of it that no other has.", metavar="RUN")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@contextmanager
def opened_store() -> Iterator[Store]:
    """The store; what is wrong with it ends the command with one sentence and status 1."""
    from workbench.store import Store, StoreError

    try:
        yield Store()
    except StoreError as error:
        sys.stderr.write(f"assay: {error}\n")
        raise typer.Exit(1) from None


def say_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


# the list


@runs_app.command("runs")
def list_runs(
    study: Annotated[str | None, typer.Option(help="Only runs of this study.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="How many at most.")] = 30,
    as_json: AsJson = False,
    store: StoreAddress = None,
) -> None:
    """List runs, newest first: what ran, how it ended, and what is known of its claims."""
    slug = None if study is None else study.replace("_", "-")
    with opened_store() as kept:
        found = kept.runs(slug, limit)
    if slug is not None and not found:
        check_study(slug)
    if as_json:
        say_json([record.as_json() for record in found])
        return
    if not found:
        Console().print("Runs appear here once you start one, as `assay run STUDY`.", markup=False)
        return
    owned = any(record.owner for record in found)
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "study and experiment", "state", "started", "took", "claims", *(["who"] if owned else [])):
        grid.add_column(name, overflow="fold", no_wrap=name in ("run", "state", "started", "took"))
    for record in found:
        grid.add_row(*row_of(record), *([record.owner] if owned else []))
    Console(highlight=False).print(grid)


def check_study(slug: str) -> None:
    """Refuse a name that no study has.

    Raises:
        UnknownStudy: there is none.
    """
    from workbench.registry import registry

    if slug not in registry().places:
        registry().get(slug)


def row_of(record: Record) -> list[str]:
    """A run as a line of a table."""
    state = str(record.state)
    values = [f"{name} {text}" for name, text in record.values.items()]
    values += [] if record.preset == "standard" else [record.preset]
    asked = f"[dim]{', '.join(escaped(text) for text in values)}[/]" if values else ""
    claims = "".join("[{1}]{0}[/]".format(*SIGNS[Verdict(j["verdict"])]) for j in record.claims.values())
    return [
        record.run[:8],
        f"{record.study} {record.experiment}" + (f"\n{asked}" if asked else ""),
        f"[{COLOURS.get(state, 'bright_black')}]{state}[/]",
        ago(record.started),
        "" if record.took is None else f"{record.took:.3g} s",
        claims,
    ]


def escaped(text: str) -> str:
    """Text that rich prints as it is."""
    return (text if len(text) <= 40 else f"{text[:39]}…").replace("[", r"\[")


def ago(when: float | None) -> str:
    """How long ago, as people say it."""
    if when is None:
        return ""
    for size, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if time.time() - when >= size:
            return f"{(time.time() - when) / size:.0f} {name} ago"
    return "now"


# two runs


@runs_app.command()
def diff(one: Run, other: Run, as_json: AsJson = False, store: StoreAddress = None) -> None:
    """Say how two runs differ: in controls, data, code and environment, and in every number by its kind."""
    from workbench.comparison import compare_records, compare_results, worst_first
    from workbench.result_files import DamagedResult, read_result

    with opened_store() as kept:
        records = (kept.get(one), kept.get(other))
        folders = [kept.files(record.run) if record.state == "done" else None for record in records]
    changes = compare_records(*records)
    try:
        results = [read_result(folder) for folder in folders if folder is not None]
    except DamagedResult as error:
        raise ControlError("run", f"has files that were changed ({error}); expected those that were written") from None
    quantities = worst_first(compare_results(*results)) if len(results) == 2 else []
    if as_json:
        say_json(
            {
                "runs": [record.run for record in records],
                "changes": [{"part": c.part, "name": c.name, "values": list(c.values)} for c in changes],
                "claims": [claim for claim in claims_of(records) if claim["verdicts"][0] != claim["verdicts"][1]],
                "numbers": [quantity.as_json() for quantity in quantities],
            }
        )
        return
    out = Console(highlight=False)
    for letter, record in zip("AB", records, strict=True):
        out.print(f"[bold]{letter}[/] {record.run[:8]} {record.study} {record.experiment}, {record.state}, "
                  f"{ago(record.started)}")  # fmt: skip
    print_changes(out, changes)
    print_claims(out, records)
    print_numbers(out, quantities, missing=[r for r, folder in zip(records, folders, strict=True) if folder is None])


def print_changes(out: Console, changes: Sequence[Change]) -> None:
    for part, title in PARTS.items():
        found = [change for change in changes if change.part == part]
        if not found:
            continue
        grid = Grid(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
        for name in ("", "A", "B"):
            grid.add_column(name, overflow="fold")
        for change in found:
            grid.add_row(change.name, *(escaped(text) or "–" for text in change.values))
        out.print("", grid)
    same = [title.lower() for part, title in PARTS.items() if not any(c.part == part for c in changes)]
    if same:
        out.print(f"\nThe same: {', '.join(same)}.", style="dim")


def claims_of(records: tuple[Record, Record]) -> list[dict[str, Any]]:
    """Claims that either run judged, with both verdicts and values."""
    ids = dict.fromkeys([id for record in records for id in record.claims])
    sides = [[record.claims.get(id, {}) for record in records] for id in ids]
    return [
        {
            "id": id,
            "sentence": next((j["sentence"] for j in side if j.get("sentence")), ""),
            "verdicts": [j.get("verdict", str(Verdict.NOT_JUDGED)) for j in side],
            "measured": [j.get("measured") for j in side],
        }
        for id, side in zip(ids, sides, strict=True)
    ]


def print_claims(out: Console, records: tuple[Record, Record]) -> None:
    grid = Grid(title="Claims", title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in ("", "the paper says", "A", "B"):
        grid.add_column(name, overflow="fold", no_wrap=name in ("A", "B"))
    for claim in claims_of(records):
        cells = []
        for verdict, measured in zip(claim["verdicts"], claim["measured"], strict=True):
            sign, colour = SIGNS[Verdict(verdict)]
            cells.append(f"[{colour}]{sign} {verdict}[/]" + ("" if measured is None else f" {number(measured)}"))
        grid.add_row(claim["id"], escaped(claim["sentence"]), *cells)
    if grid.row_count:
        out.print("", grid)


def print_numbers(out: Console, quantities: Sequence[Quantity], missing: Sequence[Record]) -> None:
    if missing:
        said = " and ".join(f"{record.run[:8]} is {record.state}" for record in missing)
        out.print(f"\nNo numbers to compare: {said}.")
        return
    counts = {word: sum(1 for q in quantities if q.word == word) for word in dict.fromkeys(q.word for q in quantities)}
    out.print(f"\n[bold]Numbers[/] {', '.join(f'{count} {word}' for word, count in counts.items())}")
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for name in ("worst first", "kind", "A", "B", "B − A", "tolerance", ""):
        grid.add_column(name, overflow="fold", justify="left" if name in ("worst first", "kind", "") else "right")
    shown = [q for q in quantities if q.word != "same"][:NUMBERS_SHOWN]
    for q in shown:
        gap = "" if q.difference is None else number(q.difference)
        word = str(q.word) + (f", {q.drifting} of {q.n} rows" if q.n > 1 and q.drifting else "")
        tolerance = number(q.tolerance) if q.tolerance else ""
        grid.add_row(escaped(q.label), str(q.kind), *map(number, q.values), gap, tolerance, word)
    if shown:
        out.print(grid)


def number(value: Any) -> str:
    """A value with as many figures as tell two apart."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", "−")
    return escaped(str(value))


# one run


@runs_app.command()
def forget(run: Run, store: StoreAddress = None) -> None:
    """Remove a run with its files, for good."""
    with opened_store() as kept:
        record = kept.forget(run)
    Console(highlight=False).print(f"{record.run[:8]} is forgotten: {record.study} {record.experiment}.")


@runs_app.command("export")
def export(
    run: Run,
    file: Annotated[Path, typer.Argument(help="The zip file to write.", metavar="FILE.zip")],
    store: StoreAddress = None,
) -> None:
    """Write a run into one file: its record, tables, arrays, files and figures."""
    from workbench.run_archive import export_run
    from workbench.sizes import size_text

    with opened_store() as kept:
        record = export_run(kept, run, file.expanduser())
    size = size_text(file.expanduser().stat().st_size)
    Console(highlight=False).print(f"{record.run[:8]} is in {file} ({size}).", markup=False)


@runs_app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="A file that `assay export` wrote.", metavar="FILE.zip")],
    store: StoreAddress = None,
) -> None:
    """Take a run out of a file; everything in it is checked first."""
    from workbench.run_archive import import_run

    with opened_store() as kept:
        record, new = import_run(kept, file.expanduser())
    said = "is here now" if new else "was here already"
    Console(highlight=False).print(f"{record.run[:8]} {said}: {record.study} {record.experiment}.")


# all of them


@runs_app.command()
def gc(
    to: Annotated[
        str | None,
        typer.Option("--to", help="How much may stay, such as 5 GB; the quota when left out.", metavar="SIZE"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, and leave it.")] = False,
    store: StoreAddress = None,
) -> None:
    """Make room: what belongs to no run goes, then runs that are missed least; never what a report refers to."""
    from workbench.collect_runs import collect
    from workbench.disk_quota import quota
    from workbench.sizes import size_text, size_typed

    most = quota() if to is None else size_typed("to", to)
    with opened_store() as kept:
        found = collect(kept, most, try_only=dry_run)
    out = Console(highlight=False)
    if found.runs:
        grid = Grid(box=None, pad_edge=False, show_header=False)
        for record in found.runs:
            grid.add_row(*row_of(record))
        out.print(grid)
    would = "would go" if dry_run else "went"
    runs = f"{len(found.runs)} run{'' if len(found.runs) == 1 else 's'}"
    out.print(f"{size_text(found.before - found.after)} {would}: {runs}, {len(found.leftovers)} leftovers; "
              f"{size_text(found.after)} stay.")  # fmt: skip
    if most is not None and found.after > most and found.needed:
        out.print(f"{size_text(found.needed)} are needed by reports.")
