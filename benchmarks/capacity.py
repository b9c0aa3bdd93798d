"""What hosted OneTool needs for each call: CPU of servers, PostgreSQL and Redis, memory, and disk space.

Two servers are compared with one, beside bare forwarders, in interleaved rounds.
"""

import json
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import psycopg

from benchmarks.calls import CALL, RAIN, forward_request, store_tool
from benchmarks.figures import Table, format_amount, interleaved
from benchmarks.hosted import WORKSPACE, database, set_up, start
from benchmarks.load import Driver, Load
from benchmarks.options import Options
from benchmarks.processes import bare, cpu_of, free_port, home, memory_of, onetool, running
from benchmarks.wire import http_driver, http_request, mcp_http_driver
from onetool.bootstrap.hosted_admin import open_contents, workspace_admin
from onetool.domain.identity.roles import Role

CONCURRENCY = 16
SCALING_ROUNDS, SCALING_FACTOR = 6, 8
"""Two cores that everything shares need more and longer rounds than other measurements."""
WORKSPACES = 64
"""Over which calls are spread in one measurement: so many that a batch of records rarely has two."""
SCALING_NOTE = (
    "The same calls at one server and at two, in turn, 16 at a time for each server, beside forwarders that "
    "only check the arguments. Capacity is the number of processes divided by their CPU time per call: what "
    "they carry when each has a core of its own. The client, the upstream, PostgreSQL and Redis share the "
    "cores of this machine, so the measured rate is lower. Medians of all rounds."
)
COST_NOTE = (
    "CPU time per request at one server, 16 requests at a time. PostgreSQL is the "
    "time of the connections of OneTool; its writer and checkpoints are not in it."
)
SPACE_NOTE = "Memory of one server, and disk space of PostgreSQL with its indexes."
RUN = {"command": "[weather.rain(city=city) for city in ('Oslo', 'Rome', 'Bern')]"}
CONNECTIONS = """
select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
"""
SIZES = """
select sum(pg_total_relation_size(oid))::bigint from pg_class
where relnamespace = 'onetool'::regnamespace and relkind = 'r' and relname = any(%s)
"""
CALL_TABLES = ["calls", "call_bodies", "call_hours", "tool_counters", "session_savings"]
TOOL_TABLES = ["tools", "bundles", "vocabulary", "audit"]


@dataclass(frozen=True, slots=True)
class Installation:
    """Two hosted servers with their database and Redis, and as many bare forwarders."""

    database: str
    key: str
    servers: Mapping[int, int]
    """Process ids by port."""
    forwarders: Mapping[int, int]
    redis: int
    """The process id of Redis."""
    spread: Mapping[str, str]
    """API keys of more workspaces with the same tool, by their paths."""

    @property
    def port(self) -> int:
        """The port of the first server."""
        return next(iter(self.servers))

    @property
    def first(self) -> Mapping[int, int]:
        """The first server."""
        return {self.port: self.servers[self.port]}

    def postgres_cpu(self) -> float:
        """Return the CPU seconds of the connections to the database."""
        with psycopg.connect(self.database) as connection:
            rows = connection.execute(CONNECTIONS).fetchall()
        return sum(cpu_of(pid) for (pid,) in rows)

    def size_of(self, tables: list[str]) -> int:
        """Return the bytes that tables use on disk."""
        with psycopg.connect(self.database) as connection:
            row = connection.execute(SIZES, (tables,)).fetchone()
            assert row
            return int(row[0])


async def measure(options: Options) -> list[Table]:
    """Return tables of scaling, of the cost of each kind of request, and of memory and disk space."""
    with TemporaryDirectory() as directory:
        try:
            async with _installation(Path(directory)) as installation:
                return [
                    await _scaling(installation, options),
                    await _costs(installation, options),
                    await _space(installation, options),
                ]
        except psycopg.OperationalError:
            return [Table("Hosted capacity", "Skipped: no PostgreSQL server was found.", ())]


