"""Workbench: what turns a study of a paper into something a person can touch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.faces.jupyter import explore as explore

__all__ = ["explore"]


def __getattr__(name: str) -> Any:
    """`explore` is imported when it is first asked for, so that `import workbench` stays fast."""
    if name == "explore":
        from workbench.faces.jupyter import explore

        return explore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
