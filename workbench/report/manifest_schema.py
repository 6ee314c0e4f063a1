"""The manifest of a report: everything that is needed to make its numbers again and to judge them.

`manifest.schema.json` beside this file is the same as a JSON Schema. A number that JSON does not have, NaN or an
infinity, stands as `{"float": "nan"}`.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from workbench.report.quantities import Quantity, QuantityKind

__all__ = [
    "SCHEMA", "UNSEALED", "CodeUsed", "Environment", "Input", "Manifest", "NotebookUsed", "Part", "Quantity", "Stage",
    "StudyUsed", "shown_value", "written_value",
]  # fmt: skip

SCHEMA = 1
"""Version of the schema; a change that older readers would misread raises it."""
UNSEALED = "0" * 64
"""What stands in the place of the seal while it is made."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Strict(BaseModel):
    """Fields as they are declared, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class NotFinite(Strict):
    """A number that JSON does not have."""

    float: Literal["nan", "inf", "-inf"]


Plain = StrictBool | StrictInt | StrictFloat | StrictStr | NotFinite | None
Value = Plain | list[Plain]


class QuantityWritten(Strict):
    """A named quantity: its value, and how it may differ when it is made again."""

    name: str = Field(min_length=1, description="Unique, such as `sweep/runs/accuracy[beta=0.5,seed=0]`.")
    value: Value
    unit: str = ""
    kind: QuantityKind = Field(description="How it is compared.")
    rtol: float = Field(default=0.0, ge=0, description="Of a numeric one: relative tolerance.")
    atol: float = Field(default=0.0, ge=0, description="Of a numeric one: absolute tolerance.")
    interval: tuple[float, float] | None = Field(
        default=None, description="Of a statistical one: where it may lie; null where its spread is not known."
    )

    @classmethod
    def of(cls, quantity: Quantity) -> QuantityWritten:
        """A quantity as the manifest holds it."""
        return cls(
            name=quantity.name, value=written_value(quantity.value), unit=quantity.unit, kind=quantity.kind,
            rtol=quantity.rtol, atol=quantity.atol, interval=quantity.interval,
        )  # fmt: skip

    @property
    def quantity(self) -> Quantity:
        """The quantity that was written."""
        return Quantity(
            self.name, shown_value(self.value), self.unit, self.kind, self.rtol, self.atol, self.interval
        )  # fmt: skip


def written_value(value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, (list, tuple)):
        return [written_value(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return NotFinite(float="nan" if math.isnan(value) else "inf" if value > 0 else "-inf")
    return value


def shown_value(value: Any) -> Any:
    """The value that `written_value` wrote."""
    if isinstance(value, list):
        return [shown_value(entry) for entry in value]
    return float(value.float) if isinstance(value, NotFinite) else value


class Part(Strict):
    """A column or tensor that was read from an input."""

    name: str
    shape: tuple[int, ...] = ()
    dtype: str = ""
    sha256: Sha256 = Field(description="Over dtype, shape and little-endian bytes.")


class Input(Strict):
    """Data or weights that the report rests on."""

    control: str = Field(description="The control that names it.")
    name: str
    reference: str = Field(description="`sample:NAME` or `sha256:HEX`; never a path.")
    sha256: Sha256 = Field(
        description="Of the file's bytes; of a folder, over names and bytes; of a sample, its version."
    )
    parts: tuple[Part, ...] = Field(default=(), description="Columns and tensors that were read from it.")


class Environment(Strict):
    """What numbers may depend on beside code and data."""

    python: str = ""
    platform: str = ""
    processor: str = ""
    cores: int = 0
    cpu: str = Field(default="", description="Instructions that PyTorch uses.")
    threads: int = Field(default=1, ge=1, le=4096)
    thread_variables: dict[str, str] = {}
    blas: dict[str, str] = {}
    device: str = "cpu"
    determinism: dict[str, str] = {}
    versions: dict[str, str] = Field(default={}, description="Of the packages that the code of the study reaches.")
    imported: dict[str, str] = Field(default={}, description="Of all packages that the process had imported.")


class Stage(Strict):
    """A run of an experiment."""

    key: Sha256 = Field(description="Content key: controls, inputs, code, versions and kind of device.")
    digest: Sha256 = Field(description="Of all that the result compares.")
    code: Sha256 = Field(description="Of the code that the experiment reaches.")
    run: str = Field(default="", description="Id in the store of whoever made it; empty where none was kept.")
    kernels: dict[str, list[str]] = Field(default={}, description="From kernel to the forms that served.")
    environment: int = Field(default=0, ge=0, description="Which of `environments` it ran in.")


class CodeUsed(Strict):
    """The code that the numbers come from."""

    version: str = Field(default="", description="Of Assay.")
    revision: str = Field(
        default="", description="Commit of the clone, with + where files were changed; empty elsewhere."
    )
    lock: str = Field(default="", description="SHA-256 of requirements.lock; empty where there is none.")
    members: dict[str, Sha256] = Field(
        default={}, description="Of each experiment, view and claim with all that it reaches."
    )
    modules: dict[str, Sha256] = Field(default={}, description="Of each module of the library and file of the study.")


class StudyUsed(Strict):
    """A study and what was set."""

    slug: str
    preset: Literal["quick", "standard", "full"]
    seed: int
    device: Literal["cpu", "cuda"] = "cpu"
    controls: dict[str, str] = Field(description="Canonical text of every control; inputs by name or hash.")
    set: tuple[str, ...] = Field(
        default=(), description="The controls that somebody set; the others follow the preset."
    )
    terms: Sha256 = Field(description="Of the expectations and presets in force.")


class NotebookUsed(Strict):
    """The notebook that tells the report."""

    name: str
    sha256: Sha256
    settings: dict[str, str] = Field(default={}, description="Controls that were set for a notebook of the user's own.")
    preset: str = ""
    seed: int | None = None


class Manifest(Strict):
    """What `assay verify` reads from a report."""

    schema_: int = Field(default=SCHEMA, alias="schema", ge=1, le=SCHEMA)
    seal: Sha256 = Field(description="SHA-256 of the file with 64 zeros in this place.")
    study: StudyUsed | None = Field(default=None, description="None for a notebook of the user's own.")
    notebook: NotebookUsed | None = None
    inputs: tuple[Input, ...] = ()
    code: CodeUsed = CodeUsed()
    runs: dict[str, Stage] = Field(default={}, description="From experiment to its run.")
    environments: tuple[Environment, ...] = Field(min_length=1, description="The first is that of views and claims.")
    quantities: tuple[QuantityWritten, ...] = ()

    @property
    def named(self) -> list[Quantity]:
        """The quantities."""
        return [written.quantity for written in self.quantities]

    def as_json(self) -> dict[str, Any]:
        """The manifest as plain data."""
        return self.model_dump(mode="json", by_alias=True)