@asynccontextmanager
async def _installation(directory: Path) -> AsyncIterator[Installation]:
    upstream, redis = free_port(), free_port()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(running(bare("http_server", upstream), port=upstream))
        env = home(directory)
        redis_pid = 0
        if program := shutil.which("redis-server"):
            command = [program, "--port", str(redis), "--save", "", "--appendonly", "no"]
            process = await stack.enter_async_context(running(command, port=redis, quiet=True))
            env["ONETOOL_REDIS_URL"], redis_pid = f"redis://127.0.0.1:{redis}", process.pid
        env["ONETOOL_DATABASE_URL"] = stack.enter_context(database())
        key = await set_up(env, directory)
        forwarders = await start(stack, 2, lambda port: bare("http_server", port, upstream))
        servers = await start(stack, 2, lambda port: onetool("serve", "--hosted", "--port", str(port)), env)
        spread = await _add_workspaces(env)
        for path, its_key in {WORKSPACE: key, **spread}.items():
            store_tool(f"http://127.0.0.1:{next(iter(servers))}{path}", its_key, upstream)
        yield Installation(env["ONETOOL_DATABASE_URL"], key, servers, forwarders, redis_pid, spread)


async def _add_workspaces(env: Mapping[str, str]) -> dict[str, str]:
    """Create workspaces. Return their API keys by their paths."""
    url, keys, spread = env["ONETOOL_DATABASE_URL"], env["ONETOOL_KEYS"], {}
    admin = workspace_admin(url, keys)
    for number in range(WORKSPACES):
        slug = admin.create(f"bench-{number}").slug
        async with open_contents(url, keys, slug) as contents:
            await contents.replace_settings({"allowedHosts": ["127.0.0.1"]}, "bench")
            created = await contents.create_key("bench", "bench", timedelta(days=1), role=Role.OWNER)
        spread[f"/w/{slug}"] = created.text
    return spread


async def _scaling(installation: Installation, options: Options) -> Table:
    invoke = http_request("POST", f"{WORKSPACE}{RAIN}/invoke", CALL, installation.key)
    programs = {
        "bare": (installation.forwarders, forward_request()),
        "OneTool": (installation.servers, invoke),
    }
    rounds, seconds = options.rounds, options.seconds
    if not options.quick:
        rounds, seconds = SCALING_ROUNDS, SCALING_FACTOR * seconds
    drivers = {
        (name, count): http_driver(dict(list(servers.items())[:count]), request, b'"rain"', seconds)
        for name, (servers, request) in programs.items()
        for count in (1, 2)
    }
    results = await interleaved(
        *(_with(driver, CONCURRENCY * count) for (_, count), driver in drivers.items()), rounds=rounds
    )
    table = Table("Scaling", SCALING_NOTE, ("program", "processes", "calls/s", "CPU per call", "capacity"))
    measured = dict(zip(drivers, results, strict=True))
    costs = {place: median(load.cpu for load in loads) for place, loads in measured.items()}
    for (name, count), cost in costs.items():
        capacity, alone = count / cost, 1 / costs[name, 1]
        table.rows.append(
            (
                name,
                count,
                f"{median(load.rate for load in measured[name, count]):,.0f}",
                format_amount(cost, "s"),
                f"{capacity:,.0f} a second ({capacity / alone:.2f}x)",
            )
        )
    return table


async def _costs(installation: Installation, options: Options) -> Table:
    columns = ("request", "server", "PostgreSQL", "Redis", "requests a second and core of the servers")
    table = Table("Cost of a request", COST_NOTE, columns)
    for name, driver, concurrency in _requests(installation, options.seconds):
        await driver(concurrency)  # what is read once is read now
        postgres, redis = installation.postgres_cpu(), _redis_cpu(installation)
        load = await driver(concurrency)
        count = load.rate * options.seconds
        table.rows.append(
            (
                name,
                format_amount(load.cpu, "s"),
                format_amount((installation.postgres_cpu() - postgres) / count, "s"),
                format_amount((_redis_cpu(installation) - redis) / count, "s"),
                f"{1 / load.cpu:,.0f}",
            )
        )
    return table


