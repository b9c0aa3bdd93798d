"""`onetool servers`: list, test, approve and log in to MCP servers."""

import asyncio
import webbrowser
from collections.abc import Mapping, Sequence
from typing import Any

import click

from onetool.domain.errors import LoginFailed
from onetool.domain.servers.instructions import InstructionsReview
from onetool.domain.text.strings import join_words, pluralize
from onetool.runtime.health import UNTIL_STARTED_S
from onetool.runtime.runtime import Runtime

from .command import (
    json_option,
    mask,
    print_json,
    stdout,
    use_json,
    with_runtime,
)
from .completion import server_names
from .groups import CommandGroup
from .server_selection import select_servers
from .servers_approve import approve
from .servers_config import add, import_servers, remove
from .servers_logs import logs
from .servers_registry import install, search
from .servers_update import update

OFFERED = ("tools", "resources", "templates", "prompts")
STATES = {"configured": "never started", "idle": "ok, not running"}
"""Words for states that do not say whether a server works. `idle`: its tools are known from a listing."""


@click.group(cls=CommandGroup)
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
servers.add_command(logs)
servers.add_command(approve)
for registry_command in (search, install, update):
    servers.add_command(registry_command)


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
            STATES.get(server["state"], server["state"]),
            _format_count(server["tools"]),
            _format_count(server["quarantined"]),
            server["sandbox"].partition(":")[0] or "-",
            server["endpoint"],
        )
        for server in descriptions
    ]
    table(("SERVER", "STATE", "TOOLS", "QUARANTINED", "SANDBOX", "ENDPOINT"), rows)
    if untried := [server["name"] for server in descriptions if server["state"] == "configured"]:
        click.echo(f"\nNever started: try with onetool servers test {' '.join(untried)}", file=stdout())


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
    selected = select_servers(names)
    if not selected:
        click.echo("No servers to test. Add one: onetool servers import claude-desktop", err=True)
        return
    click.echo(f"Testing {pluralize(len(selected), 'server')} ...", err=True)

    async def probe(runtime: Runtime) -> list[dict[str, Any]]:
        probes = (runtime.state.servers.probe(name, UNTIL_STARTED_S) for name in selected)
        return list(await asyncio.gather(*probes))

    results = with_runtime(probe)
    if use_json(as_json):
        print_json(results)
    else:
        _print_probes(results)
    if not all(result["ok"] for result in results):
        raise SystemExit(1)


@servers.command()
@click.argument("name", shell_complete=server_names)
@json_option
def tools(name: str, as_json: bool) -> None:
    """List the tools of a server: whether each is treated as read-only, and why. Show its instructions.

    A tool is listed with the name of its function, and its name on the server in parentheses if that differs.

    \b
    Example:
      onetool servers tools github
    """
    select_servers([name])

    async def list_access(
        runtime: Runtime,
    ) -> tuple[list[dict[str, Any]], Sequence[str], InstructionsReview, dict[str, int]]:
        server = runtime.state.servers[name]
        await server.count()  # starts a server whose tools are unknown
        quarantined = {tool.name: tool.reason for tool in await server.quarantined()}
        rows = [
            {
                "name": access.function,
                "original": access.tool.name,
                "access": "read-only" if access.read_only else "changes",
                "reason": access.reason,
                "quarantined": quarantined.get(access.tool.name, ""),
                "problem": access.problem,
            }
            for access in await server.access()
        ]
        counts = await runtime.state.servers.count_contents(name)
        return rows, server.status().warnings, await server.instructions(), counts

    rows, warnings, instructions, counts = with_runtime(list_access)
    for warning in warnings:
        click.echo(mask(f"Warning: {warning}"), err=True)
    if instructions.text:
        click.echo(mask(f"Instructions:\n{instructions.text}\n"), err=True)
    if instructions.reason:
        click.echo(mask(f"Warning: instructions are quarantined: {instructions.reason}"), err=True)
    if offered := _count_contents(counts):
        listed = f"onetool resources --server {name}, onetool prompts --server {name}"
        click.echo(f"The server also offers {offered}. List them: {listed}", err=True)
    if use_json(as_json):
        print_json(rows)
        return
    from .tables import table

    table(
        ("TOOL", "TREATED AS", "BECAUSE"),
        [(_format_name(row), *_format_treatment(row)) for row in rows],
    )


@servers.command()
@click.argument("name", shell_complete=server_names)
def login(name: str) -> None:
    """Log in to a remote server in the browser. Stores the tokens in a file that only you can read.

    \b
    Example:
      onetool servers login docs
    """
    select_servers([name])

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


def _print_probes(results: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of several servers, and the steps of one server and of those that failed."""
    if len(results) == 1:
        _print_probe(results[0])
        return
    from .tables import table

    rows = [
        (
            result["name"],
            "ok" if result["ok"] else "failed",
            *(_format_count(result[kind]) for kind in OFFERED),
            f"{result['seconds']:.1f} s",
        )
        for result in results
    ]
    table(("SERVER", "STATUS", *(kind.upper() for kind in OFFERED), "TIME"), rows)
    for result in results:
        if not result["ok"]:
            _print_probe(result)
        elif result["reason"]:
            click.echo(mask(f"{result['name']}: {_in_lines(result['reason'])}"), file=stdout())


def _print_probe(result: Mapping[str, Any]) -> None:
    outcome = "ok" if result["ok"] else "failed"
    click.echo(mask(f"{result['name']}: {outcome} ({result['seconds']:.1f} s)"), file=stdout())
    for step in result["steps"]:
        click.echo(mask(f"  {step['seconds']:6.1f} s  {step['name']}: {step['detail']}"), file=stdout())
    if offered := _count_contents(result):
        click.echo(f"  also {offered}", file=stdout())
    if result["reason"]:
        click.echo(mask(f"  {_in_lines(result['reason'])}"), file=stdout())


def _count_contents(counts: Mapping[str, Any]) -> str:
    """Return what a server offers besides tools, such as `2 resources and 1 prompt`; empty if nothing."""
    kinds = [kind for kind in OFFERED if kind != "tools" and counts[kind]]
    return join_words([pluralize(counts[kind], kind.removesuffix("s")) for kind in kinds])


def _format_name(row: Mapping[str, Any]) -> str:
    return row["name"] if row["name"] == row["original"] else f"{row['name']} ({row['original']})"


def _format_treatment(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return how a tool is treated, and why."""
    if row["quarantined"]:
        return "quarantined", row["quarantined"]
    return ("disabled", row["problem"]) if row["problem"] else (row["access"], row["reason"])


def _format_count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _in_lines(reason: str) -> str:
    """Return the reason of a failed start with each line of the server's output in its own line."""
    if " | " not in reason:
        return reason
    return reason.replace("(last output: ", "(last output:\n    ").replace(" | ", "\n    ")
