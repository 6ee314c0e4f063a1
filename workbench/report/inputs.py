"""Inputs of a report on this machine: found by their hash, wherever they lie now, or asked for by name and hash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.data import InputError, content_sha256
from workbench.controls import ControlError, Data
from workbench.report.manifest_schema import Input, Manifest
from workbench.sources import find_source
from workbench.study import Study

__all__ = ["Found", "find_inputs", "values_of"]


@dataclass(frozen=True)
class Found:
    """An input of a report, and where it is now.

    Attributes:
        input: as the report names it.
        reference: what opens it here: a path, or `sample:NAME`; empty where it was not found.
        sha256: of what was found; a sample may have another version here.
    """

    input: Input
    reference: str = ""
    sha256: str = ""

    @property
    def missing(self) -> str:
        """One sentence that asks for it; empty where it was found."""
        if self.reference:
            return ""
        return (
            f"{self.input.control}: {self.input.name} (SHA-256 {self.input.sha256}) is not on this machine; expected "
            "it under ASSAY_DATA, or by --input PATH"
        )


def find_inputs(manifest: Manifest, given: Iterable[Path] = ()) -> list[Found]:
    """Every input of a report on this machine.

    Args:
        manifest: of the report.
        given: files and folders that somebody named; each must be an input of the report.

    Raises:
        ControlError: a given path is not there, or is none of the inputs.
    """
    wanted = {one.sha256 for one in manifest.inputs}
    paths: dict[str, Path] = {}
    for path in given:
        try:
            sha256 = content_sha256(path)
        except (OSError, InputError) as error:
            raise ControlError("input", f"got {str(path)!r}, which cannot be read: {error}") from None
        if sha256 not in wanted:
            names = ", ".join(f"{one.name} (SHA-256 {one.sha256})" for one in manifest.inputs) or "none"
            raise ControlError("input", f"got {path.name} with SHA-256 {sha256}; expected one of {names}")
        paths[sha256] = path.resolve()
    return [found(one, paths) for one in manifest.inputs]


def found(one: Input, given: Mapping[str, Path]) -> Found:
    """One input, where somebody says that it is, or where its hash is found."""
    if one.sha256 in given:
        return Found(one, str(given[one.sha256]), one.sha256)
    try:
        source = find_source(one.reference)
    except ValueError:
        return Found(one)
    reference = str(source.path.resolve()) if source.path is not None else source.reference
    return Found(one, reference, source.sha256)


def values_of(study: Study, manifest: Manifest, inputs: Sequence[Found], preset: str = "") -> dict[str, str]:
    """What to set to make a report again: the text of every control, inputs as they are opened here.

    Args:
        study: as it is now.
        manifest: of the report.
        inputs: all found.
        preset: another one, whose values take the place of those that follow the preset; as in the report when empty.

    Raises:
        ControlError: the study has no such control any more.
    """
    assert manifest.study is not None
    values: dict[str, str] = {}
    for name, text in manifest.study.controls.items():
        control = study.controls.get(name)
        if control is None:
            raise ControlError(name, f"got {text[:80]!r} in the report; the study has no such control any more")
        if preset and control.effort:
            continue
        values[name] = text
        here = [one.reference for one in inputs if one.input.control == name]
        if isinstance(control, Data) and here:
            values[name] = control.text(tuple(here) if control.many else here[0])
    return values
