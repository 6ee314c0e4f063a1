"""What a server is started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench.controls import ControlError
from workbench.server.asgi import is_loopback
from workbench.server.provider import Provider, read_provider

__all__ = ["Settings", "settings_of"]


@dataclass(frozen=True)
class Settings:
    """How a server serves.

    Attributes:
        prefix: path of a proxy that everything lies below, whether the proxy takes it away or leaves it.
        users: the users file; None where nobody signs in by password.
        provider: an OpenID provider; None where there is none.
        roots: folders whose files may be named by their path; where nobody signs in, none means all.
        signed_in: who comes is this user, whom another server asked to sign in, on a socket of that server's alone.
    """

    prefix: str = ""
    users: Path | None = None
    provider: Provider | None = None
    roots: tuple[Path, ...] = ()
    signed_in: bool = False

    @property
    def sign_in(self) -> bool:
        """People sign in."""
        return self.users is not None or self.provider is not None


def settings_of(
    host: str, prefix: str = "", users: Path | None = None, oidc: Path | None = None, roots: tuple[Path, ...] = ()
) -> Settings:
    """Settings as they are typed, checked together.

    Raises:
        ControlError: others could come and nobody would have to sign in, or a file or folder is not there.
    """
    if not is_loopback(host) and users is None and oidc is None:
        raise ControlError(
            "host",
            f"got {host!r}, which others can reach; expected localhost, or --users FILE so that they sign in "
            "(`assay users add NAME` makes one)",
        )
    if users is not None and not users.is_file():
        raise ControlError("users", f"got {str(users)!r}, which is no file; `assay users add NAME` makes one")
    for root in roots:
        if not root.is_dir():
            raise ControlError("roots", f"got {str(root)!r}; expected a folder")
    provider = read_provider(oidc) if oidc is not None else None
    return Settings(prefix, users, provider, tuple(root.resolve() for root in roots))
