"""Streams of a hosted workspace end with the rights of their reader, and their number is limited."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from onetool.bootstrap.api_keys import ApiKeyAuthenticator
from onetool.domain.errors import StoreUnavailable
from onetool.domain.identity.roles import Role
from onetool.domain.policy.member import Member, MemberKind
from onetool.interfaces.mcp.transports import IDLE_S
from onetool.interfaces.rest import stream_watch
from onetool.interfaces.rest.hosted import MIN_PRINCIPALS, HostedApp
from support.raw_mcp import HTTP_HEADERS, INITIALIZE
from support.waiting import HANG_S, until

pytestmark = pytest.mark.asyncio(loop_scope="module")
ECHO = {"name": "tools.echo", "args": {"message": "x"}}


class Stream:
    """A GET request whose response is read until it ends."""

    def __init__(self, app, slug, path, key, headers=None):
        sent = {"host": "localhost", "authorization": f"Bearer {key}", **HTTP_HEADERS, **(headers or {})}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": f"/w/{slug}{path}",
            "raw_path": f"/w/{slug}{path}".encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
        }
        self.status, self.is_complete, self._is_read = 0, False, False
        self.started = asyncio.Event()
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self):
        if self._is_read:
            await asyncio.Event().wait()
        self._is_read = True
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message):
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.started.set()
        else:
            self.is_complete = not message.get("more_body", False)

    async def open(self):
        async with asyncio.timeout(HANG_S):
            await self.started.wait()
        assert self.status == 200
        return self

    async def end(self):
        async with asyncio.timeout(HANG_S):
            await self.task
        assert self.is_complete

    async def stop(self):
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


async def job_stream(server, slug, key):
    """Open the events of a job that no worker runs."""
    async with server.client(slug, key) as client:
        started = await client.post("/tools/call", json=ECHO, headers={"Prefer": "respond-async"})
        assert started.status_code == 202, started.text
    return await Stream(server.app, slug, f"/jobs/{started.json()['job']}", key).open()


async def mcp_stream(server, slug, key):
    """Open what the MCP server sends on its own."""
    async with server.client(slug, key) as client:
        session = (await client.post("/mcp", json=INITIALIZE, headers=HTTP_HEADERS)).headers["mcp-session-id"]
    return await Stream(server.app, slug, "/mcp", key, {"mcp-session-id": session}).open()


async def revoke(contents, key):
    assert await contents.keys.revoke(key.key.id)


async def remove(contents, key):
    assert await contents.members.remove(MemberKind.SERVICE, key.key.owner)


async def make_auditor(contents, key):
    await contents.members.put(Member(MemberKind.SERVICE, key.key.owner, Role.AUDITOR))


@pytest.mark.parametrize("open_stream", [job_stream, mcp_stream])
@pytest.mark.parametrize("change", [revoke, remove, make_auditor])
async def test_stream_ends_when_its_reader_loses_the_right_to_it(server, open_stream, change):
    slug = await server.new_workspace()
    key, other = [await server.new_key(slug, owner, role=Role.CALLER) for owner in ("anna", "ben")]
    stream, stays = [await open_stream(server, slug, each.text) for each in (key, other)]
    async with server.contents(slug) as contents:
        await change(contents, key)
    await stream.end()
    assert not stays.task.done()
    await stays.stop()


async def test_stream_ends_when_its_key_expires(server):
    slug = await server.new_workspace()
    key = await server.new_key(slug, lifetime=timedelta(seconds=3))
    await (await job_stream(server, slug, key.text)).end()


async def test_one_principal_cannot_occupy_the_requests_of_its_workspace(server, monkeypatch):
    """All keys of a principal count together, and others are still served."""
    slug = await server.new_workspace()
    keys = [(await server.new_key(slug, owner)).text for owner in ("anna", "anna", "ben")]
    app = HostedApp(
        server.workspaces,
        authenticate=ApiKeyAuthenticator(server.parts).authenticate,
        status=server.parts.status,
        threads=server.parts.threads,
        max_requests=2 * MIN_PRINCIPALS,
    )
    monkeypatch.setattr(server, "app", app)
    streams = [await job_stream(server, slug, key) for key in keys[:2]]
    async with server.client(slug, keys[0]) as anna, server.client(slug, keys[2]) as ben:
        refused = await anna.get("/me")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert "2 requests of 'anna' are in progress" in refused.json()["detail"]
        assert (await ben.get("/me")).status_code == 200
        await streams[0].stop()
        assert (await anna.get("/me")).status_code == 200
    await streams[1].stop()


async def endless(scope, receive, send):
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await asyncio.Event().wait()


@pytest.mark.parametrize("error", [StoreUnavailable("The database is away."), ValueError("a defect")])
async def test_stream_ends_when_its_rights_cannot_be_checked(monkeypatch, error):
    monkeypatch.setattr(stream_watch, "CHECK_INTERVAL_S", 0.01)
    monkeypatch.setattr(stream_watch, "MAX_UNCHECKED_S", 0.05)
    sent = []

    async def check():
        raise error

    async def send(message):
        sent.append(message)

    async with asyncio.timeout(HANG_S):
        await stream_watch.serve_while_allowed(check, endless, {}, None, send)
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


async def test_stream_stays_open_while_the_database_is_away_for_a_moment(monkeypatch):
    monkeypatch.setattr(stream_watch, "CHECK_INTERVAL_S", 0.01)
    checks = []

    async def check():
        checks.append(1)
        if len(checks) < 5:
            raise StoreUnavailable("The database is away.")
        return len(checks) < 10

    async def send(message):
        pass

    async with asyncio.timeout(HANG_S):
        await stream_watch.serve_while_allowed(check, endless, {}, None, send)
    assert len(checks) == 10


async def test_timeout_of_the_app_is_not_taken_for_the_end_of_a_stream():
    async def failing(scope, receive, send):
        raise TimeoutError("of the app")

    async def check():
        return True

    with pytest.raises(TimeoutError, match="of the app"):
        await stream_watch.serve_while_allowed(check, failing, {}, None, None)


async def test_session_id_of_an_mcp_client_is_of_no_use_to_another_principal(server):
    """Also if both have their keys in cookies."""
    slug = await server.new_workspace()
    keys = [(await server.new_key(slug, owner)).text for owner in ("anna", "ben")]
    own_page = {
        **HTTP_HEADERS,
        "X-OneTool": "1",
        "Sec-Fetch-Site": "same-origin",
        "Origin": "http://localhost",
    }
    anna, ben = [{**own_page, "Cookie": f"onetool-key={key}"} for key in keys]
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    async with server.client(slug) as client:
        started = await client.post("/mcp", json=INITIALIZE, headers=anna)
        session = {"mcp-session-id": started.headers["mcp-session-id"]}
        assert (await client.post("/mcp", json=body, headers=anna | session)).status_code == 200
        refused = await client.post("/mcp", json=body, headers=ben | session)
    assert (refused.status_code, "Session not found" in refused.text) == (404, True)


async def test_apps_of_principals_that_are_not_used_are_closed_and_sessions_go_on(server):
    slug, now = await server.new_workspace(), [1_000.0]
    keys = [await server.new_key(slug, owner) for owner in ("anna", "ben", "cleo")]
    async with server.workspaces.use(slug) as opened:
        apps = opened.mcp
        apps._clock = lambda: now[0]
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(server.client(slug, key.text)) for key in keys]
            started = await clients[0].post("/mcp", json=INITIALIZE, headers=HTTP_HEADERS)
            stream = await mcp_stream(server, slug, keys[1].text)
            now[0] += IDLE_S + 1
            await clients[2].post("/mcp", json=INITIALIZE, headers=HTTP_HEADERS)
            assert {principal.id for _, principal in apps._apps} == {"ben", "cleo"}
            await until(lambda: len(apps._tasks) == 2)
            assert not stream.task.done()
            session = HTTP_HEADERS | {"mcp-session-id": started.headers["mcp-session-id"]}
            body = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
            assert (await clients[0].post("/mcp", json=body, headers=session)).status_code == 200
            await stream.stop()
