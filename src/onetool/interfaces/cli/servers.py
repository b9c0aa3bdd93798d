"""`onetool servers`: list, test, approve and log in to MCP servers."""

import asyncio
import webbrowser
from collections.abc import Mapping, Sequence
from typing import Any

import click

from onetool.domain.errors import LoginFailed
from onetool.domain.servers.manifest import QuarantinedTool
from onetool.domain.text.strings import pluralize
from onetool.domain.text.suggestions import did_you_mean
from onetool.runtime.runtime import Runtime
from onetool.settings.schema import ServerSettings

from .command import (
    confirm,
    json_option,
    load_current_configuration,
    mask,
    print_json,
    stdout,
    use_json,
    with_runtime,
)
from .completion import server_names
from .servers_config import add, import_servers, remove


@click.group()
def servers() -> None:
    """List, add and test MCP servers. Each server's tools become a pack named after the server.

    \b
    Examples:
      onetool servers import claude-desktop
      onetool servers add github -- npx -y @modelcontextprotocol/server-github
      onetool servers add docs --url https://example.com/mcp
      onetool servers test
    """


servers.add_command(add)
servers.add_command(remove)
servers.add_command(import_servers)


@servers.command("list")
@json_option
def list_servers(as_json: bool) -> None:
    """List servers without starting them.

    \b
    Example:
      onetool servers list
    """

    async def describe(runtime: Runtime) -> list[dict[str, Any]]:
        return await runtime.state.servers.describe()

    descriptions = with_runtime(describe)
    if use_json(as_json):
        print_json(descriptions)
        return
    if not descriptions:
        click.echo("No servers configured. Add one: onetool servers import claude-desktop", file=stdout())
        return
    from .tables import table

    rows = [
        (
            server["name"],
            server["state"],
            _format_count(server["tools"]),
            _format_count(server["quarantined"]),
            server["endpoint"],
        )
        for server in descriptions
    ]
    table(("SERVER", "STATE", "TOOLS", "QUARANTINED", "ENDPOINT"), rows)


@servers.command()
@click.argument("names", nargs=-1, shell_complete=server_names)
@json_option
def test(names: tuple[str, ...], as_json: bool) -> None:
    """Connect to servers and report the results. Without NAMES, test all of them.

    \b
    Examples:
      onetool servers test
      onetool servers test github
    """
    selected = _select(names)
    if not selected:
        click.echo("No servers to test. Add one: onetool servers import claude-desktop", err=True)
        return
    click.echo(f"Testing {pluralize(len(selected), 'server')} ...", err=True)

    async def probe(runtime: Runtime) -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(runtime.state.servers.probe(name) for name in selected)))

    results = with_runtime(probe)
    if use_json(as_json):
        print_json(results)
    else:
        from .tables import table

        rows = [
            (
                result["name"],
                "ok" if result["ok"] else "failed",
                _format_count(result["tools"]),
                f"{result['seconds']:.1f} s",
            )
            for result in results
        ]
        table(("SERVER", "STATUS", "TOOLS", "TIME"), rows)
        for result in results:
            if result["reason"]:
                click.echo(mask(f"{result['name']}: {result['reason']}"), file=stdout())
    if not all(result["ok"] for result in results):
        raise SystemExit(1)


@servers.command()
@click.argument("name", shell_complete=server_names)
@json_option
def tools(name: str, as_json: bool) -> None:
    """List the tools of a server: whether each is treated as read-only, and why.

    \b
    Example:
      onetool servers tools github
    """
    _select([name])

    async def list_access(runtime: Runtime) -> list[dict[str, Any]]:
        server = runtime.state.servers[name]
        await server.count()  # starts a server whose tools are unknown
        quarantined = {tool.name: tool.reason for tool in await server.quarantined()}
        return [
            {
                "name": access.tool.name,
                "access": "read-only" if access.read_only else "changes",
                "reason": access.reason,
                "quarantined": quarantined.get(access.tool.name, ""),
            }
            for access in await server.access()
        ]

    rows = with_runtime(list_access)
    if use_json(as_json):
        print_json(rows)
        return
    from .tables import table

    table(
        ("TOOL", "TREATED AS", "BECAUSE"),
        [
            (
                row["name"],
                "quarantined" if row["quarantined"] else row["access"],
                row["quarantined"] or row["reason"],
            )
            for row in rows
        ],
    )


