"""Connections to `onetool serve`: limits, timeouts and what they log, over real sockets."""

import asyncio
import http.client
import json
import logging
import subprocess
import sys
from contextlib import asynccontextmanager, closing, suppress
from urllib.parse import urlsplit

import pytest

from onetool.interfaces.rest.connections import (
    MAX_CONNECTIONS,
    MAX_HEADER_BYTES,
    MAX_HOSTED_CONNECTIONS,
    MAX_PIPELINED,
    ConnectionLimits,
    default_limits,
)
from onetool.interfaces.rest.log_limit import MAX_MESSAGES, MAX_REPEATS, PERIOD_S, RepeatFilter
from onetool.testing import memory_runtime
from support.chat_client import read_events
from support.raw_mcp import META_PREFIX, MODERN
from support.rest_in_process import TOKEN, serve_rest
from support.rest_process import TOKEN as PROCESS_TOKEN
from support.rest_process import RestProcess
from support.waiting import HANG_S

NEVER_S = HANG_S * 10
HALF = b"GET /usage HTTP/1.1\r\nHost: localhost\r\nX-Half: "
HEAD = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n".encode()
CALL = json.dumps({"name": "demo.wait"}).encode()


def limits(**changes):
    """Return limits that no test reaches by accident."""
    timeouts = dict.fromkeys(("header_timeout_s", "body_timeout_s", "write_timeout_s"), NEVER_S)
    return ConnectionLimits(**{"max_connections": 1_000, "max_per_address": 1_000} | timeouts | changes)


class Demo:
    """Tools that report to the test."""

    def __init__(self) -> None:
        self.started, self.resume, self.cancelled = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.calls = 0

        async def wait() -> str:
            """Wait until the test goes on."""
            self.calls += 1
            self.started.set()
            await self.resume.wait()
            return "done"

        async def flood(ctx) -> None:
            """Report more than socket buffers hold, until the call is cancelled."""
            try:
                while True:
                    ctx.progress(1, None, "x" * 20_000)
                    await asyncio.sleep(0)
            finally:
                self.cancelled.set()

        self.packs = {"demo": [wait, flood]}


@asynccontextmanager
async def serving(demo=None, **changes):
    """Serve the demo tools with these limits."""
    settings = {"execution": {"timeout_s": 3600}}
    async with (
        memory_runtime((demo or Demo()).packs, settings=settings) as ot,
        asyncio.timeout(HANG_S),
        serve_rest(ot.runtime, limits=limits(**changes)) as client,
    ):
        site = Site(client)
        try:
            yield site
        finally:
            await site.close()


class Site:
    """A server, the client with the token, and raw connections to the server."""

    def __init__(self, client) -> None:
        self.client, self._peers = client, []

    async def connect(self, data=b"", source=None):
        """Connect, from a certain address if one is given, and send bytes."""
        address = (self.client.base_url.host, self.client.base_url.port)
        peer = Peer(*await asyncio.open_connection(*address, local_addr=source and (source, 0)))
        self._peers.append(peer)
        peer.writer.write(data)
        return peer

    async def ping(self):
        """Call a route on a new connection, as the owner of the token, and return the status."""
        peer = await self.connect(b"GET /usage HTTP/1.1\r\n" + HEAD + b"\r\n")
        status = await peer.read_status()
        peer.writer.close()
        return status

    async def close(self):
        """Close all connections."""
        for peer in self._peers:
            peer.writer.transport.abort()
            with suppress(ConnectionError):
                await peer.writer.wait_closed()


