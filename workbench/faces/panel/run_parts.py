"""What the page of runs is made of: the lines of its list as HTML, and the address that opens a run."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from urllib.parse import urlencode

from workbench.claims import Verdict
from workbench.faces.panel.gallery import flagships
from workbench.faces.panel.page import drawn_icons
from workbench.faces.panel.parts import strip
from workbench.record import Record
from workbench.registry import registry
from workbench.run_comparison import short
from workbench.run_rows import Row, needed_by, own_pins, why_not_forget
from workbench.study import Study, StudyError
from workbench.visitors import Visitor

__all__ = ["ICONS", "lasted", "opened", "row_html", "study_of", "title_of"]

SHAPES = {
    "done": '<path d="m3.5 8.5 3 3 6-7"/>',
    "failed": '<path d="m4 4 8 8m0-8-8 8"/>',
    "cancelled": '<rect x="4" y="4" width="8" height="8" fill="currentColor"/>',
    "lost": '<path d="M8 2 14.5 13.5h-13zM8 6.5v3.500M8 11.600v.4"/>',
    "queued": '<circle cx="8" cy="8" r="5.5"/><path d="M8 5v3.200l2 1.500"/>',
    "running": '<circle cx="8" cy="8" r="5.5" stroke="var(--as-line)" stroke-width="3"/>'
    '<path d="M8 2.500a5.500 5.500 0 1 1-5.200 7.200" stroke="var(--as-accent)" stroke-width="3"/>',
    "pin": '<path d="M6 2.500h4m-3.500 0v4L4.500 9.500h7L9.500 6.500v-4M8 9.500v4.500"/>',
    "forget": '<path d="M3 4.500h10m-6.500 0v-2h3v2M4.500 4.500l.6 9h5.800l.6-9M6.800 7v4m2.400-4v4"/>',
}
ICONS = drawn_icons(**SHAPES)
SHOWN = 32  # letters of a value
SPACE = "\N{NO-BREAK SPACE}"


def study_of(slug: str) -> Study | None:
    """The study that a run is of; None where it is not here any more."""
    try:
        return registry().get(slug)
    except (ValueError, StudyError):
        return None


def title_of(record: Record) -> str:
    """What the experiment of a run is called."""
    study = study_of(record.study)
    known = study.experiments.get(record.experiment) if study is not None else None
    return known.title if known is not None else record.experiment


def opened(record: Record) -> str:
    """The address of the study's page with what a run was made with; empty where the study is not here any more."""
    if study_of(record.study) is None:
        return ""
    preset = {} if record.preset == "standard" else {"preset": record.preset}
    query = {**record.values, **preset}
    own = flagships().get(record.study)
    if own is not None:
        return f"{own}?{urlencode(query)}" if query else own
    return f"study?{urlencode({'study': record.study, **query})}"


def lasted(seconds: float | None) -> str:
    """How long something took, as people say it."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.2g}{SPACE}s" if seconds < 10 else f"{seconds:.0f}{SPACE}s"
    return f"{seconds / 60:.0f}{SPACE}min" if seconds < 5400 else f"{seconds / 3600:.1f}{SPACE}h"


def set_values(values: Mapping[str, str]) -> str:
    """What was set by hand, in short."""
    said = (f"{name} {cut(short(text))}" for name, text in values.items() if name != "seed")
    return ", ".join(said)


def cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


def row_html(row: Row, who: Visitor) -> str:
    """A line of the list; how far a job is, the page fills in as it goes.

    Args:
        row: the run.
        who: looks at it; decides which of its buttons may be pressed.
    """
    record, name = row.record, (row.id[:8] if row.kept else "that waits")
    seed = "" if record.seed == 0 else f"seed {record.seed}"
    parts = (title_of(record), set_values(record.values), record.preset, seed)
    said = f"{SPACE}· ".join(part for part in parts if part)
    href = opened(record)
    study = (
        f'<a class="rn-s" href="{escape(href)}" title="Open with what was set">{escape(record.study)}</a>'
        if href
        else f'<b class="rn-s" title="This study is not here any more">{escape(record.study)}</b>'
    )
    lines = [f'<span class="rn-x">{escape(said)}</span>']
    if record.error:
        lines.append(f'<span class="rn-x rs-failed">{escape(record.error)}</span>')
    if row.pins:
        lines.append(f'<span class="rn-x rn-pinned">{ICONS["pin"]}{escape(", ".join(needed_by(row)))}</span>')
    verdicts = [
        Verdict(judged["verdict"]) for judged in record.claims.values() if judged.get("verdict") in list(Verdict)
    ]
    when = f'<time data-at="{record.started:.0f}"></time>' if record.started else "–"
    below = " · ".join(part for part in (lasted(record.took), escape(record.owner)) if part)
    off = "" if row.kept else "disabled"
    return (
        f'<tr data-run="{escape(row.id)}" data-state="{row.state}"><td><label class="as-check"><input type="checkbox" '
        f'value="{escape(row.id)}" aria-label="Compare run {name}" {off}></label></td><td class="rn-ab"></td>'
        f'<td class="rn-what">{study}{"".join(lines)}</td><td><span class="as-state rs-{row.state}">{ICONS[row.state]}'
        f'{row.state}</span><div class="rn-now"></div></td><td class="rn-t">{when}'
        f'<span class="rn-x">{below}</span></td>'
        f"<td>{strip(verdicts) if verdicts else '<span class=rn-x>–</span>'}</td>"
        f'<td class="rn-acts">{acts(row, who, name) if row.kept else ""}</td></tr>'
    )


def acts(row: Row, who: Visitor, name: str) -> str:
    """The buttons of a line; one that may not be pressed says why."""
    pinned = bool(own_pins(row))
    word = "Unpin" if pinned else "Pin"
    buttons = (
        (
            "pin",
            f"{word} run {name}",
            "Unpin" if pinned else "Pin, so that it stays",
            who.why_not_change(row.record.owner),
        ),
        ("forget", f"Forget run {name}", "Forget", why_not_forget(row, who)),
    )
    return "".join(
        f'<button class="as-btn as-btn--quiet as-btn--icon{" rn-on" if do == "pin" and pinned else ""}" type="button" '
        f'data-do="{do}" aria-label="{label}" title="{escape(why or title)}"{" disabled" if why else ""}>'
        f"{ICONS[do]}</button>"
        for do, label, title, why in buttons
    )
