"""`assay users`: who may sign in to a server, with which password and role, and the tokens of their scripts."""

from __future__ import annotations

import getpass
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from workbench.controls import ControlError
from workbench.visitors import Role

if TYPE_CHECKING:
    from workbench.server.users import Token, Users

__all__ = ["users_app"]

users_app = typer.Typer(no_args_is_help=True, help="Say who may sign in to a server (`assay serve --users FILE`).")

Name = Annotated[str, typer.Argument(help="As they sign in: small letters, digits and . _ @ + -")]
File = Annotated[
    Path | None, typer.Option("--file", help="The users file; ASSAY_USERS, or users.json in your folder of Assay.")
]
Given = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


def users_of(file: Path | None) -> Users:
    from workbench.server.users import Users, default_users_file

    return Users(file or default_users_file())


def asked_password(given: bool) -> str:
    """A password from standard input, or typed twice without being shown.

    Raises:
        ControlError: the two differ.
    """
    if given:
        return sys.stdin.readline().rstrip("\r\n")
    first = getpass.getpass("Password: ")
    if getpass.getpass("Again: ") != first:
        raise ControlError("password", "got two that differ; expected the same one twice")
    return first


def token_line(token: Token) -> str:
    """A token's id and how long it is good for."""
    day = time.strftime("%Y-%m-%d", time.gmtime(token.ends))
    return f"{token.id} ({'ended' if token.ends < time.time() else 'until'} {day})"


@users_app.command()
def add(
    name: Name,
    role: Annotated[
        Role, typer.Option(help="viewer looks; runner runs and uploads too; admin sees all.")
    ] = Role.RUNNER,
    file: File = None,
    given: Given = False,
) -> None:
    """Let somebody sign in."""
    from workbench.server.users import check_name

    users = users_of(file)
    check_name(name)
    users.add(name, role, asked_password(given))
    print(f"{name} may sign in as {role}; the file is {users.path}")


@users_app.command("list")
def list_users(file: File = None) -> None:
    """List who may sign in."""
    users = users_of(file)
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "role", "tokens"):
        grid.add_column(column, overflow="fold")
    for account in users.accounts.values():
        grid.add_row(account.name, str(account.role), ", ".join(map(token_line, account.tokens)))
    Console(highlight=False).print(grid if users.accounts else f"Nobody may sign in yet; the file is {users.path}")


@users_app.command()
def remove(name: Name, file: File = None) -> None:
    """Let somebody sign in no more; they are signed out at once."""
    users_of(file).remove(name)
    print(f"{name} may sign in no more")


@users_app.command()
def password(name: Name, file: File = None, given: Given = False) -> None:
    """Change somebody's password; they are signed out at once."""
    users_of(file).set_password(name, asked_password(given))
    print(f"{name} has a new password")


@users_app.command()
def role(name: Name, role: Annotated[Role, typer.Argument()], file: File = None) -> None:
    """Change somebody's role; they are signed out at once."""
    users_of(file).set_role(name, role)
    print(f"{name} is {role} now")


@users_app.command()
def token(
    name: Name,
    days: Annotated[float, typer.Option(help="Days that it is good for.", min=0.001, max=3650)] = 90,
    revoke: Annotated[str | None, typer.Option(help="End the token of this id instead.", metavar="ID")] = None,
    file: File = None,
) -> None:
    """Make a token that somebody's scripts sign in with; it is shown this once."""
    users = users_of(file)
    if revoke is not None:
        users.revoke(name, revoke)
        print(f"the token {revoke} of {name} has ended")
        return
    print(users.issue(name, days))
