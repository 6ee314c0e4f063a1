"""Making a manifest, and the way in to sealing and reading one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.controls import Data
from workbench.environment import environment
from workbench.identity import code_of, content_hash, module_source, tree_text, version_of
from workbench.places import PACKAGE
from workbench.registry import registry
from workbench.report.manifest_schema import (
    UNSEALED,
    CodeUsed,
    Environment,
    Input,
    Manifest,
    NotebookUsed,
    QuantityWritten,
    Stage,
)
from workbench.report.named import Named
from workbench.report.quantities import Quantity, numbered, quantities_of
from workbench.report.sealing import ReportError, read_manifest, seal_html, seal_ipynb, seal_markdown, seal_pdf
from workbench.results import Result
from workbench.snapshot import Snapshot, member_code
from workbench.study import Study

__all__ = [
    "Manifest", "ReportError", "build_manifest", "code_used", "environment_here", "inputs_used", "members_of",
    "read_manifest", "seal_html", "seal_ipynb", "seal_markdown", "seal_pdf",
]  # fmt: skip


def build_manifest(
    snapshot: Snapshot | None,
    results: Mapping[str, Result],
    records: Mapping[str, Mapping[str, Any]],
    *,
    notebook: Path | None,
    extra: Sequence[Quantity | Named] = (),
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The manifest of a report, not sealed yet.

    Args:
        snapshot: the study under what is set; None for a notebook of the user's own.
        results: from experiment to its complete result under this setting.
        records: from experiment to the provenance of the job that gave it.
        notebook: the file that tells the report; None where there is none.
        extra: quantities that the notebook named itself; their names get `notebook/` in front.
        settings: of a notebook of the user's own: `controls`, `preset` and `seed` that it was given.

    Returns:
        plain data; `seal` is 64 zeros.
    """
    given = dict(settings or {})
    used = None if notebook is None else NotebookUsed(
        name=notebook.name, sha256=hashlib.sha256(notebook.read_bytes()).hexdigest(),
        settings={name: str(value) for name, value in (given.get("controls") or {}).items()},
        preset=str(given.get("preset") or ""), seed=given.get("seed"),
    )  # fmt: skip
    named = [Quantity(f"notebook/{q.name}", q.value, q.unit, q.kind, q.rtol, q.atol, q.interval) for q in extra]
    if snapshot is None:
        facts: dict[str, Any] = {"environments": (environment_here(),), "code": code_used(None, ())}
    else:
        facts = study_facts(snapshot, results, records)
        named = [*quantities_of(snapshot, results), *named]
    manifest = Manifest(
        schema=1, seal=UNSEALED, notebook=used, quantities=tuple(map(QuantityWritten.of, numbered(named))), **facts
    )  # fmt: skip
    return manifest.as_json()


