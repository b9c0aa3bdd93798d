"""Sessions of earlier clients: sealed ids, and two runtimes of one user that serve them."""

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakSet

import pytest

from onetool.interfaces.mcp import http_sessions, posted_elsewhere
from onetool.interfaces.mcp.client_sessions import (
    LIFETIME_S,
    MAX_AGREED_LENGTH,
    Agreed,
    RequestOfOurs,
    SessionSeal,
    TooMuchDeclared,
)
from onetool.interfaces.mcp.http_sessions import HttpSessions
from onetool.interfaces.mcp.server import create_server
from onetool.interfaces.mcp.transports import http_app
from support import rest_in_process
from support.contents_world import World
from support.raw_mcp import CLIENT_INFO, LEGACY
from support.waiting import until

AGREED = Agreed(LEGACY, CLIENT_INFO, {"elicitation": {"form": {}}})
KEY, OTHER_KEY = b"k" * 32, b"o" * 32
REQUEST = RequestOfOurs("0" * 32, "1" * 16)
FORBIDDEN_BODIES = [b"", b"[]", b"{", b'{"method": "initialize"}', b'{"id": 1, "method": "initialize"}']


def test_a_sealed_session_is_what_was_agreed():
    sealed, session = SessionSeal(KEY, "all").create(AGREED, "Bearer t")
    assert SessionSeal(KEY, "all").open(sealed, "Bearer t") == session
    assert session.agreed == AGREED
    assert CLIENT_INFO["name"] not in sealed


@pytest.mark.parametrize(
    ("key", "endpoint", "credential"),
    [(OTHER_KEY, "all", "t"), (KEY, "run", "t"), (KEY, "all", "u"), (KEY, "all", "")],
)
def test_a_session_of_another_user_endpoint_or_token_is_unknown(key, endpoint, credential):
    sealed, _ = SessionSeal(KEY, "all").create(AGREED, "t")
    assert SessionSeal(key, endpoint).open(sealed, credential) is None


@pytest.mark.guards("client-sessions")
def test_every_changed_character_makes_a_session_unknown():
    seal = SessionSeal(KEY, "all")
    sealed, _ = seal.create(AGREED, "t")
    for index, character in enumerate(sealed):
        changed = sealed[:index] + ("A" if character != "A" else "B") + sealed[index + 1 :]
        assert seal.open(changed, "t") is None
    for text in ("", "ö", sealed + "=", sealed[:-1], sealed + sealed):
        assert seal.open(text, "t") is None


def test_a_session_expires():
    now = [1_000.0]
    seal = SessionSeal(KEY, "all", lambda: now[0])
    sealed, session = seal.create(AGREED, "t")
    now[0] += LIFETIME_S
    assert seal.open(sealed, "t") == session
    now[0] += 1
    assert seal.open(sealed, "t") is None


@pytest.mark.guards("client-sessions")
def test_a_client_that_declares_too_much_is_refused():
    agreed = AGREED._replace(client={"name": "n" * MAX_AGREED_LENGTH, "version": "1"})
    with pytest.raises(TooMuchDeclared, match="2,048 characters"):
        SessionSeal(KEY, "all").create(agreed, "t")


def test_the_id_of_a_request_belongs_to_its_session():
    seal = SessionSeal(KEY, "all")
    (_, one), (_, two) = seal.create(AGREED, "t"), seal.create(AGREED, "t")
    id = one.request_id(REQUEST)
    assert one.request_of(id) == REQUEST
    assert two.request_of(id) is None
    changed = id[:-1] + ("0" if id[-1] != "0" else "1")
    for forged in (changed, "", "onetool-", "onetool-a-b", "onetool-a-b-ö", id.replace("0", "1", 1)):
        assert one.request_of(forged) is None


