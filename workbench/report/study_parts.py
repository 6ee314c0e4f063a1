"""Parts of a study as blocks of a report: views, tables, claims, controls, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.controls import ControlError, Data
from workbench.faces.markup import number, waiting
from workbench.report.document import Aside, Block, Controls, Drawing, Fold, Heading, Numbers, Origin, Prose, TableBlock
from workbench.report.prose import markdown_html, prose_blocks
from workbench.session import Session
from workbench.study import Study

__all__ = ["control_rows", "own_blocks", "reported", "table_blocks", "view_blocks"]


def reported(study: Study) -> list[str]:
    """The experiments that a report shows something of: those that a view or a claim rests on, earlier stages first."""
    members = [*study.views, *(f"claim:{id}" for id, claim in study.claims.items() if claim.function)]
    reached = {e for member in members for e in study.reached_experiments(member)}
    return [e for e in study.experiments if e in reached]


def origin(session: Session, member: str, name: str = "") -> Origin:
    """Where a view, or an experiment's table, comes from."""
    study = session.study
    experiments = study.reached_experiments(member) if member not in study.experiments else (member,)
    facts: dict[str, str] = {"Study": study.slug, "Shows": name or member}
    values = [
        f"{study.controls[c].label} {control_text(session, c)}"
        for c in study.reached_controls(member)
        if c in study.moving
    ]
    if values:
        facts["Set"] = ", ".join(values)
    quantities = [name or f"view/{member}"]
    for experiment in experiments:
        held = session.held.get(experiment)
        if held is None:
            continue
        facts[f"Run of {experiment}"] = f"key {held.key[:12]} · digest {held.result.digest[:12]}"
        quantities += [f"{experiment}/{table}" for table in held.result.tables]
    return Origin(name or member, facts, tuple(dict.fromkeys(quantities)))


def control_text(session: Session, name: str) -> str:
    """A control's value as people read it, inputs by name or hash."""
    control, value = session.settings.controls[name], session.settings.values[name]
    if isinstance(control, Data):
        text = session.query().get(name, control.text(value))
        return text or "none"
    text = number(value) if isinstance(value, (bool, int, float)) else control.text(value)
    return f"{text}\N{NO-BREAK SPACE}{control.unit}" if control.unit else text


def control_rows(session: Session, names: Iterable[str]) -> Controls:
    """Controls as they are set."""
    found = [session.study.controls[name] for name in names]
    return Controls(tuple((c.label, c.symbol, control_text(session, c.name), c.doc) for c in found))


def view_blocks(session: Session, name: str, height: int = 400) -> list[Block]:
    """What a view shows now."""
    view = session.study.views[name]
    try:
        shown = session.show(name)
    except ControlError as error:
        return [Aside("fails", (Prose(f"<p>{view.title}: {error}</p>"),))]
    where = origin(session, name)
    stale = session.stale(name)
    said = stale or waiting([session.study.experiments[e].title for e in session.waits(name)])
    if shown.kind == "figure":
        return [Drawing(shown.content, shown.title, shown.subtitle, height, said, where)]
    notes: list[Block] = [Aside("open" if stale else "note", (Prose(f"<p>{said}</p>"),))] if said else []
    if shown.kind == "table":
        return [*notes, TableBlock(shown.content, shown.title, shown.subtitle, origin=where)]
    if shown.kind == "stats":
        return [*notes, Numbers(tuple(shown.content), shown.title, where)]
    return [*notes, *prose_blocks(markdown_html(shown.content))]


def table_blocks(session: Session, experiment: str) -> list[Block]:
    """The tables of an experiment's result."""
    held = session.held.get(experiment)
    if held is None:
        return []
    found = []
    for name, table in held.result.tables.items():
        units = {column: c.unit for column, c in table.columns.items() if c.unit}
        where = origin(session, experiment, f"{experiment}/{name}")
        title = f"{session.study.experiments[experiment].title}: {name}"
        found.append(TableBlock(table.frame, title, units=units, origin=where))
    return [Fold(f"{len(found)} tables of “{session.study.experiments[experiment].title}”", found)] if found else []


def own_blocks(session: Session) -> list[Block]:
    """The argument of a study that has no notebook: what is set, every view, every table."""
    study = session.study
    found: list[Block] = [Heading(2, "What is set"), control_rows(session, study.moving), Heading(2, "What it shows")]
    for view in study.views:
        found += view_blocks(session, view)
    tables = [block for experiment in reported(study) for block in table_blocks(session, experiment)]
    return [*found, Heading(2, "What was measured"), *tables] if tables else found
