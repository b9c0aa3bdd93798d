"""What a call costs at each door, beside the bare engine of that door, one and many in flight."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2

from benchmarks import peers
from benchmarks.children import asked, child
from benchmarks.figures import Table
from benchmarks.load import COLUMNS, Driver, Load, compare
from benchmarks.options import Options
from benchmarks.processes import bare, free_port, home, onetool, running
from benchmarks.wire import http_driver, http_request, mcp_http_driver, stdio_client

TOKEN = "token-of-the-benchmark"
BUNDLE = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
RAIN = f"/tools/bundles/{BUNDLE}/tools/rain/version/v1"
CALL = b'{"args":{"city":"Oslo"}}'
HELLO = {"message": "hello"}
SAID = b'"text":"hello"'
NOTE = (
    "Each cell: how many times the bare engine's amount ours is, and both amounts. p50 and p95 are what the "
    "client waits; CPU and memory are those of the server with all it started. The clients write and read "
    "bytes, so that they cost little."
)
Contest = AbstractAsyncContextManager[dict[str, Driver]]


async def measure(options: Options) -> list[Table]:
    """A table with a row for each door and flight."""
    table = Table("Calls", NOTE, COLUMNS)
    for what, contest in CONTESTS.items():
        with TemporaryDirectory() as folder:
            async with contest(options, Path(folder)) as drivers:
                table.rows += await compare(what, drivers, options.rounds)
    if not options.peers:
        table.note += " Other gateways were left out: give `--peers`."
    return [table]


@asynccontextmanager
async def corridor(options: Options, folder: Path) -> AsyncIterator[dict[str, Driver]]:
    """A call in Python."""
    async with AsyncExitStack() as stack:
        kinds = {"bare": "function", "OneTool in memory": "memory", "OneTool": "disk"}
        yield {
            who: await stack.enter_async_context(_inside(kind, options, folder))
            for who, kind in kinds.items()
        }


@asynccontextmanager
async def code(options: Options, folder: Path) -> AsyncIterator[dict[str, Driver]]:
    """`run`, in Python."""
    async with _inside("monty", options, folder) as interpreter, _inside("run", options, folder) as run:
        yield {"bare": interpreter, "OneTool": run}


@asynccontextmanager
async def mcp_stdio(options: Options, folder: Path) -> AsyncIterator[dict[str, Driver]]:
    """A tool of our own over pipes."""
    ours = onetool("mcp", "--expose", "all")
    async with (
        running(bare("mcp_server")) as theirs,
        running(ours, home(folder)) as server,
        stdio_client(theirs) as direct,
        stdio_client(server) as client,
    ):
        yield {
            "bare": direct.driver("echo", HELLO, SAID, options.seconds),
            "OneTool": client.driver("tools__echo", HELLO, SAID, options.seconds),
        }


@asynccontextmanager
async def proxied(options: Options, folder: Path) -> AsyncIterator[dict[str, Driver]]:
    """A tool of another server over pipes: the server itself is the bare one."""
    command = bare("mcp_server")
    settings = {"expose": "all", "servers": {"bare": {"command": command[0], "args": command[1:]}}}
    servers = {"bare": (command, None), "OneTool": (onetool("mcp"), home(folder, json.dumps(settings)))}
    if options.peers:
        servers["FastMCP proxy"] = (await peers.fastmcp_proxy(options, command), None)
    async with AsyncExitStack() as stack:
        drivers = {}
        for who, (started, env) in servers.items():
            process = await stack.enter_async_context(
                running(started, env, quiet=who not in ("bare", "OneTool"))
            )
            client = await stack.enter_async_context(stdio_client(process))
            tool = "bare__echo" if who == "OneTool" else "echo"
            await client.offered(tool)
            drivers[who] = client.driver(tool, HELLO, SAID, options.seconds)
        yield drivers


@asynccontextmanager
async def mcp_http(options: Options, folder: Path) -> AsyncIterator[dict[str, Driver]]:
    """A tool of our own over HTTP, each client with a session."""
    port, own = free_port(), free_port()
    env = {**home(folder, "expose: all\n"), "ONETOOL_TOKEN": TOKEN}
    async with (
        running(bare("mcp_server", port), port=port) as theirs,
        running(onetool("serve", "--port", str(own)), env, own) as ours,
    ):
        seconds = options.seconds
        yield {
            "bare": mcp_http_driver(port, "/mcp", "echo", HELLO, SAID, theirs.pid, seconds),
            "OneTool": mcp_http_driver(own, "/mcp", "tools__echo", HELLO, SAID, ours.pid, seconds, TOKEN),
        }


@asynccontextmanager
async def rest(options: Options, folder: Path) -> AsyncIterator[dict[str, Driver]]:
    """A stored HTTP tool, invoked over REST; its upstream is on this machine."""
    up, port, own = free_port(), free_port(), free_port()
    env = {**home(folder, 'allowedHosts: ["127.0.0.1"]\n'), "ONETOOL_TOKEN": TOKEN}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(bare("http_server", up), port=up))
        theirs = await stack.enter_async_context(running(bare("http_server", port, up), port=port))
        ours = await stack.enter_async_context(running(onetool("serve", "--port", str(own)), env, own))
        _store_tool(own, up)
        invoke = http_request("POST", f"{RAIN}/invoke", CALL, TOKEN)
        drivers = {
            "bare": http_driver(
                port, http_request("POST", "/", CALL), b'"rain"', theirs.pid, options.seconds
            ),
            "OneTool": http_driver(own, invoke, b'"rain"', ours.pid, options.seconds),
        }
        if options.peers:
            drivers["ContextForge"] = await stack.enter_async_context(peers.contextforge(options, folder, up))
        yield drivers


CONTESTS: dict[str, Callable[[Options, Path], Contest]] = {
    "pipeline / check + bare function": corridor,
    '`run("1 + 1")` / bare Monty': code,
    "MCP stdio / bare SDK server": mcp_stdio,
    "MCP stdio, proxied / the server itself": proxied,
    "MCP HTTP / bare SDK server": mcp_http,
    "REST / bare ASGI forwarder": rest,
}


@asynccontextmanager
async def _inside(kind: str, options: Options, folder: Path) -> AsyncIterator[Driver]:
    """Loads that a process makes upon itself."""
    async with running(child("inside", kind), home(folder / kind)) as process:

        async def drive(flight: int) -> Load:
            return Load(*await asked(process, flight, options.seconds))

        yield drive


def _store_tool(port: int, upstream: int) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    request = {"urlTemplate": f"http://127.0.0.1:{upstream}/rain/${{city}}"}
    tool = {"type": "http", "argSchema": schema, "httpImpl": {"request": request}}
    base, headers = f"http://127.0.0.1:{port}", {"Authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(headers=headers, trust_env=False) as client:
        client.put(f"{base}/tools/bundles/{BUNDLE}", json={"slug": "weather"}).raise_for_status()
        client.put(f"{base}{RAIN}", json=tool).raise_for_status()
