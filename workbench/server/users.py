"""The users file: who may sign in, in what role, with which password, and which tokens their scripts hold.

Passwords are kept as argon2id hashes and tokens as SHA-256 of 32 random bytes, so that the file gives neither away. It
is read anew whenever it changed, so that what `assay users` does takes effect at once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import locket
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from workbench.controls import ControlError
from workbench.places import home_folder
from workbench.visitors import Role

__all__ = ["Account", "Token", "Users", "check_name", "default_users_file"]

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,62}")
SHORTEST, LONGEST = 10, 1000  # characters of a password
FORMAT = 1
DAY = 24 * 3600.0
AT_ONCE = threading.BoundedSemaphore(2)  # passwords that are checked at a time; each takes 64 MiB


@dataclass(frozen=True)
class Token:
    """What a script signs in with.

    Attributes:
        id: tells it from others; no secret.
        sha256: of its secret.
        made, ends: seconds since the epoch.
    """

    id: str
    sha256: str
    made: float
    ends: float


@dataclass(frozen=True)
class Account:
    """Somebody who may sign in.

    Attributes:
        name: see `check_name`.
        role: see `Role`.
        password: argon2id hash.
        tokens: of their scripts.
    """

    name: str
    role: Role
    password: str
    tokens: tuple[Token, ...] = field(default=())

    @property
    def generation(self) -> str:
        """Changes with the password and the role: what was signed in before ends."""
        return hashlib.sha256(f"{self.role} {self.password}".encode()).hexdigest()[:16]


def default_users_file() -> Path:
    """The users file that `assay users` works on: `ASSAY_USERS`, or one in the user's folder."""
    return Path(os.environ.get("ASSAY_USERS") or home_folder() / "users.json").expanduser()


def check_name(name: str) -> str:
    """A name that may sign in: it is also the name of a folder.

    Raises:
        ControlError: it is none.
    """
    if not NAME.fullmatch(name):
        raise ControlError("name", f"got {name[:70]!r}; expected small letters, digits and . _ @ + -, at most 63")
    return name


def check_password(password: str) -> str:
    """A password that is long enough.

    Raises:
        ControlError: it is not.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise ControlError("password", f"got {len(password)} characters; expected {SHORTEST} to {LONGEST}")
    return password


class Users:
    """The accounts of a file.

    Args:
        path: the file; it need not be there yet.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._hasher = PasswordHasher()
        self._nobody = self._hasher.hash(secrets.token_hex(16))  # takes as long to check as anybody's
        self._lock = threading.Lock()
        self._read: tuple[object, dict[str, Account]] = (None, {})

    # reading

    @property
    def accounts(self) -> Mapping[str, Account]:
        """From name to account, as the file says now.

        Raises:
            ControlError: the file is there but cannot be read.
        """
        with self._lock:
            try:
                stat = os.stat(self.path)
            except FileNotFoundError:
                return {}
            except OSError as error:
                raise ControlError("users", f"{self.path} cannot be read: {error.strerror}") from None
            mark = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._read[0] != mark:
                self._read = mark, self._parsed()
            return self._read[1]

    def _parsed(self) -> dict[str, Account]:
        try:
            data = json.loads(self.path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise ValueError
            return {
                name: Account(
                    check_name(name), Role(one["role"]), str(one["password"]),
                    tuple(Token(**token) for token in one["tokens"]),
                )
                for name, one in data["users"].items()
            }  # fmt: skip
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ControlError("users", f"{self.path} is no users file; expected one that `assay users` made") from None

    def check(self, name: str, password: str) -> Account | None:
        """The account of a name and its password; None where they do not fit. Takes equally long either way."""
        account = self.accounts.get(name)
        with AT_ONCE:
            try:
                self._hasher.verify(account.password if account else self._nobody, password[: LONGEST + 1])
            except (VerificationError, InvalidHashError):
                return None
        return account

    def of_token(self, text: str) -> Account | None:
        """The account of a token; None where there is none, or its time is over."""
        kind, _, rest = text.partition("_")
        id, _, secret = rest.partition("_")
        if kind != "assay" or not id or not secret:
            return None
        digest = hashlib.sha256(secret.encode()).hexdigest()
        for account in self.accounts.values():
            for token in account.tokens:
                if token.id == id and hmac.compare_digest(token.sha256, digest) and token.ends > time.time():
                    return account
        return None

    # changing

    def add(self, name: str, role: Role, password: str) -> Account:
        """Let somebody sign in.

        Raises:
            ControlError: the name is taken or cannot be, or the password is too short.
        """
        check_name(name)
        hashed = self._hasher.hash(check_password(password))
        with self._changing() as accounts:
            if name in accounts:
                raise ControlError("name", f"got {name}, who is there already; expected another name")
            accounts[name] = Account(name, role, hashed)
        return accounts[name]

    def remove(self, name: str) -> None:
        """Let somebody sign in no more; what they run goes on, and what they ran is kept."""
        with self._changing() as accounts:
            del accounts[known(accounts, name)]

    def set_password(self, name: str, password: str) -> None:
        """Change a password; whoever is signed in with the old one is signed out."""
        hashed = self._hasher.hash(check_password(password))
        self._alter(name, lambda account: replace(account, password=hashed))

    def set_role(self, name: str, role: Role) -> None:
        """Change a role; whoever is signed in with the old one is signed out."""
        self._alter(name, lambda account: replace(account, role=role))

    def issue(self, name: str, days: float) -> str:
        """A new token for somebody's scripts; it is shown once and kept nowhere."""
        id, secret, now = secrets.token_hex(4), secrets.token_urlsafe(32), time.time()
        token = Token(id, hashlib.sha256(secret.encode()).hexdigest(), now, now + days * DAY)
        self._alter(name, lambda account: replace(account, tokens=(*account.tokens, token)))
        return f"assay_{id}_{secret}"

    def revoke(self, name: str, id: str) -> None:
        """End a token.

        Raises:
            ControlError: there is no such name or token.
        """

        def without(account: Account) -> Account:
            left = tuple(token for token in account.tokens if token.id != id)
            if len(left) == len(account.tokens):
                have = ", ".join(token.id for token in account.tokens) or "none"
                raise ControlError("revoke", f"got {id!r}; expected the id of a token of {name}: {have}")
            return replace(account, tokens=left)

        self._alter(name, without)

    def _alter(self, name: str, change: Callable[[Account], Account]) -> None:
        with self._changing() as accounts:
            account = accounts[known(accounts, name)]
            accounts[name] = change(account)

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Account]]:
        """The accounts, to be changed and written again, whole or not at all, by one process at a time."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with locket.lock_file(f"{self.path}.lock", timeout=10):
                accounts = dict(self.accounts)
                yield accounts
                users = {
                    name: {"role": str(a.role), "password": a.password, "tokens": [asdict(t) for t in a.tokens]}
                    for name, a in sorted(accounts.items())
                }
                text = json.dumps({"format": FORMAT, "users": users}, indent=1) + "\n"
                draft = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
                with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                    file.write(text)
                draft.replace(self.path)
        except OSError as error:
            raise ControlError("users", f"{self.path} cannot be written: {error.strerror}") from None


def known(accounts: Mapping[str, Account], name: str) -> str:
    """A name that is there.

    Raises:
        ControlError: it is not.
    """
    if name not in accounts:
        raise ControlError("name", f"got {name[:70]!r}; expected one of {', '.join(sorted(accounts)) or 'nobody yet'}")
    return name
