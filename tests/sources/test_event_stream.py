"""HTTP tools whose upstream answers with a stream of events."""

import asyncio
import time

import pytest

from onetool.domain import Registry, Tool, ToolSpec
from onetool.domain.calls.caller import Caller
from onetool.domain.calls.invocation import CancelFlag, Invocation
from onetool.network.client import HttpClients
from onetool.settings.secrets import Secrets
from onetool.sources.http_tools import HttpToolRunner, TokenCache
from onetool.sources.http_tools.event_stream import EventReader, ServerEvent, events_of
from onetool.sources.snapshot import SnapshotSource, StaticReader
from onetool.storage.memory.tokens import MemoryTokens
from onetool.testing import memory_runtime
from support.raw_http import LoopbackServer, RawHttpServer, raw_response, read_request
from support.waiting import HANG_S

STREAM = (
    b"\xef\xbb\xbf: a comment\r\n\r\n"
    b"data: one\r\n\r\n"
    b'event: delta\nid: 7\ndata: {"text":\ndata:  "two"}\n\n'
    b"retry: 5\rdata\r\r"
    b"data: gr\xc3\xbcn"
)
EVENTS = [
    ServerEvent("one"),
    ServerEvent('{"text":\n "two"}', "delta", "7"),
    ServerEvent(""),
    ServerEvent("grün"),
]


def make_runner(http, url, events=None):
    return HttpToolRunner(
        {"request": {"urlTemplate": url}, "response": {"events": events} if events else {}},
        arg_schema={},
        limits=None,
        secrets=Secrets(),
        http=http,
        allowed_hosts=["127.0.0.1"],
        tokens=TokenCache(MemoryTokens()),
    )


@pytest.fixture
async def http():
    clients = HttpClients(["127.0.0.1"])
    yield clients
    await clients.aclose()


class PausingServer(LoopbackServer):
    """Sends each event only after the one before was passed on."""

    def __init__(self) -> None:
        self.passed_on = asyncio.Queue()

    async def serve_request(self, reader, writer):
        await read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n")
        for number in range(3):
            writer.write(b"data: part-%d\n\n" % number)
            await writer.drain()
            await self.passed_on.get()
        return False


async def test_events_are_passed_on_while_they_arrive(http):
    async with PausingServer() as upstream, asyncio.timeout(HANG_S):
        seen = []

        def on_progress(done, total, message):
            seen.append((done, total, message))
            upstream.passed_on.put_nowait(message)

        caller = Caller(interface="test", on_progress=on_progress)
        invocation = Invocation("id", "x.y", {}, caller, time.monotonic() + HANG_S, CancelFlag())
        value = await make_runner(http, upstream.url, "text").run({}, invocation)
    assert seen == [(1, None, "part-0"), (2, None, "part-1"), (3, None, "part-2")]
    assert value == "part-0\npart-1\npart-2"


@pytest.mark.parametrize(
    ("events", "value"),
    [
        (
            "list",
            [
                {"data": "one"},
                {"event": "delta", "data": {"text": "two"}, "id": "7"},
                {"data": ""},
                {"data": "grün"},
            ],
        ),
        ("text", 'one\n{"text":\n "two"}\n\ngrün'),
        (None, STREAM.decode("utf-8-sig")),
    ],
)
async def test_value_is_as_the_tool_says(http, events, value):
    """Without a word of the tool it is the body, as it was. Other bodies are not affected."""
    response = raw_response(STREAM, Content_Type="Text/Event-Stream;charset=utf-8")
    async with RawHttpServer(lambda received: response) as upstream:
        registry = Registry()
        spec = ToolSpec(name="web.read", description="x", input_schema={"type": "object"}, read_only=True)
        registry.register(Tool(spec, make_runner(http, upstream.url, events).run))
        async with memory_runtime(sources=[SnapshotSource(StaticReader("web", registry))]) as ot:
            assert (await ot.call("web.read")).data == value
            upstream.handler = lambda received: raw_response({"data": "x"})
            assert (await ot.call("web.read")).data == {"data": "x"}


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(STREAM)])
def test_events_are_read_wherever_the_stream_is_split(size):
    reader = EventReader()
    parts = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
    assert [event for part in parts for event in reader.feed(part)] == EVENTS[:3]
    assert events_of(STREAM) == EVENTS
