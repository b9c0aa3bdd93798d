"""Tasks of servers: the session may end while a task is polled, and nothing is called twice."""

import asyncio
import json
import subprocess
import sys
import time

import pytest

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.settings.schema import ServerSettings
from onetool.sources.mcp_servers import tasks
from support.opened_server import opened_server
from support.paths import MCP_SERVERS
from support.waiting import HANG_S, until


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def process(log):
    command = [sys.executable, "-I", str(MCP_SERVERS / "task_server.py"), str(log), "--http"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.fixture
async def server(process, tmp_path):
    settings = ServerSettings(url=process.stdout.readline().strip())
    async with opened_server(settings, tmp_path, name="far", is_patient=False) as source:
        yield source


async def call(server, gate):
    tool = await server.find("far.job")
    noted = asyncio.Event()

    async def note(task):
        noted.set()

    caller = Caller(interface="test", on_task=note)
    args = {"gate": str(gate)}
    invocation = Invocation("1", "far.job", args, caller, time.monotonic() + HANG_S, CancelFlag())
    running = asyncio.create_task(tool.runner(args, invocation))
    async with asyncio.timeout(HANG_S):
        await noted.wait()
    return running


@pytest.mark.spec("MCP-58")
async def test_task_is_polled_on_in_the_next_session(server, log, tmp_path):
    running = await call(server, tmp_path / "gate")
    (await server._connection.current()).end("the connection was lost")
    (tmp_path / "gate").touch()
    assert (await running).to_data() == "done for no one"
    assert [json.loads(line)["event"] for line in log.read_text().splitlines()] == ["run"]


@pytest.mark.spec("MCP-58")
async def test_task_fails_if_its_server_stays_away(server, process, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "FAILED_POLL_WAIT_S", 0.01)
    running = await call(server, tmp_path / "gate")
    process.kill()
    process.wait(HANG_S)
    await until(running.done)
    assert "far" in str(running.exception())
