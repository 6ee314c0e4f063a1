"""The gate: who a request comes from, by cookie or token, and whether that still holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.places import home_folder
from workbench.server.seals import COOKIE, Seal, Seals, parse_cookies
from workbench.server.settings import Settings
from workbench.server.tries import Tries
from workbench.server.users import Account, Users
from workbench.sources import uploads_folder
from workbench.visitors import Role, Visitor

__all__ = ["Gate", "Signed"]


@dataclass(frozen=True)
class Signed:
    """Somebody who is signed in.

    Attributes:
        visitor: who it is.
        seal: of the cookie; None for a token.
    """

    visitor: Visitor
    seal: Seal | None


class Gate:
    """Knows who may come in.

    Attributes:
        names, addresses: failures to sign in, by name and by the address they came from.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.users = Users(settings.users) if settings.users is not None else None
        self.seals = Seals(home_folder() / "server")
        self.names = Tries(10, 300)
        self.addresses = Tries(40, 300)

    def who(self, headers: Mapping[str, str]) -> Signed | None:
        """Who a request comes from; a token that is wrong is nobody, whatever the cookie says."""
        kind, _, token = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            account = self.users.of_token(token.strip()) if self.users is not None else None
            return None if account is None else Signed(self.visitor(account.name, account.role), None)
        cookie = parse_cookies(headers.get("cookie", "")).get(COOKIE)
        seal = self.seals.read(cookie) if cookie else None
        if seal is None or not self.holds(seal):
            return None
        role = seal.role or self._account(seal.name).role
        return Signed(self.visitor(seal.name, role), seal)

    def holds(self, seal: Seal) -> bool:
        """A sign-in has not ended: by time, by signing out, or by a change of password or role."""
        if not self.seals.holds(seal):
            return False
        if seal.role is not None:
            return self.settings.provider is not None and not self.is_local(seal.name)
        return self.is_local(seal.name) and self._account(seal.name).generation == seal.generation

    def is_local(self, name: str) -> bool:
        """The users file has this name."""
        return self.users is not None and name in self.users.accounts

    def _account(self, name: str) -> Account:
        assert self.users is not None
        return self.users.accounts[name]

    def visitor(self, name: str, role: Role) -> Visitor:
        """Somebody with what they may read: the folders that are listed for all, and their own uploads."""
        roots: tuple[Path, ...] = (*self.settings.roots, uploads_folder(name))
        return Visitor(name, role, roots)

    def wait(self, name: str, address: str) -> float:
        """Seconds until a password may be tried again."""
        return max(self.names.wait(name), self.addresses.wait(address))

    def check(self, name: str, password: str, address: str) -> Account | None:
        """The account of a name and its password; a failure is counted."""
        account = self.users.check(name, password) if self.users is not None else None
        if account is None:
            self.names.failed(name)
            self.addresses.failed(address)
        else:
            self.names.passed(name)
        return account
