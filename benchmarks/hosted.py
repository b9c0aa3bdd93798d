"""Cost of a call of hosted OneTool with one and two servers on the same PostgreSQL and Redis."""

import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg

from benchmarks import peers
from benchmarks.calls import CALL, RAIN, forward_request, store_tool
from benchmarks.figures import Table
from benchmarks.load import COLUMNS, Driver, compare
from benchmarks.options import Options
from benchmarks.processes import bare, free_port, home, onetool, output_of, running
from benchmarks.wire import http_driver, http_request

DATABASE = os.environ.get("ONETOOL_TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("ONETOOL_TEST_REDIS_URL", "redis://127.0.0.1:6379")
WORKSPACE = "/w/bench"
SETTINGS = 'allowedHosts: ["127.0.0.1"]\n'
NOTE = (
    "A stored HTTP tool is invoked over REST, with an upstream on loopback. The bare engine is an ASGI app "
    "that checks the arguments and forwards them, in as many processes. CPU is that of the servers, without "
    "the database and Redis. The client and the upstream run on the same machine."
)


async def measure(options: Options) -> list[Table]:
    """Return a table with a row for each number of processes and each concurrency."""
    table = Table("Hosted calls", NOTE, COLUMNS)
    try:
        psycopg.connect(DATABASE, connect_timeout=2).close()
    except psycopg.OperationalError:
        table.note = "Skipped: no PostgreSQL server was found."
        return [table]
    for count in (1, 2):
        with TemporaryDirectory() as directory:
            async with _contest(options, Path(directory), count) as drivers:
                label = f"hosted REST / bare ASGI forwarder, processes: {count}"
                table.rows += await compare(label, drivers, options.rounds)
    return [table]


@asynccontextmanager
async def _contest(options: Options, directory: Path, count: int) -> AsyncIterator[dict[str, Driver]]:
    up = free_port()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(bare("http_server", up), port=up))
        forwarders = await start(stack, count, lambda port: bare("http_server", port, up))
        env = {**home(directory), "ONETOOL_REDIS_URL": REDIS}
        env["ONETOOL_DATABASE_URL"] = stack.enter_context(database())
        key = await set_up(env, directory)
        servers = await start(
            stack, count, lambda port: onetool("serve", "--hosted", "--port", str(port)), env
        )
        store_tool(f"http://127.0.0.1:{next(iter(servers))}{WORKSPACE}", key, up)
        invoke = http_request("POST", f"{WORKSPACE}{RAIN}/invoke", CALL, key)
        drivers = {
            "bare": http_driver(forwarders, forward_request(), b'"rain"', options.seconds),
            "OneTool": http_driver(servers, invoke, b'"rain"', options.seconds),
        }
        if options.peers:
            url = urlsplit(stack.enter_context(database()))._replace(scheme="postgresql+psycopg").geturl()
            settings = {"DATABASE_URL": url, "CACHE_TYPE": "redis", "REDIS_URL": f"{REDIS}/9"}
            drivers["ContextForge"] = await stack.enter_async_context(
                peers.contextforge(options, directory, up, count, **settings)
            )
        yield drivers


async def start(
    stack: AsyncExitStack,
    count: int,
    command: Callable[[int], list[str]],
    env: Mapping[str, str] | None = None,
) -> dict[int, int]:
    """Start processes, and return their ids by port."""
    started = dict[int, int]()
    for _ in range(count):
        port = free_port()
        process = await stack.enter_async_context(running(command(port), env, port, quiet=True))
        started[port] = process.pid
    return started


async def set_up(env: dict[str, str], directory: Path) -> str:
    """Create tables, a workspace and its settings. Return an API key."""
    settings = directory / "settings.yaml"
    settings.write_text(SETTINGS, encoding="utf-8")
    slug = WORKSPACE.rpartition("/")[2]
    env["ONETOOL_KEYS"] = await output_of(onetool("admin", "new-key"), env)
    await output_of(onetool("migrate"), env)
    await output_of(onetool("admin", "workspace", "create", slug), env)
    await output_of(onetool("admin", "settings", "set", slug, str(settings)), env)
    return await output_of(onetool("admin", "key", "create", slug, "bench", "--role", "owner"), env)


@contextmanager
def database() -> Iterator[str]:
    """Create a database, and delete it at the end."""
    name = f"onetool_bench_{uuid4().hex}"
    with psycopg.connect(DATABASE, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
        try:
            yield urlsplit(DATABASE)._replace(path=f"/{name}").geturl()
        finally:
            connection.execute(f"drop database {name} with (force)".encode())
