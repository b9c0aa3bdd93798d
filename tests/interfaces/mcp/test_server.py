"""The MCP interface with the official client, over stdio and HTTP."""

import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from onetool.domain.calls.caller import Caller
from onetool.interfaces.mcp.exposure import EXPOSURES
from onetool.interfaces.mcp.server import create_server
from onetool.interfaces.mcp.transports import http_app
from onetool.sdk import report_progress, tool
from onetool.testing import memory_runtime
from support import rest_in_process as rest_app
from support.onetool_process import start_onetool


@asynccontextmanager
async def over_stdio(*args: str, mode: str = "auto"):
    """Connect a client to an `onetool mcp` process."""
    env = {name: value for name, value in os.environ.items() if name.startswith(("ONETOOL", "PATH"))}
    server = StdioServerParameters(command=sys.executable, args=["-m", "onetool", "mcp", *args], env=env)
    async with Client(stdio_client(server), mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(runtime, expose="run"):
    """Connect a client to `/mcp` of the REST server."""
    async with (
        http_app(create_server(runtime, expose)) as app,
        rest_app.serve_rest(runtime, mounts={"/mcp": app}) as rest,
        Client(streamable_http_client(f"{str(rest.base_url).rstrip('/')}/mcp", http_client=rest)) as client,
    ):
        yield client


async def call(client: Client, tool: str, **args: Any) -> tuple[bool, str]:
    result = await client.call_tool(tool, args)
    (part,) = result.content
    assert result.structured_content is None
    return result.is_error, part.text


@pytest.mark.linux
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_one_tool_over_stdio(home, mode):
    """With and without a handshake. The instructions are those of the user."""
    home.write("prompts.yaml", "instructions: Be brief.\n")
    async with over_stdio(mode=mode) as client:
        (tool,) = (await client.list_tools()).tools
        assert tool.name == "run"
        assert "Be brief." in client.instructions
        code = "print(1)\ntools.echo(message=[1, {'a': 2}])"
        assert await call(client, "run", command=code) == (False, "1\n[1, {a: 2}]")
        assert (await call(client, "run"))[0]
        assert (await call(client, "rnu"))[1] == "Error: Tool not found: 'rnu'. Did you mean run?"


@pytest.mark.linux
@pytest.mark.parametrize("how", ["stdin", "stdout", "SIGTERM"])
def test_the_server_exits_when_its_client_disconnects(home, how):
    """Stdout contains only the protocol, and stderr no traceback."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = start_onetool("mcp", text=True, **pipes)
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    process.stdin.write(json.dumps(hello) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "onetool"
    if how == "stdin":
        process.stdin.close()
    elif how == "stdout":
        process.stdout.close()
        process.stdin.write(json.dumps(hello | {"id": 2}) + "\n")
        process.stdin.flush()
    else:
        process.send_signal(signal.SIGTERM)
    assert process.wait(20) == (1 if how == "stdout" else 0)  # the response was not delivered
    assert process.stderr.read() == ""
    assert how == "stdout" or process.stdout.read() == ""
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()


async def test_every_exposure_calls_the_same_tools():

    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    async with memory_runtime({"demo": [add]}) as ot:
        async with over_http(ot.runtime, "search") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["find_tools", "call_tool"]
            is_error, text = await call(client, "find_tools", query="add two numbers", limit=1)
            assert (is_error, text) == (
                False,
                "demo.add(a: int, b: int = 1) -> int: [read-only] Add two numbers.",
            )
            assert await call(client, "call_tool", name="demo.add", args={"a": 2}) == (False, "3")
            is_error, text = await call(client, "call_tool", name="demo.ad")
            assert (is_error, "Did you mean demo.add?" in text) == (True, True)
            assert (await call(client, "call_tool", args=1))[0]
            assert (await call(client, "call_tol"))[1].endswith("Did you mean call_tool?")
        async with over_http(ot.runtime, "all") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["demo__add"].input_schema["required"] == ["a"]
            assert await call(client, "demo__add", a=2, b=5) == (False, "7")
            assert (await call(client, "demo__ad", a=2))[0]
        async with over_http(ot.runtime) as client:
            assert await call(client, "run", command="demo.add(a=1)") == (False, "2")


async def test_annotations_say_what_a_call_may_do():
    """A client may decide by them whether to ask. `run` and `call_tool` can do what any tool can do."""

    def look() -> str:
        """Look."""
        return ""

    @tool(read_only=False)
    def change() -> str:
        """Change."""
        return ""

    worst = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True}
    closed = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
    expected = {
        "run": {"run": worst},
        "search": {"find_tools": closed, "call_tool": worst},
        "all": {"demo__look": {**closed, "openWorldHint": True}, "demo__change": worst},
    }
    async with memory_runtime({"demo": [look, change]}) as ot:
        for expose, annotations in expected.items():
            async with over_http(ot.runtime, expose) as client:
                listed = {
                    entry.name: entry.annotations.model_dump(by_alias=True, exclude_none=True)
                    for entry in (await client.list_tools()).tools
                }
            assert annotations.items() <= listed.items()


async def test_progress_message_that_is_no_text_reaches_the_client():
    """Through `ctx` and through the SDK function."""
    received = []

    def report(ctx) -> str:
        """Report progress with messages of other types."""
        ctx.progress(1, 4, 5)
        ctx.progress(2, 4, None)
        report_progress(3, 4, Path("x"))
        report_progress(4, 4, "file \udcff")
        return "done"

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        received.append((done, message))

    async with memory_runtime({"demo": [report]}) as ot, over_http(ot.runtime, "all") as client:
        result = await client.call_tool("demo__report", {}, progress_callback=on_progress)
        assert result.content[0].text == "done"
    assert received == [(1, "5"), (2, None), (3, "x"), (4, "file ?")]


async def test_instructions_and_the_run_tool_are_small():
    """At most 200 tokens, regardless of the number of tools."""
    async with memory_runtime() as ot:
        caller = Caller(interface="mcp")
        tools, _ = await EXPOSURES["run"](ot.runtime).page(None, caller)
        size = sum(len(json.dumps([tool.name, tool.description, tool.input_schema])) for tool in tools)
        size += len(create_server(ot.runtime, "run").instructions)
        assert size / 4 <= 200


async def test_run_tool_names_in_one_line_what_can_be_imported():
    async with memory_runtime() as ot:
        (tool,), _ = await EXPOSURES["run"](ot.runtime).page(None, Caller(interface="mcp"))
        (line,) = [line for line in tool.description.splitlines() if "Import only" in line]
        names = line.removeprefix("Import only ").removesuffix(".").split(", ")
        assert {"json", "re", "csv", "datetime", "math", "collections"} <= set(names)
        result = await ot.run("\n".join(f"import {name}" for name in names) + "\n'imported'")
    assert result.data == "imported", result


async def test_token_and_host_are_checked_for_mcp():
    async with (
        memory_runtime() as ot,
        http_app(create_server(ot.runtime, "run")) as app,
        rest_app.serve_rest(ot.runtime, mounts={"/mcp": app}) as rest,
    ):
        assert (await rest.post("/mcp", headers={"Authorization": "Bearer no"})).status_code == 401
        assert (await rest.post("/mcp", headers={"Host": "evil.test"})).status_code == 403
