"""`onetool admin person` and `invitation`: people of a hosted OneTool, and how they become members."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import click

from onetool.domain.identity.principal import OPERATOR
from onetool.domain.identity.roles import Role

from .command import json_option, print_json, stdout, use_json
from .groups import CommandGroup
from .hosted import DATABASE_URL, exit_on_hosted_error, variable, with_contents

if TYPE_CHECKING:
    from onetool.bootstrap.hosted_admin import PostgresPeople

T = TypeVar("T")
MAX_DAYS, DEFAULT_DAYS = 30, 7


@click.group(cls=CommandGroup)
def person() -> None:
    """List people who have logged in, and disable them."""


@person.command("list")
@json_option
def list_people(as_json: bool) -> None:
    """List people. Their e-mail addresses are what their provider says."""
    with exit_on_hosted_error():
        found = _with_people(lambda people: people.list())
    rows: list[dict[str, Any]] = [
        {
            "id": str(item.person.id),
            "name": item.person.name,
            "email": item.person.email,
            "identities": list(item.identities),
            "disabled": item.is_disabled,
        }
        for item in found
    ]
    if use_json(as_json):
        print_json(rows)
        return
    for row in rows:
        state = "  disabled" if row["disabled"] else ""
        click.echo(f"{row['id']}  {row['name']} <{row['email']}>{state}", file=stdout())


@person.command("disable")
@click.argument("id", type=click.UUID)
def disable_person(id: UUID) -> None:
    """End all sessions of a person, who cannot log in any more. Their memberships stay, without effect."""
    with exit_on_hosted_error():
        if not _with_people(lambda people: people.disable(id)):
            raise click.ClickException(f"There is no person {id}.")
    click.echo(f"Disabled {id}.", file=stdout())


@person.command("enable")
@click.argument("id", type=click.UUID)
def enable_person(id: UUID) -> None:
    """Let a person log in again."""
    with exit_on_hosted_error():
        if not _with_people(lambda people: people.enable(id)):
            raise click.ClickException(f"There is no person {id}.")
    click.echo(f"Enabled {id}.", file=stdout())


@click.group(cls=CommandGroup)
def invitation() -> None:
    """Invite people to a workspace."""


@invitation.command("create")
@click.argument("slug")
@click.option("--role", type=click.Choice([role.value for role in Role]), default="caller", show_default=True)
@click.option(
    "--only", "patterns", multiple=True, help="Only tools that match, such as 'github.*'. Repeatable."
)
@click.option("--note", default="", help="For whom it is.")
@click.option(
    "--days", default=DEFAULT_DAYS, show_default=True, type=click.IntRange(1, MAX_DAYS), help="Lifetime."
)
def create_invitation(slug: str, role: str, patterns: tuple[str, ...], note: str, days: int) -> None:
    """Invite one person to workspace SLUG, and print the secret. It is shown only once."""
    with exit_on_hosted_error():
        created = with_contents(
            slug,
            lambda contents: contents.invitations.create(
                Role(role), patterns, note, timedelta(days=days), OPERATOR.id
            ),
        )
    click.echo(created.secret, file=stdout())
    click.echo(f"Expires {created.invitation.expires_at:%Y-%m-%d}. It is valid once.", err=True)


@invitation.command("list")
@click.argument("slug")
@json_option
def list_invitations(slug: str, as_json: bool) -> None:
    """List the invitations to workspace SLUG."""
    with exit_on_hosted_error():
        found = with_contents(slug, lambda contents: contents.invitations.list())
    rows: list[dict[str, Any]] = [
        {
            "id": item.id,
            "role": item.role.value,
            "only": list(item.patterns),
            "note": item.note,
            "expires": item.expires_at.isoformat(timespec="seconds"),
            "acceptedBy": item.accepted_by,
        }
        for item in found
    ]
    if use_json(as_json):
        print_json(rows)
        return
    for row in rows:
        accepted = row["acceptedBy"]
        state = f"accepted by {accepted}" if accepted else f"until {row['expires'][:10]}"
        click.echo(f"{row['id']}  {row['role']}  {state}  {row['note']}".rstrip(), file=stdout())


@invitation.command("revoke")
@click.argument("slug")
@click.argument("id")
def revoke_invitation(slug: str, id: str) -> None:
    """Revoke an invitation to workspace SLUG that no one has accepted."""
    with exit_on_hosted_error():
        if not with_contents(slug, lambda contents: contents.invitations.revoke(id)):
            raise click.ClickException(f"Workspace {slug!r} has no open invitation {id!r}.")
    click.echo(f"Revoked {id}.", file=stdout())


def _with_people(action: Callable[["PostgresPeople"], Awaitable[T]]) -> T:
    from onetool.bootstrap.hosted_admin import open_people

    async def run() -> T:
        async with open_people(variable(DATABASE_URL)) as people:
            return await action(people)

    return asyncio.run(run())
