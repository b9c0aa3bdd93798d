"""`onetool servers`: other MCP servers, seen and kept in order."""

import asyncio
import webbrowser
from collections.abc import Mapping, Sequence
from typing import Any

import click

from onetool.domain.errors import LoginFailed
from onetool.domain.manifest import HeldBack
from onetool.domain.nearest import did_you_mean
from onetool.domain.texts import counted
from onetool.runtime import Runtime
from onetool.settings.schema import Server

from .completion import server_names
from .servers_edit import add, import_servers, remove
from .session import answers, confirm, json_option, load, masked, wants_json, with_runtime, write_json


@click.group()
def servers() -> None:
    """Put other MCP servers behind OneTool: each becomes a pack of its name.

    \b
    Examples:
      onetool servers import claude
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
    """List the servers, as far as they are known without starting them.

    \b
    Example:
      onetool servers list
    """

    async def look(runtime: Runtime) -> list[dict[str, Any]]:
        return await runtime.servers.describe()

    found = with_runtime(look)
    if wants_json(as_json):
        write_json(found)
        return
    if not found:
        click.echo("No servers yet. Add one: onetool servers import claude", file=answers())
        return
    from .screen import table

    rows = [
        (one["name"], one["state"], _number(one["tools"]), _number(one["heldBack"]), one["where"])
        for one in found
    ]
    table(("SERVER", "STATE", "TOOLS", "HELD BACK", "WHERE"), rows)


@servers.command()
@click.argument("names", nargs=-1, shell_complete=server_names)
@json_option
def test(names: tuple[str, ...], as_json: bool) -> None:
    """Start servers, all at once, and say what they answer: NAMES, or all.

    \b
    Examples:
      onetool servers test
      onetool servers test github
    """
    chosen = _chosen(names)
    if not chosen:
        click.echo("No servers to test. Add one: onetool servers import claude", err=True)
        return
    click.echo(f"Starting {counted(len(chosen), 'server')} ...", err=True)

    async def look(runtime: Runtime) -> list[dict[str, Any]]:
        return list(await asyncio.gather(*(runtime.servers.try_out(name) for name in chosen)))

    found = with_runtime(look)
    if wants_json(as_json):
        write_json(found)
    else:
        from .screen import table

        rows = [
            (one["name"], "ok" if one["ok"] else "failed", _number(one["tools"]), f"{one['seconds']:.1f} s")
            for one in found
        ]
        table(("SERVER", "ANSWER", "TOOLS", "TOOK"), rows)
        for one in found:
            if one["reason"]:
                click.echo(masked(f"{one['name']}: {one['reason']}"), file=answers())
    if not all(one["ok"] for one in found):
        raise SystemExit(1)


@servers.command()
@click.argument("name", shell_complete=server_names)
@click.argument("tools", nargs=-1)
@click.option("--yes", is_flag=True, help="Do not ask.")
def approve(name: str, tools: tuple[str, ...], yes: bool) -> None:
    """Let held back tools of a server be used: TOOLS by the server's own names, or all that wait.

    A tool is held back when its definition has changed since it was first seen, or when its description
    gives orders to the model. What it says now is shown first.

    \b
    Examples:
      onetool servers approve github
      onetool servers approve github create_issue --yes
    """
    _chosen([name])

    async def decide(runtime: Runtime) -> int:
        server = runtime.servers[name]
        await runtime.servers.try_out(name)
        waiting = [held for held in await server.held_back() if not tools or held.name in tools]
        if unknown := set(tools) - {held.name for held in waiting}:
            raise click.ClickException(f"{name!r} holds back no tool {min(unknown)!r}.")
        if not waiting:
            return 0
        _show(waiting)
        if not yes:
            confirm(f"Let these {len(waiting)} be used?")
        try:
            await server.approve({held.name: held.new.pin for held in waiting})
        except ValueError as error:
            raise click.ClickException(masked(str(error))) from None
        return len(waiting)

    number = with_runtime(decide)
    click.echo(
        f"Approved {counted(number, 'tool')} of {name}." if number else f"{name} holds nothing back.",
        file=answers(),
    )


@servers.command()
@click.argument("name", shell_complete=server_names)
def login(name: str) -> None:
    """Log in to a remote server with your browser; what that brings is kept, for you alone.

    \b
    Example:
      onetool servers login docs
    """
    _chosen([name])

    async def go(runtime: Runtime) -> str:
        server = runtime.servers[name]
        try:
            await server.login(lambda text: click.echo(text, err=True), webbrowser.open)
        except LoginFailed as error:
            raise click.ClickException(masked(str(error))) from None
        return server.reason

    if reason := with_runtime(go):
        raise click.ClickException(masked(f"You are logged in, but the server cannot be used: {reason}"))
    click.echo(f"Logged in to {name}. Try it: onetool servers test {name}", file=answers())


def _show(waiting: Sequence[HeldBack]) -> None:
    for held in waiting:
        click.echo(masked(f"{held.name}: {held.reason}"), file=answers())
        click.echo(masked(held.difference()) + "\n", file=answers())


def _chosen(names: Sequence[str]) -> list[str]:
    """These servers, or all that are switched on; ends with a message where there is none of a name."""
    configured: Mapping[str, Server] = load().settings.servers
    for name in names:
        if name not in configured:
            raise click.BadParameter(f"there is no server {name!r}.{did_you_mean(name, configured)}")
        if not configured[name].enabled:
            raise click.BadParameter(f"the server {name!r} is switched off in the settings.")
    return list(names) or [name for name, server in configured.items() if server.enabled]


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
