"""`onetool mcp`: the MCP door over stdin and stdout."""

import asyncio
import difflib
import json
import shutil
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import click

from onetool.domain.client_servers import CLIENTS, HEADERS, URLS
from onetool.domain.secrecy import looks_secret, secret_arguments
from onetool.runtime import Runtime

from .session import answers, confirm, with_runtime

EXPOSE = ("run", "search", "all")


@click.group(invoke_without_command=True)
@click.option("--expose", type=click.Choice(EXPOSE), help="How tools are presented.")
@click.pass_context
def mcp(context: click.Context, expose: str | None) -> None:
    """Serve an MCP client over stdin and stdout, until it leaves.

    \b
    run     one tool, in which the model writes code against all others
    search  two tools: find_tools and call_tool
    all     every tool by itself

    \b
    Examples:
      onetool mcp install claude
      {"mcpServers": {"onetool": {"command": "onetool", "args": ["mcp"]}}}
    """
    if context.invoked_subcommand is not None:
        return

    async def serve(runtime: Runtime) -> None:
        from onetool.doors.mcp.server import create_server
        from onetool.doors.mcp.transports import serve_stdio

        server = create_server(runtime, expose or runtime.configuration.settings.expose)
        serving = asyncio.ensure_future(serve_stdio(server, answers()))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # event loops on Windows know no signal handlers
                loop.add_signal_handler(number, serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving

    with_runtime(serve)


@mcp.command()
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--yes", is_flag=True, help="Do not ask.")
def install(client: str, yes: bool) -> None:
    """Write OneTool into the settings of a CLIENT; what changes is shown first, and the old file kept.

    \b
    Examples:
      onetool mcp install claude
      onetool mcp install cursor --yes
    """
    from .clients import Unreadable, known_clients

    chosen = known_clients()[client]
    try:
        before, after = chosen.text(), chosen.with_server(shutil.which("onetool") or "onetool", ["mcp"])
    except Unreadable as error:
        click.echo(f"Error: {error}. It is left as it is.", err=True)
        raise SystemExit(1) from None
    if before == after:
        click.echo(f"{chosen.file} has OneTool already.")
        return
    private = _private(chosen.servers())
    old, new = (_without(private, text) for text in (before, after))
    click.echo("".join(_changes(old, new, str(chosen.file))), nl=False)
    if not yes:
        confirm("Write this?")
    backup = chosen.write(after)
    click.echo(f"Wrote {chosen.file}." + (f" The file as it was: {backup}" if backup else ""))
    click.echo(f"Restart {client} to see it.")


def _private(servers: Mapping[str, Any]) -> set[str]:
    """What the entries of a client's file give to its servers: keys and tokens are among it."""
    entries = [entry for entry in servers.values() if isinstance(entry, dict)]
    given = [entry.get(key) or {} for entry in entries for key in ("env", *HEADERS)]
    values = {str(value) for some in given if isinstance(some, dict) for value in some.values()}
    words = [list(map(str, entry["args"])) for entry in entries if isinstance(entry.get("args"), list)]
    urls = {str(entry[key]) for entry in entries for key in URLS if key in entry}
    secret = {url for url in urls if looks_secret("", url)}
    return values.union(secret, *(args for args in words if any(secret_arguments(args)))) - {""}


def _without(private: Collection[str], text: str) -> str:
    """A file's text for a screen."""
    for value in private:
        for written in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
            text = text.replace(written, '"***"')
    return text


def _changes(before: str, after: str, name: str) -> list[str]:
    return list(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, f"{name} (new)", n=2)
    )
