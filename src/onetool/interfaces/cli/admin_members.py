"""`onetool admin member`, `grant` and `key`: who may do what in a workspace of a hosted OneTool."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onetool.domain.calls.effect import Effect
from onetool.domain.identity.principal import current_principal
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind, StoredGrant

from .command import json_option, print_json, stdout, use_json
from .groups import CommandGroup
from .hosted import exit_on_hosted_error, with_contents

if TYPE_CHECKING:
    from onetool.bootstrap.hosted_admin import WorkspaceContents

DEFAULT_LIFETIME_DAYS = 90
FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


def _role_option(help: str, **options: Any) -> Callable[[FC], FC]:
    show = "default" in options
    return click.option(
        "--role", type=click.Choice([role.value for role in Role]), help=help, show_default=show, **options
    )


def _only_option() -> Callable[[FC], FC]:
    help = "Only tools that match, such as 'github.*'. Repeatable."
    return click.option("--only", "patterns", multiple=True, help=help)


def _kind_option() -> Callable[[FC], FC]:
    kinds = click.Choice([kind.value for kind in MemberKind])
    return click.option("--kind", type=kinds, default=MemberKind.SERVICE.value, show_default=True)


@click.group(cls=CommandGroup)
def member() -> None:
    """Add, list and remove members of a workspace, and their roles.

    \b
    owner    members, grants, API keys, and everything below
    maker    bundles, tools and servers, and everything below
    caller   calls of tools
    auditor  the audit log and all recorded calls, and nothing else
    """


@member.command("set")
@click.argument("slug")
@click.argument("id")
@_kind_option()
@_role_option("The role.", required=True)
@click.option(
    "--only", "patterns", multiple=True, help="Only tools that match, such as 'github.*'. Repeatable."
)
def set_member(slug: str, id: str, kind: str, role: str, patterns: tuple[str, ...]) -> None:
    """Give a member of workspace SLUG a role. ID: the name of a service, or the id of a person or group."""
    changed = Member(MemberKind(kind), id, Role(role), patterns, current_principal().id)
    with exit_on_hosted_error():
        with_contents(slug, lambda contents: contents.members.put(changed))
    click.echo(f"{id} is {role} of {slug}.", file=stdout())


@member.command("list")
@click.argument("slug")
@json_option
def list_members(slug: str, as_json: bool) -> None:
    """List the members of workspace SLUG with their grants."""
    with exit_on_hosted_error():
        members, grants = with_contents(slug, _members_and_grants)
    rows: list[dict[str, Any]] = [
        {
            "kind": str(item.kind),
            "id": item.id,
            "name": item.name,
            "role": str(item.role),
            "only": list(item.patterns),
            "grants": [
                {"id": grant.id, "effect": str(grant.effect), "pattern": grant.pattern}
                for grant in grants
                if (grant.kind, grant.member) == (item.kind, item.id)
            ],
        }
        for item in members
    ]
    if use_json(as_json):
        print_json(rows)
        return
    for row in rows:
        name = f" ({row['name']})" if row["name"] else ""
        only = f"  only {', '.join(row['only'])}" if row["only"] else ""
        click.echo(f"{row['role']}  {row['kind']} {row['id']}{name}{only}", file=stdout())
        for grant in row["grants"]:
            click.echo(f"    {grant['effect']} {grant['pattern']}  {grant['id']}", file=stdout())


@member.command("remove")
@click.argument("slug")
@click.argument("id")
@_kind_option()
def remove_member(slug: str, id: str, kind: str) -> None:
    """Remove a member of workspace SLUG, and revoke its API keys."""
    with exit_on_hosted_error():
        if not with_contents(slug, lambda contents: contents.members.remove(MemberKind(kind), id)):
            raise click.ClickException(f"The {kind} {id!r} is not a member of {slug!r}.")
    click.echo(f"Removed {id} from {slug}.", file=stdout())


@click.group(cls=CommandGroup)
def grant() -> None:
    """Add and remove exceptions for single tools: allow, ask or deny."""


@grant.command("add")
@click.argument("slug")
@click.argument("member")
@click.argument("effect", type=click.Choice(["allow", "ask", "deny"]))
@click.argument("pattern")
@_kind_option()
def add_grant(slug: str, member: str, effect: str, pattern: str, kind: str) -> None:
    """Grant MEMBER of workspace SLUG an exception for tools that match PATTERN, such as 'github.*'.

    \b
    allow  without approval
    ask    only after approval
    deny   never
    """
    with exit_on_hosted_error():
        added = with_contents(
            slug,
            lambda contents: contents.members.put_grant(
                MemberKind(kind), member, Effect[effect.upper()], pattern, current_principal().id
            ),
        )
    click.echo(f"Added {added.id}: {member} {effect} {pattern}.", file=stdout())


@grant.command("remove")
@click.argument("slug")
@click.argument("id")
def remove_grant(slug: str, id: str) -> None:
    """Remove a grant of workspace SLUG by its id."""
    with exit_on_hosted_error():
        if not with_contents(slug, lambda contents: contents.members.remove_grant(id)):
            raise click.ClickException(f"Workspace {slug!r} has no grant {id!r}.")
    click.echo(f"Removed grant {id}.", file=stdout())


@click.group(cls=CommandGroup)
def key() -> None:
    """Create, list and revoke API keys."""


@key.command("create")
@click.argument("slug")
@click.argument("name")
@click.option("--owner", default="", help="The member on whose behalf the key calls tools. Default: NAME.")
@_role_option("The role of an owner that is not a member yet.", default="caller")
@click.option(
    "--only", "patterns", multiple=True, help="Only tools that match, such as 'github.*'. Repeatable."
)
@click.option(
    "--days", default=DEFAULT_LIFETIME_DAYS, show_default=True, type=click.IntRange(1, 3650), help="Lifetime."
)
def create_key(slug: str, name: str, owner: str, days: int, **limits: Any) -> None:
    """Create an API key of workspace SLUG and print it. It is shown only once.

    A key never allows more than its owner may do.
    """
    with exit_on_hosted_error():
        created = with_contents(
            slug,
            lambda contents: contents.create_key(
                owner or name,
                name,
                timedelta(days=days),
                limits["patterns"],
                role=Role(limits["role"]),
            ),
        )
    click.echo(created.text, file=stdout())
    click.echo(
        f"Expires {created.key.expires_at:%Y-%m-%d}. It is not stored and cannot be shown again.", err=True
    )


@key.command("list")
@click.argument("slug")
@json_option
def list_keys(slug: str, as_json: bool) -> None:
    """List the API keys of workspace SLUG."""
    with exit_on_hosted_error():
        found = with_contents(slug, lambda contents: contents.keys.list())
    rows: list[dict[str, Any]] = [
        {
            "id": item.id,
            "name": item.name,
            "owner": item.owner,
            "prefix": item.prefix,
            "only": list(item.patterns),
            "expires": item.expires_at.isoformat(timespec="seconds"),
            "revoked": item.revoked_at is not None,
        }
        for item in found
    ]
    if use_json(as_json):
        print_json(rows)
        return
    for row in rows:
        state = "revoked" if row["revoked"] else f"until {str(row['expires'])[:10]}"
        only = f"  only {', '.join(row['only'])}" if row["only"] else ""
        click.echo(
            f"{row['id']}  {row['prefix']}…  {state}  {row['name']} ({row['owner']}){only}", file=stdout()
        )


@key.command("revoke")
@click.argument("slug")
@click.argument("id")
def revoke_key(slug: str, id: str) -> None:
    """Revoke an API key of workspace SLUG. Running servers refuse it at once."""
    with exit_on_hosted_error():
        if not with_contents(slug, lambda contents: contents.keys.revoke(id)):
            raise click.ClickException(f"Workspace {slug!r} has no valid key {id!r}.")
    click.echo(f"Revoked {id}.", file=stdout())


async def _members_and_grants(
    contents: "WorkspaceContents",
) -> tuple[Sequence[Member], Sequence[StoredGrant]]:
    return await contents.members.list(), await contents.members.grants()
