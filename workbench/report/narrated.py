"""The manifest of a narrative: a study with its notebook, or a notebook of the user's own with the studies in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.report.manifest import build_manifest
from workbench.report.quantities import Quantity, quantities_of
from workbench.results import Result

if TYPE_CHECKING:
    from workbench.report.narrative import Narrative
    from workbench.session import Session

__all__ = ["manifest_of"]


def manifest_of(narrative: Narrative, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The manifest of what was told, not sealed yet.

    Args:
        narrative: a study or a notebook that has run.
        settings: what a notebook of the user's own was given; None for a study, and for one that was given nothing.
    """
    sessions = list(narrative.sessions)
    study = sessions[0] if sessions and narrative.title == sessions[0].study.question else None
    others = sessions if study is None else sessions[1:]
    extra = [*narrative.quantities, *(one for session in others for one in opened(session))]
    if study is None:
        return build_manifest(None, {}, {}, notebook=narrative.notebook, extra=extra, settings=settings)
    results = here(study)
    records = {name: narrative.records[name] for name in results}
    return build_manifest(study.snapshot, results, records, notebook=narrative.notebook, extra=extra)


def here(session: Session) -> dict[str, Result]:
    """From experiment to its complete result under what is set now."""
    return {name: session.held[name].result for name in session.study.experiments if session.current(name)}


def opened(session: Session) -> list[Quantity]:
    """The quantities of a study that a notebook opened, under the study's name."""
    found = quantities_of(session.snapshot, here(session))
    return [replace(one, name=f"{session.study.slug}/{one.name}") for one in found]