class Replica:
    """One runtime of a user, and requests of an earlier client to it."""

    def __init__(self, http):
        self.http = http

    async def post(self, message, session=""):
        """Post a message and return the response."""
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        headers |= {"Mcp-Session-Id": session} if session else {}
        body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0"} | message).encode()
        return await self.http.post("/mcp", content=body, headers=headers)

    async def request(self, method, session, **params):
        """Send a request and return its response."""
        response = (await self.messages(method, session, **params))[-1]
        assert "result" in response, response
        return response

    async def messages(self, method, session, **params):
        """Send a request and return its notices and its response."""
        response = await self.post({"id": 1, "method": method, "params": params}, session)
        assert response.status_code == 200, response.text
        lines = [line.removeprefix("data: ") for line in response.text.splitlines()]
        return [json.loads(line) for line in lines if line.startswith("{")]

    async def initialize(self, **fields):
        """Open a session and return its id."""
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT_INFO} | fields
        response = await self.post({"id": 0, "method": "initialize", "params": params})
        return response.headers.get("Mcp-Session-Id"), response

    @asynccontextmanager
    async def notices(self, session):
        """Open the stream of notices; yield a list that receives them."""
        received, headers = [], {"Accept": "text/event-stream", "Mcp-Session-Id": session}

        async def read(stream):
            async for line in stream.aiter_lines():
                if line.startswith("data: "):
                    received.append(json.loads(line.removeprefix("data: ")))

        async with self.http.stream("GET", "/mcp", headers=headers) as stream:
            assert stream.status_code == 200
            reading = asyncio.create_task(read(stream))
            try:
                yield received
            finally:
                reading.cancel()
                await asyncio.wait({reading})


@asynccontextmanager
async def replica(world):
    async with (
        world.open() as runtime,
        http_app(create_server(runtime, "all")) as app,
        rest_in_process.serve_rest(runtime, mounts={"/mcp": app}) as http,
    ):
        yield Replica(http)


@asynccontextmanager
async def two_replicas(tmp_path):
    """Open two runtimes with the same directories."""
    world = World(tmp_path, names=("one",))
    async with replica(world) as first, replica(world) as second:
        yield world, first, second


@pytest.mark.spec("MCP-54")
async def test_subscriptions_hold_at_every_process(tmp_path):
    """They are made at one process, and the stream of notices is at the other one."""
    update = {"methods": ["notifications/resources/updated"], "params": {"uri": "memo:x"}}
    async with two_replicas(tmp_path) as (world, first, second):
        session, _ = await first.initialize()

        def count(method):
            return [request["method"] for request in world.requests("one")].count(method)

        async with second.notices(session) as notices:
            await first.request("resources/subscribe", session, uri="ot.one+memo:x")
            await until(lambda: count("resources/subscribe") == 2)
            await second.request("tools/call", session, name="one__notify", arguments=update)
            await until(lambda: "notifications/resources/updated" in [notice["method"] for notice in notices])
            await second.request("resources/unsubscribe", session, uri="ot.one+memo:x")
            await until(lambda: count("resources/unsubscribe") == 1)
            await first.request("ping", session)
            await until(lambda: count("resources/unsubscribe") == 2)


@pytest.mark.spec("MCP-54")
async def test_the_log_level_holds_at_every_process(tmp_path):
    """The next request has it, wherever it arrives."""
    call = {"name": "one__log", "arguments": {"levels": ["info", "error"]}}
    async with two_replicas(tmp_path) as (_, first, second):
        session, _ = await first.initialize()
        for level, expected in (("error", ["error"]), ("debug", ["info", "error"])):
            await first.request("logging/setLevel", session, level=level)
            *notices, _ = await second.messages("tools/call", session, **call)
            assert [notice["params"]["level"] for notice in notices] == expected


@pytest.mark.spec("MCP-54")
async def test_a_session_is_initialized_once_and_with_little(tmp_path):
    async with two_replicas(tmp_path) as (_, first, second):
        session, _ = await first.initialize()
        params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": CLIENT_INFO}
        again = await second.post({"id": 0, "method": "initialize", "params": params}, session)
        assert (again.status_code, "initialized already" in again.text) == (400, True)
        created, refused = await first.initialize(
            clientInfo={"name": "n" * MAX_AGREED_LENGTH, "version": "1"}
        )
        assert (created, refused.status_code) == (None, 400)
        assert "declares more than" in refused.text


