"""`onetool mcp`: the MCP door over stdin and stdout."""

import asyncio
import difflib
import shutil
import signal
from contextlib import suppress

import click

from onetool.runtime import Runtime

from .session import answers, with_runtime

EXPOSE = ("run", "search", "all")
CLIENTS = ("claude", "cursor", "vscode", "codex")


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
    click.echo("".join(_changes(before, after, str(chosen.file))), nl=False)
    if not yes:
        click.confirm("Write this?", abort=True)
    backup = chosen.write(after)
    click.echo(f"Wrote {chosen.file}." + (f" The file as it was: {backup}" if backup else ""))
    click.echo(f"Restart {client} to see it.")


def _changes(before: str, after: str, name: str) -> list[str]:
    return list(
        difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, f"{name} (new)", n=2)
    )
