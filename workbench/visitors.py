"""Visitors: who asks, what they may do, and whose results they may see.

On a server of one's own nobody signs in, and the one visitor may do everything. A server for others says who asks, for
as long as it answers them (`acting`); faces, the API and notebooks read it with `visitor`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from workbench.controls import ControlError

__all__ = ["LOCAL", "NOBODY", "Role", "Visitor", "acting", "by_default", "visitor"]

REFERENCE = re.compile(r"\bsha256:([0-9a-f]{64})\b")
REMEMBERED = 60.0  # seconds that it is known whether a hash can be read


class Role(StrEnum):
    """What a visitor may do: look; run and upload as well; see and cancel what is others' as well."""

    VIEWER = "viewer"
    RUNNER = "runner"
    ADMIN = "admin"


@dataclass(frozen=True)
class Visitor:
    """Somebody who asks.

    Attributes:
        name: as they sign in; empty where nobody does.
        role: see `Role`.
        roots: folders that their paths and hashes must lie in; None allows any path.
    """

    name: str = ""
    role: Role = Role.ADMIN
    roots: tuple[Path, ...] | None = None

    @property
    def may_run(self) -> bool:
        """Run experiments and upload data."""
        return self.role is not Role.VIEWER

    @property
    def why_not(self) -> str:
        """Why they may not run or upload, in one sentence; empty where they may."""
        return "" if self.may_run else "Viewers look at results; running and uploading needs the role of runner."

    def check_may_run(self) -> None:
        """See that they may run and upload.

        Raises:
            ControlError: they may not.
        """
        if not self.may_run:
            raise ControlError("", self.why_not)

    def may_cancel(self, owner: str) -> bool:
        """Stop what somebody asked for."""
        return self.role is Role.ADMIN or (self.may_run and owner == self.name)

    def may_follow(self, owner: str, holders: Iterable[str]) -> bool:
        """See how a job goes on: what they asked for, or wait for too.

        Args:
            owner: who asked for it first.
            holders: who wait for it, each as `name/where`.
        """
        return self.may_cancel(owner) or any(one.startswith(f"{self.name}/") for one in holders)

    def why_not_change(self, owner: str) -> str:
        """Why they may not pin or forget a run, in one sentence; empty where they may."""
        if self.may_cancel(owner):
            return ""
        if not self.may_run:
            return "Viewers look at runs; pinning and forgetting needs the role of runner."
        return f"This run is {owner}’s; an admin may change it too." if owner else "Only an admin may change this run."

    def may_see(self, owner: str, controls: Mapping[str, str]) -> bool:
        """See a stored result: their own, and every one whose data they could read themselves.

        Args:
            owner: who asked for it.
            controls: what it was made with, as text; data of somebody's own stand there as `sha256:HEX`.
        """
        if self.role is Role.ADMIN or (owner and owner == self.name):
            return True
        hashes = {found for text in controls.values() for found in REFERENCE.findall(text)}
        return all(readable(found, self.roots) for found in hashes)

    def as_user(self) -> dict[str, Any]:
        """The visitor as plain data, for a notebook that acts for them."""
        return {
            "is_authenticated": True, "username": self.name, "role": str(self.role),
            "roots": None if self.roots is None else [str(root) for root in self.roots],
        }  # fmt: skip

    @classmethod
    def of_user(cls, user: Mapping[str, Any]) -> Visitor:
        """The visitor that `as_user` wrote; who acts by default where it did not."""
        if "role" not in user:
            return visitor()
        roots = user["roots"]
        return cls(user["username"], Role(user["role"]), None if roots is None else tuple(map(Path, roots)))


LOCAL = Visitor()
NOBODY = Visitor("", Role.VIEWER, ())

_default = LOCAL
_acting: ContextVar[Visitor | None] = ContextVar("assay_visitor", default=None)
_readable: dict[tuple[str, tuple[Path, ...] | None], tuple[float, bool]] = {}


def visitor() -> Visitor:
    """Who is being answered; otherwise who acts by default."""
    return _acting.get() or _default


def by_default(one: Visitor) -> None:
    """Who acts where nobody is being answered: `LOCAL`, or `NOBODY` in a process that others sign in to."""
    global _default
    _default = one


@contextmanager
def acting(one: Visitor) -> Iterator[None]:
    """Answer a visitor: whatever is called meanwhile, in this thread or task, is for them."""
    token = _acting.set(one)
    try:
        yield
    finally:
        _acting.reset(token)


def readable(sha256: str, roots: tuple[Path, ...] | None) -> bool:
    """Data of a hash lie where these roots allow to read; looked up once a minute."""
    from workbench.sources import find_source  # it needs numbers, which a list of users does not

    now = time.monotonic()
    for key in [key for key, (at, _) in _readable.items() if now - at > REMEMBERED]:
        _readable.pop(key, None)
    if (sha256, roots) not in _readable:
        try:
            find_source(f"sha256:{sha256}", roots)
            found = True
        except ValueError:
            found = False
        _readable[sha256, roots] = now, found
    return _readable[sha256, roots][1]