async def test_what_does_not_initialize_creates_no_session(tmp_path):
    async with replica(World(tmp_path, names=("one",))) as process:
        for body in FORBIDDEN_BODIES:
            response = await process.post(body)
            session = response.headers.get("Mcp-Session-Id", "none")
            assert (await process.post({"id": 1, "method": "ping"}, session)).status_code == 404


@pytest.mark.guards("client-sessions")
@pytest.mark.spec("MCP-54")
async def test_cancellations_of_requests_that_no_process_runs_are_few(tmp_path, monkeypatch):
    """A client cannot fill the disk with them, and old ones make room."""
    async with two_replicas(tmp_path) as (world, first, _):
        session, _ = await first.initialize()
        monkeypatch.setattr(posted_elsewhere, "MAX_CANCELLATIONS", 2)

        async def cancel(id):
            notice = {"method": "notifications/cancelled", "params": {"requestId": id}}
            assert (await first.post(notice, session)).status_code == 202

        def stored():
            return len(list((world.home.root / "data" / "client_sessions").glob("*/cancel.*")))

        for id in range(5):
            await cancel(id)
        assert stored() == 2
        monkeypatch.setattr(posted_elsewhere, "CANCELLATION_LIFETIME_S", -1.0)
        await cancel(6)
        assert stored() == 0
        for params in ({}, {"requestId": [1]}, None):
            await first.post({"method": "notifications/cancelled", "params": params}, session)
        assert stored() == 0


@pytest.mark.spec("MCP-54")
async def test_clients_that_end_no_session_do_not_fill_the_memory(tmp_path, monkeypatch):
    """Only some sessions are held. All of them can be used, and those with a stream of notices are kept."""
    monkeypatch.setattr(http_sessions, "MAX_HELD", 3)
    created, run_session = WeakSet(), HttpSessions._run_session

    async def run(self, *args, **options):
        created.add(self)
        await run_session(self, *args, **options)

    monkeypatch.setattr(HttpSessions, "_run_session", run)
    async with replica(World(tmp_path, names=("one",))) as process:
        listening, _ = await process.initialize()
        async with process.notices(listening) as notices:
            sessions = [(await process.initialize())[0] for _ in range(10)]
            for session in [*sessions, *sessions]:
                assert (await process.request("ping", session))["result"] == {}
            (manager,) = created
            await until(lambda: len(manager._served) <= 3)
            await process.request("resources/subscribe", listening, uri="ot.one+memo:x")
            update = {"methods": ["notifications/resources/updated"], "params": {"uri": "memo:x"}}
            await process.request("tools/call", sessions[0], name="one__notify", arguments=update)
            await until(lambda: "notifications/resources/updated" in [notice["method"] for notice in notices])


@pytest.mark.spec("MCP-54")
async def test_clients_with_a_stream_of_notices_are_not_refused(tmp_path, monkeypatch):
    """However many they are: only unused sessions are given up."""
    monkeypatch.setattr(http_sessions, "MAX_HELD", 2)
    async with replica(World(tmp_path, names=("one",))) as process, AsyncExitStack() as streams:
        for _ in range(5):
            session, _ = await process.initialize()
            await streams.enter_async_context(process.notices(session))
            assert (await process.request("ping", session))["result"] == {}


@pytest.mark.guards("client-sessions")
async def test_sessions_that_cannot_be_read_are_refused(tmp_path):
    """A session that was ended must not work because its entries cannot be read."""
    async with two_replicas(tmp_path) as (world, first, second):
        session, _ = await first.initialize()
        folder = world.home.root / "data" / "client_sessions"
        folder.parent.mkdir(exist_ok=True)
        folder.write_text("not a directory")
        response = await second.post({"id": 1, "method": "ping"}, session)
        assert response.status_code == 503
