"""`onetool migrate` and `onetool admin`: the tables and workspaces of a hosted OneTool."""

import os
import sys
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from onetool.domain.identity.interface import acting_through
from onetool.domain.identity.principal import OPERATOR, acting_as
from onetool.domain.text.json_text import pretty
from onetool.settings.documents import read_settings

from .admin_clusters import clean_up, cluster, move
from .admin_members import grant, key, member
from .admin_people import invitation, person
from .audit import audit
from .command import has_terminal, json_option, print_json, stdout, use_json
from .groups import CommandGroup
from .hosted import KEYS, exit_on_hosted_error, other_clusters, owner_url, variable, with_contents

if TYPE_CHECKING:
    from onetool.bootstrap.hosted_admin import WorkspaceAdmin

NO_LIMIT = "none"
"""Who acts, in audit logs."""
FC = TypeVar("FC", bound=Callable[..., Any] | click.Command)


@click.command()
@click.option("--pending", is_flag=True, help="Only list what would be applied, and whether servers can run.")
@click.option("--last-step", is_flag=True, help="Also remove what only servers of the version before use.")
def migrate(pending: bool, last_step: bool) -> None:
    """Create or update the tables of a hosted OneTool, in all its clusters.

    Uses ONETOOL_OWNER_DATABASE_URL, or ONETOOL_DATABASE_URL if it is not set; for other clusters,
    ONETOOL_CLUSTER_NAME_OWNER_URL or ONETOOL_CLUSTER_NAME_URL. The first time, its role must be able to
    create roles. From the first time with ONETOOL_KEYS on, servers with other keys do not start.
    """
    if pending:
        _list_pending()
        return
    with exit_on_hosted_error():
        from onetool.bootstrap.hosted_admin import migrate_database

        report = partial(click.echo, err=True)
        applied = migrate_database(owner_url(), report, is_last_step=last_step)
        for name, url in other_clusters(is_owner=True).items():
            report(f"Cluster {name}:")
            applied += migrate_database(url, report, is_last_step=last_step)
        if os.environ.get(KEYS, "").strip():
            _administration().check_keys()
    click.echo(f"Applied {len(applied)}." if applied else "The database is up to date.", file=stdout())


@click.group(cls=CommandGroup)
@click.pass_context
def admin(ctx: click.Context) -> None:
    """Manage the workspaces and API keys of a hosted OneTool."""
    ctx.with_resource(acting_as(OPERATOR))
    ctx.with_resource(acting_through("cli"))


for command in (cluster, member, grant, key, invitation, person, audit):
    admin.add_command(command)


@admin.command("new-key")
@click.argument("name", default="k1")
def new_ring_key(name: str) -> None:
    """Print a new key for ONETOOL_KEYS. Without this key, sealed values are lost."""
    with exit_on_hosted_error():
        from onetool.bootstrap.hosted_admin import new_key

        click.echo(new_key(name), file=stdout())


@admin.command()
def check() -> None:
    """Check that this version fits the database, and that ONETOOL_KEYS open sealed values. Changes nothing.

    Opens one value of each kind in each workspace.
    """
    with exit_on_hosted_error():
        from onetool.bootstrap.hosted_admin import check as check_installation

        found = check_installation(owner_url(), variable(KEYS), other_clusters(is_owner=True))
    if found.problems:
        raise click.ClickException("Values cannot be opened:\n" + "\n".join(found.problems))
    click.echo(
        "The tables and keys fit. "
        f"Workspaces: {found.workspaces:,}. Sealed values that were opened: {found.opened:,}.",
        file=stdout(),
    )


@admin.command("rewrap-keys")
def rewrap_keys() -> None:
    """Seal the keys of all workspaces with the first key of ONETOOL_KEYS, while servers run.

    Afterwards, the other keys of ONETOOL_KEYS are not needed any more.
    """
    with exit_on_hosted_error():
        from onetool.bootstrap.hosted_admin import rewrap

        count = rewrap(owner_url(), variable(KEYS), other_clusters(is_owner=True))
    click.echo(f"Keys that were sealed again: {count:,}.", file=stdout())


