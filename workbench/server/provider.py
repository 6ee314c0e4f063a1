"""An OpenID provider as it is set up: a TOML file that names it, and says which of its people may do what.

issuer = "https://id.example.org"
client_id = "assay"
client_secret = "…"                 # or the environment variable ASSAY_OIDC_SECRET
name_claim = "preferred_username"   # what people are called
role_claim = "groups"               # what the roles below are looked up in
label = "Sign in with Example"
default_role = "viewer"             # left out: who has no role may not come in

[roles]
researchers = "runner"
admins = "admin"
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.controls import ControlError
from workbench.server.asgi import is_loopback
from workbench.server.users import NAME
from workbench.visitors import Role

__all__ = ["Provider", "read_provider"]

ORDER = (Role.ADMIN, Role.RUNNER, Role.VIEWER)


@dataclass(frozen=True)
class Provider:
    """An OpenID provider.

    Attributes:
        issuer: its address.
        client_id, client_secret: what this server is there.
        name_claim: what people are called.
        role_claim: what `roles` are looked up in.
        roles: from a value of that claim to a role.
        default_role: of those who have none of them; None keeps them out.
        label: of the button.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    name_claim: str = "preferred_username"
    role_claim: str = "groups"
    roles: Mapping[str, Role] = field(default_factory=dict)
    default_role: Role | None = None
    label: str = "Sign in with your organisation"

    def name_of(self, claims: Mapping[str, Any]) -> str | None:
        """What somebody is called here; None where they have no name that can be."""
        name = re.sub(r"\s+", ".", str(claims.get(self.name_claim, "")).strip().lower())
        return name if NAME.fullmatch(name) else None

    def role_of(self, claims: Mapping[str, Any]) -> Role | None:
        """The highest role that somebody's claims give; None keeps them out."""
        said = claims.get(self.role_claim, ())
        values = {said} if isinstance(said, str) else {v for v in said if isinstance(v, str)}
        found = {role for value, role in self.roles.items() if value in values}
        return next((role for role in ORDER if role in found), self.default_role)


def read_provider(path: Path) -> Provider:
    """The provider of a file.

    Raises:
        ControlError: one sentence on what is wrong in it.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ControlError("oidc", f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ControlError("oidc", f"{path} is no TOML: {error}") from None
    data.setdefault("client_secret", os.environ.get("ASSAY_OIDC_SECRET", ""))
    known = set(Provider.__dataclass_fields__)
    if unknown := sorted(set(data) - known):
        raise ControlError("oidc", f"{path} says {unknown[0]!r}; expected some of {', '.join(sorted(known))}")
    for name in ("issuer", "client_id", "client_secret"):
        if not isinstance(data.get(name), str) or not data[name]:
            raise ControlError("oidc", f"{path} has no {name}; expected a text")
    parts = urlsplit(data["issuer"])
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise ControlError("oidc", f"issuer: got {data['issuer']!r}; expected an address that begins with https://")
    try:
        data["roles"] = {str(value): Role(role) for value, role in dict(data.get("roles", {})).items()}
        if "default_role" in data:
            data["default_role"] = Role(data["default_role"])
    except ValueError as error:
        raise ControlError("oidc", f"roles: {error}; expected viewer, runner or admin") from None
    if not data["roles"] and data.get("default_role") is None:
        raise ControlError("oidc", f"{path} lets nobody in; expected a default_role, or a table of roles")
    return Provider(**data)
