"""What the MCP door costs: spawn to a list of tools, and warm calls, beside a bare server of the same SDK."""

import asyncio
import os
import sys
import time
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.figures import ROUNDS, Figure

CALLS = 30
BARE = """
import anyio, mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

async def list_tools(context, params):
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    return types.ListToolsResult(tools=[types.Tool(name="echo", description="Echo.", input_schema=schema)])

async def call_tool(context, params):
    text = params.arguments["command"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

async def main():
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())

anyio.run(main)
"""


async def measure() -> list[Figure]:
    """Start-up and calls, each best of several interleaved rounds."""
    with TemporaryDirectory() as folder:
        env = {f"ONETOOL_{kind}_DIR": f"{folder}/{kind}" for kind in ("CONFIG", "DATA", "STATE")}
        env["PATH"] = os.environ["PATH"]
        ours = (sys.executable, ["-m", "onetool", "mcp"], env)
        bare = (sys.executable, ["-c", BARE], env)
        await _spawn(ours)
        spawns = [(await _spawn(bare), await _spawn(ours)) for _ in range(ROUNDS)]
        rounds = [
            (
                await _calls(bare, "echo", "1+1"),
                await _calls(ours, "run", "1+1"),
                await _calls(ours, "run", "tools.echo(message=1)"),
            )
            for _ in range(ROUNDS)
        ]
    start, listed = (min(times) for times in zip(*spawns, strict=True))
    echo, one, with_tool = (min(times) for times in zip(*rounds, strict=True))
    return [
        Figure(what="MCP, spawn to tools/list / bare SDK server", bare=start, ours=listed, limit=1.3),
        Figure(what="MCP, warm run('1+1') / bare echo", bare=echo, ours=one, limit=4),
        Figure(what="MCP, warm run with one tool call / bare echo", bare=echo, ours=with_tool, limit=12),
    ]


def _client(server: tuple[str, list[str], dict[str, str]]) -> Any:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, args, env = server
    return Client(stdio_client(StdioServerParameters(command=command, args=args, env=env)))


async def _spawn(server: tuple[str, list[str], dict[str, str]]) -> float:
    start = time.perf_counter()
    async with _client(server) as client:
        await client.list_tools()
        return time.perf_counter() - start


async def _calls(server: tuple[str, list[str], dict[str, str]], tool: str, command: str) -> float:
    async with _client(server) as client:
        await client.call_tool(tool, {"command": command})
        times = []
        for _ in range(CALLS):
            start = time.perf_counter()
            await client.call_tool(tool, {"command": command})
            times.append(time.perf_counter() - start)
        return sorted(times)[CALLS // 2]


if __name__ == "__main__":
    for figure in asyncio.run(measure()):
        print(figure.row(52))
