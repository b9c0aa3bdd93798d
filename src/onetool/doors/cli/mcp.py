"""`onetool mcp`: the MCP door over stdin and stdout."""

import asyncio
import signal
from contextlib import suppress

import click

from onetool.runtime import Runtime

from .session import answers, with_runtime

EXPOSE = ("run", "search", "all")


@click.command()
@click.option(
    "--expose", type=click.Choice(EXPOSE), help="How tools are presented.  [default: expose of the settings]"
)
def mcp(expose: str | None) -> None:
    """Serve an MCP client over stdin and stdout, until it leaves.

    \b
    run     one tool, in which the model writes code against all others
    search  two tools: find_tools and call_tool
    all     every tool by itself

    \b
    Example, in a client's settings:
      {"mcpServers": {"onetool": {"command": "onetool", "args": ["mcp"]}}}
    """

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