@admin.command("rotate-keys")
@click.argument("slug", metavar="[WORKSPACE]", required=False)
@click.option("--all", "is_all", is_flag=True, help="Rotate the keys of all workspaces, also deleted ones.")
@click.option(
    "--older-than",
    type=click.IntRange(0, 36_500),
    metavar="DAYS",
    help="Skip keys that are younger.",
)
def rotate_keys(slug: str | None, is_all: bool, older_than: int | None) -> None:
    """Give a workspace a new data key, seal all its values with it, and delete the old key.

    Servers run meanwhile. After an interruption, run the command again: it completes what it began.
    """
    if is_all == bool(slug):
        raise click.UsageError("Name a workspace, or use --all.")
    with exit_on_hosted_error():
        from onetool.bootstrap.hosted_admin import rotate

        age = None if older_than is None else timedelta(days=older_than)
        others = other_clusters(is_owner=True)
        report = partial(click.echo, err=True)
        done = rotate(owner_url(), variable(KEYS), slug, age, report, others=others)
    unreadable = [f"{item.slug}: {line}" for item in done for line in item.unreadable]
    if unreadable:
        lines = "\n".join(unreadable)
        raise click.ClickException(
            f"Values cannot be opened, so older keys stay:\n{lines}\n"
            "Store or delete these values, and run the command again."
        )
    count = sum(item.values for item in done)
    click.echo(f"Workspaces with new keys: {len(done):,}. Values sealed again: {count:,}.", file=stdout())


@admin.group()
def workspace() -> None:
    """Create, list, move and delete workspaces."""


for command in (move, clean_up):
    workspace.add_command(command)


@workspace.command("create")
@click.argument("slug")
@click.option("--name", default="", help="Name for people. Default: the slug.")
@click.option("--cluster", help="Cluster for its rows. Default: the open one with the fewest workspaces.")
def create_workspace(slug: str, name: str, cluster: str | None) -> None:
    """Create a workspace. SLUG is its name in URLs: /w/SLUG/mcp."""
    with exit_on_hosted_error():
        _administration().create(slug, name, cluster)
    click.echo(
        f"Created workspace {slug}. Create a key: onetool admin key create {slug} NAME --role owner",
        file=stdout(),
    )


@workspace.command("list")
@json_option
def list_workspaces(as_json: bool) -> None:
    """List workspaces."""
    with exit_on_hosted_error():
        found = _administration().list()
    if use_json(as_json):
        print_json([{"slug": item.slug, "name": item.name, "cluster": item.cluster} for item in found])
        return
    for item in found:
        click.echo(f"{item.slug}  {item.name}  {item.cluster}", file=stdout())


@workspace.command("delete")
@click.argument("slug")
@click.confirmation_option(prompt="Its API keys stop working. Delete the workspace?")
def delete_workspace(slug: str) -> None:
    """Mark a workspace as deleted. Its rows stay in the database."""
    with exit_on_hosted_error():
        if not _administration().delete(slug):
            raise click.ClickException(f"There is no workspace {slug!r}.")
    click.echo(f"Deleted workspace {slug}.", file=stdout())


class LimitType(click.ParamType["int | str"]):
    """A number, or `none` for no limit."""

    name = "N|none"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int | str:
        """Return the number or `none`."""
        text = str(value)
        if text != NO_LIMIT and not (text.isascii() and text.isdigit()):
            self.fail(f"{value!r} is neither a number nor {NO_LIMIT}.", param, context)
        return text if text == NO_LIMIT else int(text)


def _limit_option(name: str, help: str) -> Callable[[FC], FC]:
    return click.option(f"--{name}", type=LimitType(), help=help)


