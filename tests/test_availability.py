"""All kinds of hostile peers at once, while the owner goes on calling tools."""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from onetool import onetool_runtime
from support.paths import PROJECT
from support.rest_process import TOKEN, RestProcess
from support.waiting import HANG_S, until

SUPPORT = PROJECT / "tests" / "support"
FAULTY = str(SUPPORT / "mcp_servers" / "faulty_server.py")
SERVERS = {
    "values": {"command": sys.executable, "args": [FAULTY, "good"], "sandbox": False},
    "listing": {"command": sys.executable, "args": [FAULTY, "many-at-once"], "sandbox": False},
}
CONNECTIONS, BODIES, CALLS = 2_000, 12, 30
ATTACKERS = 4
"""Processes: the flood, two servers with many values, and the one with many tools."""
MAX_MEMORY_KIB = 400 * 2**10
MAX_RATIO, ROUNDS = 5, 3
"""One round within the limit is enough: tests that run beside it may slow down any other."""


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Start `onetool serve`, and let this process use the same directories."""
    with RestProcess(tmp_path, settings=json.dumps({"servers": SERVERS}), probes=False) as server:
        for name in ("config", "data", "state"):
            monkeypatch.setenv(f"ONETOOL_{name.upper()}_DIR", str(tmp_path / name))
        monkeypatch.chdir(tmp_path / "work")
        yield server


class Owner:
    """Calls tools through three interfaces."""

    def __init__(self, http, mcp, ot):
        self._http, self._mcp, self._ot = http, mcp, ot
        self.echoes = {"rest": self._echo_rest, "mcp": self._echo_mcp, "python": self._echo_python}

    async def rest(self, name, **args):
        return (await self._http.post("/tools/call", json={"name": name, "args": args})).json()

    async def python(self, name, **args):
        return (await self._ot.call(name, **args)).to_json()

    async def _echo_rest(self, message):
        return (await self.rest("tools.echo", message=message))["value"]

    async def _echo_mcp(self, message):
        result = await self._mcp.call_tool("run", {"command": f"tools.echo(message={message!r})"})
        return result.content[0].text

    async def _echo_python(self, message):
        return (await self.python("tools.echo", message=message))["data"]

    async def latencies(self):
        """Return the median latency of each interface, in seconds."""
        return {name: statistics.median(await measure(echo)) for name, echo in self.echoes.items()}


async def measure(echo):
    measured = []
    for number in range(CALLS):
        start = time.perf_counter()
        assert await echo(f"message {number}") == f"message {number}"
        measured.append(time.perf_counter() - start)
    return measured


@asynccontextmanager
async def open_owner(url):
    """Connect for every request: the server replaces idle connections if there are too many."""
    headers, limits = {"Authorization": f"Bearer {TOKEN}"}, httpx2.Limits(max_keepalive_connections=0)
    options = {"headers": headers, "limits": limits, "trust_env": False, "timeout": HANG_S}
    async with (
        httpx2.AsyncClient(base_url=url, **options) as http,
        httpx2.AsyncClient(**options) as mcp_http,
        Client(streamable_http_client(f"{url}/mcp", http_client=mcp_http)) as mcp,
        onetool_runtime() as ot,
    ):
        yield Owner(http, mcp, ot)


@contextmanager
def flood(url):
    """Attack a server with connections until the block ends."""
    arguments = [str(SUPPORT / "connection_flood.py"), url.rpartition(":")[2], str(CONNECTIONS), str(BODIES)]
    command = ["sh", "-c", 'ulimit -n 4096; exec "$@"', "sh", sys.executable, *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.stdin.close()
        process.wait(HANG_S)
        process.stdout.close()


@contextmanager
def busy_machine():
    """Use as much CPU time as the attackers do: what they take from this machine is not what is measured."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(ATTACKERS)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


@contextmanager
def hostile_calls(*calls):
    """Repeat calls in the background, and count how many of each have failed."""
    failed = [0] * len(calls)

    async def repeat(number, call):
        while True:
            assert (await call())["ok"] is False
            failed[number] += 1

    tasks = [asyncio.create_task(repeat(number, call)) for number, call in enumerate(calls)]
    try:
        yield failed
    finally:
        for task in tasks:
            task.cancel()


def peak_memory_kib(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1])


def open_files(pid):
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


@pytest.mark.linux
async def test_calls_are_served_under_all_attacks_at_once(server):
    """The owner's calls take less than five times as long as in a quiet process, and memory stays bounded.

    The attacks: a server that sends 3,000,000 values, one that lists 20,000 tools, half-open connections and
    large bodies for `/login`. Nothing of them is left afterwards.
    """
    pid = server.process.pid
    async with open_owner(server.url) as owner:
        await owner.latencies()  # the first calls start what later ones use
        files = open_files(pid)
        for _ in range(ROUNDS):
            ratios = await attack(owner, server.url)
            await until(lambda: open_files(pid) <= files + 10)
            if max(ratios.values()) < MAX_RATIO:
                break
    assert max(ratios.values()) < MAX_RATIO, ratios
    assert peak_memory_kib(pid) < MAX_MEMORY_KIB


async def attack(owner, url):
    """Return how many times as long calls take under attack as on a machine that is equally busy."""
    with busy_machine():
        quiet = await owner.latencies()
    calls = (
        lambda: owner.rest("values.values", count=3_000_000),
        lambda: owner.python("values.values", count=3_000_000),
        lambda: owner.rest("listing.tool_1"),
    )
    with flood(url), hostile_calls(*calls) as failed:
        attacked = await owner.latencies()
        await until(lambda: min(failed) >= 2)
    return {name: round(attacked[name] / quiet[name], 2) for name in quiet}
