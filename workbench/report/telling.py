"""A narrative as a document: title, where it comes from, and the command that makes it again."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from typing import Any

from workbench.report.document import Document, levelled
from workbench.report.narrative import Narrative
from workbench.report.study_parts import control_text
from workbench.session import Session

__all__ = ["document_of"]


def document_of(narrative: Narrative, name: str, manifest: Mapping[str, Any], asked: list[str]) -> Document:
    """The document of a narrative.

    Args:
        narrative: a study or a notebook that has run.
        name: of the file, without its ending.
        manifest: what `assay verify` compares.
        asked: arguments of `assay report` that make it again.
    """
    session = narrative.sessions[0] if narrative.sessions else None
    of_study = session is not None and narrative.title == session.study.question
    return Document(
        title=narrative.title,
        kicker=f"Report · {session.study.slug.replace('-', ' ')}" if session and of_study else "Report on a notebook",
        name=name,
        blocks=levelled(narrative.blocks, narrative.title),
        judgements=session.judge() if session and of_study else (),
        paper=session.study.paper if session and of_study else None,
        provenance=line_of(session, records_of(narrative, session)) if session else {},
        sources=[
            *(row for one in narrative.sessions for row in sources(one, records_of(narrative, one))),
            *notebook_rows(narrative),
        ],
        command=shlex.join(["assay", "report", *asked]),
        manifest=manifest,
    )


Records = Mapping[str, Mapping[str, Any]]


def records_of(narrative: Narrative, session: Session) -> Records:
    """From experiment to the provenance of its result."""
    if session is narrative.sessions[0] and narrative.records:
        return narrative.records
    order = [name for name in session.study.experiments if name in session.held]
    return {name: session.held[name].job.provenance for name in order}


def line_of(session: Session, records: Records) -> dict[str, str]:
    """The provenance of a study's runs in a line."""
    facts = list(records.values())
    if not facts:
        return {"preset": session.preset, "seed": str(session.settings.values["seed"])}
    last = facts[-1]
    threads = last.get("threads")
    data = {d["name"]: str(d["sha256"])[:8] for one in facts for d in one.get("data") or ()}
    revision = str(last.get("revision") or "")
    changed = " changed" if revision.endswith("+") else ""
    found = {
        "runs": ", ".join(str(one.get("run") or "")[:8] for one in facts if one.get("run")),
        "preset": session.preset,
        "seed": str(session.settings.values["seed"]),
        "data": ", ".join(f"{name} {sha}" for name, sha in data.items()),
        "code": (revision.rstrip("+") or str(last.get("code") or "")[:8]) + changed,
        "torch": str((last.get("versions") or {}).get("torch") or ""),
        "device": f"{last.get('device') or ''}"
        + (f", {threads} thread{'' if threads == 1 else 's'}" if threads else ""),
    }
    return {name: text for name, text in found.items() if text}


def sources(session: Session, facts: Records) -> list[tuple[str, list[str]]]:
    """The rows of the page on where a study's numbers come from."""
    study = session.study
    rows: list[tuple[str, list[str]]] = [
        ("Study", [f"{study.slug}, “{study.paper.title}”"]),
        ("Controls", [f"{c.label}: {control_text(session, name)}" for name, c in study.moving.items()]),
        ("Preset", [session.preset]),
    ]
    data = {
        f"{d['name']}, {d['reference']}": d["sha256"] for one in facts.values() for d in one.get("data") or ()
    }  # fmt: skip
    rows.append(("Data", [f"{name}: SHA-256 {sha}" for name, sha in data.items()]))
    rows.append(
        (
            "Runs",
            [
                f"{study.experiments[name].title}: run {one.get('run') or 'not kept'}, key {session.held[name].key}, "
                f"digest {session.held[name].result.digest}"
                for name, one in facts.items()
            ],
        )
    )
    code = {str(one.get("code")) for one in facts.values() if one.get("code")}
    last: Mapping[str, Any] = next(reversed([*facts.values()]), {})
    version = [f"Assay {last['version']}, commit {last.get('revision') or 'unknown'}"] if last.get("version") else []
    rows.append(("Code", [*version, *(f"digest {one}" for one in sorted(code))]))
    versions = {name: version for one in facts.values() for name, version in (one.get("versions") or {}).items()}
    rows.append(("Packages", [", ".join(f"{name} {version}" for name, version in sorted(versions.items()))]))
    machine = [last.get("platform"), last.get("processor"), last.get("cpu"), last.get("device")]
    threads = f"{last.get('threads')} thread{'' if last.get('threads') == 1 else 's'}" if last.get("threads") else ""
    blas = ", ".join(f"{name}: {what}" for name, what in (last.get("blas") or {}).items() if what)
    rows.append(("Machine", [", ".join(str(part) for part in [*machine, threads] if part), blas]))
    return [(name, [line for line in lines if line]) for name, lines in rows if any(lines)]


def notebook_rows(narrative: Narrative) -> list[tuple[str, list[str]]]:
    path = narrative.notebook
    if path is None:
        return []
    return [("Notebook", [f"{path.name}: SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}"])]
