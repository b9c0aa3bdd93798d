"""A request that times out while its caller is cancelled: the server is told in any case."""

import asyncio
import logging
import time
from contextlib import asynccontextmanager

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from onetool.sources.mcp_servers import session as sessions
from onetool.sources.mcp_servers.request_options import RequestOptions
from onetool.sources.mcp_servers.session import ServerSession
from onetool.sources.mcp_servers.transport.notification_limit import NotificationLimit
from onetool.sources.mcp_servers.transport.startup import Startup
from onetool.threads import Threads
from support.waiting import until


class MemoryServer:
    """A server at the other end of streams without buffers: a message is sent when it is received."""

    def __init__(self):
        self.to_client, self.incoming = anyio.create_memory_object_stream(10)
        self.outgoing, self.received = anyio.create_memory_object_stream(0)

    @asynccontextmanager
    async def open_streams(self, on_end):
        yield self.incoming, self.outgoing

    async def receive(self):
        return (await self.received.receive()).message

    async def accept(self):
        """Initialize a session."""
        request = await self.receive()
        result = {
            "protocolVersion": request.params["protocolVersion"],
            "capabilities": {},
            "serverInfo": {"name": "s", "version": "1"},
        }
        await self.to_client.send(
            SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result))
        )
        assert (await self.receive()).method == "notifications/initialized"


@asynccontextmanager
async def connected():
    server, threads, log = MemoryServer(), Threads(), logging.getLogger("test")
    session = ServerSession(
        server.open_streams,
        log,
        lambda notice: None,
        Startup(),
        threads,
        notifications=NotificationLimit(log),
        declared={},
    )
    try:
        await asyncio.gather(session.start(), server.accept())
        yield session, server
    finally:
        await session.close()
        threads.close()
        for stream in (server.to_client, server.received):
            stream.close()


def call(session, seconds):
    options = RequestOptions(time.monotonic() + seconds)
    return asyncio.create_task(session.request("tools/call", {"name": "x"}, options))


async def test_caller_that_is_cancelled_after_the_deadline_does_not_interrupt_the_notification():
    async with connected() as (session, server):
        calling = call(session, 0.05)
        request = await server.receive()
        await until(lambda: server.outgoing.statistics().tasks_waiting_send)  # the notification
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        message = await server.receive()
        assert (message.method, message.params["requestId"]) == ("notifications/cancelled", request.id)


async def test_request_that_cannot_be_written_ends_soon_after_its_caller(monkeypatch):
    monkeypatch.setattr(sessions, "END_TIMEOUT_S", 0.01)
    async with connected() as (session, server):
        calling = call(session, 0.05)
        await until(lambda: server.outgoing.statistics().tasks_waiting_send)
        await asyncio.sleep(0.1)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await until(lambda: not session._sending)
