"""Faulty MCP servers beside healthy ones, observed by an MCP client and in the process table."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.mcp_client import child_env, create_home, stdio_mcp_client
from support.paths import MCP_SERVERS
from support.processes import command_lines, descendants, is_running, processes_with_env, wait_until
from support.raw_mcp import RawMcpClient
from support.waiting import HANG_S

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads the process table of Linux")
LISTED = {"stuck": "good", "dies": "good", "many": "many", "huge": "good", "local": "good"}
"""Servers whose tools are already known, by the mode of faulty_server.py; `http` is a separate program."""
MODES = LISTED | {"stuck": "hangs", "hangs": "hangs", "floods": "flood"}
STUCK_CALL = "stuck.echo(text='x')"
FAULTY_CALLS = {
    "hangs": "hangs.echo(text='x')",
    "dies": "dies.die()",
    "many": "many.tool_4999()",
    "huge": "huge.huge()",
}
FLOODS_CALL = "floods.echo(text='x')"
HEALTHY_CALLS = {"local": "local.echo(text='fine')", "http": "http.search(query='fine')"}


class CallResult(NamedTuple):
    """Whether a call failed, and its text."""

    failed: bool
    text: str


@dataclass
class Observations:
    """Everything that the client observed during the life of one `onetool mcp` process."""

    healthy: dict[str, list[CallResult]] = field(default_factory=dict)
    """The responses of the healthy servers while the call of the stuck one was pending."""
    faulty: dict[str, CallResult] = field(default_factory=dict)
    after_kill: dict[str, CallResult] = field(default_factory=dict)
    started: int = 0
    remaining: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return the details that explain a failed check."""
        faulty = {name: (result.failed, result.text[:150]) for name, result in self.faulty.items()}
        return f"{self.healthy}, {faulty}, after kill {self.after_kill}, remaining {self.remaining}"


def server_settings(mode: str, mark: str, *args: str) -> dict[str, Any]:
    """Return the settings of a server that has a mark in its environment."""
    command_args = ["-I", str(MCP_SERVERS / "faulty_server.py"), mode, *args]
    return {
        "command": sys.executable,
        "sandbox": False,
        "args": command_args,
        "env": {"MARK": mark},
        "timeout_s": 3600,
        "max_message_bytes": 2**26,
    }


def configure(home: Any, modes: dict[str, str], url: str) -> None:
    servers = {name: server_settings(mode, str(home.root)) for name, mode in modes.items()}
    home.write("onetool.yaml", json.dumps({"servers": servers | {"http": {"url": url, "timeout_s": 3600}}}))


def open_client(home: Any) -> Any:
    return stdio_mcp_client(env=child_env(**home.env), cwd=home.cwd)


async def run_code(client: Any, command: str) -> CallResult:
    result = await client.call_tool("run", {"command": command})
    return CallResult(bool(result.is_error), result.content[0].text)


async def retry_until(client: Any, command: str, is_expected: Callable[[CallResult], bool]) -> CallResult:
    """Repeat a call until its result is as expected, because a server may take long to start or to end."""
    async with asyncio.timeout(HANG_S):
        while not is_expected(result := await run_code(client, command)):
            await asyncio.sleep(0.05)
    return result


def is_successful(result: CallResult) -> bool:
    return not result.failed


async def list_servers(home: Any) -> None:
    """Call each server in a first `onetool mcp` process, which stores what tools they have."""
    async with open_client(home) as client:
        for name in LISTED:
            command = FAULTY_CALLS["many"] if name == "many" else f"{name}.echo(text='listed')"
            await retry_until(client, command, is_successful)
        await retry_until(client, HEALTHY_CALLS["http"], is_successful)


async def observe(home: Any, http_server: "subprocess.Popen[str]") -> Observations:
    """Call all servers at once, kill two of them, then disconnect the client."""
    observed, mark = Observations(), str(home.root)
    before = descendants(os.getpid())
    async with open_client(home) as client:
        stuck = asyncio.create_task(run_code(client, STUCK_CALL))

        async def call_faulty(name: str) -> None:
            observed.faulty[name] = await run_code(client, FAULTY_CALLS[name])

        async def call_healthy(name: str) -> None:
            results = [await run_code(client, HEALTHY_CALLS[name]) for _ in range(3)]
            observed.healthy[name] = [] if stuck.done() else results

        floods = retry_until(client, FLOODS_CALL, lambda result: "malformed" in result.text)
        _, _, observed.faulty["floods"] = await asyncio.gather(
            asyncio.gather(*map(call_healthy, HEALTHY_CALLS)),
            asyncio.gather(*map(call_faulty, FAULTY_CALLS)),
            floods,
        )
        stuck.cancel()
        observed.faulty["many, retried"] = await retry_until(client, FAULTY_CALLS["many"], is_successful)
        os.kill(int((await run_code(client, "local.pid()")).text), signal.SIGKILL)
        observed.after_kill["local"] = await retry_until(client, HEALTHY_CALLS["local"], is_successful)
        http_server.kill()
        http_server.wait()
        observed.after_kill["http"] = await retry_until(
            client, HEALTHY_CALLS["http"], lambda result: "unavailable" in result.text
        )
        children = descendants(os.getpid()) - before
        observed.started = len(processes_with_env(mark))
    wait_until(lambda: not (processes_with_env(mark) or any(map(is_running, children))))
    running = processes_with_env(mark) | {pid for pid in children if is_running(pid)}
    observed.remaining = command_lines(running)
    return observed


