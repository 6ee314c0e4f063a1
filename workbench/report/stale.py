"""What moved since a report was made: code, data, versions, machine. Nothing is run to tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.comparison import Change
from workbench.controls import ControlError
from workbench.registry import registry
from workbench.report.inputs import find_inputs
from workbench.report.manifest import code_used, environment_here
from workbench.report.manifest_schema import CodeUsed, Environment, Manifest
from workbench.study import Study

__all__ = ["Staleness", "alike", "changes_between", "check_report", "environment_of_runs", "study_of"]

NUMERIC = ("platform", "processor", "cpu", "threads", "blas", "device")
"""Fields of an environment that floats may depend on bit by bit, beside versions and switches of determinism."""
SEED_OF_HASHES = "python_hash_seed"
"""Recorded, and of no matter: streams follow from the seed and a name, and tests hold it so."""


@dataclass(frozen=True)
class Staleness:
    """What moved since a report was made.

    Attributes:
        changes: in code, data and packages: another result may come out.
        aside: on this machine, which differs: the same result may come out in other bits.
    """

    changes: tuple[Change, ...]
    aside: tuple[Change, ...]

    @property
    def stale(self) -> bool:
        """The report may not be what would come out now."""
        return bool(self.changes)


def study_of(manifest: Manifest) -> Study:
    """The study of a report, looked up by its name alone.

    Raises:
        UnknownStudy: it exists no longer.
        StudyError: it cannot be imported.
    """
    assert manifest.study is not None
    return registry().get(manifest.study.slug)


def check_report(manifest: Manifest, inputs: Iterable[Path] = (), notebook: Path | None = None) -> Staleness:
    """Whether a report is stale; nothing is run.

    Args:
        manifest: of the report.
        inputs: files and folders that somebody named.
        notebook: of the user's own, where the report is of one.

    Raises:
        UnknownStudy, StudyError: the study exists no longer, or cannot be imported.
        ControlError: a named file that is none of the inputs, or no notebook where one is needed.
    """
    changes: list[Change] = []
    study = None if manifest.study is None else study_of(manifest)
    members = [member for member in manifest.code.members if study is not None and has_member(study, member)]
    lost = [member for member in manifest.code.members if member not in members]
    changes += [Change("code", member, ("in the report", "not in the study any more")) for member in lost]
    code = code_used(study, members)
    kept = {name: digest for name, digest in manifest.code.members.items() if name not in lost}
    changes += code_changes(manifest.code.model_copy(update={"members": kept}), code)
    if study is not None and manifest.study is not None and study.terms_hash != manifest.study.terms:
        changes.append(Change("code", "expectations and presets", (manifest.study.terms, study.terms_hash)))
    for one in find_inputs(manifest, inputs):
        if one.sha256 != one.input.sha256:
            now = one.sha256 or "not on this machine"
            changes.append(Change("data", f"{one.input.control}, {one.input.name}", (one.input.sha256, now)))
    if notebook is not None and manifest.notebook is not None:
        from workbench.result_files import sha256_of

        if not notebook.is_file():
            raise ControlError("notebook", f"got {str(notebook)!r}, which is not there; expected a notebook")
        if (sha256 := sha256_of(notebook)) != manifest.notebook.sha256:
            changes.append(Change("code", notebook.name, (manifest.notebook.sha256, sha256)))
    here = environment_here(study=study)
    moved = list(environment_changes(manifest.environments[0], here, threads=False))
    changes += [change for change in moved if change.part == "packages"]
    return Staleness(tuple(changes), tuple(change for change in moved if change.part != "packages"))


def has_member(study: Study, member: str) -> bool:
    claim = study.claims.get(member.removeprefix("claim:")) if member.startswith("claim:") else None
    return member in study.experiments or member in study.views or (claim is not None and claim.function is not None)


def changes_between(then: Manifest, now: Manifest) -> list[Change]:
    """What a report and its making again differ in, beside their quantities."""
    found = code_changes(then.code, now.code)
    if then.study is not None and now.study is not None:
        if then.study.terms != now.study.terms:
            found.append(Change("code", "expectations and presets", (then.study.terms, now.study.terms)))
        for name in dict.fromkeys((*then.study.controls, *now.study.controls)):
            values = (then.study.controls.get(name, ""), now.study.controls.get(name, ""))
            if values[0] != values[1] and name not in {one.control for one in then.inputs}:
                found.append(Change("controls", name, values))
    if then.notebook is not None and now.notebook is not None and then.notebook.sha256 != now.notebook.sha256:
        found.append(Change("code", now.notebook.name, (then.notebook.sha256, now.notebook.sha256)))
    hashes = [{f"{one.control}, {one.name}": one.sha256 for one in manifest.inputs} for manifest in (then, now)]
    if sorted(hashes[0].values()) != sorted(hashes[1].values()):
        found += differing("data", hashes[0], hashes[1])
    found += environment_changes(environment_of_runs(then), environment_of_runs(now))
    for name in then.runs.keys() & now.runs.keys():
        kernels = [{k: ", ".join(forms) for k, forms in m.runs[name].kernels.items()} for m in (then, now)]
        if all(kernels):
            found += differing("environment", kernels[0], kernels[1])
    return found


def environment_of_runs(manifest: Manifest) -> Environment:
    """The environment that a report's experiments ran in; that of its views where there are none."""
    places = [stage.environment for stage in manifest.runs.values()]
    known = len(manifest.environments)
    return manifest.environments[places[-1] if places and places[-1] < known else 0]