def _requests(installation: Installation, seconds: float) -> Iterator[tuple[str, Driver, int]]:
    """Yield kinds of requests: a name, a driver, and how many are made at a time."""

    def rest(method: str, path: str, body: Any, expected: bytes) -> Driver:
        content = b"" if body is None else json.dumps(body).encode()
        request = http_request(method, f"{WORKSPACE}{path}", content, installation.key)
        return http_driver(installation.first, request, expected, seconds)

    (port, pid), *_ = installation.servers.items()
    calls = [
        http_request("POST", f"{path}{RAIN}/invoke", CALL, key) for path, key in installation.spread.items()
    ]
    run = mcp_http_driver(port, f"{WORKSPACE}/mcp", "run", RUN, b"rain", pid, seconds, installation.key)
    drivers = {
        "REST, an HTTP tool": rest("POST", f"{RAIN}/invoke", json.loads(CALL), b'"rain"'),
        "REST, the list of packs": rest("POST", "/tools/call", {"name": "ot.packs"}, b"weather"),
        "REST, code with three HTTP tools": rest("POST", "/run", RUN, b"rain"),
        "MCP, `run` with three HTTP tools": run,
        "REST, search": rest("GET", "/tools/search?q=rain", None, b"rain"),
        "REST, a change": rest("PATCH", RAIN, {"isEnabled": True}, b""),
    }
    for name, driver in drivers.items():
        yield name, driver, CONCURRENCY
    spread = http_driver(installation.first, calls, b'"rain"', seconds)
    yield f"REST, an HTTP tool, in {WORKSPACES} workspaces", spread, WORKSPACES


async def _space(installation: Installation, options: Options) -> Table:
    table = Table("Memory and disk space", SPACE_NOTE, ("what", "amount"))
    number = 50 if options.quick else 500
    base = f"http://127.0.0.1:{installation.port}{WORKSPACE}"
    headers = {"Authorization": f"Bearer {installation.key}"}
    with httpx2.Client(base_url=base, headers=headers, trust_env=False, timeout=60) as client:
        per_call = _disk_per_call(installation, client, number)
        per_tool = _disk_per_tool(installation, client, number)
    memory = memory_of(installation.servers[installation.port])
    table.rows.append(("memory of a server", format_amount(memory, "bytes")))
    table.rows.append(("disk per recorded call", f"{per_call:,.0f} bytes"))
    table.rows.append(("disk per tool, with its audit entry", f"{per_tool:,.0f} bytes"))
    return table


def _disk_per_call(installation: Installation, client: httpx2.Client, number: int) -> float:
    calls, size = _records(installation), installation.size_of(CALL_TABLES)
    for _ in range(number):
        client.post("/tools/call", json={"name": "ot.packs"}).raise_for_status()
    while (written := _records(installation) - calls) < number:  # records are written in batches
        time.sleep(0.1)
    return (installation.size_of(CALL_TABLES) - size) / written


def _disk_per_tool(installation: Installation, client: httpx2.Client, number: int) -> float:
    size = installation.size_of(TOOL_TABLES)
    tool = client.get(RAIN).raise_for_status().json()
    tool = {name: tool[name] for name in ("type", "argSchema", "httpImpl")}
    for index in range(number):
        client.put(RAIN.replace("/rain/", f"/rain-{index}/"), json=tool).raise_for_status()
    return (installation.size_of(TOOL_TABLES) - size) / number


def _records(installation: Installation) -> int:
    with psycopg.connect(installation.database) as connection:
        row = connection.execute("select count(*) from onetool.calls").fetchone()
        assert row
        return int(row[0])


def _redis_cpu(installation: Installation) -> float:
    return cpu_of(installation.redis) if installation.redis else 0.0


def _with(driver: Driver, concurrency: int) -> Callable[[], Awaitable[Load]]:
    async def run() -> Load:
        return await driver(concurrency)

    return run