def is_unaffected(observed: Observations, name: str) -> bool:
    """Return whether a healthy server responded correctly while the stuck one did not respond."""
    results = observed.healthy[name]
    return len(results) == 3 and all(not result.failed and "fine" in result.text for result in results)


def fails_with(result: CallResult, reason: str) -> bool:
    """Return whether a call failed with a message that matches a pattern."""
    return result.failed and bool(re.search(reason, result.text))


def checks(observed: Observations) -> dict[str, bool]:
    many, huge, after_kill = observed.faulty["many"], observed.faulty["huge"], observed.after_kill
    died = "disconnected during the call: the process ended with exit code 3"
    return {
        "a healthy stdio server responds while a stuck one does not": is_unaffected(observed, "local"),
        "a healthy HTTP server responds while a stuck one does not": is_unaffected(observed, "http"),
        "a server that hangs is reported": fails_with(
            observed.faulty["hangs"], "'hangs' is unavailable: .*(answer|start|long|time)"
        ),
        "a server that dies is reported": fails_with(observed.faulty["dies"], died),
        "a server that floods its output is reported": fails_with(
            observed.faulty["floods"], "'floods' is unavailable: .*malformed output"
        ),
        "one of 5,000 tools is called, or the delay is reported": many.text == "tool-4999"
        or fails_with(many, "'many' is unavailable: .*(start|long|time)"),
        "one of 5,000 tools is called once all are listed": observed.faulty["many, retried"].text
        == "tool-4999",
        "a result of 50 MB is stored and shown in part": not huge.failed
        and len(huge.text) < 5_000
        and "50000000 bytes" in huge.text
        and "ot.result(handle=" in huge.text,
        "a killed stdio server is restarted": after_kill["local"].text == "fine",
        "a killed HTTP server is reported": fails_with(
            after_kill["http"], "'http' is unavailable: .*Connect"
        ),
        "the servers that did not fail still run": observed.started >= 3,
        "no process remains": observed.remaining == [],
    }


@pytest.mark.guards("server-process")
def test_faulty_servers_do_not_affect_healthy_ones(tmp_path: Path) -> None:
    """Eight servers are called at once and two are killed; after a disconnect no process remains."""
    home = create_home(tmp_path)
    command = [sys.executable, "-I", str(MCP_SERVERS / "github.py"), "http"]
    with subprocess.Popen(command, env=child_env(), stdout=subprocess.PIPE, text=True) as http_server:
        try:
            assert http_server.stdout
            url = http_server.stdout.readline().strip()
            configure(home, LISTED, url)
            asyncio.run(list_servers(home))
            configure(home, MODES, url)
            observed = asyncio.run(observe(home, http_server))
        finally:
            http_server.kill()
    assert [check for check, passed in checks(observed).items() if not passed] == [], observed.summary()


def test_servers_end_when_onetool_is_killed(tmp_path: Path) -> None:
    """The servers include one that hangs and one that ignores signals; sandbox workers end too."""
    home, logs = create_home(tmp_path), {}
    mark, servers = str(home.root), {}
    for mode in ("hangs", "stubborn", "good"):
        logs[mode] = tmp_path / f"{mode}.txt"
        servers[mode] = server_settings(mode, mark, str(logs[mode]))
    home.write("onetool.yaml", json.dumps({"servers": servers}))
    client = RawMcpClient("2025-06-18", home.env, home.cwd)
    try:
        client.initialize()
        for name in servers:
            client.send("tools/call", name="run", arguments={"command": f"{name}.echo(text='x')"})
        assert wait_until(lambda: all(log.exists() for log in logs.values()))
        processes = descendants(client.process.pid)
        assert len(processes & processes_with_env(mark)) >= len(servers)
    finally:
        client.kill()
    processes |= processes_with_env(mark)
    wait_until(lambda: not any(map(is_running, processes)))
    assert command_lines(pid for pid in processes if is_running(pid)) == []
