"""`assay verify`: make a report's numbers again and compare every one, or say what moved since it was made.

Exit status: 0 verified, or not stale; 1 something drifted or is missing, or the report is stale; 2 no report, a broken
seal, or it cannot be run here; 3 verified in part.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from workbench.comparison import Change, Word
from workbench.controls import ControlError

if TYPE_CHECKING:
    from workbench.report.judgement import Judged
    from workbench.report.stale import Staleness
    from workbench.report.verify import Verification

__all__ = ["verify"]

SIGNS = {
    Word.DRIFT: ("✕", "red"), Word.MISSING: ("?", "red"), Word.NOT_COMPARABLE: ("△", "yellow"),
    Word.WITHIN: ("≈", "green"), Word.SAME: ("=", "green"),
}  # fmt: skip
SHOWN = 40
PARTS = {"code": "Code", "data": "Data", "controls": "Controls", "packages": "Packages", "environment": "Machine"}


def verify(
    file: Annotated[Path, typer.Argument(help="A report: HTML, PDF, Markdown or Jupyter.", metavar="FILE")],
    check: Annotated[
        bool, typer.Option("--check", help="Run nothing; say whether code, data or versions have moved since.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only quantities that begin so, as claim/3a or sweep; repeat it.", metavar="NAME"),
    ] = None,
    sample: Annotated[int | None, typer.Option(help="Only so many quantities, drawn at random.", metavar="N")] = None,
    preset: Annotated[str | None, typer.Option(help="Run at another preset, such as quick.")] = None,
    inputs: Annotated[
        list[Path] | None,
        typer.Option("--input", help="A file or folder that the report rests on; repeat it.", metavar="PATH"),
    ] = None,
    notebook: Annotated[
        Path | None, typer.Option(help="The notebook, for the report of one of your own.", metavar="PATH")
    ] = None,
    time_limit: Annotated[str | None, typer.Option(help="Give up after this time, such as 2 h; a day.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Make a report's numbers again in a clean process, and compare every one.

    Exit status: 0 verified; 1 something drifted or is missing; 2 it cannot be verified; 3 verified in part.
    """
    from workbench.batch import RunFailed
    from workbench.registry import UnknownStudy
    from workbench.report.verify import REFUSED
    from workbench.study import StudyError

    try:
        if check:
            if only or sample is not None or preset:
                raise ControlError(
                    "check", "got --only, --sample or --preset with it, which run; expected --check alone"
                )
            status = checked(file, list(inputs or []), notebook, as_json)
        else:
            status = verified(
                file, (only or [], sample, preset or ""), list(inputs or []), notebook, time_limit, as_json
            )  # fmt: skip
    except (ControlError, UnknownStudy, StudyError, RunFailed) as error:
        if as_json:
            say_json({"outcome": "refused", "exit": REFUSED, "sentence": str(error)})
        sys.stderr.write(f"assay: {error}\n")
        raise typer.Exit(REFUSED) from None
    raise typer.Exit(status)


