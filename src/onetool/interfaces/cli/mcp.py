"""`onetool mcp`: the MCP interface over stdin and stdout.

It imports as little as possible: with OneTool in the background, the process only copies bytes.
"""

import os
from pathlib import Path

import click

from onetool.interfaces.background.address import NOT_RUNNING, NotReachable, socket_path
from onetool.interfaces.background.attach import request, serve_stdio
from onetool.settings.paths import find_paths

from .groups import CommandGroup

EXPOSE = ("run", "search", "all")


class _McpGroup(CommandGroup):
    """A group that imports its commands only when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return ["install", "uninstall"]

    def load_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import and return a command."""
        from . import mcp_install

        return {"install": mcp_install.install, "uninstall": mcp_install.uninstall}[name]


@click.group(cls=_McpGroup, invoke_without_command=True)
@click.option("--expose", type=click.Choice(EXPOSE), help="Tools to expose.  [default: the expose setting]")
@click.option("--only", metavar="NAME", help="Pass on one MCP server as it is, under its own names.")
@click.option("--profile", metavar="NAME", help="Restrict the client to the tools of a profile.")
@click.pass_context
def mcp(context: click.Context, expose: str | None, only: str | None, profile: str | None) -> None:
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

    \b
    A server of yours behind OneTool, in place of its own entry in a client:
      {"mcpServers": {"github": {"command": "onetool", "args": ["mcp", "--only", "github"]}}}
    """
    if context.invoked_subcommand is not None:
        return
    try:
        paths = find_paths(os.environ, Path.cwd())
        connection, _ = request(
            socket_path(paths.state),
            attach="mcp",
            cwd=str(paths.cwd),
            expose=expose,
            only=only,
            profile=profile,
            pid=os.getpid(),
        )
    except (NotReachable, FileNotFoundError) as error:
        if str(error) != NOT_RUNNING:
            reason = str(error).rstrip(".")
            click.echo(f"OneTool in the background is not used: {reason}.", err=True)
        _serve_here(expose, only, profile)
    else:
        serve_stdio(connection)


def _serve_here(expose: str | None, only: str | None, profile: str | None) -> None:
    """Serve the client from this process."""
    import asyncio
    from contextlib import suppress

    from onetool.runtime.runtime import Runtime

    from .command import stdout, with_runtime
    from .stop_signals import on_stop_signals

    async def serve(runtime: Runtime) -> None:
        from onetool.interfaces.mcp.mcp_endpoint import (
            McpEndpoint,
            UnknownEndpoint,
            check_endpoint,
            create_endpoint,
        )
        from onetool.interfaces.mcp.transports import serve_stdio

        endpoint = McpEndpoint(expose, only, profile)
        try:
            check_endpoint(runtime, endpoint)
        except UnknownEndpoint as error:
            raise click.ClickException(str(error)) from None
        serving = asyncio.ensure_future(serve_stdio(create_endpoint(runtime, endpoint), stdout()))
        on_stop_signals(serving.cancel)
        with suppress(asyncio.CancelledError):
            await serving

    with_runtime(serve, waits_for_servers=False, waits_for_libraries=False)
