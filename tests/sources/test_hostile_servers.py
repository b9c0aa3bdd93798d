"""Servers that send too much: only their own calls are affected. Each server is a real process."""

import asyncio
import logging

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification

from onetool.domain.calls.caller import Caller
from onetool.domain.calls.effect import Effect
from onetool.sources.mcp_servers.limited_dispatcher import LimitedDispatcher
from onetool.sources.mcp_servers.transport.notification_limit import NotificationLimit
from onetool.testing.runtime import MemoryClient
from sources.flooding_server import TRANSPORTS, open_client
from support.waiting import HANG_S, until

FLOOD = 20_000
SUMMARY = "dropped during the session: "
VALUES = "more than 100,000 values. Raise max_message_values in the settings of the server"


@pytest.fixture
def log():
    """The messages in the log of the server `s`."""
    messages, logger = [], logging.getLogger("onetool.servers.s")
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger.addHandler(handler)
    yield messages
    logger.removeHandler(handler)


def dropped(log):
    """Return what the log states at the end of each session."""
    return [line.removeprefix(SUMMARY) for line in log if line.startswith(SUMMARY)]


@pytest.mark.guards("server-messages")
@pytest.mark.spec("MCP-64")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_message_above_the_limits_fails_only_its_call(transport):
    """Ten times in a row, with a small call to the same server meanwhile; the session stays the same."""
    async with open_client(transport) as ot:
        pid = (await ot.call("s.pid")).data
        for number in range(10):
            large, small = await asyncio.gather(ot.call("s.values"), ot.call("s.echo", text=str(number)))
            assert (large.ok, large.meta.reason) == (False, "too_large_out")
            assert VALUES in large.error.message
            assert small.data == str(number)
        assert (await ot.call("s.pid")).data == pid


@pytest.mark.spec("MCP-64")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_commas_in_a_text_are_no_values(transport):
    async with open_client(transport) as ot:
        assert (await ot.call("s.csv")).data.count(",") == 500_000


@pytest.mark.spec("MCP-64")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_raised_limit_lets_the_message_through(transport):
    async with open_client(transport, max_message_values=1_100_000) as ot:
        assert len((await ot.call("s.values")).data["values"]) == 1_000_000


@pytest.mark.spec("MCP-64")
async def test_id_is_found_at_the_end_of_a_large_message():
    """Another call that waits for its response goes on."""
    async with open_client() as ot:
        waiting = asyncio.create_task(ot.call("s.hang"))
        assert (await ot.call("s.id_last")).meta.reason == "too_large_out"
        assert not waiting.done()
        waiting.cancel()


@pytest.mark.spec("MCP-64")
async def test_large_message_without_an_id_fails_all_calls_of_its_server():
    """It may be the response to any of them. The calls of other servers go on."""
    async with open_client() as ot:
        assert (await ot.call("s.echo", text="x")).data == "x"
        waiting, other = (asyncio.create_task(ot.call(f"{name}.hang")) for name in ("s", "other"))
        results = await asyncio.gather(waiting, ot.call("s.id_hidden"))
        assert [result.meta.reason for result in results] == ["too_large_out"] * 2
        assert (await ot.call("s.echo", text="x")).data == "x"
        assert not other.done()
        other.cancel()


@pytest.mark.spec("MCP-64")
@pytest.mark.parametrize("transport", ["stdio", "sse"])
async def test_large_notification_is_dropped_and_counted(transport, log):
    async with open_client(transport) as ot:
        assert (await ot.call("s.large_notification")).data == "sent"
        assert (await ot.call("s.large_notification")).data == "sent"
    assert dropped(log) == ["2 notifications above the size limits"]


async def count_calls(ot, task):
    """Call another server until a task is done, and return how often it responded."""
    calls = 0
    while not task.done():
        assert (await ot.call("other.echo", text=str(calls))).data == str(calls)
        calls += 1
    return calls


@pytest.mark.spec("MCP-66")
@pytest.mark.parametrize("transport", ["stdio", "sse"])
@pytest.mark.parametrize(
    ("kind", "name"), [("log", "log messages"), ("notice", "notices"), ("progress", "progress reports")]
)
async def test_flood_of_notifications_is_dropped_and_counted(kind, name, transport, log):
    """The call that causes it succeeds, other servers respond meanwhile, and the log states the number."""
    async with open_client(transport, timeout_s=HANG_S) as ot:
        await ot.call("other.echo", text="x")
        flood = asyncio.create_task(ot.call("s.flood", kind=kind, count=FLOOD))
        assert await count_calls(ot, flood) > 10
        assert flood.result().data == "sent"
    (counted,) = dropped(log)
    assert counted.endswith(f" {name}")
    number = int(counted.partition(" ")[0].replace(",", ""))
    assert FLOOD / 2 < number < FLOOD


@pytest.mark.spec("MCP-66")
@pytest.mark.parametrize("kind", ["log", "progress"])
async def test_order_of_fields_does_not_avoid_the_limit(kind, log):
    """Notifications whose method comes last are recognized after they are parsed."""
    async with open_client(timeout_s=HANG_S) as ot:
        assert (await ot.call("s.flood", kind=kind, count=5_000, method_last=True)).data == "sent"
    assert len(dropped(log)) == 1