def say_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def verified(
    file: Path, part: tuple[Sequence[str], int | None, str], inputs: list[Path], notebook: Path | None,
    time_limit: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Verify a report and say what came out."""
    from workbench.cli import Bar
    from workbench.limits import Limits
    from workbench.report.verify import Asked, verify_report

    only, sample, preset = part
    bar = Bar(quiet=as_json)
    with bar:
        found = verify_report(
            file, Asked(tuple(only), sample, preset), inputs=inputs, notebook=notebook,
            seconds=Limits.from_text(time_limit).seconds, on_progress=lambda what, at: bar.say("Verify", at, what),
        )  # fmt: skip
    if as_json:
        say_json(found.as_json())
    else:
        show(found, file)
    return found.status


def show(found: Verification, file: Path) -> None:
    """The outcome as tables on standard output, worst first."""
    from workbench.report.judgement import worst_first

    out = Console(highlight=False)
    rows = [
        one for one in worst_first(found.judged)
        if one.quantity.kind != "timing" and one.word not in (Word.SAME,) and one.why != "it was not asked for"
    ]  # fmt: skip
    if rows:
        grid = Grid(box=None, pad_edge=False, header_style="bold")
        for name in ("", "quantity", "in the report", "now", "allowed", "how far"):
            grid.add_column(
                name, overflow="fold", no_wrap=name == "", justify="left" if name in ("", "quantity") else "right"
            )
        for one in rows[:SHOWN]:
            grid.add_row(*line_of(one))
        out.print(grid)
        if len(rows) > SHOWN:
            out.print(f"and {len(rows) - SHOWN} more, all of which --json lists", style="dim")
        out.print()
    out.print(parts_table(found.judged), "")
    changes_table(out, found.changes)
    timings = sum(one.quantity.kind == "timing" for one in found.judged)
    counts = ", ".join(f"{n} {word}" for word, n in found.counts.items() if n)
    colour = {0: "green", 3: "yellow"}.get(found.status, "red")
    aside = f"; {timings} timing{'s' if timings != 1 else ''}, never compared" if timings else ""
    partly = f" ({found.partly})" if found.partly else ""
    of = f"{escape(file.name)}, seal {found.manifest.seal[:12]}"
    out.print(f"[{colour}]{found.words}[/]{escape(partly)}: {of}: {counts}{aside}")
    note = bits_note(found)
    if note:
        out.print(note, style="dim")


def bits_note(found: Verification) -> str:
    """What it means that numbers differ in bits, where nothing else does."""
    if not found.alike or found.changes or not found.counts[Word.WITHIN]:
        return ""
    return (
        "Code, data and arithmetic are those of the report, yet some numbers differ: it was edited, or draws at random."
    )


def parts_table(judged: Sequence[Judged]) -> Grid:
    """How many quantities of each part there are of each word, worst parts first."""
    from workbench.report.judgement import counted
    from workbench.report.verify import head_of

    heads: dict[str, list[Judged]] = {}
    for one in judged:
        if one.quantity.kind != "timing":
            heads.setdefault(head_of(one.quantity.name), []).append(one)
    counts = {head: counted(ones) for head, ones in heads.items()}
    words = [word for word in SIGNS if any(found[word] for found in counts.values())]
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    grid.add_column("part")
    for word in words:
        grid.add_column(str(word), justify="right")
    for head, found in sorted(counts.items(), key=lambda pair: [-pair[1][word] for word in list(SIGNS)[:2]]):
        cells = [f"[{SIGNS[word][1]}]{found[word]}[/]" if found[word] else "" for word in words]
        grid.add_row(escape(head), *cells)
    return grid


def line_of(one: Judged) -> list[str]:
    """A judged quantity as a line of the table."""
    sign, colour = SIGNS[one.word]
    unit = f" {one.quantity.unit}" if one.quantity.unit else ""
    far = "" if not one.far else "∞" if one.far == float("inf") else f"{one.far:.3g} ×"
    allowed = f"± {one.tolerance:.3g}" if one.tolerance else ""
    name = f"{escape(one.label)}\n[dim]{escape(one.why)}[/]" if one.why else escape(one.label)
    then, now = (escape(f"{text}{unit}" if text else "") for text in (shown(one.then), shown(one.again)))
    return [
        f"[{colour}]{sign} {one.word}[/]",
        name,
        then,
        now,
        allowed,
        far if one.word is not Word.NOT_COMPARABLE else "",
    ]


def shown(value: Any) -> str:
    """A value as the table shows it."""
    if isinstance(value, float):
        return f"{value:.9g}".replace("-", "−")
    if isinstance(value, list):
        return f"{len(value)} values"
    text = "" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:40]}…"


def changes_table(out: Console, changes: Sequence[Change]) -> None:
    """What differs beside the quantities."""
    if not changes:
        return
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for name in ("what differs", "", "in the report", "now"):
        grid.add_column(name, overflow="fold")
    for change in changes:
        then, now = (escape(text[:12] if len(text) == 64 else text) or "none" for text in change.values)
        grid.add_row(PARTS.get(change.part, change.part), escape(change.name), then, now)
    out.print(grid, "")


def checked(file: Path, inputs: list[Path], notebook: Path | None, as_json: bool) -> int:
    """Say whether a report is stale."""
    from workbench.report.manifest import read_manifest
    from workbench.report.stale import check_report

    manifest = read_manifest(file)
    found = check_report(manifest, inputs, notebook)
    if as_json:
        say_json(staleness_json(found, manifest.seal))
        return int(found.stale)
    out = Console(highlight=False)
    changes_table(out, [*found.changes, *found.aside])
    words = "[yellow]stale[/]: it may not be what comes out now" if found.stale else "[green]not stale[/]"
    aside = ", on another machine" if found.aside and not found.stale else ""
    out.print(f"{words}{aside}; {escape(file.name)}, seal {manifest.seal[:12]}; nothing was run")
    return int(found.stale)


def staleness_json(found: Staleness, seal: str) -> dict[str, Any]:
    changes = [
        {"part": c.part, "name": c.name, "report": c.values[0], "now": c.values[1]}
        for c in (*found.changes, *found.aside)
    ]
    return {
        "outcome": "stale" if found.stale else "not stale",
        "exit": int(found.stale),
        "seal": seal,
        "changes": changes,
    }