@workspace.command("limits")
@click.argument("slug")
@_limit_option("calls-per-minute", "Calls of all principals together.")
@_limit_option("principal-calls-per-minute", "Calls of each principal.")
@_limit_option("concurrent-calls", "Calls at a time in each server.")
@_limit_option("concurrent-runs", "Runs of code at a time in each server.")
@_limit_option("stored-tools", "Tool versions in bundles.")
@_limit_option("secrets", "Secrets.")
@_limit_option("result-bytes", "Bytes of stored results.")
def workspace_limits(slug: str, **limits: Any) -> None:
    """Show the limits of workspace SLUG, or change those that are given. `none`: no limit.

    Running servers follow before the next call. The workspace cannot change its limits.
    """
    given = {name: value for name, value in limits.items() if value is not None}
    changes = {name: None if value == NO_LIMIT else value for name, value in given.items()}
    with exit_on_hosted_error():
        found = _administration().change_limits(slug, changes)
        if found is None:
            raise click.ClickException(f"There is no workspace {slug!r}.")
    print_json(found.to_json())


@admin.group()
def settings() -> None:
    """Show and replace the settings of a workspace."""


@settings.command("show")
@click.argument("slug")
def show_settings(slug: str) -> None:
    """Print the settings of workspace SLUG as JSON."""
    with exit_on_hosted_error():
        found = with_contents(slug, lambda contents: contents.settings())
    click.echo(pretty(found.document), file=stdout())


@settings.command("set")
@click.argument("slug")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def set_settings(slug: str, file: Path) -> None:
    """Replace the settings of workspace SLUG with those in FILE: YAML as in onetool.yaml."""
    with exit_on_hosted_error():
        document = read_settings(file)
        version = with_contents(slug, lambda contents: contents.replace_settings(document, "operator"))
    click.echo(f"Stored version {version} of the settings of {slug}.", file=stdout())


@admin.group()
def secret() -> None:
    """Set, list and delete the secrets of a workspace."""


@secret.command("set")
@click.argument("slug")
@click.argument("name")
@click.option("--host", "hosts", multiple=True, help="Only send it to this host. Repeatable.")
def set_secret(slug: str, name: str, hosts: tuple[str, ...]) -> None:
    """Set secret NAME of workspace SLUG. The value is asked for, or read from stdin."""
    is_typed = has_terminal()
    value: str = click.prompt("Value", hide_input=True) if is_typed else sys.stdin.readline().rstrip("\n")
    if not value:
        raise click.ClickException("The value is empty.")
    with exit_on_hosted_error():
        with_contents(slug, lambda contents: contents.secrets.put(name, value, hosts or None))
    click.echo(f"Stored secret {name} of {slug}.", file=stdout())


@secret.command("list")
@click.argument("slug")
def list_secrets(slug: str) -> None:
    """List the names of the secrets of workspace SLUG."""
    with exit_on_hosted_error():
        found = with_contents(slug, lambda contents: contents.secret_names())
    for name in found:
        click.echo(name, file=stdout())


@secret.command("delete")
@click.argument("slug")
@click.argument("name")
def delete_secret(slug: str, name: str) -> None:
    """Delete secret NAME of workspace SLUG."""
    with exit_on_hosted_error():
        if not with_contents(slug, lambda contents: contents.secrets.delete(name)):
            raise click.ClickException(f"Workspace {slug!r} has no secret {name!r}.")
    click.echo(f"Deleted secret {name} of {slug}.", file=stdout())


def _list_pending() -> None:
    with exit_on_hosted_error():
        from onetool.bootstrap.hosted_admin import pending_migrations

        urls = (owner_url(), *other_clusters(is_owner=True).values())
        found = {item.name: item for url in urls for item in pending_migrations(url)}
    for item in found.values():
        note = "servers can run meanwhile" if item.is_compatible else "stop all servers and workers first"
        click.echo(f"{item.name}  {note}", file=stdout())
    if not found:
        click.echo("The database is up to date.", file=stdout())


def _administration() -> "WorkspaceAdmin":
    from onetool.bootstrap.hosted_admin import workspace_admin

    return workspace_admin(owner_url(), variable(KEYS), other_clusters(is_owner=True))
