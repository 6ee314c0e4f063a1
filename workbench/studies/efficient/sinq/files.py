"""Quantising the whole checkpoint into files: packed weights, and a folder that transformers loads."""

from __future__ import annotations

from assay.efficient import Recipe, quantise_checkpoint
from assay.models import Llama
from workbench.studies.efficient.sinq.controls import study
from workbench.studies.efficient.sinq.subject import Subject
from workbench.study import Run, exact, note, numeric


@study.experiment(
    "Quantise the checkpoint",
    tables={
        "tensors": {
            "tensor": exact("str"),
            "state": exact("str", doc="quantised, gated, kept, or refused."),
            "reason": exact("str"),
            "group": exact("int"),
            "bits_a_weight": exact(),
            "error": numeric("%", "|W − Ŵ|² over |W|²."),
            "parameters": exact("int"),
            "zero_rows": exact("int"),
            "zero_columns": exact("int"),
        },
        "files": {"file": exact("str"), "bytes": exact("int", unit="B")},
        "notes": {"count": exact("int"), "note": note("What to know of the files.")},
    },
    cost={"quick": 0.5, "standard": 0.5, "full": 0.5},
)
def pack(run: Run, subject: Subject, recipe: Recipe, layers_filter: str, requantise: bool) -> None:
    """Write packed.safetensors, and model.safetensors with its configuration; say what became of every tensor."""
    converted = subject.net if isinstance(subject.net, Llama) and renamed(subject) else None
    found = quantise_checkpoint(
        subject.opened, recipe, run.file, pattern=layers_filter, requantise=requantise, model=converted,
        progress=lambda names: run.progress(list(names), "tensors"),
    )  # fmt: skip
    for fate in found.fates:
        run.row(
            "tensors", tensor=fate.name, state=fate.state, reason=fate.reason, group=fate.group,
            bits_a_weight=fate.bits_a_weight, error=100 * fate.error, parameters=fate.parameters,
            zero_rows=fate.zero_rows, zero_columns=fate.zero_columns,
        )  # fmt: skip
    for name, size in found.files.items():
        run.row("files", file=name, bytes=size)
    run.row("notes", count=len(found.notes), note=" ".join(found.notes) or "Nothing.")


def renamed(subject: Subject) -> bool:
    """The checkpoint has other names than transformers': a GGUF file, or the model that comes along."""
    return subject.shipped or subject.opened.kind == "GGUF"
