"""What a route of the API asks of its visitor's role."""

from __future__ import annotations

from fastapi import HTTPException

from workbench.visitors import Visitor, visitor

__all__ = ["may_run"]


def may_run() -> Visitor:
    """The visitor, who must be allowed to run and upload.

    Raises:
        HTTPException: 403, with the reason.
    """
    who = visitor()
    if not who.may_run:
        raise HTTPException(403, who.why_not)
    return who