class Peer:
    """A client that sends bytes."""

    def __init__(self, reader, writer) -> None:
        self.reader, self.writer = reader, writer

    async def read_all(self):
        """Read until the server closes the connection."""
        try:
            return await self.reader.read()
        except ConnectionError:
            return b""

    async def send_endlessly(self):
        """Send until the connection is closed."""
        while True:
            self.writer.write(b"x" * 100_000)
            await self.writer.drain()

    @property
    def is_closed(self):
        """Whether the server has closed the connection, as far as this loop knows."""
        return self.reader.at_eof() or self.reader.exception() is not None

    async def read_status(self):
        """Read a response with a body of known length and return its status."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        await self.reader.readexactly(length)
        return int(head.split()[1])


def post(path, *, length, body=b"", head=HEAD):
    """Return a request with a body that may be incomplete."""
    return b"POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s" % (path.encode(), head, length, body)


def test_spaces_after_the_value_of_a_header_do_not_belong_to_it(tmp_path):
    """The MCP interface compares headers with the body."""
    meta = {f"{META_PREFIX}/protocolVersion": MODERN, f"{META_PREFIX}/clientCapabilities": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}
    headers = {"Authorization": f"Bearer {PROCESS_TOKEN}", "Content-Type": "application/json"}
    headers |= {"Accept": "application/json, text/event-stream"}
    headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": " server/discover \t"}
    with RestProcess(tmp_path, probes=False) as process:
        connection = http.client.HTTPConnection(urlsplit(process.url).netloc, timeout=HANG_S)
        with closing(connection):
            connection.request("POST", "/mcp", json.dumps(message), headers)
            assert connection.getresponse().status == 200


# Numbers of connections


@pytest.mark.guards("client-connections")
async def test_connections_above_the_limit_of_an_address_replace_its_oldest_ones():
    """The owner, at the same address, still gets responses."""
    async with serving(max_per_address=10) as site:
        peers = [await site.connect(HALF) for _ in range(30)]
        for peer in peers[:20]:
            assert await peer.read_all() == b""
        assert await site.ping() == 200
        assert sum(peer.is_closed for peer in peers[20:]) <= 1


async def test_connections_above_the_limit_replace_the_oldest_ones_of_any_address():
    async with serving(max_connections=10) as site:
        peers = [await site.connect(HALF, f"127.0.0.{number + 2}") for number in range(30)]
        for peer in peers[:20]:
            assert await peer.read_all() == b""
        assert await site.ping() == 200


async def test_addresses_below_their_limit_keep_their_connections():
    async with serving(max_per_address=10) as site:
        other = await site.connect(HALF, "127.0.0.2")
        peers = [await site.connect(HALF) for _ in range(30)]
        for peer in peers[:20]:
            await peer.read_all()
        other.writer.write(b"x\r\n" + HEAD + b"\r\n")
        assert await other.read_status() == 200


@pytest.mark.guards("client-connections")
async def test_authenticated_requests_in_progress_are_not_replaced():
    """Also with a body that is incomplete. If there is nothing to replace, the new connection is rejected."""
    demo, peers = Demo(), []
    async with serving(demo, max_per_address=4) as site:
        headers = {"Accept": "text/event-stream"}
        async with site.client.stream(
            "POST", "/tools/call", json={"name": "demo.wait"}, headers=headers
        ) as stream:
            await demo.started.wait()
            upload = await site.connect(post("/tools/call", length=len(CALL), body=CALL[:5]))
            for _ in range(20):
                peers.append(await site.connect(HALF))
            for peer in peers[:18]:
                assert await peer.read_all() == b""
            uploads = [await site.connect(post("/tools/call", length=len(CALL), body=CALL[:5])) for _ in "12"]
            rejected = await (await site.connect()).read_all()
            assert rejected.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            assert b"Too many connections" in rejected
            demo.resume.set()
            assert [kind async for kind, _ in read_events(stream)] == ["result"]
        for peer in (upload, *uploads):
            peer.writer.write(CALL[5:])
            assert await peer.read_status() == 200


async def test_requests_with_a_wrong_token_are_replaced():
    """While their responses are delayed."""
    wrong = b"GET /usage HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer wrong\r\n\r\n"
    async with serving(max_per_address=10) as site:
        peers = [await site.connect(wrong) for _ in range(40)]
        assert await site.ping() == 200
        for peer in peers[:30]:
            await peer.read_all()


@pytest.mark.guards("client-connections")
def test_the_default_leaves_files_for_tools_and_connections_for_others():
    resource = pytest.importorskip("resource")
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    default = default_limits()
    assert default.max_connections <= MAX_CONNECTIONS
    assert default.max_connections <= soft / 2
    assert default.max_per_address * 2 <= default.max_connections


def test_server_behind_a_proxy_uses_all_connections_and_as_many_files_as_it_may():
    """All connections come from one address. The limit of files is that of a process of its own."""
    resource = pytest.importorskip("resource")
    program = f"""