def study_facts(
    snapshot: Snapshot, results: Mapping[str, Result], records: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """All of a manifest but its quantities."""
    study, settings = snapshot.study, snapshot.settings
    environments = [environment_here(study=study)]
    runs: dict[str, Stage] = {}
    for name, result in results.items():
        record = records[name]
        place = join(environments, environment_of(record))
        own = record if record.get("experiment") == name else {}  # an earlier stage of a job has only its environment
        runs[name] = Stage(
            key=snapshot.key(name), digest=result.digest, code=member_code(study, name).digest,
            run=str(own.get("run") or ""),
            kernels={kernel: list(forms) for kernel, forms in (own.get("kernels") or {}).items()}, environment=place,
        )  # fmt: skip
    return {
        "study": {
            "slug": study.slug, "preset": settings.preset, "seed": settings.values["seed"], "device": snapshot.device,
            "controls": {name: control_text(snapshot, name) for name in study.moving},
            "set": tuple(settings.user), "terms": study.terms_hash,
        },
        "inputs": tuple(inputs_used(snapshot)),
        "code": code_used(study, members_of(study, results)),
        "runs": runs,
        "environments": tuple(environments),
    }  # fmt: skip


def join(environments: list[Environment], other: Environment) -> int:
    """The place of an environment in a list; where one is like it but for what was imported, they become one."""
    for i, known in enumerate(environments):
        versions = {**known.versions, **other.versions}
        imported = {**known.imported, **other.imported}
        whole = {"versions": dict(sorted(versions.items())), "imported": dict(sorted(imported.items()))}
        if known.model_copy(update=whole) == other.model_copy(update=whole) and agree(known, other):
            environments[i] = known.model_copy(update=whole)
            return i
    environments.append(other)
    return len(environments) - 1


def agree(one: Environment, other: Environment) -> bool:
    """Packages that both name have one version."""
    pairs = ((one.versions, other.versions), (one.imported, other.imported))
    return all(a[name] == b[name] for a, b in pairs for name in a.keys() & b.keys())


def control_text(snapshot: Snapshot, name: str) -> str:
    """A control's canonical text; inputs by name or hash, never by a path."""
    control, value = snapshot.settings.controls[name], snapshot.settings.values[name]
    if isinstance(snapshot.study.controls[name], Data) and value:
        found = snapshot.source(name)
        if isinstance(found, tuple):
            value = tuple(source.reference for source in found)
        elif found is not None:
            value = found.reference
    return control.text(value)


def inputs_used(snapshot: Snapshot) -> Iterator[Input]:
    """What every data and checkpoint control that something reaches refers to."""
    for name, control in snapshot.study.moving.items():
        if isinstance(control, Data):
            found = snapshot.source(name)
            for source in found if isinstance(found, tuple) else filter(None, (found,)):
                yield Input(control=name, name=source.name, reference=source.reference, sha256=source.sha256)


def members_of(study: Study, experiments: Iterable[str]) -> list[str]:
    """Members whose quantities a report holds: experiments, views, and claims that are measured."""
    return [*experiments, *study.views, *(f"claim:{id}" for id, claim in study.claims.items() if claim.function)]


def code_used(study: Study | None, members: Iterable[str]) -> CodeUsed:
    """The code that members of a study reach, as it is now."""
    here = environment_facts()
    digests: dict[str, str] = {}
    modules: set[str] = set()
    for member in members:
        assert study is not None
        code = member_code(study, member)
        function = study.views[member].function if member in study.views else None
        if member.startswith("claim:"):
            function = study.claims[member.removeprefix("claim:")].function
        own = code_of(function) if function is not None else None
        digests[member] = code.digest if own is None else content_hash([code.digest, own.digest])
        modules |= {*code.modules, *(own.modules if own else ())}
    sources = {name: source for name in sorted(modules) if (source := module_source(name)) is not None}
    place = registry().places.get(study.slug) if study is not None else None
    for path in place.sources if place else ():
        sources[f"{place.slug}/{path.name}" if place else path.name] = path.read_text(encoding="utf-8")
    return CodeUsed(
        version=here["version"], revision=here["revision"], lock=lock_hash(), members=digests,
        modules={name: hashlib.sha256(tree_text(source).encode()).hexdigest() for name, source in sources.items()},
    )  # fmt: skip


def lock_hash() -> str:
    """SHA-256 of the versions that the code was tested with; empty outside a clone."""
    path = PACKAGE.parent / "requirements.lock"
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def environment_facts() -> dict[str, Any]:
    """The environment of this process, as the provenance of a run tells it."""
    here = environment()
    return here | {"versions": {name: here[name] for name in ("python", "numpy", "torch")}}


def environment_here(*, study: Study | None = None) -> Environment:
    """The environment of this process.

    A study's has the versions of the packages that its code reaches, and not what else this process has imported by
    chance: a store, or another study.
    """
    facts = environment_facts()
    if study is not None:
        facts["imported"] = {}
        members = members_of(study, study.experiments)
        packages = {package for member in members for package in member_code(study, member).packages}
        for package in sorted(packages):
            name, _, version = version_of(package).partition(" ")
            if version:
                facts["versions"].setdefault(name, version)
    return environment_of(facts)


def environment_of(facts: Mapping[str, Any]) -> Environment:
    """The environment that the provenance of a run tells."""
    versions = {str(name): str(version) for name, version in (facts.get("versions") or {}).items()}
    known = ("platform", "processor", "cores", "cpu", "threads", "thread_variables", "blas", "device", "determinism")
    return Environment(
        python=versions.pop("python", ""), versions=dict(sorted(versions.items())),
        imported=dict(facts.get("imported") or {}), **{name: facts[name] for name in known if name in facts},
    )  # fmt: skip
