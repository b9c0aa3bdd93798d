"""The MCP door, with the official client: over stdin and stdout, and over HTTP."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

import rest_app
from onetool.domain.caller import Caller
from onetool.doors.mcp.presents import PRESENTATIONS
from onetool.doors.mcp.server import _question, create_server
from onetool.doors.mcp.transports import http_app
from onetool.testing import memory_runtime

NOISY = """
import os, subprocess, sys

def shout() -> str:
    print("to stdout")
    os.write(1, b"past Python\\n")
    subprocess.run(["echo", "from a child"])
    return "quiet"
"""


def slow(ctx: Any) -> str:
    """Tell how far it is, then end."""
    ctx.progress(1, 2, "half")
    return "done"


@asynccontextmanager
async def over_stdio(*args: str, mode: str = "auto"):
    """A client of `onetool mcp` in a process of its own."""
    env = {name: value for name, value in os.environ.items() if name.startswith(("ONETOOL", "PATH"))}
    server = StdioServerParameters(command=sys.executable, args=["-m", "onetool", "mcp", *args], env=env)
    async with Client(stdio_client(server), mode=mode) as client:
        yield client


@asynccontextmanager
async def over_http(runtime, expose="run"):
    """A client of the server that REST shares."""
    async with (
        http_app(create_server(runtime, expose)) as app,
        rest_app.served(runtime, others={"/mcp": app}) as rest,
        Client(streamable_http_client(f"{str(rest.base_url).rstrip('/')}/mcp", http_client=rest)) as client,
    ):
        yield client


async def said(client: Client, tool: str, **args: Any) -> tuple[bool, str]:
    answer = await client.call_tool(tool, args)
    (part,) = answer.content
    assert answer.structured_content is None
    return answer.is_error, part.text


async def test_one_tool_over_stdio(home):
    """A model sees `run`; what a tool prints never reaches the protocol."""
    home.write("tools/noisy.py", NOISY)
    home.write("prompts.yaml", "instructions: Be brief.\n")
    async with over_stdio() as client:
        (tool,) = (await client.list_tools()).tools
        assert tool.name == "run"
        assert "Be brief." in client.instructions
        assert await said(client, "run", command="noisy.shout()") == (False, "quiet")
        assert await said(client, "run", command="print(1)\ntools.echo(message=[1, {'a': 2}])") == (
            False,
            "1\n[1, {a: 2}]",
        )
        assert await said(client, "run", command="1 / 0") == (
            True,
            "Error: line 1: ZeroDivisionError: division by zero",
        )
        assert (await said(client, "run"))[0]
        assert (await said(client, "rnu"))[1] == "Error: there is no tool 'rnu'. Did you mean run?"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_old_and_new_clients(home, mode):
    """With a handshake, and without one."""
    async with over_stdio(mode=mode) as client:
        assert await said(client, "run", command="40 + 2") == (False, "42")


@pytest.mark.parametrize("how", ["stdin", "stdout", "SIGTERM"])
def test_it_ends_when_its_client_does(home, how):
    """Closing a pipe or a signal: nothing on stdout but the protocol, and no traceback."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-m", "onetool", "mcp"], text=True, **pipes)
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
    assert process.wait(20) == (1 if how == "stdout" else 0)  # what was written did not arrive
    assert process.stderr.read() == ""
    assert how == "stdout" or process.stdout.read() == ""
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()


async def test_all_ways_to_present_tools():
    """One tool, two, or all: the same calls behind each."""

    def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    async with memory_runtime({"demo": [add]}) as ot:
        async with over_http(ot.runtime, "search") as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["find_tools", "call_tool"]
            assert await said(client, "call_tool", name="demo.add", args={"a": 2}) == (False, "3")
            wrong, text = await said(client, "call_tool", name="demo.ad")
            assert (wrong, "Did you mean demo.add?" in text) == (True, True)
            assert (await said(client, "call_tool", args=1))[0]
            assert (await said(client, "call_tol"))[1].endswith("Did you mean call_tool?")
        async with over_http(ot.runtime, "all") as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["demo__add"].input_schema["required"] == ["a"]
            assert await said(client, "demo__add", a=2, b=5) == (False, "7")
            assert (await said(client, "demo__ad", a=2))[0]
        async with over_http(ot.runtime) as client:
            assert await said(client, "run", command="demo.add(a=1)") == (False, "2")


async def test_a_large_result_comes_as_a_handle():
    """Through every presentation."""

    def flood() -> str:
        """Return much."""
        return "line\n" * 50_000

    async with memory_runtime({"demo": [flood]}) as ot, over_http(ot.runtime, "all") as client:
        wrong, text = await said(client, "demo__flood")
        assert not wrong
        assert len(text) < 5_000
        assert "ot.result(handle=" in text


async def test_progress_reaches_the_client():
    """What a tool reports on its way."""
    seen = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen.append((done, total, message))

    async with memory_runtime({"demo": [slow]}) as ot, over_http(ot.runtime, "all") as client:
        answer = await client.call_tool("demo__slow", {}, progress_callback=progress)
        assert answer.content[0].text == "done"
    assert seen == [(1, 2, "half")]


async def test_a_client_that_leaves_ends_its_call():
    """Cancelled there, cancelled here."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with memory_runtime({"demo": [wait]}) as ot, over_http(ot.runtime, "all") as client:
        calling = asyncio.ensure_future(client.call_tool("demo__wait", {}))
        await asyncio.wait_for(begun.wait(), 10)
        calling.cancel()
        await asyncio.wait_for(ended.wait(), 10)


@pytest.mark.parametrize(("policy", "refused"), [("allow", False), ("deny", True), ("ask", True)])
async def test_tools_that_change_things(policy, refused):
    """Allowed, refused, or asked of a client that can; one that cannot is refused."""
    from onetool.sdk import tool

    @tool(changes=True)
    def wipe() -> str:
        """Change something."""
        return "wiped"

    settings = {"approval": {"mcp": policy}}
    async with (
        memory_runtime({"demo": [wipe]}, settings=settings) as ot,
        over_http(ot.runtime, "all") as client,
    ):
        assert (await said(client, "demo__wipe"))[0] is refused


def test_a_person_sees_every_argument_that_is_decided_on():
    """A long first value does not hide the next, and says that it is longer."""
    shown = _question("fs.write", {"note": "a" * 5_000, "path": "/etc/passwd"})
    assert '- path: "/etc/passwd"' in shown
    assert "aaa ... aaa" in shown
    assert len(shown) < 1_000


async def test_what_a_model_reads_first_is_small():
    """Instructions and the one tool: at most 400 tokens, however many tools there are."""
    async with memory_runtime() as ot:
        caller = Caller(door="mcp")
        shown, _ = await PRESENTATIONS["run"](ot.runtime).page(None, caller)
        size = sum(len(json.dumps([one.name, one.description, one.input_schema])) for one in shown)
        size += len(create_server(ot.runtime, "run").instructions)
        assert size / 4 <= 400


async def test_a_stranger_is_not_served():
    """The token and the names of this server hold for MCP too."""
    async with (
        memory_runtime() as ot,
        http_app(create_server(ot.runtime, "run")) as app,
        rest_app.served(ot.runtime, others={"/mcp": app}) as rest,
    ):
        assert (await rest.post("/mcp", headers={"Authorization": "Bearer no"})).status_code == 401
        assert (await rest.post("/mcp", headers={"Host": "evil.test"})).status_code == 403
