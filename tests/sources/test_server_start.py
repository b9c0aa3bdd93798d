"""How the program of a server is started, watched and reported."""

import asyncio
import json
import logging
import sys
from contextlib import asynccontextmanager

import pytest

from onetool.settings.server_schema import PathSettings, ServerSettings
from onetool.sources.mcp_servers import listing as listings
from onetool.sources.mcp_servers import session as sessions
from onetool.sources.mcp_servers.errors import ServerUnavailable
from onetool.sources.mcp_servers.request_options import RequestOptions
from onetool.sources.mcp_servers.session import ServerSession
from onetool.sources.mcp_servers.transport.notification_limit import NotificationLimit
from onetool.sources.mcp_servers.transport.process_activity import process_activity
from onetool.sources.mcp_servers.transport.startup import Startup
from onetool.testing.runtime import memory_runtime
from onetool.threads import Threads
from support.opened_server import opened_server
from support.paths import MCP_SERVERS
from support.waiting import HANG_S, until

FAULTY = str(MCP_SERVERS / "faulty_server.py")


def settings(mode, *args, **more):
    more = {"sandbox": False, **more}
    return ServerSettings(command=sys.executable, args=("-I", FAULTY, mode, *map(str, args)), **more)


def opened(server_settings, tmp_path, **options):
    return opened_server(server_settings, tmp_path / "state" / "s", **options)


async def call_text(session, tool):
    """Call a tool without arguments and return the text of its result."""
    result = await session.request("tools/call", {"name": tool, "arguments": {}}, RequestOptions(1e9))
    return result["content"][0]["text"]


@pytest.mark.spec("MCP-69")
async def test_own_directory_is_private_and_a_configured_one_must_exist(tmp_path):
    async with opened(settings("good"), tmp_path) as server:
        assert await server.probe(HANG_S)
    assert server.home.stat().st_mode & 0o777 == 0o700
    async with opened(settings("good", cwd=str(tmp_path / "none")), tmp_path) as server:
        assert await server.probe(HANG_S) is False
        assert server.status().reason == f"its working directory '{tmp_path}/none' does not exist"


async def test_relative_command_is_found_in_the_working_directory(tmp_path):
    program = tmp_path / "bin" / "serve"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -I {FAULTY} good\n")
    program.chmod(0o755)
    async with opened(
        ServerSettings(command="bin/serve", cwd=str(tmp_path), sandbox=False), tmp_path
    ) as server:
        assert await server.probe(HANG_S)
        assert server.last_start().steps[0][:2] == ("program found", str(program))


async def test_failed_start_ends_with_the_last_output(tmp_path):
    """Without what npm announces about itself, which is in the log of the server."""
    async with opened(settings("explains"), tmp_path) as server:
        assert await server.probe(HANG_S) is False
        reason = "the process ended with exit code 1 (last output: "
        assert server.status().reason == f"{reason}Fetching the model ... | Error: set ACME_TOKEN)"
        assert server.last_start().output[-1] == "npm notice New version of npm available!"


async def test_steps_of_a_start_are_reported(tmp_path):
    async with opened(settings("good"), tmp_path) as server:
        assert await server.probe(HANG_S)
        steps = server.last_start().steps
    assert [step.name for step in steps] == ["program found", "sandbox", "started", "handshake", "tools"]
    assert steps[0].detail == sys.executable
    assert steps[1].detail == "none: all rights of the user"
    assert "protocol 20" in steps[3].detail
    assert [step.seconds for step in steps] == sorted(step.seconds for step in steps)


class SlowStart:
    """A session that never becomes ready, on a clock that runs 20 s for each look at it."""

    def __init__(self, activity):
        self.now = 0.0
        self.startup = Startup(self.clock)
        self.startup.activity = activity

    def clock(self):
        self.now += 20.0
        return self.now

    @asynccontextmanager
    async def open_streams(self, on_end):
        await asyncio.Event().wait()
        yield

    async def failure(self, monkeypatch):
        """Return why the start failed, and after how many seconds."""
        monkeypatch.setattr(sessions, "POLL_INTERVAL_S", 0.0)
        threads = Threads()
        log = logging.getLogger("test")
        session = ServerSession(
            self.open_streams,
            log,
            lambda notice: None,
            self.startup,
            threads,
            notifications=NotificationLimit(log),
            declared={},
        )
        with pytest.raises(ServerUnavailable) as failure:
            await session.start()
        await session.close()
        threads.close()
        return str(failure.value), self.now


async def test_start_without_a_sign_of_life_fails(monkeypatch):
    reason, seconds = await SlowStart(lambda: 1).failure(monkeypatch)
    assert reason == "no response, and no sign of life for 30 s"
    assert seconds <= 120


