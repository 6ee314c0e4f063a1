"""Seals: the signed, expiring cookies that say who is signed in.

The key lies in a file of the server's, so that a restart signs nobody out. Whoever signs out is remembered until the
cookie would have ended, so that a copy of it is worth nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from itsdangerous import BadSignature, URLSafeTimedSerializer

from workbench.visitors import Role

__all__ = ["COOKIE", "Seal", "Seals", "parse_cookies"]

COOKIE = "assay-session"
LIFETIME = 12 * 3600  # seconds: a working day


@dataclass(frozen=True)
class Seal:
    """Somebody who signed in.

    Attributes:
        name: who.
        generation: of their password and role at that time; empty for those of a provider.
        id: of this sign-in.
        ends: seconds since the epoch.
        role: that a provider gave; None for those of the users file.
    """

    name: str
    generation: str
    id: str
    ends: float
    role: Role | None = None


class Seals:
    """Makes and reads cookies.

    Args:
        folder: holds the key and the list of those who signed out.
        lifetime: seconds.
    """

    def __init__(self, folder: Path, lifetime: float = LIFETIME) -> None:
        self.folder = folder
        self.lifetime = lifetime
        key = own_key(folder / "key")
        self._signer, self._wrapper = (
            URLSafeTimedSerializer(key, salt=salt, signer_kwargs={"digest_method": hashlib.sha256})
            for salt in ("assay-session", "assay-provider")
        )
        self._lock = threading.Lock()
        self._out = self._read_out()

    def make(self, name: str, generation: str, role: Role | None = None) -> tuple[Seal, str]:
        """A new sign-in, and its cookie."""
        seal = Seal(name, generation, secrets.token_hex(12), time.time() + self.lifetime, role)
        content = [seal.name, seal.generation, seal.id, seal.ends, seal.role and str(seal.role)]
        return seal, str(self._signer.dumps(content))

    def read(self, cookie: str) -> Seal | None:
        """What a cookie says; None where it is not ours, has ended, or was signed out."""
        try:
            name, generation, id, ends, role = self._signer.loads(cookie)
        except (BadSignature, ValueError, TypeError):
            return None
        seal = Seal(name, generation, id, ends, Role(role) if role else None)
        return seal if self.holds(seal) else None

    def holds(self, seal: Seal) -> bool:
        """It has not ended and was not signed out."""
        return seal.ends > time.time() and seal.id not in self._out

    def sign_out(self, seal: Seal) -> None:
        """End a sign-in for good."""
        with self._lock:
            now = time.time()
            self._out = {id: ends for id, ends in self._out.items() if ends > now} | {seal.id: seal.ends}
            draft = self.folder / f"signed-out.{os.getpid()}.part"
            draft.write_text(json.dumps(self._out), encoding="utf-8")
            draft.replace(self.folder / "signed-out.json")

    def _read_out(self) -> dict[str, float]:
        try:
            return json.loads((self.folder / "signed-out.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    # what is carried to a provider and back

    def wrap(self, data: dict[str, Any]) -> str:
        """Data that only this server can have written."""
        return str(self._wrapper.dumps(data))

    def unwrap(self, text: str, seconds: int) -> dict[str, Any]:
        """Data that `wrap` wrote at most some seconds ago; empty otherwise."""
        try:
            return dict(self._wrapper.loads(text, max_age=seconds))
        except (BadSignature, ValueError, TypeError):
            return {}


def own_key(path: Path) -> str:
    """The key in a file that only its owner can read; made, whole or not at all, when it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(secrets.token_hex(32))
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
    return path.read_text(encoding="ascii")


def parse_cookies(header: str) -> dict[str, str]:
    """The cookies of a request."""
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return {name: value for name, equals, value in pairs if equals}
