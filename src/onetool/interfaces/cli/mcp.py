"""`onetool mcp`: the MCP interface over stdin and stdout."""

import asyncio
import difflib
import json
import shutil
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import click

from onetool.domain.secrets.detection import is_probably_secret, secret_arguments
from onetool.domain.servers.client_config import CLIENTS, HEADER_KEYS, URL_KEYS
from onetool.runtime.runtime import Runtime

from .command import confirm, has_terminal, load_current_configuration, stdout, with_runtime

EXPOSE = ("run", "search", "all")


@click.group(invoke_without_command=True)
@click.option("--expose", type=click.Choice(EXPOSE), help="Tools to expose.  [default: the expose setting]")
@click.pass_context
def mcp(context: click.Context, expose: str | None) -> None:
    """Serve tools to an MCP client over stdio.

    \b
    Values of --expose:
      run     one tool that runs code, which can call all other tools
      search  two tools: find_tools and call_tool
      all     every tool

    \b
    Example:
      onetool mcp install claude-desktop

    \b
    Configuration for any other client:
      {"mcpServers": {"onetool": {"command": "onetool", "args": ["mcp"]}}}
    """
    if context.invoked_subcommand is not None:
        return

    async def serve(runtime: Runtime) -> None:
        from onetool.interfaces.mcp.server import create_server
        from onetool.interfaces.mcp.transports import serve_stdio

        server = create_server(runtime, expose or runtime.state.configuration.settings.expose)
        serving = asyncio.ensure_future(serve_stdio(server, stdout()))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):  # event loops on Windows have no signal handlers
                loop.add_signal_handler(number, serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving

    with_runtime(serve)


@mcp.command()
@click.argument("client", type=click.Choice(CLIENTS))
@click.option("--yes", is_flag=True, help="Skip confirmation.")
def install(client: str, yes: bool) -> None:
    """Add OneTool to an MCP client's settings. Shows the change first and creates a backup.

    In a terminal, it also asks once how calls from MCP clients are approved.

    \b
    Examples:
      onetool mcp install claude-desktop
      onetool mcp install cursor --yes
    """
    from .approval_policy import choose_mcp_policy
    from .mcp_clients import UnreadableClientConfig, known_clients

    target = known_clients()[client]
    try:
        before, after = target.text(), target.with_server(shutil.which("onetool") or "onetool", ["mcp"])
    except UnreadableClientConfig as error:
        click.echo(f"Error: {error}. The file is unchanged.", err=True)
        raise SystemExit(1) from None
    if before == after:
        click.echo(f"{target.file} already contains OneTool.")
        return
    secrets = _possible_secrets(target.servers())
    old, new = (_mask_values(secrets, text) for text in (before, after))
    click.echo("".join(_diff(old, new, str(target.file))), nl=False)
    if not yes:
        confirm("Write this change?")
    backup = target.write(after)
    click.echo(f"Wrote {target.file}." + (f" Backup: {backup}" if backup else ""))
    choose_mcp_policy(load_current_configuration().settings, is_interactive=not yes and has_terminal())
    click.echo(f"Restart {target.title} to apply the change.")


def _possible_secrets(servers: Mapping[str, Any]) -> set[str]:
    """Return the values in a client's file that may be secrets: env, headers, URLs, arguments."""
    entries = [entry for entry in servers.values() if isinstance(entry, dict)]
    maps = [entry.get(key) or {} for entry in entries for key in ("env", *HEADER_KEYS)]
    values = {str(value) for map_ in maps if isinstance(map_, dict) for value in map_.values()}
    arguments = [list(map(str, entry["args"])) for entry in entries if isinstance(entry.get("args"), list)]
    urls = {str(entry[key]) for entry in entries for key in URL_KEYS if key in entry}
    secret_urls = {url for url in urls if is_probably_secret("", url)}
    return values.union(secret_urls, *(args for args in arguments if any(secret_arguments(args)))) - {""}


def _mask_values(values: Collection[str], text: str) -> str:
    for value in values:
        for literal in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
            text = text.replace(literal, '"***"')
    return text


def _diff(before: str, after: str, name: str) -> list[str]:
    return list(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, f"{name} (new)", n=0)
    )