async def test_start_continues_while_the_program_shows_life_up_to_a_limit(monkeypatch):
    numbers = iter(range(1_000_000))
    reason, seconds = await SlowStart(lambda: next(numbers)).failure(monkeypatch)
    assert reason == "no response within 900 s"
    assert seconds > 900


@pytest.mark.linux
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_activity_grows_with_the_work_of_a_child(tmp_path):
    """A package manager starts the programs that download."""
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    work = "import sys; input(); sum(range(3_000_000)); print('done', flush=True); sys.stdin.read()"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, work, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    idle = 0
    while (activity := process_activity(process.pid)) != idle:  # until both have started
        idle = activity
        await asyncio.sleep(0.5)
    process.stdin.write(b"\n")
    assert await process.stdout.readline() == b"done\n"
    assert process_activity(process.pid) > idle
    process.stdin.close()
    await process.wait()
    assert process_activity(process.pid) == 0


async def test_listing_does_not_wait_for_a_start_in_a_process_that_goes_on(tmp_path, monkeypatch):
    """The server is named as starting; its tools are listed once it has started."""
    monkeypatch.setattr(listings, "LISTING_TIMEOUT_S", 0.0)
    monkeypatch.setattr("onetool.sources.mcp_servers.source.LISTING_TIMEOUT_S", 0.0)
    async with opened(settings("hangs", tmp_path / "log"), tmp_path, is_patient=False) as server:
        assert await server.count() == 0
        assert (server.state, server.status().needs_start) == ("starting", True)
        assert server.status().reason == "it is still starting"


@pytest.mark.parametrize("code", ["ot.tools()", "ot.packs()", "ot.find(query='read')", "ot.help(query='x')"])
async def test_listings_name_the_servers_that_are_missing(tmp_path, code):
    servers = {"s": {"command": sys.executable, "args": ["-I", FAULTY, "explains"], "sandbox": False}}
    async with memory_runtime(settings={"servers": servers}) as ot:
        text = (await ot.runtime.state.model_output.render_run(await ot.runtime.run(code, ot.caller))).text
        other = await ot.runtime.run("1 + 1", ot.caller)
        assert "Missing" not in (await ot.runtime.state.model_output.render_run(other)).text
    assert text.splitlines()[-1].startswith("# Missing: the tools of s (the process ended with exit code 1 (")
    assert text.endswith("set ACME_TOKEN)).")


async def test_health_reports_a_starting_server_as_starting_and_connects_only_on_request(tmp_path):
    log = tmp_path / "log"
    servers = {"s": {"command": sys.executable, "args": ["-I", FAULTY, "hangs", str(log)], "sandbox": False}}
    async with memory_runtime(settings={"servers": servers}) as ot:
        state = ot.runtime.state.servers
        assert (await state.check_all(None))["s"].state == "configured"
        assert not log.exists()
        health = (await state.check_all(0.01))["s"]
        assert health.state == "starting"
        (problem,) = health.problems("s")
        assert problem.what.startswith("Server 's' is not ready: it is still starting")
        await until(log.exists)


@pytest.mark.guards("server-sandbox")
@pytest.mark.linux
async def test_server_runs_in_a_sandbox_unless_it_is_turned_off(tmp_path):
    """Its home is its own directory. It sees its program and what was granted, and no other file of yours."""
    private = tmp_path / "private"
    private.mkdir()
    granted = ({"path": FAULTY},)
    paths = tuple(PathSettings(**grant) for grant in granted)
    async with opened(settings("good", sandbox=True, paths=paths), tmp_path) as server:
        if "none" in await server.restrictions():
            pytest.skip("no sandbox on this system")
        assert await server.probe(HANG_S), server.status().reason
        session = await server._connection.current()
        env = json.loads(await call_text(session, "env"))
        assert (env["HOME"], env.get("SSH_AUTH_SOCK")) == (str(server.home), None)
        assert server.last_start().steps[1].detail == await server.restrictions()
    async with opened(settings("good", private / "log", sandbox=True, paths=paths), tmp_path) as server:
        assert await server.probe(HANG_S) is False
        assert list(private.iterdir()) == []


async def test_control_characters_in_the_output_of_a_program_are_replaced(tmp_path):
    """They could move the cursor or hide text in the terminal that shows the start."""
    program = ServerSettings(
        command=sys.executable,
        args=("-c", "import sys; sys.stderr.write('\\x1b[2Jgone\\n'); sys.exit(1)"),
        sandbox=False,
    )
    async with opened(program, tmp_path) as server:
        assert await server.probe(HANG_S) is False
        assert server.last_start().output == ("\ufffd[2Jgone",)
        assert "\x1b" not in server.status().reason