@pytest.mark.spec("MCP-66")
def test_each_kind_has_its_own_limit_in_each_second():
    now = [5.5]
    limit = NotificationLimit(logging.getLogger("test"), lambda: now[0])
    for _ in range(2):
        for method in ("notifications/message", "notifications/progress", "notifications/x"):
            assert [limit.allows(method) for _ in range(150)] == [True] * 100 + [False] * 50
        now[0] += 1


@pytest.mark.spec("MCP-66")
async def test_progress_within_the_limit_arrives():
    reports = []
    caller = Caller(
        interface="test", default_effect=Effect.ALLOW, on_progress=lambda *report: reports.append(report)
    )
    async with open_client() as ot:
        await ot.call("s.echo", text="x")
        client = MemoryClient(ot.runtime, caller)
        assert (await client.call("s.flood", kind="progress", count=50)).data == "sent"
    assert [progress for progress, *_ in reports] == list(range(50))


@pytest.mark.spec("MCP-66")
@pytest.mark.parametrize("kind", ["notice", "resources", "list"])
async def test_change_of_tools_is_seen_in_a_flood_of_notices(kind):
    """Any number of notices leads to few listings, and the last change is among them."""
    async with open_client(timeout_s=HANG_S) as ot:
        assert (await ot.call("s.flood_and_add", kind=kind, count=FLOOD)).data == "sent"
        async with asyncio.timeout(HANG_S):
            while "added" not in [tool.name for tool in await ot.runtime.state.servers["s"].quarantined()]:
                await asyncio.sleep(0.01)
        assert int((await ot.call("s.listings")).data) < 20


@pytest.mark.spec("MCP-66")
async def test_server_that_does_not_read_blocks_only_its_own_calls():
    """Its calls time out while the pipe to it is full; other servers respond, and it can be closed."""
    async with open_client(timeout_s=3.0) as ot:
        await ot.call("other.echo", text="x")
        assert (await ot.call("s.stop_reading")).data == "stopped"
        blocked = asyncio.gather(*(ot.call("s.echo", text="x" * 500_000) for _ in range(5)))
        assert await count_calls(ot, blocked) > 10
        assert {result.meta.reason for result in await blocked} == {"timeout"}


@pytest.mark.spec("MCP-66")
async def test_server_that_asks_and_does_not_read_fills_no_memory(log):
    """Its requests are dropped when too many are unanswered."""
    async with open_client(timeout_s=HANG_S) as ot:
        asking = asyncio.create_task(ot.call("s.ask_without_reading", count=20_000))
        assert await count_calls(ot, asking) > 10
        assert asking.result().data == "asked"
    (counted,) = dropped(log)
    assert counted.endswith(" unanswered requests")


@pytest.mark.spec("MCP-66")
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_response_that_never_ends_blocks_only_its_own_server(transport):
    async with open_client(transport, timeout_s=5.0) as ot:
        for name in ("other", "s"):
            assert (await ot.call(f"{name}.echo", text="x")).ok
        endless = asyncio.create_task(ot.call("s.never_end"))
        assert await count_calls(ot, endless) > 10
        assert endless.result().meta.reason == "timeout"
        if transport != "stdio":
            await until_disconnected(ot)


@pytest.mark.spec("MCP-66")
@pytest.mark.parametrize("transport", ["json", "sse"])
@pytest.mark.parametrize("end", ["timeout", "cancelled"])
async def test_call_that_ends_before_its_response_begins_closes_its_connection(transport, end):
    async with open_client(transport, timeout_s=5.0) as ot:
        assert (await ot.call("s.echo", text="x")).ok
        calling = asyncio.create_task(ot.call("s.never_begin"))
        if end == "cancelled":
            await until_counted(ot, "s.waiting")
            calling.cancel()
        await asyncio.wait({calling})
        assert calling.cancelled() or calling.result().meta.reason == "timeout"
        await until_disconnected(ot)


async def until_disconnected(ot):
    """Wait until the server over HTTP sees that the connection of one of its responses was closed."""
    await until_counted(ot, "s.disconnected")


async def until_counted(ot, tool):
    """Call a tool until it returns a number other than 0."""
    result = None
    try:
        async with asyncio.timeout(HANG_S):
            while result is None or not result.ok or result.data == "0":
                result = await ot.call(tool)
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"{tool} still returns {result}")


@pytest.mark.spec("MCP-66")
async def test_notice_of_a_changed_list_above_the_limit_is_delivered_later():
    """Once for all, and never before the server has sent the last one of the second."""
    to_dispatcher, incoming = anyio.create_memory_object_stream(500)
    outgoing, sent = anyio.create_memory_object_stream(1)
    received = []

    async def on_notify(context, method, params):
        received.append(method)

    changed, other = "notifications/tools/list_changed", "notifications/resources/updated"
    for method in [changed, other] * 150:
        message = JSONRPCNotification(jsonrpc="2.0", method=method, params={})
        to_dispatcher.send_nowait(SessionMessage(message))
    limit = NotificationLimit(logging.getLogger("test"), lambda: 5.5)
    dispatcher = LimitedDispatcher(incoming, outgoing, limit)
    running = asyncio.create_task(dispatcher.run(None, on_notify))
    await until(lambda: len(received) >= 201)
    to_dispatcher.close()
    await running
    sent.close()
    assert (received.count(changed), received.count(other), received[-1]) == (101, 100, changed)
