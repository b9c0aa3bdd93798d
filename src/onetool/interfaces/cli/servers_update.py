"""`onetool servers update`: newer versions of servers that were installed from the MCP registry."""

from typing import Any

import click

from onetool.domain.servers.manifest import QuarantinedTool
from onetool.domain.servers.registry_entry import LATEST
from onetool.domain.text.suggestions import did_you_mean
from onetool.interfaces.server_settings.installation import format_command
from onetool.interfaces.server_settings.registry_update import (
    check_installed_package,
    is_newer,
    read_installed,
    write_update,
)
from onetool.interfaces.server_settings.registry_values import GivenValues
from onetool.runtime.runtime import Runtime

from .command import current_paths, load_current_configuration, mask, stdout, with_runtime
from .completion import server_names
from .config_files import exit_on_edit_error
from .registry_plan import (
    confirm_reviewed,
    exit_on_refusal,
    plan_installation,
    read_entry,
    single_values,
)
from .registry_view import show_settings
from .servers_config import parse_pairs


@click.command()
@click.argument("name", required=False, shell_complete=server_names)
@click.option(
    "--env",
    multiple=True,
    callback=parse_pairs,
    metavar="NAME=VALUE",
    help="Value for the new version.",
)
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def update(name: str | None, env: dict[str, str], yes: bool) -> None:
    """Update servers that were installed from the MCP registry. Without NAME, update all of them.

    Starts the new version after you confirm, and shows which definitions of tools have changed.

    \b
    Examples:
      onetool servers update
      onetool servers update filesystem
    """
    configured = load_current_configuration().settings.servers
    if name is not None and name not in configured:
        raise click.BadParameter(f"unknown server {name!r}.{did_you_mean(name, configured)}")
    failed = False
    for server in [name] if name is not None else configured:
        try:
            is_ok = _update_server(server, env, yes=yes, is_named=name is not None)
        except click.ClickException as error:
            click.echo(mask(f"{server}: {error.message}"), err=True)
            is_ok = False
        failed |= not is_ok
    if failed:
        raise SystemExit(1)


def _update_server(server: str, env: dict[str, str], *, yes: bool, is_named: bool) -> bool:
    """Return whether the server works or needed no update."""
    with exit_on_refusal():
        record = read_installed(load_current_configuration(), server)
    if record is None:
        if is_named:
            raise click.ClickException("was not installed from the registry.")
        return True
    entry = read_entry(record.name, LATEST)
    if not is_newer(entry, record):
        click.echo(f"{server}: {record.version} is up to date.", file=stdout())
        return True
    with exit_on_refusal():
        remark = check_installed_package(record)
    if remark:
        click.echo(mask(remark), err=True)
    given = GivenValues(named=single_values(env), known=record.values)
    planned = plan_installation(server, entry, record.kind, given)
    click.echo(mask(f"Installed    {record.version}: {format_command(record.server)}"), err=True)
    show_settings(planned.server)
    confirm_reviewed(f"Update {server} from {record.version} to {entry.version}?", yes)
    with exit_on_edit_error(), exit_on_refusal():
        write_update(current_paths(), server, planned)
    click.echo(f"Updated {server} to {entry.version}.", file=stdout())
    return _show_changes(server)


def _show_changes(server: str) -> bool:
    """Start the new version, show changed definitions and return whether it works."""
    if not load_current_configuration().settings.servers[server].enabled:
        click.echo(f"{server} is disabled in the settings and was not started.", file=stdout())
        return True

    async def compare(runtime: Runtime) -> tuple[dict[str, Any], list[QuarantinedTool]]:
        result = await runtime.state.servers.probe(server)
        return result, list(await runtime.state.servers[server].quarantined())

    result, quarantined = with_runtime(compare)
    for tool in quarantined:
        click.echo(mask(f"{tool.name}: {tool.reason}\n{tool.difference()}\n"), file=stdout())
    if not result["ok"]:
        click.echo(mask(f"{server} does not work: {result['reason']}"), err=True)
    elif quarantined:
        click.echo(f"Review the changes: onetool servers approve {server}", file=stdout())
    else:
        click.echo(f"{server} works. No definition of a tool has changed.", file=stdout())
    return bool(result["ok"])