@servers.command()
@click.argument("name", shell_complete=server_names)
@click.argument("tools", nargs=-1)
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def approve(name: str, tools: tuple[str, ...], yes: bool) -> None:
    """Approve a server's quarantined tools. Without TOOLS, approve all of them.

    A tool is quarantined if its definition has changed since you approved it, if the server added it later,
    or if its description looks like prompt injection. A tool that the server declares as read-only is
    treated as such after you approved it by name. The current definition is shown before you confirm.

    \b
    Examples:
      onetool servers approve github
      onetool servers approve github create_issue --yes
    """
    _select([name])

    async def approve_tools(runtime: Runtime) -> int:
        server = runtime.state.servers[name]
        await runtime.state.servers.probe(name)
        selected = [
            tool for tool in await _tools_to_approve(runtime, name, tools) if not tools or tool.name in tools
        ]
        if unknown := set(tools) - {tool.name for tool in selected}:
            raise click.ClickException(f"Server {name!r} has no tool {min(unknown)!r} to approve.")
        if not selected:
            return 0
        _show_quarantined(selected)
        if not yes:
            confirm(f"Approve {pluralize(len(selected), 'tool')}?")
        try:
            await server.approve({tool.name: tool.new.pin for tool in selected})
        except ValueError as error:
            raise click.ClickException(mask(str(error))) from None
        return len(selected)

    count = with_runtime(approve_tools)
    click.echo(
        f"Approved {pluralize(count, 'tool')} of {name}." if count else f"{name} has no quarantined tools.",
        file=stdout(),
    )


@servers.command()
@click.argument("name", shell_complete=server_names)
def login(name: str) -> None:
    """Log in to a remote server in the browser. Stores the tokens in a file that only you can read.

    \b
    Example:
      onetool servers login docs
    """
    _select([name])

    async def log_in(runtime: Runtime) -> str:
        server = runtime.state.servers[name]
        try:
            await server.login(lambda text: click.echo(text, err=True), webbrowser.open)
        except LoginFailed as error:
            raise click.ClickException(mask(str(error))) from None
        return server.status().reason

    if reason := with_runtime(log_in):
        raise click.ClickException(mask(f"Logged in, but the server is not usable: {reason}"))
    click.echo(f"Logged in to {name}. Test it with: onetool servers test {name}", file=stdout())


async def _tools_to_approve(runtime: Runtime, name: str, names: Sequence[str]) -> list[QuarantinedTool]:
    """Return the quarantined tools, and tools with these names whose read-only claim is not accepted."""
    server = runtime.state.servers[name]
    quarantined = list(await server.quarantined())
    known = {tool.name for tool in quarantined}
    claims = [
        QuarantinedTool(name=access.tool.name, reason=access.reason, old=None, new=access.tool)
        for access in await server.access()
        if access.is_claim_unaccepted and access.tool.name in names and access.tool.name not in known
    ]
    return quarantined + claims


def _show_quarantined(tools: Sequence[QuarantinedTool]) -> None:
    for tool in tools:
        click.echo(mask(f"{tool.name}: {tool.reason}"), file=stdout())
        click.echo(mask(tool.difference()) + "\n", file=stdout())


def _select(names: Sequence[str]) -> list[str]:
    """Validate server names and return them; without names, return all enabled servers.

    Raises:
        BadParameter: A server is unknown or disabled.
    """
    configured: Mapping[str, ServerSettings] = load_current_configuration().settings.servers
    for name in names:
        if name not in configured:
            raise click.BadParameter(f"unknown server {name!r}.{did_you_mean(name, configured)}")
        if not configured[name].enabled:
            raise click.BadParameter(f"server {name!r} is disabled in the settings.")
    return list(names) or [name for name, server in configured.items() if server.enabled]


def _format_count(value: int | None) -> str:
    return "-" if value is None else str(value)
