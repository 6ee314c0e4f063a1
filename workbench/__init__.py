"""Workbench: what turns a study of a paper into something a person can touch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.batch import run as run
    from workbench.faces.jupyter import explore as explore
    from workbench.faces.jupyter_study import load as load
    from workbench.report.exporting import export as export
    from workbench.report.named import quantity as quantity

__all__ = ["explore", "export", "load", "quantity", "run"]
PLACES = {
    "explore": "workbench.faces.jupyter", "export": "workbench.report.exporting",
    "load": "workbench.faces.jupyter_study",
    "quantity": "workbench.report.named", "run": "workbench.batch",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What is offered is imported when it is first asked for, so that `import workbench` stays fast."""
    if name in PLACES:
        return getattr(importlib.import_module(PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
