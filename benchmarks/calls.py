"""Cost of a call at each interface compared with its bare engine, for one and many concurrent calls."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx2

from benchmarks import peers
from benchmarks.children import child_command, request
from benchmarks.figures import Table
from benchmarks.load import COLUMNS, Driver, Load, compare
from benchmarks.options import Options
from benchmarks.processes import bare, free_port, home, onetool, running
from benchmarks.wire import http_driver, http_request, mcp_http_driver, stdio_client

TOKEN = "token-of-the-benchmark"
BUNDLE = "0198c5a0-7e4d-7c3a-8a51-1f0e5b2d9c77"
RAIN = f"/tools/bundles/{BUNDLE}/tools/rain/version/v1"
CALL = b'{"args":{"city":"Oslo"}}'
ARGS = {"message": "hello"}
COMMAND = "tools.echo(message='hello')"
EXPECTED = b'"text":"hello"'
NOTE = (
    "Each cell is the ratio to the bare engine, followed by both amounts. p50 and p95 are the latency that "
    "the client sees. CPU and memory include the child processes of the server. The clients read and write "
    "raw bytes to keep their own cost low."
)
Contest = AbstractAsyncContextManager[dict[str, Driver]]


async def measure(options: Options) -> list[Table]:
    """Return a table with a row for each interface and concurrency."""
    table = Table("Calls", NOTE, COLUMNS)
    for label, contest in CONTESTS.items():
        with TemporaryDirectory() as directory:
            async with contest(options, Path(directory)) as drivers:
                table.rows += await compare(label, drivers, options.rounds)
    if not options.peers:
        table.note += " Other gateways were skipped; pass `--peers` to include them."
    return [table]


@asynccontextmanager
async def python_call(options: Options, directory: Path) -> AsyncIterator[dict[str, Driver]]:
    """Compare a call in Python."""
    async with AsyncExitStack() as stack:
        kinds = {"bare": "function", "OneTool in memory": "memory", "OneTool": "disk"}
        yield {
            name: await stack.enter_async_context(_inside(kind, options, directory))
            for name, kind in kinds.items()
        }


@asynccontextmanager
async def code(program: str, options: Options, directory: Path) -> AsyncIterator[dict[str, Driver]]:
    """Compare `run` in Python."""
    async with (
        _inside(f"monty-{program}", options, directory) as interpreter,
        _inside(f"run-{program}", options, directory) as run,
    ):
        yield {"bare": interpreter, "OneTool": run}


@asynccontextmanager
async def mcp_run(options: Options, directory: Path) -> AsyncIterator[dict[str, Driver]]:
    """Compare code that calls a tool, over stdio, with a tool of a bare server."""
    async with (
        running(bare("mcp_server")) as theirs,
        running(onetool("mcp"), home(directory)) as server,
        stdio_client(theirs) as direct,
        stdio_client(server) as client,
    ):
        yield {
            "bare": direct.driver("echo", ARGS, EXPECTED, options.seconds),
            "OneTool": client.driver("run", {"command": COMMAND}, EXPECTED, options.seconds),
        }


@asynccontextmanager
async def mcp_stdio(options: Options, directory: Path) -> AsyncIterator[dict[str, Driver]]:
    """Compare a OneTool tool over stdio."""
    ours = onetool("mcp", "--expose", "all")
    async with (
        running(bare("mcp_server")) as theirs,
        running(ours, home(directory)) as server,
        stdio_client(theirs) as direct,
        stdio_client(server) as client,
    ):
        yield {
            "bare": direct.driver("echo", ARGS, EXPECTED, options.seconds),
            "OneTool": client.driver("tools__echo", ARGS, EXPECTED, options.seconds),
        }


@asynccontextmanager
async def proxied(options: Options, directory: Path) -> AsyncIterator[dict[str, Driver]]:
    """Compare a proxied tool over stdio with the server itself."""
    upstream = bare("mcp_server")
    settings = {"expose": "all", "servers": {"bare": {"command": upstream[0], "args": upstream[1:]}}}
    servers = {"bare": (upstream, None), "OneTool": (onetool("mcp"), home(directory, json.dumps(settings)))}
    if options.peers:
        servers["FastMCP proxy"] = (await peers.fastmcp_proxy(options, upstream), None)
    async with AsyncExitStack() as stack:
        drivers = {}
        for name, (command, env) in servers.items():
            process = await stack.enter_async_context(
                running(command, env, quiet=name not in ("bare", "OneTool"))
            )
            client = await stack.enter_async_context(stdio_client(process))
            tool = "bare__echo" if name == "OneTool" else "echo"
            await client.wait_for_tool(tool)
            drivers[name] = client.driver(tool, ARGS, EXPECTED, options.seconds)
        yield drivers


@asynccontextmanager
async def mcp_http(options: Options, directory: Path) -> AsyncIterator[dict[str, Driver]]:
    """Compare a OneTool tool over HTTP, with one session per client."""
    port, own = free_port(), free_port()
    env = {**home(directory, "expose: all\n"), "ONETOOL_TOKEN": TOKEN}
    async with (
        running(bare("mcp_server", port), port=port) as theirs,
        running(onetool("serve", "--port", str(own)), env, own) as ours,
    ):
        seconds = options.seconds
        yield {
            "bare": mcp_http_driver(port, "/mcp", "echo", ARGS, EXPECTED, theirs.pid, seconds),
            "OneTool": mcp_http_driver(own, "/mcp", "tools__echo", ARGS, EXPECTED, ours.pid, seconds, TOKEN),
        }


@asynccontextmanager
async def rest(options: Options, directory: Path) -> AsyncIterator[dict[str, Driver]]:
    """Compare a stored HTTP tool invoked over REST, with an upstream on loopback."""
    up, port, own = free_port(), free_port(), free_port()
    env = {**home(directory, 'allowedHosts: ["127.0.0.1"]\n'), "ONETOOL_TOKEN": TOKEN}
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(bare("http_server", up), port=up))
        theirs = await stack.enter_async_context(running(bare("http_server", port, up), port=port))
        ours = await stack.enter_async_context(running(onetool("serve", "--port", str(own)), env, own))
        store_tool(f"http://127.0.0.1:{own}", TOKEN, up)
        invoke = http_request("POST", f"{RAIN}/invoke", CALL, TOKEN)
        drivers = {
            "bare": http_driver({port: theirs.pid}, forward_request(), b'"rain"', options.seconds),
            "OneTool": http_driver({own: ours.pid}, invoke, b'"rain"', options.seconds),
        }
        if options.peers:
            drivers["ContextForge"] = await stack.enter_async_context(
                peers.contextforge(options, directory, up)
            )
        yield drivers


CONTESTS: dict[str, Callable[[Options, Path], Contest]] = {
    "pipeline / validation + bare function": python_call,
    "`run`, one call / bare Monty": partial(code, "call"),
    "`run`, loop with three calls / bare Monty": partial(code, "loop"),
    "MCP stdio / bare SDK server": mcp_stdio,
    "MCP stdio, `run` with a call / bare SDK server": mcp_run,
    "MCP stdio, proxied / the server itself": proxied,
    "MCP HTTP / bare SDK server": mcp_http,
    "REST / bare ASGI forwarder": rest,
}


@asynccontextmanager
async def _inside(kind: str, options: Options, directory: Path) -> AsyncIterator[Driver]:
    """Run a process that measures calls within itself."""
    async with running(child_command("inside", kind), home(directory / kind)) as process:

        async def drive(concurrency: int) -> Load:
            return Load(*await request(process, concurrency, options.seconds))

        yield drive


def forward_request() -> bytes:
    """Return the request to the bare forwarder."""
    return http_request("POST", "/", CALL)


def store_tool(base: str, token: str, upstream: int) -> None:
    """Store the HTTP tool that is invoked at `RAIN`."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    request = {"urlTemplate": f"http://127.0.0.1:{upstream}/rain/${{city}}"}
    tool = {"type": "http", "argSchema": schema, "httpImpl": {"request": request}}
    headers = {"Authorization": f"Bearer {token}"}
    with httpx2.Client(headers=headers, trust_env=False) as client:
        client.put(f"{base}/tools/bundles/{BUNDLE}", json={"slug": "weather"}).raise_for_status()
        client.put(f"{base}{RAIN}", json=tool).raise_for_status()
