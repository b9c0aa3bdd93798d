"""What the MCP door costs beside a bare server of the same SDK: start-up, calls, many at once, proxied."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from benchmarks.figures import ROUNDS, Figure, best_of_async
from onetool.doors.python import onetool_runtime

CALLS = 30
AT_ONCE, WAVES = 20, 10
ONE, WITH_TOOL = "1+1", "tools.echo(message=1)"
Call = Callable[[], Awaitable[Any]]
Program = tuple[str, list[str], dict[str, str]]
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
        bare: Program = (sys.executable, ["-c", BARE], env)
        ours: Program = (sys.executable, ["-m", "onetool", "mcp"], env)
        return [
            await _start_up(bare, ours),
            *await _calls(bare, ours),
            *await _proxied(bare, ours, Path(env["ONETOOL_CONFIG_DIR"])),
        ]


async def _start_up(bare: Program, ours: Program) -> Figure:
    await _spawn(ours)
    theirs, our = await best_of_async(lambda: _spawn(bare), lambda: _spawn(ours), rounds=ROUNDS)
    return Figure(what="MCP, spawn to tools/list / bare SDK server", bare=theirs, ours=our, limit=1.3)


async def _calls(bare: Program, ours: Program) -> list[Figure]:
    async with _client(bare) as theirs, _client(ours) as our:
        calls = [_call(theirs, "echo", ONE), _call(our, "run", ONE), _call(our, "run", WITH_TOOL)]
        echo, one, with_tool = await best_of_async(*map(_median, calls), rounds=ROUNDS)
        many = await best_of_async(*map(_wave, calls), rounds=ROUNDS)
    return [
        Figure(what="MCP, warm run('1+1') / bare echo", bare=echo, ours=one, limit=4),
        Figure(what="MCP, warm run with one tool call / bare echo", bare=echo, ours=with_tool, limit=12),
        Figure(what=f"MCP, {AT_ONCE} run('1+1') at once / bare echoes", bare=many[0], ours=many[1], limit=4),
        Figure(
            what=f"MCP, {AT_ONCE} runs with a tool call at once / bare echoes",
            bare=many[0],
            ours=many[2],
            limit=12,
        ),
    ]


async def _proxied(bare: Program, ours: Program, config: Path) -> list[Figure]:
    """Calls of a server behind OneTool, beside those of its own client."""
    command, args, env = bare
    config.mkdir(exist_ok=True)
    settings = {"servers": {"bare": {"command": command, "args": args}}}
    (config / "onetool.yaml").write_text(json.dumps(settings))
    search: Program = (ours[0], [*ours[1], "--expose", "search"], env)
    async with _client(bare) as direct, _client(search) as behind, _python_door(env) as python:
        calls = [
            _call(direct, "echo", ONE),
            lambda: _answered(behind.call_tool("call_tool", {"name": "bare.echo", "args": {"command": ONE}})),
            lambda: _answered(python.call("bare.echo", command=ONE)),
        ]
        alone, through_mcp, through_python = await best_of_async(*map(_median, calls), rounds=ROUNDS)
    return [
        Figure(what="MCP, proxied call through call_tool / direct", bare=alone, ours=through_mcp, limit=5.5),
        Figure(what="Python door, proxied call / direct", bare=alone, ours=through_python, limit=3),
    ]


def _client(server: Program) -> Any:
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command, args, env = server
    return Client(stdio_client(StdioServerParameters(command=command, args=args, env=env)))


@asynccontextmanager
async def _python_door(env: dict[str, str]) -> AsyncIterator[Any]:
    with patch.dict(os.environ, env):
        async with onetool_runtime() as ot:
            yield ot


async def _spawn(server: Program) -> float:
    start = time.perf_counter()
    async with _client(server) as client:
        await client.list_tools()
        return time.perf_counter() - start


def _call(client: Any, tool: str, command: str) -> Call:
    return lambda: _answered(client.call_tool(tool, {"command": command}))


async def _answered(call: Awaitable[Any]) -> None:
    """Wait for an answer, and let no failure pass for a fast one."""
    answer = await call
    if getattr(answer, "is_error", False) or not getattr(answer, "ok", True):
        raise SystemExit(f"a measured call failed: {answer}")


def _median(call: Call) -> Callable[[], Awaitable[float]]:
    """The usual time of a warm call."""

    async def run() -> float:
        await call()
        return sorted([await _timed(call) for _ in range(CALLS)])[CALLS // 2]

    return run


def _wave(call: Call) -> Callable[[], Awaitable[float]]:
    """The usual time until many calls made at once are all answered."""

    async def at_once() -> None:
        await asyncio.gather(*(call() for _ in range(AT_ONCE)))

    async def run() -> float:
        await at_once()
        return sorted([await _timed(at_once) for _ in range(WAVES)])[WAVES // 2]

    return run


async def _timed(call: Call) -> float:
    start = time.perf_counter()
    await call()
    return time.perf_counter() - start


if __name__ == "__main__":
    for figure in asyncio.run(measure()):
        print(figure.row(60))