def code_changes(then: CodeUsed, now: CodeUsed) -> list[Change]:
    """Members and modules whose code differs, versions aside where none does."""
    pairs = ((then.members, now.members), (then.modules, now.modules))
    found = [change for one, other in pairs for change in differing("code", one, other)]
    if found:
        for name in ("version", "revision"):
            values = (getattr(then, name), getattr(now, name))
            if values[0] != values[1]:
                found.append(Change("code", name, values))
    return found


def environment_changes(then: Environment, now: Environment, *, threads: bool = True) -> Iterator[Change]:
    """What two environments differ in: machine and arithmetic, and the packages that the code reaches."""
    versions = [{"python": one.python, **one.versions} for one in (then, now)]
    yield from differing("packages", versions[0], versions[1])
    for field in ("platform", "processor", "cores", "cpu", "threads", "device"):
        values = (str(getattr(then, field)), str(getattr(now, field)))
        if values[0] != values[1] and (threads or field != "threads"):
            yield Change("environment", field, values)
    yield from differing("environment", then.blas, now.blas, "linear algebra of ")
    yield from differing("environment", switches(then), switches(now))


def switches(environment: Environment) -> dict[str, str]:
    return {name: value for name, value in environment.determinism.items() if name != SEED_OF_HASHES}


def differing(part: str, then: Mapping[str, str], now: Mapping[str, str], before: str = "") -> list[Change]:
    """Names whose values differ; a name that one side lacks has an empty value there."""
    names = dict.fromkeys((*then, *now))
    pairs = ((f"{before}{name}", (then.get(name, ""), now.get(name, ""))) for name in names)
    return [Change(part, name, values) for name, values in pairs if values[0] != values[1]]


def alike(then: Manifest, now: Manifest) -> bool:
    """Floats must come out bit by bit: one numeric environment, then and now, for runs and views."""

    def numeric(environment: Environment) -> list[object]:
        return [*(getattr(environment, field) for field in NUMERIC), switches(environment)]

    environments = [*then.environments, *now.environments]
    versions: dict[str, str] = {}
    for environment in environments:
        for name, version in environment.versions.items():
            if versions.setdefault(name, version) != version:
                return False
    return all(numeric(one) == numeric(environments[0]) for one in environments)