import resource
from onetool.interfaces.rest.connections import hosted_limits
resource.setrlimit(resource.RLIMIT_NOFILE, (256, {resource.getrlimit(resource.RLIMIT_NOFILE)[1]}))
limits = hosted_limits()
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], limits.max_connections, limits.max_per_address)
"""
    printed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    files, connections, per_address = map(int, printed.stdout.split())
    assert connections == per_address == min(MAX_HOSTED_CONNECTIONS, files // 2)
    assert files > 256


async def flood(server):
    """Open 1,200 half-open connections and send 1,000 malformed requests, then call a tool."""
    host, port = server.client.base_url.host, server.client.base_url.port
    writers = []
    for _ in range(1_200):
        _, writer = await asyncio.open_connection(host, port)
        writer.write(HALF)
        writers.append(writer)
    for _ in range(1_000):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"\x00\x01 nonsense\r\n\r\n")
        assert b"400" in await reader.readline()
        writer.close()
    response = await asyncio.to_thread(
        server.client.post, "/tools/call", json={"name": "tools.echo", "args": {"message": "hi"}}
    )
    for writer in writers:
        writer.close()
    return response


async def test_the_owner_gets_responses_while_others_hold_connections(tmp_path):
    """Also if the process may open only a few files. Errors that are repeated are logged a few times."""
    wrapper = ("sh", "-c", 'ulimit -n 512 && exec "$@"', "sh")
    with RestProcess(tmp_path, wrapper=wrapper) as server:
        async with asyncio.timeout(HANG_S):
            response = await flood(server)
        assert (response.status_code, response.json()["value"]) == (200, "hi")
        logged = server.errors.read_text()
    assert logged.count("Invalid HTTP request") <= MAX_REPEATS
    assert len(logged) < 20_000


# Timeouts


SLOW_HEADERS = {
    "a part of the headers": (HALF, b"408"),
    "empty lines": (b"\r\n\r\n", b"408"),
    "nothing": (b"", b""),
}


@pytest.mark.guards("client-connections")
@pytest.mark.parametrize("data", SLOW_HEADERS)
async def test_headers_must_arrive_in_time(data):
    sent, status = SLOW_HEADERS[data]
    async with serving(header_timeout_s=0.01) as site:
        response = await (await site.connect(sent)).read_all()
    assert response.startswith(b"HTTP/1.1 " + status if status else b"")
    assert bool(response) is bool(status)


async def test_headers_of_the_second_request_must_arrive_in_time():
    """Uvicorn closes only connections on which nothing arrives."""
    async with serving(header_timeout_s=2.0) as site:
        peer = await site.connect(b"GET /usage HTTP/1.1\r\n" + HEAD + b"\r\n")
        assert await peer.read_status() == 200
        peer.writer.write(HALF)
        assert b"HTTP/1.1 408" in await peer.read_all()


@pytest.mark.guards("client-connections")
async def test_the_body_must_arrive_in_time():
    demo = Demo()
    async with serving(demo, body_timeout_s=0.01, min_body_bytes_per_s=10**9) as site:
        peer = await site.connect(post("/tools/call", length=len(CALL), body=CALL[:-1]))
        response = await peer.read_all()
    assert response.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert json.loads(response.partition(b"\r\n\r\n")[2])["detail"] == (
        "The body of the request did not arrive in time."
    )
    assert demo.calls == 0


async def test_a_large_body_has_more_time():
    """It is still accepted when a body that began later, and of which nothing arrived, has timed out."""
    demo = Demo()
    demo.resume.set()
    async with serving(demo, body_timeout_s=2.0, min_body_bytes_per_s=1) as site:
        body = CALL.rjust(1_000)
        large = await site.connect(post("/tools/call", length=len(body), body=body[:-1]))
        for _ in range(3):
            empty = await site.connect(post("/tools/call", length=1))
            assert b"408" in await empty.read_all()
        large.writer.write(body[-1:])
        assert await large.read_status() == 200


async def test_a_request_that_was_received_has_all_the_time():
    """Until others have timed out, one after the other."""
    demo = Demo()
    async with serving(demo, header_timeout_s=2.0, body_timeout_s=2.0) as site:
        peer = await site.connect(post("/tools/call", length=len(CALL), body=CALL))
        await demo.started.wait()
        peer.writer.write(HALF)
        for _ in range(3):
            await (await site.connect(HALF)).read_all()
        demo.resume.set()
        assert await peer.read_status() == 200
        assert b"408" in await peer.read_all()


@pytest.mark.guards("client-connections")
async def test_the_response_must_be_read_in_time():
    """Otherwise the connection is closed, which cancels the call."""
    demo = Demo()
    async with serving(demo, write_timeout_s=0.01) as site:
        body = json.dumps({"name": "demo.flood"}).encode()
        head = HEAD + b"Accept: text/event-stream\r\n"
        peer = await site.connect(post("/tools/call", length=len(body), body=body, head=head))
        peer.writer.transport.pause_reading()
        await demo.cancelled.wait()
        assert await site.ping() == 200


# Sizes


@pytest.mark.guards("client-connections")
async def test_headers_have_a_maximum_size():
    """Also one header that does not end."""
    async with serving() as site:
        peer = await site.connect(HALF)
        peer.writer.write(b"x" * 2 * MAX_HEADER_BYTES)
        assert (await peer.reader.readline()).startswith(b"HTTP/1.1 431")


async def test_trailers_have_a_maximum_size():
    """A chunked body of many small chunks does not count."""
    demo = Demo()
    demo.resume.set()
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in CALL.rjust(MAX_HEADER_BYTES))
    request = b"POST /tools/call HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    async with serving(demo) as site:
        peer = await site.connect(request + b"0\r\n\r\n")
        assert await peer.read_status() == 200
        peer.writer.write(request + b"0\r\nX-Trailer: ")
        for _ in range(100):
            peer.writer.write(b"x" * MAX_HEADER_BYTES)
        await peer.read_all()
    assert demo.calls == 1


async def test_an_unread_body_has_a_maximum_size(monkeypatch):
    """The response comes first; a client that goes on sending is disconnected."""
    monkeypatch.setattr("onetool.interfaces.rest.http_protocol.MAX_UNREAD_BYTES", 1_000_000)
    async with serving() as site:
        peer = await site.connect(post("/usage", length=2**40, head=b"Host: localhost\r\n"))
        assert await peer.read_status() == 413
        with pytest.raises(ConnectionError):
            await peer.send_endlessly()


async def test_few_requests_of_a_connection_wait_for_others():
    demo, request = Demo(), b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    async with serving(demo) as site:
        peer = await site.connect(request * MAX_PIPELINED)
        assert [await peer.read_status() for _ in range(MAX_PIPELINED)] == [200] * MAX_PIPELINED
        peer.writer.write(post("/tools/call", length=len(CALL), body=CALL))
        await demo.started.wait()
        peer.writer.write(request * (MAX_PIPELINED + 1))
        assert b"HTTP/1.1 400" in await peer.read_all()
        demo.resume.set()


# Logs


def entry(text, *args):
    return logging.LogRecord("server", logging.WARNING, "", 1, text, args, None)


@pytest.mark.guards("client-connections")
def test_repeated_entries_are_dropped_and_counted():
    """Entries count as the same if their first lines are."""
    now = 1_000.0
    limit = RepeatFilter(lambda: now)
    logged = [limit.filter(entry("bad %s\nat %d", "request", number)) for number in range(50)]
    assert logged == [True] * MAX_REPEATS + [False] * (50 - MAX_REPEATS)
    assert limit.filter(entry("another"))
    now += PERIOD_S
    first, second = entry("bad %s\nat %d", "request", 1), entry("bad %s\nat %d", "request", 2)
    assert limit.filter(first)
    assert limit.filter(second)
    assert first.getMessage() == f"bad request\nat 1 ({50 - MAX_REPEATS} more were not logged)"
    assert second.getMessage() == "bad request\nat 2"


def test_the_memory_of_messages_is_bounded():
    limit = RepeatFilter()
    for number in range(MAX_MESSAGES + 1):
        for _ in range(MAX_REPEATS):
            assert limit.filter(entry(f"message {number}"))
    assert limit.filter(entry("message 0"))
    assert not limit.filter(entry(f"message {MAX_MESSAGES}"))


async def test_malformed_requests_are_logged_a_few_times(caplog):
    """While the server runs; other servers in this process log as they did."""
    async with serving() as site:
        for _ in range(2 * MAX_REPEATS):
            assert b"HTTP/1.1 400" in await (await site.connect(b"\x00\r\n\r\n")).read_all()
    assert len([record for record in caplog.records if "Invalid HTTP" in record.getMessage()]) == MAX_REPEATS
    assert not logging.getLogger("uvicorn.error").filters
