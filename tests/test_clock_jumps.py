"""A wall clock that jumps by hours while OneTool runs."""

import asyncio

import pytest

from support.jumping_clock import HOUR_S, JumpingClock
from support.rest_process import RestProcess, RestReply, http_tool, write_private
from support.rest_process import shared_upstream as shared_upstream
from support.waiting import HANG_S, until

WAITING_PACK = """import time
from pathlib import Path

def wait(started: str, gate: str) -> str:
    Path(started).touch()
    while not Path(gate).exists():
        time.sleep(0.01)
    return "opened"
"""


class JumpingServer(RestProcess):
    """A server whose wall clock is ahead by the number of hours in a file, or behind."""

    def __init__(self, root):
        self.clock = JumpingClock(root)
        super().__init__(root, **self.clock.env)
        write_private(self.config / "tools" / "waiting.py", WAITING_PACK)

    def call(self, name, **args):
        return self.client.post("/tools/call", json={"name": name, "args": args}).json()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with JumpingServer(tmp_path_factory.mktemp("jumping")) as server:
        yield server


@pytest.fixture
def server(shared):
    """Return the shared server, with the right time."""
    shared.clock.set(0)
    return shared


@pytest.mark.guards("machine-clock")
@pytest.mark.parametrize("hours", [10, -10])
async def test_a_call_in_progress_neither_times_out_nor_lasts_longer(server, tmp_path, hours):
    """Timeouts and durations have nothing to do with the time of day."""
    started, gate = tmp_path / "started", tmp_path / "gate"
    call = asyncio.to_thread(server.call, "waiting.wait", started=str(started), gate=str(gate))
    task = asyncio.create_task(call)
    await until(started.exists)
    server.clock.set(hours)
    assert server.call("tools.echo", message="hi")["ok"]
    gate.touch()
    body = await task
    assert body["value"] == "opened"
    assert 0 <= body["meta"]["durationMs"] < HANG_S * 1000


@pytest.mark.guards("machine-clock")
def test_tokens_of_http_tools_work_after_every_jump(server, upstream):
    """Too new a token costs a refresh. One that expired unnoticed is rejected by the API and replaced."""
    issued, valid = [], set()

    def issue(request):
        issued.append(f"token-{len(issued)}")
        valid.clear()
        valid.add(f"Bearer {issued[-1]}")
        return RestReply(body={"access_token": issued[-1], "token_type": "Bearer", "expires_in": HOUR_S})

    def serve(request):
        is_valid = request.headers.get("Authorization", request.headers.get("authorization")) in valid
        return RestReply(200, {"fine": True}) if is_valid else RestReply(401, {"error": "expired"})

    auth = {"type": "oauth2", "grant": "client_credentials", "clientId": "me", "clientSecret": "${API_KEY}"}
    auth["tokenUrl"] = upstream.url + upstream.script(issue)
    tool = server.create_tool(**http_tool(upstream.url + upstream.script(serve), request={"auth": auth}))
    for hours in (0, 10, -10, 0):
        server.clock.set(hours)
        assert server.invoke_value(tool)
    server.clock.set(-20)
    valid.clear()
    assert server.invoke_value(tool)
    assert 2 <= len(issued) <= 4


def test_results_statistics_and_health_go_on(server):
    def echoes():
        return server.call("ot.stats", period="all")["value"]["tools"]["tools.echo"]["calls"]

    assert server.call("tools.echo", message="hi")["ok"]
    before = echoes()
    for hours in (10, -10, 0):
        server.clock.set(hours)
        assert server.call("tools.echo", message="hi")["ok"]
        assert server.client.get("/health").json()["problems"] == []
        assert server.client.get("/readyz").status_code == 200
    assert echoes() == before + 3
    tool = server.create_tool(slug="probe")
    assert server.search_slugs(tool["bundleID"], "probe") == ["probe"]
