"""`onetool migrate`, `onetool admin` and `onetool serve --hosted`: OneTool for teams on PostgreSQL."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from onetool.domain.errors import SettingsError, StoreUnavailable
from onetool.domain.text.json_text import pretty
from onetool.settings.configuration import operator_packs

from .command import current_paths, has_terminal, json_option, print_json, stdout, use_json
from .reaper import reap

if TYPE_CHECKING:
    from onetool.bootstrap.hosted import HostedParts
    from onetool.bootstrap.hosted_admin import WorkspaceAdmin, WorkspaceContents
    from onetool.interfaces.rest.hosted import MountedWorkspace

DATABASE_URL, OWNER_URL, KEYS = "ONETOOL_DATABASE_URL", "ONETOOL_OWNER_DATABASE_URL", "ONETOOL_KEYS"
DEFAULT_LIFETIME_DAYS = 90
FIRST_REAP_S = 60.0
"""Seconds after a workspace was opened. One that is seldom used is closed long before the interval ends."""
T = TypeVar("T")


@click.command()
def migrate() -> None:
    """Create or update the tables of a hosted OneTool.

    Uses ONETOOL_OWNER_DATABASE_URL, or ONETOOL_DATABASE_URL if it is not set. The first time, its role must
    be able to create roles.
    """
    with exit_on_hosted_error():
        from onetool.bootstrap.hosted_admin import migrate_database

        applied = migrate_database(owner_url(), lambda line: click.echo(line, err=True))
    click.echo(f"Applied {len(applied)}." if applied else "The database is up to date.", file=stdout())


@click.group()
def admin() -> None:
    """Manage the workspaces and API keys of a hosted OneTool."""


@admin.command("new-key")
@click.argument("name", default="k1")
def new_ring_key(name: str) -> None:
    """Print a new key for ONETOOL_KEYS. Without this key, sealed values are lost."""
    with exit_on_hosted_error():
        from onetool.bootstrap.hosted_admin import new_key

        click.echo(new_key(name), file=stdout())


@admin.group()
def workspace() -> None:
    """Create, list and delete workspaces."""


@workspace.command("create")
@click.argument("slug")
@click.option("--name", default="", help="Name for people. Default: the slug.")
def create_workspace(slug: str, name: str) -> None:
    """Create a workspace. SLUG is its name in URLs: /w/SLUG/mcp."""
    with exit_on_hosted_error():
        _administration().create(slug, name)
    click.echo(f"Created workspace {slug}. Create a key: onetool admin key create {slug} NAME", file=stdout())


@workspace.command("list")
@json_option
def list_workspaces(as_json: bool) -> None:
    """List workspaces."""
    with exit_on_hosted_error():
        found = _administration().list()
    if use_json(as_json):
        print_json([{"slug": item.slug, "name": item.name} for item in found])
        return
    for item in found:
        click.echo(f"{item.slug}  {item.name}", file=stdout())


@workspace.command("delete")
@click.argument("slug")
@click.confirmation_option(prompt="Its API keys stop working. Delete the workspace?")
def delete_workspace(slug: str) -> None:
    """Mark a workspace as deleted. Its rows stay in the database."""
    with exit_on_hosted_error():
        if not _administration().delete(slug):
            raise click.ClickException(f"There is no workspace {slug!r}.")
    click.echo(f"Deleted workspace {slug}.", file=stdout())


@admin.group()
def key() -> None:
    """Create, list and revoke API keys."""


@key.command("create")
@click.argument("slug")
@click.argument("name")
@click.option("--owner", default="", help="On whose behalf the key calls tools. Default: NAME.")
@click.option(
    "--days", default=DEFAULT_LIFETIME_DAYS, show_default=True, type=click.IntRange(1, 3650), help="Lifetime."
)
def create_key(slug: str, name: str, owner: str, days: int) -> None:
    """Create an API key of workspace SLUG and print it. It is shown only once."""
    with exit_on_hosted_error():
        lifetime = timedelta(days=days)
        created = _with_contents(slug, lambda contents: contents.keys.create(owner or name, name, lifetime))
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
        found = _with_contents(slug, lambda contents: contents.keys.list())
    rows = [
        {
            "id": item.id,
            "name": item.name,
            "owner": item.owner,
            "prefix": item.prefix,
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
        click.echo(f"{row['id']}  {row['prefix']}…  {state}  {row['name']} ({row['owner']})", file=stdout())


@key.command("revoke")
@click.argument("slug")
@click.argument("id")
def revoke_key(slug: str, id: str) -> None:
    """Revoke an API key of workspace SLUG. Running servers refuse it within 30 seconds."""
    with exit_on_hosted_error():
        if not _with_contents(slug, lambda contents: contents.keys.revoke(id)):
            raise click.ClickException(f"Workspace {slug!r} has no valid key {id!r}.")
    click.echo(f"Revoked {id}.", file=stdout())


@admin.group()
def settings() -> None:
    """Show and replace the settings of a workspace."""


@settings.command("show")
@click.argument("slug")
def show_settings(slug: str) -> None:
    """Print the settings of workspace SLUG as JSON."""
    with exit_on_hosted_error():
        found = _with_contents(slug, lambda contents: contents.settings())
    click.echo(pretty(found.document), file=stdout())


@settings.command("set")
@click.argument("slug")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def set_settings(slug: str, file: Path) -> None:
    """Replace the settings of workspace SLUG with those in FILE: YAML as in onetool.yaml."""
    with exit_on_hosted_error():
        from onetool.files.safe_yaml import parse_yaml

        document = parse_yaml(file, file.read_bytes()).value or {}
        if not isinstance(document, dict):
            raise SettingsError(f"{file}: settings are a map.")
        version = _with_contents(slug, lambda contents: contents.replace_settings(document, "operator"))
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
        _with_contents(slug, lambda contents: contents.secrets.put(name, value, hosts or None))
    click.echo(f"Stored secret {name} of {slug}.", file=stdout())


@secret.command("list")
@click.argument("slug")
def list_secrets(slug: str) -> None:
    """List the names of the secrets of workspace SLUG."""
    with exit_on_hosted_error():
        found = _with_contents(slug, lambda contents: contents.secret_names())
    for name in found:
        click.echo(name, file=stdout())


@secret.command("delete")
@click.argument("slug")
@click.argument("name")
def delete_secret(slug: str, name: str) -> None:
    """Delete secret NAME of workspace SLUG."""
    with exit_on_hosted_error():
        if not _with_contents(slug, lambda contents: contents.secrets.delete(name)):
            raise click.ClickException(f"Workspace {slug!r} has no secret {name!r}.")
    click.echo(f"Deleted secret {name} of {slug}.", file=stdout())


def serve_hosted(sock: socket.socket, hosts: tuple[str, ...], log_level: str, reap_interval: float) -> None:
    """Serve all workspaces until a signal arrives."""
    with exit_on_hosted_error():
        asyncio.run(_serve(sock, hosts, log_level, reap_interval))


async def _serve(sock: socket.socket, hosts: tuple[str, ...], log_level: str, reap_interval: float) -> None:
    from onetool.bootstrap.hosted import ApiKeyAuthenticator, open_hosted
    from onetool.bootstrap.workspaces import OpenWorkspaces
    from onetool.interfaces.rest.hosted import HostedApp
    from onetool.interfaces.rest.server import BACKLOG, create_server
    from onetool.interfaces.web.static import StaticApp

    packs = operator_packs(current_paths())
    async with open_hosted(
        _variable(DATABASE_URL), _variable(KEYS), log_level=log_level, pack_dirs=packs
    ) as parts:
        workspaces: OpenWorkspaces[MountedWorkspace] = OpenWorkspaces(
            lambda slug: _mounted(parts, slug, reap_interval)
        )
        app = HostedApp(
            workspaces,
            authenticate=ApiKeyAuthenticator(parts).authenticate,
            check_ready=parts.check_ready,
            threads=parts.threads,
            hosts=hosts,
            web_ui=StaticApp(),
        )
        server, loop = create_server(app), asyncio.get_running_loop()

        def stop() -> None:
            app.drain()
            server.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop)
        sock.listen(BACKLOG)
        address, port = sock.getsockname()[:2]
        click.echo(f"OneTool listens on http://{address}:{port}/w/WORKSPACE/", file=stdout())
        stdout().flush()
        watch = loop.create_task(workspaces.watch())
        try:
            await server.serve(sockets=[sock])
        finally:
            watch.cancel()
            await workspaces.aclose()


@asynccontextmanager
async def _mounted(
    parts: "HostedParts", slug: str, reap_interval: float
) -> AsyncIterator["MountedWorkspace"]:
    from onetool.bootstrap.hosted import open_workspace
    from onetool.interfaces.mcp.transports import NamedApps
    from onetool.interfaces.rest.hosted import MountedWorkspace

    async with open_workspace(parts, slug) as opened:
        mcp = NamedApps(opened.runtime)
        delay = min(reap_interval, FIRST_REAP_S)
        reaper = asyncio.get_running_loop().create_task(reap(opened.runtime, reap_interval, delay=delay))
        try:
            yield MountedWorkspace(opened.runtime, opened.credentials, mcp)
        finally:
            reaper.cancel()
            await mcp.close()


def owner_url() -> str:
    """Return the URL of the role that owns the tables."""
    return os.environ.get(OWNER_URL) or _variable(DATABASE_URL)


@contextmanager
def exit_on_hosted_error() -> Iterator[None]:
    """Print what is wrong with the configuration or the database, and exit."""
    try:
        yield
    except (SettingsError, StoreUnavailable) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from None
    except ModuleNotFoundError as error:
        click.echo(
            f"Error: {error.name} is not installed. Run: pip install 'onetool-gateway[hosted]'", err=True
        )
        raise SystemExit(2) from None


def _administration() -> "WorkspaceAdmin":
    from onetool.bootstrap.hosted_admin import workspace_admin

    return workspace_admin(owner_url(), _variable(KEYS))


def _with_contents(slug: str, action: Callable[["WorkspaceContents"], Awaitable[T]]) -> T:
    """Open a workspace and do something with what it contains."""
    from onetool.bootstrap.hosted_admin import open_contents

    async def run() -> T:
        async with open_contents(_variable(DATABASE_URL), _variable(KEYS), slug) as contents:
            return await action(contents)

    return asyncio.run(run())


def _variable(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise SettingsError(f"Set {name}. See docs/hosted.md.")
    return value
